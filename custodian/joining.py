"""What is a custodian's at the end of the ceremony: its records, read once, and its configuration."""

from __future__ import annotations

from gemel.common.observability.settings import local
from gemel.common.parties import SIDE_OF_ROLE, Party
from gemel.common.records.sources import Source
from gemel.custodian.source.source_check import check_source as check_source
from gemel.custodian.templates import custodian_yaml
from gemel.party.configurations import Joined


def configure(joined: Joined) -> str:
    """The text of ``alice.yaml`` or ``bob.yaml``."""
    place = joined.place
    assert joined.source is not None  # noqa: S101 - `joining` requires one of a custodian
    side = SIDE_OF_ROLE[place.role]
    chosen = joined.source.chosen
    kind = next(name for name in Source.model_fields if getattr(joined.source, name) is chosen)
    return custodian_yaml(
        Party(side, side.title()),
        carole=joined.membership.carole,
        peer_fingerprint=joined.membership.members.in_role(side.other.role).identity.fingerprint,
        source={kind: chosen.model_dump(mode="json", exclude_none=True)},
        keys="keys",
        state=place.below("state"),
        results=place.below("results"),
        listen=local(str(side)),
        members_digest=joined.members_digest,
    )


def complete(joined: Joined) -> str:
    """Nothing: the service makes its state when it first starts."""
    return ""
