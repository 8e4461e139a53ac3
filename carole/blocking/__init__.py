"""Which pairs are compared: all, those that share a keyed blocking key, or those with similar signatures.

`candidates` streams the blocks of keyed rules in parts of bounded size, each pair once, with a bit for every rule it
satisfies. `bands` (locality-sensitive hashing) and `value_relation` (multibit trees and canopies) need only the
signatures; `rules` writes their pairs and `union` those of rules of any kind. `block_size_cap` splits or drops blocks
that are too large.
"""

from gemel.carole.blocking.candidates import AllPairs, AscendingPairs, Block, CandidatePairs, PairSource, Part
from gemel.carole.blocking.rules import KeyedRule, Rule, UnionPairs, ValueRule

__all__ = [
    "AllPairs",
    "AscendingPairs",
    "Block",
    "CandidatePairs",
    "KeyedRule",
    "PairSource",
    "Part",
    "Rule",
    "UnionPairs",
    "ValueRule",
]
