"""The specification of a linkage, `linkage.yaml`, as immutable typed objects.

Every section refuses keys it does not know and values of another type (`"1024"` is no number). What one value can
tell is checked here; what needs several values beside each other is checked in `checks`, which every construction
of a `Specification` runs, so that a `Specification` that exists is a valid one.

A field's `clean`, `tokens`, `bits` and `levels` come from its kind when they are not given (see `defaults`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BeforeValidator,
    Discriminator,
    Field,
    Tag,
    field_validator,
    model_validator,
)

from common.parties import Side
from common.specification.assessment import AssessmentSpec
from common.specification.categorisation import CommonCategory
from common.specification.checks import refuse_inconsistent
from common.specification.defaults import (
    KINDS,
    LEVELS,
    MAX_FIELDS,
    STEPS,
    Assignment,
    Comparator,
    DateOrder,
    DatePart,
    Kind,
    KindDefaults,
    LevelTable,
    Mode,
    Scheme,
    Step,
    Tokenisation,
)
from common.specification.latent import LatentSpec
from common.specification.leakage import LeakageSpec
from common.specification.padding import Padding
from common.specification.parts import BlockingKey
from common.specification.resolution import ResolutionSpec
from common.specification.section import ColumnName, Name, Section, Word
from common.specification.variables import VariableSpec
from common.specification.widening import halfway, widened

MAX_LISTED = 20_000
"""Most values of one `only_similar`; the whole specification holds some 25,000."""

PROJECT_PATTERN = r"^[a-z0-9][a-z0-9-]{0,63}$"


def _no_truth_value(value: object) -> object:
    # To Python, true equals 1.
    return str(value).lower() if isinstance(value, bool) else value


Bound = Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)]
Days = Annotated[int, Field(ge=1, le=3650)]


class Custodian(Section):
    """One of the two files and who holds it."""

    identifier: ColumnName
    """The column with the custodian's own identifier of a row. It never leaves the custodian in clear; the result
    is given back in it."""


class Custodians(Section):
    """The two custodians."""

    alice: Custodian
    """The holder of the first file."""
    bob: Custodian
    """The holder of the second file."""

    def of(self, side: Side) -> Custodian:
        """The custodian on one side."""
        return self.alice if side is Side.ALICE else self.bob


def _columns_tag(value: object) -> str:
    return "one" if isinstance(value, str) else "several"


OneOrSeveral = Annotated[
    Annotated[ColumnName, Tag("one")]
    | Annotated[tuple[ColumnName, ...], Field(strict=False, min_length=1, max_length=16), Tag("several")],
    Discriminator(_columns_tag),
]


class Columns(Section):
    """A field's column in each file, when the files name it differently."""

    alice: OneOrSeveral
    """Its name in Alice's file; or several, whose values are joined by a blank."""
    bob: OneOrSeveral
    """Its name in Bob's file; or several."""


class DateFormat(Section):
    """How a date field is written, and what of it is compared."""

    order: DateOrder
    """The order in which day, month and year are written. It is never guessed: 03/04/1965 is two different days."""
    parts: tuple[DatePart, ...] = Field(default=("year", "month", "day"), strict=False, min_length=1)
    """The parts compared; the others are ignored, as if they were not known."""

    @field_validator("parts")
    @classmethod
    def _sorted(cls, parts: tuple[DatePart, ...]) -> tuple[DatePart, ...]:
        if len(set(parts)) < len(parts):
            raise ValueError("the same part is named twice")
        order: tuple[DatePart, ...] = ("year", "month", "day")
        return tuple(part for part in order if part in parts)


def _levels_tag(value: object) -> str:
    return "table" if isinstance(value, str) else "bounds"


Levels = Annotated[
    Annotated[LevelTable, Tag("table")]
    | Annotated[tuple[Bound, ...], Field(strict=False, min_length=2, max_length=100), Tag("bounds")],
    Discriminator(_levels_tag),
]


def _of_kind(attribute: str) -> Any:
    """A default taken from the field's kind, which pydantic has validated before."""

    def default(validated: dict[str, Any]) -> Any:
        return getattr(KINDS[validated["kind"]], attribute)

    return default


class FieldSpec(Section):
    """A field on which the two files are compared."""

    name: Name
    """What the field is called here and on every screen."""
    kind: Kind
    """What it holds: name | text | date | number | code | category. The kind decides every default below."""
    column: OneOrSeveral | None = None
    """Its column in both files; or several, whose values are joined by a blank before they are cleaned: a street and
    its number, or a date's parts in its order. A row without a value in any of them has none. Default: the field's
    name."""
    columns: Columns | None = None
    """Its column in each file, when they differ."""
    categorisation: tuple[CommonCategory, ...] = Field(default=(), strict=False, max_length=1000)
    """For categories that the files code differently: what becomes of every value of either, a row for each category
    that both can be brought to. `tryst keyvars export` finds the finest."""
    clean: tuple[Step, ...] = Field(default_factory=_of_kind("clean"), strict=False)
    """The cleaning steps: unicode, case, accents, punctuation, stop_words, whitespace, alphanumeric, digits,
    leading_zeros. They run in this order, whatever order they are written in. Dates and numbers are parsed
    after them."""
    stop_words: tuple[Word, ...] = Field(default=(), strict=False, max_length=1000)
    """Words that say nothing, such as titles in a name or *street* in an address; dropped by the step stop_words.
    They are cleaned by the steps before it, and may be several words (*po box*)."""
    missing: tuple[Word, ...] = Field(default=(), strict=False, max_length=1000)
    """Values that mean *not known* in this field, besides the common ones (n/a, ?, ...)."""
    date: DateFormat | None = None
    """For dates only, and then required: the order they are written in."""
    tokens: Tokenisation = Field(default_factory=_of_kind("tokens"))
    """What a value is cut into; two values are as similar as the tokens they share. bigrams: pairs of neighbouring
    characters. positional_bigrams, positional_characters: with their place. date_parts: year, month and day. words:
    whole words. value: the value as a whole, equal or not."""
    bits: int = Field(default_factory=_of_kind("bits"), ge=64, le=8192, multiple_of=64)
    """Length of the signature. More bits tell similarities apart more finely (standard error 1/sqrt(bits) at
    most), and cost time and space."""
    flip: float = Field(default=0.0, ge=0, le=0.4, allow_inf_nan=False)
    """Probability with which each bit of a signature is flipped before it is sent, by noise of the custodian's own
    (randomised response): once for every distinct signature, and the same in every upload. It hides which values of the
    two files are exactly equal. It does not hide how often a value occurs, nor what it resembles, is not differential
    privacy, and costs linkage quality. 0: none; otherwise 0.001 to 0.4."""
    comparator: Comparator | None = None
    """In mode trusted: how two values are compared, jaro or jaro_winkler (which favours equal beginnings). Default:
    jaro. In mode open there is no choice: signatures tell the Jaccard similarity of the tokens."""
    levels: Levels = Field(default_factory=_of_kind("levels"))
    """Comparison levels: em8, em15, exact, or the upper bounds of one's own, each inclusive, ascending to 1. Where bits
    are flipped the tables are widened to what can be told apart; bounds of one's own are taken as they are."""
    missing_as: Literal["random", "level"] = "random"
    """What it says that a value is missing. random: nothing. level: as much as any other level, learnt from the data;
    for fields that one kind of people lack more often than another, in both files."""
    value_frequencies: bool = False
    """Whether agreement on a rare value counts for more than on a common one. Where several fields tell the same (a
    suburb and its postcode), for one of them only."""
    key_domain: Name = Field(default_factory=lambda validated: validated["name"])
    """Fields of one key domain are signed with the same keys, so that a given name can be compared with a surname.
    Default: the field's name, a domain of its own."""
    salt: BlockingKey | None = None
    """In mode open: a stable attribute of the record, such as `{field: date_of_birth, part: year}`. Values are equal or
    similar to Carole only where it is equal, and a record without it is sent without a value. Default: none."""
    only_similar: tuple[Word, ...] = Field(default=(), strict=False, max_length=MAX_LISTED)
    """A public list of the values that show how similar they are, cleaned as the field is. Any other value is sent as a
    code: equal to itself, like nothing. Default: all values show it."""

    @field_validator("clean")
    @classmethod
    def _in_running_order(cls, steps: tuple[Step, ...]) -> tuple[Step, ...]:
        if len(set(steps)) < len(steps):
            raise ValueError("the same step is named twice")
        return tuple(step for step in STEPS if step in steps)

    @field_validator("stop_words", "missing", "only_similar")
    @classmethod
    def _distinct(cls, words: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(words))

    @property
    def bounds(self) -> tuple[float, ...]:
        """Inclusive upper bounds of the comparison levels; the last is 1."""
        if not isinstance(self.levels, str):
            return self.levels
        return self.widened(LEVELS[self.levels]) if self.flip else LEVELS[self.levels]

    def widened(self, bounds: tuple[float, ...]) -> tuple[float, ...]:
        """Those of some bounds that the field's bits can tell apart."""
        if self.flip and self.tokens == "value":
            return (halfway(self.flip), 1.0)
        return widened(bounds, self.bits, self.flip)

    @property
    def defaults(self) -> KindDefaults:
        """What a field of this kind gets when the specification does not say."""
        return KINDS[self.kind]

    @property
    def missing_codes(self) -> tuple[str, ...]:
        """All missing-value codes: the common ones of the kind, then the field's own."""
        return tuple(dict.fromkeys(self.defaults.missing + self.missing))

    def columns_of(self, side: Side | str) -> tuple[str, ...]:
        """The field's columns in the file of one custodian: one, or several that are joined."""
        named: str | tuple[str, ...] = self.name if self.column is None else self.column
        if self.columns is not None:
            named = self.columns.alice if Side(side) is Side.ALICE else self.columns.bob
        return (named,) if isinstance(named, str) else named

    def column_of(self, side: Side | str) -> str:
        """The field's column in the file of one custodian, as people are told: several with a plus between them."""
        return " + ".join(self.columns_of(side))


Swap = Annotated[tuple[Name, Name], Field(strict=False)]


class Bands(Section):
    """Locality-sensitive hashing: rows whose signatures of a field agree in all bits of at least one band."""

    field: Name
    """The field."""
    bands: int = Field(default=20, ge=1, le=256)
    """How many bands; more of them lose fewer similar pairs."""
    bits: int = Field(default=16, ge=1, le=63)
    """Bits of a band; more of them let fewer chance pairs through. Values of similarity J (the share of bigrams in
    common) share one of b bands of r bits with probability 1 - (1 - ((1 + J)/2)^r)^b: with 20 bands of 16 bits
    nearly 1 at J = .9, .99 at .8, .43 at .6, .07 at .4, .0003 at 0. Where the field has `flip: f`, (1 - 2f)^2 J stands
    for J. bands times bits must fit into the field's bits."""

    def chance(self, jaccard: float, flip: float = 0.0) -> float:
        """Probability that two values of a similarity share a band, if each bit is flipped with probability `flip`."""
        return float(1 - (1 - ((1 + (1 - 2 * flip) ** 2 * jaccard) / 2) ** self.bits) ** self.bands)


class Canopies(Section):
    """Canopies: values picked at random and what is similar to them; rows whose values lie in a common canopy."""

    field: Name
    """The field."""
    loose: float = Field(default=0.5, ge=0, le=1, allow_inf_nan=False)
    """Values at least as similar to a picked one, as estimated from the signatures, belong to its canopy."""
    tight: float = Field(default=0.8, gt=0, le=1, allow_inf_nan=False)
    """Values at least as similar are picked no more. Not below `loose`."""


class SimilarValues(Section):
    """All rows whose values of a field are similar, found exactly by a multibit tree."""

    field: Name
    """The field."""
    least: float = Field(default=0.7, gt=0, le=1, allow_inf_nan=False)
    """Least similarity, as estimated from the signatures."""


class BlockingRule(Section):
    """Two rows are compared when they satisfy at least one rule. A rule is one of keys, lsh, canopies and similar; the
    custodians make the keys, Carole the others by herself from the signatures."""

    name: Name
    """What the rule is called on every screen."""
    keys: tuple[BlockingKey, ...] = Field(default=(), strict=False, max_length=8)
    """What rows must agree on."""
    lsh: Bands | None = None
    """Bands of signature bits, one of which rows must agree on."""
    canopies: Canopies | None = None
    """Canopies of a field's values, one of which rows must share."""
    similar: SimilarValues | None = None
    """How similar two rows must be in a field."""
    limit: int = Field(default=100_000_000, ge=1)
    """Most pairs of one block. A larger one is split or left to the other rules, and a warning tells its size."""
    split: Name | None = None
    """Field by whose equality blocks above the limit are split, for rules with keys. Default: they are not. In mode
    block_keyed it splits every block, so that nobody need be told which are large."""

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields it is made of, each once."""
        named = [key.field for key in self.keys]
        named += [part.field for part in (self.lsh, self.canopies, self.similar) if part is not None]
        return tuple(dict.fromkeys([*named, *([self.split] if self.split else [])]))


class ModelSpec(Section):
    """How the probabilities are estimated."""

    scheme: Scheme = "multinomial"
    """multinomial: every comparison level has its own m and u. exact: values agree or they do not, whatever their
    levels. lr_weighted, log_lr_weighted: estimated as exact, with the likelihood ratio, or its logarithm, shaded by
    similarity."""
    u: Literal["all_pairs", "corrected", "free"] = "corrected"
    """Chance agreement among non-matches: as in all pairs, corrected for the matches among them, or free (by EM)."""
    dependence: Literal["none", "pairwise", "decomposable"] = "decomposable"
    """Which fields may depend on each other, in matches and in other pairs each by itself: none; pairwise, a forest of
    pairs; decomposable, up to four fields at once. Which do is found from the data. The weighted schemes know none."""
    seed: int = Field(default=1, ge=0, lt=2**63)
    """Of the random numbers; the same seed gives the same run."""
    max_iterations: int = Field(default=500, ge=1, le=1_000_000)
    """EM stops here at the latest, and then says that it has not converged."""
    tolerance: float = Field(default=1e-8, gt=0, lt=1, allow_inf_nan=False)
    """EM has converged when no parameter moves by more."""
    expected_matches: int | None = Field(default=None, ge=1)
    """How many matches to start from; null: as many as the smaller file has rows."""


class Cost(Section):
    """What the two kinds of mistake cost; only their ratio matters."""

    false_link: float = Field(gt=0, allow_inf_nan=False)
    """Linking two records of different people."""
    missed_match: float = Field(gt=0, allow_inf_nan=False)
    """Not linking two records of one person."""

    @property
    def threshold(self) -> float:
        """Probability from which a link costs less, on average, than none."""
        return self.false_link / (self.false_link + self.missed_match)


class LinkSpec(Section):
    """Which pairs become links. There is one threshold, and no pile of doubtful pairs for people to look at."""

    assignment: Assignment = "one_to_one"
    """one_to_one: a row has at most one link, and the links are the best set of such. greedy: at most one link too, the
    most probable pair first, each pair judged by itself. many_to_one: a row of Alice's has at most one link, a row of
    Bob's may have several. none: every pair stands alone."""
    threshold: float | None = Field(default=None, gt=0, lt=1, allow_inf_nan=False)
    """Least match probability of a link. Default: 0.5, unless one of the next two is given; exactly one of the three
    holds."""
    false_link_rate: float | None = Field(default=None, gt=0, lt=1, allow_inf_nan=False)
    """Wanted share of false links: as many links as keep the expected share at or below this."""
    cost: Cost | None = None
    """The threshold at which the expected cost is least."""

    @model_validator(mode="before")
    @classmethod
    def _default_threshold(cls, data: object) -> object:
        if isinstance(data, Mapping) and all(data.get(key) is None for key in CRITERIA):
            return {**data, "threshold": 0.5}
        return data

    @model_validator(mode="after")
    def _one_criterion(self) -> Self:
        given = [key for key in CRITERIA if getattr(self, key) is not None]
        if len(given) > 1:
            raise ValueError(f"exactly one of {', '.join(CRITERIA)} decides, not {' and '.join(given)}")
        return self

    @property
    def least_probability(self) -> float | None:
        """Least match probability of a link, as far as it is known before the run."""
        return self.cost.threshold if self.cost is not None else self.threshold


CRITERIA = ("threshold", "false_link_rate", "cost")
"""What may decide how probable a link must be."""

Release = Literal["links", "pairs", "statistics", "nothing"]


class ReleaseSpec(Section):
    """Who receives what of the result."""

    assessment: Literal["none", "policy"] = "none"
    """policy: the combined output is assessed before the release and judged by the section `assessment`, which makes
    this the default; none: it is released without, and all parties sign that."""
    alice: Release = "links"
    """What Alice receives: the links of her own rows; pairs: also every pair that came near to a link, with its
    probabilities; statistics only; or nothing."""
    bob: Release = "links"
    """What Bob receives."""
    coordinator: Literal["statistics", "nothing"] = "statistics"
    """What the coordinator receives; never record-level data."""
    joint: Literal["nobody", "alice", "bob", "both"] = "nobody"
    """Who receives, with its share, the joint distribution that the latent step estimates. A custodian can put the
    labels in, and then infer what the other file likely holds of its own records."""

    def joint_to(self, side: Side | str) -> bool:
        """Whether a custodian receives the joint distribution."""
        return self.joint in ("both", str(Side(side)))


class Retention(Section):
    """After how many days what is kept is erased. There is no default: someone must have decided it."""

    uploads_days: Days
    """Signatures at the linkage unit."""
    results_days: Days
    """Results at the linkage unit."""
    maps_days: Days
    """The custodians' maps from row pseudonyms to their identifiers."""


class Specification(Section):
    """A linkage of two files, as all three parties approve it."""

    version: Annotated[Literal[1], BeforeValidator(_no_truth_value)]
    """Of this format."""
    project: Annotated[str, Field(pattern=PROJECT_PATTERN)]
    """The project's name: public, and salt of its keys."""
    mode: Mode
    """open: one key per field, so that the linkage unit can compare any two values of a field by their signatures.
    trusted: the cleaned values themselves are sent to the linkage unit, which compares them. block_keyed: a key per
    block of each blocking rule, so that it can compare two values inside a block only."""
    custodians: Custodians
    """The two files."""
    fields: tuple[FieldSpec, ...] = Field(strict=False, max_length=MAX_FIELDS)
    """The compared fields."""
    blocking: tuple[BlockingRule, ...] = Field(default=(), strict=False)
    """Rules that choose the pairs to compare; none: every pair is compared."""
    padding: Padding | None = None
    """In mode block_keyed: dummy rows bring every block up to the next power of two of rows (powers_of_two), or to the
    next multiple of a number (20), so that the linkage unit does not see how many a block truly has. Default: none."""
    swaps: tuple[Swap, ...] = Field(default=(), strict=False)
    """Pairs of fields whose values may be exchanged, such as `[[given_name, surname]]`. They are compared crosswise
    too, and an exchange is a comparison level of its own. They must share a key domain."""
    variables: tuple[VariableSpec, ...] = Field(default=(), strict=False)
    """Category variables that are not compared but carried as keyed codes, for the risk assessment and the joint model;
    their labels stay with the custodians."""
    latent: LatentSpec | None = None
    """The extended latent step after Fellegi-Sunter; null: there is none, and pairs are judged by agreement alone."""
    model: ModelSpec = ModelSpec()
    """The estimation."""
    links: LinkSpec = LinkSpec()
    """The decision."""
    assessment: AssessmentSpec | None = None
    """The assessment of the combined output before its release, and the limits it is judged by."""
    leakage: LeakageSpec = LeakageSpec()
    """How much the linkage unit may be able to learn from what it is sent."""
    resolution: ResolutionSpec = ResolutionSpec()
    """Who is told, in mode block_keyed, which rows are one record."""
    release: ReleaseSpec = ReleaseSpec()
    """The recipients."""
    retention: Retention
    """The end."""

    @model_validator(mode="before")
    @classmethod
    def _absent_blocking(cls, data: object) -> object:
        # `blocking:` with every rule below it commented out is null in YAML and means no rule.
        if isinstance(data, Mapping):
            return {**data, **{key: () for key in ("blocking", "variables") if key in data and data[key] is None}}
        return data

    @model_validator(mode="before")
    @classmethod
    def _assessed(cls, data: object) -> object:
        # Who writes the section wants its judgement; to go without must be said.
        if isinstance(data, Mapping) and data.get("assessment") is not None:
            release = data.get("release", {})
            if isinstance(release, Mapping) and "assessment" not in release:
                return {**data, "release": {**release, "assessment": "policy"}}
        return data

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        refuse_inconsistent(self)
        return self

    def comparator_of(self, field: FieldSpec) -> Literal["jaccard", "jaro", "jaro_winkler"]:
        """How a field's values are compared under this specification's mode."""
        return field.comparator or "jaro" if self.mode == "trusted" else "jaccard"

    @property
    def keyed_rules(self) -> tuple[BlockingRule, ...]:
        """The rules for which custodians make blocking keys."""
        return tuple(rule for rule in self.blocking if rule.keys)

    def variables_of(self, side: Side | str) -> tuple[VariableSpec, ...]:
        """The variables in the file of one custodian."""
        return tuple(variable for variable in self.variables if variable.held_by(side))

    def variable(self, name: str) -> VariableSpec:
        """The variable of a name; KeyError if there is none."""
        for variable in self.variables:
            if variable.name == name:
                return variable
        raise KeyError(name)

    def field(self, name: str) -> FieldSpec:
        """The field of a name; KeyError if there is none."""
        for field in self.fields:
            if field.name == name:
                return field
        raise KeyError(name)
