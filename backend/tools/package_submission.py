"""Package a run or a bundle as one verified zip. `--help` lists the flags; docs/evidence.md explains them."""

from tunix_rt.cli.launchers import package_submission

if __name__ == "__main__":
    package_submission()
