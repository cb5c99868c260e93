"""Batched, cached generation with the decoders of transformers. docs/torch-engine.md explains it."""
