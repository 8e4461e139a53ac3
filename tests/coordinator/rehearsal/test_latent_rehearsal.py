"""Two insurers' files through the real services: better links by values, the joint distribution for Bob alone."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import create_engine, select

from gemel.carole.configuration import load_carole
from gemel.carole.store.tables import results
from gemel.common.specification import ReleaseSpec, Specification
from gemel.coordinator.demonstration.people import TRUTH, two_files
from gemel.coordinator.demonstration.people.drivers import driver_network
from gemel.coordinator.demonstration.people.insured import KEY, insured_specification, with_traits
from gemel.coordinator.rehearsal.narration import Narrator
from gemel.coordinator.rehearsal.output_folder import rehearse_into
from gemel.coordinator.truth_columns import Truth
from gemel.risk.models.joint_distribution import JointDistribution
from tests.coordinator.rehearsal.before_the_end import look_before_the_end

PROJECT = "insurers"


@pytest.mark.long
@pytest.mark.parametrize("mode", ["open", "block_keyed"])
def test_values_help_and_labels_stay_at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str):
    rng = np.random.default_rng(2)
    alice, bob = with_traits(*two_files(500, 500, 250, 0.2, rng), rng)
    alice.write_csv(tmp_path / "alice.csv")
    bob.write_csv(tmp_path / "bob.csv")
    kept: list[set[str]] = []
    at_carole: dict[str, bytes] = {}

    def look(folder: Path) -> None:
        (carole,) = folder.rglob("carole.yaml")
        with create_engine(load_carole(carole).store.database).connect() as connection:
            kept.append(set(connection.execute(select(results.c.recipient)).scalars()))
        for path in [*carole.parent.rglob("*"), *folder.glob("*.log")]:
            if path.is_file():
                at_carole[path.name] = path.read_bytes()

    look_before_the_end(monkeypatch, look)
    out = tmp_path / "out"
    files = tmp_path / "alice.csv", tmp_path / "bob.csv"
    narrator = Narrator(explain=False)
    plain = insured_specification(PROJECT, mode=mode)
    spec = Specification.model_validate(plain.model_copy(update={"release": ReleaseSpec(joint="bob")}).model_dump())
    rehearse_into(out, spec, *files, Truth(TRUTH, TRUTH), narrator, "1GiB", 2, invented=True, alone=True)
    evaluation = json.loads((out / "evaluation.json").read_text())
    values, alone = evaluation["schemes"]
    assert (values["scheme"], alone["scheme"]) == ("multinomial", "agreement alone")
    assert values["f1"] > alone["f1"] + 0.01
    # By how much values may miss what agreement alone does: tests/carole/engine/test_latent.py, under one key.
    assert 0 < abs(values["calibration_largest_gap"]) < 0.15
    reported = json.loads((out / "linkage.json").read_text())["latent"]
    # Each rehearsal agrees a seed of its own, and similarities are estimated from signatures.
    assert abs(reported["before"]["links"] - alone["links"]) < 15
    report = (out / "report.html").read_text()
    assert "The evidence of the values" in report
    # Of fewer than twenty neither a number nor an average is reported; how many there are depends on the seed agreed.
    assert ("links that agreement alone would not have made" in report) == (reported["effect"]["made"] is not None)
    assert "The Jensen-Shannon divergence of the two" in report
    # Carole keeps the shares, sealed, and no joint distribution beside them.
    assert kept == [{"custodian-a", "custodian-b", "coordinator"}] * 2
    # Bob was granted it, and put the labels in, his own and Alice's: only seniors have had senior training.
    named = JointDistribution.from_json((out / "joint.json").read_bytes())
    together = named.table(["SeniorTrain", "Age"])
    assert np.abs(together - np.outer(together.sum(axis=1), together.sum(axis=0))).sum() > 0.1
    network = driver_network()
    labels_of = dict(zip(network.names, network.categories, strict=True))
    for variable in named.variables:
        assert variable.labels is not None
        assert set(variable.labels) == set(labels_of[variable.name])
    trained, age = (next(v.labels for v in named.variables if v.name == name) for name in ("SeniorTrain", "Age"))
    given = named.table(["Age"], {"SeniorTrain": trained.index("True")})
    # One link in ten is wrong, and Seniors are a fifth of all.
    assert given[age.index("Senior")] > 0.7
    labels = {label for categories in network.categories for label in categories if len(label) > 8}
    assert {"Psychopath", "SuperLuxury", "FamilySedan"} <= labels
    assert len(at_carole) > 5
    document = (out / "linkage.json").read_text() + (out / "model.json").read_text()
    for label in labels:
        assert label not in document
        # The specification lists the categories; codes and results do not show which row has which.
        assert not any(label.encode() in content for name, content in at_carole.items() if name.endswith(".log"))
    profile = json.loads((out / "profiles.json").read_text())["alice"]["variables"]
    assert profile[-1]["variable"] == KEY
    assert set(profile[-1]) == {"variable", "column", "categories", "rows", "blank", "coded"}
