"""The same encoded files linked in mode block_keyed and in mode shared, for tests that compare the two."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import polars as pl

from gemel.carole.engine import Resources, compare
from gemel.carole.engine.inputs.candidates import Candidates
from gemel.carole.engine.inputs.files import contribution_of
from gemel.carole.engine.pairs.stream import KeptPairs
from gemel.carole.engine.run.contribution import Contribution
from gemel.carole.engine.run.plan import LinkagePlan
from gemel.carole.engine.run.specified import plan_of
from gemel.common.keys.derivation import Seed
from gemel.common.keys.noise import NoiseKey
from gemel.common.parties import Side
from gemel.common.specification import Specification, load_specification
from gemel.custodian.encoding.decoys import with_decoys
from gemel.custodian.encoding.records import Encoded, encode_records
from gemel.custodian.encoding.shared_in_memory import SharedEncoded, shared_in_memory
from gemel.shared.gates.party import Party
from gemel.shared.gates.vouched_openings import Opening
from gemel.shared.run.job import Led, RowParts, Terms, assist, lead
from gemel.shared.run.shared_files import compare_opened
from gemel.shared.session.local_session import local_parties, together
from tests.carole.engine.progress import quiet
from tests.specifications import heading

SEED, NOISE = Seed(bytes(range(32))), NoiseKey(bytes(range(1, 33)))
RESOURCES = Resources(1 << 30, 1)
_END = "retention: {uploads_days: 1, results_days: 1, maps_days: 1}\n"
_FIELDS = """
fields:
  - {name: surname, kind: name, bits: 128, key_domain: given, missing_as: level}
  - {name: given, kind: name, bits: 128, key_domain: given}
  - {name: town, kind: name, bits: 64}
  - {name: born, kind: date, date: {order: ymd}, bits: 192, randomised_response: 0.02}
  - {name: sex, kind: category}
blocking:
  - {name: born, keys: [{field: born, part: year}], withheld: [town]}
  - {name: given, keys: [{field: given}]}
  - {name: town, keys: [{field: town, prefix: 2}]}
swaps: [[given, surname]]
model: {dependence: auto}
links: {threshold: 0.3}
"""
EVERY_FEATURE = load_specification(heading("features", "shared") + _FIELDS + "quality: {check_field: sex}\n" + _END)
HIDDEN = load_specification(
    heading("hidden", "shared") + _FIELDS + "padding: powers_of_two\nquality: {decoys: 100}\n" + _END
)


def people(n: int, common: int, side: Side) -> dict[str, pl.Series]:
    """Files of `n` people, the first `common` of which are in both, with errors, exchanged and missing values."""
    rng = np.random.default_rng(5)
    names = np.array([f"{a}{b}{c}th" for a in "abcdsm" for b in "aeiou" for c in "mnrl"])
    towns = np.array([f"{a}{b}ville" for a in "abc" for b in "aeiou"])
    surname, given = rng.choice(names, (2, 2 * n))
    born = np.array([f"19{y:02}0{m}11" for y, m in rng.integers((40, 1), (60, 9), (2 * n, 2)).tolist()])
    town, sex = rng.choice(towns, 2 * n), rng.choice(["f", "m"], 2 * n)
    rows = np.arange(n) if side is Side.ALICE else np.r_[np.arange(common), np.arange(n, 2 * n - common)]
    own = np.random.default_rng([7, side is Side.ALICE])
    surname, given, town = (column[rows].copy() for column in (surname, given, town))
    exchanged = own.random(n) < 0.1
    surname[exchanged], given[exchanged] = given[exchanged], surname[exchanged]
    wrong = own.random(n) < 0.2
    surname[wrong] = np.char.add(surname[wrong], "e")
    drawn = {"surname": surname, "given": given, "town": town, "born": born[rows], "sex": sex[rows]}
    columns = {}
    for name, values in drawn.items():
        missing = own.random(n) < 0.1
        columns[name] = pl.Series(name, [None if gone else str(v) for v, gone in zip(values, missing, strict=True)])
    return columns


@dataclass(frozen=True)
class BothModes:
    """One linkage in both modes.

    `keyed`, `kept_keyed`: of mode block_keyed; `found`, `kept`: of mode shared; `parts`: the parties' parts of the kept
    pairs' row numbers, unsealed; `openings`: of each party.
    """

    plan: LinkagePlan
    encoded: tuple[Encoded, Encoded]
    shared: tuple[SharedEncoded, SharedEncoded]
    contributions: tuple[Contribution, Contribution]
    keyed: Candidates
    kept_keyed: KeptPairs
    led: Led
    found: Candidates
    kept: KeptPairs
    parts: RowParts
    openings: tuple[list[Opening], ...]

    def named(self, side: Side) -> np.ndarray:
        """What a custodian reads of its parts: the numbers of the kept pairs' rows."""
        return np.bitwise_xor.reduce([np.frombuffer(part, dtype=np.uint32) for part in self.parts[side]])


def encoded_files(spec: Specification, n: int, common: int) -> tuple[Encoded, Encoded]:
    """Alice's and Bob's rows."""
    made = []
    for side in Side:
        columns = people(n, common, side)
        if spec.decoys:
            columns = with_decoys(columns, spec, NOISE)
        made.append(encode_records(columns, spec, SEED, 1, noise=NOISE, decoys=spec.decoys))
    return made[0], made[1]


def own_share(side: Side, first: np.ndarray, second: np.ndarray) -> bytes:
    """A party's part, neither signed nor sealed."""
    return bytes(first.astype("<u4").tobytes())


@cache
def both_modes(spec: Specification) -> BothModes:
    """Link in both modes, once for each specification."""
    n, common = (25, 15) if spec is EVERY_FEATURE else (150, 40)
    plan = plan_of(spec)
    encoded = encoded_files(spec, n, common)
    a, b = (contribution_of(part.sets, part.records) for part in encoded)
    keyed, kept_keyed = compare(a, b, plan, RESOURCES, quiet)
    shared = shared_in_memory(encoded[0], spec, Side.ALICE), shared_in_memory(encoded[1], spec, Side.BOB)
    terms = Terms(b"specification", plan, RESOURCES.memory_bytes)
    parties = local_parties()

    def read(party: Party) -> tuple:
        return tuple(part.contributions[party.own] for part in shared)

    def leading(party: Party) -> tuple:
        led = lead(party, read(party), terms, own_share, quiet)
        return led, *compare_opened(led, plan, RESOURCES, quiet)

    def assisting(party: Party) -> None:
        assist(party, read(party), terms, own_share, quiet)

    (led, found, kept), _, _ = together(parties, leading, assisting, assisting)
    openings = tuple(party.openings for party in parties)
    return BothModes(plan, encoded, shared, (a, b), keyed, kept_keyed, led, found, kept, led.parts, openings)
