"""Which pairs are compared: all, those that share a keyed blocking key, or those with similar signatures.

`candidates` streams the blocks of keyed rules in parts of bounded size, each pair once, with a bit for every rule it
satisfies. Bands (`rules`, locality-sensitive hashing) and `value_relation` (multibit trees and canopies) need only the
signatures; `rules` writes their pairs and those of rules of any kind. `block_size_cap` splits or drops large blocks.
"""
