"""Evidence bundles on disk: written whole, read as a directory or as a zip file."""
