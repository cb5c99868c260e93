"""The decoder in plain JAX."""
