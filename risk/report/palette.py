"""The colours of every report, each for paper or a light screen and for a dark one.

Charts are drawn with the light colours. On a dark screen the style sheet overrides them by rules that select on the
colour itself, so a drawing needs no script and no second copy. Teal and ochre are distinct under every common form of
colour blindness, and every text colour has a contrast of at least 4.5 to 1 on its background.
"""

from __future__ import annotations

PAPER = "#fffefb"
INK = "#1b2430"
SOFT = "#5a6573"
LINE = "#d8d9d3"
TEAL = "#0d6a78"
OCHRE = "#c07f1f"
RUST = "#b0482c"
GREY = "#c3c8cc"

#: Name of each colour in the style sheet: on a light ground, on a dark one.
COLOURS = {
    "paper": (PAPER, "#14191f"),
    "ink": (INK, "#e9ebe6"),
    "soft": (SOFT, "#a3adb8"),
    "line": (LINE, "#343d47"),
    "teal": (TEAL, "#58b7c4"),
    "ochre": (OCHRE, "#e0a94f"),
    "rust": (RUST, "#e98a6c"),
    "grey": (GREY, "#56616d"),
    "wash": ("#f4f3ec", "#1c232b"),
    "alarm": ("#fbeee6", "#3a241c"),
}

_DRAWN = ("paper", "ink", "soft", "line", "teal", "ochre", "rust", "grey")


def colour_rules() -> str:
    """Return the style sheet's colours: the light ones, the dark ones, and the overrides inside charts."""
    light = "".join(f"--{name}:{pair[0]};" for name, pair in COLOURS.items())
    dark = "".join(f"--{name}:{pair[1]};" for name, pair in COLOURS.items())
    drawn = "".join(
        f'.chart [{part}="{COLOURS[name][0]}"]{{{part}:var(--{name})}}\n'
        for name in _DRAWN
        for part in ("fill", "stroke")
    )
    return f":root{{{light}}}\n@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}\n{drawn}"
