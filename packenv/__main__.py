"""`python -m packenv`: the command line."""

import sys

from packenv.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
