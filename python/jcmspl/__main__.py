"""``python -m jcmspl`` is ``jcmspl``."""

import sys

from jcmspl.cli import main

if __name__ == "__main__":
    sys.exit(main())
