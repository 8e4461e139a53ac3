"""The report as a file: complete, offline, without script, escaped, with and without truth."""

import json
import re
from copy import deepcopy
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from gemel.common.documents.result_warning import result_warning
from gemel.common.errors import GemelErrors
from gemel.coordinator.reports.linkage import render_report, write_report
from gemel.risk.report.drawing import COLOURS
from tests.coordinator.reports.linkage.conftest import CLAIMS
from tests.coordinator.reports.linkage.documents import content_of

VOID = {"meta", "link", "br", "img", "hr", "input"}
CHARTS = [
    "histogram", "precision_recall", "calibration", "weights", "levels", "history", "thresholds", "unlinkable",
    "example_0", "example_1",
]  # fmt: skip


class Page(HTMLParser):
    """Elements and text of a page; fails on tags that do not nest."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open
        assert self.open.pop() == tag, tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.words.append(data)

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.words))


@cache
def _html_of(documents: str) -> str:
    return render_report(content_of(json.loads(documents)))


def html_of(documents: dict[str, Any]) -> str:
    """The page of these documents, rendered once however many tests read it."""
    html = _html_of(json.dumps(documents))
    assert not re.search(r"How to read it:</b>\s*</figcaption>", html), "a chart without its reading"
    return html


def without_truth(documents: dict[str, Any]) -> dict[str, Any]:
    blocked = deepcopy(documents)
    blocked["evaluation"] = None
    blocked["linkage"]["candidates"] = 40_000
    blocked["linkage"]["blocking"] = {
        "rules": [
            {"name": "born", "fields": ["date_of_birth"], "candidates": 30_100},
            {"name": "named", "fields": ["surname", "sex"], "candidates": 12_000},
        ],
        "estimated_recall": 0.984,
        "estimated_lost": 32.5,
        "method": "kinds of pairs",
        "assumptions": ["what people have changed is independent of errors in what they have not"],
    }
    return blocked


@pytest.mark.parametrize("blocked", [False, True])
def test_the_page_fetches_nothing_and_runs_nothing(documents: dict[str, Any], blocked: bool) -> None:
    html = html_of(without_truth(documents) if blocked else documents)
    assert re.sub(r'xmlns(:xlink)?="http://www\.w3\.org/[^"]+"', "", html).count("//") == 0
    page = Page(html)
    names = {tag for tag, _ in page.tags}
    assert not names & {"script", "link", "img", "iframe", "object", "embed", "image", "use", "foreignobject"}
    for _, attributes in page.tags:
        assert not [name for name in attributes if name.startswith("on")]
        assert all(not str(attributes.get(name, "#")).strip("#") or str(attributes[name]).startswith("#")
                   for name in ("href", "src", "xlink:href"))  # fmt: skip
    assert "@import" not in html
    assert all(target.startswith("#") for target in re.findall(r"url\(([^)]*)\)", html))
    policy = [attributes for tag, attributes in page.tags if attributes.get("http-equiv") == "Content-Security-Policy"]
    assert policy[0]["content"] == "default-src 'none'; style-src 'unsafe-inline'"


def test_every_chart_is_there_with_its_alternative_and_its_caption(documents: dict[str, Any]) -> None:
    page = Page(html_of(documents))
    drawings = [attributes for tag, attributes in page.tags if tag == "svg"]
    titles = [attributes.get("id") for tag, attributes in page.tags if tag == "title"]
    assert sorted(str(drawing["aria-labelledby"]) for drawing in drawings) == sorted(f"{name}-alt" for name in CHARTS)
    assert {f"{name}-alt" for name in CHARTS} <= set(titles)
    assert all(drawing["role"] == "img" for drawing in drawings)
    assert page.text.count("How to read it:") == len(CHARTS)
    identifiers = [attributes["id"] for _, attributes in page.tags if attributes.get("id")]
    assert len(identifiers) == len(set(identifiers))


def test_links_of_the_page_lead_somewhere(documents: dict[str, Any]) -> None:
    page = Page(html_of(documents))
    identifiers = {attributes.get("id") for _, attributes in page.tags}
    targets = [str(attributes["href"])[1:] for tag, attributes in page.tags if tag == "a"]
    assert len(targets) == 8
    assert set(targets) <= identifiers


def test_what_it_says_with_truth(documents: dict[str, Any]) -> None:
    text = Page(html_of(documents)).text
    for phrase in (
        "1,990 links were made between the 5,000 records of Alice and the 4,000 of Bob; checked against the truth "
        "supplied, 99.7 % of the links are right and 99.2 % of the 2,000 true matches were found.",
        "What Carole could see: open mode",
        "2,610 were probable enough to be scored one by one. The least probable of them has a match probability of "
        "about 0.000001 before records compete for a partner. 1,990 became links, at a decision of",
        "Every one of the 20,000,000 pairs was compared",
        "0.9950",
        "0.9971 expected",
        "12.3 s",
        "412 MiB",
        "Alice 1.3 %, Bob 25.0 %",
        "converged after 23 iterations",
        "a match weight of +13.3",
        "9f" * 32,
    ):
        assert phrase in text, phrase
    assert "Read this first" not in text
    assert "invented" not in text


def test_what_it_says_without_truth(documents: dict[str, Any]) -> None:
    page = Page(html_of(without_truth(documents)))
    for phrase in (
        "by the model 99.8 % (99.0 to 99.96 %) of them are right, and they include 99.3 % (97.0 to 99.6 %) of all "
        "matches.",
        "99.8 % claimed precision of the links are right, by the model (99.0 to 99.96 %)",
        "99.3 % claimed recall of all matches were found, by the model (97.0 to 99.6 %)",
        "98.4 % blocking recall of the matches were compared at all, estimated (95.1 to 99.7 %)",
        "By the model 99.8 % (99.0 to 99.96 %) of the links are right",
        "40,000 of 20,000,000, 99.8 % fewer",
        "estimated to hold 98.4 % of the matches",
        "surname, sex",
        "30,100",
        "No truth was supplied",
    ):
        assert phrase in page.text, phrase
    drawings = [str(attributes["aria-labelledby"]) for tag, attributes in page.tags if tag == "svg"]
    judged = {"precision_recall", "calibration"}
    assert sorted(drawings) == sorted(f"{name}-alt" for name in CHARTS if name not in judged)


def test_of_few_links_the_report_has_the_interval_alone(documents: dict[str, Any]) -> None:
    few = {"value": None, "lower": 0.8, "upper": 1.0}
    documents["linkage"]["claims"] = {**CLAIMS, "precision": few, "recall": few}
    text = Page(html_of(without_truth(documents))).text.replace("\N{NO-BREAK SPACE}", " ")
    assert "by the model 80.0 to 100.0 % of them are right" in text
    assert "80.0 to 100.0 % claimed precision" in text


def test_only_what_must_be_there_is_needed(documents: dict[str, Any]) -> None:
    """The optional entries of the documents may all be absent."""
    bare = without_truth(documents)
    del bare["evaluation"], bare["run"]["specification_digest"]
    for key in ("claims", "patterns", "floor"):
        del bare["linkage"][key]
    del bare["linkage"]["blocking"]["estimated_recall"], bare["linkage"]["histogram"]["links"]
    del bare["timings"]["peak_memory_bytes"], bare["timings"]["threads"]
    for entry in bare["model"]["fields"]:
        del entry["missing"]
    text = Page(html_of(bare)).text
    assert "no truth was supplied to check them against" in text
    assert "Expected pattern counts were not recorded" in text


def test_a_run_that_found_nothing(documents: dict[str, Any]) -> None:
    nothing = without_truth(documents)
    nothing["linkage"] |= {"links": 0, "kept": 0, "unlinked": {"alice": 5000, "bob": 4000}, "threshold": 1.0}
    nothing["linkage"]["histogram"] = {"edges": [0, 1], "counts": [0]}
    nothing["model"]["fields"] = []
    nothing["linkage"] |= {"patterns": [], "thresholds": [], "examples": []}
    del nothing["linkage"]["unlinkable"]
    del nothing["model"]["history"]
    nothing["timings"]["stages"] = []
    page = Page(html_of(nothing))
    assert "No link was made between the 5,000 records of Alice and the 4,000 of Bob." in page.text
    assert "svg" not in {tag for tag, _ in page.tags}


def test_names_are_escaped_in_text_and_in_drawings(documents: dict[str, Any]) -> None:
    hostile = "<script>alert('x')</script>&\"<img src=x onerror=y>"
    documents["model"]["fields"][0]["name"] = hostile
    documents["model"]["warnings"] = [result_warning("field_constant", field=hostile).plain()]
    documents["run"]["project"] = hostile
    documents["run"]["files"]["alice"]["title"] = hostile
    documents["timings"]["stages"][0]["name"] = hostile
    html = html_of(documents)
    page = Page(html)
    assert not {"script", "img"} & {tag for tag, _ in page.tags}
    assert page.text.count(hostile) >= 8  # heading, verdict, files, warning, alternatives, both charts, tables, stage


def test_warnings_come_first_each_once_the_most_serious_before_the_others(documents: dict[str, Any]) -> None:
    held = result_warning("p_at_one_to_one_limit", expected=7000.0, maximum=4000.0).plain()
    documents["model"] |= {
        "converged": False,
        "iterations": 500,
        "warnings": [
            result_warning("levels_not_observed", levels="surname 5").plain(),
            held,
            result_warning("estimation_not_converged", iterations=500, distance="still moving away").plain(),
        ],
    }
    documents["linkage"]["warnings"] = [result_warning("rule_without_pairs", rule="born").plain(), held]
    text = Page(html_of(documents)).text
    assert text.count("Estimation gives 7000.0 matches") == 1
    order = [
        text.index(phrase)
        for phrase in (
            "Read this first",
            "Serious: EM stopped after 500 iterations without converging",
            "Raise model.max_iterations",
            "Warning: Estimation gives 7000.0 matches",
            "Warning: Blocking rule born proposes no pairs. Check that both files have the rule's fields",
            "Note: No pair has these levels (0 is the least similar), so their m and u come from the prior: surname 5.",
            "What was run",
            "had not converged after 500 iterations",
        )
    ]
    assert order == sorted(order)
    documents["model"]["warnings"] = []
    text = Page(html_of(documents)).text
    assert "Bear in mind" in text
    assert "Read this first" not in text


def pair_kind(shared: list[str], pairs: float, one_person: float, doubt: float) -> dict[str, Any]:
    return {"shared": shared, "pairs": pairs, "one_person": one_person, "doubt": doubt}


STRANGERS, MATCHES = pair_kind([], 2e7, 0.0, 0.0), pair_kind(["surname", "sex", "born"], 7000.0, 0.9996, 0.0003)


def test_dependent_fields_are_shown(documents: dict[str, Any]) -> None:
    def misfit(within: str, words: str) -> dict[str, Any]:
        return {"within": within, "fields": ["a", "b"], "gain": 9.0, "observed": 0.1, "expected": 0.01, "words": words}

    found = [misfit("others", f"pairs agree {n}") for n in range(5)] + [misfit("matches", "pairs differ")]
    reported = {"kind": "none", "edges": [], "kinds": [STRANGERS, MATCHES], "misfits": found}
    documents["model"]["dependence"] = reported
    plain = Page(html_of(documents)).text
    assert "Pairs differ." in plain
    assert "Pairs agree 2." in plain
    assert "Pairs agree 3." not in plain
    assert "takes the fields to be independent all the same" in plain
    assert "Kinds of pairs" not in plain
    documents["model"]["dependence"] = {**reported, "misfits": []}
    assert "independent evidence" not in Page(html_of(documents)).text
    edges = [{"fields": ["surname", "sex"], "gain": 80.0}]
    documents["model"]["dependence"] = {**reported, "kind": "pairwise", "edges": edges}
    dependent = Page(html_of(documents)).text
    assert "Among pairs of strangers these fields depend on each other: surname and sex." in dependent
    assert "The model takes the fields to be independent" not in dependent


def test_kinds_of_pairs_are_shown_with_the_part_that_is_one_person(documents: dict[str, Any]) -> None:
    """Matches first and strangers last; what is shared, or what is not where that is shorter."""
    kin, moved = pair_kind(["surname"], 120.0, 0.0004, 0.0004), pair_kind(["surname", "born"], 81.25, 0.7352, 0.21)
    kinds = [STRANGERS, MATCHES, kin, moved]
    documents["model"]["dependence"] = {"kind": "none", "edges": [], "kinds": kinds, "misfits": []}
    html = html_of(documents)
    table = html[html.index('<table class="kinds">') :].split("</table>")[0]
    rows = [re.findall(r">([^<>]+)</t[hd]>", row) for row in table.split("<tr>")[1:]]
    assert [[cell.replace("\u00a0", " ") for cell in row] for row in rows] == [
        ["The two records share", "Pairs", "One person"],
        ["all fields", "7,000", "99.96 % ± 0.03 %"],
        ["all but sex", "81.2", "73.5 % ± 21.0 %"],
        ["surname", "120", "0.04 % ± 0.04 %"],
        ["no field (strangers)", "20,000,000", "none"],
    ]
    assert "The model takes the fields to be independent" not in Page(html).text


def test_misfits_are_sorted_and_named(documents: dict[str, Any]) -> None:
    html = html_of(documents)
    table = html[html.index('<table class="patterns">') :].split("</table>")[0]
    rows = [re.findall(r">([^<>]*)</td>", row) for row in table.split("<tr>")[2:]]
    assert [row[:3] for row in rows] == [
        ["missing", "same", ".5 – .9"],
        ["same", "same", ".9 – 1"],
        ["0 – .2", "different", "0 – .5"],
    ]
    residuals = [float(row[-1].replace("−", "-")) for row in rows]
    assert residuals == pytest.approx([-13.6, 7.6, 0.0], abs=0.01)


def test_every_drawn_colour_has_its_dark_counterpart(documents: dict[str, Any]) -> None:
    html = html_of(documents)
    drawn = set(re.findall(r'(?:fill|stroke)="(#[0-9a-f]{3,6})"', html[html.index("<main>") :]))
    assert drawn <= {light for light, _ in COLOURS.values()}
    for colour in drawn:
        assert f'[fill="{colour}"]' in html


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("ground", ["paper", "wash", "alarm"])
@pytest.mark.parametrize("shade", [0, 1], ids=["light", "dark"])
def test_text_can_be_read(ground: str, shade: int) -> None:
    """Contrast of every text colour on every ground it stands on, by the formula of WCAG 2: at least 4.5."""
    for text in ("ink", "rust") if ground == "alarm" else ("ink", "soft", "teal", "rust"):
        light, dark = sorted((luminance(COLOURS[name][shade]) for name in (ground, text)), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 4.5, (ground, text)


def test_writing_replaces_the_file_whole(documents: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text("an earlier one")
    write_report(path, content_of(without_truth(documents)))
    assert path.read_text(encoding="utf-8") == html_of(without_truth(documents))
    assert [entry.name for entry in tmp_path.iterdir()] == ["report.html"]


def test_a_failed_write_leaves_the_earlier_file(
    documents: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "report.html"
    path.write_text("an earlier one")

    def refuse(self: Path, target: Path) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(OSError, match="disk full"):
        write_report(path, content_of(without_truth(documents)))
    assert [entry.name for entry in tmp_path.iterdir()] == ["report.html"]
    assert path.read_text() == "an earlier one"


def test_thresholds_duplicates_and_the_unlinkable_are_shown(documents: dict[str, Any]) -> None:
    text = Page(html_of(documents)).text
    for phrase in (
        "What other thresholds would give",
        "0.99 1,803 99.99 % 90.12 %",
        "Alice: 4 equal another of the same file in every field, 31 match a record of the other file",
        "a record just like them, at the decision: Alice 12, Bob 0.",
        "A comparison in full: the strongest",
        "The course of the estimation",
    ):
        assert phrase in text.replace("\N{NO-BREAK SPACE}", " "), phrase
    documents["run"]["mode"] = "shared"
    blind = Page(html_of(documents)).text
    assert "Alice: 31 match a record of the other file that another one matches too." in blind
    assert "no one can count in mode shared" in blind
    assert "equal another of the same file" not in blind
    documents["linkage"] |= {"assignment": "greedy", "false_link_rate": 0.01}
    changed = Page(html_of(documents)).text
    assert "one to one, the most probable pair first" in changed
    assert "which keeps the expected share of false links within" in changed


def test_a_report_of_an_earlier_run_has_less_to_say(documents: dict[str, Any]) -> None:
    for name in ("thresholds", "unlinkable", "examples", "duplicates", "assignment"):
        del documents["linkage"][name]
    del documents["model"]["history"]
    text = Page(html_of(documents)).text
    assert "What other thresholds would give" not in text
    assert "one to one" in text


def test_what_blocking_lost_is_shown_with_its_method(documents: dict[str, Any]) -> None:
    blocked = without_truth(documents)
    text = Page(html_of(blocked)).text
    assert "About 32.5 matches were never compared" in text
    assert "Estimated by kinds of pairs." in text
    blocked["linkage"]["blocking"] |= {"estimated_recall": None, "assumptions": ["one rule only"]}
    assert "What was lost cannot be estimated: one rule only." in Page(html_of(blocked)).text


def test_standard_errors_stand_beside_the_estimates(documents):
    page = html_of(documents)
    assert page.count("±&nbsp;0.00710") == 7 + 1 + 2
    assert "2.3\u00a0×\u00a010⁻⁶" in page
    assert "Standard errors: each match a draw" in page


def test_a_report_without_standard_errors_says_nothing_of_them(documents):
    del documents["model"]["standard_errors"]
    for field in documents["model"]["fields"]:
        del field["standard_errors"]
    assert "±" not in render_report(content_of(documents))


def test_standard_errors_must_fit_the_levels(documents):
    documents["model"]["fields"][0]["standard_errors"]["m"].pop()
    with pytest.raises(GemelErrors, match="one length"):
        content_of(documents)


def test_schemes_are_compared_where_they_were_run(documents):
    one = {
        "scheme": "multinomial",
        "links": 9,
        "true_links": 8,
        "precision": 0.89,
        "recall": 0.8,
        "f1": 0.8421,
        "auc": 0.9,
        "calibration_largest_gap": 0.02,
        "curve": {"recall": [0.5, 1.0], "precision": [1.0, 0.8]},
    }
    documents["evaluation"]["schemes"] = [one, {**one, "scheme": "exact", "f1": 0.7321}]
    page = render_report(content_of(documents))
    assert "The schemes compared" in page
    assert "0.7321" in page
    assert "Precision against recall by scheme" in page


EFFECT = {
    "made": 31,
    "undone": 0,
    "divergence": 0.0123,
    "interval": [0.004, 0.0251],
    "dependences": [
        {"variables": ["Age", "Car"], "joint": 0.25, "links": 0.375},
        {"variables": ["Age", "Town"], "joint": 0.5, "links": 0.4375},
    ],
}
LATENT = {
    "variables": ["Age", "Car"],
    "alone": ["surname"],
    "dependences": [["Age", "Car"]],
    "parameters": 5,
    "records": 20.0,
    "precision": None,
    "held": 20.0,
    "unconstrained_matches": 22.0,
    "log_likelihood_gain": 12.5,
    "effect": EFFECT,
    "iterations": 9,
    "converged": False,
    "before": {"links": 17, "claims": CLAIMS},
    "bits": [-1.0, 0.5, 1.0, 1.5, 3.0],
    "explained": [
        {
            "what": "all links",
            "pairs": 19,
            "parts": [
                {"kind": "prior", "name": "prior", "bits": -9.0},
                {"kind": "agreement", "name": "surname", "bits": 8.0},
                {"kind": "rarity", "name": "agreed values", "bits": 0.5},
                {"kind": "association", "name": "Car", "bits": -0.25},
            ],
        }
    ],
}


def test_the_evidence_of_the_values_is_shown_beside_agreement_alone(documents: dict[str, Any]) -> None:
    assert "The evidence of the values" not in Page(html_of(documents)).text
    documents["linkage"]["latent"] = LATENT
    text = Page(html_of(documents)).text.replace("\N{NO-BREAK SPACE}", " ")
    for phrase in (
        "Agreement alone made 17 links, of which by the model 99.8 % (99.0 to 99.96 %) were right",
        "On average: all links (19)",
        "few observations for so many",
        "depend on each other in it: Age and Car",
        "Apart from it: surname",
        "The estimation had not converged, after 9 rounds",
    ):
        assert phrase in text, phrase
    assert "Its prior weighs" not in text
    documents["linkage"]["latent"] = {**LATENT, "precision": 64.0, "effect": {**EFFECT, "interval": None}}
    text = Page(html_of(documents)).text.replace("\N{NO-BREAK SPACE}", " ")
    assert "Its prior weighs as much as 64.0 people" in text
    assert re.search(r"is 0\.0123 bits ?; it is 0", text)


def test_what_the_values_changed_is_stated_and_drawn(documents: dict[str, Any]) -> None:
    documents["linkage"]["latent"] = {**LATENT, "effect": EFFECT}
    html = html_of(documents)
    text = Page(html).text.replace("\N{NO-BREAK SPACE}", " ")
    assert "made 31 links that agreement alone had not made, and undid 0 of its links" in text
    assert "is 0.0123 bits (95 % interval 0.0040 to 0.0251)" in text
    assert "Age and Town: 0.5000 and 0.4375; Age and Car: 0.2500 and 0.3750." in text
    (drawing,) = re.findall(r'<svg [^>]*aria-labelledby="dependences-alt".*?</svg>', html, re.DOTALL)
    assert "mutual information, in bits" in drawing
    # Two marks for each of two edges and in the legend, in the colours that the style sheet has for a dark screen too.
    for name in ("teal", "ochre"):
        assert drawing.count(f'fill="{COLOURS[name][0]}"') == 3
    assert not set(re.findall(r'"(#[0-9a-f]{6})"', drawing)) - {light for light, _ in COLOURS.values()}


def test_of_an_effect_what_is_not_known_is_left_out(documents: dict[str, Any]) -> None:
    few = {"made": None, "undone": None, "divergence": None, "interval": None, "dependences": []}
    documents["linkage"]["latent"] = {**LATENT, "effect": few}
    text = Page(html_of(documents)).text
    assert (
        "They made fewer than 20 links that agreement alone had not made, and undid fewer than 20 of its links" in text
    )
    assert "Jensen-Shannon" not in text


def test_contributions_must_be_finite(documents: dict[str, Any]) -> None:
    part = {"kind": "prior", "name": "prior", "bits": float("inf")}
    documents["linkage"]["latent"] = {**LATENT, "explained": [{"what": "x", "pairs": 5, "parts": [part]}]}
    with pytest.raises(GemelErrors, match="explained"):
        html_of(documents)


def test_the_claim_is_shown_beside_what_checks_it(documents: dict[str, Any]) -> None:
    assert "The model's claim, checked" not in Page(html_of(documents)).text
    documents["linkage"]["quality"] = [
        {
            "method": "check_field",
            "precision": {"value": 0.9712, "lower": 0.9523, "upper": 0.9876},
            "observations": 57,
            "supposes": ["errors in sex are as elsewhere"],
        },
        {
            "method": "decoys",
            "precision": {"value": 0.9777, "lower": 0.9666, "upper": 0.9888},
            "observations": 2000,
            "supposes": ["people resemble decoys"],
        },
    ]
    for with_truth in (True, False):
        page = Page(html_of(documents if with_truth else without_truth(documents))).text
        assert "The model's claim, checked" in page
        assert "99.81 % 99.02 % to 99.96 %" in page.replace("\xa0", " ")
        assert "97.12 % 95.23 % to 98.76 %" in page.replace("\xa0", " ")
        assert "57 links in doubt" in page
        assert "Decoys (2,000 decoys) supposes: people resemble decoys" in page
        assert "errors in sex are as elsewhere" in page
        assert ("The truth" in page) == with_truth


@pytest.mark.parametrize(
    ("mode", "joined", "present"),
    [
        ("open", False, "keyed blocking digests and shuffled rows; no name"),
        ("open", False, "equal values have equal signatures and similar values similar ones"),
        ("block_keyed", False, "compare inside a block of a blocking rule only"),
        ("block_keyed", False, "the coordinator's process decided, without a signature; together with her"),
        ("block_keyed", True, "This linkage used the mode's fall-back"),
        ("shared", False, "cut into three random shares"),
        ("shared", False, "it rests on their not colluding"),
        ("trusted", False, "The values themselves were sent to Carole"),
    ],
)
def test_what_carole_saw_of_signatures_is_stated(
    documents: dict[str, Any], mode: str, joined: bool, present: str
) -> None:
    documents["run"] |= {"mode": mode, "joined": joined}
    assert present in Page(html_of(documents)).text


def test_of_one_file_carole_saw_nothing(documents: dict[str, Any]) -> None:
    documents["run"] |= {"one_file": True, "variables": 3}
    text = Page(html_of(documents)).text
    assert "Nothing: the file was read, signed with a key drawn for this run" in text
    assert "Carole received" not in text
    assert "keyed codes" not in text


def test_single_comparisons_add_up_and_levels_that_no_pair_took_are_marked(documents: dict[str, Any]) -> None:
    documents["model"]["fields"][0]["untaken"] = [5]
    text = Page(html_of(documents)).text
    weights = documents["linkage"]["examples"][0]["weights"]
    assert "0.987 1,700 pairs, above the decision: " in text
    so_far = -13.3
    for weight in weights:
        so_far += weight
        assert f"{weight:+.1f} {so_far:+.1f}".replace("-", "−") in text
    assert "before anything is compared one pair in 10,087 matches" in text
    assert "“Fields together” corrects the sum of the single weights" in text  # of the second example alone
    assert text.count("“Fields together”") == 1
    assert text.count(" no pair ") == 1


@pytest.mark.parametrize(
    ("mode", "assessed", "present", "absent"),
    [
        ("open", True, "beside the rest of its row", "list of their own"),
        ("block_keyed", True, "which rows of the two lists are links", "beside the rest of its row"),
        ("block_keyed", False, "in a list of their own, beside no signature", "are links"),
    ],
)
def test_what_carole_saw_of_codes_is_stated(
    documents: dict[str, Any], mode: str, assessed: bool, present: str, absent: str
) -> None:
    documents["run"] |= {"mode": mode, "variables": 3, "assessed": assessed}
    page = html_of(documents)
    assert "3 variables came as keyed codes" in page
    assert present in page
    assert absent not in page
    documents["run"]["variables"] = 0
    assert "keyed codes" not in html_of(documents)
