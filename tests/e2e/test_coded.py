"""Codes of variables in mode block_keyed, through real services: who sends which to whom, looked at byte by byte.

Carole and her worker are processes; both custodians and the resolver are in this process, so that every message that
Carole receives, and every answer of hers to the coordinator, can be kept, and the custodians' maps be read. Projects
whose linked records are assessed by a policy: released, refused, joined by Carole, padded; and with `latent`, one that
neither releases nor assesses the joint distribution, one that releases it to Bob, one that is assessed.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from gemel.carole.engine.decision.coded_links import GROUP
from gemel.carole.engine.run.contribution import unpacked
from gemel.common.errors import ErrorCode
from gemel.common.keys.sealing_key import SealingKey
from gemel.common.parties import Side
from gemel.common.rpc.transfer import Content
from gemel.common.signatures.layout import CODES, SAMPLES
from gemel.common.signatures.signature_sets import SignatureSet
from gemel.common.specification import Specification, load_specification, specification_digest
from gemel.common.wire.parties import side_to_wire
from gemel.common.wire.row_handles import (
    CODES_ROWS,
    HANDLES,
    VALUES,
    About,
    RowHandlesRequest,
    open_row_handles,
    request_digest,
)
from gemel.coordinator.client.run_progress import follow_run
from gemel.coordinator.client.steward_client import Steward
from gemel.coordinator.demonstration.people import IDENTIFIER, TRUTH
from gemel.coordinator.demonstration.people.insured import KEY
from gemel.custodian.service import CustodianService
from gemel.custodian.state.row_map import unpack_map
from gemel.protos.linkage.v1 import contribution_pb2, resolution_pb2
from gemel.risk.models.joint_distribution import JointDistribution
from tests.carole.refusals import refused
from tests.e2e.deployment import (
    BOBS_NAMES,
    STATE,
    THREE_RULES,
    Deployment,
    insured,
    linked_people,
    people,
    specification,
    variables_of,
)
from tests.e2e.recording import Calls, contribution, recorded

N, COMMON = 400, 200
SHARES = "alice: links, bob: links, coordinator: statistics}\n"
FRACTIONS = "fractions: {alice: 0.05, bob: 0.05, combined: 0.025}"

ROLES = {"Age": "key", "SocioEcon": "key", "MakeModel": "key", KEY: "other", "RiskAversion": "sensitive"}
JUDGED = f"""\
{THREE_RULES}{variables_of(ROLES)}
assessment:
  {FRACTIONS}
  tables: [{{variables: [Age, RiskAversion], protection: conventional, base: 5}}]
  limits: {{sample_uniques: LIMIT}}
  on_breach: refuse
release: {{assessment: policy, {SHARES}"""
PROTECT = """\
  protect:
    Age: [{name: adults, groups: {young: [Adolescent], grown: [Adult, Senior]}}]
    MakeModel:
      - {name: prices, groups: {dear: [SportsCar, SuperLuxury, Luxury], others: [Economy, FamilySedan]}}
      - drop
  on_breach: refuse
"""

# Some of the variables, from either holder and both: what is sent of each is the same, and all would take minutes.
LATENT = f"""\
{THREE_RULES}{variables_of({**ROLES, "MakeModel": "other"})}
latent: {{keys: [{KEY}]}}
leakage: {{above: warn}}
release: {{RELEASE{SHARES}"""
ASSESSED = f"assessment:\n  {FRACTIONS}\n  limits: {{sample_uniques: 1}}\n"
FIELD = f"  - {{name: {KEY}, kind: category}}\nretention"


def judged_text(project: str, limit: str) -> str:
    return specification(project, bits=512, more=JUDGED.replace("LIMIT", limit), mode="block_keyed")


def latent_text(project: str, release: str, more: str = "") -> str:
    text = specification(project, bits=512, mode="block_keyed", more=LATENT.replace("RELEASE", release) + more)
    return text.replace("retention", FIELD, 1)


TEXTS = {
    "passes": judged_text("passes", "1"),
    "refused": judged_text("refused", "0"),
    "joined": judged_text("joined", "0.022").replace("  on_breach: refuse\n", PROTECT)
    + "resolution: {by: carole, max_records: 300}\n",
    "padded": judged_text("padded", "1") + "padding: powers_of_two\n",
    "apart": latent_text("apart", ""),
    "granted": latent_text("granted", "joint: bob, "),
    "assessed": latent_text("assessed", "assessment: policy, ", ASSESSED),
}
OF_EACH = pytest.mark.parametrize("project", ["apart", pytest.param("granted", marks=pytest.mark.long), "assessed"])
"""Who is granted the joint distribution has it in `test_disclosure.py` too."""

SPECS = {project: load_specification(text) for project, text in TEXTS.items()}
Artifact = resolution_pb2.RunArtifact


@dataclass
class Linked:
    """Projects that are linked when a test first needs them, and every call that was made to Carole."""

    made: Deployment
    files: dict[Side, pl.DataFrame]
    services: dict[Side, CustodianService]
    calls: Calls
    steward: Steward
    runs: dict[str, str] = field(default_factory=dict)

    def link(self, project: str) -> None:
        made = self.made
        if project not in self.runs:
            made.contributed(TEXTS[project])
            run = made.coordinator.start(project).run
            self.runs[project] = follow_run(made.coordinator, project, run).run
            if project != "refused":
                made.wait_for(project, STATE.PROJECT_STATE_RELEASED)
                made.received(project)

    def report(self, project: str) -> dict[str, Any]:
        """The assessment's document of a project, which is linked first."""
        self.link(project)
        document: dict[str, Any] = json.loads(self.steward.report(project, self.runs[project]).text)
        return document

    @property
    def resolver(self) -> list[Any]:
        return [answer for own, _, answer in self.calls if own is self.made.coordinator._connection]

    def sent(self, project: str, artifact: Artifact) -> list[bytes]:
        """The contents of one kind that Carole received for a project."""
        by_root: dict[bytes, dict[int, bytes]] = {}
        for request in self.calls.requests(resolution_pb2.PutArtifactRequest):
            if (request.project, request.artifact) == (project, artifact):
                by_root.setdefault(request.chunk.root, {})[request.chunk.index] = request.chunk.data
        return [b"".join(chunks[index] for index in sorted(chunks)) for chunks in by_root.values()]

    def fetched(self, project: str, artifact: Artifact, side: Side | None = None, *, ours: bool = True) -> bytes:
        """An artifact that Carole gave: to the resolver, or to a custodian."""
        chunks = {}
        for connection, request, answer in self.calls:
            if not isinstance(request, resolution_pb2.FetchArtifactRequest) or request.project != project:
                continue
            service = None if side is None else self.services[side]._context.connection
            right = connection is service if not ours else side is None or request.side == side_to_wire(side)
            if request.artifact == artifact and right:
                chunks[request.index] = answer.chunk.data
        return b"".join(chunks[index] for index in sorted(chunks))

    def opened(self, project: str, side: Side) -> dict[str, NDArray[Any]]:
        """A custodian's handles as the resolver reads them, with the coordinator's own key."""
        members, spec = self.made.made.members, SPECS[project]
        key = SealingKey.load(self.made.made.parties["coordinator"].sealing)
        reader = members.holding(key)
        about = About(
            project=project,
            run=self.runs[project],
            side=side,
            specification=specification_digest(spec),
            request=request_digest(self.fetched(project, Artifact.RUN_ARTIFACT_ROWS, side, ours=False)),
            reader=reader.name,
            key=reader.sealing,
            suite=spec.suite,
        )
        sealed = self.fetched(project, Artifact.RUN_ARTIFACT_HANDLES, side)
        return open_row_handles(key, members.in_role(side.role).identity, about, sealed)

    def uploaded(self, project: str, side: Side) -> tuple[SignatureSet, ...]:
        """The sets that Carole received of a custodian."""
        self.link(project)
        return contribution(self.calls, side, project)[1]

    def identifiers(self, project: str, side: Side) -> dict[str, list[str]]:
        """The custodian's own identifiers of the rows of each set of its upload, from its map."""
        state = self.services[side]._context.state
        upload = state.uploads.newest(project)
        assert upload is not None
        names = unpack_map(state.uploads.row_map(upload)).to_list()
        by_set, start = {}, 0
        for part in self.uploaded(project, side):
            if part.rule != SAMPLES:
                by_set[part.rule] = names[start : start + part.n_rows]
                start += part.n_rows
        assert start == len(names)
        return by_set


@pytest.fixture(scope="module")
def linked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Linked]:
    files = insured(people(N, COMMON, seed=5))
    with (
        Deployment(tmp_path_factory.mktemp("coded"), TEXTS.values(), files) as made,
        pytest.MonkeyPatch.context() as patch,
    ):
        calls = recorded(patch)
        services = made.start_all(worker=True)
        yield Linked(made, files, services, calls, made.steward())


def long_labels(project: str) -> set[bytes]:
    """Labels that no message has by chance."""
    categories = {label for variable in SPECS[project].variables for label in variable.categories}
    return {label.encode() for label in categories if len(label) >= 7}


@pytest.mark.parametrize(
    "project", ["passes", *(pytest.param(name, marks=pytest.mark.long) for name in ("joined", "padded"))]
)
def test_what_the_policy_passes_is_released_with_the_right_records_assessed(linked: Linked, project: str) -> None:
    """Whether the coordinator's process resolves the records, or Carole joins by herself; coarsened or not."""
    made, document = linked.made, linked.report(project)
    assert made.status(project).state == STATE.PROJECT_STATE_RELEASED
    joined = linked_people(linked.files, made.links(project))
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
    # A link counts by its probability, which random keys sometimes put a little below 1; of ten, one link is 10 %.
    assert document["measures"]["sample_uniques"]["value"] == pytest.approx(alone, rel=0.01)
    assert "codes_of_links_only" in {warning["code"] for warning in document["warnings"]}
    assert document["custodians"]["alice"]["records"] == document["custodians"]["bob"]["records"] == N


def test_what_the_policy_refuses_no_party_receives(linked: Linked) -> None:
    made = linked.made
    assert linked.report("refused")["verdict"] == "breach"
    assert made.status("refused").state == STATE.PROJECT_STATE_ASSESSED
    refused(ErrorCode.WRONG_STATE, made.coordinator.statistics, "refused", linked.runs["refused"])
    assert not any((made.folders[side] / "results" / "refused").exists() for side in Side)


def test_codes_are_sent_beside_nothing_in_an_order_of_their_own(linked: Linked) -> None:
    """Rank correlations of independent orders of n have standard deviation 1 / sqrt(n - 1)."""
    for side in Side:
        *signed, codes = linked.uploaded("passes", side)
        assert (codes.rule, codes.n_rows, codes.fields, codes.blocks) == (CODES, N, {}, {})
        assert list(codes.variables) == [v.name for v in SPECS["passes"].variables_of(side)]
        assert not any(part.variables for part in signed)
        names = linked.identifiers("passes", side)
        place = {name: i for i, name in enumerate(names[CODES])}
        for rule in SPECS["passes"].blocking:
            places = np.array([place[name] for name in names[rule.name]])
            assert len(places) > N / 2
            correlation = np.corrcoef(np.arange(len(places)), np.argsort(np.argsort(places)))[0, 1]
            assert abs(correlation) < 5 / np.sqrt(len(places) - 1), rule.name
        # Each code is one category, and no label is in any message of a custodian.
        frame = linked.files[side].rename({BOBS_NAMES[IDENTIFIER]: IDENTIFIER}, strict=False)
        own = pl.DataFrame({IDENTIFIER: names[CODES]}).join(frame, on=IDENTIFIER, how="left", maintain_order="left")
        for name, variable in codes.variables.items():
            pairs = set(zip(own[name].to_list(), variable.codes.tolist(), strict=True))
            labels, numbers = zip(*pairs, strict=True)
            assert len(set(labels)) == len(set(numbers)) == len(pairs)
            assert (None, -1) in pairs


def test_the_answer_names_links_by_rows_of_codes_that_nothing_joins_to_the_pairs(linked: Linked) -> None:
    linked.link("passes")
    artifacts = linked.calls.requests(resolution_pb2.PutArtifactRequest)
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


# With `latent`


def values_of(spec: Specification, side: Side, reported: NDArray[Any]) -> NDArray[np.int64]:
    """Codes as they are reported, a row for each handle; -1 for none."""
    return reported.astype(np.int64).reshape(-1, len(spec.variables_of(side))) - 1


@OF_EACH
def test_the_resolver_has_codes_of_requested_records_and_their_rows_only_for_an_assessment(
    linked: Linked, project: str
) -> None:
    linked.link(project)
    spec = SPECS[project]
    for side in Side:
        reported = linked.opened(project, side)
        assert set(reported) == {HANDLES, VALUES} | ({CODES_ROWS} if project == "assessed" else set())
        rows = RowHandlesRequest.unpack(linked.fetched(project, Artifact.RUN_ARTIFACT_ROWS, side, ours=False)).rows
        # A record is requested, and not every record is.
        values = values_of(spec, side, reported[VALUES])
        assert COMMON * 0.9 < len(values) == reported[HANDLES].max() + 1 < N
        # They are the right ones: by this custodian's own map, from a requested row to its row of codes.
        state = linked.services[side]._context.state
        upload = state.uploads.newest(project)
        assert upload is not None
        names = unpack_map(state.uploads.row_map(upload)).to_list()
        codes = linked.uploaded(project, side)[-1]
        assert codes.rule == CODES
        place = {name: row for row, name in enumerate(names[upload.rows :])}
        of_rows = [place[names[row]] for row in rows]
        table = np.stack([codes.variables[v.name].codes for v in spec.variables_of(side)], axis=1)
        np.testing.assert_array_equal(values[reported[HANDLES]], table[of_rows])
        if project == "assessed":
            np.testing.assert_array_equal(reported[CODES_ROWS][reported[HANDLES]], of_rows)


@OF_EACH
def test_carole_gets_no_codes_of_handles_and_no_handle(linked: Linked, project: str) -> None:
    linked.link(project)
    sealed = linked.sent(project, Artifact.RUN_ARTIFACT_HANDLES)
    assert len(sealed) == 2
    assert all(content.startswith(b"gemel sealed ") for content in sealed)
    received = linked.calls.sent()
    stored = [path.read_bytes() for path in linked.made.folders["carole"].rglob("*") if path.is_file()]
    assert sum(map(len, stored)) > 100_000
    for side in Side:
        reported = linked.opened(project, side)
        for name in (HANDLES, VALUES):
            # A quarter of a list: no chance for it to be there by accident, nor to be missed at a chunk's end.
            part = reported[name][: len(reported[name]) // 4]
            for kind in ("<u4", "<u2", "u1"):
                plain = part.astype(kind).tobytes()
                assert len(plain) > 40
                assert plain not in received
                assert not any(plain in content for content in stored)
        # Codes are beside no signature, in a set of their own.
        *signed, codes = linked.uploaded(project, side)
        assert (codes.rule, codes.n_rows, codes.fields, codes.blocks) == (CODES, N, {}, {})
        assert not any(part.variables for part in signed)


@OF_EACH
def test_the_joint_distribution_comes_to_carole_if_it_is_released_or_assessed(linked: Linked, project: str) -> None:
    linked.link(project)
    (content,) = linked.sent(project, Artifact.RUN_ARTIFACT_RESOLUTION_RESULT)
    arrays, document = unpacked(content)
    coded = {"coded_a", "coded_b", "coded_probability", "left_out"} if project == "assessed" else set()
    assert set(arrays) == {"share_alice", "share_bob"} | coded | (set() if project == "apart" else {"joint"})
    assert all(arrays[f"share_{side}"].tobytes().startswith(b"gemel sealed ") for side in Side)
    assert document["linkage"]["latent"]["dependences"]
    if project == "apart":
        # Of the step Carole has counts and averages: no list is as long as the variables have cells.
        cells = [len(v.categories) for v in SPECS[project].variables]
        assert len(document["linkage"]["latent"]["variables"]) == len(cells)
        assert "cliques" not in str(document)
        return
    joint = JointDistribution.from_json(arrays["joint"].tobytes())
    assert all(variable.coded and variable.labels is None for variable in joint.variables)
    # Only who is granted it has it, with labels; an assessment alone gives it to no custodian.
    written = {side for side in Side if (Path(linked.made.shown(side, project).results) / "joint.json").exists()}
    assert written == ({Side.BOB} if project == "granted" else set())


def test_the_coordinator_gets_no_signature_no_label_and_no_list_of_codes(linked: Linked) -> None:
    linked.link("apart")
    linked.link("assessed")
    chunks = [answer for answer in linked.resolver if isinstance(answer, resolution_pb2.FetchArtifactResponse)]
    seen = [b"".join(answer.chunk.data for answer in chunks)]
    for project in ("apart", "assessed"):
        arrays, _ = unpacked(linked.fetched(project, Artifact.RUN_ARTIFACT_RESOLUTION_REQUEST))
        assert set(arrays) <= {
            "gamma", "mask", "count", "pattern", "selected", "levels", "outside_gamma", "outside_count",
            "lacking_a", "lacking_a_records", "lacking_b", "lacking_b_records",
        }  # fmt: skip
        seen += [array.tobytes() for array in arrays.values()]
        for side in Side:
            seen += [array.tobytes() for array in linked.opened(project, side).values()]
    everything = b"\0".join(seen)
    labels = long_labels("apart")
    assert len(labels) > 10
    assert not any(label in everything for label in labels)
    for side in Side:
        *signed, codes = linked.uploaded("apart", side)
        signatures = [row.tobytes() for part in signed for held in part.fields.values() for row in held.signatures[:50]]
        assert len(signatures) > 500
        assert not any(row in everything for row in signatures if len(row) >= 32)
        # Nor the list of codes that Carole has, in its order.
        for variable in codes.variables.values():
            assert variable.codes.tobytes()[:200] not in everything


def test_no_labels_leave_a_custodian(linked: Linked) -> None:
    for project in ("passes", "apart"):
        linked.link(project)
    kinds = contribution_pb2.BeginUploadRequest, contribution_pb2.PutChunkRequest, resolution_pb2.PutArtifactRequest
    wire = linked.calls.sent(*kinds)
    labels = long_labels("passes") | long_labels("apart")
    assert len(labels) > 10
    assert not any(label in wire for label in labels)
