"""Alice: a custodian, on the specification's side `alice`.

The program is `custodian`; this package only defines in what Alice differs from Bob. It imports nothing of the
other parties.
"""

from gemel.common.parties import Party, Side

PARTY = Party(Side.ALICE, "Alice")
