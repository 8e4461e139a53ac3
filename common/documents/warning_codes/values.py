"""Warnings on the extended latent step, and on the attacks of an intruder who links."""

from gemel.common.documents.warning_codes.warning_code import WarningCode

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
