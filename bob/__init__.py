"""Who Bob is: a custodian, on the specification's side `bob`.

Everything Bob does is `common.custodian`; here is only what makes the program Bob and not Alice. It imports
nothing of the other parties.
"""

from tryst.common.parties import Party, Side

PARTY = Party(Side.BOB, "Bob")
