"""Modes: what linking block by block costs in links, beside mode open with the same blocking rules, and on shares.

All modes get the same records and the same rules; block-keyed mode has signatures that compare inside blocks only, u
from samples in small groups, and a resolver who joins rows by the custodians' handles; in mode shared three parties
compare the same on shares. The truth judges, nothing else.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from benchmarks import DATA
from benchmarks._block_keyed import NOISE, RESOURCES, compared, encoded
from benchmarks._in_process import no_progress
from gemel.carole.engine import Linkage, link
from gemel.carole.engine.resolution.padded import conclude_padded
from gemel.carole.engine.run.specified import plan_of
from gemel.common.keys.derivation import Seed
from gemel.common.keys.noise import NoiseKey
from gemel.common.parties import Side
from gemel.common.specification import Specification, load_specification
from gemel.coordinator.api.in_process import compared_on_shares
from gemel.coordinator.demonstration.people import two_files

SPECIFICATION = """version: 1
project: modes
mode: open
custodians: {{alice: {{identifier: id}}, bob: {{identifier: id}}}}
fields:
{fields}
blocking:
{rules}
retention: {{uploads_days: 1, results_days: 1, maps_days: 1}}
"""
FEBRL = SPECIFICATION.format(
    fields="""  - {name: given_name, kind: name}
  - {name: surname, kind: name}
  - {name: street_number, kind: number}
  - {name: address_1, kind: text}
  - {name: address_2, kind: text}
  - {name: suburb, kind: text}
  - {name: postcode, kind: code}
  - {name: state, kind: category}
  - {name: date_of_birth, kind: date, date: {order: ymd}}""",
    rules="""  - {name: born, keys: [{field: date_of_birth}]}
  - {name: names, keys: [{field: surname, prefix: 4}, {field: given_name, prefix: 3}]}
  - {name: place, keys: [{field: postcode}, {field: address_1, prefix: 5}]}""",
)

PEOPLE = SPECIFICATION.format(
    fields="""  - {name: given_name, kind: name}
  - {name: surname, kind: name}
  - {name: sex, kind: category}
  - {name: date_of_birth, kind: date, date: {order: ymd}}
  - {name: street, kind: text}
  - {name: town, kind: text}
  - {name: postcode, kind: code}
  - {name: phone, kind: code}""",
    rules="""  - {name: born, keys: [{field: date_of_birth}]}
  - {name: names, keys: [{field: surname}, {field: given_name, prefix: 1}]}
  - {name: place, keys: [{field: postcode}, {field: date_of_birth, part: year}]}""",
)


@dataclass(frozen=True)
class Linked:
    """A run with its pairs by rows of the files, its links by these rows, and how long it took."""

    linkage: Linkage
    links: NDArray[np.int64]
    seconds: float


def link_in(
    mode: str,
    spec: Specification,
    files: Mapping[Side, pl.DataFrame],
    seed: Seed,
    noise: Mapping[Side, NoiseKey] = NOISE,
) -> Linked:
    """Encode and link two files in one mode; links as pairs of rows of the files, shape (n_links, 2)."""
    spec = spec.model_copy(update={"mode": mode})
    made, plan = encoded(files, spec, seed, noise), plan_of(spec)
    alice, bob = (made[side] for side in Side)
    started = time.perf_counter()
    if mode == "open":
        linkage = link(alice.sets[0], bob.sets[0], plan, RESOURCES, no_progress)
        of_pairs = linkage.pairs
        rows = alice.order[of_pairs.row_a].astype(np.int32), bob.order[of_pairs.row_b].astype(np.int32)
        linkage = replace(linkage, pairs=replace(of_pairs, row_a=rows[0], row_b=rows[1]))
        return Linked(linkage, links_of(linkage), time.perf_counter() - started)
    heights = files[Side.ALICE].height, files[Side.BOB].height  # rows after these are dummies
    if mode == "shared":
        found, named = compared_on_shares(alice, bob, spec, RESOURCES, no_progress)
        records = [rows.astype(np.int32) for _, rows in named]
    else:
        found, rows_of = compared(files, made, plan)
        # What the custodians report to the resolver: which rows are one record.
        records = [made[side].order[rows_of[side]].astype(np.int32) for side in Side]
    linkage, _, _ = conclude_padded(found, records[0], records[1], heights, plan, no_progress)
    return Linked(linkage, links_of(linkage), time.perf_counter() - started)


def links_of(linkage: Linkage) -> NDArray[np.int64]:
    """Rows of the links, shape (n_links, 2)."""
    chosen = [linkage.pairs.row_a[linkage.links], linkage.pairs.row_b[linkage.links]]
    return np.stack(chosen, axis=1).astype(np.int64)


def judged(linked: Linked, files: Mapping[Side, pl.DataFrame], person: str) -> tuple[float, float, float]:
    """F1, precision and recall of the links, by a column that names the person."""
    alice, bob = (files[side].get_column(person).to_numpy() for side in Side)
    right = int((alice[linked.links[:, 0]] == bob[linked.links[:, 1]]).sum())
    matches = files[Side.ALICE].select(person).join(files[Side.BOB].select(person), on=person).height
    precision, recall = right / max(1, len(linked.links)), right / max(1, matches)
    return 2 * right / max(1, len(linked.links) + matches), precision, recall


def febrl() -> tuple[Specification, dict[Side, pl.DataFrame]]:
    """FEBRL4 without its social security numbers."""
    files = {}
    for side, part in zip(Side, "ab", strict=True):
        frame = pl.read_csv(DATA / "febrl" / f"dataset4{part}.csv", infer_schema=False)
        frame = frame.rename({name: name.strip() for name in frame.columns}).with_columns(pl.all().str.strip_chars())
        files[side] = frame.with_columns(id=pl.col("rec_id"), person=pl.col("rec_id").str.extract(r"^(rec-\d+)"))
    return load_specification(FEBRL), files


def people(n: int, errors: float, seed: int) -> tuple[Specification, dict[Side, pl.DataFrame]]:
    """Two files of generated people, half of each in the other."""
    rng = np.random.default_rng(seed)
    files = dict(zip(Side, two_files(n, n, n // 2, errors, rng), strict=True))
    named = {side: frame.rename({"record_id": "id", "person_id": "person"}) for side, frame in files.items()}
    return load_specification(PEOPLE), named


def main(arguments: list[str]) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks modes", description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000, help="generated people in each file")
    parser.add_argument("--seeds", type=int, default=3, help="pairs of generated files")
    options = parser.parse_args(arguments)
    cases = [("FEBRL4 without soc_sec_id", febrl())] if (DATA / "febrl").is_dir() else []
    cases += [
        (
            f"{options.rows:,} generated people, {errors:.0%} with errors, seed {seed}",
            people(options.rows, errors, seed),
        )
        for errors in (0.2, 0.6)
        for seed in range(1, options.seeds + 1)
    ]
    print("| data | mode | F1 | precision | recall | links | seconds |\n|---|---|---|---|---|---|---|")
    for title, (spec, files) in cases:
        made = {}
        for mode in ("open", "block_keyed", "shared"):
            linked = link_in(mode, spec, files, Seed(bytes(range(32))))
            made[mode] = judged(linked, files, "person")
            f1, precision, recall = made[mode]
            print(
                f"| {title} | {mode} | {f1:.4f} | {precision:.4f} | {recall:.4f} | {len(linked.links):,} "
                f"| {linked.seconds:.1f} |",
                flush=True,
            )
        for mode, beside in (("block_keyed", "open"), ("shared", "block_keyed")):
            print(f"| {title} | {mode} less {beside} | {made[mode][0] - made[beside][0]:+.4f} | | | | |", flush=True)
    return 0
