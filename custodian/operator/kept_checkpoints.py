"""What a custodian has kept of Carole's audit log, whether its service runs or not."""

from __future__ import annotations

from pathlib import Path

from gemel.common.audit import Checkpoint
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import Party
from gemel.custodian.configuration import load_custodian
from gemel.custodian.operator.control import Control
from gemel.custodian.state.custodian_state import State
from gemel.custodian.state.keyring import Keyring


def kept_checkpoints(config: Path, party: Party, *, lost: bool = False) -> list[Checkpoint]:
    """The verified checkpoints, oldest first: from the running service, else from the state folder.

    Parameters
    ----------
    lost
        Those of logs that a restoration has cut, instead.

    Raises
    ------
    GemelError
        BUSY if a service has the state folder and does not answer; AUDIT, CONFIGURATION.
    """
    try:
        with Control.open(config, party) as control:
            return list(control.checkpoints(lost=lost))
    except GemelError as error:
        if error.code is not ErrorCode.UNAVAILABLE:
            raise
    configuration = load_custodian(config)
    state = State(configuration.state, Keyring.load(configuration, party).vault)
    try:
        return state.all_lost() if lost else state.seen()
    finally:
        state.close()
