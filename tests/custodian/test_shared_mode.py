"""A custodian in mode shared: its service sends shares, which three parties read together, and gives handles of rows
that are named to itself alone."""

from __future__ import annotations

import io
import secrets
from collections.abc import Callable
from typing import Any

import numpy as np
from rich.console import Console

from gemel.common.keys.identity_configuration import open_identity
from gemel.common.keys.sealing_key import SealingKey
from gemel.common.parties import ComputeParty, Side
from gemel.common.pki.members import compute_members
from gemel.common.signatures.party_sets import PartyContribution
from gemel.common.signatures.signature_sets import unpack_values
from gemel.common.specification import load_specification, specification_digest
from gemel.common.wire.named_rows import NamedRowsContext, SharedRows, seal_row_share
from gemel.common.wire.share_headers import HeaderAbout, open_header
from gemel.custodian.operator import screen
from gemel.custodian.state.custodian_state import State
from gemel.custodian.state.row_map import Keyring, unpack_map
from tests.custodian import test_requested_rows as lying
from tests.custodian.conftest import SPECIFICATION
from tests.custodian.test_flow import CONTRIBUTED, eventually, running, shown

TEXT = lying.LYING_TEXT.replace("block_keyed", "shared")
SPEC = load_specification(TEXT)
RUN = f"{1:032}"


def contributions(world: Any, side: Side) -> list[PartyContribution]:
    """What a custodian has sent, as each of the three parties reads it."""
    carole, parties = world.carole, world.carole.parties
    name, (manifest, payload) = carole.current[side], carole.committed(side)
    ends = np.cumsum([part.total_bytes for part in manifest.layout.sets]).tolist()

    def read(number: int, size: int) -> bytes:
        start = ends[number] - manifest.layout.sets[number].total_bytes
        return payload[start : start + size]

    made = []
    for party, member in zip(ComputeParty, compute_members(parties.members, SPEC), strict=True):
        about = HeaderAbout(
            manifest.project, side, manifest.encoding_digest, manifest.epoch, name, manifest.layout, member.name, party
        )
        key = SealingKey.load(parties.parties[member.name].sealing)
        custodian = parties.members.in_role(side.role).identity
        header = open_header(key, custodian, about, manifest.sealed_seeds[party])
        made.append(PartyContribution(party, header, manifest.layout, read))
    return made


def named_rows(world: Any, side: Side, rows: list[int], run: str = RUN) -> bytes:
    """What Carole passes on to a custodian: three shares of its row numbers."""
    parties, session = world.carole.parties, secrets.token_bytes(16)
    reader = parties.members.in_role(side.role)
    upload = world.carole.current[side]
    context = NamedRowsContext(
        SPEC.project, run, session, side, specification_digest(SPEC), upload, reader.name, reader.sealing
    )
    shares = [np.frombuffer(secrets.token_bytes(4 * len(rows)), dtype="<u4") for _ in range(2)]
    shares.append(np.array(rows, dtype="<u4") ^ shares[0] ^ shares[1])
    carole, coordinator, steward = (
        seal_row_share(
            open_identity(None, parties.parties[member.name].identity), party, context, shares[party],
            shares[party.next],
        )
        for party, member in zip(ComputeParty, compute_members(parties.members, SPEC), strict=True)
    )  # fmt: skip
    return SharedRows(upload, session, (carole, coordinator, steward)).pack()


def request(world: Any, side: Side, artifact: bytes) -> None:
    with world.carole.changed():
        world.carole.requests[side] = RUN, artifact


def test_shares_are_sent_and_rows_are_named_to_their_custodian_alone(
    make_world: Callable[..., Any], monkeypatch: Any
) -> None:
    world = make_world(lying.LYING_N, text=TEXT)
    carole, side = world.carole, Side.ALICE
    with running(world.alice, world.bob):
        carole.wait_for(lambda: carole.state == CONTRIBUTED)
    alice, bob = (contributions(world, each) for each in Side)

    configuration = world.alice.configuration
    state = State(configuration.state, Keyring.load(configuration, world.alice.party).vault)
    upload = state.uploads.newest(SPEC.project)
    assert upload is not None
    identifiers = unpack_map(state.uploads.row_map(upload)).to_list()
    state.close()
    assert len(identifiers) == upload.rows == alice[0].starts[-1]
    born = {line.split(",")[0]: line.split(",")[2] for line in world.alice.source.read_text().splitlines()[1:]}
    digests = alice[0].digests(0)
    blocks: dict[int, set[str]] = {}
    for place, digest in enumerate(digests.tolist()):
        blocks.setdefault(digest, set()).add(born[identifiers[place]])
    assert all(len(days) == 1 for days in blocks.values())
    assert len(blocks) == len(set(born.values()))

    # The words of equal values in one block are equal in both files, and nothing else of them is.
    words = alice[0].words(1)
    rows = [np.bitwise_xor.reduce([party.rows(1)[0] for party in file]) for file in (alice, bob)]
    both = np.intersect1d(alice[0].digests(1), bob[0].digests(1))
    assert len(both) > lying.LYING_N // 2
    signatures = [{line[words.signature("postcode")].tobytes() for line in of_file} for of_file in rows]
    assert len(signatures[0] & signatures[1]) >= lying.LYING_N - 2
    assert not {line.tobytes() for line in alice[1].rows(1)[0]} & {line.tobytes() for line in bob[1].rows(1)[0]}

    monkeypatch.setattr(lying, "LYING_TEXT", TEXT)
    own = identifiers.index("a7")
    same = [identifiers.index("a7", alice[0].starts[number]) for number in (1, 2)]
    with running(world.alice):
        artifact = named_rows(world, side, [own, *same, identifiers.index("a8"), own])
        request(world, side, artifact)
        carole.wait_for(lambda: (side, RUN) in carole.handles)
        first, *others, second, again = lying.opened(world, side, RUN, artifact).tolist()
        assert [*others, again] == [first] * 3
        assert second != first
        del carole.handles[side, RUN]

        # Rows that she names herself, and parts that the three have sealed for another run.
        carole.request_handles(side, RUN, [0, 1])
        eventually(lambda: "shares of row numbers do not have the expected form" in shown(world.alice).blocking_error)
        request(world, side, named_rows(world, side, [0, 1], run="f" * 32))
        eventually(lambda: "does not open" in shown(world.alice).blocking_error)
        assert (side, RUN) not in carole.handles


# A custodian in trusted mode: its policy must name the mode, its screen shows what is sent, and values arrive.

TRUSTED = SPECIFICATION.replace("mode: open", "mode: trusted")


def test_a_policy_that_does_not_name_the_mode_approves_nothing_in_it(make_world, monkeypatch) -> None:
    world = make_world(text=TRUSTED)
    with running(world.alice, world.bob):
        eventually(lambda: shown(world.alice).waits_for_operator and shown(world.bob).waits_for_operator)
        assert world.carole.approved == set()
        output = io.StringIO()
        monkeypatch.setattr(screen, "console", Console(file=output, width=200))
        with world.alice.control() as control:
            status = control.status()
            screen.show_status(status, world.alice.party)
            assert "trusted: values are sent" in output.getvalue()
            assert screen.status_json(status)["projects"][0]["values_sent"] is True
            found = control.specification("people")
            assert "VALUES THEMSELVES ARE SENT" in found.notes[0]
            # The operator may do what the policy may not.
            control.approve("people", found.digest)
        world.carole.wait_for(lambda: world.carole.approved == {Side.ALICE})


def test_a_policy_that_names_it_does_and_values_arrive(make_world) -> None:
    world = make_world(text=TRUSTED)
    for folder in world.folders:
        text = folder.config.read_text()
        assert "  approve:" in text
        folder.config.write_text(text.replace("  approve:", "  modes: [open, trusted]\n  approve:", 1))
    with running(world.alice, world.bob):
        world.carole.wait_for(lambda: world.carole.state == CONTRIBUTED)
    for side in Side:
        part = world.carole.contribution(side)
        field = part.fields["surname"]
        assert field.content == "values"
        values = unpack_values(field.signatures, "surname")
        assert len(values) == field.n_distinct
        assert all(value == value.casefold() and value.isprintable() for value in values)
        assert part.blocks["born"].any()
