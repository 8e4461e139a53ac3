"""The compute process of a member, from its configuration."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import typer

from gemel.carole.engine.run.specified import plan_of
from gemel.carole.engine.shared.job import Terms, assist
from gemel.common.durable import whole_file
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.sealing_key import SealingKey
from gemel.common.parent_process import end_with_parent
from gemel.common.parties import Side
from gemel.common.progress import Progress
from gemel.common.rpc.fetched_contribution import fetched_contribution
from gemel.common.rpc.joined_session import JoinedSession
from gemel.common.rpc.limits import SWITCH_SECONDS
from gemel.common.rpc.session_rows import row_part
from gemel.coordinator.client.client_configuration import configured_role
from gemel.coordinator.client.connection import Client, client
from gemel.coordinator.computing.compute_process import ComputeProcess, Job
from gemel.coordinator.computing.computing_screen import ComputingScreen
from gemel.coordinator.computing.offered_session import OfferedSession

# What the coordinator and a steward do in a session: their part of the computation on shares.

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


def serve(
    config: Path,
    *,
    once: bool = False,
    ready_file: Path | None = None,
    with_parent: bool = False,
    job: Job = take_part,
) -> None:
    """Compute until a signal ends it; with `once` one computation.

    Parameters
    ----------
    ready_file
        Written once Carole has answered: a JSON object with the member's name and the process id.
    with_parent
        Whether to end when standard input does.
    job
        What it does in a session.

    Raises
    ------
    GemelError
        CONFIGURATION, CERTIFICATE; NOT_ADMITTED for a member that is neither coordinator nor steward; as
        `ComputeProcess.serve`.
    """
    if with_parent:
        end_with_parent()
    sys.setswitchinterval(SWITCH_SECONDS)
    role = configured_role(config, "`gemel compute`")
    with client(config, role, checked=False) as found:

        def ready() -> None:
            if ready_file is not None:
                with whole_file(ready_file) as file:
                    file.write(json.dumps({"member": found.name, "pid": os.getpid()}).encode())

        ComputeProcess(found, role, job, ComputingScreen(typer.echo), ready).serve(once=once)
