"""The training loop and the run directory it writes."""
