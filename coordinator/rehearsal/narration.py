"""What a rehearsal reports to its user as it runs: each step's name and, in the demonstration, what it is for."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass

from gemel.common.documents.result_warning import ResultWarning
from gemel.coordinator.client.terminal import console


@dataclass(frozen=True)
class Step:
    """One step of a linkage."""

    title: str
    explanation: str


STEPS = {
    "provision": Step(
        "Provision",
        "Every party gets a certificate with its role, an Ed25519 identity that signs its approvals, and a key that "
        "results are sealed to. In a rehearsal all are thrown away at the end; `gemel init` makes lasting ones.",
    ),
    "start": Step(
        "Start the services",
        "Alice, Bob and Carole run as three processes and talk gRPC over mutual TLS. Only Carole listens on the "
        "network: a custodian calls out, fetches its next task from her, and never opens a port to anyone.",
    ),
    "specify": Step(
        "Specify and approve",
        "The coordinator submits linkage.yaml. Nothing happens until the coordinator and both custodians have signed "
        "that very text. Here each custodian's policy file approves it; live, its operator reads it first.",
    ),
    "agree": Step(
        "Agree on keys",
        "Alice and Bob agree on a secret seed by a signed key exchange, with Carole as a mailbox who cannot read it. "
        "A check value and a digest over public test records show a wrong seed or a different clean-up before any "
        "upload.",
    ),
    "contribute": Step(
        "Contribute",
        "Each custodian cleans its data, cuts every value into padded bigrams (john: _j jo oh hn n_) and turns them "
        "into a keyed 1-bit minwise signature. Rows are shuffled; the map back to the "
        "identifiers stays with the custodian.",
    ),
    "link": Step(
        "Link",
        "Carole compares signatures (the share of equal bits estimates the Jaccard similarity of the bigrams), counts "
        "the patterns of agreement, and fits a multinomial Fellegi-Sunter model by EM. She never learns a name.",
    ),
    "assess": Step(
        "Assess",
        "Before anything is released, Carole assesses what an intruder could learn from the combined output: who could "
        "be found in it, and what could be learnt of them. The policy in linkage.yaml judges the results; what it "
        "holds, only a steward releases, with a reason and a signature.",
    ),
    "release": Step(
        "Release",
        "Each custodian fetches its own share, sealed to its key, and puts its own identifiers back. The coordinator "
        "gets model parameters and counts, never a record.",
    ),
    "evaluate": Step(
        "Evaluate",
        "The truth is known here, so the decision can be judged: precision is the share of links that are matches, "
        "recall the share of matches that are links.",
    ),
}


SHARED = {
    "start": Step(
        "Start the services",
        "Alice, Bob and Carole run as processes and talk gRPC over mutual TLS, and so do the two who compute with "
        "Carole: the coordinator and a steward, `gemel compute`. Only Carole listens on the network: all others call "
        "out, and she passes on what the three who compute send each other, sealed, so that she cannot read it.",
    ),
    "contribute": Step(
        "Contribute",
        "Each custodian cleans its data, turns each value into a keyed signature as in mode block_keyed, and cuts "
        "every row into three random shares: two are seeds, the third is the row with both of them mixed in. Of "
        "Carole, the coordinator and the steward each gets two, from which it can read nothing.",
    ),
    "link": Step(
        "Link",
        "Carole, the coordinator and the steward compute the comparison levels of all candidate pairs on their shares, "
        "in circuits of exclusive or and and, and check each other. The pairs are put into an order that no one knows; "
        "only then Carole sees how many have each pattern of levels, and fits a Fellegi-Sunter model by EM.",
    ),
}
"""The steps that are others in mode shared."""


STYLES = {"warning": "yellow", "serious": "bold red"}
"""How the warnings that may need action are printed, by severity."""


def show_warnings(warnings: Iterable[ResultWarning]) -> None:
    """Print the warnings that may need action, with what to do; notes are in the report."""
    for warning in warnings:
        if warning.severity in STYLES:
            console.print(warning.line, style=STYLES[warning.severity], highlight=False, markup=False)


class Narrator:
    """Prints the steps of a rehearsal, explained if `explain`; in mode shared some steps are others."""

    def __init__(self, explain: bool, *, shared: bool = False) -> None:
        self._explain = explain
        self._steps = {**STEPS, **SHARED} if shared else STEPS
        self._started: dict[str, float] = {}
        self._now = ""
        self.seconds: dict[str, float] = {}
        """Time of each step that has ended."""

    def step(self, key: str) -> None:
        self.end()
        self._now = key
        self._started[key] = time.perf_counter()
        step = self._steps[key]
        console.rule(f"[bold]{step.title}", align="left", style="dim")
        if self._explain:
            console.print(step.explanation, style="dim")

    def end(self) -> None:
        if self._now:
            self.seconds[self._now] = time.perf_counter() - self._started[self._now]
            self._now = ""

    def show(self, text: str) -> None:
        console.print(text, highlight=False)

    def warn(self, warnings: Iterable[ResultWarning]) -> None:
        """Print the warnings that may need action."""
        show_warnings(warnings)
