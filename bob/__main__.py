"""Bob's service: ``python -m tryst.bob --config bob.yaml``."""

import sys

from tryst.bob import PARTY
from tryst.common.custodian.program import main
from tryst.risk.leakage.leakage_assessment import assess

if __name__ == "__main__":
    sys.exit(main(PARTY, gate=assess))
