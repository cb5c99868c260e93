"""`python -m tunix_rt.cli` is `tunix-rt`."""

from tunix_rt.cli.main import main

main()
