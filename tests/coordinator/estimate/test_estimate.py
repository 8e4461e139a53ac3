"""The estimate beside what is made: bytes of both modes, Carole's memory by her own refusal, pairs, and her limits."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemel.carole.configuration import LimitsConfiguration
from gemel.carole.engine import Resources, compare
from gemel.carole.engine.inputs.files import contribution_of
from gemel.carole.engine.run.specified import plan_of
from gemel.common.errors import ErrorCode, GemelError, GemelErrors
from gemel.common.keys.derivation import Seed
from gemel.common.parties import Side
from gemel.common.signatures.layout import SAMPLES
from gemel.common.specification import Specification, load_specification
from gemel.coordinator.commands import spec as command
from gemel.coordinator.demonstration.people import TRUTH, two_files
from gemel.coordinator.draft.specification_draft import draft
from gemel.coordinator.estimate.custodian_cost import GATE_BYTES
from gemel.coordinator.estimate.estimate import (
    Columns,
    Estimate,
    carole_limits,
    estimate_of_files,
    estimate_of_size,
    refuse_exceeded,
)
from gemel.coordinator.estimate.linkage_cost import candidate_pairs
from gemel.custodian.cleaning.columns import clean
from gemel.custodian.encoding.blocking_keys import key_text
from gemel.custodian.encoding.records import encode_records
from gemel.shared.gates.pair_levels import compare_pairs
from gemel.shared.run.comparisons import comparison_of
from gemel.shared.session.local_session import local_parties, together
from tests.carole.refusals import refusal
from tests.shared.gates.plain import shares_of
from tests.specifications import heading

SEED = Seed(bytes(range(32)))
LIMITS = LimitsConfiguration()
N = 2_000


@pytest.fixture(scope="module")
def people() -> tuple[pl.DataFrame, pl.DataFrame]:
    return two_files(N, N, N // 2, 0.2, np.random.default_rng(1))


def drafted(files: tuple[pl.DataFrame, pl.DataFrame], mode: str) -> Specification:
    given_mode = "block_keyed" if mode == "block_keyed" else "open"
    return draft(files[0].drop(TRUTH), files[1].drop(TRUTH), "estimate", True, given_mode).specification  # type: ignore[arg-type]


def cleaned(files: tuple[pl.DataFrame, pl.DataFrame], spec: Specification) -> dict[Side, Columns]:
    return {side: clean(file, spec, side).columns for side, file in zip(Side, files, strict=True)}


@pytest.mark.parametrize("mode", ["block_keyed", "open"])
def test_of_files_the_bytes_are_those_that_are_made(people: tuple[pl.DataFrame, pl.DataFrame], mode: str) -> None:
    """But for values that differ and have the same tokens, .1 %, and for the samples, which are an upper bound."""
    spec = drafted(people, mode)
    columns = cleaned(people, spec)
    estimate = estimate_of_files(spec, columns, LIMITS)
    assert estimate.exceeded == ()
    for own in estimate.custodians:
        made = encode_records(columns[own.side], spec, SEED, 1).layout
        assert own.counted
        assert {**own.layout.rule_rows} == made.rule_rows
        sent, expected = (
            sum(part.total_bytes for part in layout.sets if part.rule != SAMPLES) for layout in (made, own.layout)
        )
        assert sent <= expected <= 1.001 * sent
        assert made.total_bytes <= own.upload
    assert estimate.linkage.stored == sum(own.upload for own in estimate.custodians)


@pytest.mark.parametrize("mode", ["block_keyed", "open"])
def test_a_size_alone_bounds_what_files_of_it_cost(people: tuple[pl.DataFrame, pl.DataFrame], mode: str) -> None:
    spec = drafted(people, mode)
    of_files = estimate_of_files(spec, cleaned(people, spec), LIMITS)
    bounds = estimate_of_size(spec, N, LIMITS)
    for own, bound in zip(of_files.custodians, bounds.custodians, strict=True):
        assert not bound.counted
        assert own.upload <= bound.upload
        assert own.memory <= bound.memory
    assert of_files.linkage.stored <= bounds.linkage.stored
    assert bounds.linkage.pairs is None
    assert "upper bounds" in next(bounds.lines)
    assert "upper bounds" not in next(of_files.lines)


@pytest.mark.parametrize("mode", ["block_keyed", "open"])
def test_a_sample_of_half_the_file_foretells_it(people: tuple[pl.DataFrame, pl.DataFrame], mode: str) -> None:
    spec = drafted(people, mode)
    half = people[0].head(N // 2), people[1].head(N // 2)
    whole = estimate_of_files(spec, cleaned(people, spec), LIMITS)
    foretold = estimate_of_files(spec, cleaned(half, spec), LIMITS, N)
    for own, before in zip(whole.custodians, foretold.custodians, strict=True):
        assert before.records == N
        assert before.upload == pytest.approx(own.upload, rel=0.05 if mode == "block_keyed" else 0.25)
    assert whole.linkage.pairs is not None
    assert foretold.linkage.pairs is not None
    assert 0.5 < foretold.linkage.pairs / whole.linkage.pairs < 3


SPEC = load_specification(
    heading("estimate", "block_keyed")
    + """
fields:
  - {name: surname, kind: name, bits: 256}
  - {name: born, kind: date, date: {order: ymd}, bits: 128}
  - {name: town, kind: category}
blocking:
  - {name: born, keys: [{field: born}]}
  - {name: name, keys: [{field: surname, prefix: 2}], split: town}
retention: {uploads_days: 1, results_days: 1, maps_days: 1}
"""
)


def few(n: int, seed: int) -> dict[str, pl.Series]:
    rng = np.random.default_rng(seed)
    names = ["smith", "smyth", "jones", "johns", None]
    drawn: dict[str, list[str | None]] = {
        "surname": [names[i] for i in rng.integers(0, 5, n)],
        "born": [f"19{y}0111" if y > 11 else None for y in rng.integers(10, 40, n)],
        "town": [f"town{i}" if i else None for i in rng.integers(0, 4, n)],
    }
    return {name: pl.Series(name, values, dtype=pl.String) for name, values in drawn.items()}


@given(n_a=st.integers(1, 40), n_b=st.integers(1, 40), seed=st.integers(0, 10**6))
def test_pairs_are_those_of_the_definition(n_a: int, n_b: int, seed: int) -> None:
    a, b = few(n_a, seed), few(n_b, seed + 1)
    for found, rule in zip(candidate_pairs(a, b, SPEC), SPEC.keyed_rules, strict=True):
        keys = [key_text(columns, SPEC, rule, split=True).to_list() for columns in (a, b)]
        blocks = {key: keys[0].count(key) * keys[1].count(key) for key in keys[0] if key is not None}
        assert (found.rule, found.pairs) == (rule.name, sum(blocks.values()))
        assert found.largest == max(blocks.values(), default=0)


def test_carole_links_with_the_minimum_and_refuses_less_than_is_held() -> None:
    columns = {Side.ALICE: few(3000, 1), Side.BOB: few(2000, 2)}
    made = estimate_of_files(SPEC, columns, LIMITS).linkage
    a, b = (contribution_of(encode_records(own, SPEC, SEED, 1).sets, len(own["born"])) for own in columns.values())
    plan = plan_of(SPEC)

    def run(memory: int) -> None:
        compare(a, b, plan, Resources(memory, 1), lambda stage, done: None)

    # By so much the samples, of which the estimate is a bound, may be smaller.
    layouts = [own.layout for own in estimate_of_files(SPEC, columns, LIMITS).custodians]
    slack = sum(part.total_bytes for layout in layouts for part in layout.sets if part.rule == SAMPLES)
    with refusal(ErrorCode.MEMORY):
        run(made.held - slack)
    run(made.minimum)


def of(estimate: Estimate) -> list[tuple[ErrorCode, str]]:
    return [(error.code, error.where) for error in estimate.exceeded]


def test_each_limit_that_is_exceeded_is_named_with_its_remedy() -> None:
    rows = estimate_of_size(SPEC, 6_000_000, LimitsConfiguration(max_upload="64GiB"))
    assert of(rows) == [
        (ErrorCode.UPLOAD_LIMIT, "alice's contribution"),
        (ErrorCode.UPLOAD_LIMIT, "bob's contribution"),
    ]
    assert "limits.max_rows to 6000000" in str(rows.exceeded[0])
    uploads = estimate_of_size(SPEC, 1_000_000, LimitsConfiguration(max_upload="100MiB"))
    assert "limits.max_upload to " in str(uploads.exceeded[0])
    assert "shorter signatures" in str(uploads.exceeded[0])
    raised = str(uploads.exceeded[0]).partition("limits.max_upload to ")[2].partition(",")[0]
    assert estimate_of_size(SPEC, 1_000_000, LimitsConfiguration(max_upload=raised)).exceeded == ()
    memory = estimate_of_size(SPEC, 1_000_000, LimitsConfiguration(memory="64MiB"))
    assert of(memory) == [(ErrorCode.MEMORY, "the linkage")]
    raised = str(memory.exceeded[0]).partition("limits.memory to ")[2].partition(",")[0]
    assert estimate_of_size(SPEC, 1_000_000, LimitsConfiguration(memory=raised)).exceeded == ()


def test_a_block_above_its_rules_limit_is_refused_in_mode_block_keyed_only() -> None:
    columns = {Side.ALICE: few(400, 1), Side.BOB: few(400, 2)}
    rules = tuple(replace_limit(SPEC, name, 100) for name in ("born", "name"))
    tight = SPEC.model_copy(update={"blocking": rules})
    found = estimate_of_files(tight, columns, LIMITS)
    assert of(found) == [(ErrorCode.PARAMETER, "blocking.born"), (ErrorCode.PARAMETER, "blocking.name")]
    assert estimate_of_files(tight.model_copy(update={"mode": "open"}), columns, LIMITS).exceeded == ()
    with pytest.raises(GemelErrors):
        refuse_exceeded(found.exceeded)
    with pytest.raises(GemelError, match="a block may have at most 100 pairs"):
        refuse_exceeded(found.exceeded[:1])
    refuse_exceeded(())


def replace_limit(spec: Specification, name: str, limit: int) -> object:
    rule = next(rule for rule in spec.blocking if rule.name == name)
    return rule.model_copy(update={"limit": limit})


def test_the_options_have_the_defaults_of_caroles_configuration() -> None:
    configured = LimitsConfiguration()
    assert configured.memory == command.MEMORY
    assert configured.max_upload == command.MAX_UPLOAD
    assert configured.max_rows == command.MAX_ROWS
    assert carole_limits(command.MEMORY, command.MAX_UPLOAD, command.MAX_ROWS) == LIMITS


@pytest.mark.parametrize(
    ("limits", "where"),
    [({"memory": "3GB"}, "--memory"), ({"max_upload": "x"}, "--max-upload"), ({"max_rows": 0}, "--max-rows")],
)
def test_what_is_no_limit_is_refused(limits: dict[str, object], where: str) -> None:
    given = {"memory": command.MEMORY, "max_upload": command.MAX_UPLOAD, "max_rows": command.MAX_ROWS}
    with pytest.raises(GemelError) as caught:
        carole_limits(**given | limits)  # type: ignore[arg-type]
    assert (caught.value.code, caught.value.where) == (ErrorCode.PARAMETER, where)


PAIRS = 1 << 15


@pytest.fixture(scope="module")
def files() -> tuple[pl.DataFrame, pl.DataFrame]:
    return two_files(600, 600, 300, 0.2, np.random.default_rng(1))


@pytest.fixture(scope="module")
def spec(files: tuple[pl.DataFrame, pl.DataFrame]) -> Specification:
    return draft(files[0].drop(TRUTH), files[1].drop(TRUTH), "estimate", None, "shared").specification


@pytest.fixture(scope="module")
def estimate(files: tuple[pl.DataFrame, pl.DataFrame], spec: Specification) -> Estimate:
    columns = {side: clean(file, spec, side).columns for side, file in zip(Side, files, strict=True)}
    return estimate_of_files(spec, columns, LimitsConfiguration())


def test_it_states_gates_bytes_and_seconds_of_each_party(estimate: Estimate) -> None:
    made = estimate.linkage.computing
    assert made is not None
    rules = {rule.rule: rule.pairs for rule in estimate.linkage.rules}
    of_rules = sum(pairs * made.pair_gates[rule] for rule, pairs in rules.items())
    assert made.gates is not None
    assert made.sent is not None
    assert made.seconds is not None
    assert made.gates > of_rules > 0
    assert made.sent > GATE_BYTES * made.gates
    shown = "\n".join(estimate.lines)
    assert "Each of Carole, coordinator and steward computes on shares: gates of a pair by rule:" in shown
    assert f"those of {made.chance_pairs:,} random pairs with them" in shown
    assert estimate.document()["computing"]["gates"] == made.gates


def test_of_a_size_alone_gates_of_a_pair_are_stated(spec: Specification) -> None:
    sized = estimate_of_size(spec, 1000, LimitsConfiguration())
    assert sized.linkage.computing is not None
    assert sized.linkage.computing.gates is None
    assert "random pairs with them" not in "\n".join(sized.lines)


def test_in_another_mode_no_one_computes(spec: Specification) -> None:
    apart = Specification.model_validate({**spec.model_dump(), "mode": "block_keyed"})
    assert estimate_of_size(apart, 1000, LimitsConfiguration()).linkage.computing is None


def test_bytes_of_a_gate_are_about_those_that_parties_send(estimate: Estimate, spec: Specification) -> None:
    """Gates of a pair are an upper bound, and four bits of each are sent."""
    sets = [{part.rule: part for part in own.layout.sets} for own in estimate.custodians]
    rule = spec.keyed_rules[0].name
    comparison = comparison_of(plan_of(spec), sets[0][rule], sets[1][rule], rule)
    rng = np.random.default_rng(2)
    rows = shares_of(rng.integers(0, 1 << 63, (500, comparison.words.total), dtype=np.uint64))
    pair_a, pair_b = rng.integers(0, 500, (2, PAIRS))
    parties = local_parties(bytes(32))
    together(parties, lambda p: compare_pairs(p, rows[p.own], rows[p.own], pair_a, pair_b, comparison, "compare"))
    for party in parties:
        assert 0.6 < party.sent_bytes / (PAIRS * comparison.gates * GATE_BYTES) <= 1.05
