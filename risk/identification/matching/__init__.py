"""The intruder who models: Bayesian matching over decomposable models, what comes of it, and what would lower it."""
