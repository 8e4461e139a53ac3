"""Mode block_keyed through real services: right links, and what went over the wire looked at byte by byte.

Carole and her worker are processes; both custodians are services in this process, so that every message they send can
be kept as it leaves them; the coordinator resolves.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from gemel.carole.engine.resolution import resolution_exchange as resolution
from gemel.common.audit.statements import ResolverResult
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.identity import Identity, IdentityKey, PublicIdentity
from gemel.common.keys.identity_configuration import open_identity
from gemel.common.keys.sealing import SealContext, open_sealed
from gemel.common.keys.sealing_key import SealingKey
from gemel.common.parties import Role, Side
from gemel.common.rpc.transfer import Content
from gemel.common.signatures.layout import Layout
from gemel.common.signatures.signature_sets import SignatureSet
from gemel.common.specification import load_specification
from gemel.common.wire.row_handles import About, open_row_handles, seal_row_handles
from gemel.coordinator.client.run_progress import follow_run
from gemel.coordinator.demonstration.people import TRUTH
from gemel.custodian.cleaning.columns import clean
from gemel.custodian.encoding.blocking_keys import key_text
from gemel.protos.linkage.v1 import coordination_pb2_grpc, resolution_pb2
from tests.carole.refusals import refusal, refused
from tests.e2e.deployment import STATE, THREE_RULES, Deployment, f1_of, linked_people, people, specification
from tests.e2e.recording import SHORTEST, Calls, contribution, occurring, recorded

N, COMMON = 160, 80
RELEASE = "release: {alice: pairs, bob: draws, draws: 6, coordinator: statistics, exact_probabilities: both}\n"
BLOCKING = THREE_RULES + RELEASE
TEXT = specification("keyed-blocks", bits=512, more=BLOCKING, mode="block_keyed")
SPEC = load_specification(TEXT)


@dataclass(frozen=True)
class Linked:
    """A finished linkage and everything the custodians sent for it."""

    made: Deployment
    files: dict[Side, pl.DataFrame]
    calls: Calls
    links: dict[Side, pl.DataFrame]
    statistics: dict[str, Any]
    contributions: dict[Side, tuple[SignatureSet, ...]]
    layouts: dict[Side, Layout]


@pytest.fixture(scope="module")
def linked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Linked]:
    files = people(N, COMMON, seed=3)
    with Deployment(tmp_path_factory.mktemp("keyed"), [TEXT], files) as made, pytest.MonkeyPatch.context() as patch:
        calls = recorded(patch)
        made.start_all(worker=True)
        project, status = made.link(TEXT)
        statistics = made.coordinator.statistics(project, status.run).plain()
        links = made.links(project)
        contributions, layouts = {}, {}
        for side in Side:
            layouts[side], contributions[side] = contribution(calls, side)
        yield Linked(made, files, calls, links, statistics, contributions, layouts)


def test_the_links_are_right_and_both_custodians_have_them(linked: Linked) -> None:
    joined = linked_people(linked.files, linked.links)
    assert f1_of(joined, COMMON) >= 0.97
    assert linked.statistics["linkage"]["links"] == joined.height
    assert linked.statistics["linkage"]["pairs"] == N * N


def test_who_is_granted_drawn_linkages_has_the_resolvers(linked: Linked) -> None:
    """Of the pairs that the other custodian has too; sure links in each, and no record twice in one."""
    folders = {side: Path(linked.made.shown(side, SPEC.project).results) for side in Side}
    draws = pl.read_parquet(folders[Side.BOB] / "draws.parquet")
    pairs = pl.read_parquet(folders[Side.ALICE] / "pairs.parquet")
    assert draws.columns == ["identifier", "pair_id", "draw", "link_probability"]
    assert draws["draw"].unique().sort().to_list() == list(range(6))
    assert draws.group_by("draw", "identifier").len()["len"].max() == 1
    both = draws.join(pairs, on="pair_id", how="left", validate="m:1", suffix="_alice")
    assert both.group_by("draw", "identifier_alice").len()["len"].max() == 1
    assert both["link_probability"].equals(both["link_probability_alice"], check_names=False)
    sure = pairs.filter(pl.col("link_probability") > 0.99)
    drawn = draws.filter(pl.col("pair_id").is_in(sure["pair_id"].to_list())).height
    assert drawn > 0.97 * 6 * sure.height > 0
    assert not (folders[Side.ALICE] / "draws.parquet").exists()


def test_no_two_blocks_rules_or_samples_share_a_signature(linked: Linked) -> None:
    """Each signature is of one block of one rule; the other custodian has it in that block or nowhere."""
    of_block: dict[bytes, tuple[str, int]] = {}
    shared = 0
    for side in Side:
        *rules, sample = linked.contributions[side]
        assert [part.rule for part in rules] == [rule.name for rule in SPEC.blocking]
        assert linked.layouts[side].records == N
        for part in rules:
            own = part.blocks[part.rule]
            assert (own != 0).all()
            for field in (field for field in part.fields.values() if field.content != "fixed"):
                for row, code in enumerate(field.codes.tolist()):
                    if code >= 0:
                        signature = field.signatures[code].tobytes()
                        place = part.rule, int(own[row])
                        known = of_block.setdefault(signature, place)
                        assert known == place
                        shared += known is not place
        for field in sample.fields.values():
            assert not {row.tobytes() for row in field.signatures} & of_block.keys()
    assert shared > 100


def test_blocking_keys_are_keyed_digests_and_differ_between_rules(linked: Linked) -> None:
    wire = linked.calls.sent()
    digests = [
        {int(key) for part in linked.contributions[side][:-1] for key in part.blocks[rule.name]} - {0}
        for side in Side
        for rule in SPEC.blocking
    ]
    # A rule's digests, and its tags in the sets of the others, occur under that rule alone.
    for first in range(3):
        for second in range(first):
            assert not digests[first] & digests[second]
    texts: set[str] = set()
    for side in Side:
        columns = clean(linked.files[side].drop(TRUTH), SPEC, side).columns
        for rule in SPEC.blocking:
            of_rule = key_text(columns, SPEC, rule, split=True).drop_nulls().unique().to_list()
            assert len(of_rule) > 20
            texts.update(of_rule)
    digests = {hashlib.blake2b(text.encode(), digest_size=8).digest() for text in texts}
    assert occurring({*digests, *(text.encode() for text in texts if len(text) >= SHORTEST)}, wire) == set()
    assert not any(text.encode() in wire for text in sorted(text for text in texts if len(text) < SHORTEST)[:100])


def test_no_value_and_no_identifier_is_in_any_message(linked: Linked) -> None:
    wire = linked.calls.sent()
    values = {value for frame in linked.files.values() for column in frame for value in column.drop_nulls().to_list()}
    texts = {text.encode() for value in values if len(value) >= 8 for text in (value, value.lower())}
    assert len(texts) > 2 * N
    assert occurring({*texts, SPEC.project.encode()}, wire) == {SPEC.project.encode()}


def test_handles_go_sealed(linked: Linked) -> None:
    artifacts = linked.calls.requests(resolution_pb2.PutArtifactRequest)
    handles = [artifact for artifact in artifacts if artifact.artifact == resolution_pb2.RUN_ARTIFACT_HANDLES]
    assert len(handles) == 2
    assert all(artifact.chunk.data.startswith(b"gemel sealed 1\n") for artifact in handles)
    assert any(artifact.artifact == resolution_pb2.RUN_ARTIFACT_RESOLUTION_RESULT for artifact in artifacts)
    carole = SealingKey.load(linked.made.made.parties["carole"].sealing)
    for artifact in handles:
        for reader in ("coordinator", "carole"):
            with refusal(ErrorCode.SEALED):
                list(open_sealed(carole, SealContext(artifact.project, artifact.run, reader), [artifact.chunk.data]))


@pytest.mark.long
def test_a_run_that_waits_outlives_carole(tmp_path: Path) -> None:
    """Carole is killed while a run waits for the resolver; started again, she takes the answer and ends the run."""
    with Deployment(tmp_path, [TEXT], people(60, 30, seed=9)) as made:
        (carole,) = made.processes("carole")
        made.start_custodians()
        project = made.contributed(TEXT)
        run = made.coordinator.start(project).run
        made.eventually(lambda: made.status(project).run.stage == "resolve")
        carole.kill()
        made.processes("carole")
        made.eventually(lambda: answers(made, project))
        assert made.status(project).run.stage == "resolve"
        refuses_replaced_handles(made, project, run)
        refuses_an_unsigned_result(made, project, run)
        assert follow_run(made.coordinator, project, run).links > 20
        made.wait_for(project, STATE.PROJECT_STATE_RELEASED)
        actions = [entry["action"] for entry in made.audited()]
        requested = actions.index("ask-handles")
        assert [action for action in actions[requested:] if action not in ("take-run", "deny")][:5] == [
            "ask-handles",
            "give-handles",
            "give-handles",
            "resolve-run",
            "finish-run",
        ]
        # Whoever has the log and the membership list sees for which result the resolver answers.
        (resolved,) = (entry["details"] for entry in made.audited() if entry["action"] == "resolve-run")
        resolver = made.made.members.in_role(Role.COORDINATOR).identity
        result = ResolverResult(project, run, bytes.fromhex(resolved["result"]))
        result.verify(resolver, bytes.fromhex(resolved["signature"]))


def refuses_replaced_handles(made: Deployment, project: str, run: str) -> None:
    """Whatever Carole makes of the handles: she knows all but a custodian's key. Nothing is answered then."""
    forger = Identity(IdentityKey.create())

    def forged(key: SealingKey, custodian: PublicIdentity, about: About, sealed: bytes) -> dict[str, Any]:
        reported = open_row_handles(key, custodian, about, sealed)
        return open_row_handles(key, custodian, about, seal_row_handles(forger, about, reported))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(resolution, "open_row_handles", forged)
        refused(ErrorCode.SIGNATURE, made.coordinator.resolve, project, run, lambda *_: None)
    assert made.status(project).run.stage == "resolve"


def refuses_an_unsigned_result(made: Deployment, project: str, run: str) -> None:
    """From the resolver's own connection, but without its signature on this very result."""
    connection = made.connection("coordinator")
    stub = connection.stub(coordination_pb2_grpc.CoordinationStub)
    chunk = Content.of(b"a result").chunk(0)
    others = ResolverResult(project, run, bytes(32)).sign(
        open_identity(None, made.made.parties["coordinator"].identity)
    )
    for signature in (b"", others):
        request = resolution_pb2.PutArtifactRequest(
            project=project,
            run=run,
            artifact=resolution_pb2.RUN_ARTIFACT_RESOLUTION_RESULT,
            chunk=chunk.message(),
            signature=signature,
        )
        refused(ErrorCode.SIGNATURE, connection.call, stub.PutArtifact, request)
    assert made.status(project).run.stage == "resolve"


def answers(made: Deployment, project: str) -> bool:
    try:
        return bool(made.status(project).project)
    except GemelError:
        return False
