"""Which definitions the product's programs can reach, by names: what a test of the tree as a whole needs.

A definition is a function, class or constant of a module, or a method of a class. From the entry points the names that
reached code mentions are followed: a name to what it is bound to in its module, through imports and re-exports; an
attribute to the methods of that name, of the object's class and its relatives where annotations give the class
(`receivers`), else of every reached class; unless it is one of a package that is not ours. Re-exports and ``__all__``
by themselves reach nothing. So what is reported as unreached is; what is not may still be.
"""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

_NEUTRAL = ("abc", "contextlib", "dataclasses", "enum", "functools", "numba", "numba.extending", "typing")
"""Packages whose decorators change a function and do not register it anywhere."""
_BUILTIN = ("property", "staticmethod", "classmethod")
_PROPERTIES = ("property", "cached_property", "functools.cached_property")
_DYNAMIC = ("app", "command", "main", "configure", "complete", "revision", "down_revision", "upgrade")
"""What is looked up in a module that is named by a string, as the root command does, or Alembic in a migration."""


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
    def decorators(self) -> list[str]:
        """Their names, as far as they have one."""
        marks = getattr(self.node, "decorator_list", [])
        return [name for mark in marks if (name := _dotted(mark.func if isinstance(mark, ast.Call) else mark))]

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
        self.tree = ast.parse(path.read_text(encoding="utf-8"))
        self._read(self.tree.body)

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
    """The definitions of `modules` that are reached from `roots`: modules of which all statements and ``main`` are run.

    Reached are also `attributes`, names that something other than Python code looks up (page templates); `methods`,
    each of a class, that are called from elsewhere; `public`, what a reader's own programs use, with its methods; and
    methods that `callers`, modules outside the tree, call.
    """

    def __init__(
        self,
        modules: dict[str, Module],
        roots: list[str],
        attributes: set[str],
        callers: dict[str, Module] | None = None,
        methods: set[tuple[Definition, str]] | None = None,
        public: set[Definition] | None = None,
    ) -> None:
        self.modules = modules
        self.reached: set[Definition] = set()
        self._attributes = set(attributes)
        self._methods: dict[str, set[Definition]] = {}
        """Attribute to the known classes of the objects of which it is mentioned."""
        for owner, name in methods or ():
            self._methods.setdefault(name, set()).add(owner)
        self._imported: set[str] = set()
        self._pending: list[tuple[Module, ast.AST, Definition | None]] = []
        self._descendants = self._subclasses()
        for module in (callers or {}).values():
            for definition in module.definitions.values():
                for body in (definition, *definition.methods.values()):
                    for node in body.bodies:
                        self._mentions(module, node, body.owner)
            for statement in module.statements:
                self._mentions(module, statement, None)
        for module in modules.values():
            for definition in module.definitions.values():
                self._register(definition)
        for root in roots:
            self._import(root)
            self._dynamic(root)
        for definition in public or ():
            self._reach(definition)
            for name, method in definition.methods.items():
                if not name.startswith("_"):
                    self._reach(method)
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
                    if name in self._attributes or self._mentioned(definition, name):
                        self._reach(method)
            if len(self.reached) == before and not self._pending:
                return

    def _register(self, definition: Definition) -> None:
        """Functions that are decorated by an object of the tree are that object's callbacks."""
        for name in definition.decorators:
            registry = self._resolve(definition.module, name.partition(".")[0])
            if isinstance(registry, Definition) and isinstance(registry.node, ast.Assign | ast.AnnAssign):
                registry.registered.append(definition)

    def _reach(self, definition: Definition) -> None:
        if definition in self.reached:
            return
        self.reached.add(definition)
        self._import(definition.module.name)
        self._pending += [(definition.module, body, definition.owner) for body in definition.bodies]
        for callback in definition.registered:
            self._reach(callback)
        for name, method in definition.methods.items():
            shown = name == "_repr_html_"  # a notebook calls it
            if shown or (name.startswith("__") and name.endswith("__")) or self._called_by_others(definition, method):
                self._reach(method)

    def _called_by_others(self, owner: Definition, method: Definition) -> bool:
        """Whether a package that is not ours calls this method: it overrides one of theirs, or they decorate it."""
        for name in method.decorators:
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
        self._pending += [(module, statement, None) for statement in module.statements]
        self._import(name.rpartition(".")[0])
        for definition in module.definitions.values():  # what another package's decorator registers
            for used in definition.decorators:
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

    def _scan(self, module: Module, tree: ast.AST, owner: Definition | None) -> None:
        local, nodes = self._mentions(module, tree, owner)
        for node in nodes:
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                self._found(self._resolve(module, node.id, local))
            elif isinstance(node, ast.Attribute) and (name := _dotted(node)):
                self._found(self._resolve(module, name, local))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in self.modules:
                self._dynamic(node.value)
            elif isinstance(node, ast.Import | ast.ImportFrom):
                for target in module.bound_by(node).values():
                    self._import(target)
                    self._import(target.rpartition(".")[0])

    def _mentions(
        self, module: Module, tree: ast.AST, owner: Definition | None
    ) -> tuple[dict[str, str], list[ast.AST]]:
        """Note the attributes that some syntax mentions; its own imports, and its nodes."""
        local: dict[str, str] = {}
        nodes = list(ast.walk(tree))
        for node in nodes:
            if isinstance(node, ast.Import | ast.ImportFrom):
                local |= module.bound_by(node)

        def resolve(where: Module, name: str) -> Definition | Module | str | None:
            return self._resolve(where, name, local if where is module else None)

        receivers = Receivers(resolve, module, nodes, owner)
        for node in nodes:
            if isinstance(node, ast.Attribute):
                name = _dotted(node)
                if name is None or resolve(module, name) is None:
                    found = receivers.class_of(node.value)
                    if found is None or self._is_protocol(found):
                        self._attributes.add(node.attr)
                    else:
                        self._methods.setdefault(node.attr, set()).add(found)
            elif isinstance(node, ast.Call) and (name := _quoted(node)):
                self._attributes.add(name)
        return local, nodes

    def _subclasses(self) -> dict[Definition, set[Definition]]:
        """Every class of the tree with all that derive from it, itself among them."""
        classes = [d for m in self.modules.values() for d in m.definitions.values() if isinstance(d.node, ast.ClassDef)]
        found: dict[Definition, set[Definition]] = {each: {each} for each in classes}
        for each in classes:
            for base in self._ancestors(each):
                found[base].add(each)
        return found

    def _ancestors(self, definition: Definition) -> Iterator[Definition]:
        for node in getattr(definition.node, "bases", []):
            name = _dotted(node.value if isinstance(node, ast.Subscript) else node)
            base = self._resolve(definition.module, name) if name else None
            if isinstance(base, Definition) and isinstance(base.node, ast.ClassDef):
                yield base
                yield from self._ancestors(base)

    def _is_protocol(self, definition: Definition) -> bool:
        """Whether objects of other classes may stand for it without deriving from it."""
        lines = [definition, *self._ancestors(definition)]
        return any("Protocol" in ast.unparse(base) for each in lines for base in getattr(each.node, "bases", []))

    def _mentioned(self, definition: Definition, name: str) -> bool:
        """Whether this method is read of an object that may be of its class."""
        below = self._descendants.get(definition, set())
        receivers = self._methods.get(name, ())
        return any(not below.isdisjoint(self._descendants.get(receiver, {receiver})) for receiver in receivers)

    def _found(self, found: Definition | Module | str | None) -> None:
        if isinstance(found, Definition):
            self._reach(found)
        elif isinstance(found, Module):
            self._import(found.name)


class Receivers:
    """Of which class of the tree an object is, where the syntax around shows it.

    Known are ``self`` and ``cls``, annotated parameters, variables that are bound once, to a call of a class or of a
    function whose annotation names one, and annotated fields and properties of what is known. None is: not known.
    """

    def __init__(
        self,
        resolve: Callable[[Module, str], Definition | Module | str | None],
        module: Module,
        nodes: list[ast.AST],
        owner: Definition | None,
    ) -> None:
        self._resolve, self._module, self._owner = resolve, module, owner
        self._bound: dict[str, list[ast.AST | None]] = {}
        """Name to what each binding of it shows of its class: an annotation, a value, or nothing."""
        self._annotations: set[ast.AST] = set()
        for node in nodes:
            self._read(node)
        first = getattr(nodes[0], "args", None)
        self._self = first.args[0].arg if owner and isinstance(first, ast.arguments) and first.args else None
        self._busy: set[ast.AST] = set()

    def class_of(self, node: ast.AST) -> Definition | None:
        """The class of an expression's value, or the class that it names."""
        if isinstance(node, ast.Name):
            return self._of_name(node.id)
        if isinstance(node, ast.Attribute):
            named = self._class(self._module, _dotted(node))
            return named or self._of_member(self.class_of(node.value), node.attr, called=False)
        if isinstance(node, ast.Call):
            return self._of_call(node.func)
        return None

    def _read(self, node: ast.AST) -> None:
        for name, value in _bindings(node):
            self._bound.setdefault(name, []).append(value)
        if isinstance(node, ast.arg | ast.AnnAssign) and node.annotation is not None:
            self._annotations.add(node.annotation)

    def _of_name(self, name: str) -> Definition | None:
        if name == self._self and len(self._bound[name]) == 1:
            return self._owner
        if name not in self._bound:
            return self._class(self._module, name)
        (value,) = self._bound[name] if len(self._bound[name]) == 1 else (None,)
        if value is None or value in self._busy:
            return None
        if value in self._annotations:
            return self._annotated(self._module, value)
        self._busy.add(value)
        try:
            return self.class_of(value) if isinstance(value, ast.Call) else None
        finally:
            self._busy.remove(value)

    def _of_call(self, function: ast.AST) -> Definition | None:
        if isinstance(function, ast.Name) and function.id == "super":
            return self._owner
        name = _dotted(function)
        if name and name.partition(".")[0] not in self._bound:
            found = self._resolve(self._module, name)
            if isinstance(found, Definition):
                return found if isinstance(found.node, ast.ClassDef) else self._returned(found, None)
        if isinstance(function, ast.Attribute):
            return self._of_member(self.class_of(function.value), function.attr, called=True)
        return None

    def _of_member(self, owner: Definition | None, name: str, *, called: bool) -> Definition | None:
        if owner is None or not isinstance(owner.node, ast.ClassDef):
            return None
        if method := owner.methods.get(name):
            is_property = bool(
                {"property", "cached_property", "functools.cached_property"}.intersection(method.decorators)
            )
            return self._returned(method, owner) if is_property != called else None
        for inner in owner.node.body:
            if isinstance(inner, ast.AnnAssign) and isinstance(inner.target, ast.Name) and inner.target.id == name:
                return self._annotated(owner.module, inner.annotation) if not called else None
        return None

    def _returned(self, function: Definition, owner: Definition | None) -> Definition | None:
        annotation = getattr(function.node, "returns", None)
        if owner is not None and isinstance(annotation, ast.Name) and annotation.id == "Self":
            return owner
        return self._annotated(function.module, annotation)

    def _annotated(self, module: Module, node: ast.AST | None) -> Definition | None:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node = ast.parse(node.value, mode="eval").body
        if isinstance(node, ast.BinOp) and isinstance(node.right, ast.Constant) and node.right.value is None:
            node = node.left
        return self._class(module, _dotted(node)) if node is not None else None

    def _class(self, module: Module, name: str | None) -> Definition | None:
        found = self._resolve(module, name) if name else None
        return found if isinstance(found, Definition) and isinstance(found.node, ast.ClassDef) else None


def _bindings(node: ast.AST) -> Iterator[tuple[str, ast.AST | None]]:
    """The names that one node binds, each with what that shows of its class: an annotation, a value, or nothing."""
    if isinstance(node, ast.arg):
        yield node.arg, node.annotation
    elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        yield node.target.id, node.annotation
    elif isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
        yield node.targets[0].id, node.value
    elif isinstance(node, ast.MatchAs | ast.MatchStar | ast.ExceptHandler) and node.name:
        yield node.name, None
    elif isinstance(node, ast.For | ast.comprehension | ast.withitem | ast.Assign | ast.AugAssign | ast.NamedExpr):
        fields = [getattr(node, name, None) for name in ("target", "optional_vars")]
        for target in (*getattr(node, "targets", ()), *(each for each in fields if each is not None)):
            yield from ((each.id, None) for each in ast.walk(target) if isinstance(each, ast.Name))


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
