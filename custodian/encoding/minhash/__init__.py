"""Signatures: the 1-bit minwise hash of a value's tokens under a field's keys.

`fast` makes many of them in bulk, `noise` applies randomised response to their bits.

A token's code enters with the digest of its block (zeros in open mode): AES-256 under k1 of the 8 bytes of
the digest and the 8 of the code, of which the first 8 are kept, hides the token. AES-256 under k2 of those
8 bytes and a counter of 8 gives four numbers of 32 bits; counters 0, 1, 2, ... give the token's M numbers,
one per bit of the signature. Bit i of a value's signature comes from the smallest i-th number of its
tokens, in the order of ``v >> 1``: it is ``v & 1`` there, a bit that does not affect the order [1]_ [2]_.
Two numbers that differ in that bit alone tie, with probability 2**-31 a pair; the bit is then 0, so the
smallest whole number decides everything.

Randomised response derives 64 bits from the signature, by CBC-MAC under a key of the custodian's alone, and from them
and a counter eight draws of 16 bits at a time. Bit i is inverted where draw i is below 65536 times the probability,
rounded: no floating point decides a bit, and the probability is off by 1/131072 at most.

All integers are little-endian. Bit i of the signature is bit ``i % 64`` of word ``i // 64``, hence bit ``i
% 8`` of byte ``i // 8``.

References
----------
.. [1] Broder, On the resemblance and containment of documents, SEQUENCES 1997. doi:10.1109/SEQUEN.1997.666900
.. [2] Li and Koenig, b-Bit minwise hashing, WWW 2010. doi:10.1145/1772690.1772759
"""

from gemel.custodian.encoding.minhash.fast import block_signatures, signatures
from gemel.custodian.encoding.minhash.noise import with_randomised_response

__all__ = ["block_signatures", "signatures", "with_randomised_response"]
