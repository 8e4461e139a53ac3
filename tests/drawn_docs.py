"""The drawings of docs/how-it-works.md; ``python -m tests.generated_docs`` writes them again.

Each has its own light ground, so that it reads on a light and on a dark page, and is as wide as a phone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from html import escape
from itertools import product

import numpy as np

from gemel.common.keys.derivation import FieldKeys
from gemel.custodian.encoding.minhash import signatures
from gemel.custodian.tokens import tokenise

WIDTH = 400
INK, GROUND, LINE, BLUE, ORANGE, PALE = "#23262b", "#fffefb", "#8a8f98", "#1f5fa8", "#a84f08", "#dbe7f5"
BITS = 64
KEYS = FieldKeys(bytes(range(32)), bytes(range(32, 64)))
"""Of the drawing; a project's are derived from the custodians' secret seed."""


def _text(
    x: float, y: float, words: str, size: int = 13, anchor: str = "start", fill: str = INK, bold: bool = False
) -> str:
    style = f'font-size="{size}" text-anchor="{anchor}" fill="{fill}"' + (' font-weight="bold"' if bold else "")
    return f'<text x="{x:g}" y="{y:g}" {style}>{escape(words)}</text>'


def _box(x: float, y: float, width: float, height: float, fill: str = GROUND, line: str = LINE) -> str:
    return f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="3" fill="{fill}" stroke="{line}"/>'


def _arrow(x1: float, y1: float, x2: float, y2: float, colour: str = BLUE) -> str:
    along = np.array([x2 - x1, y2 - y1]) / np.hypot(x2 - x1, y2 - y1)
    aside = np.array([-along[1], along[0]])
    tip = np.array([x2, y2])
    corners = " ".join(f"{x:.1f},{y:.1f}" for x, y in (tip, tip - 9 * along + 4 * aside, tip - 9 * along - 4 * aside))
    return (
        f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" stroke="{colour}" stroke-width="1.5"/>'
        f'<polygon points="{corners}" fill="{colour}"/>'
    )


def _drawing(title: str, height: int, parts: list[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
        f'height="{height}" font-family="system-ui, sans-serif"><title>{escape(title)}</title>'
        f'<rect width="100%" height="100%" rx="6" fill="{GROUND}"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def parties() -> str:
    """Who sends what to whom."""
    parts = []
    for x, name in ((10, "Alice"), (290, "Bob")):
        middle = x + 50
        parts += [
            _box(x, 12, 100, 62, PALE),
            _text(middle, 32, name, 14, "middle", bold=True),
            _text(middle, 49, "custodian", 12, "middle"),
            _text(middle, 65, "names, dates", 12, "middle"),
        ]
    parts += [
        _arrow(110, 32, 290, 32, LINE),
        _arrow(290, 32, 110, 32, LINE),
        _text(200, 25, "a secret seed", 12, "middle"),
        _box(130, 150, 140, 62, PALE),
        _text(200, 170, "Carole", 14, "middle", bold=True),
        _text(200, 187, "linkage unit", 12, "middle"),
        _text(200, 203, "signatures, no names", 12, "middle"),
        _arrow(50, 74, 140, 150),
        _arrow(350, 74, 260, 150),
        _text(110, 104, "signatures", 12, fill=BLUE),
        _text(290, 104, "signatures", 12, "end", fill=BLUE),
        _arrow(130, 181, 22, 74, ORANGE),
        _arrow(270, 181, 378, 74, ORANGE),
        _text(12, 146, "its links", 12, fill=ORANGE),
        _text(388, 146, "its links", 12, "end", fill=ORANGE),
        _arrow(200, 212, 200, 244, ORANGE),
        _text(200, 260, "coordinator: counts and reports, no records", 12, "middle"),
    ]
    return _drawing("Alice and Bob send signatures to Carole and receive their own links", 272, parts)


def bigrams(name: str) -> list[str]:
    """The name's pairs of neighbouring letters, with a mark at both ends."""
    padded = f"_{name}_"
    return [padded[i : i + 2] for i in range(len(padded) - 1)]


def bits(name: str) -> list[int]:
    """The name's signature, by the program itself."""
    (words,) = signatures(tokenise([name], "bigrams"), KEYS, BITS)
    return [int(words[i // 64] >> np.uint64(i % 64)) & 1 for i in range(BITS)]


def signature() -> str:
    """Two names, their bigrams, their signatures, and where these agree."""
    parts, of = [], {}
    both = set(bigrams("smith")) & set(bigrams("smyth"))
    for row, name in enumerate(("smith", "smyth")):
        top = 14 + 78 * row
        of[name] = bits(name)
        parts.append(_text(12, top + 15, name, 14, bold=True))
        for i, bigram in enumerate(bigrams(name)):
            shared = bigram in both
            parts.append(_box(76 + 52 * i, top, 44, 22, PALE if shared else GROUND, BLUE if shared else ORANGE))
            parts.append(_text(98 + 52 * i, top + 15, bigram, 13, "middle"))
        for i, bit in enumerate(of[name]):
            equal = of.get("smyth", bits("smyth"))[i] == bits("smith")[i]
            x, y = 12 + 11.75 * (i % 32), top + 31 + 16 * (i // 32)
            parts.append(_text(x + 5, y + 11, str(bit), 12, "middle", BLUE if equal else ORANGE, not equal))
    equal = sum(a == b for a, b in zip(of["smith"], of["smyth"], strict=True))
    parts += [
        _text(
            12,
            182,
            f"{len(both)} of {len(set(bigrams('smith')) | set(bigrams('smyth')))} bigrams are shared: similarity .50",
            13,
        ),
        _text(
            12,
            202,
            f"{equal} of {BITS} bits are equal: estimate 2 × {equal}/{BITS} − 1 = {2 * equal / BITS - 1:.2f}",
            13,
        ),
    ]
    return _drawing("The bigrams and signatures of smith and smyth, and where they agree", 216, parts)


def blocking() -> str:
    """All pairs of twelve and twelve records, and those in common blocks."""
    years = [1961, 1961, 1961, 1974, 1974, 1974, 1974, 1980, 1980, 1992, 1992, 1992]
    parts, compared = [], 0
    for i, j in product(range(12), range(12)):
        inside = years[i] == years[j]
        compared += inside
        parts.append(_box(70 + 19 * j, 40 + 19 * i, 15, 15, BLUE if inside else GROUND, BLUE if inside else "#c9ccd2"))
    for i, year in enumerate(years):
        if i == 0 or years[i - 1] != year:
            parts.append(_text(62, 52 + 19 * i, str(year), 12, "end"))
    parts += [
        _text(183, 20, "Bob's records, by year of birth", 13, "middle"),
        _text(12, 30, "Alice's", 13),
        _text(310, 150, f"{compared} of 144", 13, bold=True),
        _text(310, 167, "pairs are", 13),
        _text(310, 184, "compared", 13),
    ]
    return _drawing("Only pairs of records with the same year of birth are compared", 276, parts)


def weights() -> str:
    """Patterns of agreement of a million pairs, and what the model makes of each."""
    fields, pairs, p = ("surname", "birth", "postcode"), 1_000_000, 0.0005
    m, u = (0.90, 0.95, 0.80), (0.01, 0.0002, 0.01)
    parts = [_text(12 + 62 * i, 24, name, 12) for i, name in enumerate(fields)]
    parts += [_text(262, 24, "pairs", 12, "end"), _text(280, 24, "probability", 12)]
    rows = []
    for pattern in product((1, 0), repeat=3):
        of_match = p * np.prod([m[q] if agrees else 1 - m[q] for q, agrees in enumerate(pattern)])
        of_other = (1 - p) * np.prod([u[q] if agrees else 1 - u[q] for q, agrees in enumerate(pattern)])
        rows.append((of_match / (of_match + of_other), pairs * (of_match + of_other), pattern))
    for i, (probability, count, pattern) in enumerate(sorted(rows, reverse=True)):
        y = 46 + 24 * i
        link = probability >= 0.5
        for q, agrees in enumerate(pattern):
            parts.append(_text(12 + 62 * q, y, "agrees" if agrees else "differs", 12, fill=BLUE if agrees else ORANGE))
        parts.append(_text(262, y, f"{count:,.0f}", 12, "end"))
        colour = BLUE if link else ORANGE
        parts.append(_box(280, y - 11, 64, 13))
        parts.append(f'<rect x="280" y="{y - 11}" width="{64 * probability:.1f}" height="13" rx="3" fill="{colour}"/>')
        parts.append(_text(350, y, f"{probability:.3f}", 12, bold=link))
    return _drawing("Eight patterns of agreement, how many pairs have each, and their match probability", 232, parts)


def one_to_one() -> str:
    """Candidate pairs of three and three records, and those that are chosen."""
    candidates = [(0, 0, 0.98, True), (0, 1, 0.60, False), (1, 1, 0.90, True), (1, 0, 0.70, False), (2, 2, 0.30, False)]
    parts = [_text(60, 20, "Alice's", 13, "middle"), _text(340, 20, "Bob's", 13, "middle")]
    for i, j, probability, chosen in candidates:
        y1, y2 = 48 + 60 * i, 48 + 60 * j
        style = 'stroke-width="3"' if chosen else 'stroke-width="1.5" stroke-dasharray="5 4"'
        colour = BLUE if chosen else LINE
        parts.append(f'<line x1="84" y1="{y1}" x2="316" y2="{y2}" stroke="{colour}" {style}/>')
        at = 0.5 if i == j else 0.22
        x, y = 84 + 232 * at, y1 + (y2 - y1) * at
        parts.append(_box(x - 17, y - 10, 34, 20, GROUND, colour))
        parts.append(_text(x, y + 4, f"{probability:.2f}".lstrip("0"), 12, "middle", bold=chosen))
    for i in range(3):
        parts += [_box(36, 34 + 60 * i, 48, 28, PALE), _text(60, 53 + 60 * i, f"a{i + 1}", 13, "middle")]
        parts += [_box(316, 34 + 60 * i, 48, 28, PALE), _text(340, 53 + 60 * i, f"b{i + 1}", 13, "middle")]
    return _drawing("Each record is linked once at most: a1 to b1 and a2 to b2; a3 and b3 stay alone", 196, parts)


DRAWINGS: Mapping[str, Callable[[], str]] = {
    "how-parties.svg": parties,
    "how-signatures.svg": signature,
    "how-blocking.svg": blocking,
    "how-patterns.svg": weights,
    "how-one-to-one.svg": one_to_one,
}
"""By file in docs/, what draws it."""
