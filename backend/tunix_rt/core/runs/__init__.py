"""Runs as the queue knows them: what was asked for, where they stand, and who has them."""
