"""`python -m indextables` is the `indextables` command."""

from indextables.cli import main

main()
