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
from functools import cache
from importlib.resources import files
from typing import Any, Literal

import numpy as np
import polars as pl
import yaml
from numpy.typing import NDArray

from gemel.common.specification import Specification
from gemel.common.specification.model.assessment import AssessmentSpec
from gemel.common.specification.model.variables import VariableSpec
from gemel.coordinator.demonstration.people.population import TRUTH
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
    """Give the people of two files, as `two_files` makes them, a driver's traits; who is in both has one set.

    Alice's file gets the columns `ALICES` and `KEY`, Bob's `BOBS` and `KEY`, as text. `changed` is the share of Bob's
    records whose key is another category than the person's, `missing` that of the values of each trait that a file
    lacks.
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


@cache
def _sections() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(files(__package__).joinpath("insured.yaml").read_text("utf-8"))
    return found


def insured_specification(project: str, mode: Literal["open", "block_keyed"] = "open") -> Specification:
    """A linkage of two insurers' files by little: given name, month of birth, sex and the key.

    That is too little to distinguish people by: the traits must help, in the latent step, and the key's value there
    too. Mode block_keyed has blocking, as it must, and custodians' limits above the default.
    """
    made = _sections()["specification"] | (_sections()["block_keyed"] if mode == "block_keyed" else {})
    named = {"project": project, "mode": mode, "variables": trait_variables()}
    return Specification.model_validate(made | named)


def _texts(name: str, codes: NDArray[np.int32], categories: tuple[str, ...], gone: NDArray[np.bool_]) -> pl.Series:
    values = pl.Series(name, np.array(categories, dtype=object)[codes].tolist(), dtype=pl.String)
    return values.set(pl.Series(gone), None)


SAMPLED = 0.05
"""Share of the invented population that is in either file, as `two_files` has it."""


def with_policy(
    spec: Specification, comments: dict[str, str], records: tuple[int, int, int]
) -> tuple[Specification, dict[str, str]]:
    """A specification of the demonstration with its variables and its policy, and comments on both."""
    roles = _sections()["roles"]
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
            **_sections()["policy"],
            # No one could count them there, and the specification must say so.
            **({"near_copies": 1} if spec.mode == "shared" else {}),
        }
    )
    release = spec.release.model_copy(update={"assessment": "policy"})
    update = {"variables": tuple(variables), "assessment": policy, "release": release}
    return Specification.model_validate(spec.model_copy(update=update).model_dump()), comments | _sections()["comments"]
