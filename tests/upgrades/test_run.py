"""This release reads what the parties of the former one sent each other in a run of mode block_keyed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.vectors.make_formats import PATH
from tryst.carole.engine.archive import unpacked
from tryst.carole.engine.resolution_exchange import decide, open_handles
from tryst.carole.engine.resolution_request import unpack_request
from tryst.carole.engine.resolution_result import unpack_result
from tryst.carole.engine.specified import plan_of
from tryst.common.custodian.steps.share import read_share
from tryst.common.errors import ErrorCode, TrystError
from tryst.common.keys.sealing import SealContext, open_file
from tryst.common.keys.sealing_key import SealingKey
from tryst.common.parties import Role, Side
from tryst.common.pki.enrolment_requests import load_enrolment_request
from tryst.common.pki.members import Members
from tryst.common.pki.reader import Reader
from tryst.common.specification import load_specification
from tryst.common.wire.row_handles import RowHandlesRequest, request_digest

GOLDEN_RUN = PATH.with_name("run")
RUN = "a44fbb2c5441d6a81ffb20e43e616897"
LINKS = 25


def key(name: str, folder: Path) -> SealingKey:
    """A key of the run's folder, in a file that only its owner may read."""
    path = folder / name
    path.write_bytes((GOLDEN_RUN / name).read_bytes())
    path.chmod(0o600)
    return SealingKey.load(path)


def test_the_lists(tmp_path: Path) -> None:
    members = Members.load(GOLDEN_RUN / "members.yaml")
    alice = members.in_role(Role.CUSTODIAN_A)
    request = load_enrolment_request(GOLDEN_RUN / "enrolment-request.yaml")
    assert (request.name, request.identity, request.sealing) == (alice.name, alice.identity, alice.sealing)
    assert members.dump() == (GOLDEN_RUN / "members.yaml").read_text()


def test_the_resolution(tmp_path: Path) -> None:
    spec = load_specification((GOLDEN_RUN / "specification.yaml").read_text())
    plan = plan_of(spec)
    request = unpack_request((GOLDEN_RUN / "request.bin").read_bytes(), plan)
    rows = (GOLDEN_RUN / "rows-alice.bin").read_bytes()
    assert request.requested[0] == request_digest(rows)
    n = len(request.found.pattern)
    assert len(RowHandlesRequest.unpack(rows).rows) == n
    members = Members.load(GOLDEN_RUN / "members.yaml")
    reader = Reader("coordinator", members, key("coordinator-sealing.key", tmp_path))
    a, b = (
        open_handles(reader, RUN, spec, request, side, (GOLDEN_RUN / f"handles-{side}.bin").read_bytes())
        for side in Side
    )

    former = np.flatnonzero(unpacked((GOLDEN_RUN / "result.bin").read_bytes())[0]["linked"])
    assert len(former) == LINKS
    # The same request and handles are decided as they were.
    decided = decide(request, a, b, plan, lambda *_: None, RUN)
    assert sorted(decided.order[decided.linkage.links].tolist()) == former.tolist()


def test_a_result_of_a_former_resolver_is_refused_with_a_clear_word() -> None:
    """It names links and probabilities of pairs: a run that waits with one ends, and another can be started."""
    with pytest.raises(TrystError, match="of a former release") as caught:
        unpack_result((GOLDEN_RUN / "result.bin").read_bytes(), tuple(Side))
    assert caught.value.code is ErrorCode.UPLOAD_CORRUPT
    assert "start another run" in caught.value.remedy


def test_the_share(tmp_path: Path) -> None:
    opened = tmp_path / "share"
    sealed = [(GOLDEN_RUN / "share-alice.bin").read_bytes()]
    open_file(key("alice-sealing.key", tmp_path), SealContext("golden", RUN, "alice"), sealed, opened)
    share = read_share(opened, 1000)
    assert share.tables["links"].height == LINKS
    assert share.tables["links"].columns == ["row", "link_id", "link_probability"]
    assert share.statistics
