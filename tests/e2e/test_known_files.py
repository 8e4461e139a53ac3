"""A specification that names a file of training records: its custodian approves with that very file, and no other.

What reaches Carole is its codes, in both custodians' relabelling; with other records the project cannot go on.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import numpy as np
import polars as pl

from gemel.common.errors import ErrorCode
from gemel.common.parties import Side
from gemel.common.signatures.layout import TRAINING
from gemel.common.specification import Specification
from gemel.coordinator.demonstration.people import two_files
from gemel.coordinator.demonstration.people.insured import KEY, driver_network, insured_specification, with_traits
from gemel.coordinator.draft.specification_text import dump_specification
from tests.carole.refusals import refusal
from tests.e2e.deployment import STATE, Deployment, digest_of

NETWORK = driver_network()
RECORDS = 40


def training(seed: int) -> str:
    people = NETWORK.sample(RECORDS, np.random.default_rng(seed))
    columns = {
        str(name): np.array(categories, dtype=object)[people[:, column]].tolist()
        for column, (name, categories) in enumerate(zip(NETWORK.names, NETWORK.categories, strict=True))
    }
    return pl.DataFrame(columns).write_csv()


def naming(text: str) -> str:
    """The specification that names a file of this content, at Bob's."""
    file = {"by": "bob", "sha256": hashlib.sha256(text.encode()).hexdigest(), "records": RECORDS}
    plain = insured_specification("taught").model_dump()
    return dump_specification(Specification.model_validate({**plain, "latent": {"keys": [KEY], "training": file}}))


def test_the_named_file_is_contributed_and_no_other(deploy: Callable[..., Deployment]) -> None:
    rng = np.random.default_rng(6)
    alice, bob = with_traits(*two_files(60, 60, 30, 0.2, rng), rng)
    good, other = training(1), training(2)
    text = naming(good)
    made = deploy(text, files={Side.ALICE: alice, Side.BOB: bob})
    path = made.folders[Side.BOB] / "training.csv"
    path.write_text(other)
    made.configure(Side.BOB, "# known_files: [training.csv]", "known_files: [training.csv]")
    application = made.start_carole()
    made.start_custodians()
    project = made.create(text)
    reported = made.blocking_error(Side.BOB, project)
    assert "known_files, latent.training: the specification names a file of training records" in reported
    assert "got 1 files, none with this digest" in reported
    assert made.status(project).state < STATE.PROJECT_STATE_APPROVED
    path.write_text(good)
    made.wait_for(project, STATE.PROJECT_STATE_CONTRIBUTED)
    made.well(Side.BOB, project)
    uploads = application.store.uploads
    assert uploads.known(project, Side.ALICE) == ()
    (found,) = uploads.known(project, Side.BOB)
    assert (found.rule, found.n_rows) == (TRAINING, RECORDS)
    assert set(found.variables) == {str(name) for name in NETWORK.names}
    sent = pl.read_csv(good.encode(), infer_schema=False)
    for name, variable in found.variables.items():
        counted = np.sort(np.bincount(variable.codes, minlength=variable.categories))[::-1]
        expected = sorted(sent[name].value_counts()["count"].to_list(), reverse=True)
        assert counted[: len(expected)].tolist() == expected
        assert not counted[len(expected) :].any()
    with refusal(ErrorCode.ENCODING_MISMATCH, "files of known values"):
        made.coordinator.amend(naming(other))
    assert made.status(project).specification_digest == digest_of(text)
