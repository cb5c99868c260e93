"""Batched and streaming decoding, engine-neutral."""
