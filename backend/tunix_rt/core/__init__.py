"""The domain: types and pure functions. Imports the standard library and pydantic only."""
