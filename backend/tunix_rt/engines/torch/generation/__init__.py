"""Decoding with a KV cache."""
