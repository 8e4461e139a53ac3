"""`python -m research NAME [OPTIONS]` runs one experiment or study; without a name it lists them."""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.__main__ import run

if __name__ == "__main__":
    sys.exit(run("research", Path(__file__).parent, sys.argv[1:]))
