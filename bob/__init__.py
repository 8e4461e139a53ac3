"""Bob: a custodian, on the specification's side `bob`.

The program is `custodian`; this package only defines in what Bob differs from Alice. It imports nothing of the
other parties.
"""

from gemel.common.parties import Party, Side

PARTY = Party(Side.BOB, "Bob")
