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
