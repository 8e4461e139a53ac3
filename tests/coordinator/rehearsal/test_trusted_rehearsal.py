"""A whole linkage in trusted mode, through the real services: values arrive, are linked, and are nowhere in clear."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from gemel.common.specification import Specification, load_specification
from gemel.coordinator.demonstration.people import TRUTH, two_files
from gemel.coordinator.draft.specification_draft import draft
from gemel.coordinator.rehearsal.narration import Narrator
from gemel.coordinator.rehearsal.output_folder import rehearse_into
from gemel.coordinator.truth_columns import Truth
from tests.coordinator.rehearsal.before_the_end import look_before_the_end

N, COMMON = 300, 150


@pytest.mark.long
def test_a_rehearsal_in_trusted_mode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alice, bob = two_files(N, N, COMMON, 0.2, np.random.default_rng(11))
    alice.write_csv(tmp_path / "alice.csv")
    bob.write_csv(tmp_path / "bob.csv")
    drafted, *_ = draft(alice.drop(TRUTH), bob.drop(TRUTH), "trusted-study")
    spec = Specification.model_validate(drafted.model_dump(mode="json") | {"mode": "trusted"})
    seen: dict[str, str] = {}
    at_rest: dict[str, bytes] = {}

    def look(folder: Path) -> None:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and path.stat().st_size < 1 << 26:
                (seen if path.suffix == ".log" else at_rest)[str(path.relative_to(folder))] = (
                    path.read_text() if path.suffix == ".log" else path.read_bytes()
                )

    look_before_the_end(monkeypatch, look)
    out = tmp_path / "out"
    rehearse_into(
        out, spec, tmp_path / "alice.csv", tmp_path / "bob.csv", Truth(TRUTH, TRUTH), Narrator(explain=False), "1GiB", 2
    )
    evaluation = json.loads((out / "evaluation.json").read_text())
    assert evaluation["at_decision"]["f1"] >= 0.97
    report = (out / "report.html").read_text()
    assert "The values themselves were sent to Carole" in report
    assert load_specification(spec_text(spec)).mode == "trusted"
    logs = "".join(seen.values())
    assert logs.count('"values_sent": true') >= 4 or logs.count("values_sent=True") >= 4
    # Rare surnames as they are sent; the truth column and the files are elsewhere, and results hold identifiers only.
    rare = [name.casefold() for name in alice["surname"].drop_nulls().unique().to_list() if len(name) > 7]
    assert len(rare) > 20
    assert any("blobs" in path for path in at_rest)
    assert sum(map(len, at_rest.values())) > 100_000
    for name in rare:
        assert name not in logs.casefold()
        for path, content in at_rest.items():
            assert name.encode() not in content, path


def spec_text(spec: Specification) -> str:
    from gemel.common.specification import dump_specification

    return dump_specification(spec)
