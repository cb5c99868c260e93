"""Generic file formats and safe writes."""
