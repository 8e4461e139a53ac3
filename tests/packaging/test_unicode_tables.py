"""Two custodians with different Pythons: tables of Unicode that differ show before any signature leaves.

The other Python is that of an environment beside this one, as `make pythons` makes them.
"""

from __future__ import annotations

import json
import subprocess
import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gemel.common.errors import ErrorCode
from gemel.common.keys.identity import Identity, IdentityKey
from gemel.common.parties import Side
from gemel.custodian.agreement.agreement import Agreement
from gemel.custodian.agreement.agreement_messages import Terms
from tests.carole.refusals import refusal
from tests.specifications import heading

ROOT = Path(__file__).resolve().parents[2]
SPECIFICATION = (
    heading("tables")
    + """
fields:
  - {name: surname, kind: name, bits: 512}
  - {name: born, kind: date, date: {order: ymd}, bits: 512}
retention: {uploads_days: 1, results_days: 1, maps_days: 1}
"""
)
PROGRAM = """
import json, sys, unicodedata
from gemel.custodian.steps.seed_agreement import canary
from gemel.common.keys.derivation import Seed
from gemel.common.parties import Side
from gemel.common.specification import encoding_digest, load_specification
spec = load_specification(sys.argv[1])
digest, seed = encoding_digest(spec), Seed(bytes(range(32)))
print(json.dumps({
    "python": sys.version_info[:2],
    "unicode": unicodedata.unidata_version,
    "digest": digest.hex(),
    "canary": canary(spec, digest, Side(sys.argv[2]), seed, 1).digest.hex(),
}))
"""


def encoder(python: str | Path, side: Side) -> dict[str, Any]:
    """Digests of the specification by a Python, as one side's."""
    done = subprocess.run(
        [str(python), "-c", PROGRAM, SPECIFICATION, side],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def others() -> Iterator[Path]:
    """Pythons of other versions beside this checkout that have what Gemel needs."""
    # An environment that is only being made lacks something of this.
    request = "import unicodedata, gemel.custodian.steps.seed_agreement; print(unicodedata.unidata_version)"
    for python in sorted(ROOT.glob(".venv*/bin/python")):
        done = subprocess.run(
            [str(python), "-c", request], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
        )
        if done.returncode == 0 and done.stdout.strip() != unicodedata.unidata_version:
            yield python


@pytest.fixture(scope="module")
def two() -> tuple[dict[str, Any], dict[str, Any]]:
    """What Alice's Python, this one, and Bob's make of one specification and one seed."""
    other = next(others(), None)
    if other is None:
        pytest.skip("no environment with another Unicode table beside this one: `make pythons` makes them")
    return encoder(sys.executable, Side.ALICE), encoder(other, Side.BOB)


@pytest.mark.long
def test_the_same_python_agrees_with_itself() -> None:
    alice, bob = encoder(sys.executable, Side.ALICE), encoder(sys.executable, Side.BOB)
    assert alice == bob


def test_other_tables_are_another_encoding_and_another_canary(two: tuple[dict[str, Any], dict[str, Any]]) -> None:
    alice, bob = two
    assert alice["python"] != bob["python"]
    assert alice["unicode"] != bob["unicode"]
    assert alice["digest"] != bob["digest"]
    assert alice["canary"] != bob["canary"]


def test_the_custodians_refuse_each_other_before_there_is_a_seed(two: tuple[dict[str, Any], dict[str, Any]]) -> None:
    """The first message of the agreement names the encoding: no seed, so no signature."""
    keys = {Side.ALICE: Identity(IdentityKey.create()), Side.BOB: Identity(IdentityKey.create())}
    alice, bob = (
        Agreement(Terms("tables", bytes.fromhex(made["digest"]), 1), side, keys[side], keys[side.other].public)
        for made, side in zip(two, (Side.ALICE, Side.BOB), strict=True)
    )
    with refusal(ErrorCode.ENCODING_MISMATCH) as caught:
        bob.accept_offer(alice.offer)
    assert "versions of Gemel and Python" in caught.value.remedy
