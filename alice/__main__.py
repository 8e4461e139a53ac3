"""Alice's service: ``python -m tryst.alice --config alice.yaml``."""

import sys

from tryst.alice import PARTY
from tryst.alice.commands import load_gate
from tryst.common.custodian.program import main

if __name__ == "__main__":
    sys.exit(main(PARTY, load_gate=load_gate))
