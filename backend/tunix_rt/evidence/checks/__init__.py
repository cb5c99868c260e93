"""The checks of a bundle, one module per subject."""
