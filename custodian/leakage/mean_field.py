"""Mean field of a graph matching: distributions over names that agree with each other, from vague to sure."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_LAST_STEPS = 3
_BALANCING = 8


def mean_field(
    fit: NDArray[np.float32],
    similar: NDArray[np.float32],
    precision: float | NDArray[np.float32],
    plain: NDArray[np.float32],
    weight: float = 0.005,
    growth: float = 1.15,
) -> NDArray[np.float32]:
    r"""Distribution of each encoded value over names.

    Parameters
    ----------
    fit : ndarray of float32, shape (..., n_values, n_names)
        Log-likelihood of each value's own evidence, such as its count, under each name.
    similar : ndarray of float32, shape (..., n_values, n_values)
        Estimated similarities of the values; the diagonal is not looked at.
    precision : float or ndarray of float32, shape (n_values, n_values)
        One over the variance of an estimate; 0 where a similarity is not known.
    plain : ndarray of float32, shape (n_names, n_names)
        Similarities of the names; the diagonal is not looked at.
    weight, growth
        Weight of the similarities at first, and by how much it grows in each step, up to 1.

    Returns
    -------
    ndarray of float32, shape (..., n_values, n_names)
        Rows sum to 1; columns to about 1 at most, since two values never have the same name.

    Notes
    -----
    With distributions P the field of value i under name d is

    .. math:: \sum_j w_{ij} \sum_e P_{je} (a_{ij} b_{de} - b_{de}^2 / 2),

    the expected log-likelihood of its similarities up to a constant of i. Two matrix products a step, 20 to 40 steps.
    Several graphs of one size and the same names, along the leading axes, are matched at once: each by itself, in
    products large enough to be fast.
    """
    n_values, n_names = fit.shape[-2:]
    apart = 1 - np.eye(n_values, dtype=np.float32)
    plain = plain.copy()
    np.fill_diagonal(plain, 0.0)
    squared = plain**2
    pull = (np.asarray(precision, dtype=np.float32) * similar * apart).astype(np.float32)
    held = precision.astype(np.float32) * apart if isinstance(precision, np.ndarray) else None
    probability = _balanced(fit)
    last = 0
    while last < _LAST_STEPS:
        weight = min(1.0, weight * growth)
        last += weight == 1.0
        flat = probability.reshape(-1, n_names)
        field = pull @ (flat @ plain).reshape(fit.shape)
        expected = (flat @ squared).reshape(fit.shape)
        if held is None:
            field -= np.float32(0.5 * float(precision)) * (expected.sum(axis=-2, keepdims=True) - expected)
        else:
            field -= np.float32(0.5) * (held @ expected)
        probability = _balanced((fit + np.float32(weight) * field).astype(np.float32))
    return probability


def _balanced(fit: NDArray[np.float32]) -> NDArray[np.float32]:
    """Distributions of the rows, none of whose columns is assigned much more than once."""
    probability: NDArray[np.float32] = np.exp(fit - fit.max(axis=-1, keepdims=True))
    for _ in range(_BALANCING):
        probability /= probability.sum(axis=-1, keepdims=True)
        probability /= np.maximum(probability.sum(axis=-2, keepdims=True), 1.0)
    probability /= probability.sum(axis=-1, keepdims=True)
    return probability
