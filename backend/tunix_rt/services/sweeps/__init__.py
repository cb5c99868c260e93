"""Sweeps: created, advanced one decision at a time, controlled, reported on, promoted."""
