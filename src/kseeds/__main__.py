"""``python -m kseeds``."""

from kseeds.cli import main

main()
