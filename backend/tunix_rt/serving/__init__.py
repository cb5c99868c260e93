"""Chat with a model: terminal, /v1, one process per model, blind votes."""
