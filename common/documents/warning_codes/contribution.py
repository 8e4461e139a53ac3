"""Warnings on a custodian's file: as read and cleaned, and on what it would disclose to Carole."""

from gemel.common.documents.warning_codes.warning_code import WarningCode

CONTRIBUTION = (
    WarningCode(
        code="source_form_found",
        severity="note",
        meaning="A custodian's configuration leaves the encoding or the separator of its CSV file to be found.",
        text="{form}, as was found in the file.",
        remedy="If that is right, declare both in the configuration: a file that is written otherwise is then refused.",
    ),
    WarningCode(
        code="own_copies",
        severity="warning",
        meaning="A custodian's file seems to have people more than once, of whose records one only would be linked.",
        text="{equal:,} pairs of records are equal in every field and {near:,} in all but one, more than by chance: the"
        " file has people more than once, and links.assignment {assignment} links one record of each.",
        remedy="Find them by `gemel duplicates` and take them out, or have links.assignment changed to one that allows"
        " several.",
    ),
    WarningCode(
        code="field_without_values",
        severity="serious",
        meaning="A compared field has no value in the file.",
        text="{field}: no row has a value in {column!r}.",
        remedy="Check that it is the right column, and that its values are no missing codes.",
    ),
    WarningCode(
        code="values_unreadable",
        severity="warning",
        meaning="More than a twentieth of a field's values are not valid dates or numbers of the specification.",
        text="{field}: {unreadable:,} of {written:,} values could not be read as a {kind}.",
        remedy="Check the kind and the column; of a date, the order of day, month and year.",
    ),
    WarningCode(
        code="values_emptied",
        severity="warning",
        meaning="Cleaning empties more than a twentieth of a field's values.",
        text="{field}: cleaning empties {emptied:,} of {written:,} values.",
        remedy="Check the field's cleaning steps.",
    ),
    WarningCode(
        code="rows_without_value",
        severity="warning",
        meaning="More than half of the rows have no value of a field.",
        text="{field}: {missing:,} of {rows:,} rows have no value.",
        remedy="Check the column and the missing codes; a field that is mostly missing contributes little.",
    ),
    WarningCode(
        code="values_without_salt",
        severity="warning",
        meaning="More than a twentieth of a field's values are sent as missing, since their rows lack the salt.",
        text="{field}: {unsalted:,} of {present:,} values are sent as missing, because the rows lack the attribute of"
        " the salt.",
        remedy="Check the column of the salt, or salt by a field that is seldom missing.",
    ),
    WarningCode(
        code="no_value_listed",
        severity="warning",
        meaning="No value of a field is on its list `only_similar`.",
        text="{field}: no value is on the list only_similar.",
        remedy="Check the list against the column.",
    ),
    WarningCode(
        code="one_value_in_all_rows",
        severity="warning",
        meaning="All rows have the same value of a field.",
        text="{field}: all rows have the same value, which distinguishes no records.",
        remedy="Check the column, or drop the field.",
    ),
    WarningCode(
        code="variable_without_categories",
        severity="serious",
        meaning="A variable has no category in the file.",
        text="{variable}: no row has a category in {column!r}.",
        remedy="Check that it is the right column, and that its values are no missing codes.",
    ),
    WarningCode(
        code="rows_without_category",
        severity="warning",
        meaning="More than half of the rows have no category of a variable.",
        text="{variable}: {missing:,} of {rows:,} rows have no category.",
        remedy="Check the column and the missing codes.",
    ),
)

LEAKAGE = (
    WarningCode(
        code="values_sent",
        severity="warning",
        meaning="Mode trusted hides no value from Carole.",
        text="Mode trusted sends the values themselves.",
        remedy="Approve it only if Carole may lawfully see them; mode open sends signatures instead.",
    ),
    WarningCode(
        code="known_attacks_only",
        severity="note",
        meaning="The figures are of the attacks that Gemel has.",
        text="Measured with known attacks and the best possible public lists of values; other attacks may recover"
        " more.",
    ),
    WarningCode(
        code="keys_read_everything",
        severity="note",
        meaning="The figures assume that Carole has no seed.",
        text="Carole together with a custodian, or a leaked seed, reads everything: no encoding prevents that.",
    ),
    WarningCode(
        code="mode_open_measured",
        severity="note",
        meaning="The figures are those of mode open.",
        text="In mode open, signatures can be compared across the whole file.",
        remedy="Mode block_keyed with blocking rules lowers these figures.",
    ),
    WarningCode(
        code="register_recognises",
        severity="warning",
        meaning="An attacker with a register of these people recognises more than one in twenty of them.",
        text="Whoever has {register} recognises {share:.1%} of the people in it by what their rows have in common"
        " ({where}), if she holds every compared field. The specification sets no limit to that.",
        remedy="Narrower blocking rules, short signatures (bits: 64) and randomised_response lower it; `leakage:"
        " {partial_register: ..., full_register: ...}` sets a limit.",
    ),
    WarningCode(
        code="sizes_measured",
        severity="note",
        meaning="The figures are of the sizes of blocks: in mode shared no party sees more.",
        text="The figures are of the sizes of blocks only: in mode shared no one sees a signature or a similarity, so"
        " that the attacks on these recover nothing. Any two of Carole, the coordinator and the steward could see"
        " together what mode block_keyed shows her.",
        remedy="For what two of them could learn together, measure the same specification with `mode: block_keyed`.",
    ),
    WarningCode(
        code="joins_not_measured",
        severity="note",
        meaning="The figures do not cover that Carole may join rows of different rules.",
        text="Carole may also join rows across rules (resolution: by carole): these figures do not cover that.",
    ),
    WarningCode(
        code="joins_across_salts",
        severity="note",
        meaning="The figures cover few attacks that join values across salts.",
        text="A value that few rows share, such as the address of relatives, joins values across salts. The attack by"
        " it is a simple one; the more of each household is in the file, the more it recovers.",
    ),
    WarningCode(
        code="own_combinations",
        severity="note",
        meaning="The share of records with a unique combination of codes.",
        text="The codes of {variables} variables are sent {where}: {share:.1%} of the records have a unique"
        " combination.",
    ),
    WarningCode(
        code="measured_in_part",
        severity="note",
        meaning="The file is large, and what Carole could learn of it was measured on some of its blocks.",
        text="Measured on {drawn:,} of {records:,} records: whole blocks of every size and records at random, with the"
        " sizes of blocks and the commonest values of all records. The largest standard error of a figure is"
        " {error:.1%}; the share of unique combinations of codes is that of the records drawn at random, and too high.",
    ),
)
