"""A dataset as training sees it, token by token."""
