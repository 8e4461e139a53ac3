"""A member that holds a hundred long polls at Carole, and the calls of the other."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import grpc

from gemel.common.parties import Side
from gemel.protos.linkage.v1 import custody_pb2
from tests.carole.deployment import Deployment

POLLS, CALLS = 100, 15


@contextmanager
def polling(deployment: Deployment) -> Iterator[None]:
    """A hundred connections of Alice's that poll again as soon as they have an answer, whatever it is."""
    ended, begun = threading.Event(), threading.Barrier(POLLS + 1, timeout=60)
    stubs = [deployment.custodian(Side.ALICE).stub for _ in range(POLLS)]
    request = custody_pb2.NextTaskRequest(wait_ms=20_000, waiting=["trial"])

    def poll(stub: object) -> None:
        call = stub.NextTask.future(request, timeout=30)  # type: ignore[attr-defined]
        begun.wait()
        while not ended.is_set():
            try:
                call.result(timeout=0.1)
            except grpc.FutureTimeoutError:
                continue
            except grpc.RpcError:
                ended.wait(0.01)
            call = stub.NextTask.future(request, timeout=30)  # type: ignore[attr-defined]
        call.cancel()

    threads = [threading.Thread(target=poll, args=(stub,)) for stub in stubs]
    for thread in threads:
        thread.start()
    try:
        begun.wait()
        yield
    finally:
        ended.set()
        for thread in threads:
            thread.join()


def test_a_hundred_long_polls_of_one_member_refuse_no_call_of_the_other(deployment: Deployment) -> None:
    deployment.keyed()
    bob = deployment.custodian(Side.BOB)
    with polling(deployment):
        for _ in range(CALLS):
            # By the stub, which unlike the client does not try again.
            assert bob.stub.NextTask(custody_pb2.NextTaskRequest(), timeout=20).kind == custody_pb2.TASK_KIND_CONTRIBUTE
