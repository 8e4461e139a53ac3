"""Make the table of names that `benchmarks.worlds.naming` reads beside its own lists.

The source is the package Faker (MIT licence, Daniele Faraglia and contributors), whose providers list names by locale.
What is kept of a list are single words, at most `KEPT`, in an order drawn by lot, since most of its lists are sorted by
the alphabet. The result is a CSV file compressed by xz with the columns custom, kind (male, female, surname) and names,
these separated by blanks.
"""

from __future__ import annotations

import argparse
import importlib
import lzma
import random
import sys
from pathlib import Path

KEPT = 500

LOCALES = {
    "german": ("de_DE", "de_AT"),
    "turkish": ("tr_TR",),
    "spanish": ("es_ES",),
    "portuguese": ("pt_BR", "pt_PT"),
    "slavic": ("ru_RU",),
    "indian": ("en_IN",),
    "icelandic": ("is_IS",),
}


def names(custom: str, kind: str) -> list[str]:
    """The names of one kind, by lot."""
    attribute = {"male": "first_names_male", "female": "first_names_female", "surname": "last_names"}[kind]
    if (custom, kind) == ("slavic", "surname"):
        attribute = "last_names_male"
    found: set[str] = set()
    for locale in LOCALES[custom]:
        provider = importlib.import_module(f"faker.providers.person.{locale}").Provider
        found |= {name for name in getattr(provider, attribute) if name.isalpha() and len(name) > 1}
    listed = sorted(found)
    random.Random(39).shuffle(listed)
    return listed[:KEPT]


def main(arguments: list[str]) -> int:
    """Command line: OUT."""
    parser = argparse.ArgumentParser(description="Make the table of names that the benchmark worlds reads.")
    parser.add_argument("out", type=Path)
    kinds = ("male", "female", "surname")
    # Iceland's people have no surnames.
    wanted = [(c, k) for c in LOCALES for k in kinds if (c, k) != ("icelandic", "surname")]
    lines = ["custom,kind,names", *(f"{c},{k},{' '.join(names(c, k))}" for c, k in wanted)]
    packed = lzma.compress(("\n".join(lines) + "\n").encode(), preset=9 | lzma.PRESET_EXTREME)
    parser.parse_args(arguments).out.write_bytes(packed)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
