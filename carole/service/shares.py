"""Each recipient's share of a result: what the specification grants it, and nothing more.

A custodian's share is an uncompressed zip of ``links.parquet`` (its own row in its own upload, an id of the link that
both custodians have, the probabilities), with the grant ``pairs`` also of ``pairs.parquet`` (every pair that was
kept), with the grant ``draws`` of ``draws.parquet`` (the links of each drawn linkage), of ``copies.parquet`` where
records of its own counted as one person (row, id of the person), and of ``statistics.json``; where the specification
grants it also of ``joint.json``, in codes. Ids are random, and rows are in the order of the custodian's own upload, so
that neither discloses anything about the other's rows. The share is sealed to its recipient before it is written to
disk.

Under the assignment clusters the id of a link is that of its entity, and a record has one line in ``links.parquet``,
with the probabilities of its most probable pair: how many records the other file has of the person does not show.
``entities.parquet`` (row, id of the entity) also has the custodian's own records that are of one person without a link;
a record alone is in neither.
"""

from __future__ import annotations

import io
import json
import secrets
import zipfile
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tryst.carole.engine.result import ScoredPairs
from tryst.carole.fellegi_sunter.entities import Entities
from tryst.carole.fellegi_sunter.link_posterior import Copies
from tryst.carole.fellegi_sunter.linkage_draws import DrawnLinks
from tryst.carole.projects import Grant
from tryst.common.documents.statistics_document import StatisticsDocument
from tryst.common.keys.sealing import SealContext, seal
from tryst.common.parties import Role, Side
from tryst.common.pki.members import Members
from tryst.common.wire.chunks import rechunked

_ID_BYTES = 8


class Decided(Protocol):
    """Pairs by rows of the two uploads, and which of them are links: a `Linkage`, or a `ResolutionResult`."""

    @property
    def pairs(self) -> ScoredPairs:
        """The pairs that were kept."""

    @property
    def links(self) -> NDArray[np.int64]:
        """Positions of the links among them."""

    @property
    def copies(self) -> Copies:
        """Of A and of B: of each record the first of its file that counted as the same person."""

    @property
    def draws(self) -> DrawnLinks | None:
        """Drawn linkages, where they are granted."""

    @property
    def entities(self) -> Entities | None:
        """Of the records of both files, under the assignment clusters."""


def shares(
    project: str,
    run: str,
    linkage: Decided,
    document: StatisticsDocument,
    grants: Mapping[Role, Grant],
    members: Members,
    joint: Mapping[Side, bytes] = MappingProxyType({}),
) -> dict[str, Iterable[bytes]]:
    """Every recipient's share, by role: sealed for a custodian, the plain statistics for the coordinator.

    Raises
    ------
    TrystError
        SEALED if sealing to a recipient's key fails; NOT_FOUND if a role has no member.
    """
    statistics = json.dumps(document.plain(), allow_nan=False, sort_keys=True).encode()
    ids = _ids(linkage.pairs.weight.size)
    entity_ids = _ids(0 if linkage.entities is None else linkage.entities.n)
    made: dict[str, Iterable[bytes]] = {}
    for side in Side:
        grant = grants.get(side.role, Grant.NOTHING)
        if grant is Grant.NOTHING:
            continue
        member = members.in_role(side.role)
        content = _archive(_tables(linkage, side, grant, ids, entity_ids), statistics, joint.get(side))
        made[str(side.role)] = seal(member.sealing, SealContext(project, run, member.name), rechunked([content]))
    if grants.get(Role.COORDINATOR, Grant.NOTHING) is not Grant.NOTHING:
        made[str(Role.COORDINATOR)] = (statistics,)
    return made


def _tables(
    linkage: Decided, side: Side, grant: Grant, ids: NDArray[np.str_], entity_ids: NDArray[np.str_]
) -> dict[str, pl.DataFrame]:
    if grant is Grant.STATISTICS:
        return {}
    pairs = linkage.pairs
    rows = pairs.row_a if side is Side.ALICE else pairs.row_b
    linked = np.zeros(rows.size, dtype=np.bool_)
    linked[linkage.links] = True
    kept = pl.DataFrame(
        {
            "row": rows.astype(np.uint32),
            "pair_id": pl.Series(ids, dtype=pl.String),
            "match_probability": pairs.match_probability,
            "link_probability": pairs.link_probability,
            "match_weight": pairs.weight,
            "linked": linked,
        }
    ).sort("row", "pair_id")
    tables = {"links": kept.filter("linked").drop("linked").rename({"pair_id": "link_id"})}
    if grant is Grant.PAIRS:
        tables["pairs"] = kept
    if grant is Grant.DRAWS and linkage.draws is not None:
        tables["draws"] = _draws(linkage.draws, pairs, rows, ids)
    if linkage.entities is not None:
        own, other = (linkage.entities.a, linkage.entities.b)[:: 1 if side is Side.ALICE else -1]
        entities = _entities(own, other, entity_ids)
        return {**tables, "links": _by_entity(tables["links"], entities), "entities": entities}
    copies = linkage.copies[0 if side is Side.ALICE else 1]
    return tables if copies is None else {**tables, "copies": _copies(copies)}


def _entities(own: NDArray[np.int64], other: NDArray[np.int64], ids: NDArray[np.str_]) -> pl.DataFrame:
    """The records of one file whose entity has another record, of either file."""
    together = (np.bincount(own, minlength=len(ids)) > 1) | (np.bincount(other, minlength=len(ids)) > 0)
    rows = np.flatnonzero(together[own])
    return pl.DataFrame({"row": rows.astype(np.uint32), "entity_id": pl.Series(ids[own[rows]], dtype=pl.String)})


def _by_entity(links: pl.DataFrame, entities: pl.DataFrame) -> pl.DataFrame:
    """A line for each linked record, that of its most probable pair, under the id of its entity."""
    ranked = links.sort(["link_probability", "match_weight"], descending=True, maintain_order=True)
    one_each = ranked.unique("row", keep="first").drop("link_id").join(entities, on="row")
    return one_each.rename({"entity_id": "link_id"}).select(links.columns).sort("row")


def _copies(first: NDArray[np.integer]) -> pl.DataFrame:
    """The records of one file that counted as one, under a random id for each person."""
    persons, person, records = np.unique(first, return_inverse=True, return_counts=True)
    several = np.flatnonzero(records[person] > 1)
    ids = _ids(persons.size)[person[several]]
    return pl.DataFrame({"row": several.astype(np.uint32), "copy_id": pl.Series(ids, dtype=pl.String)})


def _draws(drawn: DrawnLinks, pairs: ScoredPairs, rows: NDArray[np.int32], ids: NDArray[np.str_]) -> pl.DataFrame:
    """A row for each link of each drawn linkage."""
    at = drawn.pair
    return pl.DataFrame(
        {
            "row": rows[at].astype(np.uint32),
            "pair_id": pl.Series(ids[at], dtype=pl.String),
            "draw": drawn.draw.astype(np.uint32),
            "link_probability": pairs.link_probability[at],
        }
    ).sort("draw", "row", "pair_id")


def _archive(tables: Mapping[str, pl.DataFrame], statistics: bytes, joint: bytes | None) -> memoryview:
    content = io.BytesIO()
    # Stored, not compressed: the recipient then knows the memory it needs from the length.
    with zipfile.ZipFile(content, "w", zipfile.ZIP_STORED) as archive:
        for name, table in tables.items():
            parquet = io.BytesIO()
            table.write_parquet(parquet)
            archive.writestr(f"{name}.parquet", parquet.getvalue())
        archive.writestr("statistics.json", statistics)
        if joint is not None:
            archive.writestr("joint.json", joint)
    return content.getbuffer()


def _ids(count: int) -> NDArray[np.str_]:
    """Distinct random ids of 16 hexadecimal digits."""
    while True:
        digits = secrets.token_bytes(count * _ID_BYTES).hex()
        width = 2 * _ID_BYTES
        ids = np.array([digits[i * width : (i + 1) * width] for i in range(count)], dtype=f"U{width}")
        if np.unique(ids).size == count:
            return ids
