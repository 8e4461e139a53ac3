"""Tokens: the set by which a value is compared.

`definition` defines the tokens of a value in plain Python; `fast` makes those of many values in compiled
loops. A property test checks that the two agree.
"""

from gemel.custodian.tokens.definition import TOKENISATIONS
from gemel.custodian.tokens.fast import Tokens, tokenise

__all__ = ["TOKENISATIONS", "Tokens", "tokenise"]
