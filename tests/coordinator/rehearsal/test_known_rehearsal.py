"""Training records through the real services, by the commands of docs/variables.md as they stand there."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import Result
from typer.testing import CliRunner

from gemel.command import app
from gemel.common.errors import GemelError, GemelErrors
from gemel.common.specification import Specification, load_specification
from gemel.coordinator.demonstration.people import two_files
from gemel.coordinator.demonstration.people.insured import driver_network, insured_specification, with_traits
from gemel.coordinator.draft.specification_text import dump_specification
from tests.generated_docs import DOCS

SECTION = (DOCS / "variables.md").read_text(encoding="utf-8").split("## Training records", 1)[1].split("\n## ", 1)[0]
BLOCKS = dict.fromkeys(re.findall(r"```(sh|csv|yaml)\n(.*?)```", SECTION, re.DOTALL))
CHECK, REHEARSE = (text.strip() for kind, text in BLOCKS if kind == "sh")
RECORDS = 600


def run(command: str) -> Result:
    name, *words = shlex.split(command)
    assert name == "gemel"
    return CliRunner().invoke(app, words, catch_exceptions=False)


@pytest.fixture
def insurers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which the page's commands are typed."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(4)
    alice, bob = with_traits(*two_files(300, 300, 150, 0.2, rng), rng)
    alice.write_csv("alice.csv")
    bob.write_csv("bob.csv")
    Path("linkage.yaml").write_text(dump_specification(insured_specification("insurers")))
    network = driver_network()
    people = network.sample(RECORDS, rng)
    texts = {
        str(name): np.array(categories, dtype=object)[people[:, column]].tolist()
        for column, (name, categories) in enumerate(zip(network.names, network.categories, strict=True))
    }
    pl.DataFrame({**texts, "town": ["Sidon"] * RECORDS}).write_csv("training.csv")
    return tmp_path


@pytest.mark.long
def test_the_pages_commands_link_with_training_records(insurers: Path):
    line = run(CHECK).output.strip()
    assert re.fullmatch(rf"training: {{by: alice, sha256: [0-9a-f]{{64}}, records: {RECORDS}}}", line)
    plain = Path("linkage.yaml").read_text()
    latent = "latent: {keys: [DrivQuality]}"
    assert latent in plain
    Path("linkage.yaml").write_text(plain.replace(latent, latent[:-1] + f", {line}}}"))
    assert load_specification(Path("linkage.yaml").read_text()).latent.training.records == RECORDS
    done = run(REHEARSE)
    assert done.exit_code == 0, done.output
    reported = json.loads(Path("rehearsal/linkage.json").read_text())["latent"]
    assert RECORDS < reported["records"] < RECORDS + 300
    assert set(reported["variables"]) == {str(name) for name in driver_network().names}


@pytest.mark.long
def test_in_mode_block_keyed_the_resolver_has_them_too(insurers: Path):
    """Three driving qualities are guessed inside any block, and few blocks join much: no limit is the matter here."""
    plain = insured_specification("insurers", mode="block_keyed").model_dump()
    spec = Specification.model_validate({**plain, "leakage": {"limit": 1.0}, "resolution": {"max_joins": 1.0}})
    Path("linkage.yaml").write_text(dump_specification(spec))
    line = run(CHECK.replace("alice", "bob")).output.strip()
    text = Path("linkage.yaml").read_text()
    Path("linkage.yaml").write_text(text.replace("[DrivQuality]}", f"[DrivQuality], {line}}}"))
    notes = " ".join(run("gemel spec check linkage.yaml").output.split())
    assert f"Bob sends {RECORDS} training records" in notes
    assert "Carole and the coordinator's process, which makes the step, see which values" in notes
    done = run(REHEARSE)
    assert done.exit_code == 0, done.output
    reported = json.loads(Path("rehearsal/linkage.json").read_text())["latent"]
    assert RECORDS < reported["records"] < RECORDS + 300


@pytest.mark.long
def test_a_rehearsal_without_the_file_ends_with_what_is_missing(insurers: Path):
    line = run(CHECK).output.strip()
    text = Path("linkage.yaml").read_text()
    Path("linkage.yaml").write_text(text.replace("[DrivQuality]}", f"[DrivQuality], {line}}}"))
    Path("training.csv").write_text(Path("training.csv").read_text() + "\n")
    with pytest.raises(GemelError, match=r"Alice cannot continue: known_files, latent\.training") as raised:
        run(REHEARSE)
    assert "1 files, none with this digest" in str(raised.value)


def test_a_file_that_does_not_fit_is_refused_before_anything_is_agreed(insurers: Path):
    good = Path("training.csv").read_text()
    header = good.splitlines()[0].split(",")
    skill = header.index("DrivingSkill")
    rows = [line.split(",") for line in good.splitlines()]
    rows[4][skill] = "Wizard"
    Path("training.csv").write_text("\n".join(map(",".join, rows)))
    with pytest.raises(GemelError, match=r"column 'DrivingSkill': .* none of its 3 categories.*line 5") as raised:
        run(CHECK)
    assert "Wizard" not in str(raised.value)
    Path("training.csv").write_text("\n".join(good.splitlines()[:4]))
    with pytest.raises(GemelErrors, match=r"latent\.training\.records.*got 3"):
        run(CHECK)
    Path("training.csv").write_text(good)
    with pytest.raises(GemelErrors, match=r"latent\.training\.by: .*alice or bob"):
        run(CHECK.replace("alice", "carole"))


def test_a_joint_distribution_is_known_by_its_column(insurers: Path):
    names = ["SeniorTrain", "RiskAversion", "VehicleYear", "GoodStudent", "DrivingSkill", "SocioEcon"]
    names += ["HomeBase", "Age", "MakeModel", "OtherCar", "DrivQuality"]
    cells = pl.read_csv("training.csv").group_by(names).len("count")
    cells.write_csv("training.csv")
    line = run(CHECK.replace("alice", "bob")).output.strip()
    assert line.startswith("joint: {by: bob, sha256: ")
    assert line.endswith(f", cells: {cells.height}}}")
    cells.with_columns(share=pl.col("count") / (RECORDS + 1)).drop("count").write_csv("training.csv")
    with pytest.raises(GemelError, match=r"must sum to 1, within 1e-06, got a sum of 0\.998336"):
        run(CHECK)


def test_the_pages_example_has_the_specifications_words():
    """Its columns are variables, its values categories, its priors those of a specification."""
    spec = insured_specification("insurers")
    (table,) = (text for kind, text in BLOCKS if kind == "csv")
    header, *rows = (line.split(",") for line in table.strip().splitlines())
    for name, *values in zip(header, *rows, strict=True):
        assert {value.casefold() for value in values if value} <= set(spec.variable(name).places)
    (priors,) = (text for kind, text in BLOCKS if kind == "yaml")
    text = dump_specification(spec).replace("latent: {keys: [DrivQuality]}\n", priors)
    assert load_specification(text).latent.priors.u[0].weight == 100_000
