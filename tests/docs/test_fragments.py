"""Pieces of files and programs on the pages, each read or run by what it is a piece of.

Every code block that is YAML, JSON or Python is one of these, or is run as a part of a whole by the test that
`ELSEWHERE` names. Lines that are typed are those of `test_manuals` and of the other tests here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from typer.testing import CliRunner

from gemel.alice import PARTY as ALICE
from gemel.carole.configuration import load_carole
from gemel.carole.configuration import template as carole_template
from gemel.command import app
from gemel.common.configuration import load_configuration
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.specification import load_specification
from gemel.common.terminal.output import error_document
from gemel.coordinator.client.client_configuration import CoordinatorConfiguration
from gemel.coordinator.client.client_configuration import template as client_template
from gemel.coordinator.demonstration.people import TRUTH
from gemel.custodian.configuration import load_custodian
from gemel.custodian.joining import custodian_yaml
from tests.carole.extended_latent.linked_files import BOUNDS, VARIABLES, linked_files
from tests.e2e.deployment import people, specification

ROOT = Path(__file__).resolve().parents[2]
KINDS = ("yaml", "json", "python")
BLOCK = re.compile(r"^```(\w+)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)

ELSEWHERE = {
    "analysing": "tests/coordinator/analysis/test_drawn_estimates.py",
    "audit-log": "tests/carole/store/test_audit.py",
    "certificates": "tests/deploy/test_own_pki.py",
    "cluster": "tests/deploy/test_cluster.py",
}
"""Pages whose pieces another test runs, and it."""


def pieces(page: str, kind: str) -> list[str]:
    """The code blocks of a page that are of one kind."""
    text = (ROOT / f"docs/{page}.md").read_text(encoding="utf-8")
    return [content for found, content in BLOCK.findall(text) if found == kind]


def merged(piece: str, before: str = "") -> str:
    """A whole specification that has a piece of one; `before` is what the piece supposes to stand there already."""
    whole = yaml.safe_load(specification("piece", more=before))
    whole["fields"].append({"name": "DrivQuality", "kind": "category"})
    for section, value in yaml.safe_load(piece).items():
        had = whole.get(section)
        whole[section] = {**had, **value} if isinstance(had, dict) else value
    return yaml.safe_dump(whole, sort_keys=False)


AGES = "  - {name: age, holder: both, role: key, categories: [0-17, 18-29, 30-49, 50-69, 70+]}\n"
JOBS = "  - {name: occupation, holder: bob, role: key, categories: [farming, trade]}\n"
JUDGED = "assessment: {fractions: {alice: 1, bob: 1, combined: 1}, limits: {sample_uniques: 0.1}, on_breach: hold}\n"
TRAITS = "variables:\n  - {name: DrivQuality, holder: both, categories: [Poor, Normal], role: key}\n"
BEFORE = {
    ("assessment", 1): f"variables:\n{AGES}{JOBS}{JUDGED}",
    ("claimed", 1): f"quality: {{decoys: 1000}}\nvariables:\n{AGES}",
    ("variables", 1): TRAITS,
}
"""What a piece of a specification supposes, by page and place on it."""


@pytest.mark.parametrize("page", ["assessment", "claimed", "entities", "fips", "variables"])
def test_a_piece_of_a_specification_fits_into_one(page: str) -> None:
    for at, piece in enumerate(pieces(page, "yaml")):
        text = merged(piece, BEFORE.get((page, at), ""))
        found = load_specification(text, page)
        for section in yaml.safe_load(piece):
            assert section in found.model_fields_set, section


def load_client(path: Path) -> CoordinatorConfiguration:
    return load_configuration(path, CoordinatorConfiguration)


CONFIGURATIONS: dict[str, tuple[Callable[[Path], Any], str]] = {
    "console": (load_client, client_template("carole.example.org:7443")),
    "configuration": (load_carole, carole_template("127.0.0.1:7443")),
    "records": (
        load_custodian,
        custodian_yaml(
            ALICE,
            carole="carole.example.org:7443",
            peer_fingerprint="0000 " * 15 + "0000",
            source={"csv": {"path": "a.csv"}},
        ),
    ),
}


@pytest.mark.parametrize("page", CONFIGURATIONS)
def test_a_piece_of_a_configuration_fits_into_one(page: str, tmp_path: Path) -> None:
    load, text = CONFIGURATIONS[page]
    for piece in pieces(page, "yaml"):
        whole = yaml.safe_load(text)
        for section, value in yaml.safe_load(piece).items():
            if section == "fixed_width":
                whole["source"] = {section: value}
            else:
                whole[section] = value
        path = tmp_path / "configuration.yaml"
        path.write_text(yaml.safe_dump(whole))
        load(path)


def test_the_release_of_tables_is_assessed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (release,) = pieces("attribution", "json")
    Path("release.json").write_text(release)
    Path("ages.csv").write_text("age,count\nyoung,3\nmiddle,3\nold,9\n")
    done = CliRunner().invoke(app, ["risk", "tables", "release.json", "--out", "report.html", "--json", "risk.json"])
    assert done.exit_code == 0, done.output
    assert Path("report.html").is_file()


def test_programs_of_the_pages_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    (identification,) = pieces("identification", "python")
    exec(identification, {})  # noqa: S102 - the page's own, here and below
    (models,) = pieces("models", "python")
    codes = np.column_stack([rng.integers(0, levels, 500) for levels in (2, 3, 8, 2)])
    found: dict[str, Any] = {"codes": codes}
    exec(models, found)  # noqa: S102
    assert found["svg"].startswith("<svg")
    assert found["average"].marginal(["water"], {"walls": 2}).sum() == pytest.approx(1)


def test_the_latent_step_as_a_library() -> None:
    (program,) = pieces("extended-latent", "python")
    found: dict[str, Any] = {}
    exec(program, found)  # noqa: S102
    linked = linked_files(400, np.random.default_rng(2))
    found["variables"] = VARIABLES
    codes_a, codes_b = linked.values.codes_a, linked.values.codes_b
    joint, kept, bars = found["extended"](codes_a, codes_b, linked.pairs, linked.patterns, linked.fitted, BOUNDS)
    assert set(joint.names) <= {variable.name for variable in VARIABLES}
    assert len(bars) == len(kept.row_a) > 0


def test_an_error_as_a_document_has_the_keys_that_the_page_shows() -> None:
    (shown,) = pieces("commands", "json")
    document = error_document(GemelError(ErrorCode.NOT_FOUND, "a", where="b", got="c", remedy="d"))
    assert {key: list(value) for key, value in json.loads(shown).items()} == {"error": list(document["error"])}


def test_the_library_links(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    for side, frame in zip(("alice", "bob"), people(200, 120).values(), strict=True):
        frame.drop(TRUTH).write_csv(f"{side}.csv")
    program, _ = pieces("api", "python")  # the other needs services: tests/e2e/test_client.py
    found: dict[str, Any] = {}
    exec(program, found)  # noqa: S102
    assert found["linked"].links.columns == ["alice", "bob", "link_probability"]
    assert Path("report.html").is_file()


def test_every_piece_is_here_or_named() -> None:
    here = {"assessment", "claimed", "entities", "fips", "variables", *CONFIGURATIONS}
    here |= {"api", "attribution", "commands", "extended-latent", "identification", "models"}
    pages = {page.stem for page in (ROOT / "docs").glob("*.md") if any(pieces(page.stem, kind) for kind in KINDS)}
    assert pages == here | set(ELSEWHERE)
    for page, test in ELSEWHERE.items():
        assert page in (ROOT / test).read_text(encoding="utf-8")
