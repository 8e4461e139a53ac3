"""A compute party's part of the rows that a session names to a custodian, signed and sealed."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from gemel.common.keys.identity import Identity
from gemel.common.parties import Side
from gemel.common.pki.members import Members
from gemel.common.wire.named_rows import NamedRowsContext, seal_row_share
from gemel.shared.session.joined_session import JoinedSession


def row_part(
    session: JoinedSession, identity: Identity, members: Members, uploads: Mapping[Side, str]
) -> Callable[[Side, NDArray[np.uint32], NDArray[np.uint32]], bytes]:
    """What makes this party's part for one custodian, from its first and its second share of the pairs' row numbers.

    Parameters
    ----------
    session
        In which they were computed.
    identity
        This party's own.
    members
        The list that names the custodians and their keys.
    uploads
        Name of each custodian's upload.

    Raises
    ------
    GemelError
        NOT_FOUND if a role has no member.
    """
    terms = session.terms

    def context(side: Side) -> NamedRowsContext:
        custodian = members.in_role(side.role)
        return NamedRowsContext(
            terms.project, terms.run, terms.session, side, terms.specification_digest, uploads[side],
            custodian.name, custodian.sealing, terms.suite,
        )  # fmt: skip

    contexts = {side: context(side) for side in Side}
    return lambda side, first, second: seal_row_share(identity, session.own, contexts[side], first, second)
