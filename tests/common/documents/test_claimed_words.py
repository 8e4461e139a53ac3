"""What is claimed in words: figure and interval, in each language, and never a 100 % that it is not."""

from __future__ import annotations

import pytest

from gemel.common.documents.claimed_words import claimed_quality, claimed_sentence
from gemel.common.documents.linkage_document import ClaimedRange, Claims
from gemel.common.language import in_language, share

NUMBER = ClaimedRange(value=2000.0, lower=1900.0, upper=2100.0)


def claims(precision: ClaimedRange | None) -> Claims:
    recall = ClaimedRange(value=0.91, lower=0.852, upper=1.0)
    return Claims(precision=precision, recall=recall, compared=NUMBER, matches=NUMBER, people=NUMBER, candidates=None)


RIGHT = ClaimedRange(value=0.962, lower=0.93, upper=0.99996)


@pytest.mark.parametrize(
    ("language", "words"),
    [
        (
            "en",
            "By the model 96.2 % (93.0 to 99.996 %) of the links are right, and they include 91.0 % (85.2 to 100.0 %)"
            " of all matches; 2,000 (1,900 to 2,100) people have a match (95 % intervals).",
        ),
        ("de", "Nach dem Modell sind 96,2 % (93,0 bis 99,996 %) der Verknüpfungen richtig, und sie enthalten 91,0 % "),
        ("fr", "D’après le modèle, 96,2 % (93,0 à 99,996 %) des appariements sont justes, et ils comprennent 91,0 % "),
    ],
)
def test_the_sentence(language: str, words: str) -> None:
    with in_language(language):
        assert claimed_sentence(claims(RIGHT)).replace("\N{NO-BREAK SPACE}", " ").startswith(words)


def test_of_few_links_the_interval_alone_and_of_none_nothing() -> None:
    few = claimed_quality(claims(ClaimedRange(value=None, lower=0.8, upper=1.0)))
    assert few is not None
    assert few["precision"].replace("\N{NO-BREAK SPACE}", " ") == "80.0 to 100.0 %"
    assert claimed_sentence(claims(None)) == claimed_sentence(None) == ""


@pytest.mark.parametrize("value", [0.9995, 0.99949999, 0.9999999, 1 - 1e-12, 1 - 2**-53])
def test_what_is_less_than_all_reads_less(value: float) -> None:
    shown, rest = share(value), share(1 - value)
    assert not shown.startswith("100")
    assert float(rest.split("\N{NO-BREAK SPACE}")[0]) > 0
    assert share(1.0) == "100.0\N{NO-BREAK SPACE}%"
