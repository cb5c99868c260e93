"""From a recipe to a session on Kaggle and back: the notebook, the preflight, push and pull."""
