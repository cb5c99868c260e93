"""The JAX engine: a small decoder in plain JAX, and everything that trains it. docs/jax-engine.md."""
