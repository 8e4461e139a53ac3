r"""Links to decoys: records that a custodian knows to be no person's, added to its contribution and never released.

The run estimates and decides without them. Then each is added to the decided linkage alone, at the run's own prior
odds, and linked or not by the run's own rule. So decoys change no link, and do not compete with each other. To add one
record to a linkage in which no record has two links is cheap, and exact but for the number of links, which stays: let o
be the odds of its pair with a record of the other file, and f the probability that this record has no link. Beside all
linkages without the decoy, which together weigh 1, those in which it is linked to the record weigh o f. So

.. math:: P(link) = o f / (1 + \sum o f),

the sum being over the decoy's candidates. The competing link of the record loses as much, and both are compared.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from gemel.carole.engine.decision.estimated import Estimated
from gemel.carole.engine.inputs.candidates import Candidates
from gemel.carole.engine.inputs.files import WholeFiles, rarity
from gemel.carole.engine.pairs.linkage_input import LinkageInput
from gemel.carole.engine.pairs.preparation import BothSets
from gemel.carole.engine.pairs.selection import KEPT_PROBABILITY
from gemel.carole.engine.pairs.stream import KeptPairs
from gemel.carole.engine.run.contribution import pair_numbers
from gemel.carole.engine.run.plan import LinkagePlan
from gemel.carole.evaluation.quality_estimate import DecoyCount
from gemel.carole.fellegi_sunter.link_posterior import group_means, of_persons
from gemel.carole.fellegi_sunter.model import probability as logistic
from gemel.carole.fellegi_sunter.schemes import FittedScheme
from gemel.common.arrays import F64, I32, I64, Ints
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.signatures.signature_sets import SignatureSet

# The pairs of decoys with records: those of a contribution in mode open or trusted, whose last rows are decoys.
#
# In these modes the linkage unit decides, and must know which rows are decoys to link without them. They are compared
# with the other file's records after the model is known, and so leave nothing in the run's counts.


DecoyPairs = tuple[Ints, Ints, F64]
"""Pairs of one custodian's decoys with the other's records: a number for the decoy, the row of the other file, and the
match weight in bits, under the run's model."""

DecoySource = Callable[[FittedScheme, float], tuple[DecoyPairs, DecoyPairs]]
"""The pairs of A's and of B's decoys above a floor of their weight, once the run's model is known."""

WeightedPairs = tuple[I32, I32, F64]
"""Rows of A, rows of B, and the weight of each pair."""


def records_and_decoys(part: SignatureSet, decoys: int) -> tuple[SignatureSet, SignatureSet]:
    """A contribution of a whole file in its two parts.

    `decoys`: how many of the last rows are decoys, from the specification. Raises EMPTY_SOURCE if there are no other
    rows.
    """
    n_records = part.n_rows - decoys
    if decoys and n_records < 1:
        raise GemelError(
            ErrorCode.EMPTY_SOURCE, "a contribution has no records beside its decoys", where="quality.decoys",
            got=f"{part.n_rows} rows", remedy="contribute again under the specification that all have approved",
        )  # fmt: skip
    return _rows(part, slice(0, n_records)), _rows(part, slice(n_records, part.n_rows))


def decoys_of_files(
    whole: BothSets, plan: LinkagePlan, above: Callable[[LinkageInput, FittedScheme, float], WeightedPairs]
) -> DecoySource:
    """Compares the decoys of each of two files with the records of the other.

    A block that is dropped or split in the run for its size may be whole among so few decoys; these then have more
    candidates than people have.
    """
    (a, decoys_a), (b, decoys_b) = (records_and_decoys(part, plan.decoys) for part in whole)
    names = [field.name for field in plan.fields if field.value_frequencies]

    def source(scheme: FittedScheme, floor: float) -> tuple[DecoyPairs, DecoyPairs]:
        a_decoy, in_b, weight_a = above(WholeFiles(decoys_a, b), scheme, floor)
        in_a, b_decoy, weight_b = above(WholeFiles(a, decoys_b), scheme, floor)
        # Values are as frequent as in the files: a decoy's are those of records. Without names nothing is added.
        weight_a = weight_a + rarity(*whole, names, a_decoy + a.n_rows, in_b)
        weight_b = weight_b + rarity(*whole, names, in_a, b_decoy + b.n_rows)
        return (a_decoy, in_b, weight_a), (b_decoy, in_a, weight_b)

    return source


def _rows(part: SignatureSet, rows: slice) -> SignatureSet:
    fields = {name: replace(field, codes=field.codes[rows]) for name, field in part.fields.items()}
    variables = {name: replace(variable, codes=variable.codes[rows]) for name, variable in part.variables.items()}
    blocks = {name: keys[rows] for name, keys in part.blocks.items()}
    return SignatureSet(part.rule, rows.stop - rows.start, fields, blocks, variables)


CERTAIN = 1e-9
"""Probability of no link below which a record's link is taken to have no rival."""


def floor_of_decoys(fit: Estimated) -> float:
    """The weight below which no pair can become a link, in bits, at the run's prior odds."""
    log_prior_odds = max(_log_odds(fit.scheme.model.p), _log_prior_odds(fit))
    return float((np.log(KEPT_PROBABILITY) - log_prior_odds) / np.log(2.0))


def count_linked(
    pairs: tuple[DecoyPairs, DecoyPairs], found: Candidates, kept: KeptPairs, fit: Estimated, plan: LinkagePlan
) -> tuple[DecoyCount, DecoyCount]:
    """What becomes of A's and of B's decoys, each added to a decided linkage alone.

    O(n_pairs log n_pairs), of decoys and of the run.
    """
    persons = _Persons.of(found, kept, fit, plan)
    counts = []
    for own, other, of_side in zip(persons, reversed(persons), pairs, strict=True):
        person = _linked(of_side, other, fit, plan)
        to_unlinked, linked_records = int((other.rival[person] == 0).sum()), int((own.rival > 0).sum())
        counts.append(DecoyCount(plan.decoys, len(person), to_unlinked, own.number, linked_records))
    return counts[0], counts[1]


@dataclass(frozen=True)
class _Persons:
    """The records of one file, those that count as one person together: arrays by the first of them."""

    first: Ints | None
    number: int
    free: F64
    rival: F64

    @classmethod
    def of(cls, found: Candidates, kept: KeptPairs, fit: Estimated, plan: LinkagePlan) -> tuple[_Persons, _Persons]:
        """Of A and of B."""
        pairs, links, order = fit.decision.pairs, fit.decision.links, fit.decision.order
        firsts = found.counted(plan)
        persons = of_persons(kept.row_a[order], kept.row_b[order], firsts)
        # All pairs of two persons' records have the probability of their one link.
        _, once = np.unique(pair_numbers(persons[0], persons[1]), return_index=True)
        made = []
        for first, person, n in zip(firsts, persons, (found.n_a, found.n_b), strict=True):
            free = np.ones(n) - np.bincount(person[once], pairs.link_probability[once], minlength=n)
            rival, its_odds = np.zeros(n), np.full(n, -np.inf)
            rival[person[links]] = pairs.link_probability[links]
            its_odds[person[links]] = pairs.weight[links] * np.log(2.0) + _log_prior_odds(fit)
            # The difference is lost where a link is nearly certain; then its odds are to all other linkages.
            free[free < CERTAIN] = logistic(-its_odds)[free < CERTAIN]
            number = n if first is None else len(np.unique(first))
            made.append(cls(first, number, free, rival))
        return made[0], made[1]


def _linked(pairs: DecoyPairs, other: _Persons, fit: Estimated, plan: LinkagePlan) -> I64:
    """The other person of each link, of which a decoy has one at most."""
    of_decoy, record, weight = pairs
    person = record if other.first is None else other.first[record]
    both, member = np.unique(pair_numbers(of_decoy, person), return_inverse=True)
    log_ratio = group_means(weight, member.ravel(), len(both)) * np.log(2.0)
    decoy, person = both >> 32, both & 0xFFFFFFFF
    if plan.assignment == "greedy":
        probability, rival = logistic(log_ratio + _log_odds(fit.scheme.model.p)), other.rival[person]
    else:
        with np.errstate(divide="ignore"):
            log_odds = log_ratio + _log_prior_odds(fit) + np.log(other.free[person])
        probability = of_one(decoy, log_odds)
        rival = other.rival[person] * (1 - probability)
    reached = (probability >= fit.decision.threshold) & (probability > rival)
    decoy, person = decoy[reached], person[reached]
    order = np.lexsort((-probability[reached], decoy))
    _, best = np.unique(decoy[order], return_index=True)
    return np.asarray(person[order][best])


def of_one(decoy: I64, log_odds: F64) -> F64:
    """Probability of each pair of decoys with one link at most: its odds to 1 and the odds of the decoy's pairs."""
    _, star = np.unique(decoy, return_inverse=True)
    n = int(star.max(initial=-1)) + 1
    highest = np.zeros(n)
    np.maximum.at(highest, star, log_odds)
    odds = np.exp(log_odds - highest[star])
    total = np.exp(-highest) + np.bincount(star, odds, minlength=n)
    return np.asarray(odds / total[star])


def _log_prior_odds(fit: Estimated) -> float:
    """Of a link beside the run's, as `LinkPosterior.probabilities` has them."""
    assert fit.posterior is not None  # noqa: S101 - where records have one link at most there is one
    return fit.posterior.log_prior_odds - float(np.log(fit.links.recall))


def _log_odds(p: float) -> float:
    return float(np.log(p) - np.log1p(-p))
