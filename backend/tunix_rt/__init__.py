"""Turn reasoning traces into a small language model that shows its work, with proof."""

__version__ = "0.1.0"
