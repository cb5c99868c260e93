"""The words of evidence: the bundle's manifest, its summary, what each file proves, and the verdict."""
