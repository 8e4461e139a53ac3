"""The linker as an intruder, on Smith and Elliot's files: claims beside the truth, perturbation, dummy records.

An intruder knows 400 people by surname, driving quality and six more of their variables; 600 records are released with
four other variables, a fifth of their keys wrong, 240 of them of people he knows. ``python -m research intruder
--write`` puts the tables into docs/identification.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from benchmarks import DOCS
from benchmarks._figures import write_between
from gemel.carole.intruder import AttackedFiles, Suspicions, extended_attack, fellegi_sunter_attack, with_dummies
from gemel.carole.intruder.attack_assessment import Kind, judged
from research import study_options
from research._intervals import interval
from research._se17_study import FROM_A, FROM_B, drawn_files

DOCUMENT = DOCS / "identification.md"
Attack = Callable[[AttackedFiles], Suspicions]
SE17: dict[str, Any] = {"u": "all_pairs", "dependence": "none", "one_to_one": False}
SHARES = (0.25, 1.0)
NOISE = (0.2, 0.5)
CLAIMS = ("most_probable", "best_of_each_person", "best_of_each_person_if_likely")


def attacked(rng: np.random.Generator) -> tuple[AttackedFiles, NDArray[np.int32]]:
    """One draw as an intruder meets it, and records of other people that he may have."""
    files = drawn_files(rng)
    values = files.values
    truth = files.truth.reshape(FROM_A, FROM_B)
    record = np.where(truth.any(axis=1), truth.argmax(axis=1), -1)
    keys = tuple(v for v, variable in enumerate(values.variables) if variable.is_key)
    names, levels = zip(*((variable.name, variable.levels) for variable in values.variables), strict=True)
    return AttackedFiles(names, levels, values.codes_a, values.codes_b, keys, record), files.training


def intruders(training: NDArray[np.int32]) -> dict[str, Attack]:
    """The intruders compared."""
    return {
        "Fellegi-Sunter, as in SE17": lambda files: fellegi_sunter_attack(files, **SE17),
        "Fellegi-Sunter, one to one": fellegi_sunter_attack,
        "extended latent, as in SE17": lambda files: extended_attack(files, **SE17),
        "extended latent, one to one": extended_attack,
        "extended latent with 500 other people, as in SE17": lambda files: extended_attack(
            files, training=training, **SE17
        ),
        "extended latent with 500 other people, one to one": lambda files: extended_attack(files, training=training),
    }


def perturbed(files: AttackedFiles, share: float, rng: np.random.Generator) -> AttackedFiles:
    """The release with a share of every variable's values replaced by others of the same variable."""
    released = files.released.copy()
    for q in range(released.shape[1]):
        changed = np.flatnonzero(rng.random(len(released)) < share)
        released[changed, q] = rng.choice(files.released[:, q], len(changed))
    return replace(files, released=released)


def claims(replicates: int, seed: int) -> dict[str, NDArray[np.float64]]:
    """For each intruder, shape (replicates, 8): what `_row` takes of its measures."""
    found: dict[str, list[list[float]]] = {}
    for k in range(replicates):
        files, training = attacked(np.random.default_rng((seed, k)))
        for name, attack in intruders(training).items():
            found.setdefault(name, []).append(_row(judged(files, attack(files))))
    return {name: np.array(rows) for name, rows in found.items()}


def _row(measures: Mapping[str, Any]) -> list[float]:
    """Claimed and true of the first two ways; number, claimed, true of the third; the area."""
    first, each, likely = (measures["claims"][key] for key in CLAIMS)
    return [
        first["claimed"], first["true"], each["claimed"], each["true"],
        likely["number"], likely["claimed"], likely["true"], measures["auc"],
    ]  # fmt: skip


def changed(
    replicates: int, seed: int, changes: Mapping[str, Callable[[AttackedFiles, np.random.Generator], AttackedFiles]]
) -> dict[str, dict[str, NDArray[np.float64]]]:
    """Correct claims (best of each person) of two intruders after each change to the release: shape (replicates,)."""
    who: dict[str, Attack] = {"Fellegi-Sunter": fellegi_sunter_attack, "extended latent": extended_attack}
    found: dict[str, dict[str, list[float]]] = {name: {change: [] for change in changes} for name in who}
    for k in range(replicates):
        files, _ = attacked(np.random.default_rng((seed, k)))
        for change, make in changes.items():
            release = make(files, np.random.default_rng((seed, k, 1)))
            for name, attack in who.items():
                each = judged(release, attack(release))["claims"]["best_of_each_person"]
                found[name][change].append(each["correct"])
    return {name: {change: np.array(own) for change, own in rows.items()} for name, rows in found.items()}


def changes() -> dict[str, Callable[[AttackedFiles, np.random.Generator], AttackedFiles]]:
    """What is tried on the release."""
    tried: dict[str, Callable[[AttackedFiles, np.random.Generator], AttackedFiles]] = {
        "as it is": lambda files, rng: files
    }
    tried |= {f"{share:.0%} of values replaced": partial(_replaced, share) for share in NOISE}
    for kind in get_args(Kind):
        tried |= {f"{share:.0%} dummies, {kind}": partial(_joined, share, kind) for share in SHARES}
    return tried


def _replaced(share: float, files: AttackedFiles, rng: np.random.Generator) -> AttackedFiles:
    return perturbed(files, share, rng)


def _joined(share: float, kind: Kind, files: AttackedFiles, rng: np.random.Generator) -> AttackedFiles:
    return with_dummies(files, round(share * len(files.released)), rng, kind)


def tables(
    claimed: Mapping[str, NDArray[np.float64]],
    after: Mapping[str, Mapping[str, NDArray[np.float64]]],
    seed: int,
) -> str:
    """The tables in Markdown."""
    replicates = len(next(iter(claimed.values())))
    few = len(next(iter(next(iter(after.values())).values())))
    lines = [
        f"`python -m research intruder --write` makes these tables (seed {seed}, means over {replicates} draws). "
        "Smith and Elliot's files (2017, section 3.1): an intruder knows 400 people by surname and driving quality, "
        "and six more of their variables; 600 records are released with four others, a fifth of the keys wrong; about "
        "240 of the 400 are among them. Training: 500 complete records of other people.",
        "",
        "| intruder | most probable pair: claimed, true | everyone's best record: claimed, true | "
        "claims at .5 or more: number, claimed, true | AUC |",
        "|---|---|---|---|---|",
    ]
    for name, rows in claimed.items():
        mean = rows.mean(axis=0)
        number = rows[:, 4]
        made = number > 0
        likely = (rows[made, 4, None] * rows[made, 5:7]).sum(axis=0) / max(number.sum(), 1)
        sentences = f"{mean[4]:.0f}, {likely[0]:.3f}, {likely[1]:.3f}" if made.any() else "none"
        lines.append(
            f"| {name} | {mean[0]:.3f}, {mean[1]:.3f} | {mean[2]:.3f}, {mean[3]:.3f} | {sentences} | {mean[7]:.3f} |"
        )
    lines += [
        "",
        "An owner who does not know the truth has only the claimed column to judge by. Claimed below true is the "
        "under-estimate that Smith and Elliot warn of; claimed above true frightens where there is less to fear.",
        "",
        f"After a change to the release: correct claims of 400 when everyone's most probable record is claimed ({few} "
        "draws, one to one; in brackets the 95 % interval of the paired difference from the release as it is).",
        "",
        f"| release | {' | '.join(after)} |",
        "|---|" + "---|" * len(after),
    ]
    plain = {name: own["as it is"] for name, own in after.items()}
    for change in next(iter(after.values())):
        cells = []
        for name, own in after.items():
            text = f"{own[change].mean():.1f}"
            if change != "as it is":
                _, low, high = interval(own[change] - plain[name])
                text += f" ({low:+.1f} to {high:+.1f})"
            cells.append(text)
        lines.append(f"| {change} | {' | '.join(cells)} |")
    lines += [
        "",
        "Twins share the keys of released records, the rarest first, and have everything else from other records; "
        "dummies of the model are drawn whole from a decomposable model of the release, independent ones value by "
        "value. All cost the same share of records of no person. Replaced values also harm the data.",
    ]
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    """Print the tables, or put them into the page."""
    options = study_options(
        arguments, "intruder", __doc__, replicates=20, seed=17, writes="the tables into docs/identification.md"
    )
    claimed = claims(options.replicates, options.seed)
    after = changed(max(2, options.replicates // 2), options.seed, changes())
    text = tables(claimed, after, options.seed)
    if options.write:
        write_between(DOCUMENT, "intruder", text)
    else:
        print(text)
    return 0
