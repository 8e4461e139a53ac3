"""What models say in an assessment: log-linear and modelled risk, each held against the file's DIS.

A model that DIS contradicts is warned of, its measures are marked as not to be relied on (``relied_on`` false), and the
report leads with what needs no model.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from gemel.common.documents.result_warning import result_warning
from gemel.common.errors import ErrorCode, GemelError
from gemel.risk.arrays import Floats, finite
from gemel.risk.identification.assessment.wording import BAYESIAN, entry
from gemel.risk.identification.file_level import file_dis
from gemel.risk.identification.key_file import KeyFile
from gemel.risk.identification.loglinear.model_choice import agrees, choose_model, cliques_of, disagreement, likeliest
from gemel.risk.identification.loglinear.risk import LogLinearRisk, log_linear_risk
from gemel.risk.identification.matching.bayesian_matching import BayesianMatching, Method, bayesian_matching, fit_models
from gemel.risk.identification.matching.model_attacks import ModelAttack, attack_on, best_cells, cost_matched
from gemel.risk.models.defaults import EXACT_TO
from gemel.risk.models.graphs import Graph
from gemel.risk.models.precision_search import GammaPrior

_CELLS = 2**18  # of a two-way model
_MODELS = 8  # two-way models on the path
_SEARCHED = 3  # models of the search that are tried as log-linear ones
_TRACED = 200  # points of a search's trace


def log_linear(
    file: KeyFile, found: dict[str, Any], weights: Floats | None, searched: Iterable[Graph] = ()
) -> LogLinearRisk:
    choice = None
    if weights is None:
        choice = choose_model(file, max_models=_MODELS, limit=_CELLS, higher_order=True, searched=searched)
    models = choice.models if choice else _weighted(file, weights)
    chosen = choice.chosen if choice else len(models) - 1
    left_out = choice.left_out if choice else 3 - len(models)
    origins = choice.origins if choice else ("two-way path", "search", "two-way path")
    agreeing = choice.agreeing if choice else [None] * len(models)
    dis = choice.dis if choice else None
    best = models[chosen]
    found["log_linear"] = {
        "weighted": weights is not None,
        "chosen": chosen,
        "criterion": choice.criterion if choice else None,
        "agrees": agreeing[chosen],
        "left_out": left_out,
        "graph": _graph(best),
        "dis": None if dis is None else [dis.low, dis.value, dis.high],
        "models": [{**_model(m), "origin": origins[k], "agrees": agreeing[k]} for k, m in enumerate(models)],
    }
    if not best.converged:
        found["warnings"].append(result_warning("log_linear_not_converged", deviation=best.fit.deviation))
    if left_out:
        found["warnings"].append(result_warning("two_way_models_left_out", number=left_out, cells=_CELLS))
    if dis is not None and (contradiction := disagreement(dis, best.cm_given_um, "the log-linear model")):
        found["warnings"].append(contradiction)
    sound = best.converged and agreeing[chosen] is not False
    # Before those of the modelling intruder, whose search came first.
    names = [m["name"] for m in found["measures"]]
    at = names.index(BAYESIAN) if BAYESIAN in names else len(names)
    found["measures"][at:at] = [
        entry(name, tau, choice.interval(r) if choice else None, relied_on=sound)
        for r, name, tau in ((1, "tau1", best.tau1), (2, "tau2", best.tau2))
    ]
    return best


def _weighted(file: KeyFile, weights: Floats | None) -> Sequence[LogLinearRisk]:
    """Independence, the likeliest decomposable model, and all two-way interactions where they have few cells enough.

    No criterion is known for unequal weights, and DIS supposes equal ones: the last is taken.
    """
    graph = likeliest(file.table())
    models = [log_linear_risk(file, terms, weights=weights) for terms in ("independence", cliques_of(graph))]
    try:
        return [*models, log_linear_risk(file, "two-way", weights=weights, limit=_CELLS)]
    except GemelError as error:
        if error.code != ErrorCode.MEMORY:
            raise
        return models


def _model(m: LogLinearRisk) -> dict[str, Any]:
    p = m.precision
    return {
        "model": m.model,
        "order": max(len(term) for term in m.terms),
        "tau1": m.tau1,
        "tau2": m.tau2,
        "plug_in": list(m.plug_in),
        "cm_given_um": m.cm_given_um,
        "B1": finite(m.B1),
        "B2": finite(m.B2),
        "tau_deviations": None if p is None else list(p.tau),
        "B_deviations": None if p is None else list(p.criterion),
        "B_biases": None if p is None else [finite(bias) for bias in p.criterion_bias],
        "B_drawn": None if p is None else list(p.drawn),
        "converged": m.converged,
        "fit_in_closed_form": m.graph is not None,
        "deviation": m.fit.deviation,
        "cells": len(m.fit.cells),
    }


def _graph(m: LogLinearRisk) -> dict[str, Any]:
    names = sorted({name for term in m.terms for name in term})
    edges = {(a, b) for term in m.terms for a in term for b in term if a < b}
    return {"variables": names, "edges": [list(edge) for edge in sorted(edges)], "decomposable": m.graph is not None}


def modelled(file: KeyFile, found: dict[str, Any], method: Method, seed: int) -> BayesianMatching:
    # All models are tried to six keys, and the data may say how smooth the table is. Above that chains do not come
    # together under the prior in large files, and the precision is fixed.
    exact = method == "default" and len(file.varying) <= EXACT_TO
    precision = GammaPrior() if exact else 1.0
    fitted = fit_models(file, method, np.random.default_rng(seed), precision=precision)
    matching = bayesian_matching(file, fitted)
    measures, dis = matching.measures, file_dis(file)
    sound = agrees(dis, measures.cm_given_um)
    found["warnings"] += fitted.warnings()
    contradiction = disagreement(dis, measures.cm_given_um, "modelled matching")
    found["warnings"] += [] if contradiction is None else [contradiction]
    search = fitted.search
    best = search.best.graph
    names = [str(n) for n in best.names]
    every = max(1, -(-search.trace.shape[1] // _TRACED))
    found["modelled"] = {
        "search": search.method,
        "models": len(fitted.average.models),
        "estimate": fitted.average.models[0].estimate,
        "precision": 1.0 if fitted.precision is None else fitted.precision.mean,
        **asdict(measures),
        "agrees": sound,
        "attacks": _attacks(matching),
        "graph": {
            "variables": names,
            "edges": [[names[v], names[w]] for v, w in best.edges],
            "inclusion": np.clip(search.edge_inclusion, 0.0, 1.0).tolist(),
        },
        "trace": {"every": every, "log_scores": search.trace[:, ::every].tolist()},
    }
    found["measures"] += [
        entry(BAYESIAN, measures.cm, relied_on=sound),
        entry("greatest Pr(CM), modelled", measures.greatest, relied_on=sound),
    ]
    return matching


def _attacks(matching: BayesianMatching) -> list[dict[str, Any]]:
    own = matching.file.counts == 1
    tried: list[tuple[str, str, ModelAttack]] = [
        ("the ten likeliest combinations, a record of them looked for", "from_sample", best_cells(matching))
    ]
    if own.any():
        sizes = matching.file.population_sizes
        people = float(sizes[own].sum() if sizes is not None else matching.expected_count[own].sum())
        every = attack_on(matching, np.flatnonzero(own))
        smallest = cost_matched(matching, people, by_true_counts=sizes is not None)
        tried += [
            ("people until one matches any sample unique", "from_population", every),
            ("the same search for the combinations that models expect to be smallest", "from_population", smallest),
        ]
    return [
        {
            "name": name,
            "combinations": len(found.cells),
            "claimed": getattr(found.claimed, chance),
            "claimed_cost": finite(getattr(found.claimed, f"cost_{chance}")),
            "true": None if found.true is None else getattr(found.true, chance),
            "cost": None if found.true is None else finite(getattr(found.true, f"cost_{chance}")),
        }
        for name, chance, found in tried
    ]


def heaviest_graphs(matching: BayesianMatching | None) -> list[Graph]:
    if matching is None:
        return []
    average = matching.models.average
    order = np.argsort(-average.weights, kind="stable")[:_SEARCHED]
    return [average.models[k].graph for k in order]
