"""Planning, training and generation. Engine-neutral code here; jax/ and torch/ never meet."""
