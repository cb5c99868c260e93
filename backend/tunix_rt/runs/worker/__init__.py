"""Takes jobs from the queue and supervises their processes."""
