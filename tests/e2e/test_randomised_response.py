"""Randomised response through real services: right links, noise of each custodian's own, and keys that stay local.

Carole and her worker are processes; both custodians are services in this process, so that every message they send can
be kept as it leaves them.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl
import pytest

from gemel.common.parties import Side
from gemel.common.signatures.signature_sets import SignatureSet
from tests.e2e.deployment import Deployment, f1_of, linked_people, people, specification
from tests.e2e.recording import contribution, recorded

N, COMMON = 160, 80
TEXT = specification("noisy", bits=1024).replace("bits: 1024}", "bits: 1024, randomised_response: 0.05}")
FLIPPED = ("given_name", "surname", "street")


@dataclass(frozen=True)
class Linked:
    """A finished linkage, what the custodians sent for it, and their noise keys."""

    made: Deployment
    files: dict[Side, pl.DataFrame]
    sent: bytes
    links: dict[Side, pl.DataFrame]
    contributions: dict[Side, SignatureSet]
    keys: dict[Side, bytes]


@pytest.fixture(scope="module")
def linked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Linked]:
    files = people(N, COMMON, seed=4)
    with Deployment(tmp_path_factory.mktemp("noisy"), [TEXT], files) as made, pytest.MonkeyPatch.context() as patch:
        calls = recorded(patch)
        services = made.start_all(worker=True)
        project, _ = made.link(TEXT)
        links = made.links(project)
        contributions = {side: contribution(calls, side)[1][0] for side in Side}
        keys = {side: service._context.state.noise_key().reveal() for side, service in services.items()}
        yield Linked(made, files, calls.sent(), links, contributions, keys)


def test_the_links_are_right(linked: Linked) -> None:
    assert f1_of(linked_people(linked.files, linked.links), COMMON) >= 0.97


def test_no_signature_with_noise_is_in_both_files(linked: Linked) -> None:
    alice, bob = (
        {name: {row.tobytes() for row in field.signatures} for name, field in linked.contributions[side].fields.items()}
        for side in Side
    )
    for name in alice:
        assert bool(alice[name] & bob[name]) == (name not in FLIPPED)


def test_noise_keys_stay_where_they_are(linked: Linked) -> None:
    assert linked.keys[Side.ALICE] != linked.keys[Side.BOB]
    written = b"\0".join(path.read_bytes() for path in sorted(linked.made.root.rglob("*")) if path.is_file())
    for key in linked.keys.values():
        for form in (key, key.hex().encode(), base64.b64encode(key), repr(key)[2:-1].encode()):
            assert form not in linked.sent
            assert form not in written
