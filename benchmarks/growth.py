"""Growth: what the draft's gate finds on a sample grown to a file's size, beside what it finds on the file itself.

People are invented, a sample is drawn of each file, and rules are drafted from the two samples with the file's size, as
`gemel spec draft --rows` does. Alice's gate measures the rules that the draft begins with on her sample, on the sample
as it is grown, and on the file: for each rule and kind of attacker the worst of its attacks, and how many rows the
block of a row has. The rules that the draft ends with are then measured on the file: its gate should accept them.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Mapping

import numpy as np
import polars as pl

from gemel.common.keys.noise import AssessmentKeys
from gemel.common.parties import Side
from gemel.common.specification import BlockingRule, Specification
from gemel.coordinator.demonstration.people import TRUTH, two_files
from gemel.coordinator.draft.grown_file import grown
from gemel.coordinator.draft.specification_draft import Drafted, draft
from gemel.custodian.cleaning.columns import clean
from gemel.custodian.encoding.blocking_keys import key_text
from gemel.custodian.leakage.leakage_assessment import assess
from gemel.custodian.leakage_report import ATTACKERS, Attacker, Finding, LeakageReport

Columns = Mapping[str, pl.Series]


def files(rows: int, sample: int, seed: int) -> tuple[dict[Side, pl.DataFrame], dict[Side, pl.DataFrame]]:
    """Two files of invented people, half of them in both, without the truth; and a sample of each."""
    rng = np.random.default_rng(seed)
    whole = dict(zip(Side, (file.drop(TRUTH) for file in two_files(rows, rows, rows // 2, 0.2, rng)), strict=True))
    return whole, {side: file[np.sort(rng.permutation(rows)[:sample])] for side, file in whole.items()}


def three_sizes(
    spec: Specification, whole: pl.DataFrame, sample: pl.DataFrame, keys: AssessmentKeys
) -> dict[str, Columns]:
    """Alice's cleaned values: of her sample, of the sample as it is grown, and of her file."""
    small, large = (clean(file, spec, Side.ALICE).columns for file in (sample, whole))
    return {"sample": small, "grown": grown(small, whole.height, keys.generator("grown alice")), "file": large}


def rows_of_a_block(columns: Columns, spec: Specification, rule: BlockingRule) -> float:
    """Mean over a rule's rows of how many rows its block has."""
    sizes = key_text(columns, spec, rule, split=True).drop_nulls().value_counts(name="n")["n"].cast(pl.Float64)
    return float((sizes**2).sum() / sizes.sum())


def worst(report: LeakageReport, rule: str, attacker: Attacker) -> Finding | None:
    """What a kind of attacker does at most under a rule; under "" in the samples for chance agreement."""
    found = [each for each in (*report.findings, *report.recognised) if (each.rule, each.attacker) == (rule, attacker)]
    return max(found, key=lambda finding: finding.above_chance, default=None)


def table(spec: Specification, sizes: Mapping[str, Columns]) -> Iterator[str]:
    """The lines of the table."""
    reports = {name: assess(columns, spec) for name, columns in sizes.items()}
    yield "| rule | attacker | " + " | ".join(f"{name}: share, rows a block" for name in sizes) + " |"
    yield "|---|---|" + "---|" * len(sizes)
    for rule in (*spec.keyed_rules, None):
        for attacker in ATTACKERS:
            cells = []
            for name, columns in sizes.items():
                found = worst(reports[name], "" if rule is None else rule.name, attacker)
                rows = "" if rule is None else f", {rows_of_a_block(columns, spec, rule):.1f}"
                cells.append("-" if found is None else f"{found.above_chance:.1%} ±{found.error:.1%}{rows}")
            if cells != ["-"] * len(cells):
                yield f"| {'samples' if rule is None else rule.name} | {attacker} | {' | '.join(cells)} |"


def drafted(samples: Mapping[Side, pl.DataFrame], rows: int) -> Drafted:
    """The draft from samples of files of so many rows."""
    return draft(samples[Side.ALICE], samples[Side.BOB], "growth", True, "block_keyed", gate=assess, rows=rows)


def main(arguments: list[str]) -> int:
    """Print the draft's statements and the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks growth", description=__doc__)
    parser.add_argument("--rows", type=int, default=50_000, help="invented people in each file")
    parser.add_argument("--sample", type=int, default=5_000, help="of them in each sample")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    began = time.perf_counter()
    whole, samples = files(given.rows, given.sample, given.seed)
    proposed, *_ = draft(samples[Side.ALICE], samples[Side.BOB], "growth", True, "block_keyed")
    sizes = three_sizes(proposed, whole[Side.ALICE], samples[Side.ALICE], AssessmentKeys.of_number(1))
    for line in table(proposed, sizes):
        print(line, flush=True)
    made = drafted(samples, given.rows)
    print(f"\n{made.comments['blocking']}\n\n{made.comments.get('leakage', '')}\n")
    report = assess(sizes["file"], made.specification)
    for verdict in report.verdicts:
        limit = "none" if verdict.limit is None else f"{verdict.limit:.0%}"
        print(f"Of the file, by one {verdict.who}: {verdict.share:.1%} {verdict.what}, limit {limit}")
    print(
        f"The file's gate {'refuses' if report.exceeds else 'accepts'} the draft; {time.perf_counter() - began:.0f} s"
    )
    return 0
