"""Row formats of other tools, both ways."""
