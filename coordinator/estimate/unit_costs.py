"""What a unit of work costs: measured constants, each with the benchmark that prints what it is held against.

Seconds are of one core of about 3 GHz that does nothing else; machines differ by a factor of two. ``python -m
benchmarks scale`` prints the estimate made of them beside the services' own figures.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from gemel.common.specification.model.defaults import Tokenisation

SIGNATURE_SECONDS = 0.25e-6
"""Of a signature within a block or salt, whatever its tokens."""

TOKEN_SECONDS = 0.07e-6
"""Of a token of such a signature, whatever the bits."""

TOKEN_BIT_SECONDS = 1.05e-9
"""Of a bit of such a token."""

WHOLE_SIGNATURE_SECONDS = 1.5e-6
"""Of a signature of the whole file, in mode open: most of its tokens are in tables."""

ROW_SECONDS = 9e-6
"""Of a row of a set: its blocking key, its tags and its place in the order."""

SAMPLE_SECONDS = 0.08
"""Of the samples of a field in mode block_keyed."""

TOKENS: Mapping[Tokenisation, float] = MappingProxyType(
    {"bigrams": 10, "positional_bigrams": 10, "positional_characters": 7, "date_parts": 11, "words": 3, "value": 1}
)
"""Tokens of a value where no file tells."""

CUSTODIAN_BASE = 380 << 20
"""Memory of a custodian's service with all its libraries and tables, in bytes."""

CUSTODIAN_RECORD = 800
"""Memory of a record as read and as cleaned, with its order and identifier, in bytes, where all are held."""

CUSTODIAN_STREAMED_RECORD = 16
"""The same where a file is streamed: hashes, in which records and values are counted."""

CUSTODIAN_UNIT = 250 << 20
"""Memory of the sets that are signed at a time where a file is streamed, in bytes, at most."""

CUSTODIAN_UPLOAD = 1.4
"""Memory of the sets while they are signed and put in order, as a multiple of the upload."""

WORKER_BASE = 250 << 20
"""Memory of Carole's worker with all its libraries, beside `limits.memory`, in bytes."""

PAIR_SECONDS = 30e-9
"""Of a candidate pair in one pass, whatever its fields."""

PAIR_FIELD_SECONDS = 15e-9
"""Of a compared field of a candidate pair in one pass."""

PAIR_WORD_SECONDS = 1.5e-9
"""Of 64 bits of a compared field of a candidate pair in one pass."""

CHANCE_SECONDS = 1.8
"""Of a field's chance agreement where rules choose the pairs and one set serves the whole file: 16 million random pairs
of the file, and as many outside of its blocks."""

GROUPS_SECONDS = 0.2
"""The same in mode block_keyed, from the samples."""

SET_ROW_SECONDS = 2e-6
"""Of a row of Carole's sets, read, decrypted, checked and indexed."""

KEPT_PAIR_SECONDS = 25e-6
"""Of a kept pair: its scores, its way to the resolver in mode block_keyed, and its part in the decision."""

DECISION_SECONDS = 350e-6
"""Of a record of the smaller file in the decision, Carole's or the resolver's: most are not ambiguous."""

GATE_SECONDS = 3.2e-9
"""Of a gate of mode shared for one pair at each of the three parties, its check with it: between 2.7 and 3.4 ns for
signatures of 128 to 1024 bits; ``python -m benchmarks shared`` prints it."""

GATE_BYTES = 0.5
"""That each party sends for such a gate: 4 bits, three of them for its check."""

PERMUTED_WORD_SECONDS = 0.15e-6
"""Of a word of a pair at each party, while all are put into an order that no one knows."""

VECTORS = 60_000
"""Different comparison vectors, with the rules that they satisfy, that occur among the pairs of large files."""
