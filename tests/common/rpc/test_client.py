"""A channel that was closed prepares nothing."""

from __future__ import annotations

import grpc
import pytest

from gemel.common.rpc.client import GuardedChannel

PREPARED = ("unary_unary", "unary_stream", "stream_unary", "stream_stream")


@pytest.mark.parametrize("kind", PREPARED)
def test_nothing_is_prepared_once_it_is_closed(kind: str) -> None:
    channel = GuardedChannel(grpc.insecure_channel("127.0.0.1:1"))
    assert callable(getattr(channel, kind)("/linkage.v1.Audit/Witness"))
    channel.close()
    with pytest.raises(ValueError, match="closed"):
        getattr(channel, kind)("/linkage.v1.Audit/Witness")
