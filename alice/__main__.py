"""Alice's service: ``python -m alice --config alice.yaml``."""

import sys

from alice import PARTY
from common.custodian.program import main
from risk.leakage.assessment import assess

if __name__ == "__main__":
    sys.exit(main(PARTY, gate=assess))
