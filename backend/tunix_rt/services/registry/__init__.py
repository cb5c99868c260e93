"""The model registry: one function a use case."""
