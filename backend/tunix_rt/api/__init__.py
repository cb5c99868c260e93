"""The HTTP surface: FastAPI app, one error shape, one router a resource."""
