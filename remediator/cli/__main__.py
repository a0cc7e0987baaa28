"""`python -m remediator.cli`."""

from remediator.cli import main

main()
