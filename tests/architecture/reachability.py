"""Which definitions the product's programs can reach, by names: what a test of the tree as a whole needs.

A definition is a function, class or constant of a module, or a method of a class. From the entry points the names that
reached code mentions are followed: a name to what it is bound to in its module, through imports and re-exports; an
attribute to every method of that name in a reached class, unless it is one of a package that is not ours. Re-exports
and ``__all__`` by themselves reach nothing. So what is reported as unreached is; what is not may still be.
"""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

_NEUTRAL = ("abc", "contextlib", "dataclasses", "enum", "functools", "numba", "numba.extending", "typing")
"""Packages whose decorators change a function and do not register it anywhere."""
_BUILTIN = ("property", "staticmethod", "classmethod")
_DYNAMIC = ("app", "command", "main")
"""What is looked up in a module that is named by a string, as the root command does."""


@dataclass(eq=False)
class Definition:
    """One definition: where it is, and the syntax that it reaches once it is reached itself."""

    module: Module
    name: str
    node: ast.stmt
    owner: Definition | None = None
    methods: dict[str, Definition] = field(default_factory=dict)
    registered: list[Definition] = field(default_factory=list)
    """What this object has as callbacks: the commands of an application."""

    def __str__(self) -> str:
        return f"{self.module.name}.{self.owner.name}.{self.name}" if self.owner else f"{self.module.name}.{self.name}"

    @property
    def lines(self) -> int:
        """Lines from its first decorator to its end."""
        decorators = getattr(self.node, "decorator_list", [])
        first = min((d.lineno for d in decorators), default=self.node.lineno)
        return (self.node.end_lineno or first) - first + 1

    @cached_property
    def bodies(self) -> list[ast.AST]:
        """What runs when it is reached; of a class all but the methods."""
        if not isinstance(self.node, ast.ClassDef):
            return [self.node]
        inner = [n for n in self.node.body if not isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
        return [*self.node.bases, *self.node.keywords, *self.node.decorator_list, *inner]


class Module:
    """A module's definitions, its imports, and the statements that run when it is imported."""

    def __init__(self, name: str, path: Path) -> None:
        self.name = name
        self.is_package = path.stem == "__init__"
        self.package = name if self.is_package else name.rpartition(".")[0]
        self.definitions: dict[str, Definition] = {}
        self.imports: dict[str, str] = {}
        """Local name to dotted name, of the imports at the top."""
        self.statements: list[ast.AST] = []
        tree = ast.parse(path.read_text(encoding="utf-8"))
        self._read(tree.body)

    def _read(self, body: list[ast.stmt]) -> None:
        for node in body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                made = self._define(node.name, node)
                if isinstance(node, ast.ClassDef):
                    for inner in node.body:
                        if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef):
                            made.methods[inner.name] = Definition(self, inner.name, inner, made)
            elif isinstance(node, ast.Assign | ast.AnnAssign):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                walked = (n for t in targets for n in ast.walk(t))
                names = [n.id for n in walked if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
                for name in names:
                    self._define(name, node)
                if not names:
                    self.statements.append(node)
            elif isinstance(node, ast.If | ast.Try):
                handlers = [s for h in getattr(node, "handlers", []) for s in h.body]
                self._read([*node.body, *node.orelse, *handlers])
            elif isinstance(node, ast.Import | ast.ImportFrom):
                self.imports |= self.bound_by(node)
            else:
                self.statements.append(node)

    def _define(self, name: str, node: ast.stmt) -> Definition:
        self.definitions[name] = Definition(self, name, node)
        return self.definitions[name]

    def bound_by(self, node: ast.Import | ast.ImportFrom) -> dict[str, str]:
        """The names that an import binds, each with its dotted name."""
        if isinstance(node, ast.Import):
            tops = {a: a.name if a.asname else a.name.partition(".")[0] for a in node.names}
            return {a.asname or top: top for a, top in tops.items()}
        parts = self.package.split(".")
        base = ".".join([*parts[: len(parts) + 1 - node.level], *filter(None, [node.module])]) if node.level else None
        return {a.asname or a.name: f"{base or node.module}.{a.name}" for a in node.names}


def read_tree(root: Path, packages: dict[str, Path]) -> dict[str, Module]:
    """Every module by dotted name. `packages` has import names and folders; generated wire code is left out."""
    found = {}
    for name, folder in packages.items():
        for path in sorted((root / folder).rglob("*.py")):
            if not path.stem.endswith(("_pb2", "_pb2_grpc")):
                dotted = ".".join([name, *path.relative_to(root / folder).with_suffix("").parts])
                dotted = dotted.removesuffix(".__init__")
                found[dotted] = Module(dotted, path)
    return found


class Reachability:
    """The definitions reached from entry points.

    Parameters
    ----------
    modules : dict of str to Module
        The tree.
    roots : list of str
        Modules that are run: all their statements and their ``main`` are reached.
    attributes : set of str
        Names that something other than Python code looks up: page templates.
    """

    def __init__(self, modules: dict[str, Module], roots: list[str], attributes: set[str]) -> None:
        self.modules = modules
        self.reached: set[Definition] = set()
        self._attributes = set(attributes)
        self._imported: set[str] = set()
        self._pending: list[tuple[Module, ast.AST]] = []
        for module in modules.values():
            for definition in module.definitions.values():
                self._register(definition)
        for root in roots:
            self._import(root)
            self._dynamic(root)
        self._run()

    def unreached(self) -> list[Definition]:
        """What nothing reaches; of a class that is not reached, only the class."""
        found = []
        for module in self.modules.values():
            for name, definition in module.definitions.items():
                if name.startswith("__") and name.endswith("__"):
                    continue
                if definition not in self.reached:
                    found.append(definition)
                else:
                    found += [method for method in definition.methods.values() if method not in self.reached]
        return found

    def _run(self) -> None:
        while True:
            while self._pending:
                self._scan(*self._pending.pop())
            before = len(self.reached)
            for definition in list(self.reached):
                for name, method in definition.methods.items():
                    if name in self._attributes:
                        self._reach(method)
            if len(self.reached) == before and not self._pending:
                return

    def _register(self, definition: Definition) -> None:
        """Functions that are decorated by an object of the tree are that object's callbacks."""
        for decorator in getattr(definition.node, "decorator_list", []):
            name = _dotted(decorator.func if isinstance(decorator, ast.Call) else decorator)
            registry = self._resolve(definition.module, name.partition(".")[0]) if name else None
            if isinstance(registry, Definition) and isinstance(registry.node, ast.Assign | ast.AnnAssign):
                registry.registered.append(definition)

    def _reach(self, definition: Definition) -> None:
        if definition in self.reached:
            return
        self.reached.add(definition)
        self._import(definition.module.name)
        self._pending += [(definition.module, body) for body in definition.bodies]
        for callback in definition.registered:
            self._reach(callback)
        for name, method in definition.methods.items():
            if (name.startswith("__") and name.endswith("__")) or self._called_by_others(definition, method):
                self._reach(method)

    def _called_by_others(self, owner: Definition, method: Definition) -> bool:
        """Whether a package that is not ours calls this method: it overrides one of theirs, or they decorate it."""
        for decorator in getattr(method.node, "decorator_list", []):
            name = _dotted(decorator.func if isinstance(decorator, ast.Call) else decorator) or ""
            found = self._resolve(method.module, name)
            if isinstance(found, str) and found not in _BUILTIN and found.rpartition(".")[0] not in _NEUTRAL:
                return not found.endswith((".setter", ".deleter"))
        return any(hasattr(base, method.name) for base in self._foreign_bases(owner))

    def _foreign_bases(self, owner: Definition) -> Iterator[object]:
        assert isinstance(owner.node, ast.ClassDef)
        for node in owner.node.bases:
            base = self._resolve(owner.module, _dotted(node) or "")
            if isinstance(base, Definition) and isinstance(base.node, ast.ClassDef):
                yield from self._foreign_bases(base)
            elif isinstance(base, str) and "." in base:
                module, _, name = base.rpartition(".")
                yield getattr(importlib.import_module(module), name)

    def _import(self, name: str) -> None:
        if name in self._imported or name not in self.modules:
            return
        self._imported.add(name)
        module = self.modules[name]
        self._pending += [(module, statement) for statement in module.statements]
        self._import(name.rpartition(".")[0])
        for definition in module.definitions.values():  # what another package's decorator registers
            for decorator in getattr(definition.node, "decorator_list", []):
                used = _dotted(decorator.func if isinstance(decorator, ast.Call) else decorator) or ""
                found = self._resolve(module, used)
                if isinstance(found, str) and found.rpartition(".")[0] not in ("", *_NEUTRAL):
                    self._reach(definition)
        for target in module.imports.values():
            self._import(target)
            self._import(target.rpartition(".")[0])

    def _dynamic(self, name: str) -> None:
        self._import(name)
        for selected in _DYNAMIC:
            if found := self.modules[name].definitions.get(selected):
                self._reach(found)

    def _resolve(
        self, module: Module, name: str, local: dict[str, str] | None = None
    ) -> Definition | Module | str | None:
        """What a dotted name means in a module: a definition, a module, or the name of another package's object."""
        head, _, rest = name.partition(".")
        if local and head in local:
            return self._absolute(f"{local[head]}.{rest}".rstrip("."))
        if head in module.definitions:
            return module.definitions[head] if not rest else None
        if head in module.imports:
            return self._absolute(f"{module.imports[head]}.{rest}".rstrip("."))
        return name if name in _BUILTIN else None

    def _absolute(self, name: str) -> Definition | Module | str | None:
        if name in self.modules:
            return self.modules[name]
        owner, _, last = name.rpartition(".")
        if owner in self.modules:
            return self._resolve(self.modules[owner], last)
        above = self._absolute(owner) if owner and name.partition(".")[0] in self._tops else None
        return name if above is None or isinstance(above, str) else None

    @cached_property
    def _tops(self) -> set[str]:
        return {name.partition(".")[0] for name in self.modules}

    def _scan(self, module: Module, tree: ast.AST) -> None:
        local: dict[str, str] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Import | ast.ImportFrom):
                local |= module.bound_by(node)
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                self._found(self._resolve(module, node.id, local))
            elif isinstance(node, ast.Attribute):
                name = _dotted(node)
                found = self._resolve(module, name, local) if name else None
                self._found(found)
                if found is None:
                    self._attributes.add(node.attr)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in self.modules:
                self._dynamic(node.value)
            elif isinstance(node, ast.Call) and (name := _quoted(node)):
                self._attributes.add(name)
            elif isinstance(node, ast.Import | ast.ImportFrom):
                for target in module.bound_by(node).values():
                    self._import(target)
                    self._import(target.rpartition(".")[0])

    def _found(self, found: Definition | Module | str | None) -> None:
        if isinstance(found, Definition):
            self._reach(found)
        elif isinstance(found, Module):
            self._import(found.name)


def _dotted(node: ast.AST) -> str | None:
    """``a.b.c`` of an expression that is only names, or None."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (before := _dotted(node.value)):
        return f"{before}.{node.attr}"
    return None


def _quoted(call: ast.Call) -> str | None:
    """The attribute that a call of ``getattr`` names by a string."""
    if isinstance(call.func, ast.Name) and call.func.id == "getattr" and isinstance(call.args[1], ast.Constant):
        return str(call.args[1].value)
    return None


def template_names(root: Path) -> set[str]:
    """Attributes that the page templates mention."""
    texts = (path.read_text(encoding="utf-8") for path in sorted(root.rglob("*.j2")))
    return {name for text in texts for name in re.findall(r"\.([A-Za-z_]\w*)", text)}
