"""`tunix-rt`: one file a command group."""
