"""Bob's service: ``python -m tryst.bob --config bob.yaml``."""

import sys

from tryst.bob import PARTY
from tryst.bob.commands import load_gate
from tryst.common.custodian.program import main

if __name__ == "__main__":
    sys.exit(main(PARTY, load_gate=load_gate))
