"""Which pairs are compared: all of them, or those that share a keyed blocking key under some rule.

`definition` says plainly which pairs are candidates; `candidates` streams them in parts of bounded size, each
pair once, with a bit for every rule it satisfies.
"""

from carole.blocking.candidates import AllPairs, Block, CandidatePairs, PairSource, Part

__all__ = ["AllPairs", "Block", "CandidatePairs", "PairSource", "Part"]
