"""Each recipient's share of a result: what the specification grants it, and nothing more.

A custodian's share is an uncompressed zip of ``links.parquet`` (its own row in its own upload, an id of the link that
both custodians have, the link probability as the mean of a class, or to the last digit where that is granted), with the
grant ``pairs`` also of ``pairs.parquet`` (every pair that was kept), with the grant ``draws`` of ``draws.parquet`` (the
links of each drawn linkage), of ``copies.parquet`` where records of its own counted as one person (row, id of the
person), and of ``statistics.json``; where the specification grants it also of ``joint.json``, in codes. Ids are random,
and rows are in the order of the custodian's own upload, so that neither discloses anything about the other's rows. The
share is sealed to its recipient before it is written to disk.

In mode block_keyed Carole does not see the pairs. The place of the tables is taken by ``resolved.bin``, which the
resolver has sealed to the recipient (`common.wire.resolved_share`), and ``rows.bin``, the request for handles that
gives its pairs their rows.

Under the assignment clusters the id of a link is that of its entity, and a record has one line in ``links.parquet``,
with the probability of its most probable pair: how many records the other file has of the person does not show.
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

import numpy as np
import polars as pl
from numpy.typing import NDArray

from gemel.carole.engine.resolution.padded import ShownPairs, shown_pairs
from gemel.carole.engine.run.result import Linkage
from gemel.carole.fellegi_sunter.linkage_draws import DrawnLinks
from gemel.common.documents.statistics_document import StatisticsDocument
from gemel.common.keys.sealing import SealContext, seal
from gemel.common.parties import Role, Side
from gemel.common.pki.members import Members
from gemel.common.specification import Specification
from gemel.common.wire.chunks import rechunked
from gemel.risk.models import JointDistribution

_ID_BYTES = 8


def shares(
    spec: Specification,
    run: str,
    linkage: Linkage,
    document: StatisticsDocument,
    members: Members,
    joint: Mapping[Side, bytes] = MappingProxyType({}),
) -> dict[str, Iterable[bytes]]:
    """Every recipient's share, by role: sealed for a custodian, the plain statistics for the coordinator.

    Raises
    ------
    GemelError
        SEALED if sealing to a recipient's key fails; NOT_FOUND if a role has no member.
    """
    ids = _ids(linkage.pairs.weight.size)
    entity_ids = _ids(0 if linkage.entities is None else linkage.entities.n)
    files: dict[Side, dict[str, bytes]] = {}
    for side in Side:
        shown = shown_pairs(linkage, spec.release, side)
        tables = {} if shown is None else _tables(linkage, shown, side, ids, entity_ids)
        files[side] = {f"{name}.parquet": _parquet(table) for name, table in tables.items()}
        if side in joint:
            files[side]["joint.json"] = joint[side]
    return _sealed(spec, run, document, members, files)


def relayed_shares(
    spec: Specification,
    run: str,
    resolved: Mapping[Side, bytes],
    rows: Mapping[Side, bytes],
    document: StatisticsDocument,
    members: Members,
    joint: Mapping[Side, bytes] = MappingProxyType({}),
) -> dict[str, Iterable[bytes]]:
    """The same in mode block_keyed, where the resolver has sealed what is shown of pairs."""
    files = {side: {"rows.bin": rows[side], "resolved.bin": sealed} for side, sealed in resolved.items()}
    for side, content in joint.items():
        files.setdefault(side, {})["joint.json"] = content
    return _sealed(spec, run, document, members, files)


def granted_joint(joint: JointDistribution | None, spec: Specification) -> dict[Side, bytes]:
    """The joint distribution in codes, for those to whom it is granted; it is stored nowhere else."""
    if joint is None:
        return {}
    content = joint.to_json().encode()
    return {side: content for side in Side if spec.release.joint_to(side)}


def _sealed(
    spec: Specification,
    run: str,
    document: StatisticsDocument,
    members: Members,
    files: Mapping[Side, Mapping[str, bytes]],
) -> dict[str, Iterable[bytes]]:
    statistics = json.dumps(document.plain(), allow_nan=False, sort_keys=True).encode()
    made: dict[str, Iterable[bytes]] = {}
    for side in Side:
        if getattr(spec.release, str(side)) == "nothing":
            continue
        member = members.in_role(side.role)
        content = _archive({**files.get(side, {}), "statistics.json": statistics})
        context = SealContext(spec.project, run, member.name, spec.suite)
        made[str(side.role)] = seal(member.sealing, context, rechunked([content]))
    if spec.release.coordinator != "nothing":
        made[str(Role.COORDINATOR)] = (statistics,)
    return made


def _tables(
    linkage: Linkage, shown: ShownPairs, side: Side, ids: NDArray[np.str_], entity_ids: NDArray[np.str_]
) -> dict[str, pl.DataFrame]:
    rows = (linkage.pairs.row_a if side is Side.ALICE else linkage.pairs.row_b)[shown.pair]
    own_ids = ids[shown.pair]
    pairs = pl.DataFrame(
        {
            "row": rows.astype(np.uint32),
            "pair_id": pl.Series(own_ids, dtype=pl.String),
            "link_probability": shown.probability,
            "linked": shown.linked,
        }
    ).sort("row", "pair_id")
    tables = {"links": pairs.filter("linked").drop("linked").rename({"pair_id": "link_id"})}
    if shown.draws is not None:
        tables["draws"] = _draws(shown.draws, shown, rows, own_ids)
    if shown.every:
        tables["pairs"] = pairs
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
    ranked = links.sort("link_probability", descending=True, maintain_order=True)
    one_each = ranked.unique("row", keep="first").drop("link_id").join(entities, on="row")
    return one_each.rename({"entity_id": "link_id"}).select(links.columns).sort("row")


def _copies(first: NDArray[np.integer]) -> pl.DataFrame:
    """The records of one file that counted as one, under a random id for each person."""
    persons, person, records = np.unique(first, return_inverse=True, return_counts=True)
    several = np.flatnonzero(records[person] > 1)
    ids = _ids(persons.size)[person[several]]
    return pl.DataFrame({"row": several.astype(np.uint32), "copy_id": pl.Series(ids, dtype=pl.String)})


def _draws(drawn: DrawnLinks, shown: ShownPairs, rows: NDArray[np.int32], ids: NDArray[np.str_]) -> pl.DataFrame:
    """A row for each link of each drawn linkage."""
    at = drawn.pair
    return pl.DataFrame(
        {
            "row": rows[at].astype(np.uint32),
            "pair_id": pl.Series(ids[at], dtype=pl.String),
            "draw": drawn.draw.astype(np.uint32),
            "link_probability": shown.probability[at],
        }
    ).sort("draw", "row", "pair_id")


def _parquet(table: pl.DataFrame) -> bytes:
    content = io.BytesIO()
    table.write_parquet(content)
    return content.getvalue()


def _archive(files: Mapping[str, bytes]) -> memoryview:
    content = io.BytesIO()
    # Stored, not compressed: the recipient then knows the memory it needs from the length.
    with zipfile.ZipFile(content, "w", zipfile.ZIP_STORED) as archive:
        for name, part in files.items():
            archive.writestr(name, part)
    return content.getbuffer()


def _ids(count: int) -> NDArray[np.str_]:
    """Distinct random ids of 16 hexadecimal digits."""
    while True:
        digits = secrets.token_bytes(count * _ID_BYTES).hex()
        width = 2 * _ID_BYTES
        ids = np.array([digits[i * width : (i + 1) * width] for i in range(count)], dtype=f"U{width}")
        if np.unique(ids).size == count:
            return ids
