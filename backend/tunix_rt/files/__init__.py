"""Disk formats: JSONL, dataset and run directories, manifests, hashes, atomic writes."""
