"""Individual risk by weights beside the truth, on public populations: ``python -m research individual_risk``.

Simple random samples, each record with the weight N/n: the mean E[1/F | f] of all records and of sample uniques, beside
the mean of 1/F. The method has no constants, and nothing was tuned on any of these populations.
"""

from __future__ import annotations

import argparse

import numpy as np

from benchmarks._public_populations import PUBLIC_POPULATIONS, PublicPopulation
from gemel.risk.identification.individual_risk import individual_risk
from gemel.risk.identification.key_file import KeyFile


def means(population: PublicPopulation, keys: str, fraction: float, samples: int) -> list[float]:
    """Claimed and true means over all records, and over sample uniques."""
    whole = population.key_columns(keys)
    found = []
    for seed in range(samples):
        chosen = np.random.default_rng(seed).permutation(len(whole))[: round(fraction * len(whole))]
        file = KeyFile.from_columns(whole[chosen].to_dict(), population=whole.to_dict())
        claimed, sizes = individual_risk(file).records, file.population_sizes
        assert sizes is not None
        true, unique = 1.0 / sizes[file.of_record], file.uniques
        found.append([claimed.mean(), true.mean(), claimed[unique].mean(), true[unique].mean()])
    return [float(each) for each in np.mean(found, axis=0)]


def main(arguments: list[str]) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m research individual_risk", description=__doc__)
    parser.add_argument("--samples", type=int, default=20)
    parser.add_argument("--fractions", type=float, nargs="+", default=[0.01, 0.05])
    options = parser.parse_args(arguments)
    print("population  keys    fraction  all: claimed   true  uniques: claimed   true")
    for population in PUBLIC_POPULATIONS:
        for keys in population.keys:
            for fraction in options.fractions:
                every, true, unique, unique_true = means(population, keys, fraction, options.samples)
                figures = f"{every:12.3f} {true:6.3f}  {unique:16.3f} {unique_true:6.3f}"
                print(f"{population.name:10s}  {keys}  {fraction:8.2f}  {figures}")
    return 0
