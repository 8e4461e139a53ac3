"""The plain words of the report: the verdict as a sentence, figures, protections, shares."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gemel.common.documents.disclosure_measures import MEASURES
from gemel.common.language import decimals, gettext, listed, marked, ngettext
from gemel.coordinator.reports.linkage import wording
from gemel.risk.report.page import WARNINGS, Phrases

METHODS = (
    "{law}; sampling fraction {fraction:g}; times the probability that each link is true",
    "calibrated risk of the true links",
    "Pitman's formula",
    "Pitman's formula from how many true links share each combination",
    "average of the calibrated risk of the true links and {laws}, as far as they agree",
    "{laws}; {true:.5g} true links expected, sampling fraction {fraction:g}",
    "DIS from {uniques} uniques and {pairs:.5g} pairs that are expected among the true links, sampling fraction"
    " {fraction:g}; the limit is applied to the upper end",
    "{how}; interval of the greatest 1/F behind a true link, {laws}; the limit is applied to the value",
    "by the model of the keys and by Pitman's formula",
    "there is no linked record",
    "correct_matches less that of the same people in the file where it is smaller",
    "{side}: {value:.3g} by {method}",
    "it has no key variable: no record can be identified",
    "no key variable varies: all records have equal keys",
    "Bayesian matching, {number} decomposable models averaged",
    "Bayesian matching, {models} decomposable models of Occam's window averaged",
    "log-linear model, the best of {models} by the minimum-error criterion B2: {best}",
    "expected number of true ones among the unique links, by link probabilities and key values",
    "{method}; worst for {worst}",
    "key groups of one value, links as decided; expected number of true links in them",
    "posterior of the record's own value at least {posterior:g}, from expected counts by key group; expected number of"
    " true links among these",
    "posterior less prior, from expected counts by key group; interval by drawing matches, missed people and the"
    " population's frequencies {draws} times",
    "key groups of fewer than {values} different values, links as decided; expected number of true links in them",
    "link probabilities and joint distribution, posterior at least {posterior:g}; worst for {worst}",
    "posterior {how}, at least {posterior:g}; links as far as they are probable; worst for {name}, given {knows}",
    "as released",
    "with the prior taken away",
    "key variables",
    "what {side}'s file says",
    "it does not have {name}",
    "{tables} tables, {people} known people, links as decided; bounds: {how}",
    "{tables} tables, {people} known people, links as decided; bounds: {how} (not proven tight, so that other"
    " means may recover more)",
    "published cell by cell",
    "what the rounding leaves of each count",
    "the smallest count above each cell",
    "the worst single table",
    "closed form",
    "closed form ({components} components)",
    "{components} irreducible components: {how}",
    "{axes} by {how}",
    "{how} and {method}",
    "generalised shuttle ({sweeps} sweeps, {cells} recoded cells)",
    "integer programming ({programmes} programmes)",
    "linear programming ({programmes} programmes)",
    "cells of the difference table counted; {reason}",
    "{releases} earlier releases compared",
    "no earlier release of the custodians",
    "against {run}, over {variables}: {item} by one or two people, and {disclosed} of {people} people who come or go"
    " are disclosed",
    "run {name}",
    "run {name} of project {project}",
    "1 cell differs",
    "{number} cells differ",
    "link probability at least {posterior:g}, as released; expected number of members among these; the larger share is"
    " {side}'s",
    "{method}; an upper bound, since pairs whose codes are not known may be of any of its records",
    "{linked} of {records} records of the smaller file are linked",
    "the larger share is {side}'s: records with {partners} near-copies or more, under one blocking rule",
    "{compared} of them compared, drawn at random, with a standard error of {error:.2g}",
    "no link",
    "the model's claim; there is no estimate beside it",
    "check field, with a 95 % interval",
    "decoys, with a 95 % interval",
    "bootstrap, with a 95 % interval",
)
"""How measures were computed."""

NO_INTERVALS = (
    "counted: the value and the keys are of one file, so that they are one person's, whoever is linked",
    "no linked record has a value",
    "counted: the links as they were decided are meant",
    "counted: all rows of every block were compared",
    "estimated from a sample, and judged as estimated",
    "counted in the tables as they are published: a false or missed link is in them, and whoever compares them sees no"
    " more; of random rounding the worst draw counts",
    "computed from the tables as they are published, over all choices of the known people: false and missed links are"
    " in the tables, and change nothing of what is recovered",
    "{reason}; but {end}",
    "not proven tight, so that other means may recover more",
)
"""Why a measure has no interval."""

ACTIONS = (
    "leave out {names}",
    "join the {number} rarest categories of {name}",
    "leave out the {number} records that are unique",
    "leave out {names}: then {end}",
    "the limits on what recoding changes hold",
    "no key variable is left, and a limit is still breached",
    "with least loss of information: {action}",
    "join codes {codes} of {name}",
    "give {side} statistics only",
    "give both custodians statistics only",
    "release no joint distribution",
    "round the tables to multiples of {base}",
)
"""Ways of releasing less."""

REASONS = (
    "the least allowed coarsening with which every limit holds",
    "every allowed coarsening leaves a limit breached",
    "none was found with which every limit holds",
    "no coarsening of variables changes {names}",
    "an earlier release has {names} above the limit, which no coarsening of this one takes back",
    "the differences are from a release in another coding, with which a coarser one cannot be compared",
    "no counts were kept",
    "the counts were erased when their days were over",
    "the release was lost when the store was put back from a backup",
    "more than {pairs} pairs of tables would be compared",
    "it published no table",
    "its counts over {names} are not alike: which code is which is unknown",
    "its table over {names} has no variable in common with this release, in equal categories",
    "{tables} of its tables had too many cells to be kept",
    "a missing value is a category of its own",
)
"""Why something was done or left, and what was supposed."""

PHRASES = Phrases(
    (
        *WARNINGS,
        *(text for measure in MEASURES.values() for text in (measure.sentence, measure.intruder)),
        *METHODS,
        *NO_INTERVALS,
        *ACTIONS,
        *REASONS,
    )
)
"""Of the whole document."""


_NUMBERS = (
    *(marked("no"), marked("one"), marked("two"), marked("three"), marked("four")),
    *(marked("five"), marked("six"), marked("seven"), marked("eight"), marked("nine")),
    *(marked("ten"), marked("eleven"), marked("twelve")),
)

_RECEIVES = {
    "links": marked("the links of its own records"),
    "draws": marked("the links of its own records, and drawn linkages"),
    "pairs": marked("every likely pair of its own records, with probabilities"),
    "statistics": marked("statistics only"),
    "nothing": marked("nothing"),
}

_METHOD_WORDS = {
    "none": marked("as counted"),
    "conventional": marked("rounded to the nearest"),
    "random": marked("rounded at random"),
}

_ROLES = {"key": marked("recognisable"), "sensitive": marked("sensitive"), "": marked("neither")}


def receives(grant: str) -> str:
    return gettext(_RECEIVES.get(grant, grant))


def role(name: str) -> str:
    return gettext(_ROLES.get(name, _ROLES[""]))


def protection(table: Mapping[str, Any]) -> str:
    """How a table is protected, in words."""
    words = gettext(_METHOD_WORDS.get(table["protection"], table["protection"]))
    if table["base"] is None:
        return words
    return gettext("{words}, multiples of {base}").format(words=words, base=table["base"])


def earlier_runs(difference: Mapping[str, Any]) -> str:
    """The runs that a table was compared with, in words."""
    named = [
        gettext("run {run} of {project}").format(run=run[:12], project=project or gettext("another coordinator"))
        for run, project in zip(difference["runs"], difference["projects"], strict=True)
    ]
    return gettext("the sum of {runs}").format(runs=listed(named)) if len(named) > 1 else named[0]


def number(value: int) -> str:
    """A small number as a word."""
    return gettext(_NUMBERS[value]) if value < len(_NUMBERS) else wording.count(value)


def headline(document: Mapping[str, Any]) -> str:
    if document["verdict"] != "within":
        return gettext("The policy is breached")
    return gettext("The policy is met by a coarser result") if coarsened(document) else gettext("The policy is met")


def coarsened(document: Mapping[str, Any]) -> bool:
    """Whether what was linked was coarsened to meet the policy."""
    found = document.get("protection")
    return found is not None and found["outcome"] == "coarsened"


def verdict(document: Mapping[str, Any]) -> str:
    """The verdict as a sentence or two, and what it means for the release."""
    limited = sum(measure["limit"] is not None for measure in document["measures"].values())
    broken = len(document["breaches"])
    if not broken:
        return _held(limited, coarsened=coarsened(document))
    if broken == limited:
        what = ngettext(
            "The only limit on which the parties agreed is exceeded.",
            "All {limited} limits on which the parties agreed are exceeded.",
            limited,
        )
    else:
        what = ngettext(
            "One of the {limited} limits on which the parties agreed is exceeded.",
            "{broken} of the {limited} limits on which the parties agreed are exceeded.",
            broken,
        )
    after = (
        gettext(
            "The result waits for a steward, who may refuse it, or release it with a reason and a signature that stay"
            " in the audit log."
        )
        if document.get("on_breach") == "hold"
        else gettext("The result is refused: no one receives anything.")
    )
    return f"{what.format(limited=number(limited), broken=capital(number(broken)))} {after}"


def _held(limited: int, *, coarsened: bool) -> str:
    if coarsened:
        words = ngettext(
            "The one limit on which the parties agreed held, once what was linked had been coarsened as the parties had"
            " approved. The result may be released so, as the specification grants.",
            "All {limited} limits on which the parties agreed held, once what was linked had been coarsened as the"
            " parties had approved. The result may be released so, as the specification grants.",
            limited,
        )
    else:
        words = ngettext(
            "The one limit on which the parties agreed held. The result may be released as the specification grants.",
            "All {limited} limits on which the parties agreed held. The result may be released as the specification"
            " grants.",
            limited,
        )
    return words.format(limited=number(limited))


def unjudged(free: int, notable: int, from_share: float) -> str:
    """What the verdict does not speak of: of `free` risks without a limit, `notable` are a given share or more."""
    if free == 1:
        words = gettext("the parties set no limit on one risk; it is {share} or more. The largest:")
    else:
        words = ngettext(
            "the parties set no limit on {free} risks; one of them is {share} or more. The largest:",
            "the parties set no limit on {free} risks; {notable} of them are {share} or more. The largest:",
            notable,
        )
    return words.format(free=number(free), notable=number(notable), share=figure(from_share))


def figure(value: float | None) -> str:
    """A measure as a share in per cent, with no false 0 or 100."""
    if value is None:
        return gettext("could not be computed")
    if 0.0 < value < 0.0005:
        return gettext("under {share}").format(share=decimals("0.05\u00a0%"))
    if 0.9995 < value < 1.0:
        return gettext("over {share}").format(share=decimals("99.95\u00a0%"))
    places = 2 if value < 0.01 else 1
    return decimals(f"{f'{100.0 * value:.{places}f}'.rstrip('0').rstrip('.')}\u00a0%")


def capital(text: str) -> str:
    """A text with a capital at its beginning."""
    return text[:1].upper() + text[1:]
