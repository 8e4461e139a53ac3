"""The bits of a row that are shared: which word has what.

A row is a line of 64-bit words, bit 0 the least significant::

    presence    one bit for each shared field, in their order: 1 where the row has a value
    tags        one word for each other rule: equal in two rows of a block that agree on that rule's key, and random
                where the row has no such key
    signatures  bits / 64 words for each shared field; random where the row has no value

Fields that a rule fixes or withholds are the same for all rows of its blocks, and not shared there.
"""

from __future__ import annotations

from dataclasses import dataclass

WORD_BITS = 64


@dataclass(frozen=True)
class RowWords:
    """Where the words of a row of one rule, or of the samples, are."""

    fields: tuple[tuple[str, int], ...]
    """Name and bits of each shared field, in the order of the specification."""
    tags: tuple[str, ...] = ()
    """Names of the other rules, in the order of the specification; of the samples none."""

    @property
    def presence_words(self) -> int:
        """Words of presence bits, which come first."""
        return -(-len(self.fields) // WORD_BITS)

    @property
    def total(self) -> int:
        """Words of a row."""
        return self.presence_words + len(self.tags) + sum(bits // WORD_BITS for _, bits in self.fields)

    def presence(self, name: str) -> tuple[int, int]:
        """Word and bit of a field's presence; KeyError for a field that is not shared."""
        return divmod(self._place(name), WORD_BITS)

    def tag(self, rule: str) -> int:
        """The word of a rule's tag; KeyError if there is none."""
        if rule not in self.tags:
            raise KeyError(rule)
        return self.presence_words + self.tags.index(rule)

    def signature(self, name: str) -> slice:
        """The words of a field's signature; KeyError for a field that is not shared."""
        place = self._place(name)
        begin = self.presence_words + len(self.tags) + sum(bits // WORD_BITS for _, bits in self.fields[:place])
        return slice(begin, begin + self.fields[place][1] // WORD_BITS)

    def _place(self, name: str) -> int:
        for place, (field, _) in enumerate(self.fields):
            if field == name:
                return place
        raise KeyError(name)
