"""Columns of linked records, sealed and signed: what the recipient takes, and everything that it refuses."""

from __future__ import annotations

import io
import zipfile
from dataclasses import replace
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemel.common.errors import ErrorCode
from gemel.common.keys.identity import SigningPurpose
from gemel.common.keys.sealing import seal
from gemel.common.parties import Side
from gemel.common.wire import granted_variables
from gemel.common.wire.granted_variables import (
    DRAWS,
    ID,
    LINKS,
    VALUES,
    Expected,
    VariablesContext,
    open_variables,
    padded_bytes,
    seal_variables,
)
from tests.carole.refusals import refusal
from tests.vectors.make_formats import ALICE, BOB, DIGEST, READER, RENEWED_READER, RUN

ABOUT = VariablesContext("golden", RUN, Side.ALICE, DIGEST, "bob")
IDS = [f"{number:016x}" for number in (3, 7, 11)]
VALUES_SENT = pl.DataFrame({ID: IDS, "income": ["3100", None, "900"], "region": ["north", "south", "north"]})
LINKS_SENT = pl.DataFrame({"link_id": IDS, "link_probability": [0.9, 0.8, 1.0]})
EXPECTED = Expected(("income", "region"), pl.Series(ID, IDS))
TO_ANALYST = Expected(("income", "region"), None, (LINKS,))


def sent(
    tables: dict[str, pl.DataFrame] | None = None, about: VariablesContext = ABOUT, identity: Any = ALICE
) -> bytes:
    return b"".join(seal_variables(identity, RENEWED_READER.public, about, tables or {VALUES: VALUES_SENT}))


def opened(sealed: bytes, about: VariablesContext = ABOUT, expected: Expected = EXPECTED) -> dict[str, pl.DataFrame]:
    return open_variables(RENEWED_READER, ALICE.public, about, [sealed], expected)


def refused(code: ErrorCode, sealed: bytes, about: VariablesContext = ABOUT, expected: Expected = EXPECTED) -> str:
    with refusal(code) as caught:
        opened(sealed, about, expected)
    assert not any(value in str(caught.value) for value in ("3100", "north", IDS[0]))
    return str(caught.value)


def test_what_is_sent_arrives() -> None:
    assert opened(sent())[VALUES].equals(VALUES_SENT)
    drawn = pl.DataFrame({"pair_id": IDS[:1], "link_probability": [0.4], "draw": pl.Series([2], dtype=pl.UInt32)})
    tables = {VALUES: VALUES_SENT, LINKS: LINKS_SENT, DRAWS: drawn}
    found = opened(sent(tables), expected=Expected(EXPECTED.columns, None, (LINKS, DRAWS)))
    assert found.keys() == tables.keys()
    assert all(found[name].equals(table) for name, table in tables.items())


def test_the_order_of_rows_and_the_name_of_values_do_not_show_in_its_length() -> None:
    longer = VALUES_SENT.with_columns(region=pl.lit("a region of a longer name"))
    assert len(sent()) == len(sent({VALUES: longer}))


@given(st.integers(1, 1 << 44))
def test_padding_has_few_lengths_and_costs_little(size: int) -> None:
    padded = padded_bytes(size)
    assert padded >= max(size, 4096)
    assert padded_bytes(padded) == padded
    if size > 4096:
        assert padded - size < size / 8
        assert padded.bit_count() <= padded.bit_length().bit_length() + 1


def test_of_another_recipient_run_project_sender_or_specification_it_does_not_open() -> None:
    for other in ({"recipient": "institute"}, {"run": "0" * 32}, {"project": "other"}):
        assert "does not open" in refused(ErrorCode.SEALED, sent(), replace(ABOUT, **other))
    for signed in ({"sender": Side.BOB}, {"specification": bytes(32)}):
        assert "not signed by" in refused(ErrorCode.SIGNATURE, sent(), replace(ABOUT, **signed))


def test_a_message_of_another_signer_or_to_another_key_is_refused() -> None:
    refused(ErrorCode.SIGNATURE, sent(identity=BOB))
    other = b"".join(seal_variables(ALICE, READER.public, ABOUT, {VALUES: VALUES_SENT}))
    with refusal(ErrorCode.SEALED):
        open_variables(replace(RENEWED_READER, before=None), ALICE.public, ABOUT, [other], EXPECTED)


def test_a_cut_or_changed_message_is_refused() -> None:
    whole = sent()
    for broken in (whole[:-1], whole[: len(whole) // 2], whole + b"x", whole[:-20] + bytes(20)):
        refused(ErrorCode.SEALED, broken)


def raw(content: bytes) -> bytes:
    """A message whose content its custodian has signed, whatever it is."""
    head = b"gemel variables 1\n" + ALICE.sign(SigningPurpose.VARIABLES, *ABOUT.parts(content))
    head += len(content).to_bytes(8, "big")
    padding = bytes(padded_bytes(len(head) + len(content)) - len(head) - len(content))
    return b"".join(seal(RENEWED_READER.public, ABOUT.sealing, [head, content, padding]))


def archive(tables: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", compression) as packed:
        for name, table in tables.items():
            packed.writestr(name, table)
    return content.getvalue()


@pytest.mark.parametrize(
    "table",
    [
        VALUES_SENT.head(2),
        pl.concat([VALUES_SENT, VALUES_SENT.head(1)]),
        pl.concat([VALUES_SENT.head(2), VALUES_SENT.head(1)]),
        VALUES_SENT.with_columns(pl.Series(ID, [*IDS[:2], "f" * 16])),
        VALUES_SENT.with_columns(pl.Series(ID, [*IDS[:2], "no id"])),
        VALUES_SENT.with_columns(pl.Series(ID, [*IDS[:2], None])),
        VALUES_SENT.drop("region"),
        VALUES_SENT.with_columns(diagnosis=pl.lit("x")),
        VALUES_SENT.select(ID, "region", "income"),
        VALUES_SENT.with_columns(pl.col("income").cast(pl.Int64)),
    ],
    ids=["fewer", "more", "repeated", "stranger", "no id", "null", "missing", "further", "order", "type"],
)
def test_signed_values_of_other_records_or_columns_are_refused(table: pl.DataFrame) -> None:
    refused(ErrorCode.UPLOAD_CORRUPT, sent({VALUES: table}))


def test_signed_content_of_another_form_is_refused() -> None:
    content = io.BytesIO()
    VALUES_SENT.write_parquet(content)
    good = content.getvalue()
    for bad in (
        b"",
        b"no archive",
        archive({}),
        archive({"values.parquet": b"no table"}),
        archive({"values.parquet": good, "more.parquet": good}),
        archive({"values.parquet": good}, zipfile.ZIP_DEFLATED),
    ):
        refused(ErrorCode.UPLOAD_CORRUPT, raw(bad))
    assert opened(raw(archive({"values.parquet": good})))[VALUES].equals(VALUES_SENT), "the control"


def test_a_message_of_another_length_than_its_own_is_refused() -> None:
    for content in (b"", b"gemel variables 1\n", b"gemel variables 1\n" + bytes(4096), bytes(4096)):
        sealed = b"".join(seal(RENEWED_READER.public, ABOUT.sealing, [content]))
        refused(ErrorCode.UPLOAD_CORRUPT, sealed)


def test_an_analyst_refuses_values_without_their_links_and_probabilities_that_are_none() -> None:
    tables = {VALUES: VALUES_SENT, LINKS: LINKS_SENT}
    assert opened(sent(tables), expected=TO_ANALYST)[LINKS].equals(LINKS_SENT)
    for bad in (
        LINKS_SENT.head(2),
        LINKS_SENT.with_columns(link_probability=pl.Series([0.9, 0.8, 1.5])),
        LINKS_SENT.with_columns(link_probability=pl.Series([0.9, None, 1.0])),
    ):
        refused(ErrorCode.UPLOAD_CORRUPT, sent({**tables, LINKS: bad}), expected=TO_ANALYST)
    refused(ErrorCode.UPLOAD_CORRUPT, sent(), expected=TO_ANALYST)
    refused(ErrorCode.UPLOAD_CORRUPT, sent(tables))


def test_more_rows_than_links_are_refused_before_they_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(granted_variables, "MAX_ROWS", 2)
    assert "3 rows" in refused(
        ErrorCode.UPLOAD_CORRUPT, sent({VALUES: VALUES_SENT, LINKS: LINKS_SENT}), expected=TO_ANALYST
    )
