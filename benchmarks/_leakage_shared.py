"""The leakage benchmark's section on mode `shared`: what each party could recognise who has these very people in clear.

The attacks are those that recognise most rows of mode block_keyed, which stands in the same table as the control: pair
fingerprints with their likelihood, embeddings of rows, and comparison levels between the files. Each is given a single
party's view, then what two parties have together. Chance, fixed beforehand, is a name drawn from the register for every
row; what block sizes alone give anyone is a line of its own.

The shares are made and read as in a project, and levels computed on them by three parties. What Carole and the resolver
are told is computed here from the same signatures by the functionality of docs/shared-mode.md: levels of all candidate
pairs in an order drawn at random, and pairs above the floor by handle. That a run gives each party this and no more is
what the tests of the engine show, not this section.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import polars as pl
from numpy.typing import NDArray

from benchmarks._leakage_embedding import nearest_rows, row_embedding
from benchmarks._leakage_register import BORN, DAYS, _blocks, _pooled
from benchmarks._leakage_study import ABOVE_CHANCE, Line, Study
from benchmarks._shared_attacks import BetweenFiles, KeptPairs, blocks_by_size, by_levels, handles_by_levels
from benchmarks._shared_views import SharedFile, read_fields
from benchmarks.modes import link_in
from tryst.common.encoding.blocking_keys import key_text
from tryst.common.encoding.padding import padded_size
from tryst.common.parties import Side
from tryst.common.sharing.compute_parties import ComputeParty
from tryst.common.specification import Specification
from tryst.coordinator.demonstration.people import corrupt
from tryst.risk.leakage.fingerprint_model import FingerprintModel
from tryst.risk.leakage.own_file import clear_values
from tryst.risk.leakage.pairs import Fingerprints, fingerprints_in_clear, fingerprints_of_signatures, paired_signatures
from tryst.risk.leakage.pairs import paired_values
from tryst.risk.leakage.recognition import judge, recognise

ATTACKED = {1: 600, DAYS: 400}
"""Rows attacked, in whole blocks drawn at random, by days that are made one date."""

CONTROL = {1: 0.6, DAYS: 0.98}
"""Required of the attack on what Carole has in mode block_keyed, and on what two parties have together."""

LINKED = 20_000
"""People of the files whose kept pairs the resolver is shown."""

HANDLES = 1000
"""Handles attacked, drawn at random."""
