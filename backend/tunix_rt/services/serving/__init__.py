"""Models that answer: one process a model, asked by whoever comes."""
