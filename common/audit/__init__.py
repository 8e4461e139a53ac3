"""A tamper-evident log: entries as leaves of a Merkle tree in the manner of RFC 6962, whose size and root Carole signs.
With a signed checkpoint a reader can check whether a later log still begins with the log it was signed for.

`merkle` has the tree's hashes and verifies proofs, `entry` has the content of a leaf, `checkpoint` the signed size and
root and the checks of a reader, `statements` what else parties sign. Carole's tables and her tree are in
`carole.store`.
"""

from gemel.common.audit.checkpoint import Checkpoint, Witness
from gemel.common.audit.entry import AuditEntry
from gemel.common.audit.merkle import verify_consistency, verify_inclusion

__all__ = [
    "AuditEntry",
    "Checkpoint",
    "Witness",
    "verify_consistency",
    "verify_inclusion",
]
