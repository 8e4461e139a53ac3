"""Mode `shared`: three compute parties evaluate comparison levels of secret-shared rows, and none of them sees a value.

Numbers only: no process, no network. `docs/shared-mode.md` is the protocol; the modules from the bottom up are
`channel` (how two parties exchange
messages); `streams`, `gates`, `arithmetic` (what a party computes), `vouched_openings`, `gate_check` (what it
checks), `party` (all of that), `local_session` (three parties in one process); `bit_slices`, `circuits`, `counting`
(what is computed), `output_bits`, `sliced_pairs`, `output_slices`, `pair_levels` (the comparison of pairs),
`permutation` (an order that no party knows).
"""
