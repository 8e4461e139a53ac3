"""Decomposable graphical models of categorical data: found by search, fitted, asked.

graphs, triangulation, junction_trees, dynamic_trees: the structures, plainly. tree_kernels: legal moves, compiled.
counts, scores (and score_kernels): sparse contingency tables and their marginal likelihoods.
enumeration, greedy, mc3, annealing, occam (on chains and chain_kernels): searches, all returning a `SearchResult`.
defaults: exact search where that is possible, MC3 elsewhere.
fitted, inference (on factors), sampling, averaging, divergence: what a model says once it has parameters.
bayesian_networks: from .bif text. incomplete: EM for records with missing values. pictures: SVG.

A usual course: `SparseCounts.from_records`, `HyperDirichlet`, a search, `fit` or `ModelAverage.of`, then questions.
"""

from risk.models.annealing import anneal
from risk.models.averaging import ModelAverage
from risk.models.bayesian_networks import BayesianNetwork, read_bif
from risk.models.counts import SparseCounts
from risk.models.defaults import search
from risk.models.divergence import Divergence, jensen_shannon
from risk.models.dynamic_trees import DynamicJunctionTree
from risk.models.enumeration import enumerate_models
from risk.models.fitted import FittedModel, fit
from risk.models.graphs import Graph, complete_graph, empty_graph
from risk.models.greedy import greedy
from risk.models.incomplete import IncompleteCounts, IncompleteFit, fit_incomplete
from risk.models.joint_distribution import JointDistribution, JointVariable
from risk.models.junction_trees import JunctionTree
from risk.models.mc3 import mc3
from risk.models.occam import occam_window
from risk.models.pictures import draw_graph, draw_junction_tree, draw_result
from risk.models.result import SearchResult, WeightedModel
from risk.models.sampling import sample
from risk.models.scores import HyperDirichlet
from risk.models.triangulation import minimal_triangulation, moralise, triangulated

__all__ = [
    "BayesianNetwork",
    "Divergence",
    "DynamicJunctionTree",
    "FittedModel",
    "Graph",
    "HyperDirichlet",
    "IncompleteCounts",
    "IncompleteFit",
    "JointDistribution",
    "JointVariable",
    "JunctionTree",
    "ModelAverage",
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
    "fit",
    "fit_incomplete",
    "greedy",
    "jensen_shannon",
    "mc3",
    "minimal_triangulation",
    "moralise",
    "occam_window",
    "read_bif",
    "sample",
    "search",
    "triangulated",
]
