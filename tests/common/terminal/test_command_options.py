"""Which commands have ``--json`` and ``--dry-run``: all of them, but those listed here with the reason."""

from __future__ import annotations

import re
from collections.abc import Iterable

import pytest

from tests.common.commands import commands, options

LINES = "prints JSON already, an object a line, or the text that goes into a file of another's"
SERVES = "runs until it is stopped; --ready-file and its log are JSON"
MAKES = "makes keys or files, and shows no state"
WRITES = "writes a result into files, documents in JSON among them"
CHANGES = "changes or sends something; what became of it is the state that another command shows"
CEREMONY = "is a step of the ceremony between people, who read its words"

WITHOUT_JSON = {
    r"demo|rehearse|join|spec draft|analyst fetch": WRITES,
    r"((alice|bob) )?console|carole (serve|scheduler|worker)|(alice|bob) serve": SERVES,
    r"compute": "runs until it is stopped; --ready-file is JSON, its lines are for who watches it",
    r"init|carole (init|cluster-keys)|(alice|bob) (seed new|attach)|risk attribution protect": MAKES,
    r"party (?!status|check).*": CEREMONY,
    r"spec (similar|known|schema)|steward log|audit (show|export)|keyvars export .*": LINES,
    r"keyvars (add|edit) .*|carole (backup|restore|upgrade|declare-restored|confirm-clock|try-notify)": CHANGES,
    r"(alice|bob) (approve|decline|override|fetch-alone|stop)|(alice|bob|project|steward) accept-restore": CHANGES,
}
"""By what the whole name of a command matches: why it prints no document."""

SENDS = (
    r"project (run|create|amend|approve|new-epoch|hand-over|take-over|start|erase|accept-restore)",
    r"steward (release|refuse|hand-over|accept-restore)",
    r"(alice|bob) (approve|decline|override|fetch-alone|accept-restore)",
    r"carole (upgrade|restore|declare-restored|confirm-clock|try-notify)",
)
"""The commands by which something is sent to another party, or is changed or destroyed at Carole."""

SENDS_NOT = {
    r"(alice|bob) (serve|stop|status|profile|specification|checkpoints)": "shows or ends one's own service",
    r"(alice|bob) (check|attach|leakage|seed new)|join|duplicates|draws .*|spec .*|keyvars .*|intrude|risk .*": (
        "works on this machine alone"
    ),
    r"demo|rehearse": "is itself a trial: nothing leaves this machine",
    r"project (status|watch|results|report)|steward (list|report|log)|audit .*": "reads",
    r"carole (serve|scheduler|worker|check|health|backup|init|cluster-keys)|init": "makes what is new, or serves",
    r"analyst .*": "reads, and confirms what it has fetched",
    r"compute": "computes what all have approved, and decides nothing",
    r"((alice|bob) )?console": "requests confirmation on its pages",
    r"party .*": "makes files that people send",
}


def matching(name: str, patterns: Iterable[str]) -> list[str]:
    return [pattern for pattern in patterns if re.fullmatch(pattern, name)]


@pytest.mark.parametrize("name", commands())
def test_a_command_prints_json_or_is_listed_with_the_reason(name: str) -> None:
    assert ("--json" in options(commands()[name])) != bool(matching(name, WITHOUT_JSON))


@pytest.mark.parametrize("name", commands())
def test_a_command_that_sends_something_can_be_run_dry(name: str) -> None:
    sends = matching(name, SENDS)
    assert len(sends) + len(matching(name, SENDS_NOT)) == 1
    assert ("--dry-run" in options(commands()[name])) == bool(sends)


@pytest.mark.parametrize("pattern", [*WITHOUT_JSON, *SENDS, *SENDS_NOT])
def test_no_entry_is_of_a_command_that_is_not_there(pattern: str) -> None:
    assert any(re.fullmatch(pattern, name) for name in commands())
