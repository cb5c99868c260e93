"""Train with the PyTorch engine. `--help` lists the flags; docs/training.md explains them."""

from tunix_rt.cli.launchers import train_torch

if __name__ == "__main__":
    train_torch()
