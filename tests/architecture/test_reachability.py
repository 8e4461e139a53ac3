"""Every definition of the product is reached by a command, a service, a command for maintainers or a documented call.

A method may also be one that a benchmark calls: it cannot be moved beside its only user as a function can.
"""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import pytest

import gemel
import gemel.risk
from tests.architecture.reachability import Definition, Module, Reachability, read_tree, template_names
from tests.architecture.tree import PRODUCT, REPOSITORY, benchmarks, product

DOCUMENTS = "tests.generated_docs"
"""What writes the generated stretches of docs/: a command for maintainers outside the product."""


def maintainers_commands() -> list[str]:
    """The modules of the product that CONTRIBUTING.md or the Makefile runs."""
    texts = [(REPOSITORY / name).read_text(encoding="utf-8") for name in ("CONTRIBUTING.md", "Makefile")]
    return [name for text in texts for name in re.findall(r"python -m (gemel\.[\w.]+)", text)]


def documented_methods(modules: dict[str, Module]) -> set[tuple[Definition, str]]:
    """Class and method of the calls that a document names by their whole dotted names, for programs of a reader's."""
    texts = [path.read_text(encoding="utf-8") for path in sorted((REPOSITORY / "docs").rglob("*.md"))]
    named = [each for text in texts for each in re.findall(r"`(gemel\.[\w.]+)\.([A-Z]\w*)\.(\w+)`", text)]
    return {(modules[module].definitions[owner], method) for module, owner, method in named}


def public_names(modules: dict[str, Module]) -> set[Definition]:
    """What `import gemel` and `gemel.risk` offer to a reader's programs."""
    offered = [*gemel.PUBLIC.items(), *gemel.risk.PUBLIC.items()]
    found = {modules[module].definitions[name] for name, module in offered if name in modules[module].definitions}
    return found | {modules["gemel.risk"].definitions["PUBLIC"]}


def test_every_definition_is_reached() -> None:
    modules = product() | {DOCUMENTS: Module(DOCUMENTS, REPOSITORY / "tests" / "generated_docs.py")}
    roots = [name for name in modules if name.endswith(".__main__")]
    roots += [name for name in modules if ".migrations.versions." in name]
    roots += ["gemel.command", "gemel.risk", DOCUMENTS, *maintainers_commands()]
    templates = set().union(*(template_names(REPOSITORY / folder) for folder in PRODUCT.values()))
    reached = Reachability(modules, roots, templates, benchmarks(), documented_methods(modules), public_names(modules))
    found = reached.unreached()
    assert {str(definition): definition.lines for definition in found} == {}, (
        "give it a command, move it beside the tests or benchmarks that use it, or delete it"
    )


SOURCES = {
    "__init__.py": """
        from example.numbers import exported, used
        __all__ = ["exported", "used"]
        """,
    "__main__.py": """
        import argparse
        from example import used
        from example import commands
        if __name__ == "__main__":
            used()
        """,
    "numbers.py": """
        LIMIT = 3
        UNUSED = 4
        def used():
            return Shape().area + LIMIT
        def exported():
            return 1
        class Base:
            def area(self): ...
        class Shape(Base):
            def __len__(self):
                return hidden()
            @property
            def area(self):
                return 1
            def volume(self):
                return by_volume()
        def hidden(): ...
        def by_volume(): ...
        class Lonely:
            def area(self): ...
        """,
    "commands.py": """
        import argparse
        import typer
        app = typer.Typer()
        other = typer.Typer()
        @app.command()
        def draw():
            from example.numbers import exported as used
            used()
        @other.command()
        def erase(): ...
        class Parser(argparse.ArgumentParser):
            def error(self, message): ...
            def unused(self): ...
        def parse():
            return Parser()
        """,
    "late.py": """
        app = parse = None
        """,
}


def unreached(folder: Path, sources: dict[str, str]) -> set[str]:
    for name, text in sources.items():
        (folder / name).write_text(textwrap.dedent(text), encoding="utf-8")
    modules = read_tree(folder.parent, {"example": Path(folder.name)})
    found = Reachability(modules, ["example.__main__"], set()).unreached()
    return {str(definition).removeprefix("example.") for definition in found}


def test_what_the_analysis_reports(tmp_path: Path) -> None:
    """A re-export reaches nothing, nor does a method of a class without objects; an override of another's method is."""
    assert unreached(tmp_path, SOURCES) == {
        "numbers.UNUSED",
        "numbers.exported",
        "numbers.Shape.volume",
        "numbers.by_volume",
        "numbers.Lonely",
        "commands.app",
        "commands.other",
        "commands.draw",
        "commands.erase",
        "commands.Parser",
        "commands.parse",
        "late.app",
        "late.parse",
    }


ONE_NAME = """
    class Square:
        side = 1
        def area(self): ...
    class Cube(Square):
        def area(self): ...
    class Lake:
        def area(self): ...
        @property
        def shore(self) -> "Square | None":
            return self
    def drawn() -> Square:
        return Cube() or Lake()
    """


@pytest.mark.parametrize(
    ("line", "unreached_methods"),
    [
        ("drawn()", {"Square.area", "Cube.area", "Lake.area", "Lake.shore"}),
        ("drawn().area()", {"Lake.area", "Lake.shore"}),
        ("shape = drawn()\nshape.area()", {"Lake.area", "Lake.shore"}),
        ("for shape in [drawn()]: shape.area()", {"Lake.shore"}),
        ("def fill(shape: Cube): shape.area()\nfill(drawn())", {"Lake.area", "Lake.shore"}),
        ("drawn()\nLake.area", {"Square.area", "Cube.area", "Lake.shore"}),
        ("drawn()\nLake().shore.area()", {"Lake.area"}),
    ],
)
def test_methods_of_one_name_are_distinguished_by_annotations(
    tmp_path: Path, line: str, unreached_methods: set[str]
) -> None:
    main = f"from example.shapes import Cube, Lake, drawn\ndef main():\n{textwrap.indent(line, '    ')}\n"
    sources = {"__init__.py": "", "shapes.py": ONE_NAME, "__main__.py": main}
    assert unreached(tmp_path, sources) == {f"shapes.{name}" for name in unreached_methods}


@pytest.mark.parametrize(
    ("line", "reached"),
    [
        ("from example.commands import app", {"numbers.exported", "commands.app", "commands.draw"}),
        ("import example.commands as c; c.parse()", {"commands.parse", "commands.Parser"}),
        ('getattr(used(), "volume")', {"numbers.Shape.volume", "numbers.by_volume"}),
        ('SUBCOMMANDS = "example.late"', {"late.app"}),
    ],
)
def test_ways_to_reach(tmp_path: Path, line: str, reached: set[str]) -> None:
    before = unreached(tmp_path, SOURCES)
    use = "\nprint(app)" if line.endswith("app") else "\nprint(SUBCOMMANDS)" if line.startswith("SUB") else ""
    after = unreached(tmp_path, SOURCES | {"__main__.py": f"{textwrap.dedent(SOURCES['__main__.py'])}\n{line}{use}\n"})
    assert before - after == reached
