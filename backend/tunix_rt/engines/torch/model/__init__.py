"""transformers' decoders, adapted."""
