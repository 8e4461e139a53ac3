"""From cleaned records to a contribution: sets of keyed signatures, and what is sent beside them.

`records` makes the sets from cleaned columns, and `streamed` has it make the same from a file that is larger than the
memory, wherever its records are (`file_records`). What differs from mode to mode is in `rows_of_mode`; `signing` signs:
`custodian.tokens` cuts a value into padded bigrams, `minhash` makes the signature of them. `blocking_keys` makes the
keyed digests that decide which pairs are compared at all, `categories` relabels the category variables, `padding`,
`decoys` and `samples` add what hides sizes, and `columns` puts rows in order. What is sent, and what Carole reads, is
in `common.signatures`.
"""
