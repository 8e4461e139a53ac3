"""What is the coordinator's, a steward's, and an analyst's, at the end of the ceremony: a configuration."""

from __future__ import annotations

from gemel.common.parties import Role
from gemel.coordinator.client.client_configuration import analyst_template, steward_template, template
from gemel.party.configurations import Joined


def configure(joined: Joined) -> str:
    """The text of ``coordinator.yaml``, ``steward.yaml`` or ``analyst.yaml``."""
    place = joined.place
    if place.role is Role.ANALYST:
        return analyst_template(joined.membership.carole, keys="keys", members_digest=joined.members_digest)
    write = steward_template if place.role is Role.STEWARD else template
    return write(joined.membership.carole, keys="keys", state=place.below("."), members_digest=joined.members_digest)


def complete(joined: Joined) -> str:
    """Make the folder of what it has seen of Carole's log, if that is elsewhere."""
    joined.place.data.mkdir(parents=True, exist_ok=True, mode=0o700)
    return ""
