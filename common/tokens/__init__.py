"""Tokens: what a value is compared by.

`definition` says in plain Python what the tokens of a value are; `fast` makes those of many values in
compiled loops. The two agree, and a property test keeps it so.
"""

from tryst.common.tokens.definition import TOKENISATIONS
from tryst.common.tokens.fast import Tokens, tokenise

__all__ = ["TOKENISATIONS", "Tokens", "tokenise"]
