"""What a curious linkage unit could learn from signatures: the attacks, and what they recover.

An attack is given what Carole holds and what everybody knows (both in `view`), never a key and never a true pair; it
returns the public value it takes each signature for. `recovery.score` judges the claims by the truth: the share of
values and records recovered, the most that was attainable, and what guessing would bring.

view: ranks of counts. similarity_graph: counts and similarities together, by quadratic assignment. block_view,
block_model: the same inside blocks, and what the sizes of blocks give away. held_back: classes of equal values rebuilt
from rows joined across rules or salts. across: rows joined by their codes, one field read by means of another.
recognition (on pairs, fingerprint_model, subgraphs): rows recognised by whoever has these people in clear, or some of
them. leakage_assessment (on own_whole, own_blocks): all that a custodian's own file would give away, for the gate.
"""
