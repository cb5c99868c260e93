"""Evaluate a model. `--help` lists the flags; docs/evaluation.md explains them."""

from tunix_rt.cli.launchers import eval_generate

if __name__ == "__main__":
    eval_generate()
