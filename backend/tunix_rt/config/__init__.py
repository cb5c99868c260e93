"""What YAML, the environment and flags may say. Imports nothing heavy."""
