"""A log that cannot be quietly changed: entries as leaves of a Merkle tree in the manner of RFC 6962, whose size and
root Carole signs. Whoever keeps a signed checkpoint can tell whether a later log still begins with what it stood for.

`merkle` holds the tree and its proofs, `entry` what a leaf is, `checkpoint` the signed size and root, and `witness`
what a reader keeps and refuses. Carole's tables are in `carole.store`.
"""

from tryst.common.audit.checkpoint import Checkpoint
from tryst.common.audit.entry import AuditEntry
from tryst.common.audit.merkle import Tree, consistency_proof, inclusion_proof, verify_consistency, verify_inclusion
from tryst.common.audit.witness import Witness

__all__ = [
    "AuditEntry",
    "Checkpoint",
    "Tree",
    "Witness",
    "consistency_proof",
    "inclusion_proof",
    "verify_consistency",
    "verify_inclusion",
]
