"""Fellegi-Sunter linkage from counts of comparison patterns.

`model` has the counts and scores comparison vectors, `em` estimates m, u and p (with `settings`; `model_warnings`
selects the pairs for each parameter and reports limitations), `schemes` defines how similarity enters the model, and
`recall` estimates what blocking lost. `link_posterior` turns match weights into link probabilities under an
assignment (`one_to_one`; `prior`, `propagation`, `cores`), `link_rule` takes the decision, `linkage_draws` draws
linkages, and `kinds` estimates under an assignment, with kinds of pairs. `standard_errors` has those of m, u and p.
"""
