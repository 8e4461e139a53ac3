"""From cleaned records to a contribution: sets of keyed signatures, and what is sent beside them.

`records` makes the sets from cleaned columns, `streamed` the same from a file larger than the memory (`file_records`),
as the mode has it (`rows_of_mode`); `signing` signs them by `custodian.tokens` and `minhash`; `blocking_keys` and
`categories` make keyed digests and codes; `padding`, `decoys` and `samples` add what hides sizes, and `columns` puts
rows in order. What is sent, and what Carole reads, is in `common.signatures`.
"""
