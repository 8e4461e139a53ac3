"""Coded: the assessment as Carole makes it in mode block_keyed, beside what she makes of the same links in mode open.

Two files of invented people whose categories are drawn at random, the same for a person in both. They are linked in
mode block_keyed, and assessed twice: with every pair and every probability, as mode open has them, and with what a
resolver reports, links by rows of codes with micro-aggregated probabilities. Many fields make nearly sure links; names,
sex and birth alone make doubtful ones.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from benchmarks._block_keyed import compared
from benchmarks._in_process import no_progress as quiet
from benchmarks.modes import people
from gemel.carole.assessment.combined import Combined, combine, combine_coded
from gemel.carole.assessment.combined_assessment import AssessmentContext, assess
from gemel.carole.engine import Linkage, Resources, conclude
from gemel.carole.engine.decision.coded_links import CodedLinks, Expected, coded_links
from gemel.carole.engine.documents.run_documents import findings
from gemel.carole.engine.resolution.resolution_exchange import expected_elsewhere
from gemel.carole.engine.resolution.resolution_result import ResolutionResult, pack_result, unpack_result
from gemel.carole.engine.run.specified import plan_of
from gemel.common.keys.derivation import Seed
from gemel.common.parties import Side
from gemel.common.signatures.layout import CODES
from gemel.common.signatures.signature_sets import SignatureSet
from gemel.common.specification import Specification
from gemel.custodian.cleaning.columns import clean
from gemel.custodian.encoding.records import Encoded, encode_records

RESOURCES = Resources(2 << 30, 2)
LEVELS = {"gender": 2, "age": 6, "region": 5, "work": 7, "illness": 3}
HOLDERS = {"gender": "both", "age": "alice", "region": "alice", "work": "bob", "illness": "bob"}
POOR: dict[str, Any] = {
    "fields": ("given_name", "sex", "date_of_birth"),
    "blocking": [
        {"name": "month", "keys": [{"field": "date_of_birth", "part": "month"}, {"field": "given_name", "prefix": 1}]},
        {"name": "year", "keys": [{"field": "date_of_birth", "part": "year"}, {"field": "sex"}]},
    ],
}
"""Of the fields compared those that leave doubts, and rules on them."""


def assessed_specification(spec: Specification, mode: str, *, poor: bool) -> Specification:
    """A specification of `people` with variables and an assessment."""
    variables = [
        {
            "name": name,
            "holder": HOLDERS[name],
            "categories": [f"{name}-{k}" for k in range(levels)],
            "role": "sensitive" if name == "illness" else "key",
        }
        for name, levels in LEVELS.items()
    ]
    policy = {
        "fractions": {"alice": 0.2, "bob": 0.2, "combined": 0.1},
        "tables": [{"variables": ["age", "illness"], "protection": "conventional", "base": 5}],
        "limits": {"correct_matches": 0.5},
    }
    content = spec.model_dump(mode="json")
    content |= {"mode": mode, "variables": variables, "assessment": policy}
    content["release"] |= {"assessment": "policy", "alice": "pairs"}
    if poor:
        content["fields"] = [field for field in content["fields"] if field["name"] in POOR["fields"]]
        content["blocking"] = POOR["blocking"]
    return Specification.model_validate(content)


def encoded(spec: Specification, files: Mapping[Side, pl.DataFrame], seed: Seed) -> dict[Side, Encoded]:
    """Both files as their custodians send them; a column `person` names whose categories a record has."""
    bare = spec.model_copy(update={"variables": ()})
    return {
        side: encode_records(
            clean(files[side].drop("person"), bare, side).columns, spec, seed, 1,
            variables=_places(files[side]["person"], side),
        )
        for side in Side
    }  # fmt: skip


def _places(person: pl.Series, side: Side) -> dict[str, pl.Series]:
    rows = person.cast(pl.String).str.extract(r"(\d+)").cast(pl.Int64).to_numpy()
    found = {}
    for place, (name, levels) in enumerate(LEVELS.items()):
        if HOLDERS[name] in ("both", str(side)):
            drawn = np.random.default_rng([7, place]).integers(0, levels, int(rows.max()) + 1)
            found[name] = pl.Series(drawn[rows], dtype=pl.Int32)
    return found


@dataclass(frozen=True)
class Resolved:
    """A linkage in mode block_keyed, before its answer goes to Carole.

    `rows` of the candidate pairs are as Carole requested them, and `order` says which of these each of the
    linkage's pairs is, whose rows are records of the files; `coded` are the links by rows of codes.
    """

    spec: Specification
    made: Mapping[Side, Encoded]
    rows: tuple[NDArray[np.int32], NDArray[np.int32]]
    order: NDArray[np.int64]
    linkage: Linkage
    coded: CodedLinks

    def sets(self) -> list[SignatureSet]:
        """Both sets of codes."""
        return [part for side in Side for part in self.made[side].sets if part.rule == CODES]

    def whole(self) -> Combined:
        """The combined output with every pair and probability, as mode open has them of the same links."""
        files = []
        for side, codes in zip(Side, self.sets(), strict=True):
            place = np.argsort(self.made[side].orders[CODES])
            held = {name: replace(each, codes=each.codes[place]) for name, each in codes.variables.items()}
            files.append(replace(codes, variables=held))
        return combine(self.linkage, files[0], files[1], self.spec)

    def reported(self, coded: CodedLinks | None) -> Combined:
        """What Carole makes of an answer with these links by rows of codes."""
        statistics = findings(self.linkage, plan_of(self.spec), Resources(3 << 30, 1), {})
        content = pack_result(ResolutionResult(statistics, {}, coded, expected_elsewhere(self.linkage)))
        alice, bob = self.sets()
        expected = Expected(alice.n_rows, bob.n_rows, plan_of(self.spec).one_to_one)
        return combine_coded(unpack_result(content, (), expected), alice, bob, self.spec)


def resolved(spec: Specification, files: Mapping[Side, pl.DataFrame], seed: Seed) -> Resolved:
    """Link two files in mode block_keyed."""
    made = encoded(spec, files, seed)
    plan = plan_of(spec)
    found, rows = compared(files, made, plan, RESOURCES)
    # Handles are the rows of the files here: any numbers do.
    records = [made[side].order[rows[side]].astype(np.int32) for side in Side]
    linkage, order = conclude(found, records[0], records[1], plan, quiet)
    codes = [np.argsort(made[side].orders[CODES]).astype(np.int32) for side in Side]
    coded = coded_links(linkage, codes[0], codes[1])
    return Resolved(spec, made, (rows[Side.ALICE], rows[Side.BOB]), order, linkage, coded)


def measured(combined: Combined, spec: Specification) -> dict[str, float]:
    """Every measure of an assessment."""
    document = assess(combined, spec, AssessmentContext("r" * 32), advise=False).document
    return {name: float(entry["value"]) for name, entry in document["measures"].items()}


def main(arguments: list[str]) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks coded", description=__doc__)
    parser.add_argument("--rows", type=int, default=2000, help="people in each file")
    parser.add_argument("--seeds", type=int, default=5, help="pairs of files")
    parser.add_argument("--errors", type=float, default=0.3, help="share of records with errors")
    options = parser.parse_args(arguments)
    for poor in (False, True):
        with_all, with_reported = [], []
        for seed in range(1, options.seeds + 1):
            spec, files = people(options.rows, options.errors, seed)
            case = resolved(assessed_specification(spec, "block_keyed", poor=poor), files, Seed.generate())
            whole, reported = case.whole(), case.reported(case.coded)
            with_all.append(measured(whole, case.spec))
            with_reported.append(measured(reported, case.spec))
            _, alike = np.unique(whole.probability, return_counts=True)
            _, groups = np.unique(reported.probability, return_counts=True)
            print(
                f"{'few' if poor else 'many'} fields, seed {seed}: {reported.n_records:,} links of mean probability"
                f" {whole.probability.mean():.3f}, {(alike == 1).sum() / reported.n_records:.1%} of them with one of"
                f" their own; reported in {len(groups)} groups, the smallest of {groups.min()}; {reported.left_out:.2f}"
                " matches expected among pairs left out",
                flush=True,
            )
        print("\n| measure | all pairs | as reported | mean difference | largest |\n|---|---|---|---|---|")
        for name in with_all[0]:
            one, other = (np.array([each[name] for each in found]) for found in (with_all, with_reported))
            gaps = other - one
            print(f"| {name} | {one.mean():.4f} | {other.mean():.4f} | {gaps.mean():+.4f} | {np.abs(gaps).max():.4f} |")
        print()
    return 0
