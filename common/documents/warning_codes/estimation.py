"""Warnings on the fitted model: what its parameters and probabilities stand on."""

from __future__ import annotations

from gemel.common.documents.warning_codes.warning_code import WarningCode

ESTIMATION = (
    WarningCode(
        code="model_not_identified",
        severity="serious",
        meaning="Too few fields distinguish matches from other pairs; other parameters fit the counts as well.",
        text="The model is {reason}.",
        remedy="Compare three or more fields, or with two fields set model.u to all_pairs.",
    ),
    WarningCode(
        code="estimation_not_converged",
        severity="serious",
        meaning="EM reached model.max_iterations before it converged.",
        text="EM stopped after {iterations} iterations without converging; it was {distance}. Every probability is"
        " provisional.",
        remedy="Raise model.max_iterations, or look for fields that separate matches from non-matches poorly.",
    ),
    WarningCode(
        code="no_matches",
        severity="serious",
        meaning="The expected number of matches fell to 0.",
        text="There is no sign of matches: their expected number fell to 0.",
        remedy="Check that each field reads the right column of both files, and that the files can have people in"
        " common.",
    ),
    WarningCode(
        code="p_at_one_to_one_limit",
        severity="warning",
        meaning="Estimation would have more matches than one-to-one linkage allows, and p is held at the limit.",
        text="Estimation gives {expected:.1f} matches but one-to-one linkage allows {maximum:.0f}, where p is held:"
        " either nearly every record has its match, or something else than matching makes pairs agree.",
        remedy="Compare the number of matches with what is known of the files' overlap; if it is too high, look for"
        " fields that agree within a household or a town.",
    ),
    WarningCode(
        code="field_always_missing",
        severity="warning",
        meaning="No compared pair has both values of a field.",
        text="Field {field} is missing in every pair and contributes nothing.",
        remedy="Check the field's column and its missing codes in both files, or drop the field.",
    ),
    WarningCode(
        code="field_constant",
        severity="warning",
        meaning="A field has the same comparison level in every pair.",
        text="Field {field} takes one level in every pair and contributes nothing.",
        remedy="Check the field's column in both files, or drop the field.",
    ),
    WarningCode(
        code="m_assumed",
        severity="warning",
        meaning="All blocking rules involve a field, so its m cannot be estimated from the compared pairs.",
        text="Every blocking rule involves {field}, so how often matches agree on it cannot be estimated: {share:.0%}"
        " at the top level is assumed.",
        remedy="Add a blocking rule without the field.",
    ),
    WarningCode(
        code="agreement_counts_against_match",
        severity="warning",
        meaning="A field agrees less often among matches than among other pairs.",
        text="Agreement on {field} counts against a match (m < u at the top level).",
        remedy="Check the field's column and its cleaning in both files.",
    ),
    WarningCode(
        code="m_from_few_matches",
        severity="warning",
        meaning="The m of some fields was estimated from few expected matches.",
        text="m was estimated from few expected matches: {fields}.",
        remedy="Treat the match weights of these fields as uncertain; their standard errors show how much.",
    ),
    WarningCode(
        code="m_below_belief",
        severity="serious",
        meaning="Matches agree on some fields far less often than is believed: the links may be of something else.",
        text="Links agree on some fields far less often than one person's records should: {fields}. They may be of"
        " households, or of people who are alike.",
        remedy="Check that these columns mean the same in both files. If they do, state what is known: model.m_prior of"
        " these fields, and model.expected_matches; or compare a field that distinguishes persons.",
    ),
    WarningCode(
        code="levels_not_observed",
        severity="note",
        meaning="No pair has some levels of a field; their m and u are those of the prior.",
        text="No pair has these levels (0 is the least similar), so their m and u come from the prior: {levels}.",
    ),
    WarningCode(
        code="scheme_not_calibrated",
        severity="warning",
        meaning="The scheme's match weights rank pairs, but its probabilities are not calibrated.",
        text="Scheme {scheme}: weights shaded by similarity rank the pairs but are not ratios of probabilities, so"
        " match probabilities, and the precision and recall expected of the links, are not calibrated.",
        remedy="Choose the threshold with that in mind, or leave model.scheme at its default.",
    ),
    WarningCode(
        code="dependence_not_converged",
        severity="warning",
        meaning="Estimation with dependent fields ended before the number of matches was stable.",
        text="The model of dependent fields had not converged after {rounds} rounds: the number of matches still"
        " changes.",
        remedy="Compare the result with that of model.dependence: none.",
    ),
    WarningCode(
        code="dependence_ignored",
        severity="warning",
        meaning="model.dependence is none, and two fields depend on each other strongly.",
        text="model.dependence is none, but pairs of two people agree on both {first} and {second} {times} as often as"
        " independence has it: {effect}.",
        remedy="Leave model.dependence at its default.",
    ),
    WarningCode(
        code="claim_outside_interval",
        severity="serious",
        meaning="What the model claims of its links lies outside the interval of an estimate beside it.",
        text="The model claims a {of} of {claimed:.2%}, but by {method} it is {value:.2%} ({lower:.2%} to"
        " {upper:.2%}).",
        remedy="Rely on the estimate rather than the claim; look for what makes records of different people agree, such"
        " as kin, and raise links.threshold or add fields that distinguish a person.",
    ),
    WarningCode(
        code="check_field_shows_nothing",
        severity="warning",
        meaning="The check field gives no estimate of the share of false links.",
        text="The check field {field} shows nothing of the links' quality: too few links are sure, or false links agree"
        " on it about as often as true ones.",
        remedy="Choose another check field, one that kin do not share, in quality.check_field.",
    ),
    WarningCode(
        code="decoys_show_nothing",
        severity="warning",
        meaning="Decoys give no estimate of the share of false links.",
        text="Decoys show nothing of the links' quality: nearly every record that could have a match is linked, and"
        " decoys stand for people who have none.",
        remedy="Use a check field (quality.check_field) instead.",
    ),
    WarningCode(
        code="second_solution",
        severity="warning",
        meaning="Another number of links explains the pairs nearly as well.",
        text="{links:.1f} links explain the pairs best; {other:.1f} are a second solution, which explains them less"
        " well (log posterior lower by {difference:.2g}).",
        remedy="Compare both numbers with what is known of the files' overlap.",
    ),
    WarningCode(
        code="expected_links_not_converged",
        severity="warning",
        meaning="The expected number of links was not stable when its computation ended.",
        text="The expected number of links had not converged after {steps} steps.",
        remedy="Treat link probabilities as approximate.",
    ),
    WarningCode(
        code="competing_records_not_converged",
        severity="warning",
        meaning="Link probabilities of some competing records are approximate.",
        text="The link probabilities of {records} competing records had not converged: they are approximate.",
        remedy="Compare a further field that distinguishes records with many similar candidates.",
    ),
    WarningCode(
        code="cycles_by_propagation",
        severity="note",
        meaning="Some groups of competing records are too large for exact link probabilities.",
        text="{groups} groups of records that compete in a cycle are too large to enumerate or to sample: their link"
        " probabilities are approximate, the best exchange being somewhat overstated.",
        remedy="Compare a further field that distinguishes records with many similar candidates.",
    ),
    WarningCode(
        code="draws_not_converged",
        severity="warning",
        meaning="The drawn linkages may not stand for all that are probable.",
        text="The chains behind the {draws} drawn linkages had not converged: split R-hat {r_hat:.2f} (1.1 at most is"
        " good), worth {effective:.0f} independent draws.",
        remedy="Do not take intervals from these draws; compare a further field that distinguishes records, or block.",
    ),
)

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
