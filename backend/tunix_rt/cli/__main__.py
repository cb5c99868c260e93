"""python -m tunix_rt.cli."""

from tunix_rt.cli.main import main

main()
