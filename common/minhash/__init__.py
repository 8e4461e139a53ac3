"""Signatures: the 1-bit minwise hash of a value's tokens under a field's keys.

`definition` is the signature by the book, `fast` makes many in bulk (a property test and golden vectors
keep the two together), `noise` flips some of their bits, and `jaccard` is what can be learnt from two of them.
"""

from tryst.common.minhash.fast import block_signatures, signatures
from tryst.common.minhash.noise import flipped

__all__ = ["block_signatures", "flipped", "signatures"]
