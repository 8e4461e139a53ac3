"""The sentences that the documents of a run have beside their warnings: what is supposed, why there are no errors.

Carole writes them in `gemel.carole.engine` and `gemel.carole.fellegi_sunter`; a test compares the two.
"""

from __future__ import annotations

from gemel.common.language import marked
from gemel.common.specification.model.schemes import SCHEMES
from gemel.risk.report.page import WARNINGS, Phrases

STANDARD_ERRORS = (
    "standard errors: each pair a draw, from the information that the comparison vectors hold",
    "standard errors: each match a draw, with what is not known of the links and the prior of m taken into account",
    "u varies more than that from files to files, as pairs share records",
    "u is counted over all pairs of these files and has none",
    "none where dependence of the fields could matter to it",
    "no standard errors: {reason}",
    "the model had not converged",
    "values count as well, and records may have several matches",
    "the link probabilities had not converged",
    "the model is not identified",
    "the estimation had not converged",
    "the comparison vectors hardly identify the parameters",
    "there is no sign of matches",
    "the links are too uncertain",
    "a field's levels have not been seen among matches",
)

SUPPOSED = (
    "people of either file who are not in the other resemble its records as decoys do",
    "there are no false links among people whose matches are both in the other file",
    "true links look like the links that the model is sure of",
    "other pairs are as alike whether or not a record of theirs has a match: those that lost a record to a sure link"
    " show how alike false links are",
    "links that differ in one field at most, or in none much, and of which the model is sure, are as right as it"
    " claims",
    "among true links errors in {name} follow those in other fields as they do among these",
    "false links agree on {name} as often as pairs do that are as alike and are known to be false, since a record of"
    " theirs has a sure link",
    "false links among the {unseen} of {links} links in doubt on which {name} shows nothing are as frequent, beside the"
    " others, as among such pairs",
)

RECALL_METHODS = ("capture-recapture, two rules at a time", "capture-recapture", "model", "no blocking")

GROUPS = (
    "all links",
    "links that agreement alone would not have made",
    "links of agreement alone that the values undid",
    "the strongest",
    "the weakest above the decision",
    "the strongest below the decision",
    "the commonest",
    "one of the commonest",
    "agreed values",
    "agreement alone",
)
"""Pairs that an example stands for, and the name of what several values give."""

DEPENDENCE = (
    "pairs of two people agree on both {first} and {second} {times} as often as independence has it ({share})",
    "pairs of one person differ on both {first} and {second} {times} as often as independence has it ({share})",
    "pairs of two people agree on both {first} and {second} although independence allows none",
    "pairs of one person differ on both {first} and {second} although independence allows none",
    "{number} of them",
    "one in {number}",
    "never",
)

STAGES = (
    *(marked("provision"), marked("start"), marked("specify"), marked("agree"), marked("contribute")),
    *(marked("link"), marked("assess"), marked("release"), marked("evaluate"), marked("read")),
    *(marked("tables"), marked("levels"), marked("count"), marked("model"), marked("keep")),
    *(marked("decide"), marked("resolve"), marked("persons"), marked("join"), marked("draw")),
    *(marked("latent"), marked("seal"), marked("compare"), marked("chance"), marked("permute")),
    marked("open"),
)
"""Of a rehearsal, and of a run."""

PHRASES = Phrases(
    (
        *WARNINGS,
        *STANDARD_ERRORS,
        *SUPPOSED,
        *RECALL_METHODS,
        *GROUPS,
        *DEPENDENCE,
        *(scheme.title for scheme in SCHEMES.values()),
    )
)
"""Of the documents of a run."""
