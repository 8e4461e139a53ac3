"""Decomposable graphical models of categorical data: found by search, fitted, queried.

graphs, triangulation, junction_trees: the structures. tree_kernels: legal moves, compiled.
counts, scores (and score_kernels): sparse contingency tables and their marginal likelihoods.
enumeration, greedy, mc3, annealing, occam (on chains and chain_kernels): searches, all returning a `SearchResult`.
precision_grid, precision_search: the same with a gamma prior on the precision of the models' prior.
defaults: exact search where that is possible, MC3 elsewhere.
fitted, inference (on factors), sampling, averaging, divergence: queries of a model with parameters.
bayesian_networks: sampled, and made decomposable. incomplete: EM for records with missing values. pictures: SVG.

A usual course: `SparseCounts.from_records`, `HyperDirichlet`, a search, `fit` or `ModelAverage.of`, then questions.
"""

from gemel.risk.models.annealing import anneal
from gemel.risk.models.bayesian_networks import BayesianNetwork
from gemel.risk.models.counts import SparseCounts
from gemel.risk.models.defaults import search
from gemel.risk.models.enumeration import enumerate_models
from gemel.risk.models.fitted import FittedModel, fit
from gemel.risk.models.graphs import Graph, complete_graph, empty_graph, minimal_triangulation, moralise, triangulated
from gemel.risk.models.greedy_search import greedy, occam_window
from gemel.risk.models.incomplete import IncompleteCounts, IncompleteFit, fit_incomplete
from gemel.risk.models.joint_distribution import JointDistribution, JointVariable
from gemel.risk.models.junction_trees import JunctionTree
from gemel.risk.models.mc3_search import mc3
from gemel.risk.models.pictures import draw_graph, draw_junction_tree, draw_result
from gemel.risk.models.precision_search import (
    GammaPrior,
    PrecisionSearch,
    enumerate_with_precision,
    mc3_with_precision,
    search_precision,
)
from gemel.risk.models.queries import Divergence, ModelAverage, jensen_shannon, sample
from gemel.risk.models.result import SearchResult, WeightedModel
from gemel.risk.models.scores import HyperDirichlet

__all__ = [
    "BayesianNetwork",
    "Divergence",
    "FittedModel",
    "GammaPrior",
    "Graph",
    "HyperDirichlet",
    "IncompleteCounts",
    "IncompleteFit",
    "JointDistribution",
    "JointVariable",
    "JunctionTree",
    "ModelAverage",
    "PrecisionSearch",
    "SearchResult",
    "SparseCounts",
    "WeightedModel",
    "anneal",
    "complete_graph",
    "draw_graph",
    "draw_junction_tree",
    "draw_result",
    "empty_graph",
    "enumerate_models",
    "enumerate_with_precision",
    "fit",
    "fit_incomplete",
    "greedy",
    "jensen_shannon",
    "mc3",
    "mc3_with_precision",
    "minimal_triangulation",
    "moralise",
    "occam_window",
    "sample",
    "search",
    "search_precision",
    "triangulated",
]
