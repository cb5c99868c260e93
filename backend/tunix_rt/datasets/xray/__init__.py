"""What training will see of a dataset, token by token."""
