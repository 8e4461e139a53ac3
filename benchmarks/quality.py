"""How well Tryst links data whose truth is known, beside Splink and recordlinkage: ``python -m benchmarks quality``.

Tryst goes through its services, from the draft specification as it comes; nothing is tuned to the data, and the truth
is used to judge only. The peers get the same records as Tryst cleaned them, the same fields, and where pairs are
blocked the same blocking keys. Splink compares by its own comparisons for each kind of field and is trained as its
tutorial does; recordlinkage runs its ECM classifier on binary comparisons. A decision is what each program calls a
match: probability .5 or more, in Tryst's case after one-to-one. So that the peers are not judged by what they do not
offer, the column *one-to-one* gives the F1 of their links when Tryst's assignment is applied to their probabilities.

RLdata500 is one file with 50 people twice. Of each the first record goes to Alice and the second to Bob; the others go
to Alice and Bob by turns, in the order of the file.

The peers need packages that Tryst does not have, in an environment of their own:

    python3.11 -m venv .venv-peers && .venv-peers/bin/pip install splink==5.0.0 recordlinkage==0.16
"""

from __future__ import annotations

import argparse
import contextlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from benchmarks import DATA, REPOSITORY
from tryst.carole.fellegi_sunter import assigned
from tryst.common.cleaning import clean
from tryst.common.encoding.blocking_keys import key_text
from tryst.common.specification import Specification
from tryst.coordinator.client.terminal import console
from tryst.coordinator.draft.specification_draft import draft
from tryst.coordinator.rehearsal.link_truth import evaluate
from tryst.coordinator.rehearsal.narration import Narrator
from tryst.coordinator.rehearsal.output_folder import rehearse_into
from tryst.coordinator.truth_columns import Truth

PEER_PYTHON = REPOSITORY / ".venv-peers" / "bin" / "python"
PERSON = "person_truth"
HEAD = (
    "| data | program | F1 at the decision | precision | recall | one-to-one | best F1 | expected AUC "
    "| calibration gap |\n|---|---|---|---|---|---|---|---|---|"
)


@dataclass(frozen=True)
class Case:
    """Two files with a column that names the person, and how they are to be linked."""

    title: str
    alice: pl.DataFrame
    bob: pl.DataFrame
    identifier: str
    spec: Specification
    peers: bool = True


def cases() -> Iterator[Case]:
    """RLdata500, brl_sim's four files, FEBRL4 without its social security numbers: blocked, whole, on few fields."""
    yield _case("RLdata500, every pair", *_rldata(), "id", block=False)
    for errors in (1, 2):
        for number in (0, 1):
            both = _read(DATA / "brl_sim" / f"percdups50_nerrors{errors}_dataset{number}.csv")
            both = both.with_columns(pl.col("rec-id").str.extract(r"^(rec-\d+)").alias(PERSON))
            original = pl.col("rec-id").str.ends_with("-org")
            title = f"brl_sim, {errors} error{'s' * (errors > 1)}, file {number}, every pair"
            yield _case(title, both.filter(original), both.filter(~original), "rec-id", block=False)
    febrl = [
        _read(DATA / "febrl" / f"dataset4{part}.csv")
        .drop("soc_sec_id")
        .with_columns(pl.col("rec_id").str.extract(r"^(rec-\d+)").alias(PERSON))
        for part in "ab"
    ]
    yield _case("FEBRL4 without soc_sec_id, blocked", *febrl, "rec_id", block=True)
    yield _case("FEBRL4 without soc_sec_id, every pair", *febrl, "rec_id", block=False, peers=False)
    yield from _few_fields(*(side.select("rec_id", PERSON, "given_name", "surname", "date_of_birth") for side in febrl))


def _few_fields(alice: pl.DataFrame, bob: pl.DataFrame) -> Iterator[Case]:
    """Names and date of birth only, where the 4 % of pairs with exchanged names matter."""
    plain = _case("FEBRL4, names and birth only, every pair", alice, bob, "rec_id", block=False, peers=False)
    yield plain
    data = plain.spec.model_dump()
    for field in data["fields"]:
        if field["name"] in ("given_name", "surname"):
            field["key_domain"] = "names"
    crossed = Specification.model_validate({**data, "swaps": (("given_name", "surname"),)})
    yield Case("the same, swaps: [[given_name, surname]]", alice, bob, "rec_id", crossed, peers=False)


def main(arguments: list[str]) -> int:
    """Link every case by every program and print a table as Markdown."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks quality", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help="link only the cases whose title has this in it")
    parser.add_argument("--peer-python", type=Path, default=PEER_PYTHON, help="interpreter that has the peers")
    options = parser.parse_args(arguments)
    if not DATA.is_dir():
        print("The reference data is not beside this checkout.")
        return 1
    peers = ("splink", "recordlinkage") if options.peer_python.exists() else ()
    print(HEAD)
    for case in cases():
        if options.only not in case.title:
            continue
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            print(_row(case.title, "Tryst", _tryst(case, folder)), flush=True)
            for program in peers if case.peers else ():
                version, found = _peer(program, case, folder, options.peer_python)
                print(_row(case.title, f"{program} {version}", found), flush=True)
    if not peers:
        print(f"\nThe peers are not installed:\n{(__doc__ or '').rsplit(':', 1)[-1].strip()}", file=sys.stderr)
    return 0


def _tryst(case: Case, folder: Path) -> dict[str, Any]:
    """Through the services."""
    for name, table in (("alice", case.alice), ("bob", case.bob)):
        table.write_csv(folder / f"{name}.csv")
    files = folder / "alice.csv", folder / "bob.csv"
    with contextlib.ExitStack() as stack:
        if not console.is_terminal:
            stack.enter_context(console.capture())
        truth = Truth(PERSON, PERSON)
        rehearse_into(folder / "run", case.spec, *files, truth, Narrator(explain=False), "3GiB", 0)
    evaluation: dict[str, Any] = json.loads((folder / "run" / "evaluation.json").read_text())
    return evaluation


def _peer(program: str, case: Case, folder: Path, python: Path) -> tuple[str, dict[str, Any]]:
    """In the peers' environment, on cleaned values."""
    keys = [f"key_{number}" for number, _ in enumerate(case.spec.keyed_rules)]
    for side, table in (("alice", case.alice), ("bob", case.bob)):
        cleaned = clean(table, case.spec, side).columns
        texts = {key: key_text(cleaned, case.spec, rule) for key, rule in zip(keys, case.spec.keyed_rules, strict=True)}
        pl.DataFrame({"identifier": table[case.identifier], **cleaned, **texts}).write_csv(folder / f"{side}.csv")
    fields = [{"name": field.name, "kind": field.kind} for field in case.spec.fields]
    (folder / "case.json").write_text(json.dumps({"fields": fields, "keys": keys}))
    script = Path(__file__).with_name("_quality_peers.py")
    run = subprocess.run([str(python), str(script), program, str(folder)], capture_output=True, text=True, check=False)
    if run.returncode:
        raise RuntimeError(f"{program} failed: {run.stderr[-2000:]}")
    pairs = pl.read_csv(folder / "pairs.csv", schema_overrides={"alice": pl.String, "bob": pl.String})
    pairs = pairs.select("alice", "bob", link_probability="probability").sort("link_probability", descending=True)
    persons = [
        table.select(pl.col(case.identifier).alias("identifier"), pl.col(PERSON).alias("person"))
        for table in (case.alice, case.bob)
    ]
    found = evaluate(pairs.filter(pl.col("link_probability") >= 0.5), pairs, *persons).plain()
    rows = [pairs[side].cast(pl.Categorical).to_physical().to_numpy() for side in ("alice", "bob")]
    kept = assigned(rows[0], rows[1], pairs["link_probability"].to_numpy(), 0.5, "one_to_one")
    found["one_to_one"] = evaluate(pairs[kept.tolist()], pairs, *persons).at_decision.f1
    return json.loads(run.stdout.splitlines()[-1])["version"], found


def _row(title: str, program: str, found: dict[str, Any]) -> str:
    decision = found["at_decision"]
    one_to_one = found.get("one_to_one", decision["f1"])
    return (
        f"| {title} | {program} | {decision['f1']:.4f} | {decision['precision']:.4f} | {decision['recall']:.4f} "
        f"| {one_to_one:.4f} | {found['at_best']['f1']:.4f} | {found['auc']:.4f} "
        f"| {found['calibration_largest_gap']:+.1%} |"
    )


def _case(
    title: str, alice: pl.DataFrame, bob: pl.DataFrame, identifier: str, *, block: bool, peers: bool = True
) -> Case:
    spec, _ = draft(alice.drop(PERSON), bob.drop(PERSON), "quality", block)
    return Case(title, alice, bob, identifier, spec, peers)


def _rldata() -> tuple[pl.DataFrame, pl.DataFrame]:
    table = _read(DATA / "rldata" / "RLdata500.csv")
    person = _read(DATA / "rldata" / "identity.RLdata500.csv").to_series()
    table = table.with_columns(person.alias(PERSON)).with_row_index("id").with_columns(pl.col("id").cast(pl.String))
    again = pl.col(PERSON).cum_count().over(PERSON) == 2
    twice = pl.len().over(PERSON) == 2
    turn = pl.when(twice).then(None).otherwise(1).cum_sum() % 2 == 0
    table = table.with_columns(bobs=pl.when(twice).then(again).otherwise(turn))
    return table.filter(~pl.col("bobs")).drop("bobs"), table.filter(pl.col("bobs")).drop("bobs")


def _read(path: Path) -> pl.DataFrame:
    table = pl.read_csv(path, infer_schema=False)
    return table.rename({name: name.strip() for name in table.columns}).with_columns(pl.all().str.strip_chars())
