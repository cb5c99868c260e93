"""Batched, cached generation with the decoder of this engine. docs/jax-engine.md explains it."""
