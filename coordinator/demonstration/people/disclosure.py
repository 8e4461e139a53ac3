"""The policy of the demonstration: which of the drivers' traits are recognisable or sensitive, and its limits."""

from __future__ import annotations

from gemel.common.specification import Specification
from gemel.common.specification.model.assessment import AssessmentSpec
from gemel.common.specification.model.variables import VariableSpec

from .insured import trait_variables

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
    """A specification of the demonstration with its variables and its policy, and comments on both.

    Parameters
    ----------
    spec
        Of files that `with_traits` gives their traits.
    comments
        On the specification, for `dump_specification`.
    records
        In Alice's file, in Bob's, and in both.
    """
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
