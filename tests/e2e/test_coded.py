"""Variables and an assessment in mode block_keyed, through real services: released, refused, and nothing that joins.

Carole and her worker are processes; both custodians are services in this process, so that every message they send can
be kept, and their maps be read; the coordinator resolves.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from gemel.carole.engine.decision.coded_links import GROUP
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.identity_configuration import open_identity
from gemel.common.parties import Role, Side
from gemel.common.rpc.transfer import Content
from gemel.common.signatures.layout import CODES, SAMPLES
from gemel.common.signatures.signature_sets import SignatureSet
from gemel.common.specification import load_specification
from gemel.coordinator.client.connection import connection_of
from gemel.coordinator.client.run_progress import follow_run
from gemel.coordinator.client.steward_client import Steward
from gemel.coordinator.demonstration.people import IDENTIFIER, TRUTH
from gemel.coordinator.demonstration.people.insured import KEY
from gemel.custodian.service import CustodianService
from gemel.custodian.state.row_map import unpack_map
from gemel.protos.linkage.v1 import contribution_pb2, resolution_pb2
from tests.e2e.deployment import (
    BOBS_NAMES,
    STATE,
    Deployment,
    insured,
    linked_people,
    people,
    specification,
    variables_of,
)
from tests.e2e.recording import contribution, recorded

N, COMMON = 400, 200
ROLES = {"Age": "key", "SocioEcon": "key", "MakeModel": "key", KEY: "other", "RiskAversion": "sensitive"}
VARIABLES = variables_of(ROLES)
MORE = f"""\
blocking:
  - {{name: born, keys: [{{field: born}}]}}
  - {{name: names, keys: [{{field: surname}}, {{field: given_name, prefix: 1}}]}}
  - {{name: place, keys: [{{field: postcode}}, {{field: sex}}]}}
{VARIABLES}
assessment:
  fractions: {{alice: 0.05, bob: 0.05, combined: 0.025}}
  tables: [{{variables: [Age, RiskAversion], protection: conventional, base: 5}}]
  limits: {{sample_uniques: LIMIT}}
  on_breach: refuse
release: {{assessment: policy, alice: links, bob: links, coordinator: statistics}}
"""


def text_of(project: str, limit: str) -> str:
    more = MORE.replace("LIMIT", limit)
    return specification(project, bits=512, more=more, mode="block_keyed")


PROTECT = """\
  protect:
    Age: [{name: adults, groups: {young: [Adolescent], grown: [Adult, Senior]}}]
    MakeModel:
      - {name: prices, groups: {dear: [SportsCar, SuperLuxury, Luxury], others: [Economy, FamilySedan]}}
      - drop
  on_breach: refuse
"""

TEXTS = {
    "passes": text_of("passes", "1"),
    "refused": text_of("refused", "0"),
    "joined": text_of("joined", "0.022").replace("  on_breach: refuse\n", PROTECT)
    + "resolution: {by: carole, max_records: 300}\n",
    "padded": text_of("padded", "1") + "padding: powers_of_two\n",
}
SPEC = load_specification(TEXTS["passes"])


@dataclass
class Judged:
    """Projects that are linked and judged when a test first needs them, and everything the parties sent."""

    made: Deployment
    files: dict[Side, pl.DataFrame]
    services: dict[Side, CustodianService]
    sent: list[tuple[str, Any]]
    steward: Steward
    runs: dict[str, str] = field(default_factory=dict)

    def report(self, project: str) -> dict[str, Any]:
        """The assessment's document; the project is linked first, if it is not yet."""
        made = self.made
        if project not in self.runs:
            made.create(TEXTS[project])
            made.wait_for(project, STATE.PROJECT_STATE_CONTRIBUTED)
            run = made.coordinator.start(project).run
            self.runs[project] = follow_run(made.coordinator, project, run).run
        document: dict[str, Any] = json.loads(self.steward.report(project, self.runs[project]).text)
        return document

    @cached_property
    def contributions(self) -> dict[Side, tuple[SignatureSet, ...]]:
        """What the custodians sent for the first project."""
        self.report("passes")
        return {side: contribution(self.sent, side, "passes")[1] for side in Side}

    def identifiers(self, side: Side) -> dict[str, list[str]]:
        """The custodian's own identifiers of the rows of each set of its upload, from its map."""
        state = self.services[side]._context.state
        upload = state.uploads.newest("passes")
        assert upload is not None
        names = unpack_map(state.uploads.row_map(upload)).to_list()
        found, start = {}, 0
        for part in self.contributions[side]:
            if part.rule != SAMPLES:
                found[part.rule] = names[start : start + part.n_rows]
                start += part.n_rows
        assert start == len(names)
        return found


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Judged]:
    files = insured(people(N, COMMON, seed=5))
    made = Deployment(tmp_path_factory.mktemp("coded"), TEXTS.values(), files)
    with pytest.MonkeyPatch.context() as patch:
        sent = recorded(patch)
        try:
            made.processes("carole")
            services = {side: made.start(side) for side in Side}
            folder = made.made.parties["steward"]
            linker = made.made.members.in_role(Role.LINKER).identity
            with connection_of(made.address, folder.path, Role.STEWARD) as connection:
                steward = Steward(connection, open_identity(None, folder.identity), linker)
                yield Judged(made, files, services, sent, steward)
        finally:
            made.close()


@pytest.mark.parametrize(
    "project", ["passes", *(pytest.param(name, marks=pytest.mark.long) for name in ("joined", "padded"))]
)
def test_what_the_policy_passes_is_released_with_the_right_records_assessed(judged: Judged, project: str) -> None:
    """Whether the coordinator's process resolves the records, or Carole joins by herself; coarsened or not."""
    made, document = judged.made, judged.report(project)
    assert made.status(project).state == STATE.PROJECT_STATE_RELEASED
    joined = linked_people(judged.files, made.links(project))
    assert document["verdict"] == "within"
    assert document["records"] == joined.height > 0.9 * COMMON
    assert joined.filter(pl.col(TRUTH) == pl.col(f"{TRUTH}_bob")).height > 0.95 * COMMON
    # What Carole assessed from rows of codes is what the linked people truly have.
    differ = joined.filter(pl.col(KEY) != pl.col(f"{KEY}_bob")).height
    assert 0 < differ < joined.height / 3
    assert any(warning["text"].startswith(f"In {differ} linked records") for warning in document["warnings"])
    keys = joined.select(name for name, role in ROLES.items() if role == "key")
    coarsening = Path(made.shown(Side.ALICE, project).results) / "coarsening.csv"
    assert coarsening.exists() == (project == "joined")
    if project == "joined":
        # As the custodians' own list of labels has it, Carole has joined codes.
        groups = pl.read_csv(coarsening)
        assert keys.is_unique().sum() / joined.height > 0.022
        for name in set(groups["variable"]):
            of = groups.filter(pl.col("variable") == name)
            keys = keys.with_columns(pl.col(name).replace_strict(of["category"], of["released_as"], default=None))
    alone = keys.filter(keys.is_unique()).height / joined.height
    assert document["measures"]["sample_uniques"]["value"] == pytest.approx(alone)
    assert "codes_of_links_only" in {warning["code"] for warning in document["warnings"]}
    assert document["custodians"]["alice"]["records"] == document["custodians"]["bob"]["records"] == N


def test_what_the_policy_refuses_no_party_receives(judged: Judged) -> None:
    made = judged.made
    assert judged.report("refused")["verdict"] == "breach"
    assert made.status("refused").state == STATE.PROJECT_STATE_ASSESSED
    with pytest.raises(GemelError) as caught:
        made.coordinator.statistics("refused", judged.runs["refused"])
    assert caught.value.code is ErrorCode.WRONG_STATE
    assert not any((made.folders[side] / "results" / "refused").exists() for side in Side)


def test_codes_are_sent_beside_nothing_in_an_order_of_their_own(judged: Judged) -> None:
    """Rank correlations of independent orders of n have standard deviation 1 / sqrt(n - 1)."""
    for side in Side:
        *signed, codes = judged.contributions[side]
        assert (codes.rule, codes.n_rows, codes.fields, codes.blocks) == (CODES, N, {}, {})
        assert list(codes.variables) == [v.name for v in SPEC.variables_of(side)]
        assert not any(part.variables for part in signed)
        names = judged.identifiers(side)
        place = {name: i for i, name in enumerate(names[CODES])}
        for rule in SPEC.blocking:
            places = np.array([place[name] for name in names[rule.name]])
            assert len(places) > N / 2
            correlation = np.corrcoef(np.arange(len(places)), np.argsort(np.argsort(places)))[0, 1]
            assert abs(correlation) < 5 / np.sqrt(len(places) - 1), rule.name
        # Each code is one category, and no label is in any message of a custodian.
        frame = judged.files[side].rename({BOBS_NAMES[IDENTIFIER]: IDENTIFIER}, strict=False)
        own = pl.DataFrame({IDENTIFIER: names[CODES]}).join(frame, on=IDENTIFIER, how="left", maintain_order="left")
        for name, variable in codes.variables.items():
            pairs = set(zip(own[name].to_list(), variable.codes.tolist(), strict=True))
            labels, numbers = zip(*pairs, strict=True)
            assert len(set(labels)) == len(set(numbers)) == len(pairs)
            assert (None, -1) in pairs
    uploads = (contribution_pb2.BeginUploadRequest, contribution_pb2.PutChunkRequest, resolution_pb2.PutArtifactRequest)
    wire = b"\0".join(message.SerializeToString() for _, message in judged.sent if isinstance(message, uploads))
    labels = {label for variable in SPEC.variables for label in variable.categories if len(label) >= 7}
    assert len(labels) > 5
    assert not any(label.encode() in wire for label in labels)


def test_the_answer_names_links_by_rows_of_codes_that_nothing_joins_to_the_pairs(judged: Judged) -> None:
    judged.report("passes")
    artifacts = [message for _, message in judged.sent if isinstance(message, resolution_pb2.PutArtifactRequest)]
    handles = [artifact for artifact in artifacts if artifact.artifact == resolution_pb2.RUN_ARTIFACT_HANDLES]
    assert all(artifact.chunk.data.startswith(b"gemel sealed 1\n") for artifact in handles if artifact.chunk.index == 0)
    chunks = {
        artifact.chunk.index: artifact.chunk.data
        for artifact in artifacts
        if (artifact.artifact, artifact.project) == (resolution_pb2.RUN_ARTIFACT_RESOLUTION_RESULT, "passes")
    }
    content = b"".join(chunks[index] for index in sorted(chunks))
    assert Content.of(content).root in {artifact.chunk.root for artifact in artifacts}
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        arrays = {name: np.load(io.BytesIO(archive.read(name))) for name in archive.namelist() if name.endswith("npy")}
    links = len(arrays["coded_a.npy"])
    assert set(arrays) == {
        "coded_a.npy",
        "coded_b.npy",
        "coded_probability.npy",
        "left_out.npy",
        "share_alice.npy",
        "share_bob.npy",
    }
    assert (np.diff(arrays["coded_a.npy"]) > 0).all()
    assert len(arrays["coded_a.npy"]) == len(np.unique(arrays["coded_b.npy"])) == links
    _, sizes = np.unique(arrays["coded_probability.npy"], return_counts=True)
    assert sizes.min() >= GROUP
    # What is for the custodians is sealed to them.
    assert all(arrays[f"share_{side}.npy"].tobytes().startswith(b"gemel sealed ") for side in Side)
