"""tunix-rt traces."""
