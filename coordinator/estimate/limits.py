"""The limits that would refuse a specification for files of a size, and what to do about each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pydantic import ValidationError

from gemel.carole.configuration import LimitsConfiguration
from gemel.carole.engine.run.resources import mebibytes
from gemel.common.errors import ErrorCode, GemelError, GemelErrors, parameter
from gemel.common.specification import Specification
from gemel.coordinator.estimate.custodian_cost import CustodianCost
from gemel.coordinator.estimate.linkage_cost import LinkageCost

SHORTER = "use shorter signatures (`bits`), fewer rules or fewer fields"


@dataclass(frozen=True)
class CaroleLimits:
    """The limits of Carole's configuration that concern a specification: sizes as she writes them."""

    memory: str = LimitsConfiguration.model_fields["memory"].default
    max_upload: str = LimitsConfiguration.model_fields["max_upload"].default
    max_rows: int = LimitsConfiguration.model_fields["max_rows"].default

    def configuration(self) -> LimitsConfiguration:
        """As she reads them.

        Raises
        ------
        GemelError
            PARAMETER for one that she would not take.
        """
        try:
            return LimitsConfiguration(memory=self.memory, max_upload=self.max_upload, max_rows=self.max_rows)
        except ValidationError as error:
            key = str(error.errors()[0]["loc"][0])
            raise parameter(
                f"--{key.replace('_', '-')}",
                "this is no limit of Carole's",
                str(getattr(self, key))[:40],
                "write sizes as 512MiB or 3GiB, and at least one row",
            ) from None


def exceeded(
    custodians: Sequence[CustodianCost], linkage: LinkageCost, spec: Specification, limits: CaroleLimits
) -> Iterator[GemelError]:
    """An error for each limit that the estimate is above."""
    granted = limits.configuration()
    for each in custodians:
        where = f"{each.side}'s contribution"
        rows = max(each.records, *each.layout.rule_rows.values())
        if rows > granted.max_rows:
            yield GemelError(
                ErrorCode.UPLOAD_LIMIT,
                f"Carole takes at most {granted.max_rows:,} rows of a file, and refuses it after it was signed",
                where=where,
                got=f"{rows:,} rows",
                remedy=f"have her raise limits.max_rows to {rows} or more, or link parts of the files",
            )
        if each.upload > granted.max_upload_bytes:
            yield GemelError(
                ErrorCode.UPLOAD_LIMIT,
                f"Carole takes at most {mebibytes(granted.max_upload_bytes)}, and refuses it after it was signed",
                where=where,
                got=f"{'' if each.counted else 'up to '}{mebibytes(each.upload)}",
                remedy=f"have her raise limits.max_upload to {_raised(each.upload)}, or {SHORTER}",
            )
    if linkage.minimum > granted.worker_bytes:
        yield GemelError(
            ErrorCode.MEMORY,
            f"Carole grants a run {mebibytes(granted.worker_bytes)}",
            where="the linkage",
            got=f"a need of {mebibytes(linkage.minimum)}",
            remedy=f"have her raise limits.memory to {_raised(linkage.minimum)}, or {SHORTER}"
            + ("" if spec.in_blocks else "; mode block_keyed takes a part of the files at a time"),
        )
    if spec.in_blocks:  # in mode open such a block is split or left out, with a warning
        for found, rule in zip(linkage.rules, spec.keyed_rules, strict=False):
            if found.largest > rule.limit:
                yield parameter(
                    f"blocking.{rule.name}",
                    f"a block may have at most {rule.limit:,} pairs",
                    f"one of {found.largest:,}",
                    "block more finely, name a field to split the rule by, or raise its limit",
                )


def refuse_exceeded(errors: Sequence[GemelError]) -> None:
    """Raise the errors, if there are any, as one."""
    if len(errors) == 1:
        raise errors[0]
    if errors:
        raise GemelErrors(errors[0].code, list(errors))


def _raised(n_bytes: int) -> str:
    """A size that a configuration can have, which holds so many bytes."""
    return f"{-(-n_bytes // 2**20)}MiB" if n_bytes <= 2**30 else f"{-(-n_bytes * 10 // 2**30) / 10:g}GiB"
