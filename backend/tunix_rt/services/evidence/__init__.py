"""Evidence of runs: packed, checked, listed."""
