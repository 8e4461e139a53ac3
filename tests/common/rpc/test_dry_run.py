"""What a dry run shows of the request that it does not send."""

from __future__ import annotations

import json

from gemel.common.rpc.dry_run import NotSentError
from gemel.protos.linkage.v1 import coordination_pb2

SIGNATURE = bytes(range(64))
DIGEST = b"\x0a" * 32


def test_a_request_is_shown_without_its_signatures() -> None:
    """Who saw a signature could bring it to Carole, as a consent that was only tried out."""
    approved = coordination_pb2.ApproveProjectRequest(
        project="births", specification_digest=DIGEST, signature=SIGNATURE
    )
    taken = coordination_pb2.TakeOverRequest(
        project="births", signature=SIGNATURE, approval=SIGNATURE, epoch_signature=SIGNATURE
    )
    for request in (approved, taken):
        withheld = NotSentError("/linkage.v1.Coordination/Any", "carole:7443", request)
        shown = "\n".join(withheld.lines()) + json.dumps(withheld.document())
        assert "births" in shown
        assert "carole:7443" in shown
        assert "64 bytes, not shown" in shown
        assert SIGNATURE.hex() not in shown
    assert DIGEST.hex() in "\n".join(NotSentError("/m", "carole", approved).lines())
