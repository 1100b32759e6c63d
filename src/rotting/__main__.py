"""`python -m rotting` is the command `rotting`."""

import sys

from rotting.cli import main

if __name__ == "__main__":
    sys.exit(main())
