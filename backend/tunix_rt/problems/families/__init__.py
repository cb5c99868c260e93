"""One file per subject; each function generates one kind of problem with its worked steps."""
