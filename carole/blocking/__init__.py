"""Which pairs are compared: all of them, those that share a keyed blocking key, or those whose signatures are alike.

`candidates` streams the blocks of keyed rules in parts of bounded
size, each pair once, with a bit for every rule it satisfies. `bands` (locality-sensitive hashing), `similar_values`
(multibit trees and canopies) need nothing but the signatures; `rules` writes their pairs and `union` those of rules of
any kind. `skew` splits or drops blocks that are too large.
"""

from tryst.carole.blocking.candidates import AllPairs, Block, CandidatePairs, PairSource, Part
from tryst.carole.blocking.rules import KeyedRule, Rule, ValueRule
from tryst.carole.blocking.union import UnionPairs

__all__ = ["AllPairs", "Block", "CandidatePairs", "KeyedRule", "PairSource", "Part", "Rule", "UnionPairs", "ValueRule"]
