"""``python -m linforest_precond``: the same as the command ``linforest``."""

import sys

from linforest_precond.app.cli import main

if __name__ == "__main__":
    sys.exit(main())
