"""From cleaned records to a contribution: sets of keyed signatures, and what is sent beside them.

`records` makes the sets from cleaned columns and `streamed` the same from a file that is larger than the memory, both
by `signing`: `custodian.tokens` cuts a value into padded bigrams, `minhash` makes the signature of them. `blocks` and
`blocking_keys` make the keyed digests that decide which pairs are compared at all, `categories` relabels the category
variables, and `padding`, `decoys`, `padding` and `samples` add what hides sizes. What is sent, and what Carole reads,
is in `common.signatures`.
"""
