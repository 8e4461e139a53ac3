"""Decomposable graphical models of categorical data: found by search, fitted, queried.

graphs, junction_trees: the structures, and the legal moves between them, compiled.
counts, scores: sparse contingency tables and their marginal likelihoods.
enumeration, greedy_search, mc3_search, annealing (on chains, chain_kernels): searches that return a `SearchResult`.
precision_search: the same with a gamma prior on the precision of the models' prior.
defaults: exact search where that is possible, MC3 elsewhere.
fitted, inference (on factors), queries: a model with parameters, and questions to it.
bayesian_networks: sampled, and made decomposable. incomplete: EM for records with missing values. pictures: SVG.

A usual course: `SparseCounts.from_records`, `HyperDirichlet`, a search, `fit` or `ModelAverage.of`, then questions.
"""
