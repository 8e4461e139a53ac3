"""docs/live-linkage.md carried out by real processes: `python -m benchmarks ceremony`.

Every code block of the page is typed by its party, in a folder of its own; what the page says is sent is copied, what
it says is read out is typed. The number of commands and the wall time are printed. Changed are Carole's address and the
addresses of metrics, since all machines are this one.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np
import polars as pl

from gemel.coordinator.demonstration.people import two_files
from gemel.coordinator.demonstration.people.insured import with_traits
from gemel.party.comparison import read_to
from gemel.party.membership_file import load_membership

EXAMPLE = "carole.example.org:7443"
"""Carole's address on the page."""

SPECIFICATION = """\
version: 1
project: births
mode: open
custodians: {alice: {identifier: record_id}, bob: {identifier: record_id}}
fields:
  - {name: given_name, kind: name, bits: 512}
  - {name: surname, kind: name, bits: 512}
  - {name: sex, kind: category}
  - {name: date_of_birth, kind: date, date: {order: ymd}}
  - {name: postcode, kind: code}
  - {name: phone, kind: code}
variables:
  - {name: SocioEcon, holder: alice, role: key, categories: [Prole, Middle, UpperMiddle, Wealthy]}
  - {name: RiskAversion, holder: alice, role: sensitive, categories: [Psychopath, Adventurous, Normal, Cautious]}
  - {name: Age, holder: bob, role: key, categories: [Adolescent, Adult, Senior]}
  - {name: MakeModel, holder: bob, role: key, categories: [SportsCar, Economy, FamilySedan, Luxury, SuperLuxury]}
assessment:
  fractions: {alice: 0.05, bob: 0.05, combined: 0.025}
  limits: {sample_uniques: 0.0}
  on_breach: hold
leakage: {limit: 1.0}
release: {assessment: policy, alice: links, bob: links, coordinator: statistics}
retention: {uploads_days: 7, results_days: 30, maps_days: 90, releases_days: 365}
"""


def free_address() -> str:
    """An address of this machine at which nothing listens now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{probe.getsockname()[1]}"


def two_sources() -> dict[str, pl.DataFrame]:
    """Alice's and Bob's records: 60 invented people each, 40 of them in both."""
    rng = np.random.default_rng(5)
    return dict(zip(("alice", "bob"), with_traits(*two_files(60, 60, 40, 0.2, rng), rng), strict=True))


ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/live-linkage.md"
MEMBERS = ("alice", "bob", "carole", "steward")
DIGITS = re.compile(r"^ +((?:[0-9]{4} ){5}[0-9]{4})$", re.MULTILINE)
SECONDS = 300.0
"""How long anything may take before this gives up."""
_OBSERVED = re.compile(r"127\.0\.0\.1:9[0-9]{3}")


def typed_lines() -> list[list[str]]:
    """Every command of the page, in its order, without the name of the program."""
    blocks = re.findall(r"^```sh\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return [shlex.split(line)[1:] for block in blocks for line in block.splitlines()]


class Typed:
    """A command that runs: what it has printed so far, and what is typed into it."""

    def __init__(self, words: list[str], machine: Path) -> None:
        self.words = words
        self.output = ""
        self._process = subprocess.Popen(
            [sys.executable, "-m", "gemel", *words],
            cwd=machine,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1", "COLUMNS": "200"},
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        while chunk := self._process.stdout.read1(4096):  # type: ignore[attr-defined]
            self.output += chunk.decode(errors="replace")

    def until(self, words: str) -> str:
        """Wait until it has printed this; all it has printed."""
        self._wait(lambda: words in self.output, words)
        return self.output

    def type(self, line: str) -> None:
        """Type a line."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n".encode())
        self._process.stdin.flush()

    def ended(self, status: int = 0) -> str:
        """Wait until it has ended with this status; all it has printed."""
        self._process.wait(SECONDS)
        self._reader.join(SECONDS)
        if self._process.returncode != status:
            raise AssertionError(f"{self.words} ended with {self._process.returncode}:\n{self.output}")
        return self.output

    def stop(self) -> None:
        """End it if it still runs."""
        if self._process.poll() is None:
            self._process.terminate()
            self._process.wait(SECONDS)

    def _wait(self, condition: Callable[[], bool], what: str) -> None:
        end = time.monotonic() + SECONDS
        while not condition():
            if time.monotonic() > end or (self._process.poll() is not None and not self._reader.is_alive()):
                raise AssertionError(f"{self.words} has not printed {what!r}:\n{self.output}")
            time.sleep(0.05)


class Ceremony:
    """The page's commands on five machines, each a folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.count = 0
        self._address = free_address()
        self._lines = iter(typed_lines())
        self._opened = ExitStack()
        for party in (*MEMBERS, "coordinator"):
            (root / party).mkdir()
        for party, frame in two_sources().items():
            frame.write_csv(root / party / f"{party}.csv")
        (root / "coordinator/linkage.yaml").write_text(SPECIFICATION)

    def close(self) -> None:
        """Stop everything."""
        self._opened.close()

    def next(self, party: str, *, answer: bool = False) -> Typed:
        """Type the page's next command on a party's machine; with `answer` as one who has read what is requested."""
        words = [word.replace(EXAMPLE, self._address) for word in next(self._lines)]
        self.count += 1
        typed = Typed(words, self.root / party)
        self._opened.callback(typed.stop)
        if answer:
            typed.until("[y/N]")
            typed.type("y")
        return typed

    def join(self) -> None:
        """Steps 1 to 5, and the call."""
        joining = {party: self.next(party) for party in MEMBERS}
        for party, typed in joining.items():
            typed.until("Path of the membership.yaml received")
            self._send(f"{party}/linkage/{party}-request.yaml", "coordinator")
        joining["coordinator"] = self.next("coordinator")
        joining["coordinator"].until("Digits that")
        for party in MEMBERS:
            self._send("coordinator/linkage/membership.yaml", party)
            joining[party].type("membership.yaml")
            joining[party].until("Digits that")
        listed = load_membership(self.root / "coordinator/linkage/membership.yaml").members
        for party, typed in joining.items():
            for other in read_to(listed, party):
                typed.until(f"Digits that {other.name} reads out")
                typed.type(_read_out(joining[other.name]))
        for typed in joining.values():
            typed.ended()
        for path in self.root.glob("*/*/*.yaml"):
            # Other processes of this machine may have these ports.
            path.write_text(_OBSERVED.sub("127.0.0.1:0", path.read_text()))
        if any(_OBSERVED.search(path.read_text()) for path in self.root.glob("*/*/*.yaml")):
            raise AssertionError("a configuration names a port for metrics")

    def serve(self) -> None:
        """Steps 6 to 8."""
        for party in ("alice", "bob", "carole"):
            self.next(party).until('"event": "ready"')

    def link(self) -> None:
        """Steps 9 to 12; the results are there then."""
        run = self.next("coordinator")
        digest = run.until("Waiting for the custodians").split("Approving specification ")[1].split()[0]
        for title in ("Alice", "Bob"):
            run.until(f"{title}'s service waits for its operator's decision")
        for party in ("alice", "bob"):
            if digest not in self.next(party, answer=True).ended():
                raise AssertionError(f"{party} was shown another digest than {digest}")
        run.until("HELD")
        self.next("steward", answer=True).ended()
        run.ended()
        end = time.monotonic() + SECONDS
        while len(list(self.root.glob("*/*/results/births/*/links.parquet"))) < 2:
            if time.monotonic() > end:
                raise AssertionError("no links at both custodians")
            time.sleep(0.2)

    def _send(self, path: str, party: str) -> None:
        shutil.copy(self.root / path, self.root / party)


def _read_out(typed: Typed) -> str:
    """What a party reads from its screen."""
    return str(DIGITS.findall(typed.output)[-1])


@contextmanager
def ceremony() -> Iterator[Ceremony]:
    """Machines in a folder that is removed again."""
    with tempfile.TemporaryDirectory(prefix="gemel-ceremony-") as folder:
        made = Ceremony(Path(folder))
        try:
            yield made
        finally:
            made.close()


def main(arguments: list[str]) -> int:
    """Carry the page out, and print how many commands and how long it took."""
    argparse.ArgumentParser(prog="python -m benchmarks ceremony", description=__doc__).parse_args(arguments)
    begun = time.monotonic()
    with ceremony() as made:
        for step in (made.join, made.serve, made.link):
            step()
            print(f"{step.__name__:8} {made.count:3} commands  {time.monotonic() - begun:6.1f} s")
    return 0
