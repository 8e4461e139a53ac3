"""What a curious linkage unit could learn from signatures: the attacks, and what they recover.

An attack is given what Carole holds (`view`) and what everybody knows (`view`), never a key and never a true pair; it
returns the public value it takes each signature for. `recovery.score` judges the claims by the truth: the share of
values and records recovered, the most that was attainable, and what guessing would bring.

frequency: ranks of counts. similarity_graph (on mean_field, kernels): counts and similarities together, by quadratic
assignment. block_view, block_likelihood: the same inside blocks, and what the sizes of blocks give away. chaining:
classes of equal values rebuilt from rows joined across rules. category_codes, cooccurrence: rows joined by their codes,
one field read by means of another. samples: the groups of values from which u is estimated. recognition (on pairs,
fingerprint_model, pair_lookup, subgraphs): rows recognised by whoever has these people in clear, or some of them.
leakage_assessment: all that a custodian's own file would give away, for the gate.
"""
