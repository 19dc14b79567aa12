"""`python -m stablelint`."""

from __future__ import annotations

import sys

from stablelint.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
