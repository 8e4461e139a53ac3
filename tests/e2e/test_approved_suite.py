"""Mode block_keyed in the approved suite through real services, beside the same project in the default one.

All sealing keys are of the approved suite, by which the parties serve both projects. Carole and her worker are a
process; both custodians are services in this process, so that what they send can be kept as it leaves them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

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
    """A finished linkage: the files, both custodians' links, and what the custodians sent."""

    files: dict[Side, pl.DataFrame]
    links: dict[Side, pl.DataFrame]
    sent: bytes

    @property
    def pairs(self) -> set[tuple[str, str]]:
        joined = linked_people(self.files, self.links)
        assert f1_of(joined, COMMON) >= 0.95
        return set(joined.select("identifier", "identifier_bob").iter_rows())


@pytest.fixture(scope="module")
def link(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[Suite], Linked]]:
    """Link in a suite, once."""
    files = people(N, COMMON, seed=3)
    made = Deployment(tmp_path_factory.mktemp("approved"), TEXTS.values(), files, suite=Suite.APPROVED)
    with made, pytest.MonkeyPatch.context() as patch:
        calls = recorded(patch)
        made.start_all(worker=True)

        @cache
        def linked(suite: Suite) -> Linked:
            calls.clear()
            project, _ = made.link(TEXTS[suite])
            return Linked(files, made.links(project), calls.sent())

        yield linked


IN_EACH = pytest.mark.parametrize("suite", Suite)


@pytest.mark.long  # in the first tier: tests/custodian/agreement, test_agreement.py, and encoding/test_hardening.py
def test_both_suites_find_the_same_links(link: Callable[[Suite], Linked]) -> None:
    """But for what other keys change in the estimated similarities of names: few doubtful pairs."""
    assert len(link(Suite.DEFAULT).pairs ^ link(Suite.APPROVED).pairs) <= 0.05 * COMMON


@pytest.mark.long
@IN_EACH
def test_the_keys_are_agreed_by_the_suite_of_the_specification(link: Callable[[Suite], Linked], suite: Suite) -> None:
    linked = link(suite)
    assert linked.pairs
    agreements = {Suite.DEFAULT: frame(b"gemel seed agreement 1"), Suite.APPROVED: frame(b"gemel seed agreement 2")}
    assert [each for each, sent in agreements.items() if sent in linked.sent] == [suite]


@pytest.mark.long
@IN_EACH
def test_handles_are_sealed_by_the_approved_suite(link: Callable[[Suite], Linked], suite: Suite) -> None:
    """In both projects, because the keys in the list are of it."""
    sent = link(suite).sent
    assert b"gemel sealed 2\n" in sent
    assert b"gemel sealed 1\n" not in sent


def test_a_project_of_the_approved_suite_takes_no_keys_of_another(deploy) -> None:  # type: ignore[no-untyped-def]
    made: Deployment = deploy(TEXTS[Suite.APPROVED])
    made.start_carole()
    with pytest.raises(GemelError, match="sealing keys that are not of ML-KEM-1024 and P-384") as caught:
        made.create(TEXTS[Suite.APPROVED])
    assert "--cryptography approved" in caught.value.remedy
