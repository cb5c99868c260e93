"""Where the processes of a run are started: on this machine, or on a cluster."""
