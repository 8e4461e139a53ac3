"""What a report is made from: plain dictionaries, ready for JSON, that hold counts and parameters and no record.

They are the same as the files a linkage leaves behind, so that a report can be made again from those::

    run                                  who linked what, and under which specification
      project, mode                      str; mode is "open"
      created                            str, ISO 8601 with its offset
      version                            str, of Tryst
      specification_digest, encoding_digest    str, hexadecimal; optional
      files.alice, files.bob             {title: str, records: int}
      one_to_one                         bool
      invented                           bool; optional: the people are invented (a demonstration)
      joined                             bool; optional: Carole herself was told which rows are one record
      variables                          int; optional: how many she had keyed codes of
      assessed                           bool; optional: whether the output was assessed
    model                                model.json
      fields                             list, in the order of the specification, of
        name                             str
        bounds                           list of float, inclusive upper bounds of the levels, ending in 1
        m, u                             list of float, one per level: P(level | match), P(level | non-match)
        weights                          list of float, one per level: log2(m / u)
        missing                          {alice: float, bob: float}, shares of records without a value; optional
        standard_errors                  {m, u: list of float or null}, of m and u; null where there is none; optional
        shaded                           {bounds: list of float, weights: list of float}, in a scheme that is
                                         estimated from agreement alone: the weight of each level of similarity;
                                         optional
      p                                  float, share of all pairs that match
      expected_matches                   float, p times the pairs of the whole product
      standard_errors                    {p: float or null, of: str}, of p, and what they are errors of; optional
      scheme                             str, a name of `tryst.common.specification.model.schemes`; optional
      u_method                           "all_pairs" | "corrected" | "free"
      dependence                         which fields depend on each other; optional
        kind                             "none" | "pairwise" | "decomposable"
        matches, others                  list of {fields: two names, gain: float}: edges of the model among pairs of one
                                         person and of two, with the log Bayes factor that each brought
        misfits                          list of {within: "matches" | "others", fields, gain, observed, expected: float,
                                         words: str}, what independence gets wrong, the worst first
      history                            {step: ints, p, log_likelihood: floats, top_m: {field: floats}}, the course of
                                         EM, pair by pair; optional
      iterations                         int
      converged                          bool
      warnings                           list of str, shown before everything else
      notes                              list of str, shown beside the parameters; optional
    linkage                              linkage.json
      pairs                              int, records of Alice times records of Bob
      candidates                         int, pairs compared
      kept                               int, candidates above the floor, which were scored one by one
      links                              int
      unlinked                           {alice: int, bob: int}
      threshold                          float, match probability at which a pair becomes a link
      threshold_weight                   float, the same as a match weight; optional, else worked out from p
      floor                              float, match probability below which pairs were not kept; optional
      expected                           {precision: float, recall: float} at the decision, by the model; recall
                                         among candidates where `blocking` states the loss; optional
      histogram                          {edges: n + 1 floats, counts: n ints, links: n ints (optional)}, kept pairs
                                         by match weight
      thresholds                         list of {threshold, precision, recall: float, links: int}: what the model
                                         expects at other thresholds; optional
      unlinkable                         {alice, bob: {at_decision: int, below: list of [threshold, records]}}, records
                                         that could not be linked even to their like; optional
      examples                           list of {what: str, pairs: int, gamma: levels, prior, together, probability:
                                         float, weights: floats}, comparison vectors that several pairs have; optional
      latent                             the extended latent step; optional
        variables, alone                 lists of str: the joint distribution's variables; keys apart from it
        dependences                      list of pairs of str: edges of its graph
        parameters                       int, free ones; records: float, weight of the pairs it was learnt from
        held, wanted                     float, matches that p stands for, and that there would seem to be
        iterations, converged            int, bool
        before                           {links: int, precision, recall: float or null}, by agreement alone
        bits                             five floats: quartiles of what the values add to a link
        explained                        list of {what: str, pairs: int, parts: list of {kind: "prior" | "agreement" |
                                         "rarity" | "association", name: str, bits: float}}, averages over pairs
      duplicates                         {alice, bob: {equal, same_partner: int}}; optional
      assignment                         "one_to_one" | "greedy" | "many_to_one" | "none"; optional
      false_link_rate                    float, the wanted one; optional or null
      blocking                           null when every pair was compared, else
        rules                            list of {name: str, fields: list of str, candidates: int}
        estimated_recall                 float, share of the matches that are candidates; optional or null
        estimated_lost                   float, matches that are not; optional or null
        method                           str, of that estimate; optional
        assumptions                      list of str, that it stands on; optional
      patterns                           list of {gamma: levels (-1 = missing), observed: float, expected: float},
                                         candidate pairs by comparison pattern; optional, the report takes the
                                         worst misfits
      warnings                           list of str; optional
    evaluation                           evaluation.json; null without truth
      matches                            int, true matches between the files
      at_decision                        {links, true_links: int; precision, recall, f1: float}
      at_best                            {threshold, precision, recall, f1: float}, where f1 is largest
      auc, auc_trapezium                 float, area under the expected precision-recall curve; by trapezia
      curve                              {recall: floats, precision: floats}, most probable pairs first
      calibration                        {expected: floats, observed: floats}, running sums of match probability and
                                         of true matches, most probable pairs first
      candidate_recall                   float, share of true matches among the candidates; optional
      schemes                            list of {scheme: str, links, true_links: int, precision, recall, f1, auc,
                                         calibration_largest_gap: float, curve}, the same files linked by each scheme,
                                         the run's own first; optional
    timings
      stages                             list of {name: str, seconds: float}, in order
      peak_memory_bytes, threads         int; optional

A match weight is log2 of the Bayes factor, prior left out; a pair's probability follows from it and p.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from tryst.common.errors import ErrorCode, TrystError, TrystErrors

from .documents import Evaluation, Field, Linkage, Model, Run, Timings

MISSING = -1  #: the level of a field that either record lacks


@dataclass(frozen=True)
class ReportContent:
    """Everything a report says. See the module's docstring for the dictionaries."""

    run: Run
    model: Model
    linkage: Linkage
    evaluation: Evaluation | None
    timings: Timings

    def __post_init__(self) -> None:
        mistakes = list(_mistakes(self))
        if mistakes:
            raise TrystErrors(ErrorCode.PARAMETER, mistakes, where="report")

    @classmethod
    def from_json(cls, documents: Mapping[str, Any]) -> ReportContent:
        """Build from plain dictionaries, as read from JSON.

        Parameters
        ----------
        documents : mapping
            ``run``, ``model``, ``linkage`` and ``timings``, and ``evaluation`` where there is truth.

        Raises
        ------
        TrystError
            If one is absent, or arrays that belong together differ in length, or a number is not finite.
        """
        absent = [name for name in ("run", "model", "linkage", "timings") if name not in documents]
        if absent:
            raise TrystError(ErrorCode.PARAMETER, "documents are absent", where="report", got=", ".join(absent))
        return cls(
            run=cast(Run, documents["run"]),
            model=cast(Model, documents["model"]),
            linkage=cast(Linkage, documents["linkage"]),
            evaluation=cast("Evaluation | None", documents.get("evaluation")),
            timings=cast(Timings, documents["timings"]),
        )

    @property
    def threshold_weight(self) -> float:
        """Match weight at which a pair becomes a link (infinite when the threshold is 0 or 1)."""
        stated = self.linkage.get("threshold_weight")
        if stated is not None:
            return float(stated)
        return _log2_odds(self.linkage["threshold"]) - _log2_odds(self.model["p"])

    @property
    def warnings(self) -> list[str]:
        """Warnings of the model and of the linkage, each once, failure to converge first and in plain words."""
        given = [*self.model["warnings"], *self.linkage.get("warnings", [])]
        if self.model["converged"]:
            return list(dict.fromkeys(given))
        plain = (
            f"The estimation stopped after {self.model['iterations']} iterations without converging. "
            "Every probability below is provisional: raise model.max_iterations, or look for fields that tell "
            "matches from non-matches poorly."
        )
        return [plain, *dict.fromkeys(text for text in given if not text.startswith("not converged"))]


def _log2_odds(probability: float) -> float:
    if probability <= 0.0:
        return -math.inf
    return math.inf if probability >= 1.0 else math.log2(probability) - math.log2(1.0 - probability)


def _mistakes(content: ReportContent) -> Iterator[TrystError]:
    for i, field in enumerate(content.model["fields"]):
        together = {name: field[name] for name in ("bounds", "m", "u", "weights")}
        yield from _unequal(f"model.fields[{i}]", together)
        if errors := field.get("standard_errors"):
            known = {f"standard errors of {name}": [value or 0.0 for value in errors[name]] for name in ("m", "u")}
            yield from _unequal(f"model.fields[{i}]", {"bounds": field["bounds"], **known})
        if shaded := field.get("shaded"):
            yield from _unequal(f"model.fields[{i}].shaded", {"bounds": shaded["bounds"], "weights": shaded["weights"]})
    histogram = content.linkage["histogram"]
    counted: dict[str, Sequence[float]] = {"edges[1:]": histogram["edges"][1:], "counts": histogram["counts"]}
    if "links" in histogram:
        counted["links"] = histogram["links"]
    yield from _unequal("linkage.histogram", counted)
    n_fields = len(content.model["fields"])
    for i, pattern in enumerate(content.linkage.get("patterns", [])):
        yield from _levels(f"linkage.patterns[{i}].gamma", pattern["gamma"], content.model["fields"], n_fields)
    for i, example in enumerate(content.linkage.get("examples", [])):
        where = f"linkage.examples[{i}]"
        yield from _levels(f"{where}.gamma", example["gamma"], content.model["fields"], n_fields, shaded=True)
        yield from _unequal(where, {"gamma": example["gamma"], "weights": example["weights"]})
    if latent := content.linkage.get("latent"):
        yield from _unequal("linkage.latent", {"bits": latent["bits"]})
        for i, group in enumerate(latent["explained"]):
            yield from _unequal(f"linkage.latent.explained[{i}]", {"bits": [part["bits"] for part in group["parts"]]})
    if content.evaluation is not None:
        curve, calibration = content.evaluation["curve"], content.evaluation["calibration"]
        yield from _unequal("evaluation.curve", {name: curve[name] for name in ("recall", "precision")})
        yield from _unequal(
            "evaluation.calibration",
            {name: calibration[name] for name in ("expected", "observed")},
        )


def _unequal(where: str, arrays: Mapping[str, Sequence[float]]) -> Iterator[TrystError]:
    lengths = {name: len(values) for name, values in arrays.items()}
    if len(set(lengths.values())) > 1:
        got = ", ".join(f"{name}: {length}" for name, length in lengths.items())
        yield TrystError(ErrorCode.PARAMETER, "arrays must have one length", where=where, got=got)
    for name, values in arrays.items():
        if not all(math.isfinite(value) for value in values):
            yield TrystError(
                ErrorCode.PARAMETER,
                "numbers must be finite",
                where=f"{where}.{name}",
                remedy="smooth levels never observed before scoring",
            )


def _levels(
    where: str, gamma: Sequence[int], fields: list[Field], n_fields: int, *, shaded: bool = False
) -> Iterator[TrystError]:
    n_levels = [len(field["shaded"]["bounds"]) if shaded and "shaded" in field else len(field["m"]) for field in fields]
    if len(gamma) != n_fields:
        got = f"{len(gamma)} levels for {n_fields} fields"
        yield TrystError(ErrorCode.PARAMETER, "a pattern must have a level per field", where=where, got=got)
    elif any(not MISSING <= level < n for level, n in zip(gamma, n_levels, strict=True)):
        yield TrystError(ErrorCode.PARAMETER, "a level must exist in its field, or be -1 for missing", where=where)
