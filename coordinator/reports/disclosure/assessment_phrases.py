"""The sentences that ``assessment.json`` has beside its warnings: methods, reasons, actions.

Carole writes them in `gemel.carole.assessment` and `gemel.risk.attribution.cell_bounds`; a test compares the two.
"""

from __future__ import annotations

from gemel.common.documents.disclosure_measures import MEASURES
from gemel.risk.report.phrases import WARNINGS, Phrases

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
    "extended shuttle ({cells} recoded cells)",
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
