"""One file per subject; each function makes one kind of problem with its worked steps."""
