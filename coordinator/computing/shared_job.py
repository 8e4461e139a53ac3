"""What the coordinator and a steward do in a session: their part of the computation on shares."""

from __future__ import annotations

import os

from gemel.carole.engine.run.specified import plan_of
from gemel.carole.engine.shared.job import Terms, assist
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.sealing_key import SealingKey
from gemel.common.parties import Side
from gemel.common.progress import Progress
from gemel.common.rpc.fetched_contribution import fetched_contribution
from gemel.common.rpc.joined_session import JoinedSession
from gemel.common.rpc.session_rows import row_part
from gemel.coordinator.client.connection import Client
from gemel.coordinator.computing.offered_session import OfferedSession

MEMORY_BYTES = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
"""What a computation may use: all that the machine has. Carole's, which needs more, is bounded by her configuration."""


def take_part(joined: JoinedSession, offered: OfferedSession, member: Client, progress: Progress) -> None:
    """This party's part of a computation.

    Raises
    ------
    GemelError
        As `fetched_contribution` and `carole.engine.shared.job.assist`.
    """
    key = SealingKey.load(member.folder.sealing)
    progress("agree", 0.0)
    contributions = [
        fetched_contribution(
            joined.calls, given, offered.spec, offered.epoch, member.members, offered.own, member.name, key
        )
        for given in offered.inputs
    ]
    by_side = {each.upload.side: each for each in contributions}
    if len(contributions) != len(Side) or len(by_side) != len(Side):
        raise GemelError(
            ErrorCode.ENCODING_MISMATCH,
            "a contribution of Alice and one of Bob are compared",
            where=f"project {offered.terms.project}",
            got=f"{len(contributions)} of {' and '.join(side.title() for side in by_side) or 'no one'}",
            remedy="ask Carole's operator",
        )
    uploads = {side: each.upload.upload for side, each in by_side.items()}
    terms = Terms(offered.terms.specification_digest, plan_of(offered.spec), MEMORY_BYTES)
    own = row_part(joined, member.identity, member.members, uploads)
    assist(joined.party(), (by_side[Side.ALICE], by_side[Side.BOB]), terms, own, progress)
