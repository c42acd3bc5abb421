"""`python -m octavo.cli` is `octavo`."""

from octavo.cli import main

main()
