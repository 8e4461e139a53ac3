"""What two insurers know of the people in both their files: a driver's traits, some with Alice and others with Bob.

No trait depends on name or address; what makes them useful to a linkage is that Alice's and Bob's go together in one
person.

The traits, age, means, prudence, car, home and skill, follow a Bayesian network of eleven variables, the part of the
insurance network of Binder et al. (1997) that Smith and Elliot (2017) link by: everything without descendants among the
variables that are not used is left out. The table that the package ships lists, for each variable after its parents, a
row of probabilities for each combination of their categories, the last parent's running fastest.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from gemel.common.specification import Specification
from gemel.common.specification.model.assessment import AssessmentSpec
from gemel.common.specification.model.variables import VariableSpec
from gemel.coordinator.demonstration.people.population import IDENTIFIER, TRUTH
from gemel.risk.models.bayesian_networks import BayesianNetwork

TABLE = "drivers.json"


@cache
def driver_network() -> BayesianNetwork:
    """The network: 11 variables, 18 edges, 239 free parameters.

    References
    ----------
    .. [1] Binder, Koller, Russell and Kanazawa, Machine Learning 29, 1997. doi:10.1023/A:1007421730016
    """
    variables = json.loads(files(__package__).joinpath(TABLE).read_text("ascii"))
    place = {variable["name"]: v for v, variable in enumerate(variables)}
    parents = [tuple(place[name] for name in variable["parents"]) for variable in variables]
    categories = [tuple(variable["categories"]) for variable in variables]
    tables = [
        np.array(variable["rows"], dtype=np.float64).reshape([len(categories[w]) for w in (*above, v)])
        for v, (variable, above) in enumerate(zip(variables, parents, strict=True))
    ]
    return BayesianNetwork(tuple(place), tuple(categories), tuple(parents), tuple(tables))


ALICES = ("SeniorTrain", "RiskAversion", "VehicleYear", "GoodStudent", "DrivingSkill", "SocioEcon")
"""What Alice knows in addition to the key, as Smith and Elliot (2017) divide the variables."""

BOBS = ("HomeBase", "Age", "MakeModel", "OtherCar")
"""What Bob knows in addition to the key."""

KEY = "DrivQuality"
"""What both know, each by a record of its own."""


def with_traits(
    alice: pl.DataFrame, bob: pl.DataFrame, rng: np.random.Generator, *, changed: float = 0.1, missing: float = 0.02
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Give the people of two files a driver's traits.

    Parameters
    ----------
    alice, bob : DataFrame
        As `two_files` makes them; a person who is in both has one set of traits.
    rng : numpy.random.Generator
        Decides everything.
    changed : float
        Share of Bob's records whose key is another category than the person's.
    missing : float
        Share of the values of each trait that a file does not have.

    Returns
    -------
    DataFrame, DataFrame
        Alice's with columns `ALICES` and `KEY`, Bob's with `BOBS` and `KEY`, as text.
    """
    network = driver_network()
    persons = pl.concat([alice[TRUTH], bob[TRUTH]]).unique().sort()
    traits = network.sample(persons.len(), rng)
    place = pl.DataFrame({TRUTH: persons, "place": np.arange(persons.len(), dtype=np.int64)})

    def given(frame: pl.DataFrame, names: tuple[str, ...], others: float) -> pl.DataFrame:
        rows = frame.select(TRUTH).join(place, on=TRUTH, how="left", maintain_order="left")["place"].to_numpy()
        columns = []
        for name in names:
            column = list(network.names).index(name)
            codes = traits[rows, column].copy()
            levels = len(network.categories[column])
            if name == KEY:
                moved = rng.random(len(codes)) < others
                codes[moved] = (codes[moved] + rng.integers(1, levels, int(moved.sum()))) % levels
            columns.append(_texts(name, codes, network.categories[column], rng.random(len(codes)) < missing))
        return frame.with_columns(columns)

    return given(alice, (*ALICES, KEY), 0.0), given(bob, (*BOBS, KEY), changed)


def trait_variables() -> list[dict[str, Any]]:
    """The traits as the `variables` section of a specification has them."""
    network = driver_network()
    holders = [*((name, "alice") for name in ALICES), *((name, "bob") for name in BOBS), (KEY, "both")]
    return [
        {"name": name, "holder": holder, "categories": list(network.categories[list(network.names).index(name)])}
        for name, holder in holders
    ]


RULES: tuple[Mapping[str, Any], ...] = (
    MappingProxyType({"name": "month", "keys": [{"field": "born"}]}),
    MappingProxyType({"name": "sex-and-driving", "keys": [{"field": "sex"}, {"field": KEY}]}),
)
"""Blocking in mode block_keyed: by what is in few categories, so that nearly all matches are candidates."""

LENIENT: Mapping[str, Any] = MappingProxyType({"leakage": {"above": "warn"}, "resolution": {"max_joins": 1}})
"""In mode block_keyed. So little is compared that blocks are large and nearly every row is in a candidate pair: the
driving quality can be guessed from its similarities, and handles join the rows of nearly all records."""


def insured_specification(project: str, mode: Literal["open", "block_keyed"] = "open") -> Specification:
    """A linkage of two insurers' files by little: given name, month of birth, sex and the key.

    That is too little to distinguish people by: the traits must help, in the latent step, and the key's value there
    too. Mode block_keyed has blocking, as it must, and custodians' limits above the default.
    """
    return Specification.model_validate(
        {
            "version": 1,
            "project": project,
            "mode": mode,
            "custodians": {"alice": {"identifier": IDENTIFIER}, "bob": {"identifier": IDENTIFIER}},
            "fields": [
                {"name": "given_name", "kind": "name"},
                {
                    "name": "born",
                    "kind": "date",
                    "column": "date_of_birth",
                    "date": {"order": "ymd", "parts": ["month"]},
                    "levels": "exact",
                },
                {"name": "sex", "kind": "category"},
                {"name": KEY, "kind": "category"},
            ],
            "blocking": [dict(rule) for rule in RULES] if mode == "block_keyed" else [],
            "variables": trait_variables(),
            "latent": {"keys": [KEY]},
            **(LENIENT if mode == "block_keyed" else {}),
            "retention": {"uploads_days": 7, "results_days": 30, "maps_days": 90},
        }
    )


def _texts(name: str, codes: NDArray[np.int32], categories: tuple[str, ...], gone: NDArray[np.bool_]) -> pl.Series:
    values = pl.Series(name, np.array(categories, dtype=object)[codes].tolist(), dtype=pl.String)
    return values.set(pl.Series(gone), None)


KEYS = ("Age", "SocioEcon", "MakeModel", "HomeBase")
"""What an intruder may know of a driver: one of the traits is Alice's, three are Bob's, and only linking joins them."""

SENSITIVE = ("RiskAversion",)
"""What no intruder should learn of a driver."""

SAMPLED = 0.05
"""Share of the invented population that is in either file, as `two_files` has it."""

_COMMENTS = {
    "variables": "What else the custodians know of their people, carried as codes: key is what an intruder may know"
    " of a person, sensitive what no intruder should learn.",
    "assessment": "The policy: Carole assesses what the combined output could disclose of people. If a number is above"
    " its limit, nothing is released.",
}


def with_policy(
    spec: Specification, comments: dict[str, str], records: tuple[int, int, int]
) -> tuple[Specification, dict[str, str]]:
    """A specification of the demonstration with its variables and its policy, and comments on both."""
    roles = dict.fromkeys(KEYS, "key") | dict.fromkeys(SENSITIVE, "sensitive")
    variables = [
        VariableSpec.model_validate({**variable, "role": roles.get(variable["name"], "other")})
        for variable in trait_variables()
    ]
    alice, bob, both = records
    population = (alice + bob - both) / SAMPLED
    shares = (round(number / population, 4) for number in (alice, bob, both))
    policy = AssessmentSpec.model_validate(
        {
            "fractions": dict(zip(("alice", "bob", "combined"), shares, strict=True)),
            "tables": [{"variables": ["Age", "RiskAversion"], "protection": "conventional", "base": 5}],
            "limits": {
                "correct_unique_matches": 0.2,
                "correct_matches": 0.02,
                "certain_attribution": 0.1,
                "subtraction": 0.5,
            },
            "on_breach": "refuse",
            # No one could count them there, and the specification must say so.
            **({"near_copies": 1} if spec.mode == "shared" else {}),
        }
    )
    release = spec.release.model_copy(update={"assessment": "policy"})
    update = {"variables": tuple(variables), "assessment": policy, "release": release}
    return Specification.model_validate(spec.model_copy(update=update).model_dump()), comments | _COMMENTS
