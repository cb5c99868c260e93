"""Checks what the steps say and scores a trace by it."""
