"""``assessment.json``: the disclosure risk of a run's combined output, judged by the project's policy."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import ConfigDict, Field, field_validator, model_validator

from gemel.common.documents.disclosure_measures import MEASURES
from gemel.common.documents.document import Count, Document, Part, Share, one_length
from gemel.common.documents.result_warning import ResultWarning

VERSION = 1
"""Version of the document."""


class MeasureEntry(Part):
    """One measure, its limit and its words."""

    value: float
    lower: float | None
    """Lower end of the interval, where there is one."""
    upper: float | None
    interval: Share | None
    """Confidence of the interval."""
    no_interval: str | None
    """Where there is none: why the value needs none."""
    judged: float
    """The value compared with the limit: the upper end, or the value; at least that of earlier releases."""
    earlier: float | None
    """The largest that was judged of an earlier release."""
    limit: float | None
    breached: bool
    intruder: str
    """The assumed intruder."""
    words: str
    """The value as a sentence."""
    method: str
    """How it was computed, with its parameters."""


class Breach(Part):
    """A measure above its limit."""

    measure: str
    value: float
    limit: float


class RiskHistogram(Part):
    """Linked records by their chance to be matched to the right person."""

    edges: list[float]
    records: list[Count]

    @model_validator(mode="after")
    def _lengths(self) -> Self:
        one_length(bins=self.edges[1:], records=self.records)
        return self


class GroupSize(Part):
    """Linked records by the number of records with the same keys."""

    low: Count = Field(alias="from")
    high: Count | None = Field(alias="to")
    """Null where there is no upper bound."""
    records: Count


class OwnFileMatches(Part):
    """The same people in one custodian's file alone."""

    correct_matches: float
    gain: float
    """How much larger the combined output's figure is."""
    method: str
    keys: list[str]


class KeySet(Part):
    """Key variables that single records out together."""

    variables: list[str]
    records: Count


class VariableShare(Part):
    """How much a key variable adds to records' being singled out."""

    variable: str
    share: float


class SpecialUniques(Part):
    """Special uniques (SUDA)."""

    max_size: Count
    """Maximum number of key variables in the sets that were searched."""
    complete: bool
    by_size: list[Count]
    by_variable: list[VariableShare]


class IdentificationPart(Part):
    """Where the risk of identification lies; without records or keys only `keys` and `method`."""

    keys: list[str]
    method: str | None
    """The model."""
    combinations: Count | None = None
    uniques: Count | None = None
    histogram: RiskHistogram | None = None
    group_sizes: list[GroupSize] | None = None
    own_file: dict[str, OwnFileMatches] | None = None
    """By custodian."""
    highest_risk_records: list[KeySet] | None = None
    special_uniques: SpecialUniques | None = None


class SensitiveVariable(Part):
    """What the keys disclose of one sensitive variable: its measures as the registry names them, and more."""

    model_config = ConfigDict(extra="allow")

    variable: str
    holder: str
    negative_attribution: float
    """Share of the linked records for which the keys exclude some value."""
    l_diversity: Count
    """Minimum number of different values in a key group."""
    own_file: dict[str, dict[str, float]]
    """By custodian, the measures in its file alone."""


class AttributionPart(Part):
    """What the keys disclose of sensitive variables."""

    variables: list[SensitiveVariable]


class JointEntry(Part):
    """What the released joint distribution tells of one sensitive variable to one intruder."""

    variable: str
    intruder: Literal["keys", "alice", "bob"]
    """Who knows the key variables; or the recipient, who knows all that its own file says of its people."""
    inferred: Share
    """Expected share of the linked records whose person's value is inferred rightly and with little doubt."""
    lower: Share
    upper: Share
    by_frequency: Share
    """The same for whoever knows only how common the values are."""
    posterior: str
    """Which posterior tells more: as released, or with the prior taken away."""


class CustodianPart(Part):
    """What a custodian learns of the other's file."""

    receives: str
    records: Count
    linked: Count
    expected_members: float
    learnt: float
    """Expected share of its records that the release shows, rightly, to be in the other's file."""
    lower: float
    """Ends of its interval."""
    upper: float
    found_by_own_variables: float
    """Share of its linked records that its own variables single out."""


class ContributionPart(Part):
    """What a custodian's contribution shows of records that may be invented."""

    records: Count
    linked: Count
    near_copies: float | None = None
    """Records with four near-copies or more in the same file, estimated where a sample was compared."""
    standard_error: float | None = None
    """Of `near_copies`; 0 where nothing was sampled."""
    compared: Count | None = None
    """Rows that were compared with all others of their block."""


class FormerProjectsPart(Part):
    """Other projects of the same two custodians that were released within a year."""

    projects: Count
    links: Count
    """Of the newest release of each."""


class TableEntry(Part):
    """A published table."""

    variables: list[str]
    protection: str
    base: int | None
    earlier: bool
    """Whether it was published with an earlier release."""
    cells: Count
    empty_cells: Count
    small_cells: Count
    """Cells of one or two people."""
    subtraction: float


class TableDifference(Part):
    """The difference of a table and an earlier one; or of a table and the sum of two, if there are two runs."""

    runs: list[str]
    projects: list[str]
    """Of each run; empty for a project of another coordinator."""
    variables: list[str]
    """Those that the tables have in common."""
    reordered: bool
    """Whether the codes were of different keys, and put in the order in which the tables are most alike."""
    people: Count
    """Who have come or gone, as far as the tables show it."""
    small_cells: Count
    """Cells that differ by one or two people."""
    small: Count
    """People in these."""
    attributed: Count
    """People of whom a sensitive value follows from the others."""
    disclosed: Count
    """People of whom either holds."""
    share: Share


class UnseenRelease(Part):
    """An earlier release that could not be compared, or not in whole."""

    run: str
    project: str
    """Empty for a project of another coordinator."""
    links: Count | None
    """Number of links, where it is known and the project is of the same coordinator."""
    reason: str


class DifferencesPart(Part):
    """What this release tells together with earlier ones of the same custodians, in all their projects."""

    releases: Count
    """Earlier releases."""
    compared: Count
    """Those of which a table was compared."""
    tables: list[TableDifference]
    """The worst first; at most 100."""
    unseen: list[UnseenRelease]
    """At most 100."""


class Option(Part):
    """A way of releasing less, with the measures that it changes."""

    action: str
    effect: dict[str, float]


class CoarsenedVariable(Part):
    """A variable and the step by which it is coarsened."""

    variable: str
    coarsening: str
    """The step's name in the specification, or drop."""


class CoarsenedDetail(CoarsenedVariable):
    """A variable that is released coarsened, with what it has lost."""

    categories_before: Count
    categories: Count
    """Groups that are left; 0 where it is dropped."""
    bits_before: float
    """Entropy among the linked records, as the custodians sent it."""
    bits: float
    """The same as it is released."""


class TriedCoarsening(Part):
    """A coarsening that was assessed."""

    changes: list[CoarsenedVariable]
    cost: float
    """Information lost: 1 for a variable that is dropped, less for one that keeps a part of its entropy, summed."""
    excess: float
    """By how much measures were above their limits, summed; 0 where every limit held."""
    breaches: list[str]


class BeforeCoarsening(Part):
    """The assessment of the output as it was linked."""

    measures: dict[str, float]
    """By measure what was judged."""
    breaches: list[str]


class UtilityPart(Part):
    """What a coarsening has left of the linked records' information."""

    cost: float
    """As in `tried`."""
    dependence_before: float
    """Mutual information of every two variables among the linked records, summed, in bits."""
    dependence: float
    """The same of what is released."""


class ProtectionPart(Part):
    """What was done instead of withholding a result that breached a limit, as `assessment.protect` allows."""

    outcome: Literal["coarsened", "none"]
    """coarsened: the rest of the document is of the coarsened output; none: of the output as it is."""
    reason: str
    possible: Count | None
    """Coarsenings that are allowed; null where none could be enough, so that none was looked for."""
    assessed: Count
    exact: bool
    """Whether no allowed coarsening that was not assessed costs less."""
    tried: list[TriedCoarsening]
    """Those that came closest to the limits first; at most 20."""
    changes: list[CoarsenedDetail]
    """What is released coarsened."""
    before: BeforeCoarsening | None
    """Null where nothing was coarsened."""
    utility: UtilityPart | None
    """Null where nothing was coarsened."""


class SupposedFraction(Part):
    """A sampling fraction that is known within bounds."""

    value: float
    low: float
    high: float


class SupposedFractions(Part):
    """Sampling fractions: numbers, or known within bounds."""

    alice: float | SupposedFraction
    bob: float | SupposedFraction
    combined: float | SupposedFraction


class SupposedVariable(Part):
    """A variable of the specification."""

    name: str
    holder: str
    role: str
    categories: Count


class Supposed(Part):
    """The assumptions of the assessment."""

    fractions: SupposedFractions
    known_people: Count
    min_values: Count
    doubt: float
    missing: str
    variables: list[SupposedVariable]


class GrantedColumns(Part):
    """Columns of one custodian's linked records that a recipient receives (`release.variables`)."""

    to: str
    """alice, bob, or an analyst's name."""
    of: Literal["alice", "bob"]
    assessed: list[str]
    """Those that the assessment counts as they are sent: of key and sensitive variables."""
    not_assessed: list[str]


class AssessmentDocument(Document):
    """The disclosure risk of a run's combined output. A measure without meaning for a project is absent."""

    version: Literal[1]
    project: str
    run: str
    specification_digest: str
    """Hexadecimal."""
    verdict: Literal["within", "breach"]
    on_breach: Literal["refuse", "hold"]
    breaches: list[Breach]
    measures: dict[str, MeasureEntry]
    """By name, as the table of measures in assessment.md lists them."""
    identification: IdentificationPart
    attribution: AttributionPart
    released_joint: list[JointEntry] | None = None
    """Absent where no joint distribution is released."""
    custodians: dict[str, CustodianPart]
    contributions: dict[str, ContributionPart]
    """By custodian."""
    tables: list[TableEntry]
    protection: ProtectionPart | None = None
    """Absent where no limit was breached or nothing may be coarsened."""
    options: list[Option]
    supposed: Supposed
    records: Count
    """Links."""
    expected_records: float
    """Matches expected among all pairs that may be links."""
    expected_left_out: float
    """Matches expected among pairs whose codes are not known."""
    earlier_releases: Count
    """Releases of the project so far that were assessed."""
    differences: DifferencesPart
    former_projects: FormerProjectsPart
    granted: list[GrantedColumns] | None = None
    """Absent where no columns are granted."""
    warnings: list[ResultWarning]

    @field_validator("measures")
    @classmethod
    def _known(cls, measures: dict[str, MeasureEntry]) -> dict[str, MeasureEntry]:
        if unknown := set(measures) - set(MEASURES):
            raise ValueError(f"there are {len(unknown)} measures that this version does not know")
        return measures
