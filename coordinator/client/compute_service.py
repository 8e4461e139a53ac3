"""The compute process of a member, from its configuration: a coordinator's or a steward's part in mode shared."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import typer

from gemel.common.durable import whole_file
from gemel.common.processes import end_with_parent
from gemel.common.rpc.status import SWITCH_SECONDS
from gemel.coordinator.client.client_configuration import configured_role
from gemel.coordinator.client.connection import client
from gemel.shared.parties.compute_process import ComputeProcess, Job, take_part
from gemel.shared.parties.computing_screen import ComputingScreen


def serve(
    config: Path, *, once: bool = False, ready_file: Path | None = None, with_parent: bool = False, job: Job = take_part
) -> None:
    """Compute, by `job` in each session, until a signal ends it; with `once` one computation, with `with_parent` until
    standard input ends.

    `ready_file` is written once Carole has answered: a JSON object with the member's name and the process id. A member
    that is neither coordinator nor steward is refused by NOT_ADMITTED.
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
