"""Train with the JAX engine. `--help` lists the flags; docs/training.md explains them."""

from tunix_rt.cli.launchers import train_jax

if __name__ == "__main__":
    train_jax()
