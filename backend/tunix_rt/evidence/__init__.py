"""Bundles that prove a run: pack, verify, replay, sign."""
