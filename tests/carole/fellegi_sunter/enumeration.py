"""Every matching of a small graph, by its definition."""

import math

import numpy as np


def matchings(a, b):
    """Every set of positions whose pairs share no record."""
    found = [()]
    for e in range(len(a)):
        found += [(*chosen, e) for chosen in found if all(a[e] != a[k] and b[e] != b[k] for k in chosen)]
    return found


def enumerated(a, b, log_weight, log_prior=None):
    """Exact marginals and the logarithm of the summed weights; `log_prior` by number of links, 0 if None."""
    total, marginal = 0.0, np.zeros(len(a))
    for chosen in matchings(list(a), list(b)):
        prior = 0.0 if log_prior is None else log_prior[len(chosen)]
        w = math.exp(prior + sum(log_weight[e] for e in chosen))
        total += w
        marginal[list(chosen)] += w
    return marginal / total, math.log(total)
