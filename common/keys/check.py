"""Two checks before any record leaves a custodian: both hold the same seed, and both sign alike.

The *key-check value* is eight derived bytes. It differs when the seeds differ, and reveals nothing else; it may be
shown, logged and compared by anyone.

The *canary digest* is a MAC over the encoded signatures of `CANARY_RECORDS`, public test values put through every
field of the specification. It differs when anything between a value and its signature differs: another normaliser,
another Unicode version, another tokenisation, another byte order. Being keyed, it reveals nothing of the signatures to
Carole, and being over public values, it reveals nothing of any person.

Neither detects a wrong column or a wrong date order in a file; a custodian's profile shows these.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable

from gemel.common.keys.derivation import Purpose, Seed, derive_key
from gemel.common.keys.framing import frame

CHECK_BYTES = 8
CANARY_BYTES = 32
PART_BYTES = 16

CANARY_RECORDS: tuple[str | None, ...] = (
    None,
    "",
    " ",
    # Plain names, and common variations.
    "Smith",
    "  mary   ann ",
    "O'Brien",
    "O’Brien",
    "MacDONALD-smythe",
    "van der Berg, J.",
    "St. John",
    "x",
    "unknown",
    "n/a",
    # Accents and other marks, composed and decomposed.
    "Zoë Müller",
    "Zoe\u0308 Mu\u0308ller",
    "Ångström",
    "A\u030angstro\u0308m",
    "\u212bngström",
    "Nguyễn Thị Ánh",
    "Nguye\u0302\u0303n Thi\u0323 A\u0301nh",
    "q\u0307\u0323 q\u0323\u0307",
    # Letters with strokes, ligatures, and letters that become longer when their case changes.
    "Łukasz Øster Đorđe Þóra Æsa Œuvre",
    "\ufb01nch \ufb02ood o\ufb03ce",
    "Straße STRASSE ẞ",
    "ŉ ǰ ΐ և",
    # The two Turkish i, in either case.
    "İstanbul ISPARTA ıspanak izmir",
    # Greek final sigma, Cyrillic, Arabic, Hebrew, Indic, Thai, Hangul composed and as jamo, Han, kana of either width.
    "ΟΔΥΣΣΕΥΣ οδυσσευς",
    "Ёлкина Їжак",
    "محمّد عبد اللّٰه",
    "שָׁלוֹם",
    "क़मर काव्या",
    "น้ำ",
    "한글",
    "\u1112\u1161\u11ab\u1100\u1173\u11af",
    "田中 太郎 ヴァイオリン",
    "ﾔﾏﾀﾞ Ｔａｒｏ １２３",
    # Spaces and signs that look like others, or are invisible.
    "Anne\u00a0Marie\u2009Dupont\u3000Roy",
    "Jean\u2010Luc Jean\u2011Luc Jean\u2013Luc Jean\u2212Luc",
    "zero\u200bwidth soft\u00adhyphen \ufeffmark",
    "tab\tand\nline",
    '!"#$%&()*+,./:;<=>?@[]^_`{|}~ ¿¡§«»“”„‹›',
    "№ ½ ² ™ Ⅷ ①",
    "👩\u200d👩\u200d👧 😀",
    # Characters that came with Unicode 12.1, 13, 14, 15, 16: a younger table folds or decomposes them.
    "\u32ff",
    "\U00011938 \ua7c7\ua7c9",
    "\u2c2f \ua7c0 \ua7f2 \U00010780",
    "\U0001e030 \U0001df25",
    "\u1c89 \ua7cb \U00010d50",
    # Dates in several orders and forms, partial and impossible ones.
    "1979-03-04",
    "04/03/1979",
    "3.4.79",
    "19790304",
    "4 March 1979",
    "1979-02-30",
    "1979-00-00",
    "1900-02-29",
    "2000-02-29",
    "29/02/1904",
    "00000000",
    "12311999",
    # Numbers and codes.
    "0",
    "-1",
    "+61 (0)2 5550 1234",
    "007",
    "3.14",
    "1e3",
    "1,234.5",
    "SW1A 1AA",
    "sw1a1aa",
    "10115",
    "1",
    "2",
    "m",
    "F",
    # Length: a word longer than any key, a line of many words, many marks on one letter.
    "a" * 300,
    "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft",
    " ".join(f"word{number}" for number in range(100)),
    "e" + "\u0301" * 40,
)
"""Public test values. Each is one record, with the value in every field; ``None`` is a missing value.

The list is part of the canary digest: changing it means that both custodians must have the changed one.
"""


def key_check_value(seed: Seed, project: str, encoding_digest: bytes, epoch: int) -> bytes:
    """Eight bytes that are the same for the same seed, project, encoding and epoch, and may be shown."""
    return derive_key(seed, project, Purpose.CHECK, encoding_digest, epoch=epoch)[:CHECK_BYTES]


def canary_digest(seed: Seed, project: str, encoding_digest: bytes, epoch: int, encoded: bytes) -> bytes:
    """MAC over the signatures of the test records: HMAC-SHA256, 32 bytes.

    `encoded` are `CANARY_RECORDS` as the custodian's encoder encodes them with this seed, in the layout of an upload
    and in the order of the records: every field's signatures.
    """
    key = derive_key(seed, project, Purpose.CANARY, encoding_digest, epoch=epoch)
    return hmac.digest(key, frame(b"gemel canary 1", encoded), "sha256")


def canary_part_names(fields: Iterable[str]) -> list[str]:
    """The parts of the canary that are compared on their own, where the digests differ, in the order of the wire."""
    return [*(f"the cleaning of {field}" for field in fields), "the signatures", "the codes of variables"]


def canary_part(seed: Seed, project: str, encoding_digest: bytes, epoch: int, name: str, content: bytes) -> bytes:
    """MAC over one part of the canary, 16 bytes: it shows where two installations differ, and nothing else."""
    key = derive_key(seed, project, Purpose.CANARY, encoding_digest, epoch=epoch)
    return hmac.digest(key, frame(b"gemel canary part 1", name.encode(), content), "sha256")[:PART_BYTES]
