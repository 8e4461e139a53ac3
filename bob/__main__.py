"""Bob's service: ``python -m gemel.bob --config bob.yaml``."""

import sys

from gemel.bob import PARTY
from gemel.custodian.program import main

if __name__ == "__main__":
    sys.exit(main(PARTY))
