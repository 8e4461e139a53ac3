"""The content of a specification, `linkage.yaml`, as immutable typed objects.

Every section refuses keys it does not know and values of another type (`"1024"` is not a number), and checks each value
by itself. Checks across values are in `validation`: a `Specification` is a `SpecificationContent` that was found
consistent, and everything that uses one requires that type.

Larger sections are modules of their own (`fields`, `blocking`, `latent`, ...).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from gemel.common.keys.suite import Suite
from gemel.common.parties import Side
from gemel.common.specification.model.assessment import AssessmentSpec, MPriorSpec
from gemel.common.specification.model.blocking import BlockingRule, Padding
from gemel.common.specification.model.defaults import IN_BLOCKS, MAX_FIELDS, Assignment, Mode
from gemel.common.specification.model.fields import FieldSpec
from gemel.common.specification.model.granted_variables import MAX_RECIPIENTS, Transfer, VariableGrant
from gemel.common.specification.model.latent import LatentSpec
from gemel.common.specification.model.leakage import LeakageSpec
from gemel.common.specification.model.protection import CoarseningStep
from gemel.common.specification.model.resolution import ComputeSpec, ResolutionSpec
from gemel.common.specification.model.schemes import DEFAULT_SCHEME, SCHEMES, QualitySpec, SchemeName
from gemel.common.specification.model.section import ColumnName, Name, Section
from gemel.common.specification.model.variables import VariableSpec

PROJECT_PATTERN = r"^[a-z0-9][a-z0-9-]{0,63}$"

Days = Annotated[int, Field(ge=1, le=3650)]
RELEASES_DAYS = 1826
Swap = Annotated[tuple[Name, Name], Field(strict=False)]


def _no_truth_value(value: object) -> object:
    # To Python, true equals 1.
    return str(value).lower() if isinstance(value, bool) else value


class Custodian(Section):
    """One of the two files and who holds it."""

    identifier: ColumnName
    """The column with the custodian's own identifier of a row. It never leaves the custodian in clear; the custodian
    receives its result by it."""


class Custodians(Section):
    """The two custodians."""

    alice: Custodian
    """The holder of the first file."""
    bob: Custodian
    """The holder of the second file."""

    def of(self, side: Side) -> Custodian:
        return self.alice if side is Side.ALICE else self.bob


class ModelSpec(Section):
    """How the probabilities are estimated."""

    scheme: SchemeName = Field(
        default=DEFAULT_SCHEME, description=" ".join(f"{known.name}: {known.summary}." for known in SCHEMES.values())
    )
    u: Literal["all_pairs", "corrected", "free"] = "corrected"
    """Chance agreement among non-matches: as in all pairs, corrected for the matches among them, or free (by EM)."""
    dependence: Literal["auto", "none", "pairwise", "decomposable"] = "auto"
    """What the model knows of pairs of two people. none: all fields are independent, in matches and in other pairs.
    Otherwise pairs are of kinds, by the fields they share, and strangers' fields may depend on each other: pairwise, in
    a forest of pairs; decomposable and auto, up to three fields at once. Which kinds and dependences there are is found
    from the data. The weighted schemes have none."""
    seed: int = Field(default=1, ge=0, lt=2**63)
    """Seed of the random numbers; the same seed gives the same run."""
    max_iterations: int = Field(default=500, ge=1, le=1_000_000)
    """EM stops here at the latest, and then warns that it has not converged."""
    m_prior: tuple[MPriorSpec, ...] = Field(default=(), strict=False, max_length=MAX_FIELDS)
    """What is believed of matches: how often they agree on a field. One that is not named has .9, worth 20 matches."""
    tolerance: float = Field(default=1e-8, gt=0, lt=1, allow_inf_nan=False)
    """EM has converged when no parameter moves by more."""
    expected_matches: int | None = Field(default=None, ge=1)
    """Number of matches that is believed, a prior that is worth four matches: half or twice as many may well be true.
    null: any number is as likely."""


Criterion = Literal["threshold", "false_link_rate", "cost", "f1"]
CRITERIA: tuple[Criterion, ...] = ("threshold", "false_link_rate", "cost")
"""What may decide how probable a link must be, if not the expected F1."""


class Cost(Section):
    """What the two kinds of error cost; only their ratio matters."""

    false_link: float = Field(gt=0, allow_inf_nan=False)
    """Linking two records of different people."""
    missed_match: float = Field(gt=0, allow_inf_nan=False)
    """Not linking two records of one person."""

    @property
    def threshold(self) -> float:
        """Probability from which a link costs less, on average, than none."""
        return self.false_link / (self.false_link + self.missed_match)


class LinkSpec(Section):
    """Which pairs become links. There is one threshold, and no clerical review of doubtful pairs."""

    assignment: Assignment = "one_to_one"
    """one_to_one: a row has at most one link, and the links are the best set of such. greedy: at most one link too, the
    most probable pair first, each pair judged by itself. many_to_one: a row of Alice's has at most one link, a row of
    Bob's may have several, as where a person may be twice in Alice's file. one_to_many: the same with the files
    exchanged. clusters: a person may have several rows in either file; the persons are found within each file and
    linked one to one, and all rows of linked persons are linked. none: every pair stands alone."""
    threshold: float | None = Field(default=None, gt=0, lt=1, allow_inf_nan=False)
    """Smallest match probability of a link. Default: unless one of the next two is given, the threshold at which the
    expected F1 of the links is the largest, 0.5 at most; with a scheme that is not calibrated 0.5. At most one of the
    three is given."""
    false_link_rate: float | None = Field(default=None, gt=0, lt=1, allow_inf_nan=False)
    """Accepted share of false links: as many links as keep the expected share at or below this."""
    cost: Cost | None = None
    """The threshold is the one at which the expected cost is smallest."""

    @model_validator(mode="after")
    def _one_criterion(self) -> Self:
        given = [key for key in CRITERIA if getattr(self, key) is not None]
        if len(given) > 1:
            raise ValueError(f"at most one of {', '.join(CRITERIA)} decides, not {' and '.join(given)}")
        return self

    @property
    def criterion(self) -> Criterion:
        """What decides how probable a link must be."""
        return next((key for key in CRITERIA if getattr(self, key) is not None), "f1")

    @property
    def min_probability(self) -> float | None:
        """Least match probability of a link, as far as it is known before the run."""
        return self.cost.threshold if self.cost is not None else self.threshold

    def allows_several(self, side: Side) -> bool:
        """Whether a person may have several linked records in a party's file."""
        one = {"many_to_one": Side.BOB, "one_to_many": Side.ALICE, "one_to_one": side, "greedy": side}
        return one.get(self.assignment) != side


Release = Literal["links", "draws", "pairs", "statistics", "nothing"]

MAX_DRAWS = 100
"""Maximum number of drawn linkages: their error is then a hundredth of what is uncertain about the linkage."""


class ReleaseSpec(Section):
    """Who receives what of the result."""

    assessment: Literal["none", "policy"] = "none"
    """policy: the combined output is assessed before the release and judged by the section `assessment`, which makes
    this the default; none: it is released without an assessment, and all parties sign that."""
    alice: Release = "links"
    """What Alice receives: the links of her own rows; draws: also several drawn linkages, each a set of links that may
    be the true one, for analyses that allow for errors of the linkage; pairs: the links and every pair that came near
    to one, with its probabilities; statistics only; or nothing."""
    bob: Release = "links"
    """What Bob receives."""
    coordinator: Literal["statistics", "nothing"] = "statistics"
    """What the coordinator receives; never record-level data."""
    joint: Literal["none", "alice", "bob", "both"] = "none"
    """Who receives, with its share, the joint distribution that the latent step estimates. A custodian can put the
    labels in, and then infer what the other file likely holds of its own records."""

    exact_probabilities: Literal["none", "alice", "bob", "both"] = "none"
    """Who receives link probabilities to the last digit. Everyone else receives the mean of a class of pairs: with m, u
    and p an exact probability tells which fields the other custodian holds otherwise."""

    draws: int = Field(default=20, ge=2, le=MAX_DRAWS)
    """Number of drawn linkages that a custodian with the grant draws receives."""

    variables: tuple[VariableGrant, ...] = Field(default=(), strict=False, max_length=MAX_RECIPIENTS)
    """Columns of the custodians' files that others receive for the linked records: the other custodian, or an analyst.
    The custodian sends them after the release, sealed to the recipient; the linkage unit cannot read them. Default:
    none."""

    @property
    def drawn(self) -> int:
        """Linkages to draw: none where no custodian has the grant."""
        return self.draws if "draws" in (self.alice, self.bob) else 0

    @property
    def transfers(self) -> tuple[Transfer, ...]:
        return tuple(Transfer(side, grant.to) for grant in self.variables for side in Side if grant.columns_of(side))

    def granted_columns(self, transfer: Transfer) -> tuple[str, ...]:
        """The columns of the sender's file that the recipient receives; none without a grant."""
        return next((grant.columns_of(transfer.sender) for grant in self.variables if grant.to == transfer.to), ())

    def drawn_to(self, transfer: Transfer) -> bool:
        """Whether a transfer covers the drawn linkages: both ends have them, an analyst through both custodians."""
        ends = (transfer.sender, transfer.sender.other if transfer.to_analyst else Side(transfer.to))
        return all(getattr(self, str(side)) == "draws" for side in ends)

    def joint_to(self, side: Side | str) -> bool:
        return self.joint in ("both", str(Side(side)))

    @property
    def recipients_of_pairs(self) -> tuple[Side, ...]:
        return tuple(side for side in Side if getattr(self, str(side)) not in ("statistics", "nothing"))

    def exact_to(self, side: Side | str) -> bool:
        return self.exact_probabilities in ("both", str(Side(side)))


class Retention(Section):
    """After how many days stored data are erased. There is no default: the parties have to decide it."""

    uploads_days: Days
    """Signatures at the linkage unit."""
    results_days: Days
    """Results at the linkage unit."""
    maps_days: Days
    """The custodians' maps from row pseudonyms to their identifiers."""
    releases_days: Annotated[int, Field(ge=365, le=36500)] = RELEASES_DAYS
    """The counts of the tables that were released, with which the linkage unit compares later releases, also after the
    project is erased."""


class SpecificationContent(Section):
    """Sections of a specification, each valid by itself."""

    version: Annotated[Literal[1], BeforeValidator(_no_truth_value)]
    """The version of this format."""
    project: Annotated[str, Field(pattern=PROJECT_PATTERN)]
    """The project's name: public, and salt of its keys."""
    mode: Mode
    """open: one key per field, so that the linkage unit can compare any two values of a field by their signatures.
    trusted: the cleaned values themselves are sent to the linkage unit, which compares them. block_keyed: a key per
    block of each blocking rule, so that it can compare two values inside a block only. shared: as block_keyed, but cut
    into shares, from which it, the coordinator and a steward compute the comparison levels together: none of them sees
    a signature or a similarity."""
    custodians: Custodians
    """The two files."""
    fields: tuple[FieldSpec, ...] = Field(strict=False, max_length=MAX_FIELDS)
    """The compared fields."""
    blocking: tuple[BlockingRule, ...] = Field(default=(), strict=False)
    """Rules that choose the pairs to compare; none: every pair is compared."""
    padding: Padding | None = None
    """In modes block_keyed and shared: dummy rows bring every block up to the next power of two of rows, so that no one
    sees how many records a block has. Default: none."""
    swaps: tuple[Swap, ...] = Field(default=(), strict=False)
    """Pairs of fields whose values may be exchanged, such as `[[given_name, surname]]`. They are compared crosswise
    too, and an exchange is a comparison level of its own. They must share a key domain."""
    variables: tuple[VariableSpec, ...] = Field(default=(), strict=False)
    """Category variables that are not compared but carried as keyed codes, for the risk assessment and the joint model;
    their labels stay with the custodians."""
    latent: LatentSpec | None = None
    """The extended latent step after Fellegi-Sunter; null: there is none, and pairs are judged by agreement alone."""
    model: ModelSpec = ModelSpec()
    """The estimation of m, u and p."""
    links: LinkSpec = LinkSpec()
    """The decision which pairs become links."""
    quality: QualitySpec | None = None
    """Estimates of the links' quality beside what the model claims of them; null: none."""
    assessment: AssessmentSpec | None = None
    """The assessment of the combined output before its release, and the limits it is judged by."""
    leakage: LeakageSpec = LeakageSpec()
    """How much the linkage unit may be able to learn from what it is sent."""
    resolution: ResolutionSpec = ResolutionSpec()
    """Who joins rows in modes block_keyed and shared."""
    compute: ComputeSpec = ComputeSpec()
    """In mode shared: who computes together with the linkage unit."""
    cryptography: Literal["default", "approved"] = "default"
    """The algorithms by which values are encoded, keys agreed and shares sealed: the default ones; or approved, with
    HMAC-SHA-256, CMAC, ML-KEM-1024 and P-384 in place of those that NIST has not approved, to which some institutions
    are bound. Contributions of the two cannot be compared. With approved a list with a sealing key of another suite is
    refused."""
    release: ReleaseSpec = ReleaseSpec()
    """The recipients of the result."""
    retention: Retention
    """How long stored data are kept."""

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
        # A specification with the section is judged by it, unless the release explicitly goes without.
        if isinstance(data, Mapping) and data.get("assessment") is not None:
            release = data.get("release", {})
            if isinstance(release, Mapping) and "assessment" not in release:
                return {**data, "release": {**release, "assessment": "policy"}}
        return data

    @property
    def in_blocks(self) -> bool:
        """Whether a record is signed for each block that it is in, and compared in blocks only."""
        return self.mode in IN_BLOCKS

    def comparator_of(self, field: FieldSpec) -> Literal["jaccard", "jaro", "jaro_winkler"]:
        return field.comparator or "jaro" if self.mode == "trusted" else "jaccard"

    @property
    def suite(self) -> Suite:
        return Suite(self.cryptography)

    @property
    def compared(self) -> tuple[FieldSpec, ...]:
        """The fields that links are made by: all but the check field."""
        held_out = None if self.quality is None else self.quality.check_field
        return tuple(field for field in self.fields if field.name != held_out)

    @property
    def decoys(self) -> int:
        return 0 if self.quality is None else self.quality.decoys or 0

    @property
    def joint_reported(self) -> bool:
        """Whether a resolver reports the joint distribution to Carole, who releases or assesses it."""
        return self.latent is not None and (self.release.joint != "none" or self.assessment is not None)

    @property
    def keyed_rules(self) -> tuple[BlockingRule, ...]:
        return tuple(rule for rule in self.blocking if rule.keys)

    def rules_undoing_salt(self, field: FieldSpec) -> tuple[BlockingRule, ...]:
        """The blocking rules whose keys join values of a salted field across its salts.

        A blocking key is the same whatever the salt: rows with equal keys agree on the parts of the field that these
        use. Only a rule whose keys also determine the salt does not join.
        """
        salt = field.salt
        if salt is None:
            return ()
        return tuple(
            rule
            for rule in self.keyed_rules
            if any(key.field == field.name for key in rule.keys) and not any(key.settles(salt) for key in rule.keys)
        )

    def variables_of(self, side: Side | str) -> tuple[VariableSpec, ...]:
        return tuple(variable for variable in self.variables if variable.held_by(side))

    @property
    def value_variables(self) -> tuple[VariableSpec, ...]:
        """The variables of the value model: those of one file, and keys of the latent step that both files hold."""
        keys = () if self.latent is None else self.latent.keys
        return tuple(variable for variable in self.variables if variable.holder != "both" or variable.name in keys)

    def coarsenings(self, variable: str) -> tuple[CoarseningStep | str, ...]:
        """The steps by which a variable may be coarsened before a release, the finest first."""
        return () if self.assessment is None else self.assessment.coarsenings(variable)

    def variable(self, name: str) -> VariableSpec:
        return {variable.name: variable for variable in reversed(self.variables)}[name]

    def field(self, name: str) -> FieldSpec:
        return {field.name: field for field in reversed(self.fields)}[name]
