"""The sizes of a contribution, known before any data arrives, and their bounds.

In mode block_keyed the variables' codes have a set of their own, `CODES`, with a row for every record and codes
only: beside a signature they would join a record's rows across rules. In every mode the sets of `KNOWN` come last,
where the specification names files of training records or of a known joint distribution: codes only, of no record of
the file.

In mode shared the sets of rows and samples are as in block_keyed, and each has, in the place of its fields and tags,
one array that Carole cannot read: a share of each row's words (`common.signatures.row_words`), sealed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import Side
from gemel.common.signatures.intervals import WHOLE, Interval
from gemel.common.signatures.row_words import RowWords
from gemel.common.specification import BlockingRule, Specification
from gemel.common.specification.model.blocking import MAX_KNOWN_ROWS, JointSpec, TrainingSpec
from gemel.common.specification.model.content import SpecificationContent

Content = Literal["signatures", "values", "fixed", "shared", "withheld"]
"""The content of a field: keyed signatures; in trusted mode the values; or nothing, where the key of a set's blocks has
the whole value, which is therefore equal wherever rows are compared. In mode shared its signatures are in the words of
the rows, or nothing is there because the rule withholds it."""

WORD_BITS = 64
MIN_BITS = 64
MAX_BITS = 8192
MAX_ROWS = 2**31 - 1
MAX_SETS = 1 << 14
MAX_FIELDS = 256
MAX_RULES = 64
MAX_VARIABLES = 64
MAX_CATEGORIES = 1000

SAMPLES = "+samples"
"""Name of the set of samples among the sets of mode block_keyed, where others have their rule's; no rule can have it.
Its rows are in groups, see `custodian.encoding.samples`."""

CODES = "+codes"
"""Name of the set of codes among the sets of mode block_keyed, where others have their rule's; no rule can have it."""

TRAINING = "+training"
"""Name of the set of training records: the codes of other people, of both custodians' variables."""

JOINT = "+joint"
"""Name of the set of a known joint distribution: the codes of its cells, and what each counts."""

KNOWN = (TRAINING, JOINT)
"""Sets whose rows are no records of the file, in their order; any mode may have them."""

SEAL_BYTES = 16
"""Behind the sealed words of a set, what shows that they are unchanged."""

MAX_SEALED_BYTES = 2**36 - 64
"""What AES-256-GCM encrypts under one nonce."""

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
_ALIGNMENT = 8

GROUPS = 250
"""Groups of a sample: 256,000 random pairs with the other file's, 26 of which agree where one in 10,000 does."""

GROUP_ROWS = 32
"""Records in a group, as far as the file has them. The similarities of 100 are enough for a patient attack to read now
and then a whole group; fewer make fewer pairs of as many signatures."""


def group_rows(records: int) -> int:
    """Rows in each group of the sample of a file with so many records."""
    return min(records, GROUP_ROWS)


def sample_rows(records: int) -> int:
    """Rows of all groups of the sample of a file with so many records."""
    return GROUPS * group_rows(records)


@dataclass(frozen=True)
class FieldLayout:
    """Size of one field of a set: its name, bits per signature or value, their number, and the content."""

    name: str
    bits: int
    distinct: int
    content: Content = "signatures"


@dataclass(frozen=True)
class VariableLayout:
    """One category variable of a set: its name and its number of categories."""

    name: str
    categories: int


@dataclass(frozen=True)
class SetLayout:
    """Sizes of one set: its rule ("" in open mode, or `CODES`), rows, fields, rules with blocking keys, variables.

    In mode block_keyed the rows of a rule are in one set, or in several by the `interval` that their block is in.
    In mode shared `tags` are the other rules, for each of which a row has a shared tag; of a set without shares None.
    """

    rule: str
    rows: int
    fields: tuple[FieldLayout, ...]
    blocks: tuple[str, ...] = ()
    variables: tuple[VariableLayout, ...] = ()
    interval: Interval = WHOLE
    tags: tuple[str, ...] | None = None

    @property
    def is_shared(self) -> bool:
        return self.tags is not None

    @property
    def row_words(self) -> RowWords:
        fields = tuple((field.name, field.bits) for field in self.fields if field.content == "shared")
        return RowWords(fields, self.tags or ())

    @property
    def sealed_bytes(self) -> int:
        """Bytes of the share that is sent, which come last; 0 of a set without shares."""
        return self.rows * self.row_words.total * 8 + SEAL_BYTES if self.is_shared else 0

    @property
    def fields_bytes(self) -> int:
        sent = [field for field in self.fields if field.content in ("signatures", "values")]
        return sum(field.distinct * (field.bits // 8) for field in sent) + len(sent) * padded(self.rows * 4)

    @property
    def total_bytes(self) -> int:
        """Bytes of this set in the payload."""
        numbers = len(self.blocks) + (self.rule == JOINT)
        variables = len(self.variables) * padded(self.rows * 2)
        return self.fields_bytes + numbers * self.rows * 8 + variables + self.sealed_bytes

    def validate(self, records: int) -> None:
        """Raise `GemelError` (UPLOAD_LIMIT) unless a contribution, of so many records, may have such a set."""
        where, known = where_of(self.rule), self.rule in KNOWN
        codes = known or self.rule == CODES
        own = records > 0 and not codes and self.rule != SAMPLES  # rows of a rule
        if known:
            _limit(self.rows, 1, MAX_KNOWN_ROWS, "rows", where)
            _limit(len(self.variables), 1, MAX_VARIABLES, "variables", where)
        else:
            _limit(self.rows, records if codes else 0, records if codes else MAX_ROWS, "rows", where)
        _limit(len(self.fields), 0 if codes else 1, 0 if codes else MAX_FIELDS, "fields", where)
        _limit(len(self.blocks), 0, 0 if codes else MAX_RULES, "blocking rules", where)
        _limit(self.interval.of, 1, MAX_SETS if own else 1, "intervals", where)
        if self.interval.of & (self.interval.of - 1):
            raise _limits("the number of intervals must be a power of two", where, str(self.interval.of))
        _distinct_names([field.name for field in self.fields], where, "field")
        _distinct_names(self.blocks, where, "blocking rule")
        # Beside signatures of a block, codes that hold for the whole file would join rows that must stay separate.
        _limit(len(self.variables), 0, 0 if records and not codes else MAX_VARIABLES, "variables", where)
        _distinct_names([variable.name for variable in self.variables], where, "variable")
        for variable in self.variables:
            _limit(variable.categories, 2, MAX_CATEGORIES, "categories", f"{where}, variable {variable.name}")
        for field in self.fields:
            inside = f"{where}, field {field.name}"
            _limit(field.bits, MIN_BITS, MAX_BITS, "bits", inside, multiple=WORD_BITS)
            contents = ["shared"] if self.is_shared else ["signatures", "values"]
            contents += ["fixed", *(["withheld"] if self.is_shared else [])] if own else []
            if field.content not in contents:
                raise _limits(f"a field must hold {' or '.join(contents[:2])}", inside, "something else")
            distinct = self.rows if field.content in ("signatures", "values") else 0
            _limit(field.distinct, 0, distinct, "distinct signatures (no more than rows)", inside)
        if self.tags is not None:
            self._validate_shared(self.tags, where, own=own)

    def _validate_shared(self, tags: tuple[str, ...], where: str, *, own: bool) -> None:
        if not own and self.rule != SAMPLES:
            raise _limits("rows of a rule and samples are shared", where, "a share of something else")
        _limit(len(tags), 0, MAX_RULES if own else 0, "shared tags", where)
        _distinct_names(tags, where, "tag")
        if self.blocks != ((self.rule,) if own else ()) or self.rule in tags:
            raise _limits("a shared set has the digests of its own rule's blocks alone", where, "others")
        _limit(self.sealed_bytes, 0, MAX_SEALED_BYTES, "bytes of a share", where)


@dataclass(frozen=True)
class Layout:
    """Sizes of a whole contribution, enough to check and to read its payload.

    Examples
    --------
    >>> layout = Layout((SetLayout("", 3, (FieldLayout("surname", 128, 2),), ("born",)),))
    >>> layout.total_bytes                  # 2 signatures of 16, 3 codes of 4 padded to 16, 3 keys of 8
    72
    """

    sets: tuple[SetLayout, ...]
    records: int = 0
    """Records of the file in mode block_keyed, where no set has a row for each; otherwise 0. Where blocks are padded a
    set may have more rows than that."""

    @property
    def is_shared(self) -> bool:
        return any(part.is_shared for part in self.sets)

    @property
    def rule_rows(self) -> dict[str, int]:
        """Rows of each rule, in all of its intervals; of the other sets by their names."""
        rows: dict[str, int] = {}
        for part in self.sets:
            rows[part.rule] = rows.get(part.rule, 0) + part.rows
        return rows

    @property
    def total_bytes(self) -> int:
        return sum(part.total_bytes for part in self.sets)

    def validate(self) -> None:
        """Raise `GemelError` (UPLOAD_LIMIT) unless a contribution may have these names and sizes."""
        _limit(len(self.sets), 1, MAX_SETS, "signature sets", "layout")
        _limit(self.records, 0, MAX_ROWS, "records", "layout")
        reserved = (SAMPLES, CODES if self.records else "", *KNOWN)
        rules = [part.rule for part in self.sets if part.interval.number == 0]
        _limit(len(rules), 1, MAX_RULES, "signature sets for rules", "layout")
        _distinct_names(rules, "layout", "rule", reserved=reserved)
        _whole_rules(self.sets)
        _limit(sum(part.rows for part in self.sets), 0, MAX_ROWS, "rows in all sets", "layout")
        for part in self.sets:
            part.validate(self.records)
            if self.is_shared and not part.is_shared and part.rule not in (CODES, *KNOWN):
                raise _limits("all sets of rows are shared, or none", where_of(part.rule), "one that is not")


def _whole_rules(sets: Sequence[SetLayout]) -> None:
    """The sets of a rule follow each other, one for each interval."""
    expected, previous = 0, None
    for part in sets:
        where, (number, count) = where_of(part.rule), part.interval
        if number != expected or (number and (part.rule, count) != previous):
            raise _limits(f"interval {expected} of the rule before expected", where, f"interval {number} of {count}")
        expected, previous = (number + 1) % max(1, count), (part.rule, count)
    if expected:
        raise _limits("a set for each interval expected", where_of(sets[-1].rule), f"{expected} sets")


def where_of(rule: str) -> str:
    return f"signature set {rule}" if rule else "signature set"


def padded(size: int) -> int:
    """Bytes an array takes in the payload, its padding included."""
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def _distinct_names(names: Iterable[str], where: str, what: str, *, reserved: Sequence[str] = ()) -> None:
    seen: set[str] = set()
    for position, name in enumerate(names):
        # The name itself is not shown: it is the other side's text.
        if not (_NAME.fullmatch(name) or name in reserved):
            rule = f"a {what}'s name has 1 to 64 letters, digits, '_', '-' or '.'"
            raise _limits(rule, where, f"another name for {what} {position + 1}")
        if name in seen:
            raise _limits(f"each {what} may occur once", where, f"{what} {position + 1} again")
        seen.add(name)


def _limit(number: int, minimum: int, maximum: int, what: str, where: str, *, multiple: int = 1) -> None:
    if not minimum <= number <= maximum or number % multiple:
        unit = f", a multiple of {multiple}" if multiple > 1 else ""
        raise _limits(f"{minimum} to {maximum} {what} expected{unit}", where, str(number))


def _limits(what: str, where: str, got: str) -> GemelError:
    remedy = "make the contribution again from the agreed specification"
    return GemelError(ErrorCode.UPLOAD_LIMIT, what, where=where, got=got, remedy=remedy)


# The fields of which nothing is sent in the rows of a blocking rule, because its key already fixes them.
#
# In mode block_keyed rows are compared inside a block only. Where the rule's key has a field as a whole, all rows of a
# block have the same value of it, so that their signatures would be equal: a constant says as much, in no bytes.


def fixed_fields(rule: BlockingRule, spec: SpecificationContent) -> frozenset[str]:
    """The fields of a specification of mode block_keyed that a rule's key fixes.

    Not those that are also compared crosswise, for which signatures are needed; nor those with randomised response,
    whose agreement the noise hides in the other rules' rows: a pair is to count the same under every rule.
    """
    whole = {key.field for key in rule.keys if key.part is None and key.prefix is None}
    whole |= {rule.split} if rule.split else set()
    exchanged = {name for swap in spec.swaps for name in swap}
    noisy = {field.name for field in spec.fields if field.randomised_response}
    return frozenset(whole - exchanged - noisy)


KnownFile = TrainingSpec | JointSpec


def known_files(spec: Specification, side: Side | str) -> dict[str, KnownFile]:
    """The files of known values that one custodian has, by the name of their set, in the order of the sets."""
    if spec.latent is None:
        return {}
    named: tuple[KnownFile | None, ...] = (spec.latent.training, spec.latent.joint)
    return {
        rule: file for rule, file in zip(KNOWN, named, strict=True) if file is not None and Side(file.by) is Side(side)
    }


def known_layouts(spec: Specification, side: Side) -> tuple[SetLayout, ...]:
    """The sizes of the sets that one custodian makes of its files of known values; they follow from the specification.
    What Carole requires of them too: a file of another length is not the one that was named."""
    variables = tuple(VariableLayout(each.name, len(each.categories)) for each in spec.value_variables)
    return tuple(
        SetLayout(rule, file.records if isinstance(file, TrainingSpec) else file.cells, (), (), variables)
        for rule, file in known_files(spec, side).items()
    )
