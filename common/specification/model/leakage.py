"""The specification's limit on what the linkage unit could learn from the signatures."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from gemel.common.specification.model.defaults import IN_BLOCKS, Mode
from gemel.common.specification.model.section import Section


class LeakageSpec(Section):
    """How much the linkage unit may be able to learn, as each custodian measures it on its own records.

    Each kind of attacker has a limit of its own: who has public counts of values only; who has some of these people in
    clear; who has them all.
    """

    limit: float = Field(default=0.05, ge=0, le=1, allow_inf_nan=False)
    """Share of a field's records whose value known attacks may recover, above the share recovered by guessing the
    commonest value."""
    partial_register: float | None = Field(default=None, ge=0, le=1, allow_inf_nan=False)
    """In mode block_keyed: share of the people whom an attacker has in a register in clear, with 10 or 40 % of the
    file's people, whose rows she may recognise; the custodian's own file plays the register. Default: no limit; it is
    measured and shown."""
    full_register: float | None = Field(default=None, ge=0, le=1, allow_inf_nan=False)
    """The same where the register has all of the file's people."""
    above: Literal["warn", "refuse"] | None = None
    """Above the limit: warn, or refuse to contribute until the custodian's operator overrides with a reason. Default:
    refuse in modes block_keyed and shared, which promise little leakage; warn in the others, which leak by design."""

    def refuses(self, mode: Mode) -> bool:
        """Whether a custodian refuses above the limit."""
        return (self.above or ("refuse" if mode in IN_BLOCKS else "warn")) == "refuse"
