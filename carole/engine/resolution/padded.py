"""The conclusion where rows are not all records': the resolver knows dummies and decoys and concludes without them.

Carole counts and keeps pairs of dummies and decoys like any others. The resolver removes the kept ones, from the counts
too, so that records compete with records only and no record is linked to a dummy or a decoy; only pairs too dissimilar
to be kept remain in the counts. A custodian with the grant `pairs` gets numbers for every pair, and must not learn from
them which pairs are of the other's dummies and decoys: these get the link probabilities that they would have if all
were records. How many decoys would be linked is counted beside the decision (`decoys`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gemel.carole.engine.decision.conclusion import conclude
from gemel.carole.engine.decision.decoys import DecoyPairs
from gemel.carole.engine.decision.estimated import decide, scored_patterns
from gemel.carole.engine.inputs.candidates import Candidates
from gemel.carole.engine.pairs.stream import KeptPairs
from gemel.carole.engine.run.plan import LinkagePlan
from gemel.carole.engine.run.result import Linkage, ScoredPairs, classed
from gemel.carole.fellegi_sunter.link_posterior import LinkPosterior
from gemel.carole.fellegi_sunter.linkage_draws import DrawnLinks
from gemel.carole.fellegi_sunter.model import PatternCounts
from gemel.carole.fellegi_sunter.schemes import FittedScheme
from gemel.common.arrays import F64, I32, I64, Flags
from gemel.common.documents.result_warning import result_warning
from gemel.common.parties import Side
from gemel.common.progress import Progress
from gemel.common.specification.model.content import ReleaseSpec


def conclude_padded(
    found: Candidates,
    a: I32,
    b: I32,
    records: tuple[int, int],
    plan: LinkagePlan,
    progress: Progress,
    decoys: tuple[int, int] = (0, 0),
) -> tuple[Linkage, Linkage, I64]:
    """Conclude from candidate pairs of which some are of dummies and decoys.

    `a`, `b` (int32, shape (n_kept,)): handles of each kept pair; those of A's, and of B's, records are below the
    numbers `records`, so many from there on are `decoys`', and the others dummies'. Returns the linkage of the records,
    in which no dummy and no decoy occurs; the same with all pairs and their patterns, as shares show them; and which
    kept pair each of all pairs is (int64, shape (n_kept,)).
    """
    real = (a < records[0]) & (b < records[1])
    of_a, of_b = (
        (own >= records[side]) & (own < records[side] + decoys[side]) & (other < records[1 - side])
        for side, own, other in ((0, a, b), (1, b, a))
    )

    def decoy_pairs(scheme: FittedScheme, floor: float) -> tuple[DecoyPairs, DecoyPairs]:
        weight = scheme.match_weights(found.patterns.gamma)[found.pattern]
        at_a, at_b = of_a & (weight >= floor), of_b & (weight >= floor)
        return (a[at_a], b[at_a], weight[at_a]), (b[at_b], a[at_b], weight[at_b])

    source = decoy_pairs if plan.decoys else None
    if real.all():
        linkage, order = conclude(found, a, b, plan, progress, decoys=source)
        return linkage, linkage, order
    linkage, order = conclude(without(found, real), a[real], b[real], plan, progress, decoys=source)
    scored = scored_patterns(linkage.scheme, found.patterns)
    posterior = None
    if plan.competing:
        n_a, n_b = found.n_a + _dummies(a, records[0]), found.n_b + _dummies(b, records[1])
        competing = LinkPosterior(plan.assignment, a, b, n_a, n_b, threads=found.threads)
        posterior = linkage.scheme.informed(competing).probabilities(scored.weight[found.pattern])
    every = decide(KeptPairs(a, b, found.pattern), scored, posterior, plan)
    link = np.empty(len(a))
    link[every.order] = every.pairs.link_probability
    among_all = np.flatnonzero(real)[order]
    link[among_all] = linkage.pairs.link_probability
    pairs = ScoredPairs(a, b, found.pattern, scored.weight[found.pattern], scored.probability[found.pattern], link)
    dummies_a, dummies_b = records[0] + decoys[0], records[1] + decoys[1]
    if n_with_dummies := int(((a >= dummies_a) | (b >= dummies_b)).sum()):
        warning = result_warning("pairs_with_dummies", dummies=n_with_dummies, pairs=len(a))
        linkage = replace(linkage, warnings=(*linkage.warnings, warning))
    links = np.sort(among_all[linkage.links])
    draws = None if linkage.draws is None else linkage.draws.at(among_all[linkage.draws.pair])
    every_pair = replace(linkage, patterns=scored, pairs=pairs, links=links, draws=draws)
    return linkage, every_pair, np.arange(len(a), dtype=np.int64)


def without(found: Candidates, real: Flags) -> Candidates:
    """The candidates without some of the kept pairs, which are removed from the counts too.

    `real` (bool, shape (n_kept,)): the pairs that stay.
    """
    taken = np.bincount(found.pattern[~real], minlength=len(found.patterns.count))
    count = found.patterns.count - taken
    stays = count > 0
    place = np.cumsum(stays) - 1
    patterns = PatternCounts(found.patterns.gamma[stays], found.patterns.mask[stays], count[stays])
    return replace(
        found,
        patterns=patterns,
        pattern=place[found.pattern[real]].astype(np.int32),
        selected=place[found.selected[stays[found.selected]]].astype(np.int64),
        rarity=None if found.rarity is None else found.rarity[real],
        checked=None if found.checked is None else found.checked.rows(real),
    )


def _dummies(handles: I32, records: int) -> int:
    return max(0, int(handles.max(initial=-1)) + 1 - records)


@dataclass(frozen=True, repr=False)
class ShownPairs:
    """Pairs of a result, for one custodian.

    `pair` (int64, shape (n,)): ascending positions among the pairs of the result; `probability` (float64, shape (n,)):
    link probabilities: means of classes of links, and of other pairs, unless exact ones are granted; `draws`: drawn
    linkages, where they are granted, by positions among the shown pairs; `every`: whether every kept pair is granted.
    """

    pair: I64
    probability: F64
    linked: Flags
    draws: DrawnLinks | None = None
    every: bool = False


def shown_pairs(linkage: Linkage, release: ReleaseSpec, side: Side) -> ShownPairs | None:
    """What a custodian is shown of the pairs; None where it receives statistics only, or nothing."""
    if side not in release.recipients_of_pairs:
        return None
    grant = getattr(release, str(side))
    pairs = linkage.pairs
    linked = np.zeros(len(pairs.link_probability), dtype=np.bool_)
    linked[linkage.links] = True
    there = linked.copy()
    drawn = linkage.draws if grant == "draws" else None
    if drawn is not None:
        there[drawn.pair] = True
    if grant == "pairs":
        there[:] = True
    pair = np.flatnonzero(there).astype(np.int64)
    probability = np.clip(pairs.link_probability[pair], 0.0, 1.0)
    if not release.exact_to(side):
        # A pattern is a comparison vector with the rules its pairs satisfy; the vector alone tells of fields.
        _, vector = np.unique(linkage.patterns.gamma, axis=0, return_inverse=True)
        vector = vector.ravel()[pairs.pattern[pair]]
        # Links by themselves: both custodians then have the same numbers of them, whatever else either is granted.
        for same in (linked[pair], ~linked[pair]):
            probability[same] = classed(probability[same], vector[same])
    draws = None if drawn is None else DrawnLinks(drawn.draw, np.searchsorted(pair, drawn.pair).astype(np.int64))
    return ShownPairs(pair, probability, linked[pair], draws, grant == "pairs")
