"""Mode block_keyed in the approved suite through real services, beside the same project in the default one.

All sealing keys are of the approved suite, by which the parties serve both projects. Carole and her worker are a
process; both custodians are services in this process, so that what they send can be kept as it leaves them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl
import pytest

from gemel.common.errors import GemelError
from gemel.common.keys.framing import frame
from gemel.common.keys.suite import Suite
from gemel.common.parties import Side
from tests.e2e.deployment import TWO_RULES, Deployment, f1_of, linked_people, people, specification
from tests.e2e.recording import recorded

N, COMMON = 160, 80
TEXTS = {
    suite: specification(f"by-{suite}", mode="block_keyed", bits=512, more=f"{TWO_RULES}cryptography: {suite}\n")
    for suite in Suite
}


@dataclass(frozen=True)
class Linked:
    """Two finished linkages of the same files, by suite, and what the custodians sent for each."""

    files: dict[Side, pl.DataFrame]
    links: dict[Suite, dict[Side, pl.DataFrame]]
    sent: dict[Suite, bytes]


@pytest.fixture(scope="module")
def linked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Linked]:
    files = people(N, COMMON, seed=3)
    made = Deployment(tmp_path_factory.mktemp("approved"), TEXTS.values(), files, suite=Suite.APPROVED)
    links, content = {}, {}
    with pytest.MonkeyPatch.context() as patch:
        calls = recorded(patch)
        try:
            made.start_all(worker=True)
            for suite, text in TEXTS.items():
                calls.clear()
                project, _ = made.link(text)
                links[suite] = made.links(project)
                content[suite] = calls.sent()
            yield Linked(files, links, content)
        finally:
            made.close()


def test_both_suites_find_the_same_links(linked: Linked) -> None:
    """But for what other keys change in the estimated similarities of names: few doubtful pairs."""
    pairs = {}
    for suite in Suite:
        joined = linked_people(linked.files, linked.links[suite])
        assert f1_of(joined, COMMON) >= 0.95
        pairs[suite] = set(joined.select("identifier", "identifier_bob").iter_rows())
    assert len(pairs[Suite.DEFAULT] ^ pairs[Suite.APPROVED]) <= 0.05 * COMMON


def test_the_keys_are_agreed_by_the_suite_of_the_specification(linked: Linked) -> None:
    default, approved = frame(b"gemel seed agreement 1"), frame(b"gemel seed agreement 2")
    assert default in linked.sent[Suite.DEFAULT]
    assert approved not in linked.sent[Suite.DEFAULT]
    assert approved in linked.sent[Suite.APPROVED]
    assert default not in linked.sent[Suite.APPROVED]


def test_handles_are_sealed_by_the_approved_suite(linked: Linked) -> None:
    """In both projects, because the keys in the list are of it."""
    for content in linked.sent.values():
        assert b"gemel sealed 2\n" in content
        assert b"gemel sealed 1\n" not in content


def test_a_project_of_the_approved_suite_takes_no_keys_of_another(deploy) -> None:  # type: ignore[no-untyped-def]
    made: Deployment = deploy(TEXTS[Suite.APPROVED])
    made.start_carole()
    with pytest.raises(GemelError, match="sealing keys that are not of ML-KEM-1024 and P-384") as caught:
        made.create(TEXTS[Suite.APPROVED])
    assert "--cryptography approved" in caught.value.remedy
