"""`gemel.link` has the links and probabilities of the three services, to the last bit, under the same keys."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import gemel
from gemel.alice import PARTY as ALICE
from gemel.bob import PARTY as BOB
from gemel.common.keys.derivation import Seed
from gemel.common.keys.noise import NoiseKey
from gemel.common.parties import Side
from gemel.coordinator.demonstration.people import TRUTH, two_files
from gemel.coordinator.demonstration.people.insured import insured_specification, with_policy, with_traits
from gemel.coordinator.draft.specification_draft import draft
from gemel.coordinator.rehearsal.narration import Narrator
from gemel.coordinator.rehearsal.output_folder import WRITTEN, rehearse_into
from gemel.custodian.configuration import load_custodian
from gemel.custodian.state.custodian_state import State
from gemel.custodian.state.row_map import Keyring
from gemel.custodian.steps.seed_agreement import SEED
from tests.coordinator.rehearsal.before_the_end import look_before_the_end

Files = Mapping[Side, Path]

pytestmark = pytest.mark.timeout(900)  # three services each, and kernels to compile

FEBRL4 = """version: 1
project: febrl4
mode: open
custodians: {alice: {identifier: rec_id}, bob: {identifier: rec_id}}
fields:
  - {name: given_name, kind: name}
  - {name: surname, kind: name}
  - {name: suburb, kind: text}
  - {name: postcode, kind: code}
  - {name: date_of_birth, kind: date, date: {order: ymd}}
blocking:
  - {name: born, keys: [{field: date_of_birth}]}
  - {name: names, keys: [{field: surname, prefix: 4}, {field: given_name, prefix: 3}]}
retention: {uploads_days: 1, results_days: 1, maps_days: 1}
"""


def demonstration(folder: Path, n: int, *, variables: bool) -> tuple[Files, gemel.Specification]:
    """What `gemel demo` makes of `n` people a side, without measuring its draft."""
    rng = np.random.default_rng(4)
    alice, bob = two_files(n, n, n // 2, 0.2, rng)
    if variables:
        spec = insured_specification("demo")
    else:
        drafted = draft(alice.drop(TRUTH), bob.drop(TRUTH), "demo", mode="block_keyed")
        spec = with_policy(drafted.specification, drafted.comments, (n, n, n // 2))[0]
        # What a few records leak differs from key to key: at the default limit a key might be refused.
        spec = spec.model_copy(update={"leakage": spec.leakage.model_copy(update={"limit": 0.5})})
    files = {side: folder / f"{side}.csv" for side in Side}
    for side, table in zip(Side, with_traits(alice, bob, rng), strict=True):
        table.write_csv(files[side])
    return files, spec


def rehearsed_and_linked(
    files: Files, spec: gemel.Specification, out: Path, patch: pytest.MonkeyPatch
) -> tuple[pl.DataFrame, pl.DataFrame, gemel.LinkedFiles]:
    """Pairs and links of a rehearsal, and what `gemel.link` makes of the same files under the custodians' keys."""
    noise: dict[Side, NoiseKey] = {}
    seeds: list[bytes] = []
    pairs: list[pl.DataFrame] = []

    def look(folder: Path) -> None:
        for party in (ALICE, BOB):
            configuration = load_custodian(folder / f"parties/{party.side}/{party.side}.yaml")
            state = State(configuration.state, Keyring.load(configuration, party).vault)
            try:
                noise[party.side] = state.noise_key()
                seeds.append(state.secret(spec.project, 1, SEED) or b"")
            finally:
                state.close()
            (share,) = configuration.results.glob("*/*/pairs.parquet")
            pairs.append(pl.read_parquet(share))

    look_before_the_end(patch, look)
    rehearse_into(out, spec, files[Side.ALICE], files[Side.BOB], None, Narrator(explain=False), "1GiB", 1)
    assert seeds[0] == seeds[1]
    keys = gemel.Keys(Seed(seeds[0]), noise)
    linked = gemel.link(files[Side.ALICE], files[Side.BOB], spec, keys=keys, memory="1GiB", threads=1)
    both = pairs[0].join(pairs[1].select("pair_id", bob="identifier"), on="pair_id").rename({"identifier": "alice"})
    return both, pl.read_parquet(out / "links.parquet"), linked


def assert_same(both: pl.DataFrame, links: pl.DataFrame, linked: gemel.LinkedFiles) -> None:
    """The same pairs and links, with the same floating-point numbers."""
    columns = ["alice", "bob", "link_probability", "linked"]
    assert set(linked.pairs.select(columns).rows()) == set(both.select(columns).rows())
    assert linked.pairs.height == both.height
    assert linked.links.equals(links)


@pytest.mark.long
@pytest.mark.parametrize("variables", [False, True])
def test_of_the_demonstrations_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variables: bool) -> None:
    """And the files that a rehearsal leaves are those that the documents name, with no key beside them."""
    files, spec = demonstration(tmp_path, 150, variables=variables)
    assert (spec.latent is not None) is variables
    both, links, linked = rehearsed_and_linked(files, spec, tmp_path / "out", monkeypatch)
    assert_same(both, links, linked)
    assert links.height > 50
    if not variables:
        made = {path.name for path in (tmp_path / "out").iterdir()}
        assert made == set(WRITTEN) - {"evaluation.json", "joint.json"}


@pytest.mark.long
def test_of_febrl4(shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """5,000 by 5,000 records; quality beside it, so that equal nonsense does not pass."""
    files = {side: tmp_path / f"{side}.csv" for side in Side}
    for side, name in zip(Side, ("dataset4a", "dataset4b"), strict=True):
        table = pl.read_csv(shared / f"data/febrl/{name}.csv", infer_schema=False)
        table.rename(str.strip).with_columns(pl.all().str.strip_chars()).write_csv(files[side])
    both, links, linked = rehearsed_and_linked(files, gemel.check(FEBRL4).specification, tmp_path / "out", monkeypatch)
    assert_same(both, links, linked)
    right = links.select((pl.col("alice").str.extract(r"(\d+)") == pl.col("bob").str.extract(r"(\d+)")).mean()).item()
    assert links.height > 4_500
    assert right > 0.99
