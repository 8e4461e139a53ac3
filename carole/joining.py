"""What is Carole's at the end of the ceremony: her configuration, and the store that she needs once."""

from __future__ import annotations

from gemel.carole.configuration import load_carole, template
from gemel.carole.store.provision import StorePlace, initialise
from gemel.common.keys.identity_configuration import open_identity
from gemel.common.observability.settings import local
from gemel.common.pki.addresses import host_of, listening
from gemel.party.configurations import Joined


def configure(joined: Joined) -> str:
    """The text of ``carole.yaml``."""
    place = joined.place
    return template(
        listening(*host_of(joined.membership.carole)),
        keys="keys",
        store=place.below("store"),
        observability=local(place.program),
        members_digest=joined.members_digest,
    )


def complete(joined: Joined) -> str:
    """Make the store, which `gemel carole serve` never does: a volume that is missing is no new store."""
    place = joined.place
    configuration = load_carole(place.configuration)
    identity = open_identity(configuration.identity, place.keys.identity)
    there = StorePlace(configuration.store.database, configuration.store.place, identity)
    made, is_new = initialise(there)
    return f"Made the store {made}." if is_new else f"The store {made} exists and is left as it is."
