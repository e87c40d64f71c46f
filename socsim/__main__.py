"""`python -m socsim` is the command `socsim`."""

import sys

from socsim.cli import main

if __name__ == "__main__":
    sys.exit(main())
