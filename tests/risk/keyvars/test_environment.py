"""The environment: the tutorial of appendix 1 as data, its files, what is refused, and what a crash leaves."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemel.common.errors import GemelError, GemelErrors
from gemel.risk.keyvars import folder
from gemel.risk.keyvars.codebook import export_codebook, import_codebook
from gemel.risk.keyvars.documents import FILES, environment_of, texts_of
from gemel.risk.keyvars.environment import Environment
from research.keyvars import like_the_thesis

COUNTRY = "Country of Residence"


def tutorial() -> Environment:
    """Five surveys of appendix 1: two as the text has them, three with categorisations of the same graph."""
    made = Environment()
    made.add_variable(COUNTRY)
    for name, kind in zip("VWXYZ", ("On-line", "On-line", "Paper", "Paper", "On-line"), strict=True):
        made.add_form(f"Survey {name}", {"Organisation": "Pollsters R US", "Form Type": kind})
    assert made.code("Survey X", COUNTRY, ["England", "Scotland", "Wales", "Other"]) == "C4.001"
    made.rename_category(COUNTRY, "Other", "Not Britain")
    made.edit(COUNTRY, lambda graph: graph.divide("Not Britain", ["Northern Ireland", "Non UK"]))
    made.edit(COUNTRY, lambda graph: graph.aggregate("Britain", ["England", "Scotland", "Wales"]))
    made.edit(COUNTRY, lambda graph: graph.aggregate("UK", ["Britain", "Northern Ireland"]))
    five = ["England", "Scotland", "Wales", "Northern Ireland", "Non UK"]
    assert made.code("Survey Y", COUNTRY, five) == "C5.001"
    assert made.code("Survey Z", COUNTRY, ["Britain", "Northern Ireland", "Non UK"]) == "C3.001"
    assert made.code("Survey V", COUNTRY, ["UK", "Non UK"]) == "C2.001"
    assert made.code("Survey W", COUNTRY, five) == "C5.001"
    made.add_group("Group1", ["Survey X", "Survey Y", "Survey Z"])
    made.add_group("On-line", made.where({"Form Type": "On-line"}))
    return made


def test_the_tutorial():
    env = tutorial()
    assert env.variables[COUNTRY].categorisations["C4.001"] == ("England", "Scotland", "Wales", "Not Britain")
    assert env.groups["On-line"] == ("Survey V", "Survey W", "Survey Z")
    # Figure 84: C3.001 is {Northern Ireland}, {England, Scotland, Wales}, {Non UK}; H1.001 has all leaves.
    assert {frozenset(each) for each in env.variables[COUNTRY].leaves("C3.001")} == {
        frozenset({"Northern Ireland"}),
        frozenset({"England", "Scotland", "Wales"}),
        frozenset({"Non UK"}),
    }
    [everything] = env.variables[COUNTRY].leaves("H1.001")
    assert set(everything) == set(env.variables[COUNTRY].graph.leaves)
    assert sorted(env.variables[COUNTRY].codes) == ["C2.001", "C3.001", "C4.001", "C5.001", "H1.001", "H2.001"]
    assert env.variables[COUNTRY].categories("H2.001") == ["Britain", "Not Britain"]


def test_figure_83():
    """The analysis whose output the figure shows: Country of Residence, C4.001."""
    env = tutorial()
    [found] = env.analyse("Survey X", 0.5)
    assert (found.minimum, found.codes, found.step.size) == (2, ("C4.001",), 4)
    [more] = env.analyse("Survey X", 0.75)
    assert more.codes == ("H2.001",)
    [all_] = env.analyse("Survey X", 1.0)
    assert all_.codes == ("H1.001",)
    # In its own group the target counts where that is requested, as in the thesis's default group of all forms.
    [own] = env.analyse("Survey X", 0.6, with_target=True)
    assert (own.minimum, own.codes) == (3, ("C4.001",))
    [within] = env.analyse("Survey X", 1.0, against=env.members("Group1"))
    assert within.codes == ("H2.001",)
    [alone] = env.analyse("Survey X", 1.0, against=env.members("Survey Y"))
    assert alone.codes == ("C4.001",)


def test_figure_29():
    """The numbers that the thesis gives of Age; it does not give the codings."""
    made = like_the_thesis(200)
    age = made.variables["Age"]
    assert len(age.graph.leaves) == 61
    assert len(set(age.codes) & set(age.categorisations)) == 5
    assert len(age.codes) == 9
    c9, c45, c7 = (age.node(code) for code in ("C9.001", "C45.001", "C7.001"))
    assert age.codes[age.harmonisations.harmonise([c9, c45])] == "H7.001"
    assert age.codes[age.harmonisations.harmonise([c9, c45, c7])] == "H3.001"
    # Arbitrary precision is the single leaf, and there is a single root, of more than one category here.
    edges = list(age.harmonisations.edges())
    assert [age.codes[v] for v in range(9) if v not in {a for a, _ in edges}] == ["C0.001"]
    assert [age.codes[v] for v in range(9) if v not in {b for _, b in edges}] == ["H2.001"]
    assert age.harmonisations.harmonisations < 81  # what the thesis's algorithm needs


def test_a_variable_too_few_forms_have_is_null():
    env = tutorial()
    env.add_variable("Age", "whole")
    env.code("Survey X", "Age", ["0-17", "18+"])
    env.code("Survey Y", "Age", [])
    country, age = env.analyse("Survey X", 0.5)
    assert (age.forms, age.minimum, age.step, age.codes) == (1, 2, None, ())
    assert country.codes == ("C4.001",)
    [age] = env.analyse("Survey X", 0.25, variables=["Age"])
    assert age.codes == ("C2.001",)  # arbitrary precision harmonises to whatever is requested
    [age] = env.analyse("Survey Y", 0.25, variables=["Age"])
    assert (age.target, age.codes) == ("C0.001", ("C2.001",))


def test_what_is_refused_changes_nothing():
    env = tutorial()
    before = texts_of(env)
    for change, message in (
        (
            lambda: env.code("Survey X", COUNTRY, ["UK", "Britain"]),
            r"Survey X, Country(.|\n)*overlap(.|\n)*not exhaustive",
        ),
        (lambda: env.code("Survey X", COUNTRY, ["UK"]), "none contains 'Non UK'"),
        (lambda: env.code("Survey X", COUNTRY, ["UK", "Non UK"], {"1": "Wales"}), "values of no category"),
        (lambda: env.remove_category(COUNTRY, "UK"), r"UK: the category cannot be deleted.*Survey V \(C2.001\)"),
        (lambda: env.remove_category(COUNTRY, "Wales"), "used by"),
        (lambda: env.rename_category(COUNTRY, "UK", "Wales"), "taken"),
        (lambda: env.delete_variable(COUNTRY), "used by 'Survey V'"),
        (lambda: env.add_form("Survey X"), "there is a form of this name"),
        (lambda: env.add_form(" "), "printable"),
        (lambda: env.add_variable(COUNTRY), "there is a variable of this name"),
        (lambda: env.add_group("Group1", []), "there is a group of this name"),
        (lambda: env.add_group("Other", ["Survey A"]), "no such form"),
        (lambda: env.add_variable("Age", "ordinal"), "one of nominal, interval, whole"),
        (lambda: env.analyse("Survey X", 2), "from 0 to 1"),
        (lambda: env.analyse("Survey X", 0.5, variables=["Age"]), "form Survey X: there is no such variable"),
    ):
        with pytest.raises(GemelError, match=message):
            change()
    assert texts_of(env) == before


def test_intervals_cannot_be_edited_into_nonsense(tmp_path: Path):
    made = Environment()
    made.add_variable("Age", "whole")
    made.add_form("a")
    made.code("a", "Age", ["0-17", "18+"])
    made.edit("Age", lambda graph: graph.divide("0-17", ["0-5", "6-17"]))
    for edit, message in (
        (lambda graph: graph.divide("18+", ["young", "old"]), "Age, young: not an interval"),
        (lambda graph: graph.divide("18+", ["18-30", "32+"]), "Age, 18[+]: the parts of an interval must join"),
        (lambda graph: graph.aggregate("all", ["0-17", "18+"]), "Age, all: not an interval"),
    ):
        with pytest.raises(GemelError, match=message):
            made.edit("Age", edit)
    with pytest.raises(GemelError, match="must join"):
        made.rename_category("Age", "0-17", "0-16")
    made.rename_category("Age", "18+", "18 and over")
    texts = texts_of(made)
    assert texts_of(environment_of(texts)) == texts
    spoilt = {**texts, "variables.json": texts["variables.json"].replace("6-17", "7-17")}
    with pytest.raises(GemelError, match=r"variables.json: Age > categories > 0-17: the parts of an interval"):
        environment_of(spoilt)


def test_values_must_mean_every_category():
    made = tutorial()
    with pytest.raises(GemelError, match="no value means a category of the form, got 'Non UK'"):
        made.code("Survey V", COUNTRY, ["UK", "Non UK"], {"1": "UK"})
    made.code("Survey V", COUNTRY, ["UK", "Non UK"], {"1": "UK", "2": "Non UK"})
    texts = texts_of(made)
    with pytest.raises(GemelError, match="Survey V > values > Country of Residence: no value means a category"):
        environment_of({**texts, "forms.json": texts["forms.json"].replace(', "2": "Non UK"', "")})


def test_deleting_a_form_forgets_what_only_it_had():
    env = tutorial()
    env.delete_form("Survey V")
    assert "C2.001" not in env.variables[COUNTRY].categorisations
    assert env.groups["On-line"] == ("Survey W", "Survey Z")
    env.remove_category(COUNTRY, "UK")
    assert "H2.001" in env.variables[COUNTRY].codes


def test_an_interval_keeps_its_name_and_the_form_its_own():
    env = Environment()
    env.add_variable("Age", "whole")
    env.add_form("a")
    env.add_form("b")
    env.code("a", "Age", ["0-64", "65+"])
    assert env.code("b", "Age", ["0-64", "65 and over"]) == "C2.001"
    assert env.forms["b"].values["Age"] == {"0-64": "0-64", "65 and over": "65+"}


@pytest.fixture
def saved(tmp_path: Path, monkeypatch) -> Path:
    monkeypatch.setattr(os, "fsync", lambda handle: None)  # slow, and what it is for no test can show
    folder.create(tmp_path)
    with folder.changed(tmp_path) as env:
        made = tutorial()
        env.forms, env.variables, env.groups = made.forms, made.variables, made.groups
    return tmp_path


def test_the_files_come_back_as_they_were(saved: Path):
    assert texts_of(folder.read(saved)) == texts_of(tutorial())
    with pytest.raises(GemelError, match="an environment already"):
        folder.create(saved)
    with pytest.raises(GemelError, match="no environment"):
        folder.read(saved / "elsewhere")


def _edit(path: Path, change) -> None:
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


@pytest.mark.parametrize(
    ("file", "change", "message"),
    [
        (
            "variables.json",
            lambda c: c[COUNTRY]["categorisations"].update({"C2.001": ["UK", "Britain"]}),
            "variables.json: Country of Residence > categorisations > C2.001: the categories 'UK' and 'Britain' over",
        ),
        (
            "variables.json",
            lambda c: c[COUNTRY]["categorisations"].update({"C2.001": ["UK", "Wales"]}),
            "C2.001: the categories are not exhaustive, got none contains 'Non UK'",
        ),
        (
            "variables.json",
            lambda c: c[COUNTRY]["categories"].update({"England": ["UK", "x"], "x": []}),
            "variables.json: Country of Residence > categories > .*part of itself, got .*UK > Britain > England",
        ),
        ("variables.json", lambda c: c[COUNTRY]["categories"].pop("Wales"), "Britain: a part that is no category"),
        ("variables.json", lambda c: c[COUNTRY]["categories"].pop("Britain"), "UK: a part that is no category"),
        (
            "variables.json",
            lambda c: c[COUNTRY]["categorisations"].update({"C4.002": c[COUNTRY]["categorisations"]["C5.001"]}),
            "C4.002: the code states another number of categories, got 5(.|\n)*same categorisation as C5.001",
        ),
        ("variables.json", lambda c: c[COUNTRY].update({"kind": "nominal"}), "unknown key, got 'kind'"),
        ("variables.json", lambda c: c[COUNTRY].update({"scale": "whole"}), "not an interval on the scale whole"),
        ("variables.json", lambda c: c.clear(), "forms.json: Survey X > variables > Country of Residence: there is no"),
        (
            "forms.json",
            lambda c: c["Survey X"]["variables"].update({COUNTRY: "C4.002"}),
            "forms.json: Survey X > variables > Country of Residence: no such code, got 'C4.002'; did you mean C4.001",
        ),
        (
            "forms.json",
            lambda c: c["Survey X"]["variables"].update({"Age": "C2.001"}),
            "> Age: there is no such variable",
        ),
        ("forms.json", lambda c: c["Survey X"]["variables"].update({COUNTRY: ["UK"]}), "> Country.*not exhaustive"),
        (
            "forms.json",
            lambda c: c["Survey X"].update({"values": {COUNTRY: {"1": "UK"}}}),
            "> 1: no category of the form",
        ),
        ("forms.json", lambda c: c["Survey X"].update({"metadata": {"Pages": 3}}), "> Pages: a text expected"),
        ("groups.json", lambda c: c.update({"Group1": ["Survey Q"]}), "groups.json: Group1: there is no such form"),
        ("groups.json", lambda c: c.update({"Group1": "Survey X"}), "a list of names expected"),
    ],
)
def test_a_file_edited_into_inconsistency_is_named_and_left_alone(saved: Path, file, change, message):
    _edit(saved / file, change)
    before = {name: (saved / name).read_bytes() for name in FILES}
    with pytest.raises(GemelError, match=message):
        folder.read(saved)
    with pytest.raises(GemelError), folder.changed(saved) as env:
        env.add_form("Survey U")
    with pytest.raises(GemelError):
        folder.check(saved)
    assert {name: (saved / name).read_bytes() for name in FILES} == before
    aside = folder.restore(saved)
    assert [path.read_bytes() for path in aside] == [before[file]]
    assert texts_of(folder.read(saved)) == texts_of(tutorial())


def test_a_name_used_twice_and_broken_json_have_their_places(saved: Path):
    path = saved / "forms.json"
    text = path.read_text()
    path.write_text(text.replace('"Survey W": {', '"Survey V": {'))
    with pytest.raises(GemelError, match=r"forms\.json: a name is used twice, got 'Survey V'"):
        folder.read(saved)
    path.write_text(text.replace('"Survey W": {', '"Survey W" {'))
    with pytest.raises(GemelError, match=r"forms.json, line \d+, column \d+: not JSON"):
        folder.read(saved)
    path.write_bytes(text.encode() + b"\xff")
    with pytest.raises(GemelError, match="UTF-8"):
        folder.read(saved)


def test_opened_in_spite_of_its_validation_errors(saved: Path):
    _edit(saved / "variables.json", lambda c: c[COUNTRY]["categorisations"].update({"C2.001": ["UK", "Britain"]}))
    env = folder.read(saved, strict=False)
    assert len(env.warnings) == 2
    [found] = env.analyse("Survey X", 0.5)
    assert found.codes == ("C4.001",)


def test_a_list_in_a_form_gets_a_code(saved: Path):
    _edit(saved / "forms.json", lambda c: c["Survey X"]["variables"].update({COUNTRY: ["Not Britain", "Britain"]}))
    with folder.changed(saved) as env:
        assert env.forms["Survey X"].variables[COUNTRY] == "C2.002"
    assert json.loads((saved / "forms.json").read_text())["Survey X"]["variables"] == {COUNTRY: "C2.002"}


def test_values_without_variables_are_refused():
    made = tutorial()
    made.code("Survey V", COUNTRY, ["UK", "Non UK"], {"1": "UK", "2": "Non UK"})
    texts = texts_of(made)
    content = json.loads(texts["forms.json"])
    content["Survey V"]["variables"] = None
    for strict in (True, False):
        with pytest.raises(GemelErrors, match="an object"):
            environment_of(texts | {"forms.json": json.dumps(content)}, strict=strict)


ANY = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=4), st.sampled_from(["UK", "Wales", "C2.001"])),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=3)),
    max_leaves=5,
)


@given(st.data())
def test_whatever_is_edited_is_read_or_refused(data):
    made = tutorial()
    made.code("Survey V", COUNTRY, ["UK", "Non UK"], {"1": "UK", "2": "Non UK"})
    contents = {name: json.loads(text) for name, text in texts_of(made).items()}
    at = contents[data.draw(st.sampled_from(FILES))]
    while True:
        key = data.draw(st.sampled_from(list(at) if isinstance(at, dict) else list(range(len(at)))))
        if not isinstance(at[key], dict | list) or not at[key] or data.draw(st.booleans()):
            break
        at = at[key]
    if isinstance(at, dict) and data.draw(st.booleans()):
        at[data.draw(st.text(max_size=5))] = data.draw(ANY)
    else:
        at[key] = data.draw(ANY)
    texts = {name: json.dumps(content) for name, content in contents.items()}
    for strict in (True, False):
        try:
            read = environment_of(texts, strict=strict)
        except GemelErrors as refused:
            places = {each.where.split(":")[0].split(",")[0] for each in refused.errors}
            if not places <= set(FILES):
                raise
            continue
        if "Survey Y" in read.forms:
            read.analyse("Survey Y", 0.5)
        if strict:
            assert texts_of(environment_of(texts_of(read))) == texts_of(read)


class _Crash(Exception):
    pass


@pytest.mark.parametrize("at", range(40))
def test_a_crash_at_any_step_leaves_the_old_state_or_the_new(saved: Path, monkeypatch, at):
    """Every rename and every opened file may be the last thing that happens."""
    old, steps = texts_of(folder.read(saved)), 0

    def counted(original):
        def call(*args, **kwargs):
            nonlocal steps
            steps += 1
            if steps == at + 1:
                raise _Crash
            return original(*args, **kwargs)

        return call

    with monkeypatch.context() as patch:
        for name in ("rename", "replace", "rmdir", "mkdir"):
            patch.setattr(Path, name, counted(getattr(Path, name)))
        patch.setattr(os, "fsync", counted(os.fsync))
        try:
            with folder.changed(saved) as env:
                env.add_form("Survey U")
                env.add_group("New", ["Survey U"])
                new = texts_of(env)
        except _Crash:
            pass
        crashed = steps == at + 1
    found = texts_of(folder.read(saved))
    assert found in ((old, new) if crashed else (new,))
    assert not (saved / ".commit").exists()
    with folder.changed(saved) as env:
        env.add_form("Survey T")
    assert "Survey T" in folder.read(saved).forms


def test_a_file_changed_meanwhile_is_not_written_over(saved: Path):
    def change() -> None:
        with folder.changed(saved) as env:
            env.add_form("Survey U")
            _edit(saved / "groups.json", lambda c: c.update({"More": []}))

    with pytest.raises(GemelError, match="changed meanwhile"):
        change()
    assert "More" in folder.read(saved).groups


def test_a_codebook_comes_back_as_it_went():
    env = tutorial()
    env.add_variable("Age", "whole")
    env.code("Survey V", "Age", ["0-17", "18-64", "65+"], {"1": "0-17", "2": "18-64", "3": "65+", "9": "65+"})
    env.code("Survey W", "Age", ["0-15", "16+"])
    env.code("Survey X", "Age", [])
    again = Environment()
    added, metadata = import_codebook(again, export_codebook(env))
    assert (added, metadata) == (8, ("Organisation", "Form Type"))
    for name, form in env.forms.items():
        other = again.forms[name]
        assert (other.metadata, other.values) == (form.metadata, form.values)
        for variable, code in form.variables.items():
            own, its = env.variables[variable], again.variables[variable]
            assert its.categorisations[other.variables[variable]] == own.categorisations[code]
            assert its.graph.children.keys() == own.graph.children.keys()


CODEBOOK = """form,variable,category,part of,consists of
X,Country,England,,
X,Country,Scotland,,
X,Country,Other,,
Y,Country,Britain,,England | Scotland
Y,Country,France,Other,
Y,Country,Elsewhere,Other,
"""


def test_a_codebook_divides_and_puts_together():
    env = Environment()
    import_codebook(env, CODEBOOK)
    assert env.variables["Country"].graph.children["Other"] == ("France", "Elsewhere")
    assert env.variables["Country"].graph.children["Britain"] == ("England", "Scotland")
    assert {form.variables["Country"] for form in env.forms.values()} == {"C3.001", "C3.002"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("Y,Country,France,Other,\n", ""), "codebook.csv, line 5.*one part is that part"),
        (("Y,Country,Britain,,England | Scotland\n", ""), "codebook.csv, line 5.*(.|\n)*none contains 'England'"),
        (("consists of", "part of"), "twice"),
        (("category", "Kategory"), "line 1: the columns category are lacking.*did you mean Kategory"),
        (("X,Country,Other,,", "X,Country,Other"), "line 4: another number of cells"),
        (("X,Country,Other,,", "X,,Other,,"), "line 4: the row names no variable"),
        (("X,Country,Other,,", "X,Country,Scotland,,"), "names a category of Country twice"),
        (("X,Country,Other,,", "X,Country,,,"), "with a category and without one"),
    ],
)
def test_a_bad_codebook_is_refused_by_its_line(change, message):
    with pytest.raises(GemelError, match=message):
        import_codebook(Environment(), CODEBOOK.replace(*change, 1))
