"""The registry of disclosure measures: the meaning of each one, and the intruder it assumes.

A new measure is an entry here and its computation in a module of ``gemel.carole.assessment``. The limits of a
specification and their JSON Schema, the policy decision, the report's words and order, and the table in
docs/assessment.md are all read from this registry.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from gemel.common.errors import ErrorCode, GemelError


@dataclass(frozen=True)
class StewardQuestion:
    """A steward's question about a release, which several measures answer."""

    title: str
    explanation: str


FOUND = StewardQuestion(
    "Could a person be found?", "An intruder knows something about a person and looks for their record."
)
LEARNT = StewardQuestion(
    "Could something be learnt about a person?",
    "An intruder need not find the record: it is enough if all records that fit have the same value.",
)
TABLES = StewardQuestion(
    "Do the tables disclose anything about a person?", "Counts that are to be published, attacked all together."
)
CUSTODIANS = StewardQuestion(
    "What do the custodians learn of each other?", "A recipient of links learns who is in the other file."
)
RIGHT = StewardQuestion(
    "Are the links right?", "A false link takes two people for one, and misleads whoever uses the combined output."
)
INVENTED = StewardQuestion(
    "Are all records of people?",
    "A custodian that adds records of its own making learns from the links what the other file has.",
)
QUESTIONS = (FOUND, LEARNT, TABLES, CUSTODIANS, INVENTED, RIGHT)


@dataclass(frozen=True)
class DisclosureMeasure:
    """The public facts of one measure of disclosure risk, whose values lie between 0 and 1."""

    name: str
    title: str
    meaning: str
    """One sentence, for editors of specifications and the manual."""
    intruder: str
    """The intruder it assumes, and what they know."""
    sentence: str
    """One sentence for a steward; ``{value}`` is replaced by the number."""
    method: str
    question: StewardQuestion
    """Which of the steward's questions it answers."""
    place: int = 0
    """Position among the measures of its question in the report."""
    unit: Literal["share", "probability"] = "share"
    """``share`` reads in per cent, ``probability`` as a number."""
    needs: Literal["", "sensitive", "tables", "quality", "joint model", "released joint"] = ""
    """The part of a specification that a limit on it requires: ``sensitive`` variables, published ``tables``,
    ``quality``; a ``joint model`` or a ``released joint`` distribution, beside sensitive variables."""
    own_limit: Literal["", "near_copies", "minimum_overlap"] = ""
    """The entry of the section `assessment` by which it is judged, where that is none of its `limits`; its default
    holds where the policy does not name it."""
    accumulates: bool = True
    """Whether a release is judged together with the project's earlier ones."""
    minimum: float = 0.0
    maximum: float = 1.0
    default: float | None = None
    """The limit where a specification gives none, and has what it needs; None: then there is none."""

    def shown(self, value: float) -> str:
        return f"{value:.3g}" if self.unit == "probability" else f"{100 * value:.3g} %"

    def words(self, value: float) -> str:
        return self.sentence.format(value=self.shown(value))


MEASURES: dict[str, DisclosureMeasure] = {}
"""By name, in the order in which limits are listed."""


def register(measures: Iterable[DisclosureMeasure]) -> None:
    """Add measures, before the specification's model is imported. Raises PARAMETER if the name is taken."""
    for measure in measures:
        if measure.name in MEASURES:
            raise GemelError(ErrorCode.PARAMETER, "a disclosure measure of this name exists", got=measure.name)
        MEASURES[measure.name] = measure


def report_order() -> list[tuple[StewardQuestion, list[DisclosureMeasure]]]:
    return [
        (question, sorted((m for m in MEASURES.values() if m.question == question), key=lambda m: m.place))
        for question in QUESTIONS
    ]


_KEYS = "An intruder who knows a person's values of all key variables"
_IN_OUTPUT = f"{_KEYS}, and that this person is in the combined output"

register(
    (
        DisclosureMeasure(
            name="sample_uniques",
            title="Unique records",
            meaning=(
                "Expected share of the linked records that are of one person and unique in the key variables among the"
                " linked records."
            ),
            intruder=f"{_IN_OUTPUT}.",
            sentence=(
                "{value} of the linked records are of one person and unique in the key variables among the linked"
                " records."
            ),
            method="uniques counted, false links among them taken away; with a 95 % interval",
            question=FOUND,
            place=5,
        ),
        DisclosureMeasure(
            name="correct_unique_matches",
            title="A match with a unique record is correct",
            meaning="Probability that a match of a person with a unique linked record is correct.",
            intruder=f"{_KEYS}, goes through the population, and accepts everyone who matches a unique record.",
            sentence="Of the people who match a unique linked record, {value} are the right person.",
            method="DIS of the true links, with a 95 % interval",
            question=FOUND,
            place=2,
        ),
        DisclosureMeasure(
            name="population_uniques",
            title="Unique people in the population",
            meaning="Expected share of the linked records that are unique in the population.",
            intruder=f"{_KEYS}, and is certain of a match if no one else in the population has the same values.",
            sentence="{value} of the linked records are expected to be unique in the population.",
            method="calibrated risk of the true links and Pitman's formula, averaged; with a 95 % interval",
            question=FOUND,
            place=4,
        ),
        DisclosureMeasure(
            name="correct_matches",
            title="People found by their key variables",
            meaning="Expected share of the linked records that an intruder who knows the keys matches to their person.",
            intruder=f"{_KEYS}, and picks at random one of the people in the population who have them.",
            sentence="{value} of the linked records are expected to be matched to the right person.",
            method="calibrated risk of the true links and Pitman's formula, averaged; with a 95 % interval",
            question=FOUND,
            place=1,
        ),
        DisclosureMeasure(
            name="largest_record_risk",
            title="The person most at risk",
            meaning="Greatest probability of any linked record to be matched to its person.",
            intruder=f"{_KEYS}, and picks at random one of the people in the population who have them.",
            sentence="The linked record at highest risk is matched to the right person with probability {value}.",
            method=(
                "calibrated risk, or a model, times the probability that the link is true; with a 95 % interval, of the"
                " greatest 1/F behind a true link"
            ),
            question=FOUND,
            place=3,
            unit="probability",
        ),
        DisclosureMeasure(
            name="gain_over_own_file",
            title="What linking adds",
            meaning="How much larger correct_matches is for the combined output than for either file alone.",
            intruder=(
                "The same as for correct_matches, against the same people in Alice's file alone and in Bob's file"
                " alone."
            ),
            sentence="Linking raises the share of these people who are matched correctly by {value}.",
            method="Pitman's formula of each file; against the file where it is smaller; with a 95 % interval",
            question=FOUND,
            place=6,
        ),
        DisclosureMeasure(
            name="certain_attribution",
            title="Something sensitive follows for certain",
            meaning="Expected share of the linked records whose sensitive value follows from their keys, and rightly.",
            intruder=f"{_IN_OUTPUT}.",
            sentence=(
                "Of {value} of the linked records the sensitive value follows from the keys: all with these keys have"
                " it."
            ),
            method="counted, false links taken away; with a 95 % interval",
            question=LEARNT,
            place=1,
            needs="sensitive",
        ),
        DisclosureMeasure(
            name="probable_attribution",
            title="Something sensitive is hardly in doubt",
            meaning=(
                "Expected share of the linked records of whose sensitive value the keys leave little doubt, and"
                " rightly."
            ),
            intruder=f"{_IN_OUTPUT}; link probabilities are taken into account.",
            sentence="Of {value} of the linked records the keys leave little doubt of the sensitive value.",
            method="expected counts; posterior of the record's own value at least 1 - `doubt`; with a 95 % interval",
            question=LEARNT,
            place=2,
            needs="sensitive",
        ),
        DisclosureMeasure(
            name="attribution_gain",
            title="The most that is learnt about any person",
            meaning="Greatest rise of the probability of a sensitive value over its frequency in the population.",
            intruder=f"{_IN_OUTPUT}, against one who knows only how common values are.",
            sentence="The keys raise the probability of a sensitive value by up to {value}.",
            method=(
                "expected counts; with a 95 % interval, by drawing true links, missed people and frequencies again"
            ),
            question=LEARNT,
            place=3,
            unit="probability",
            needs="sensitive",
        ),
        DisclosureMeasure(
            name="few_values",
            title="Too few different values",
            meaning=(
                "Expected share of the linked records that are of one person and whose key group has fewer different"
                " sensitive values than required."
            ),
            intruder=f"{_IN_OUTPUT}.",
            sentence=("{value} of the linked records are in a key group with too few different sensitive values."),
            method="counted, fewer than `min_values`, false links taken away; with a 95 % interval",
            question=LEARNT,
            place=4,
            needs="sensitive",
        ),
        DisclosureMeasure(
            name="modelled_attribution",
            title="Something sensitive is probable by the joint model",
            meaning=(
                "Expected share of the linked records of whose person's sensitive value they and the joint model leave"
                " little doubt, and rightly."
            ),
            intruder=(
                f"{_KEYS}, finds the linked records that have them, and takes each record's value as far as its link is"
                " probable, and what the joint distribution says for the rest."
            ),
            sentence="Of {value} of the linked records the sensitive value is inferred, though links may be false.",
            method="link probabilities and joint distribution; posterior at least 1 - `doubt`; with a 95 % interval",
            question=LEARNT,
            place=5,
            needs="joint model",
        ),
        DisclosureMeasure(
            name="joint_attribution",
            title="Something sensitive follows from the joint distribution",
            meaning=(
                "Expected share of the linked records whose person's sensitive value the released joint distribution"
                " leaves little doubt of, and rightly."
            ),
            intruder=(
                "Whoever has the released joint distribution, and knows either a person's values of all key variables,"
                " or, as its recipient, all that its own file says of a person; and that this person is in the combined"
                " output."
            ),
            sentence="Of {value} of the linked records the released joint distribution tells the sensitive value.",
            method="posterior at least 1 - `doubt`, as released and with its prior taken away; with a 95 % interval",
            question=LEARNT,
            place=6,
            needs="released joint",
        ),
        DisclosureMeasure(
            name="subtraction",
            title="An empty cell of a table is recovered",
            meaning="Probability that people who know some of the records recover an empty cell of a published table.",
            intruder=(
                "People who know some of those counted, take them away from the published tables, and look for empty"
                " cells."
            ),
            sentence="With probability {value} they find a cell that contains no one else.",
            method=(
                "bounds of the base table, then exact for `known_people` random people; of random rounding the ends of"
                " all draws"
            ),
            question=TABLES,
            unit="probability",
            needs="tables",
        ),
        DisclosureMeasure(
            name="differences",
            title="What two releases tell together",
            meaning=(
                "Share of the people who are in one of two releases of a table and not in the other whom comparing the"
                " two discloses; at most 0.1 unless a limit is given."
            ),
            intruder=(
                "Whoever has this release and an earlier one of the same custodians, in whatever project, takes one"
                " from the other, and knows that no one else has come or gone."
            ),
            sentence="Of the people in one of two releases and not in the other, comparing them discloses {value}.",
            method=(
                "difference of each pair of tables as published: cells of one or two people, and sensitive values that"
                " follow; counted"
            ),
            question=TABLES,
            place=1,
            needs="tables",
            # Every earlier release is compared again.
            accumulates=False,
            default=0.1,
        ),
        DisclosureMeasure(
            name="members_disclosed",
            title="Who is in the other file",
            meaning=(
                "Expected share of a custodian's records that the release shows, rightly, to be in the other's file."
            ),
            intruder="A custodian itself, with what is released to it.",
            sentence="A custodian learns of {value} of its records that the other has the person too.",
            method=(
                "link probability at least 1 - `doubt`, links as far as they are true; the larger of the two; with"
                " a 95 % interval"
            ),
            question=CUSTODIANS,
        ),
        DisclosureMeasure(
            name="near_copies",
            title="Near-copies in a file",
            meaning="Share of a custodian's records that have four near-copies or more in its own file.",
            intruder=(
                "A custodian that contributes a person many times, with another value of an attribute each time, to see"
                " which of these is linked."
            ),
            sentence="{value} of a custodian's records are alike in all but a field or two to four others of its file.",
            method="rows of a block compared with each other; the larger share of the two",
            question=INVENTED,
            place=1,
            own_limit="near_copies",
        ),
        DisclosureMeasure(
            name="unlinked",
            title="Records without a partner",
            meaning="Share of the smaller file's records that are not linked.",
            intruder="A custodian that contributes records of anybody, to see who of them is in the other file.",
            sentence="{value} of the smaller file's records are not linked.",
            method="counted; judged by 1 - `minimum_overlap`",
            question=INVENTED,
            place=2,
            own_limit="minimum_overlap",
            accumulates=False,
        ),
        DisclosureMeasure(
            name="false_links",
            title="False links",
            meaning="Estimated share of the links that join records of two people.",
            intruder="No intruder: whoever uses the combined output.",
            sentence="{value} of the links are estimated to be false.",
            method="check field, or decoys, or bootstrap, with a 95 % interval (section `quality`)",
            question=RIGHT,
            needs="quality",
            accumulates=False,
        ),
    )
)
