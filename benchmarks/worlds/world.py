"""A world: what a pair of person files is like, one value for each of its dimensions.

`drawn` draws every dimension by itself. The ranges follow what is published on registers and on their linkage, where
the table names a source, and are our range elsewhere. They are wide on purpose: a world need not be likely, it must be
one that somebody may bring.

===================================  =====================================================================
dimension                            source
===================================  =====================================================================
fields, how a birth is held          Newcombe et al., Automatic linkage of vital records, 1959; Kendrick and Clarke,
                                     The Scottish Record Linkage System, 1993; Holman et al., Population-based
                                     linkage of health records in Western Australia, 1999; Christen, Preparation of a
                                     real temporal voter data set, 2014; Abramitzky et al., Automated linking of
                                     historical data, 2021
moves, people counted in one only    Hogan, The 1990 Post-Enumeration Survey: operations and results, 1993; shares: ours
twins                                Martin, Hamilton and Osterman, Three decades of twin births in the United
                                     States, 2012 (some 3 %); 8 to 12 %: our range, for registers of twins
skew of names                        Fox and Lasker, The distribution of surname frequencies, 1983
names of other customs               Lariscy, Differential record linkage by Hispanic ethnicity and age, 2011; ISO 9,
                                     1995; Camargo and Coeli, Reclink, 2000
kinds of errors                      Christen and Vatsalan, Flexible and extensible generation and corruption of
                                     personal data, 2013; Christen, Data Matching, 2012
missing values                       Sariyar, Borg and Pommerening, Missing values in deduplication of electronic
                                     patient data, 2012; Bohensky et al., Data linkage: a powerful research tool with
                                     potential problems, 2010
copies, placeholders                 Herzog, Scheuren and Winkler, Data quality and record linkage techniques, 2007;
                                     shares: ours
all others                           our range
===================================  =====================================================================
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, Literal

import numpy as np

_CONSTANT = 39

#: A dimension that is a number: classes in rising order, each with its label, its weight, and its lowest and highest.
NUMBERS: dict[str, tuple[tuple[str, float, float, float], ...]] = {
    "records": (
        ("200-1,000", 0.28, 200, 1_000),
        ("1,000-5,000", 0.39, 1_000, 5_000),
        ("5,000-30,000", 0.22, 5_000, 30_000),
        ("30,000-100,000", 0.11, 30_000, 100_000),
    ),
    "ratio": (("1/30-1/3", 0.3, 1 / 30, 1 / 3), ("1/3-1", 0.3, 1 / 3, 0.99), ("1", 0.4, 1, 1)),
    "common": (
        ("0", 0.06, 0, 0),
        ("0-2 %", 0.14, 0.002, 0.02),
        ("2-15 %", 0.22, 0.02, 0.15),
        ("15-50 %", 0.26, 0.15, 0.5),
        ("50-95 %", 0.27, 0.5, 0.95),
        ("100 %", 0.05, 1, 1),
    ),
    "twins": (("0.5-2 %", 0.45, 0.005, 0.02), ("2-4 %", 0.35, 0.02, 0.04), ("8-12 %", 0.2, 0.08, 0.12)),
    "namesakes": (("0", 0.6, 0, 0), ("1-5 %", 0.2, 0.01, 0.05), ("5-15 %", 0.2, 0.05, 0.15)),
    "homes": (("0", 0.5, 0, 0), ("1-3 %", 0.25, 0.01, 0.03), ("5-15 %", 0.25, 0.05, 0.15)),
    "moved_households": (("0", 0.35, 0, 0), ("3-8 %", 0.35, 0.03, 0.08), ("10-25 %", 0.3, 0.1, 0.25)),
    "moved_persons": (("0", 0.35, 0, 0), ("1-5 %", 0.35, 0.01, 0.05), ("5-15 %", 0.3, 0.05, 0.15)),
    "married": (("0", 0.3, 0, 0), ("1-5 %", 0.35, 0.01, 0.05), ("5-12 %", 0.35, 0.05, 0.12)),
    "exchanged": (("0", 0.6, 0, 0), ("1-4 %", 0.2, 0.01, 0.04), ("10-18 %", 0.2, 0.1, 0.18)),
    "shortened": (("0", 0.5, 0, 0), ("5-20 %", 0.25, 0.05, 0.2), ("50-100 %", 0.25, 0.5, 1)),
    "nicknames": (("0", 0.5, 0, 0), ("2-8 %", 0.25, 0.02, 0.08), ("10-25 %", 0.25, 0.1, 0.25)),
    "missing": (("0", 0.3, 0, 0), ("1-5 %", 0.4, 0.01, 0.05), ("10-40 %", 0.3, 0.1, 0.4)),
    "bare": (("0", 0.74, 0, 0), ("1-5 %", 0.13, 0.01, 0.05), ("5-20 %", 0.13, 0.05, 0.2)),
    "lacking": (("0", 0.75, 0, 0), ("20-60 %", 0.25, 0.2, 0.6)),
    "placeholders": (("0", 0.5, 0, 0), ("1-3 %", 0.25, 0.01, 0.03), ("8-15 %", 0.25, 0.08, 0.15)),
    "errors": (("0", 0.2, 0, 0), ("5-20 %", 0.45, 0.05, 0.2), ("30-50 %", 0.35, 0.3, 0.5)),
    "skew": (("flat", 0.25, 0.2, 0.5), ("usual", 0.5, 0.9, 1.1), ("very skewed", 0.25, 1.4, 1.7)),
}

#: A dimension that is one of several values: their weights.
CHOICES: dict[str, dict[str, float]] = {
    "larger": {"alice": 0.5, "bob": 0.5},
    "kin": {"persons": 0.45, "households": 0.3, "siblings": 0.25},
    "custom": {
        **{"english": 0.18, "german": 0.07, "turkish": 0.05, "spanish": 0.09, "portuguese": 0.07, "slavic": 0.1},
        **{"arabic": 0.09, "icelandic": 0.05, "chinese": 0.07, "vietnamese": 0.05, "indian": 0.06, "mixture": 0.12},
    },
    "spelling": {"same": 0.4, "some otherwise": 0.35, "all otherwise": 0.25},
    "profile": {
        **{"population": 0.1, "census": 0.1, "patients": 0.09, "cancer": 0.07, "births": 0.05, "insured": 0.06},
        **{"voters": 0.08, "customers": 0.06, "school": 0.05, "refugees": 0.05, "drawn": 0.13, "survey": 0.05},
        **{"poor": 0.11},
    },
    "birth": {"date": 0.54, "three columns": 0.15, "year": 0.14, "age": 0.12, "none": 0.05},
    "copied": {"none": 0.4, "name": 0.14, "age": 0.2, "area": 0.16, "sex": 0.1},
    "lone": {"none": 0.7, "constant": 0.15, "one file": 0.15},
    "placed": {"one field": 0.5, "two fields": 0.5},
    "error_kind": {"typing": 0.2, "hearing": 0.2, "scanning": 0.2, "dates": 0.15, "all": 0.25},
    "clustered": {"no": 0.4, "persons": 0.3, "clerks": 0.3},
    "copies": {"none": 0.5, "few": 0.2, "many": 0.18, "crowd": 0.12},
    "copies_in": {"one": 0.6, "both": 0.4},
    "copies_alike": {"equal": 0.35, "changed": 0.65},
    "order": {"random": 0.55, "by name": 0.2, "by postcode": 0.25},
    "source": {"separate": 0.88, "part": 0.06, "one": 0.06},
    "ages": {"everyone": 0.6, "cohort": 0.14, "school": 0.13, "elderly": 0.13},
    "geography": {"town": 0.25, "region": 0.35, "country": 0.4},
    "date_form_alice": {"iso": 0.5, "day first": 0.2, "month first": 0.1, "short year": 0.1, "words": 0.1},
    "date_form_bob": {"iso": 0.5, "day first": 0.2, "month first": 0.1, "short year": 0.1, "words": 0.1},
    "block": {"draft": 0.55, "asked": 0.2, "none": 0.25},
    "mode": {"open": 0.7, "block_keyed": 0.3},
}

#: Of a dimension with more than six values: the values that one label stands for.
GROUPS: dict[str, dict[str, tuple[str, ...]]] = {
    "custom": {
        "one surname": ("english", "german", "turkish"),
        "two surnames": ("spanish", "portuguese"),
        "patronymics": ("slavic", "arabic", "icelandic"),
        "few surnames or none": ("chinese", "vietnamese", "indian"),
        "mixture": ("mixture",),
    },
    "profile": {
        "population": ("population", "census"),
        "health": ("patients", "cancer", "births", "insured"),
        "voters, customers": ("voters", "customers", "school", "refugees"),
        "drawn": ("drawn",),
        "survey or poor": ("survey", "poor"),
    },
}

_PROFILES: dict[str, tuple[str, ...]] = {
    "population": (
        *("given_name", "middle_name", "surname", "sex", "birth", "birthplace", "marital_status"),
        *("street", "house_number", "postcode", "town"),
    ),
    "census": (
        "given_name",
        "surname",
        "sex",
        "birth",
        "marital_status",
        "birthplace",
        "house_number",
        "street",
        "town",
    ),
    "patients": ("given_name", "surname", "sex", "birth", "street", "postcode", "telephone"),
    "cancer": ("given_name", "surname", "sex", "birth", "postcode", "town"),
    "births": ("surname", "sex", "birth", "hospital", "birth_weight", "postcode", "religion", "town"),
    "insured": ("given_name", "surname", "sex", "birth", "policy_number", "postcode", "telephone"),
    "voters": (
        *("given_name", "middle_name", "surname", "sex", "birth", "birthplace", "religion"),
        *("house_number", "street", "town", "county"),
    ),
    "customers": ("full_name", "email", "telephone", "street", "house_number", "postcode", "town"),
    "school": ("given_name", "surname", "sex", "birth", "school", "postcode"),
    "refugees": ("given_name", "middle_name", "surname", "sex", "birth", "country", "town", "household_size"),
    "survey": (
        *("sex", "birth", "schooling", "occupation", "income", "household_size", "religion", "tenure"),
        *("marital_status", "children", "county", "country"),
    ),
}
_DRAWN = (
    *("given_name", "middle_name", "surname", "sex", "birth", "birthplace", "country", "street", "house_number"),
    *("postcode", "town", "county", "telephone", "email", "policy_number", "schooling", "occupation", "tenure"),
    *("marital_status", "household_size", "hospital"),
)
_POOR = (
    ("given_name", "sex", "birth", "town"),
    ("surname", "sex", "birth"),
    ("given_name", "surname", "sex"),
    ("given_name", "birth", "postcode", "sex"),
    ("surname", "postcode", "household_size", "sex"),
)
_BIRTH: dict[str, tuple[str, ...]] = {
    "date": ("date_of_birth",),
    "three columns": ("birth_day", "birth_month", "birth_year"),
    "year": ("birth_year",),
    "age": ("age",),
    "none": (),
}
#: The column that repeats what others say, and those that it needs.
COPIED = {
    "name": ("full_name", ("given_name", "surname")),
    "age": ("age", ("date_of_birth",)),
    "area": ("area", ("postcode",)),
    "sex": ("gender", ("sex",)),
}
_KEEPING_SURNAMES = ("spanish", "arabic", "chinese", "vietnamese", "icelandic")
#: Whom a profile is about, where that is said.
_AGES = {"births": "cohort", "school": "school"}
_ADULTS = ("survey", "voters")
_MOST_PAIRS = 2.5e7
SMALLEST = 100


@dataclass(frozen=True)
class World:
    """What a pair of files is like; numbers are shares where not stated.

    Attributes
    ----------
    seed : int
        Of the world and of its files.
    records, ratio, larger
        Records of the larger file, those of the smaller by those of the larger, and whose the larger is.
    common
        Of the people in the smaller file, those who are also in the larger.
    kin
        ``persons``: both files are samples of a population ten times as large; ``households``: a household is whole in
        a file; ``siblings``: the members of one household are dealt out to the files.
    twins, twins_apart
        Of births; whether one twin of a pair is in Alice's file and the other in Bob's, as far as possible.
    namesakes
        Of men, those with the given name and surname of their father, who is in the population too; fewer where not
        enough fathers are.
    homes
        People who live in institutions of 20 to 200 with one address and one telephone.
    moved_households, moved_persons, married
        Between Alice's date and Bob's; `married` of women, with another surname.
    custom, spelling
        How people are named; how many of Bob's records are romanised, or accented, otherwise than Alice's.
    exchanged, shortened, nicknames
        Of Bob's records: given name and surname exchanged; one of two surnames and no middle name; a short form of the
        given name, where there is one.
    fields
        The columns, in order, that both files have; see also `lone`.
    copied, lone
        What the last of `fields` repeats; a column more that is constant in Bob's file, or that Alice alone has.
    missing, bare, lacking
        Missing at random, in half of the fields, and a fifth of it in the others; records with nothing but the names
        (the first two fields, where there are none); the part of Bob's file, one block, that lacks one field.
    placeholders, placed
        Of the records of one field, or of each of two.
    errors, error_kind, clustered
        Of Bob's records, half as many of Alice's; ``persons``: the same people in both files, and more errors each.
    copies, copies_in, copies_alike
        Records of people who are in the file before: none, 1 to 3 %, 10 to 30 %, or one person dozens of times.
    source
        ``part``: the smaller file is a part of the larger, record by record; ``one``: both hold the same values.
    block
        As a draft proposes (None), asked for, or none.
    """

    seed: int
    records: int
    ratio: float
    larger: Literal["alice", "bob"]
    common: float
    kin: Literal["persons", "households", "siblings"]
    twins: float
    twins_apart: bool
    namesakes: float
    homes: float
    moved_households: float
    moved_persons: float
    married: float
    custom: str
    spelling: Literal["same", "some otherwise", "all otherwise"]
    exchanged: float
    shortened: float
    nicknames: float
    profile: str
    birth: Literal["date", "three columns", "year", "age", "none"]
    fields: tuple[str, ...]
    copied: Literal["none", "name", "age", "area", "sex"]
    lone: Literal["none", "constant", "one file"]
    date_form_alice: str
    date_form_bob: str
    missing: float
    bare: float
    lacking: float
    placeholders: float
    placed: Literal["one field", "two fields"]
    errors: float
    error_kind: Literal["typing", "hearing", "scanning", "dates", "all"]
    clustered: Literal["no", "persons", "clerks"]
    copies: Literal["none", "few", "many", "crowd"]
    copies_in: Literal["one", "both"]
    copies_alike: Literal["equal", "changed"]
    skew: float
    order: Literal["random", "by name", "by postcode"]
    source: Literal["separate", "part", "one"]
    ages: Literal["everyone", "cohort", "school", "elderly"]
    geography: Literal["town", "region", "country"]
    block: bool | None
    mode: Literal["open", "block_keyed"]

    @property
    def sizes(self) -> tuple[int, int]:
        """Records of Alice's file and of Bob's."""
        smaller = max(SMALLEST, round(self.records * self.ratio))
        return (self.records, smaller) if self.larger == "alice" else (smaller, self.records)

    @property
    def values(self) -> dict[str, str]:
        """The label of every dimension, at most six of each."""
        labels: dict[str, str] = {}
        for each in fields(self):
            value = getattr(self, each.name)
            if each.name in NUMBERS:
                parts = NUMBERS[each.name]
                labels[each.name] = next((name for name, _, _, high in parts if value <= high + 1e-9), parts[-1][0])
            elif each.name in GROUPS:
                labels[each.name] = next(label for label, group in GROUPS[each.name].items() if value in group)
            elif each.name == "fields":
                labels["fields"] = "3-5" if len(value) < 6 else "6-8" if len(value) < 9 else "9 or more"
            elif each.name not in ("seed", "block", "date_form_alice", "date_form_bob"):
                labels[each.name] = {True: "yes", False: "no"}[value] if isinstance(value, bool) else value
        labels["block"] = {None: "draft", True: "asked", False: "none"}[self.block]
        labels["date_form"] = self._date_form()
        return labels

    def _date_form(self) -> str:
        if "date_of_birth" not in self.fields:
            return "no date"
        if self.date_form_alice != self.date_form_bob:
            return "another in the other"
        return "one in both"


def drawn(seed: int) -> World:
    """The world of a seed: every dimension by itself, but for what `_possible` changes."""
    rng = np.random.default_rng([_CONSTANT, seed])
    made: dict[str, Any] = {"seed": seed}
    for name, classes in NUMBERS.items():
        weights = np.array([weight for _, weight, _, _ in classes])
        _, _, low, high = classes[rng.choice(len(classes), p=weights / weights.sum())]
        value = float(np.exp(rng.uniform(np.log(low), np.log(high)))) if name == "records" else rng.uniform(low, high)
        made[name] = round(value) if name == "records" else float(value)
    for name, options in CHOICES.items():
        share = np.array(list(options.values()))
        made[name] = list(options)[rng.choice(len(options), p=share / share.sum())]
    made["block"] = {"draft": None, "asked": True, "none": False}[made["block"]]
    made["twins_apart"] = bool(rng.random() < 0.3)
    if made["profile"] == "survey":
        # It asks for categories alone.
        made["birth"] = {"date": "age", "three columns": "year"}.get(made["birth"], made["birth"])
    made["fields"] = _fields(made["profile"], made["birth"], rng)
    return _possible(World(**made))


def quiet(**changes: Any) -> World:
    """Two files of 3,000 in which nothing happens but the changes: half in common, families apart, English names."""
    none: dict[str, Any] = {name: 0.0 for name in NUMBERS if name not in ("records", "ratio", "twins", "skew")}
    first = {name: next(iter(options)) for name, options in CHOICES.items()} | {"spelling": "same", "kin": "siblings"}
    columns = ("given_name", "middle_name", "surname", "sex", "date_of_birth", "street", "house_number", "postcode")
    more = {"records": 3_000, "ratio": 1.0, "common": 0.5, "twins": 0.01, "skew": 1.0, "block": None}
    made = none | first | more | {"seed": 1, "twins_apart": False, "fields": (*columns, "telephone")}
    return World(**made | changes)


def _fields(profile: str, birth: str, rng: np.random.Generator) -> tuple[str, ...]:
    """The columns of a profile, 3 to 11, with the birth as it is held."""
    chosen: tuple[str, ...]
    if profile == "poor":
        chosen = _POOR[rng.integers(len(_POOR))]
    elif profile == "drawn":
        # One name at least, without which the profile would be a survey.
        picked = {str(name) for name in rng.choice(_DRAWN, size=rng.integers(4, 12), replace=False)}
        picked |= {("given_name", "surname")[rng.integers(2)]}
        chosen = tuple(name for name in _DRAWN if name in picked)
    else:
        chosen = _PROFILES[profile]
    held = tuple(column for name in chosen for column in (_BIRTH[birth] if name == "birth" else (name,)))
    # With one that repeats others, twelve at most.
    return held[:11] if len(held) >= 3 else (*held, "county")


def _possible(world: World) -> World:
    """The world without what contradicts its other dimensions."""
    change: dict[str, Any] = {"ratio": max(world.ratio, min(1.0, SMALLEST / world.records))}
    if world.source == "part":
        change["common"] = 1.0
    if world.source != "separate":
        # What is of one source was written at one date, by one hand.
        change |= dict.fromkeys(("moved_households", "moved_persons", "married", "exchanged", "shortened"), 0.0)
        change |= {"nicknames": 0.0, "lacking": 0.0, "spelling": "same", "lone": "none", "copies_alike": "equal"}
        change |= {"date_form_bob": world.date_form_alice}
    if world.source == "one":
        change |= dict.fromkeys(("missing", "bare", "errors", "placeholders"), 0.0)
    if not set(_BIRTH[world.birth]) & set(world.fields):
        change["birth"] = "none"
    if world.custom == "english":
        change["spelling"] = "same"
    ages = _AGES.get(world.profile, world.ages)
    if world.profile in _ADULTS and ages in ("cohort", "school"):
        ages = "everyone"
    change["ages"] = ages
    if world.custom in _KEEPING_SURNAMES or ages in ("cohort", "school"):
        change["married"] = 0.0
    if ages != "everyone":
        change["namesakes"] = 0.0
    if world.copied != "none":
        column, needed = COPIED[world.copied]
        possible = set(needed) <= set(world.fields) and column not in world.fields
        change |= {"fields": (*world.fields, column)} if possible else {"copied": "none"}
    if world.error_kind == "dates" and not {"date_of_birth", "birth_year", "age"} & set(world.fields):
        change["error_kind"] = "typing"
    larger, smaller = world.records, max(SMALLEST, round(world.records * change["ratio"]))
    if world.block is False and larger * smaller > _MOST_PAIRS:
        change["block"] = None
    if world.block is False and "block" not in change:
        change["mode"] = "open"
    return replace(world, **change)
