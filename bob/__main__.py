"""Bob's service: ``python -m bob --config bob.yaml``."""

import sys

from bob import PARTY
from common.custodian.program import main
from risk.leakage.assessment import assess

if __name__ == "__main__":
    sys.exit(main(PARTY, gate=assess))
