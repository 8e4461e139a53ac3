"""Poisson log-linear risk: models from independence to decomposable ones of any order, and which to prefer."""
