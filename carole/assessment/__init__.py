"""The disclosure risk of a run's combined output: the output, what an intruder can infer, and how to reduce the risk.

`combined`: the linked records with both files' codes side by side, and each link's probability.
`combined_assessment`: the assessment as a document, and the policy decision. `measures`: the entry of a measure.
`cell_risk`: the probability of a correct match; `true_links` and `expected_matches`: people behind true links,
by two laws; `identification` (with combinations of key values), `attribution`, `publication`, `membership`: the four
kinds of risk; `invented_records`: what a custodian may have made up; `options`: what would lower the risks;
`measures`: what earlier releases add. `protected`: what is coarsened where a limit is breached, by the search of
`coarsening_search` over the `ladders` that the specification allows. Codes only, never labels.
"""
