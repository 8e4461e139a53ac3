"""k-anonymity, l-diversity and t-closeness as officers count them: how many records fall short, and the worst class.

The class of a record is the records that agree with it on the keys. Where missing values agree with everything classes
overlap, and a record's class is that of its own values; nothing else changes, so both meanings of missing have counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from gemel.common.errors import parameter
from gemel.risk.attribution.microdata import distances, diversities
from gemel.risk.identification.coding import Counts, agreeing, coded, tally
from gemel.risk.identification.key_file import KeyFile

KS = (2, 3, 5)
LS = (2, 3, 5)
_C = 2.0  # of recursive l-diversity
_ENTRIES = 2**25  # of the table of classes by sensitive levels


@dataclass(frozen=True, eq=False)
class SensitiveClasses:
    """The classes of a file with what they hold of a sensitive variable.

    `levels`: levels of the variable: numbers by size, otherwise texts in alphabetical order; a missing value is a last
    one; `sensitive` (int64, shape (n_cells, n_levels)): records that agree with each combination of the keys, by level;
    `whole` (int64, shape (n_levels,)): records of the file by level; `records` (int64, shape (n_cells,)): records whose
    class each is.
    """

    levels: tuple[str, ...]
    sensitive: Counts
    whole: Counts
    records: Counts


def k_anonymity(file: KeyFile) -> dict[int, int]:
    """Records whose combination of key values fewer than k records share, for each k; O(n)."""
    return {k: int((file.frequency < k).sum()) for k in KS}


def sensitive_classes(file: KeyFile, values: Any, name: str) -> SensitiveClasses:
    """Count a sensitive variable in the classes of a file.

    `values` (column of shape (n_records,)): the sensitive value of each record; a missing one is a level of its own.

    O(n_cells * n_levels); a variable with too many levels for that is refused.
    """
    levels, codes = coded(pl.Series("sensitive", values, strict=False).cast(pl.String), "level", float)
    if len(codes) != file.n_records:
        raise parameter(
            name,
            "a sensitive variable has one value for each record",
            f"{len(codes)} values for {file.n_records} records",
        )
    if len(file.cells) * len(levels) > _ENTRIES:
        raise parameter(
            name,
            "the sensitive variable has too many values for a table of classes by values",
            f"{len(levels):,} values in {len(file.cells):,} classes",
            "group its values",
        )
    table = np.zeros((len(file.cells), len(levels)), dtype=np.int64)
    np.add.at(table, (file.of_record, codes), 1)
    whole = table.sum(axis=0)
    if file.missing == "any":
        # Each level is a file of its own records: what agrees with each combination in it.
        for k in range(len(levels)):
            cells, counts, _ = tally(file.codes[codes == k], file.labels)
            table[:, k] = agreeing(file.cells, cells, counts, file.levels)
    return SensitiveClasses(levels, table, whole, np.bincount(file.of_record, minlength=len(file.cells)))


def diversity(groups: SensitiveClasses, *, ordered: bool = False) -> dict[str, Any]:
    """l-diversity and t-closeness of a file for one sensitive variable, ready for JSON.

    References
    ----------
    .. [1] Machanavajjhala et al., l-diversity: privacy beyond k-anonymity, 2006.
    .. [2] Li, Li and Venkatasubramanian, t-closeness, 2007.
    """
    distinct = diversities(groups.sensitive, "distinct")
    below = {el: int(groups.records[distinct < el].sum()) for el in LS}
    return {
        "levels": len(groups.levels),
        "l_distinct": float(distinct.min()),
        "l_entropy": float(diversities(groups.sensitive, "entropy").min()),
        "l_recursive": float(diversities(groups.sensitive, "recursive", _C).min()),
        "recursive_c": _C,
        "violations": _shares("l", below, int(groups.records.sum())),
        "t": float(distances(groups.sensitive, groups.whole).max()),
        "t_ordered": float(distances(groups.sensitive, groups.whole, ordered=True).max()) if ordered else None,
    }


def _shares(name: str, below: Mapping[int, int], records: int) -> list[dict[str, Any]]:
    return [{name: limit, "records": n, "share": n / records} for limit, n in below.items()]


def privacy_models_document(file: KeyFile, sensitive: Mapping[str, Any], ordinal: frozenset[str]) -> dict[str, Any]:
    return {
        "smallest_class": int(file.frequency.min()),
        "violations": _shares("k", k_anonymity(file), file.n_records),
        "sensitive": [
            {"variable": name, **diversity(sensitive_classes(file, values, name), ordered=name in ordinal)}
            for name, values in sensitive.items()
        ],
    }
