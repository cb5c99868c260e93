"""The training recipe: typed YAML, overrides, errors in the recipe's own words."""
