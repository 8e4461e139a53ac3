"""Signing within a limit of memory: what does not fit is refused before anything is signed, and in words."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import polars as pl
import pytest

from gemel.common.errors import ErrorCode
from gemel.common.keys.derivation import Seed
from gemel.common.keys.noise import NoiseKey
from gemel.common.keys.vault import Vault, WrappingKeys
from gemel.common.parties import Side
from gemel.common.signatures import intervals
from gemel.common.signatures.layout import CODES, JOINT, KNOWN, SAMPLES, TRAINING
from gemel.common.signatures.payload import from_bytes, to_bytes
from gemel.common.signatures.signature_sets import SignatureSet, VariableCodes, layout_of
from gemel.common.specification import Specification, encoding_digest, load_specification
from gemel.custodian.cleaning.columns import clean
from gemel.custodian.encoding.file_records import IDENTIFIER, TableRecords
from gemel.custodian.encoding.records import encode_records
from gemel.custodian.encoding.streamed import Portion
from gemel.custodian.source.cleaned_file import CleanedFile
from gemel.custodian.state.custodian_state import State
from gemel.custodian.state.row_map import unpack_map
from gemel.custodian.state.state_database import Upload
from gemel.custodian.steps import held_memory as memory
from gemel.custodian.steps import signing
from gemel.custodian.steps.held_memory import FileSize, MemoryLimit, high_water, require_room, resident
from gemel.custodian.steps.signing import portions, sign_into
from gemel.custodian.steps.step_context import StepContext, StoppedError, Task
from tests.carole.refusals import refusal
from tests.custodian.encoding.encoded_rows import TableInMemory
from tests.specifications import heading

ENOUGH = 64 << 30


def specification(mode: str, more: str = "") -> Specification:
    return load_specification(
        heading("people", mode=mode)
        + "fields: [{name: surname, kind: name, bits: 64}, {name: town, kind: name, bits: 64}]\n"
        + "blocking: [{name: town, keys: [{field: town}]}]\n"
        + more
        + "retention: {uploads_days: 1, results_days: 1, maps_days: 1}\n"
    )


def file_of(spec: Specification, n: int = 50) -> CleanedFile:
    rng = np.random.default_rng(1)
    frame = pl.DataFrame({"surname": rng.choice(["Li", "Smith", "No"], n), "town": rng.choice(["York", "Bath"], n)})
    cleaned = clean(frame, spec, Side.ALICE)
    table = TableInMemory()
    table.append(pl.DataFrame({**cleaned.columns, IDENTIFIER: [f"r{number}" for number in range(n)]}))
    return CleanedFile(TableRecords(table), cleaned.profile, None, 20 * n)


@pytest.mark.parametrize(
    ("mode", "more", "what", "remedy"),
    [
        ("block_keyed", "", "what must be held of all records does not fit", "fewer fields or shorter signatures"),
        ("block_keyed", "padding: powers_of_two\n", "to pad blocks does not fit", "or for no padding"),
        ("open", "", "mode open of all records does not fit", "mode block_keyed"),
    ],
)
def test_what_does_not_fit_is_refused(mode: str, more: str, what: str, remedy: str) -> None:
    spec = specification(mode, more)
    file = file_of(spec)
    require_room(FileSize.of(file), spec, MemoryLimit(ENOUGH))
    with refusal(ErrorCode.MEMORY) as caught:
        require_room(FileSize.of(file), spec, MemoryLimit(resident() + (100 << 20)))
    assert what in str(caught.value)
    assert "into this custodian's limits.memory of " in str(caught.value)
    assert "50 records" in str(caught.value)
    assert caught.value.remedy.endswith(remedy)


NOISE, SEED = NoiseKey(bytes(32)), Seed(bytes(range(32)))


def in_portions(file: CleanedFile, spec: Specification, known: Sequence[SignatureSet] = ()) -> list[Portion]:
    return list(
        portions(
            file, spec, SEED, 1, noise=NOISE, make=TableInMemory, memory=MemoryLimit(ENOUGH),
            progress=lambda doing, done: None, known=known,
        )
    )  # fmt: skip


@pytest.mark.parametrize("mode", ["open", "trusted", "block_keyed"])
def test_the_sets_of_every_mode_are_those_of_the_records(mode: str) -> None:
    spec = specification(mode)
    file = file_of(spec)
    whole = encode_records(file.columns(spec), spec, SEED, 1, noise=NOISE)
    made = in_portions(file, spec)
    assert b"".join(part for each in made for part in to_bytes(each.sets)) == b"".join(to_bytes(whole.sets))
    names = [name for each in made for some in each.identifiers for name in some]
    assert names == [f"r{row}" for row in whole.order.tolist()]


@pytest.mark.parametrize("mode", ["open", "block_keyed"])
def test_known_records_come_last_and_are_no_rows_of_the_file(mode: str) -> None:
    """Their identifiers are no one's; the codes of the file's own records stay where Carole finds them."""
    variables = "variables: [{name: home, holder: bob, categories: [city, sea]}]\n"
    spec = specification(mode, variables)
    file = file_of(spec)
    three, two = ({"home": VariableCodes(2, np.array(codes, dtype=np.int16))} for codes in ([0, 1, 1], [0, 1]))
    known = [
        SignatureSet(TRAINING, 3, {}, {}, three),
        SignatureSet(JOINT, 2, {}, {}, two, counts=np.array([0.25, 0.75])),
    ]
    before, after = in_portions(file, spec), in_portions(file, spec, known)
    assert len(after) == len(before) + 1
    assert len(after[-1].order) == 0
    assert list(after[-1].identifiers) == []
    sets = [part for each in after for part in each.sets]
    layout = layout_of(sets, 50 if mode == "block_keyed" else 0)
    payload = b"".join(bytes(part) for part in to_bytes(sets))
    assert payload.startswith(b"".join(bytes(part) for each in before for part in to_bytes(each.sets)))
    training, joint = from_bytes(layout, payload)[-2:]
    assert training.variables["home"].codes.tolist() == [0, 1, 1]
    assert joint.counts.tolist() == [0.25, 0.75]
    if mode == "block_keyed":
        sets_of_file = [part.rule for part in layout.sets if part.rule not in KNOWN]
        assert sets_of_file[-2:] == [SAMPLES, CODES]
        assert layout.records == 50


def test_what_is_interrupted_leaves_nothing_and_ends_with_the_same_upload(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = specification("block_keyed", "variables: [{name: home, holder: bob, categories: [city, sea]}]\n")
    monkeypatch.setattr(intervals, "INTERVAL_ROWS", 16)
    monkeypatch.setattr(signing, "INTERVAL_ROWS", 16)
    state = State(tmp_path / "state", Vault(WrappingKeys.create()))
    limits = SimpleNamespace(memory_bytes=ENOUGH)
    context = SimpleNamespace(
        state=state,
        configuration=SimpleNamespace(limits=limits, known_files=()),
        party=SimpleNamespace(side=Side.ALICE),
    )
    task = SimpleNamespace(project="people", spec=spec, epoch=1, encoding_digest=encoding_digest(spec))
    state.update("people")
    file = file_of(spec, 150)

    def signed(progress: Callable[[str, float], None], rows: int) -> Upload:
        monkeypatch.setattr(signing, "_MAX_ROWS", rows)
        return sign_into(cast(StepContext, context), cast(Task, task), file, SEED, progress).upload

    for moment in range(1, 20, 6):
        calls = itertools.count(1)

        def stop(doing: str, done: float, calls: itertools.count[int] = calls, moment: int = moment) -> None:
            assert 0 <= done <= 1
            if next(calls) == moment:
                raise StoppedError

        with pytest.raises(StoppedError):
            signed(stop, 32)
        assert not list((tmp_path / "state" / "uploads").iterdir())
        assert not list((tmp_path / "state" / "working").iterdir())
    uploads = [signed(lambda doing, done: None, rows) for rows in (16, 64, 1000)]
    assert len({upload.digests for upload in uploads}) == len({upload.manifest for upload in uploads}) == 1
    names = unpack_map(state.uploads.row_map(uploads[-1])).to_list()
    assert sorted(names[uploads[-1].rows :]) == sorted(file.identifiers().to_list()), "a row of codes for each record"
    state.close()


def test_the_process_is_stopped_by_what_it_has_held(monkeypatch: pytest.MonkeyPatch) -> None:
    assert 0 < resident() <= high_water()
    limit = MemoryLimit(high_water() + (1 << 30))
    limit.check("project people")
    former = MemoryLimit(1 << 20)
    former.check("project people")  # it was more before the step began
    monkeypatch.setattr(memory, "high_water", lambda: limit.limit + 1)
    for each in (limit, former):
        with refusal(ErrorCode.MEMORY, "the process has held more than this"):
            each.check("project people")
