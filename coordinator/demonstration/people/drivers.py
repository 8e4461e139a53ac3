"""What invented people are like as drivers: age, means, prudence, car, home, skill.

A Bayesian network of eleven variables, the part of the insurance network of Binder et al. (1997) that Smith and Elliot
(2017) link by: everything without descendants among the variables that are not used is left out. The table that the
package ships lists, for each variable after its parents, a row of probabilities for each combination of their
categories, the last parent's running fastest.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files

import numpy as np

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
