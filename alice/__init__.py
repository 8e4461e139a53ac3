"""Who Alice is: a custodian, on the specification's side `alice`.

Everything Alice does is `common.custodian`; here is only what makes the program Alice and not Bob. It imports
nothing of the other parties.
"""

from tryst.common.parties import Party, Side

PARTY = Party(Side.ALICE, "Alice")
