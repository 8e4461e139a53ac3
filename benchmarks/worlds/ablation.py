"""What each mechanism and each remedy is worth: how a process links without the one, or with the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from benchmarks.worlds.judged import Judgement
from gemel.carole.engine.decision import claims
from gemel.carole.engine.run import specified
from gemel.carole.fellegi_sunter.kinds import agreement, changes, law, relations, rounds
from gemel.carole.fellegi_sunter.kinds.relations import Exclusion
from gemel.carole.fellegi_sunter.kinds.relatives import Relatives
from gemel.carole.fellegi_sunter.link_posterior import LinkPosterior
from gemel.common.arrays import F64
from gemel.common.specification import Specification

CERTAIN = 1e-3
"""Standard deviation of the logarithm of what is known."""


def _drafted(section: str, **values: object) -> Callable[[], None]:
    """Another draft: options of a section, or what gives an option's value for a world."""

    def apply() -> None:
        drafted = Judgement.drafted

        def other(self: Judgement) -> Specification | None:
            spec = drafted(self)
            if spec is not None:
                stated = {name: value(self) if callable(value) else value for name, value in values.items()}
                self.spec = spec.model_copy(update={section: getattr(spec, section).model_copy(update=stated)})
            return self.spec

        setattr(Judgement, "drafted", other)  # noqa: B010 - of a class

    return apply


def _set(module: object, **values: object) -> Callable[[], None]:
    def apply() -> None:
        for name, value in values.items():
            if not hasattr(module, name):
                raise AttributeError(f"{module} has no {name}")
            setattr(module, name, value)

    return apply


def _rates_known() -> None:
    changes.SPREAD_OF_RATE = dict.fromkeys(changes.SPREAD_OF_RATE, CERTAIN)
    changes.NEVER = 1e-9


def _whole_names_unknown() -> None:
    believed = Relatives.believed
    setattr(Relatives, "believed", lambda fields, u: replace(believed(fields, u), names=0))  # noqa: B010 - of a class


def _agreeing_only(self: rounds.Steps, shared: Sequence[int], levels: F64) -> F64:
    return np.zeros((len(shared), levels.shape[1] + 1))


def _without_doubt() -> None:
    drawn = claims.drawn_errors

    def expected(linkage, rng, n=claims.DRAWS):  # type: ignore[no-untyped-def]
        false, missed = drawn(linkage, rng, n)
        return np.full(n, false.mean()), np.full(n, missed.mean())

    setattr(claims, "drawn_errors", expected)  # noqa: B010 - of a module


def _never_off() -> None:
    for name in ("FALSE", "MISSED", "LOST"):
        setattr(claims, name, claims.Off(0.0, 0.0, 0.0, 0.0, 0.0))


MECHANISMS: dict[str, Callable[[], None]] = {
    "kinds of pairs": _drafted("model", dependence="none"),
    "dependences among strangers": _set(rounds, LARGEST_CLIQUE=dict.fromkeys(rounds.LARGEST_CLIQUE, 1)),
    "rates of change that are learnt": _rates_known,
    "a number of relatives that is learnt": _set(relations, SPREAD_OF_FAMILY=CERTAIN),
    "copies of a person that are one": _set(LinkPosterior, people=lambda self, chosen: int(chosen.sum())),
    "twins who come alone": _set(relations, ALONE={"name": 0.0, "birth": 0.0}),
    "fields of which nothing shows": _set(rounds, SHOWN_OF=0.0),
    "strangers who look like a kind": _set(rounds.Steps, _log_further=_agreeing_only),
    "whole names of relatives": _whole_names_unknown,
    "names more alike than strangers' often are": _set(agreement, UNLIKE=1.0),
    "strangers somewhat alike": _set(law, SELDOM=-1.0),
    "changes that were not found": _set(rounds, unfound=lambda changes, missing: []),
    "beliefs that may be far off": _set(changes, FAR_OFF=1e-12),
    "exclusion": _set(Exclusion, carried=lambda self, seen, kinds: Exclusion.unknown(len(kinds))),
    "relatives come together": _set(Exclusion, levelled=lambda self, kinds, one_person: self),
    "exchanged names": _set(changes, EXCHANGED=1e-9, SPREAD_OF_EXCHANGED=CERTAIN),
    "traits of few pairs": _set(relations, FEW=0.0),
    "parts of a date together": _set(specified, part_of_date=lambda name: None),
    "m held by other fields": _set(rounds, held=lambda m, believed, u, fields: m),
    "the largest expected F1": _drafted("links", threshold=0.5),
    "an assignment by copies": _drafted("links", assignment="one_to_one"),
    "doubt of the kinds": _without_doubt,
    "how far off models are": _never_off,
}
"""By name, what takes a mechanism out of the process."""

REMEDIES: dict[str, Callable[[], None]] = {
    "links_in_doubt": _drafted("model", expected_matches=lambda world: float(max(world.outcome.matches, 1))),
}
"""By warning, what makes the process follow its remedy."""
