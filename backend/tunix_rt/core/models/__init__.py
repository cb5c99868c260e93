"""Registered models: names, versions, what they are made of and where they come from."""
