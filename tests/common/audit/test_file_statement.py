"""A custodian's statement about its file: bounded, signed for one specification, and compared with what is sent."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gemel.common.audit.file_statement import MAX_ORIGIN, MAX_RECORDS, FileStatement, check_contributed
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.identity import Identity, IdentityKey
from tests.carole.refusals import refusal

STATED = FileStatement(2_000, "patient register, May")
DIGEST = b"\1" * 32


def test_a_signature_is_for_one_statement_project_and_specification() -> None:
    identity = Identity(IdentityKey.create())
    signature = STATED.sign(identity, "births", DIGEST)
    STATED.verify(identity.public, signature, "births", DIGEST)
    for changed, project, digest in (
        (replace(STATED, records=2_001), "births", DIGEST),
        (replace(STATED, origin="patient register, June"), "births", DIGEST),
        (STATED, "deaths", DIGEST),
        (STATED, "births", b"\2" * 32),
    ):
        with refusal(ErrorCode.SIGNATURE):
            changed.verify(identity.public, signature, project, digest)


@pytest.mark.parametrize(
    ("records", "origin"),
    [(-1, ""), (MAX_RECORDS + 1, ""), (1, "x" * (MAX_ORIGIN + 1)), (1, "a\nb"), (1, "\x1b[31m")],
)
def test_what_is_out_of_bounds_is_no_statement(records: int, origin: str) -> None:
    with refusal(ErrorCode.PARAMETER):
        FileStatement(records, origin)


@pytest.mark.parametrize("contributed", [1_900, 2_000, 2_100])
def test_a_file_may_change_a_little(contributed: int) -> None:
    check_contributed(2_000, contributed, "here")


@pytest.mark.parametrize("contributed", [0, 1_899, 2_101, 2_800])
def test_other_numbers_are_refused(contributed: int) -> None:
    with pytest.raises(GemelError, match="2,000, within 5%") as caught:
        check_contributed(2_000, contributed, "here")
    assert f"{contributed:,} records" in str(caught.value)


def test_small_files_may_differ_by_a_few() -> None:
    check_contributed(3, 13, "here")
    with pytest.raises(GemelError):
        check_contributed(3, 14, "here")
