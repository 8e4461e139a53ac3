"""The report of judged worlds: what is required and whether it is met, coverage by dimension, and the worst worlds."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence

import numpy as np

from benchmarks.worlds.judged import Outcome
from benchmarks.worlds.kept import Judged
from benchmarks.worlds.requirements import (
    F1_LESS,
    FIGURES,
    GOOD,
    REQUIRED,
    WIDTHS,
    by_value,
    coverage,
    error,
    mean,
    quantile,
    requirements,
    widths,
)

PRINTED = 10
"""Worlds from which a dimension's value has a row."""
USUAL = 3
"""A value that more than one world in so many has does not describe a world."""
WORST = 10


ABOUT = """\
A claim counts where its figure exists: no precision without a link, no recall without a match in common. A claim
without an interval does not hold the truth; what is refused, or ended in an incident, claims nothing and does not
count. Recall is of all matches, the sum of matches among the compared pairs. A refusal has no links and counts as a
serious warning; an incident has F1 0. The peer is compared where it fits. Times are of the processor, on one thread;
the first run of a checkout compiles too."""


def print_report(found: Sequence[Judged], earlier: Sequence[Judged], label: str) -> int:
    """Print everything as Markdown; 1 where a requirement is missed.

    `earlier`: outcomes of the same worlds under another label.
    """
    owns = [one.own for one in found]
    refused = sum(bool(own.refused) for own in owns)
    unfit = [one.peer.refused for one in found if one.peer is not None and one.peer.refused]
    print(f"{len(owns)} worlds, {refused} refused; the peer does not fit {len(unfit)}.\n\n{ABOUT}")
    required = requirements(found)
    _table("Required", "requirement | bound | measured | ", [one.row for one in required])
    _table("Claims", "figure | n | hold the truth | median width | bias | median error | 90 % below", _claims(owns))
    head = "dimension | value | n | precision | recall | sum | mean F1 | peer's | median s of deciding"
    _table("By dimension: shares of claims that hold the truth", head, _dimensions(found))
    _table("Warnings", f"code | severity | worlds | mean F1 there | F1 > {GOOD} there", _warnings(owns))
    _table("Time, in seconds of the processor", "step | median | 90 % below | most", _times(owns))
    _table("Not linked", "who | why | worlds", _reasons(owns, unfit))
    if label:
        _table(f"Against {label}, in the worlds of both", f"figure | {label} | now", _changes(found, earlier))
    _show_worst(found)
    return 1 if any(one.met is False for one in required) or not found else 0


def _table(title: str, head: str, rows: Sequence[str]) -> None:
    if rows:
        print(f"\n## {title}\n\n| {head} |\n|{'---|' * (head.count('|') + 1)}")
        print("\n".join(rows))


def _claims(owns: Sequence[Outcome]) -> list[str]:
    rows = []
    for figure in FIGURES:
        share, n = coverage(owns, figure)
        errors = [one for own in owns if (one := error(own, figure)) is not None]
        sizes = list(np.abs(errors))
        cells = [mean(errors), quantile(sizes, 0.5), quantile(sizes, 0.9)]
        width = quantile(widths(owns, figure), 0.5)
        rows.append(f"| {figure} | {n} | {share:.1%} | {width:.4f} | {' | '.join(f'{cell:.4f}' for cell in cells)} |")
    return rows


def _dimensions(found: Sequence[Judged]) -> list[str]:
    peers = {one.own.seed: one.peer.f1 for one in found if one.peer is not None and not one.peer.refused}
    rows = []
    for (dimension, value), some in by_value(one.own for one in found).items():
        if len(some) >= PRINTED:
            cells = [f"{coverage(some, figure)[0]:.1%}" for figure in REQUIRED]
            cells += [f"{mean([own.f1 for own in some]):.4f}"]
            cells += [f"{mean([peers[own.seed] for own in some if own.seed in peers]):.4f}"]
            cells += [f"{quantile([own.deciding for own in some], 0.5):.1f}"]
            rows.append(f"| {dimension} | {value} | {len(some)} | {' | '.join(cells)} |")
    return rows


def _warnings(owns: Sequence[Outcome]) -> list[str]:
    found: dict[tuple[str, str], list[float]] = {}
    for own in owns:
        for warning in own.warnings.items():
            found.setdefault(warning, []).append(own.f1)
    often = sorted(found.items(), key=lambda item: -len(item[1]))
    return [
        f"| {code} | {severity} | {len(f1)} | {mean(f1):.4f} | {mean([one > GOOD for one in f1]):.0%} |"
        for (code, severity), f1 in often
    ]


def _times(owns: Sequence[Outcome]) -> list[str]:
    steps: dict[str, Callable[[Outcome], float]] = {
        "draft": lambda own: own.seconds.get("draft", 0.0),
        "sign": lambda own: own.seconds.get("sign", 0.0),
        "count": lambda own: own.counting,
        "decide": lambda own: own.deciding,
    }
    rows = []
    for name, of in steps.items():
        seconds = [of(own) for own in owns]
        rows.append(f"| {name} | {' | '.join(f'{quantile(seconds, share):.1f}' for share in (0.5, 0.9, 1.0))} |")
    return rows


def _reasons(owns: Sequence[Outcome], unfit: Sequence[str]) -> list[str]:
    rows = [f"| Gemel | {reason} | {seeds} |" for reason, seeds in _grouped(owns).items()]
    return rows + [f"| the peer | {reason} | {unfit.count(reason)} |" for reason in sorted(set(unfit))]


def _grouped(owns: Sequence[Outcome]) -> dict[str, str]:
    """Seeds of the worlds refused and of the incidents, by the reason."""
    found: dict[str, list[str]] = {}
    for own in owns:
        for kind, text in (("incident", own.incident), ("refused", own.refused)):
            if text:
                reason = f"{kind}: {' '.join(text[:110].replace('|', '/').split())}"
                found.setdefault(reason, []).append(str(own.seed))
    return {reason: ", ".join(seeds) for reason, seeds in found.items()}


def _changes(found: Sequence[Judged], earlier: Sequence[Judged]) -> list[str]:
    """Requirements and errors of the claims under both labels, and where F1 changed most."""
    before, now = ({one.own.seed: one for one in some} for some in (earlier, found))
    both = sorted(before.keys() & now.keys())
    sides = [[side[seed] for seed in both] for side in (before, now)]
    first, second = (requirements(side) for side in sides)
    rows = [f"| {old.what} | {old.measured} | {new.measured} |" for old, new in zip(first, second, strict=True)]
    for figure in FIGURES:
        cells = []
        for side in sides:
            sizes = [abs(one) for each in side if (one := error(each.own, figure)) is not None]
            cells.append(f"{mean(sizes):.4f}")
        rows.append(f"| {figure}: mean size of the claim's error | {' | '.join(cells)} |")
    gained = sorted(both, key=lambda seed: now[seed].own.f1 - before[seed].own.f1)
    for seed in dict.fromkeys(gained[:5] + gained[-5:]):
        if now[seed].own.f1 != before[seed].own.f1:
            rows.append(f"| F1 of world {seed} | {before[seed].own.f1:.4f} | {now[seed].own.f1:.4f} |")
    return rows


def _show_worst(found: Sequence[Judged]) -> None:
    """The worlds that lose most to the peer, claim most wrongly, and decide longest."""
    sizes = {label: len(some) for label, some in by_value(one.own for one in found).items()}
    usual = {label for label, size in sizes.items() if USUAL * size > len(found)}

    def lost(one: Judged) -> float:
        return 0.0 if one.peer is None or one.peer.refused else one.peer.f1 - one.own.f1

    def wrong(one: Judged) -> float:
        return max(abs(error(one.own, figure) or 0.0) for figure in REQUIRED)

    def deciding(one: Judged) -> float:
        return one.own.deciding

    for title, of in (("F1 lost to the peer", lost), ("error of a claim", wrong), ("seconds of deciding", deciding)):
        worst = [one for one in sorted(found, key=of, reverse=True)[:WORST] if of(one) > 0]
        rows = [f"| {one.own.seed} | {of(one):.3f} | {_short(one, usual)} |" for one in worst]
        _table(
            f"Worst worlds: {title}", f"seed | {title} | records | F1 | precision | recall | sum | unusual in it", rows
        )


def _short(one: Judged, usual: Container[tuple[str, str]]) -> str:
    """Records; F1 beside the peer's; claimed / true of each figure; the values that few worlds have."""
    own, peer = one.own, one.peer
    beside = "" if peer is None or peer.refused else f" / {peer.f1:.3f}"
    cells = [" x ".join(f"{n:,}" for n in own.records), f"{own.f1:.3f}{beside}"]
    for figure, places in (("precision", 3), ("recall", 3), ("sum", 0)):
        both = own.claims.get(figure, (None,))[0], own.true.get(figure)
        cells.append(" / ".join("-" if one is None else f"{one:.{places}f}" for one in both))
    return " | ".join([*cells, "; ".join(" ".join(label) for label in own.labels.items() if label not in usual)])


_CHANGED = f"lower by {F1_LESS} in | higher in | precision holds | recall | sum | median width, precision | recall"


def print_ablation(found: Sequence[Judged], without: Mapping[str, Sequence[Judged]]) -> None:
    """What each mechanism is worth, by outcomes of worlds without it."""
    owns = [one.own for one in found]
    first = f"| nothing | {mean([own.f1 for own in owns]):.4f} | | | {_claimed(owns)} |"
    rows = [first, *(_changed_row(name, found, others) for name, others in without.items())]
    print(f"{len(owns)} worlds.")
    _table("Ablation", f"taken out | F1 | {_CHANGED}", rows)


def print_remedies(found: Sequence[Judged], remedied: Mapping[str, Sequence[Judged]]) -> None:
    """What the remedy of each warning does, in the worlds that have it."""
    rows = []
    for code, others in remedied.items():
        before = [own.f1 for own, _ in _both(found, others)]
        rows.append(f"| {len(before)} | {mean(before):.4f} {_changed_row(code, found, others)}")
    _table("Remedies", f"worlds | F1 | warning | F1 with its remedy | {_CHANGED}", rows)


def _both(found: Sequence[Judged], others: Sequence[Judged]) -> list[tuple[Outcome, Outcome]]:
    before = {one.own.seed: one.own for one in found}
    return [(before[one.own.seed], one.own) for one in others if one.own.seed in before]


def _changed_row(name: str, found: Sequence[Judged], others: Sequence[Judged]) -> str:
    pairs = _both(found, others)
    lower = sum(other.f1 < own.f1 - F1_LESS for own, other in pairs)
    higher = sum(other.f1 > own.f1 + F1_LESS for own, other in pairs)
    change = mean([other.f1 - own.f1 for own, other in pairs])
    return f"| {name} | {change:+.4f} | {lower} | {higher} | {_claimed([other for _, other in pairs])} |"


def _claimed(owns: Sequence[Outcome]) -> str:
    held = [f"{coverage(owns, figure)[0]:.1%}" for figure in REQUIRED]
    return " | ".join(held + [f"{quantile(widths(owns, figure), 0.5):.3f}" for figure in WIDTHS])
