"""What several values of a specification must make together: names that exist, levels that ascend, one meaning per key.

The checks take fields and rules by their position rather than a whole `Specification`, so that a document with one
mistyped field still has all the others checked in the same go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from tryst.common.errors import ErrorCode, TrystErrors
from tryst.common.parties import Side
from tryst.common.specification.assessment import assessment_mistakes
from tryst.common.specification.block_keyed import block_keyed_mistakes
from tryst.common.specification.blocking import BlockingRule, repeated_rules, rule_mistakes
from tryst.common.specification.defaults import MAX_RULES
from tryst.common.specification.field_checks import field_mistakes, key_domain_mistakes, pattern_mistakes, swap_mistakes
from tryst.common.specification.fields import FieldSpec
from tryst.common.specification.hardening import defence_mistakes
from tryst.common.specification.latent import LatentSpec, latent_mistakes
from tryst.common.specification.mistakes import Mistake, shown
from tryst.common.specification.padding import padding_mistakes
from tryst.common.specification.resolution import resolution_mistakes
from tryst.common.specification.schemes import SCHEMES
from tryst.common.specification.variables import VariableSpec, variable_mistakes

if TYPE_CHECKING:
    from tryst.common.specification.model import Specification


class InconsistentError(TrystErrors):
    """The inconsistencies of a specification each of whose values is sound by itself.

    Attributes
    ----------
    mistakes
        All of them, by path.
    """

    def __init__(self, mistakes: list[Mistake]) -> None:
        super().__init__(ErrorCode.SPECIFICATION, [mistake.error() for mistake in mistakes])
        self.mistakes = mistakes


def refuse_inconsistent(spec: Specification) -> None:
    """Raise every inconsistency of a specification at once.

    Raises
    ------
    TrystErrors
        With one error per mistake.
    """
    mistakes = list(
        inconsistencies(
            dict(enumerate(spec.fields)),
            dict(enumerate(spec.blocking)),
            mode=spec.mode,
            swaps=spec.swaps,
            variables=dict(enumerate(spec.variables)),
            identifiers={side: spec.custodians.of(side).identifier for side in Side},
            latent=spec.latent,
            padding=spec.padding,
        )
    )
    if not SCHEMES[spec.model.scheme].calibrated:
        mistakes += [
            Mistake(
                ("fields", position, "value_frequencies"),
                "a shaded weight is no ratio of probabilities that a value's frequency could enter",
                f"model.scheme {spec.model.scheme}",
                "drop it, or use the multinomial scheme",
            )
            for position, field in enumerate(spec.fields)
            if field.value_frequencies
        ]
    mistakes += assessment_mistakes(
        spec.assessment,
        spec.release.assessment,
        dict(enumerate(spec.variables)),
        frozenset(field.name for field in spec.fields),
    )
    mistakes += resolution_mistakes(spec.resolution, spec.mode)
    if spec.padding is not None and spec.resolution.joined:
        what = "who joins rows is told which are dummies', and the linkage unit must not know"
        remedy = "drop it, or let the coordinator's process resolve"
        mistakes.append(Mistake(("padding",), what, "resolution by carole", remedy))
    if spec.release.joint != "nobody" and spec.latent is None:
        what = "without a latent step there is no joint distribution to receive"
        mistakes.append(Mistake(("release", "joint"), what, spec.release.joint, "drop it, or add the section `latent`"))
    for side in Side:
        if spec.release.joint_to(side) and getattr(spec.release, str(side)) == "nothing":
            what = f"{side} receives nothing, and so no joint distribution"
            mistakes.append(
                Mistake(("release", "joint"), what, spec.release.joint, f"grant {side} statistics at least")
            )
    if mistakes:
        raise InconsistentError(mistakes)


def inconsistencies(
    fields: Mapping[int, FieldSpec],
    rules: Mapping[int, BlockingRule],
    other_names: frozenset[str] = frozenset(),
    mode: object = None,
    swaps: object = (),
    variables: Mapping[int, VariableSpec] = MappingProxyType({}),
    identifiers: Mapping[Side, str] = MappingProxyType({}),
    latent: LatentSpec | None = None,
    unsure: bool = False,
    *,
    rules_elsewhere: bool = False,
    padding: object = None,
) -> Iterator[Mistake]:
    """Every mistake that lies between values rather than in one of them.

    Parameters
    ----------
    fields, rules
        The compared fields and blocking rules by their position in the document.
    other_names
        Names of fields that are in the document but not in `fields`, because they have mistakes of their own.
    mode
        The specification's mode, where it is known.
    swaps
        The pairs of fields that may be exchanged, as the document has them.
    variables
        The category variables by their position in the document.
    identifiers
        The custodians' identifier columns, where they are known.
    latent
        The extended latent step, if there is one.
    unsure
        Whether there are variables besides, which have mistakes of their own.
    rules_elsewhere
        Whether the document has blocking rules that are not in `rules`, because they have mistakes of their own.
    padding
        What blocks are padded to, as the document has it.
    """
    if not fields and not other_names:
        yield Mistake(("fields",), "nothing is compared", remedy="name at least one field that both files have")
    yield from _repeated("fields", {i: field.name for i, field in fields.items()})
    yield from _repeated("blocking", {i: rule.name for i, rule in rules.items()})
    for position, field in fields.items():
        yield from field_mistakes(field, ("fields", position), mode)
    yield from defence_mistakes(fields, other_names, mode, latent)
    yield from key_domain_mistakes(fields)
    yield from pattern_mistakes(fields)
    if len(rules) > MAX_RULES:
        yield Mistake(("blocking",), f"at most {MAX_RULES} rules are possible", str(len(rules)), "drop or join some")
    by_name = {field.name: field for field in fields.values()}
    for position, rule in rules.items():
        yield from rule_mistakes(rule, ("blocking", position), by_name, other_names, mode)
    yield from swap_mistakes(swaps, by_name, other_names, mode)
    yield from _repeated("variables", {i: variable.name for i, variable in variables.items()})
    yield from variable_mistakes(variables, frozenset(by_name), identifiers)
    if latent is not None:
        yield from latent_mistakes(latent, variables.values(), by_name, unsure or bool(other_names), mode)
    yield from repeated_rules(rules)
    yield from padding_mistakes(padding, mode)
    if mode == "block_keyed":
        yield from block_keyed_mistakes(fields, rules, rules_elsewhere=rules_elsewhere)


def _repeated(section: str, names: Mapping[int, str]) -> Iterator[Mistake]:
    seen: dict[str, int] = {}
    for position, name in names.items():
        first = seen.setdefault(name.casefold(), position)
        if first != position:
            yield Mistake(
                (section, position, "name"),
                f"the name is taken by {section}[{first}]",
                shown(name),
                "names must differ by more than capitals",
            )
