"""The manuals of coordinator, custodian, steward and linkage unit: every command block is typed, in a live linkage.

One linkage, `births`, of three services as processes, in the order in which such a thing happens: drafted, rehearsed,
created, declined and approved, begun again in another epoch, linked, refused, linked again, released, fetched by a
custodian alone, handed over, erased. Each party types at a desk of its own, a folder with its configuration. What
differs from the pages: Carole's place, /etc/gemel/carole, is the deployment's.

Blocks of a restored log are typed by `tests/e2e/test_restored_log.py`, installation and first start by
`tests/deploy/test_recipe.py`; what only another scene can show is named in `ELSEWHERE`, with the test that has it.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from gemel.command import app
from gemel.common.parties import Role, Side
from gemel.coordinator.client.run_progress import HELD
from gemel.coordinator.demonstration.people import TRUTH
from tests.e2e.deployment import STATE, Deployment, digest_of, people, specification

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("coordinator", "custodian", "steward", "linkage-unit", "audit-log")
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

ELSEWHERE = {
    "gemel project accept-restore": "tests/e2e/test_restored_log.py",
    "gemel alice accept-restore": "tests/e2e/test_restored_log.py",
    "gemel steward accept-restore": "tests/e2e/test_restored_log.py",
    "gemel carole declare-restored": "tests/e2e/test_restored_log.py",
    "gemel carole restore": "tests/e2e/test_restored_log.py",
    "gemel carole init": "tests/deploy/test_recipe.py",
    "gemel carole serve": "tests/deploy/test_recipe.py",
    "gemel steward hand-over": "tests/carole/service/test_ownership.py",
    "gemel project run": "tests/docs/test_live_linkage.py",
    "gemel alice override": "tests/e2e/test_leakage_override.py",
    "gemel compute": "tests/shared/parties/test_compute_process.py",
}
"""How lines begin that another scene types, and the test that has it."""
CONTRIBUTED = STATE.PROJECT_STATE_CONTRIBUTED

TEXT = specification(
    "births",
    bits=256,
    more="""\
variables: [{name: sex, holder: both, categories: [f, m], role: key}]
assessment:
  fractions: {alice: 0.5, bob: 0.5, combined: 0.25}
  limits: {sample_uniques: 0.0, correct_matches: 0.0}
  on_breach: hold
release: {assessment: policy, alice: links, bob: links, coordinator: statistics}
""",
)


class Manuals:
    """The lines that are still to be typed, and a desk for each party."""

    def __init__(self, made: Deployment) -> None:
        self.made = made
        self.left = [line for page in PAGES for line in self._lines(page)]
        self.desks = dict(made.folders)

    @staticmethod
    def _lines(page: str) -> Iterator[str]:
        text = (ROOT / f"docs/{page}.md").read_text(encoding="utf-8")
        typed = (content for kind, content in BLOCK.findall(text) if kind in ("", "sh"))
        for line in "".join(typed).replace("\\\n", " ").splitlines():
            if line.startswith("gemel ") and not line.startswith(tuple(ELSEWHERE)):
                yield line

    def types(self, party: str, *beginnings: str, status: int = 0) -> str:
        """For each beginning, type every line left that begins so, in the pages' order; what all of them print.

        The last line ends with `status`, all others with 0.
        """
        lines = []
        for beginning in beginnings:
            found = [line for line in self.left if line.startswith(f"gemel {beginning}")]
            assert found, f"no manual has `gemel {beginning}` any more"
            lines += found
        self.left = [line for line in self.left if line not in lines]
        return "".join(self.line(party, line, status if line is lines[-1] else 0) for line in lines)

    def line(self, party: str, line: str, status: int = 0) -> str:
        """One line, at a party's desk; whatever it asks is answered with yes."""
        words = shlex.split(line.replace("/etc/gemel/carole", str(self.made.folders["carole"])), comments=True)
        typed, into = (words[: words.index(">")], words[-1]) if ">" in words else (words, None)
        with chdir(self.desks[party]):
            done = CliRunner().invoke(app, typed[1:], input="y\n" * 3)
            assert done.exit_code == status, f"{line}: {done.output} {done.exception!r}"
            if into:
                Path(into).write_text(done.stdout)
        return done.output

    def is_asked(self, side: Side) -> None:
        """Wait until a custodian's service waits for its operator."""
        self.made.eventually(lambda: self.made.shown(side, "births").waits_for_operator)

    @contextmanager
    def served(self) -> Iterator[None]:
        """Alice's service, started by the line of her manual, until the block ends."""
        line = "gemel alice serve --config alice.yaml"
        self.left.remove(line)
        command = [sys.executable, "-m", "gemel", *line.split()[1:]]
        with (self.made.logs / "alice.log").open("ab") as log:
            service = subprocess.Popen(
                command, cwd=self.desks["alice"], stderr=log, env={**os.environ, "PYTHONPATH": str(ROOT)}
            )
        try:
            yield
        finally:
            service.terminate()
            assert service.wait(60) in (0, 128 + signal.SIGTERM)


@pytest.mark.long
def test_every_command_of_the_manuals_in_one_linkage(tmp_path: Path) -> None:
    files = people(120, 80)
    made = Deployment(tmp_path / "d", [TEXT], files, {"successor": Role.COORDINATOR})
    try:
        for party in ("steward", "successor"):
            made.client_yaml(party)
        (made.folders["successor"] / "successor.yaml").rename(made.folders["successor"] / "coordinator.yaml")
        # Bob's policy approves; Alice's operator is asked.
        made.configure(Side.ALICE, digest_of(TEXT).hex(), "00" * 32)
        manuals = Manuals(made)
        prepared(manuals, {side: frame.drop(TRUTH) for side, frame in files.items()})
        linked(manuals)
        assert manuals.left == []
    finally:
        made.close()


def prepared(manuals: Manuals, files: dict[Side, pl.DataFrame]) -> None:
    """What needs no service: a draft, rehearsals, a custodian's attack on its own signatures, duplicates, a seed."""
    desks = manuals.desks
    for side, frame in files.items():
        for name in ("sample-{}.csv", "test-{}.csv"):
            frame.write_csv(desks["coordinator"] / name.format(side[0]))
        frame.write_csv(desks["steward"] / f"{side[0]}.csv")
    for name in ("a.csv", "people.csv"):
        files[Side.ALICE].write_csv(desks["alice"] / name)
    manuals.types("coordinator", "spec draft")
    manuals.types("coordinator", "spec schema")
    for party in ("coordinator", "steward", "alice"):
        (desks[party] / "linkage.yaml").write_text(TEXT)
    assert "pairs" in manuals.types("coordinator", "spec check")
    manuals.types("coordinator", "rehearse linkage.yaml --alice test-a.csv")
    assert (desks["coordinator"] / "rehearsal/report.html").is_file()
    manuals.types("steward", "rehearse linkage.yaml --alice a.csv")
    assert (desks["steward"] / "rehearsal/risk.html").is_file()
    manuals.types("alice", "alice leakage")
    manuals.types("alice", "duplicates")
    manuals.types("alice", "alice seed new")


def amended(manuals: Manuals) -> None:
    """What the steward's manual names after a refusal: another specification, signed by all, and another run."""
    linkage = manuals.desks["coordinator"] / "linkage.yaml"
    linkage.write_text(TEXT.replace("results_days: 30", "results_days: 10"))
    for words in ("amend linkage.yaml", "approve births"):
        manuals.line("coordinator", f"gemel project {words}")
    for side in Side:
        manuals.is_asked(side)
        manuals.line(side, f"gemel {side} approve births")
    manuals.made.wait_for("births", CONTRIBUTED)
    manuals.line("coordinator", "gemel project start births")
    manuals.line("coordinator", "gemel project watch births", HELD)


def linked(manuals: Manuals) -> None:
    """From three services to an erased project."""
    made = manuals.made
    _, bob = made.processes("carole", "bob")
    with manuals.served():
        manuals.types("coordinator", "project create", "project approve")
        manuals.is_asked(Side.ALICE)
        manuals.types("alice", "alice status", "alice specification", "alice profile", "alice approve")
        made.wait_for("births", CONTRIBUTED)
        manuals.types("alice", "alice decline")
        assert "our committee has not agreed" in manuals.types("coordinator", "project status")
        manuals.line("alice", "gemel alice approve births")
        made.wait_for("births", CONTRIBUTED)
        manuals.types("coordinator", "project new-epoch")
        for side in Side:
            manuals.is_asked(side)
            manuals.line(side, f"gemel {side} approve births")
        made.wait_for("births", CONTRIBUTED)
        manuals.types("coordinator", "project start", "project watch", status=HELD)
        assert "held" in manuals.types("steward", "steward list", "steward report")
        assert (manuals.desks["steward"] / "results/risk.html").is_file()
        manuals.types("steward", "steward refuse")
        amended(manuals)
        bob.stop()
        manuals.types("steward", "steward release")
        made.eventually(lambda: "countersigned" in str(made.shown(Side.ALICE, "births")))
        manuals.types("alice", "alice fetch-alone")
        made.eventually(lambda: made.shown(Side.ALICE, "births").results)
        manuals.types("coordinator", "project results", "project report")
        assert {"report.html", "risk.html"} <= {
            path.name for path in (manuals.desks["coordinator"] / "results").iterdir()
        }
        manuals.types("coordinator", "project hand-over")
        manuals.types("successor", "project take-over")
        manuals.types("steward", "steward log")
        manuals.types("carole", "carole check", "carole health", "audit show")
        manuals.line("alice", "gemel alice checkpoints > alice.checkpoints")
        for side in Side:
            shutil.copy(manuals.desks["alice"] / "alice.checkpoints", manuals.desks["carole"] / f"{side}.checkpoints")
        manuals.types("carole", "audit checkpoint", "audit verify", "audit export")
        assert "gemel" in (manuals.desks["carole"] / "alice.note").read_text()
        manuals.types("successor", "project erase")
