"""Smith and Elliot 2017, section 3.1: what the intruder claims who links by agreement alone, beside what is true.

Five draws of their files (theirs: .487 claimed and .692 true of the most probable pairs, one draw). That the claim is
too low, and that an intruder who judges pairs together is right more often, must hold outside the 95 % interval of the
paired difference. `docs/identification.md` has extended intruders, perturbation and dummy records.
"""

from __future__ import annotations

import numpy as np
import pytest

from gemel.carole.intruder import fellegi_sunter_attack
from gemel.risk.identification.matching.claims import claim_most_probable
from research._intervals import interval
from research.intruder import SE17, attacked

pytestmark = pytest.mark.long


def test_the_classical_claim_is_too_low_and_a_better_one_is_to_be_had():
    under, gain = [], []
    for seed in range(5):
        files, _ = attacked(np.random.default_rng((17, seed)))
        found = {}
        for name, options in (("classical", SE17), ("together", {})):
            suspicions = fellegi_sunter_attack(files, **options)
            truth = files.is_match(suspicions.person, suspicions.record)
            found[name] = claim_most_probable(suspicions.probability, truth)
        under.append(found["classical"].true - found["classical"].claimed)
        gain.append(found["together"].true - found["classical"].true)
    assert interval(np.array(under))[1] > 0
    assert interval(np.array(gain))[1] > 0
