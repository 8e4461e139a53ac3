"""Mode `shared`: three compute parties evaluate comparison levels of secret-shared rows, and none of them sees a value.

Numbers only: no process, no network. `docs/shared-mode.md` is the protocol; the modules from the bottom up are
`compute_parties` (who holds which share), `row_words` (the bits of a row), `channel` (how two parties exchange
messages), `party` (what one party computes with the others), `permutation` (an order that no party knows).
"""
