"""Warnings on disclosure risk: of a combined output, and of the models and keys that an intruder may use."""

from gemel.common.documents.warning_codes.warning_code import WarningCode

COMBINED_OUTPUT = (
    WarningCode(
        code="no_linked_record",
        severity="note",
        meaning="The combined output is empty.",
        text="There is no linked record: nothing can be disclosed but that fact.",
    ),
    WarningCode(
        code="one_linked_record",
        severity="warning",
        meaning="The combined output is one record.",
        text="There is one linked record: a person known to be in the output is known to be this record.",
        remedy="Release it only if everything in it may be known of this person.",
    ),
    WarningCode(
        code="custodians_differ",
        severity="warning",
        meaning="Linked records have different values of a variable that both custodians hold.",
        text="In {records} linked records the custodians differ in {variable}; Alice's value was taken. Released side"
        " by side, the two values disclose more than one.",
        remedy="Release one of the two values only.",
    ),
    WarningCode(
        code="variable_without_values",
        severity="warning",
        meaning="No linked record has a value of a variable.",
        text="No linked record has a value of {variable}.",
        remedy="Check the variable's column in its custodian's file, or drop the variable.",
    ),
    WarningCode(
        code="key_often_missing",
        severity="note",
        meaning="More than a fifth of the linked records lack a key variable, and count as alike in it.",
        text="{share:.0%} of the linked records have no value of {variable}, which counts as a category: an intruder"
        " for whom a missing value agrees with any value finds fewer of them unique.",
    ),
    WarningCode(
        code="codes_of_links_only",
        severity="note",
        meaning="In modes block_keyed and shared the assessment knows the codes of links only.",
        text="In this mode Carole knows the codes of links only. Expected counts leave out the pairs that came close to"
        " a link, among which at most {matches:.3g} matches are expected; and each link's probability is the mean over"
        " at least {group} similar links, or over all where there are fewer.",
    ),
    WarningCode(
        code="former_projects",
        severity="note",
        meaning="Other projects of the same two custodians were released within a year; what each discloses adds up.",
        text="Within a year {projects:,} other projects of the same two custodians were released, with {links:,} links"
        " in all. A custodian that probes for people or attributes does so in many projects; what these disclose"
        " together is not assessed.",
    ),
    WarningCode(
        code="near_copies_unseen",
        severity="warning",
        meaning="Near-copies cannot be distinguished from records that are alike by chance, or from dummies.",
        text="Whether a custodian has contributed people many times with one attribute changed cannot be seen: too many"
        " records are alike by chance in the compared fields, or the blocks are padded with dummies.",
        remedy="Compare more fields that distinguish people; go without padding.",
    ),
    WarningCode(
        code="special_uniques_incomplete",
        severity="warning",
        meaning="Special uniques were not searched for in sets of all key variables.",
        text="Special uniques were searched for by at most {size} of the {keys} key variables.",
        remedy="Give the assessment more memory, or use fewer key variables.",
    ),
    WarningCode(
        code="earlier_tables_left_out",
        severity="warning",
        meaning="Tables of an earlier release have variables that the specification no longer has.",
        text="Tables over {variables} were released before, and are no longer variables: their additional disclosure"
        " risk could not be taken into account.",
        remedy="Keep the variables of published tables in the specification.",
    ),
    WarningCode(
        code="releases_not_compared",
        severity="warning",
        meaning="Of earlier releases of the same custodians no counts are kept, or none that can be compared.",
        text="Of {releases} earlier releases of the same custodians some or all tables could not be compared with this"
        " one: what they tell together with it is not known.",
        remedy="Read under `differences` which they are and why; whoever has their tables can compare them.",
    ),
    WarningCode(
        code="tables_not_compared",
        severity="warning",
        meaning="Published tables have too many cells to be kept and compared.",
        text="{tables} of the tables to be published have too many cells: they were compared with no earlier release,"
        " and no later one will be compared with them.",
        remedy="Publish tables of fewer cells.",
    ),
    WarningCode(
        code="tables_attacked_separately",
        severity="warning",
        meaning="The published tables were not attacked together.",
        text="The tables together have too many cells: each was attacked separately, which may find less.",
        remedy="Publish fewer tables, or tables of fewer cells.",
    ),
    WarningCode(
        code="rounding_drawn_again",
        severity="note",
        meaning="Random rounding was drawn for the assessment alone.",
        text="Random rounding was drawn for this assessment; it is drawn again for the published tables.",
    ),
)

IDENTIFICATION = (
    WarningCode(
        code="log_linear_not_converged",
        severity="serious",
        meaning="The log-linear model of the population was not fitted.",
        text="The log-linear fit has not converged: a margin is off by {deviation:.2g} records.",
        remedy="Do not rely on measures of this model (tau1, tau2); use fewer key variables, or merge categories.",
    ),
    WarningCode(
        code="model_contradicts_dis",
        severity="serious",
        meaning="A model of the population is contradicted by the file itself: by how many of its combinations are of"
        " one record and of two.",
        text="By {model} a unique match is right with chance {implied:.3g}, by the file's own pairs with {dis:.3g}"
        " ({low:.3g} to {high:.3g}): its risks are {direction}.",
        remedy="Do not rely on what is by this model; DIS needs none.",
    ),
    WarningCode(
        code="two_way_models_left_out",
        severity="note",
        meaning="Log-linear models without a closed form were left out, since too many combinations have a positive"
        " mean.",
        text="{number} log-linear models of two-way interactions have more than {cells:,} cells of positive mean and"
        " were left out; decomposable models, which need no cells, stand for them.",
    ),
    WarningCode(
        code="calibration_not_converged",
        severity="serious",
        meaning="The law that calibrates the risk of single records was not fitted.",
        text="The calibration of single records' risk has not converged.",
        remedy="Rely on DIS and its interval; use fewer key variables, or merge categories.",
    ),
    WarningCode(
        code="calibration_contradicts_dis",
        severity="warning",
        meaning="The calibrated risk of the file lies outside the interval of DIS.",
        text="The calibrated Pr(CM given UM) is {own:.3g}, outside the interval of DIS, {low:.3g} to {high:.3g}.",
        remedy="Rely on DIS and its interval; read the risk of single records as an order, not as chances.",
    ),
    WarningCode(
        code="records_copied",
        severity="serious",
        meaning="People are in the file more than once, and make company look common: every risk is too low.",
        text="Of the combinations of two records {share:.1%} are of two that agree in all {columns} columns.",
        remedy="Leave copies out and assess again.",
    ),
    WarningCode(
        code="calibration_rests_on_its_law",
        severity="note",
        meaning="The calibrated risk depends on a law of which the sample says little.",
        text="Whatever the law, tau2 could be up to {largest:.4g}; the interval, to {high:.4g}, takes a gamma law.",
        remedy="Where people who are alone may hide among common combinations, rely on the larger number.",
    ),
    WarningCode(
        code="chains_not_converged",
        severity="warning",
        meaning="The Markov chains over decomposable models disagree.",
        text="The chains have not converged (R-hat {r_hat:.3f}, edge spread {edge_spread:.2f}).",
        remedy="Make more moves, or use annealing or Occam's window.",
    ),
    WarningCode(
        code="chain_at_one_model",
        severity="warning",
        meaning="The Markov chain over decomposable models did not move.",
        text="The chain stayed at one model: this is that model's risk, not an average.",
        remedy="Make more moves, or use Occam's window.",
    ),
    WarningCode(
        code="one_model_searched",
        severity="note",
        meaning="The risk is that of one model, found by simulated annealing.",
        text="One good model was searched for; how sure the data are of it is not taken into account.",
    ),
    WarningCode(
        code="key_constant",
        severity="note",
        meaning="A key variable has one level.",
        text="{key} has one level in this file: it distinguishes no one.",
    ),
    WarningCode(
        code="key_nearly_unique",
        severity="warning",
        meaning="Nearly every record has its own value of a key variable, such as an exact income.",
        text="{key} has {values:,} values in {records:,} records: nearly everyone has a value of their own, and no one"
        " knows such values of others exactly.",
        remedy="Group the values as an intruder would know them.",
    ),
    WarningCode(
        code="fraction_contradicted",
        severity="warning",
        meaning="The sampling fraction is not the share of the population that the file is.",
        text="The file is {share:.3%} of the population given, and the sampling fraction was given as {fraction:.3%}:"
        " one of them is wrong, or units were sampled unequally.",
        remedy="Check both; where units were sampled unequally, give survey weights.",
    ),
    WarningCode(
        code="individual_risk_contradicted",
        severity="warning",
        meaning="Individual risk by survey weights lies outside the interval of the calibrated tau2.",
        text="Individual risk claims {claimed:.3g} correct matches among the unique records;"
        " calibrated on the file they are {low:.3g} to {high:.3g}.",
        remedy="Rely on the calibrated figure: individual risk does not know how rare a combination is.",
    ),
    WarningCode(
        code="weights_contradict_fraction",
        severity="warning",
        meaning="Survey weights sum to another population than the sampling fraction gives.",
        text="The survey weights make the file {share:.3%} of its population, and the sampling fraction is"
        " {fraction:.3%}: individual and unit risk follow the weights, the other measures the fraction.",
        remedy="Give weights that raise the file to its population, not weights scaled to a mean of 1.",
    ),
)
