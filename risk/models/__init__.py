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

from tryst.risk.models.annealing import anneal
from tryst.risk.models.averaging import ModelAverage
from tryst.risk.models.bayesian_networks import BayesianNetwork
from tryst.risk.models.counts import SparseCounts
from tryst.risk.models.defaults import search
from tryst.risk.models.divergence import Divergence, jensen_shannon
from tryst.risk.models.enumeration import enumerate_models
from tryst.risk.models.fitted import FittedModel, fit
from tryst.risk.models.graphs import Graph, complete_graph, empty_graph
from tryst.risk.models.greedy_search import greedy
from tryst.risk.models.incomplete import IncompleteCounts, IncompleteFit, fit_incomplete
from tryst.risk.models.joint_distribution import JointDistribution, JointVariable
from tryst.risk.models.junction_trees import JunctionTree
from tryst.risk.models.mc3_search import mc3
from tryst.risk.models.occam import occam_window
from tryst.risk.models.pictures import draw_graph, draw_junction_tree, draw_result
from tryst.risk.models.precision_grid import GammaPrior
from tryst.risk.models.precision_search import (
    PrecisionSearch,
    enumerate_with_precision,
    mc3_with_precision,
    search_precision,
)
from tryst.risk.models.result import SearchResult, WeightedModel
from tryst.risk.models.sampling import sample
from tryst.risk.models.scores import HyperDirichlet
from tryst.risk.models.triangulation import minimal_triangulation, moralise, triangulated

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
