"""The estimate of a specification for files of a size, as `gemel spec draft` and `gemel spec check` print it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from pydantic import ValidationError

from gemel.carole.configuration import LimitsConfiguration
from gemel.carole.engine.run.resources import mebibytes
from gemel.common.errors import ErrorCode, GemelError, GemelErrors, parameter
from gemel.common.parties import Role, Side
from gemel.common.pki.members import Members
from gemel.common.pki.sealing_suites import APPROVED_RENEWAL, sealed_to, sealing_keys_of_another_suite
from gemel.common.specification import Specification
from gemel.coordinator.client.terminal import console, show_form
from gemel.coordinator.draft.grown_file import grown
from gemel.coordinator.estimate.custodian_cost import CustodianCost, counted_tokens, custodian_cost, typical_tokens
from gemel.coordinator.estimate.linkage_cost import LinkageCost, RulePairs, candidate_pairs, linkage_cost
from gemel.custodian.cleaning.columns import clean
from gemel.custodian.encoding.expected_layout import bounded_counts, file_counts
from gemel.records.csv_form import CsvOptions
from gemel.records.registry import file_source, read_source

SHORTER = "use shorter signatures (`bits`), fewer rules or fewer fields"


def carole_limits(memory: str, max_upload: str, max_rows: int) -> LimitsConfiguration:
    """The limits of Carole's configuration that concern a specification; PARAMETER for one that she would not take."""
    given = {"memory": memory, "max_upload": max_upload, "max_rows": max_rows}
    try:
        return LimitsConfiguration.model_validate(given)
    except ValidationError as error:
        key = str(error.errors()[0]["loc"][0])
        what = "this is no limit of Carole's"
        remedy = "write sizes as 512MiB or 3GiB, and at least one row"
        raise parameter(f"--{key.replace('_', '-')}", what, str(given[key])[:40], remedy) from None


def exceeded(
    custodians: Sequence[CustodianCost], linkage: LinkageCost, spec: Specification, limits: LimitsConfiguration
) -> Iterator[GemelError]:
    """An error for each limit that the estimate is above."""
    for each in custodians:
        where = f"{each.side}'s contribution"
        rows = max(each.records, *each.layout.rule_rows.values())
        if rows > limits.max_rows:
            what = f"Carole takes at most {limits.max_rows:,} rows of a file, and refuses it after it was signed"
            remedy = f"have her raise limits.max_rows to {rows} or more, or link parts of the files"
            yield GemelError(ErrorCode.UPLOAD_LIMIT, what, where=where, got=f"{rows:,} rows", remedy=remedy)
        if each.upload > limits.max_upload_bytes:
            what = f"Carole takes at most {mebibytes(limits.max_upload_bytes)}, and refuses it after it was signed"
            got = f"{'' if each.counted else 'up to '}{mebibytes(each.upload)}"
            remedy = f"have her raise limits.max_upload to {_raised(each.upload)}, or {SHORTER}"
            yield GemelError(ErrorCode.UPLOAD_LIMIT, what, where=where, got=got, remedy=remedy)
    if linkage.minimum > limits.worker_bytes:
        yield GemelError(
            ErrorCode.MEMORY,
            f"Carole grants a run {mebibytes(limits.worker_bytes)}",
            where="the linkage",
            got=f"a need of {mebibytes(linkage.minimum)}",
            remedy=f"have her raise limits.memory to {_raised(linkage.minimum)}, or {SHORTER}"
            + ("" if spec.in_blocks else "; mode block_keyed takes a part of the files at a time"),
        )
    if spec.in_blocks:  # in mode open such a block is split or left out, with a warning
        for found, rule in zip(linkage.rules, spec.keyed_rules, strict=False):
            if found.largest > rule.limit:
                what = f"a block may have at most {rule.limit:,} pairs"
                remedy = "block more finely, name a field to split the rule by, or raise its limit"
                yield parameter(f"blocking.{rule.name}", what, f"one of {found.largest:,}", remedy)


def refuse_exceeded(errors: Sequence[GemelError]) -> None:
    """Raise the errors, if there are any, as one."""
    if len(errors) == 1:
        raise errors[0]
    if errors:
        raise GemelErrors(errors[0].code, list(errors))


def _raised(n_bytes: int) -> str:
    """A size that a configuration can have, which holds so many bytes."""
    return f"{-(-n_bytes // 2**20)}MiB" if n_bytes <= 2**30 else f"{-(-n_bytes * 10 // 2**30) / 10:g}GiB"


Columns = Mapping[str, pl.Series]
"""Cleaned values by field."""
GROWN = 300_000
"""Records up to which a sample is grown; above them what was counted is scaled."""


@dataclass(frozen=True)
class Estimate:
    specification: Specification
    custodians: tuple[CustodianCost, ...]
    linkage: LinkageCost
    exceeded: tuple[GemelError, ...]

    @property
    def lines(self) -> Iterator[str]:
        counted = all(each.counted for each in self.custodians)
        records = " and ".join(f"{each.records:,}" for each in self.custodians)
        yield f"Estimate for files of {records} records{'' if counted else ', upper bounds'}; seconds of one core:"
        for each in self.custodians:
            per_record = each.upload / max(1, each.records)
            yield (
                f"  {str(each.side).title():<7} sends {_size(each.upload)}, {per_record:,.0f} bytes"
                f" a record, of {each.rows:,} rows; signs for {_time(each.seconds)}; memory {_size(each.memory)}"
            )
        made = self.linkage
        yield (
            f"  Carole  stores {_size(made.stored)}; limits.memory {_size(made.minimum)} at least,"
            f" {_size(made.maximum)} at most; memory of her worker {_size(made.process)}"
        )
        yield from self._computing()
        if made.pairs is None or made.seconds is None:
            yield "          candidate pairs and seconds of linking: give --alice and --bob, the files or samples"
            return
        compared = f"all {made.pairs:,} pairs"
        if made.rules:
            listed = ", ".join(f"{rule.rule} {rule.pairs:,}" for rule in made.rules)
            compared = f"{made.pairs:,} candidate pairs ({listed})"
        yield f"          compares {compared}; links in at most {_time(made.seconds)}"

    def _computing(self) -> Iterator[str]:
        made = self.linkage.computing
        if made is None:
            return
        names = f"Carole, {self.specification.compute.coordinator} and {self.specification.compute.steward}"
        gates = ", ".join(f"{rule} {number:,}" for rule, number in made.pair_gates.items())
        yield f"  Each of {names} computes on shares: gates of a pair by rule: {gates}"
        if made.gates is None or made.sent is None or made.seconds is None or made.memory is None:
            return
        yield (
            f"          {made.gates:.2g} gates in all, those of {made.chance_pairs:,} random pairs with them; sends"
            f" {_size(made.sent)} and receives as much; computes for {_time(made.seconds)}; memory {_size(made.memory)}"
        )

    def document(self) -> dict[str, Any]:
        custodians = {
            str(each.side): {
                "records": each.records,
                "rows": each.rows,
                "counted": each.counted,
                "upload_bytes": each.upload,
                "seconds": each.seconds,
                "memory_bytes": each.memory,
            }
            for each in self.custodians
        }
        made = self.linkage
        carole = {
            "stored_bytes": made.stored,
            "memory_minimum_bytes": made.minimum,
            "memory_maximum_bytes": made.maximum,
            "process_bytes": made.process,
            "pairs": made.pairs,
            "pairs_by_rule": {str(rule.rule): rule.pairs for rule in made.rules},
            "seconds": made.seconds,
        }
        computing = None if made.computing is None else asdict(made.computing)
        return {
            "custodians": custodians,
            "carole": carole,
            "computing": computing,
            "exceeded": [str(error) for error in self.exceeded],
        }


def estimate_of_size(spec: Specification, rows: int, limits: LimitsConfiguration) -> Estimate:
    """For any two files of so many records: upper bounds."""
    counts, tokens = bounded_counts(rows, spec), typical_tokens(spec)
    custodians = tuple(custodian_cost(counts, tokens, spec, side) for side in Side)
    return _estimate(spec, custodians, (), limits)


def estimate_of_files(
    spec: Specification, files: Mapping[Side, Columns], limits: LimitsConfiguration, rows: int = 0, seed: int = 1
) -> Estimate:
    """For two files of cleaned values, or for files that grow to `rows` records, of which they are samples.

    A sample is grown as the leakage gate's is, which neither knows the people in both files nor new values in common;
    so with `rows` a pair for each record and rule is added, its match.
    """
    rng = np.random.default_rng(seed)
    sizes = {side: len(next(iter(columns.values()))) for side, columns in files.items()}
    requested = {side: max(size, rows) for side, size in sizes.items()}
    measured = {side: grown(columns, min(rows, GROWN), rng) for side, columns in files.items()}
    custodians = []
    for side, columns in measured.items():
        counts = file_counts(columns, spec).of_size(requested[side])
        custodians.append(custodian_cost(counts, counted_tokens(files[side], spec), spec, side))
    rules: tuple[RulePairs, ...] = ()
    if spec.keyed_rules:
        factors = [requested[side] / len(next(iter(columns.values()))) for side, columns in measured.items()]
        found = candidate_pairs(measured[Side.ALICE], measured[Side.BOB], spec)
        rules = tuple(rule.of_size(factors[0], factors[1]) for rule in found)
        if rows > min(sizes.values()):
            matches = min(requested.values())
            rules = tuple(RulePairs(rule.rule, rule.pairs + matches, rule.largest) for rule in rules)
    return _estimate(spec, tuple(custodians), rules, limits)


def _estimate(
    spec: Specification,
    custodians: tuple[CustodianCost, ...],
    rules: tuple[RulePairs, ...],
    limits: LimitsConfiguration,
) -> Estimate:
    linkage = linkage_cost(custodians, spec, rules)
    return Estimate(spec, custodians, linkage, tuple(exceeded(custodians, linkage, spec, limits)))


def _size(n_bytes: int) -> str:
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if n_bytes >= size:
            return f"{n_bytes / size:.{1 if n_bytes < 100 * size else 0}f} {unit}"
    return f"{n_bytes} bytes"


def _time(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s" if seconds >= 1 else "less than a second"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


Frames = tuple[pl.DataFrame, pl.DataFrame]
"""Alice's and Bob's file."""


def both_files(
    alice: Path | None, bob: Path | None, encoding: Sequence[str] | None, separator: Sequence[str] | None
) -> Frames:
    """Both files, whose form is shown where it is unusual."""
    if alice is None or bob is None:
        remedy = "give both, or only --rows"
        raise parameter("--alice" if alice is None else "--bob", "pairs are counted in two files", "none", remedy)
    forms = CsvOptions.of_files(list(encoding or []), list(separator or []))
    sources = [file_source(path, form) for path, form in zip((alice, bob), forms, strict=True)]
    show_form(*sources)
    left, right = (read_source(source, None).frame for source in sources)
    return left, right


def cleaned_columns(spec: Specification, frames: Frames) -> dict[Side, Mapping[str, pl.Series]]:
    return {side: clean(frame, spec, side).columns for side, frame in zip(Side, frames, strict=True)}


def show_estimate(estimate: Estimate, *, refuse: bool = True) -> None:
    for line in estimate.lines:
        console.print(line, highlight=False, markup=False, soft_wrap=True)
    if refuse:
        refuse_exceeded(estimate.exceeded)


def lacking_members(spec: Specification, members: Members) -> list[str]:
    """What the membership list lacks for a specification; Carole refuses to create its project then."""
    warnings = [
        f"WARNING: cryptography: approved, and the sealing key of {name} is of the default suite: Carole refuses the"
        f" project. Have it {APPROVED_RENEWAL}."
        for name in sealing_keys_of_another_suite(spec.suite, sealed_to(spec, members))
    ]
    if spec.mode == "shared":
        computing = ((Role.COORDINATOR, spec.compute.coordinator), (Role.STEWARD, spec.compute.steward))
        warnings += [
            f"WARNING: compute.{role}: the membership list has no {role} of the name {name}: no run of mode shared"
            " could be made. Make it a member, or name another."
            for role, name in computing
            if name not in {member.name for member in members.with_role(role)}
        ]
    stewards = len(members.with_role(Role.STEWARD))
    signatures = 1 if spec.assessment is None else spec.assessment.signatures
    if 1 < signatures > stewards:
        warnings.append(
            f"WARNING: assessment.signatures: {signatures} stewards must sign, and the membership list has {stewards}:"
            " Carole refuses the project. Make another steward a member, or set `signatures: 1`."
        )
    return warnings
