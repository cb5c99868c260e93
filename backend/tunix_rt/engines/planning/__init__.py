"""Whether a recipe fits a target, and what would make it fit: at once by a model, then by the compiler."""
