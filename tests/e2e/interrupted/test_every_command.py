"""Every command is stopped by a test, or ends soon by itself, for a reason that is listed here."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.common.commands import commands
from tests.coordinator.rehearsal import test_ended
from tests.e2e.interrupted import test_at_a_file, test_computations, test_services, test_waiting

KEYS = "makes keys or certificates, some hundredths of a second each, aside, and then puts them into their place"
TEXT = "reads or writes some pages of text; what it changes it replaces whole"
ROWS = "reads or changes rows of the store in one transaction, which is taken back if it does not end"
CALLS = "makes a few calls of Carole, each with a deadline; one that she does not answer is stopped in `analyst fetch`"
OWN = "makes a few calls of the custodian's own service, on this machine, each with a deadline"
PARTS = "asks the machine, and what answers on the network within a deadline, a line each"

ENDS_SOON = {
    r"init|party (enrol|authority|certify|assemble|accept|rotate|renew-sealing|wrapping-key|identity)": KEYS,
    r"carole cluster-keys|(alice|bob) seed new": KEYS,
    r"spec (check|similar|known|schema)|keyvars (check|(add|edit|show|export) .*)": TEXT,
    r"draws combine|risk attribution protect": TEXT,
    r"carole (init|upgrade|confirm-clock|declare-restored)|audit .*": ROWS,
    r"project (create|amend|approve|new-epoch|hand-over|take-over|status|start|results|report|erase)": CALLS,
    r"steward (list|report|release|refuse|hand-over|log)|analyst list|(project|steward) accept-restore": CALLS,
    r"(alice|bob) (status|profile|specification|approve|decline|override|fetch-alone|stop)": OWN,
    r"(alice|bob) (checkpoints|accept-restore)": OWN,
    r"carole (check|health|try-notify)": PARTS,
}
"""By what the whole name of a command matches."""


def program(name: str) -> tuple[str, str]:
    """What runs: the same for Alice's and Bob's, and for a command that has two names."""
    function: Any = commands()[name].callback
    return function.__module__, function.__qualname__


def interrupted() -> set[tuple[str, str]]:
    modules = (test_at_a_file, test_computations, test_services, test_waiting, test_ended)
    declared = [getattr(value, "interrupts", ()) for module in modules for value in vars(module).values()]
    return {program(name) for found in declared for name in found}


@pytest.mark.parametrize("name", commands())
def test_a_command_is_stopped_or_ends_soon(name: str) -> None:
    reasons = [reason for pattern, reason in ENDS_SOON.items() if re.fullmatch(pattern, name)]
    assert len(reasons) + (program(name) in interrupted()) == 1


def test_what_ends_soon_is_there() -> None:
    for pattern in ENDS_SOON:
        assert any(re.fullmatch(pattern, name) for name in commands()), pattern
