"""One code of the registry: its meaning, severity, text and remedy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

Severity = Literal["note", "warning", "serious"]
"""How much a warning matters, in ascending order.

``note`` explains figures and needs no action. ``warning``: check it before you rely on the figures. ``serious``: do not
rely on the figures until it is remedied.
"""

SEVERITIES: tuple[Severity, ...] = get_args(Severity)


@dataclass(frozen=True)
class WarningCode:
    """The common properties of all warnings of one code."""

    code: str
    severity: Severity
    meaning: str
    text: str
    remedy: str = ""


VALUES = (
    WarningCode(
        code="variable_left_out",
        severity="warning",
        meaning="The value model does without a variable or key, since a file has no use for it.",
        text="{variable} is left out of the value model: {reason}.",
        remedy="Check the variable's column in both files, or take it out of the section latent.",
    ),
    WarningCode(
        code="latent_step_left_out",
        severity="warning",
        meaning="No variables remained for the extended latent step.",
        text="The extended latent step was left out: no values remain that are evidence on a pair. Links are those of"
        " Fellegi-Sunter.",
        remedy="Check the columns of the variables, or drop the section latent.",
    ),
    WarningCode(
        code="few_records_for_joint",
        severity="warning",
        meaning="The joint distribution was estimated from fewer records than it has free parameters.",
        text="The joint distribution has {parameters:.0f} free parameters, and {records:.0f} records to estimate them"
        " from: it is mostly its prior.",
        remedy="Use fewer variables or broader categories, or bring training records (latent.training).",
    ),
    WarningCode(
        code="joint_withheld",
        severity="warning",
        meaning="In modes block_keyed and shared the joint distribution was of few links: not released, not assessed.",
        text="The joint distribution is withheld: links are of fewer than {fewest:.0f} records of a file, and it would"
        " show their codes.",
        remedy="Link larger files, or release no joint distribution.",
    ),
    WarningCode(
        code="variable_constant_among_links",
        severity="warning",
        meaning="A variable varies in the files, and not among the links of agreement alone.",
        text="{variable} has one category in all links of agreement alone: what other categories occur with is not"
        " known, and pairs that have them are judged by the prior.",
        remedy="Bring training records (latent.training), or take the variable out.",
    ),
    WarningCode(
        code="priors_without_effect",
        severity="warning",
        meaning="Beliefs about m, u or p were stated, and the latent step did not estimate it again.",
        text="latent.priors of {parameters} had no effect: the weights of agreement, or p, stay as they were before the"
        " latent step.",
        remedy="State beliefs about m in model.m_prior, and about p in model.expected_matches.",
    ),
    WarningCode(
        code="joint_distribution_not_converged",
        severity="warning",
        meaning="Estimation of the joint distribution ended before it converged.",
        text="The joint distribution had not converged when its estimation ended.",
        remedy="Treat what the values add as approximate; fewer variables or categories converge sooner.",
    ),
    WarningCode(
        code="m_not_converged_beside_values",
        severity="warning",
        meaning="The EM of the extended latent step ended before it converged.",
        text="m had not converged after {iterations} steps beside the values' Bayes factors: probabilities are"
        " provisional.",
        remedy="Raise model.max_iterations.",
    ),
    WarningCode(
        code="values_disagree_with_p",
        severity="warning",
        meaning="With the values the number of matches would be far from the one that p is held at.",
        text="With the values there seem to be {found:.0f} matches, while p was held at {held:.0f}: probabilities may"
        " be off by as much.",
        remedy="Compare both numbers with what is known of the files' overlap.",
    ),
    WarningCode(
        code="p_at_limit_beside_values",
        severity="warning",
        meaning="With latent.p free, p rose to the largest value that one-to-one linkage allows.",
        text="p rose to the largest value that one-to-one allows.",
        remedy="Set latent.p to held.",
    ),
    WarningCode(
        code="value_model_overfits",
        severity="warning",
        meaning="The value model fits the pairs it was estimated from better than other matches.",
        text="Estimation {number} of the value model over-fits: it gives an expected match that it was estimated from"
        " {bits:.1f} bits more than another.",
        remedy="Use fewer variables, or set latent.rounds to 0.",
    ),
    WarningCode(
        code="value_model_inflates_matches",
        severity="warning",
        meaning="Estimating the value model again raised the number of matches.",
        text="Estimating the value model again raised the expected matches from {first:.0f} to {last:.0f}: it takes for"
        " matches what it was fitted to.",
        remedy="Set latent.rounds to 0.",
    ),
    WarningCode(
        code="judged_pair_by_pair",
        severity="note",
        meaning="An intruder's keys are too weak to judge pairs together.",
        text="The keys are too weak to judge pairs together: each pair is judged by itself.",
    ),
)

CANDIDATES = (
    WarningCode(
        code="field_mostly_missing",
        severity="warning",
        meaning="A file lacks a field in more than half of its rows.",
        text="{side} has no value of {field} in {share:.0%} of the rows.",
        remedy="Check the field's column and its missing codes in this file.",
    ),
    WarningCode(
        code="equal_records",
        severity="warning",
        meaning="Records of one file are equal in every field, where each should have one match at most.",
        text="{records:,} of {side}'s records equal another of {side}'s in every field: they may be one person twice."
        " Of those that are, one is linked under links.assignment {assignment}; {other} links all.",
        remedy="Set links.assignment as named, in mode open clusters if both files have such records; or take the"
        " duplicates out of the file.",
    ),
    WarningCode(
        code="shared_partner",
        severity="warning",
        meaning="Records of one file match the same record of the other, where each should have one match at most.",
        text="{records:,} of {side}'s records match a record of the other file that another of {side}'s matches too; at"
        " most one of them is linked under links.assignment {assignment}; {other} links all.",
        remedy="Look for duplicates in the file; where there are some, set links.assignment as named, in mode open"
        " clusters if both files have some.",
    ),
    WarningCode(
        code="near_copies",
        severity="serious",
        meaning="A custodian's file has records that are each alike to many others of the same file, in all but a field"
        " or two: so a file looks whose holder probes for attributes of people in the other file.",
        text="{records:,} of {side}'s records have {partners} near-copies or more in the same file, which differ in a"
        " field or two. Where they are not several records of the same people by the file's nature, they may be"
        " invented, to see which of them is linked.",
        remedy="Ask the custodian why, before anybody receives links.",
    ),
    WarningCode(
        code="persons_in_doubt",
        severity="warning",
        meaning="The persons within a file, of whom entities are made, were found by an estimate that is in doubt.",
        text="Within {side}'s file: {reason}.",
        remedy="Compare more fields that distinguish people; or take duplicates out by `gemel duplicates`, and set"
        " links.assignment to one_to_one.",
    ),
    WarningCode(
        code="links_exceed_smaller_file",
        severity="warning",
        meaning="There are more links than records in the smaller file.",
        text="{links:,} links, more than the {records:,} records of the smaller file: its people would have to be"
        " {times:.1f} times or more in the other file, on average.",
        remedy="If no one is more than once in a file, set links.assignment to one_to_one.",
    ),
    WarningCode(
        code="links_exceed_both_files",
        severity="serious",
        meaning="There are more links than records in either file; no precision and recall are expected of them.",
        text="{links:,} links, more than either file has records ({records:,} in the larger one): what the model takes"
        " for a match is something that many pairs have in common, not one person. What it expects of these links is"
        " left out.",
        remedy="Set links.assignment to one_to_one, or to many_to_one or one_to_many where people are more than once in"
        " Alice's or in Bob's file; compare fields that distinguish people.",
    ),
    WarningCode(
        code="large_blocks",
        severity="warning",
        meaning="Blocks of a rule have so many pairs that they decide the run's time.",
        text="Blocking rule {rule} has {blocks} blocks of more than {limit:,} pairs; the largest is {rows_a:,} by"
        " {rows_b:,} rows.",
        remedy="Add a field to the rule.",
    ),
    WarningCode(
        code="blocks_split",
        severity="note",
        meaning="Blocks above a rule's limit were split by the rule's `split`.",
        text="Blocking rule {rule}: {blocks:,} blocks of more than {limit:,} pairs were split by {field}; the largest"
        " was {rows_a:,} by {rows_b:,} rows.",
    ),
    WarningCode(
        code="blocks_left_out",
        severity="warning",
        meaning="Blocks above a rule's limit were left to the other rules; matches in them may be lost.",
        text="Blocking rule {rule}: {blocks:,} blocks of more than {limit:,} pairs ({pairs:,} pairs) were left to the"
        " other rules; the largest was {rows_a:,} by {rows_b:,} rows.",
        remedy="Add a field to the rule.",
    ),
    WarningCode(
        code="rule_without_pairs",
        severity="warning",
        meaning="No block of a rule has records of both files.",
        text="Blocking rule {rule} proposes no pairs.",
        remedy="Check that both files have the rule's fields and write them in the same form.",
    ),
    WarningCode(
        code="records_without_key",
        severity="warning",
        meaning="Records without a blocking key under any rule are never compared.",
        text="{number} of {side}'s {total:,} {unit} have no blocking key under any rule and cannot be linked.",
        remedy="Add a rule on fields that these records have.",
    ),
    WarningCode(
        code="blocking_recall_unknown",
        severity="warning",
        meaning="How many matches blocking lost cannot be estimated from these rules.",
        text="What blocking lost cannot be estimated: {reason}.",
        remedy="Until then, read the expected recall as that among candidate pairs only.",
    ),
    WarningCode(
        code="pairs_not_kept",
        severity="warning",
        meaning="Weak pairs were not kept one by one, since they did not fit into memory.",
        text="Only pairs of match weight {floor:.1f} and more were kept ({pairs:,}); weaker ones are only counted.",
        remedy="Give the run more memory, or block more finely.",
    ),
    WarningCode(
        code="pairs_with_dummies",
        severity="note",
        meaning="Pairs with dummy records were left out of the decision; some remain in counts of candidate pairs.",
        text="{dummies:,} of the {pairs:,} pairs that came near to a link are with dummies and were left out; counts of"
        " candidate pairs include other pairs with dummies.",
    ),
    WarningCode(
        code="joined_by_carole",
        severity="warning",
        meaning="Carole learnt which rows of different blocking rules are one record.",
        text="Carole joined the rows of {records_a:,} of Alice's and {records_b:,} of Bob's records, of at most"
        " {maximum:,} each: the fall-back of mode block_keyed (resolution: by carole).",
        remedy="resolution: by coordinator keeps this from her.",
    ),
)
