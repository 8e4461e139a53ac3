"""Mode block_keyed with `latent`, through real services: who sends which codes to whom, looked at byte by byte.

Carole and her worker are processes; both custodians and the resolver are in this process, so that every message that
Carole receives, and every answer of hers to the coordinator, can be kept. Three projects: one that neither releases nor
assesses the joint distribution, one that releases it to Bob, one that assesses the linked records.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from gemel.carole.engine.run.contribution import unpacked
from gemel.common.keys.sealing_key import SealingKey
from gemel.common.parties import Side
from gemel.common.rpc.client import Connection
from gemel.common.signatures.layout import CODES
from gemel.common.signatures.payload import from_bytes
from gemel.common.signatures.signature_sets import SignatureSet
from gemel.common.specification import Specification, load_specification, specification_digest
from gemel.common.wire.manifest import manifest_from_wire
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
from gemel.coordinator.demonstration.people.insured import KEY
from gemel.custodian.service import CustodianService
from gemel.custodian.state.row_map import unpack_map
from gemel.protos.linkage.v1 import contribution_pb2, resolution_pb2
from gemel.risk.models import JointDistribution
from tests.e2e.deployment import STATE, Deployment, insured, people, specification, variables_of
from tests.e2e.recording import answered

N, COMMON = 400, 200
# Some of the variables, from either holder and both: what is sent of each is the same, and all would take minutes.
ROLES = {"Age": "key", "SocioEcon": "key", "RiskAversion": "sensitive", "MakeModel": "other", KEY: "other"}
VARIABLES = variables_of(ROLES)
MORE = f"""\
blocking:
  - {{name: born, keys: [{{field: born}}]}}
  - {{name: names, keys: [{{field: surname}}, {{field: given_name, prefix: 1}}]}}
  - {{name: place, keys: [{{field: postcode}}, {{field: sex}}]}}
{VARIABLES}
latent: {{keys: [{KEY}]}}
leakage: {{above: warn}}
"""
ASSESSED = """\
assessment:
  fractions: {alice: 0.05, bob: 0.05, combined: 0.025}
  limits: {sample_uniques: 1}
"""
FIELD = f"  - {{name: {KEY}, kind: category}}\nretention"


def text_of(project: str, release: str, more: str = "") -> str:
    release = f"release: {{{release}alice: links, bob: links, coordinator: statistics}}\n"
    text = specification(project, bits=512, mode="block_keyed", more=MORE + release + more)
    return text.replace("retention", FIELD, 1)


TEXTS = {
    "apart": text_of("apart", ""),
    "granted": text_of("granted", "joint: bob, "),
    "assessed": text_of("assessed", "assessment: policy, ", ASSESSED),
}
OF_EACH = pytest.mark.parametrize(
    "project", [pytest.param(name, marks=pytest.mark.long if name == "granted" else ()) for name in TEXTS]
)
"""Who is granted the joint distribution has it in `test_disclosure.py` too."""

SPECS = {project: load_specification(text) for project, text in TEXTS.items()}
Artifact = resolution_pb2.RunArtifact


@dataclass
class Linked:
    """Projects that are linked when a test first needs them, and every call that was made to Carole."""

    made: Deployment
    services: dict[Side, CustodianService]
    calls: list[tuple[Connection, Any, Any]]
    runs: dict[str, str] = field(default_factory=dict)

    def link(self, project: str) -> None:
        """Link a project, if it is not yet."""
        made = self.made
        if project not in self.runs:
            made.create(TEXTS[project])
            made.wait_for(project, STATE.PROJECT_STATE_CONTRIBUTED)
            run = made.coordinator.start(project).run
            self.runs[project] = follow_run(made.coordinator, project, run).run
            made.wait_for(project, STATE.PROJECT_STATE_RELEASED)
            made.eventually(lambda: all(side.result_acknowledged for side in made.status(project).sides))

    @property
    def resolver(self) -> list[Any]:
        """Carole's answers to the coordinator."""
        return [answer for own, _, answer in self.calls if own is self.made.coordinator._connection]

    def sent(self, project: str, artifact: Artifact) -> list[bytes]:
        """The contents of one kind that Carole received for a project."""
        by_root: dict[bytes, dict[int, bytes]] = {}
        for _, request, _ in self.calls:
            if not isinstance(request, resolution_pb2.PutArtifactRequest) or request.project != project:
                continue
            if request.artifact == artifact:
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
        for _, begun, _ in self.calls:
            if isinstance(begun, contribution_pb2.BeginUploadRequest):
                manifest = manifest_from_wire(begun.manifest, 1 << 40, 1 << 30)
                if (manifest.project, manifest.side) == (project, side):
                    chunks = {
                        put.chunk.index: put.chunk.data
                        for _, put, _ in self.calls
                        if isinstance(put, contribution_pb2.PutChunkRequest) and put.upload == begun.upload
                    }
                    return from_bytes(manifest.layout, b"".join(chunks[index] for index in sorted(chunks)))
        raise AssertionError(f"no upload of {side} for {project}")


@pytest.fixture(scope="module")
def linked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Linked]:
    made = Deployment(tmp_path_factory.mktemp("valued"), TEXTS.values(), insured(people(N, COMMON, seed=5)))
    with pytest.MonkeyPatch.context() as patch:
        calls = answered(patch)
        try:
            made.processes("carole")
            services = {side: made.start(side) for side in Side}
            yield Linked(made, services, calls)
        finally:
            made.close()


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
    received = b"\0".join(request.SerializeToString() for _, request, _ in linked.calls)
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
    for project in linked.runs:
        arrays, _ = unpacked(linked.fetched(project, Artifact.RUN_ARTIFACT_RESOLUTION_REQUEST))
        assert set(arrays) <= {
            "gamma", "mask", "count", "pattern", "selected", "levels", "outside_gamma", "outside_count",
            "lacking_a", "lacking_a_records", "lacking_b", "lacking_b_records",
        }  # fmt: skip
        seen += [array.tobytes() for array in arrays.values()]
        for side in Side:
            seen += [array.tobytes() for array in linked.opened(project, side).values()]
    everything = b"\0".join(seen)
    labels = {label for variable in SPECS["apart"].variables for label in variable.categories if len(label) >= 7}
    assert len(labels) > 10
    assert not any(label.encode() in everything for label in labels)
    for side in Side:
        *signed, codes = linked.uploaded("apart", side)
        signatures = [row.tobytes() for part in signed for held in part.fields.values() for row in held.signatures[:50]]
        assert len(signatures) > 500
        assert not any(row in everything for row in signatures if len(row) >= 32)
        # Nor the list of codes that Carole has, in its order.
        for variable in codes.variables.values():
            assert variable.codes.tobytes()[:200] not in everything


def test_no_labels_leave_a_custodian(linked: Linked) -> None:
    linked.link("apart")
    kinds = (
        contribution_pb2.BeginUploadRequest,
        contribution_pb2.PutChunkRequest,
        resolution_pb2.PutArtifactRequest,
    )
    wire = b"\0".join(request.SerializeToString() for _, request, _ in linked.calls if isinstance(request, kinds))
    labels = {label for variable in SPECS["apart"].variables for label in variable.categories if len(label) >= 7}
    assert not any(label.encode() in wire for label in labels)
