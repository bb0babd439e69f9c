"""`python -m indextables.cli` is the `indextables` command."""

from indextables.cli import main

main()
