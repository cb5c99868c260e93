"""Model files without an accelerator library."""
