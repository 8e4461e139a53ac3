"""Warnings on the files of a linkage, on blocking and on the pairs that were compared and kept."""

from gemel.common.documents.warning_codes.warning_code import WarningCode

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
