"""The leakage gate: measured before anything leaves, held back above the limit, overridden with a reason only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any, cast

import polars as pl
import pytest
from typer.testing import CliRunner

from gemel.common.audit.statements import MAX_REASON
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.derivation import Seed
from gemel.common.keys.noise import AssessmentKeys
from gemel.common.parties import Party, Side
from gemel.common.specification import Specification, load_specification
from gemel.custodian.cleaning.profile import Profile
from gemel.custodian.commands import build
from gemel.custodian.drawn_records import DrawnRecords
from gemel.custodian.encoding.file_records import TableRecords
from gemel.custodian.leakage_report import Finding, LeakageReport
from gemel.custodian.source.cleaned_file import CleanedFile
from gemel.custodian.state.custodian_state import State
from gemel.custodian.steps import leakage_gate
from gemel.custodian.steps.leakage_gate import override, pass_gate, statement
from gemel.custodian.steps.step_context import Progress, StepContext, Task
from gemel.protos.linkage.v1 import contribution_pb2
from tests.carole.refusals import refusal
from tests.custodian.conftest import PARTIES, kept_upload
from tests.custodian.encoding.encoded_rows import TableInMemory
from tests.specifications import heading

TEXT = (
    heading("people")
    + """
fields: [{name: surname, kind: name}]
leakage: {limit: 0.1, above: refuse}
retention: {uploads_days: 7, results_days: 30, maps_days: 90}
"""
)


class Measured:
    """A gate that returns a given finding, and counts its calls."""

    def __init__(self, recovered: float) -> None:
        self.recovered = recovered
        self.times = 0
        self.bits = 0
        self.seeds: list[Seed] = []

    def __call__(
        self,
        columns: Mapping[str, pl.Series],
        spec: Specification,
        variables: Mapping[str, pl.Series],
        keys: AssessmentKeys,
        drawn: DrawnRecords | None = None,
    ) -> LeakageReport:
        self.times += 1
        self.seeds.append(keys.throw_away_seed("test"))
        self.bits = spec.fields[0].bits
        limit, refuses = spec.leakage.limit, spec.leakage.refuses(spec.mode)
        found = (Finding("surname", "", "counts", self.recovered, 0.01), Finding("surname", "", "ranks", 0.02, 0.01))
        return LeakageReport(spec.mode, 5, limit, refuses, found)


Case = Callable[..., tuple[StepContext, Task, Measured]]


@pytest.fixture
def case(state: State) -> Case:
    """A custodian with a real state and a gate that returns a given finding."""

    def made(recovered: float, text: str = TEXT) -> tuple[StepContext, Task, Measured]:
        gate = Measured(recovered)
        context = SimpleNamespace(gate=gate, state=state, progress=Progress(), party=PARTIES[Side.ALICE])
        spec = load_specification(text, "test")
        task = SimpleNamespace(project="people", spec=spec, specification_digest=b"1" * 32, epoch=1)
        return cast(StepContext, context), cast(Task, task), gate

    return made


def changed(task: Task, **values: object) -> Task:
    return cast(Task, SimpleNamespace(**{**vars(task), **values}))


def reported(context: StepContext) -> contribution_pb2.LeakageStatement:
    """What Carole reads of it."""
    found = statement(context, "people", b"1" * 32)
    assert found is not None
    return found


def held_back(context: StepContext, task: Task, words: str = "than the limit") -> None:
    with refusal(ErrorCode.LEAKAGE, words):
        pass_gate(context, task, CLEANED)


TABLE = TableInMemory()
TABLE.append(pl.DataFrame({"surname": ["smith"]}))
CLEANED = CleanedFile(TableRecords(TABLE), Profile(1, ()), None, 5)


def test_within_the_limit_nothing_is_held_back_and_it_is_reported_to_carole(case: Case) -> None:
    context, task, _ = case(0.1)
    with pytest.raises(GemelError, match="no contribution of this project is above"):
        override(context, "people", "why not")
    pass_gate(context, task, CLEANED)
    found = reported(context)
    assert (round(found.worst, 6), found.limit, found.overridden) == (0.09, 0.1, False)
    assert statement(context, "people", b"2" * 32) is None
    with pytest.raises(GemelError, match="no contribution of this project is above"):
        override(context, "people", "why not")


def test_above_the_limit_it_waits_for_a_reason_which_counts_for_one_specification(case: Case) -> None:
    context, task, gate = case(0.6)
    for _ in range(2):
        held_back(context, task, r"field surname: .*59.0%.*override people --reason")
    assert gate.times == 2, "measured again, since the source may have been corrected"
    override(context, "people", " the register is public anyway ")
    pass_gate(context, task, CLEANED)
    assert gate.times == 2
    assert (reported(context).overridden, reported(context).reason) == (True, "the register is public anyway")
    held_back(context, changed(task, specification_digest=b"2" * 32))


def test_another_try_measures_by_the_same_keys_and_another_specification_by_others(case: Case) -> None:
    """Near a limit no party passes by trying again, and no other party can foresee by which keys."""
    context, task, gate = case(0.6)
    for each in (task, task, changed(task, specification_digest=b"2" * 32)):
        held_back(context, each)
    assert gate.seeds[0] == gate.seeds[1] != gate.seeds[2]
    assert AssessmentKeys.of_number(1).throw_away_seed("test") not in gate.seeds


def test_epochs_in_which_records_were_signed_are_counted_together(case: Case) -> None:
    context, task, gate = case(0.1)
    for epoch, times in ((1, 1), (2, 2), (3, 3)):
        pass_gate(context, changed(task, epoch=epoch), CLEANED)
        assert gate.bits == times * task.spec.fields[0].bits
        for name in "ab":  # sent once more in the same epoch, under the same keys
            kept_upload(context.state, f"{epoch}{name}", epoch=epoch)
        context.state.forget_leakage("people")


def test_an_override_made_while_it_is_measured_again_is_not_lost(case: Case) -> None:
    context, task, gate = case(0.6)
    held_back(context, task)

    def measures_slowly(*given: Any) -> LeakageReport:
        override(context, "people", "agreed meanwhile")
        return gate(*given)

    context.gate = measures_slowly  # type: ignore[misc]
    pass_gate(context, task, CLEANED)
    assert (reported(context).overridden, reported(context).reason) == (True, "agreed meanwhile")


@pytest.mark.parametrize("reason", ["", "   ", "x" * (MAX_REASON + 1)])
def test_an_override_without_a_reason_or_with_too_long_a_one(case: Case, reason: str) -> None:
    context, task, _ = case(0.6)
    held_back(context, task)
    with pytest.raises(GemelError, match="reason"):
        override(context, "people", reason)
    assert not reported(context).overridden


@pytest.mark.parametrize("section", ["", "leakage: {above: warn}\n", "leakage: {limit: 0}\n"])
def test_open_mode_is_not_held_back_unless_the_specification_refuses(case: Case, section: str) -> None:
    context, task, gate = case(0.9, TEXT.replace("leakage: {limit: 0.1, above: refuse}\n", section))
    pass_gate(context, task, CLEANED)
    assert gate.times == 0


@pytest.mark.parametrize(("recovered", "above", "status"), [(0.6, "refuse", 1), (0.6, "warn", 0), (0.1, "refuse", 0)])
def test_the_command_shows_the_worst_attack_and_its_verdict(
    tmp_path: Any, recovered: float, above: str, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leakage_gate, "load_gate", lambda: Measured(recovered))
    (tmp_path / "linkage.yaml").write_text(TEXT.replace("refuse", above))
    (tmp_path / "a.csv").write_text("id,surname\n1,smith\n2,jones\n")
    arguments = ["leakage", str(tmp_path / "linkage.yaml"), "--records", str(tmp_path / "a.csv")]
    arguments += ["--json", str(tmp_path / "out.json")]
    ran = CliRunner().invoke(build(Party(Side.ALICE, "Alice")), arguments)
    assert ran.exit_code == status
    assert f"{recovered:.1%}" in ran.output
    assert "2.0%" not in ran.output, "only the worst of a field"
    assert ("Above the limit" in ran.output) == (recovered > 0.5)
    assert '"exceeds"' in (tmp_path / "out.json").read_text()
    assert "smith" not in ran.output + (tmp_path / "out.json").read_text()
