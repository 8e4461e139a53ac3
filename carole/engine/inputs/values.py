"""The values of the extended latent step: codes of both files' category variables, and keys by their signatures."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gemel.carole.engine.inputs.value_frequencies import joint_codes
from gemel.carole.engine.run.plan_parts import LatentPlan
from gemel.carole.extended_latent import (
    Values,
    Variable,
)
from gemel.common.documents.result_warning import ResultWarning, result_warning
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import Side
from gemel.common.signatures.signature_sets import MISSING, SignatureSet


def check_variables(a: SignatureSet, b: SignatureSet, latent: LatentPlan) -> None:
    """Raise `GemelError` (ENCODING_MISMATCH) unless both sets carry the variables that the plan assigns to them."""
    for side, part in ((Side.ALICE, a), (Side.BOB, b)):
        for variable in latent.variables:
            if variable.holder not in (str(side), "both"):
                continue
            found = part.variables.get(variable.name)
            if found is None or found.categories != variable.categories:
                raise GemelError(
                    ErrorCode.ENCODING_MISMATCH, f"codes of {variable.categories} categories expected",
                    where=f"{side}, variable {variable.name}",
                    got="none" if found is None else f"{found.categories} categories",
                    remedy="contribute again under the specification of this run",
                )  # fmt: skip


def values_of(a: SignatureSet, b: SignatureSet, latent: LatentPlan) -> tuple[Values | None, list[ResultWarning]]:
    """The codes of the value model's variables, and what was left out.

    A variable without values is left out, as is a key that only one file has values of. If nothing is left that could
    give evidence on a pair, there is no value model.

    Returns
    -------
    Values or None
        Keys first, in the order of the plan. A key among the variables that both hold has its categories for levels;
        another has the distinct signatures of both files, equal ones of both files under one code.
    list of ResultWarning
    """
    variables: list[Variable] = []
    columns: list[tuple[NDArray[np.int32], NDArray[np.int32]]] = []
    warnings: list[ResultWarning] = []
    both = {variable.name: variable for variable in latent.variables if variable.holder == "both"}
    for key in latent.keys:
        if key in both:
            levels = both[key].categories
            codes = a.variables[key].codes.astype(np.int32), b.variables[key].codes.astype(np.int32)
        else:
            joint = joint_codes(a.fields[key], b.fields[key])
            levels = max(int(part.max(initial=-1)) for part in joint) + 1
            codes = joint[0].astype(np.int32), joint[1].astype(np.int32)
        if levels < 2 or not all((part >= 0).any() for part in codes):
            reason = "a file has no values of it, or it has only one"
            warnings.append(result_warning("variable_left_out", variable=key, reason=reason))
            continue
        variables.append(Variable(key, "both", levels))
        columns.append(codes)
    for variable in latent.variables:
        if variable.holder == "both":
            continue
        own = (a if variable.holder == "alice" else b).variables[variable.name].codes.astype(np.int32)
        if not (own >= 0).any():
            reason = "no record has a category of it"
            warnings.append(result_warning("variable_left_out", variable=variable.name, reason=reason))
            continue
        variables.append(Variable(variable.name, variable.holder, variable.categories))
        nothing = np.full((b if variable.holder == "alice" else a).n_rows, MISSING, dtype=np.int32)
        columns.append((own, nothing) if variable.holder == "alice" else (nothing, own))
    held = {variable.holder for variable in variables}
    if "both" not in held and not {"alice", "bob"} <= held:
        warnings.append(result_warning("latent_step_left_out"))
        return None, warnings
    codes_a, codes_b = (np.stack([column[side] for column in columns], axis=1) for side in (0, 1))
    return Values(tuple(variables), codes_a, codes_b), warnings
