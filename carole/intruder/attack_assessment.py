"""An assessment by linkage attack: each intruder's claims beside the truth, and what dummy records would change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any, Literal, get_args

import numpy as np

from gemel.carole.evaluation.link_quality import calibration, expected_precision_recall
from gemel.carole.intruder.attack import Suspicions, extended_attack, fellegi_sunter_attack
from gemel.carole.intruder.files import AttackedFiles
from gemel.common.arrays import I32
from gemel.common.documents.result_warning import by_severity
from gemel.common.errors import parameter
from gemel.risk.identification.matching.claims import Claims, claim_best_of_each, claim_most_probable
from gemel.risk.models.annealing import anneal
from gemel.risk.models.counts import SparseCounts
from gemel.risk.models.fitted import fit
from gemel.risk.models.queries import sample
from gemel.risk.models.scores import HyperDirichlet

Kind = Literal["independent", "model", "twins"]


def with_dummies(files: AttackedFiles, number: int, rng: np.random.Generator, kind: Kind = "twins") -> AttackedFiles:
    """The same files with dummy records at the end of the release.

    `kind`: ``independent``: every value drawn from its variable's own frequencies. ``model``: whole records drawn from
    a decomposable model of the release. ``twins``: the keys of a released record, those that occur least often first,
    with everything else from another record: the record is no longer unique. The truth does not change: no person's
    record is a dummy. The release's owner must inform users of the data, or remove dummies from every count; their cost
    is their share of the records.
    """
    if kind not in get_args(Kind):
        raise parameter("kind", f"must be one of {', '.join(get_args(Kind))}", kind)
    if number < 0:
        raise parameter("number", "cannot be negative", str(number))
    if not number:
        return files
    made = {"independent": _independent, "model": _modelled, "twins": _twins}[kind](files, number, rng)
    return replace(files, released=np.concatenate([files.released, made]))


def _independent(files: AttackedFiles, number: int, rng: np.random.Generator) -> I32:
    columns = [rng.choice(files.released[:, q], number) for q in range(len(files.names))]
    return np.stack(columns, axis=1)


def _modelled(files: AttackedFiles, number: int, rng: np.random.Generator) -> I32:
    """From a model of the variables that the release has; missing values are a separate level."""
    held = np.flatnonzero([len(np.unique(files.released[:, q])) > 1 for q in range(len(files.names))])
    found = np.tile(files.released[:1], (number, 1))
    if not len(held):
        return found
    codes = files.released[:, held] + 1
    counts = SparseCounts.from_records(codes, [files.levels[q] + 1 for q in held])
    model = fit(counts, anneal(HyperDirichlet(counts), rng, moves=20_000).best.graph)
    found[:, held] = sample(model, number, rng) - 1
    return found


def _twins(files: AttackedFiles, number: int, rng: np.random.Generator) -> I32:
    keys = list(files.keys)
    _, which, counts = np.unique(files.released[:, keys], axis=0, return_inverse=True, return_counts=True)
    shuffled = rng.permutation(len(files.released))
    rarest = shuffled[np.argsort(counts[which.ravel()[shuffled]], kind="stable")]
    copied = np.resize(rarest, number)
    made = files.released[rng.integers(0, len(files.released), number)].copy()
    made[:, keys] = files.released[copied][:, keys]
    return made


Intruder = Callable[[AttackedFiles], Suspicions]

INTRUDERS: dict[str, Intruder] = {"Fellegi-Sunter": fellegi_sunter_attack, "extended latent": extended_attack}


def judged(files: AttackedFiles, found: Suspicions, minimum: float = 0.5) -> dict[str, Any]:
    """One intruder's result as measures: his claims, the correct ones, and the calibration of his probabilities."""
    truth = files.is_match(found.person, found.record)
    best = partial(claim_best_of_each, found.person, found.probability, truth)
    measures: dict[str, Any] = {
        "expected_matches": found.expected_matches,
        "claims": {
            "most_probable": _claims(claim_most_probable(found.probability, truth)),
            "best_of_each_person": _claims(best()),
            "best_of_each_person_if_likely": _claims(best(minimum)),
        },
        "minimum": minimum,
        "warnings": [warning.plain() for warning in by_severity(found.warnings)],
    }
    if truth is not None:
        n_matches = files.n_matches or 0
        gap = calibration(found.probability, truth)
        measures["matches"] = n_matches
        unscored = len(files.known) * len(files.released) - len(truth)
        curve = expected_precision_recall(found.probability, truth, n_matches, unscored) if n_matches else None
        measures["auc"] = None if curve is None else curve.auc
        measures["calibration"] = {
            "largest_gap": gap.largest_gap,
            "expected": gap.expected.tolist(),
            "observed": gap.observed.tolist(),
        }
    return measures


def _claims(claims: Claims) -> dict[str, Any]:
    return asdict(claims) | {"correct": claims.correct}


def assess(
    files: AttackedFiles, *, minimum: float = 0.5, dummies: Sequence[float] = (), kind: Kind = "twins", seed: int = 1
) -> dict[str, Any]:
    """Attack a release with each intruder; `dummies`: numbers of dummy records to try, as shares of the release.

    Ready for JSON; no record and no value is in it.
    """

    def by_each(attacked: AttackedFiles) -> dict[str, Any]:
        return {name: judged(attacked, intruder(attacked), minimum) for name, intruder in INTRUDERS.items()}

    found: dict[str, Any] = {
        "people": len(files.known),
        "records": len(files.released),
        "keys": [files.names[q] for q in files.keys],
        "known": [n for q, n in enumerate(files.names) if q not in files.keys and (files.known[:, q] >= 0).any()],
        "learnt": [n for q, n in enumerate(files.names) if (files.known[:, q] < 0).all()],
        "training": 0 if files.training is None else len(files.training),
        "truth_known": files.record_of is not None,
        "intruders": by_each(files),
        "dummies": [],
    }
    for share in dummies:
        rng = np.random.default_rng((seed, round(1e6 * share)))
        changed = with_dummies(files, round(share * len(files.released)), rng, kind)
        found["dummies"].append({"share": share, "kind": kind, "intruders": by_each(changed)})
    return found
