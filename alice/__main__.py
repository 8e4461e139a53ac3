"""Alice's service: ``python -m gemel.alice --config alice.yaml``."""

import sys

from gemel.alice import PARTY
from gemel.custodian.program import main

if __name__ == "__main__":
    sys.exit(main(PARTY))
