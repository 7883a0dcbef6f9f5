# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What a test of the torch layer stands on: of each module the statements that it reaches, found by
their syntax alone."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

PACKAGE = "tbk_contracts.torch"
# A module named in a string would be imported by other ways than can be seen here.
_HIDDEN = re.compile(r"\btbk_(?:contracts|harness|reports)\b")


class ExcerptError(ValueError):
    """What is reached cannot all be found."""


def _bound(statement: ast.stmt) -> set[str]:
    """Returns names that a top-level statement gives a meaning to."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {statement.name}
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return {(one.asname or one.name).partition(".")[0] for one in statement.names}
    return {
        node.id
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


@functools.cache
def _parsed(path: Path) -> tuple[list[str], list[ast.stmt], list[set[str]]]:
    """Lines and statements of a file, and the names that each statement binds: the files for all
    failures of a run are made of the same modules."""
    text = path.read_text("utf-8")
    body = ast.parse(text, str(path)).body
    return text.splitlines(), body, [_bound(one) for one in body]


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _decorators(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, ast.FunctionDef):
        yield from map(ast.unparse, statement.decorator_list)


def _always(statement: ast.stmt) -> bool:
    """Returns whether it acts where it stands, or is a fixture that all tests of the file have."""
    if isinstance(statement, ast.ImportFrom) and statement.module == "__future__":
        return True
    if any("fixture" in one and "autouse=True" in one for one in _decorators(statement)):
        return True
    return not _is_text(statement) and isinstance(
        statement, ast.Expr | ast.If | ast.For | ast.With | ast.Try | ast.AugAssign
    )


@dataclass
class Module:
    """One file, and which of its statements are reached."""

    name: str
    path: Path
    lines: list[str]
    body: list[ast.stmt]
    bound: list[set[str]]  # names that each of its statements gives a meaning to
    kept: set[int] = field(default_factory=set)
    used: set[str] = field(default_factory=set)  # of the names that it binds

    @property
    def is_package(self) -> bool:
        return self.path.name == "__init__.py"

    def binding(self, name: str) -> list[int]:
        return [at for at, names in enumerate(self.bound) if name in names]

    def text(self) -> str:
        """Returns the statements that are kept, in their order, with the comments above them."""
        parts, before = [], 0
        for at, statement in enumerate(self.body):
            end = statement.end_lineno or statement.lineno
            if at in self.kept:
                gap = "\n\n" if isinstance(statement, ast.FunctionDef | ast.ClassDef) else ""
                parts.append(gap + self._source(statement, before, end))
            before = end
        return "\n".join(parts).strip("\n") + "\n"

    def _source(self, statement: ast.stmt, before: int, end: int) -> str:
        if isinstance(statement, ast.Import | ast.ImportFrom) and not self._is_future(statement):
            names = [one for one in statement.names if self._is_used(one)]
            shorter = ast.parse(ast.unparse(statement)).body[0]
            assert isinstance(shorter, ast.Import | ast.ImportFrom)  # noqa: S101
            shorter.names = names
            return ast.unparse(shorter)
        first = min([statement.lineno, *(one.lineno for one in _marks(statement))]) - 1
        while first > before and self.lines[first - 1].startswith("#"):
            first -= 1
        return "\n".join(self.lines[first:end])

    @staticmethod
    def _is_future(statement: ast.stmt) -> bool:
        return isinstance(statement, ast.ImportFrom) and statement.module == "__future__"

    def _is_used(self, alias: ast.alias) -> bool:
        return (alias.asname or alias.name).partition(".")[0] in self.used


def _marks(statement: ast.stmt) -> list[ast.expr]:
    return list(getattr(statement, "decorator_list", []))


class Excerpt:
    """The modules of the contract tests that a test reaches, and what of each."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.modules: dict[str, Module] = {}

    def need(self, name: str, member: str) -> None:
        """Keeps what gives `member` of the module `name` its meaning, and all that it stands on."""
        module = self._module(name)
        if member in module.used:
            return
        module.used.add(member)
        found = module.binding(member)
        if not found and not self._is_module(f"{name}.{member}"):
            raise ExcerptError(f"{name} has no {member}")
        for at in found:
            self._keep(module, at)

    def need_all(self, name: str) -> None:
        """Keeps the whole module."""
        module = self._module(name)
        for member in chain.from_iterable(module.bound):
            self.need(name, member)

    def need_test(self, name: str, function: str) -> None:
        """Keeps a test; of a file that makes its tests by a loop, all."""
        if function in {getattr(one, "name", "") for one in self._module(name).body}:
            self.need(name, function)
        else:
            self.need_all(name)

    def _path(self, name: str) -> Path | None:
        if name != PACKAGE and not name.startswith(f"{PACKAGE}."):
            return None
        base = self._folder.joinpath(*name.removeprefix(PACKAGE).split("."))
        return next(
            (p for p in (base / "__init__.py", base.with_suffix(".py")) if p.is_file()), None
        )

    def _is_module(self, name: str) -> bool:
        return self._path(name) is not None

    def _module(self, name: str) -> Module:
        if name not in self.modules:
            path = self._path(name)
            if path is None:
                raise ExcerptError(f"there is no {name}")
            lines, body, bound = _parsed(path)
            made = self.modules[name] = Module(name, path, lines, body, bound)
            for at, statement in enumerate(made.body):
                if _always(statement):
                    self._keep(made, at)
        return self.modules[name]

    def _keep(self, module: Module, at: int) -> None:
        if at in module.kept:
            self._take_import(module, module.body[at])
            return
        module.kept.add(at)
        statement = module.body[at]
        self._take_import(module, statement)
        inner = [node for node in ast.walk(statement) if node is not statement]
        for node in inner:
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                self._refuse_hidden(node.value, module)
            if isinstance(node, ast.Call) and "__file__" in map(ast.unparse, node.args):
                raise ExcerptError(f"{module.name} reads files beside it")
            if isinstance(node, ast.Import | ast.ImportFrom):
                self._take_inner_import(node, inner)
        top = set().union(*module.bound)
        for name in self._names(module, inner) & top:
            self.need(module.name, name)
            self._take_members(module, name, inner)

    @staticmethod
    def _refuse_hidden(text: str, module: Module) -> None:
        if "\n" not in text.strip() and " " not in text and _HIDDEN.search(text):
            raise ExcerptError(f"{module.name} names {text} in a string")

    @staticmethod
    def _names(module: Module, nodes: Iterable[ast.AST]) -> set[str]:
        """Returns names that are read, and fixtures of the file that are asked for."""
        fixtures = {
            one.name
            for one in module.body
            if isinstance(one, ast.FunctionDef) and any("fixture" in d for d in _decorators(one))
        }
        found = {node.id for node in nodes if isinstance(node, ast.Name)}
        return found | {node.arg for node in nodes if isinstance(node, ast.arg)} & fixtures

    def _imported(self, statement: ast.stmt) -> Iterator[tuple[str, str, str]]:
        """(as, module, member) of names from our package; no member: the module itself."""
        if not isinstance(statement, ast.ImportFrom) or not statement.module:
            return
        ours = statement.module == PACKAGE or statement.module.startswith(f"{PACKAGE}.")
        for one in statement.names if ours else ():
            whole = f"{statement.module}.{one.name}"
            if self._is_module(whole):
                yield one.asname or one.name, whole, ""
            else:
                yield one.asname or one.name, statement.module, one.name

    def _take_import(self, module: Module, statement: ast.stmt) -> None:
        self._refuse_foreign(statement)
        for name, source, member in self._imported(statement):
            if name in module.used and member:
                self.need(source, member)
            elif name in module.used:
                self._module(source)

    @staticmethod
    def _refuse_foreign(statement: ast.AST) -> None:
        named = [one.name for one in statement.names] if isinstance(statement, ast.Import) else []
        if isinstance(statement, ast.ImportFrom):
            named = [statement.module or "."]
        for name in named:
            if _HIDDEN.match(name) and name != PACKAGE and not name.startswith(f"{PACKAGE}."):
                raise ExcerptError(f"{name} is imported")

    def _take_inner_import(
        self, statement: ast.Import | ast.ImportFrom, nodes: list[ast.AST]
    ) -> None:
        """An import inside of a function: with all that is used of it there."""
        self._refuse_foreign(statement)
        for name, source, member in self._imported(statement):
            if member:
                self.need(source, member)
            else:
                self._take_attributes(source, name, nodes)

    def _take_members(self, module: Module, name: str, nodes: list[ast.AST]) -> None:
        """Of a name that is a module of ours, the attributes that are read."""
        for at in module.binding(name):
            for bound, source, member in self._imported(module.body[at]):
                if bound == name and not member:
                    self._take_attributes(source, name, nodes)

    def _take_attributes(self, source: str, name: str, nodes: list[ast.AST]) -> None:
        self._module(source)
        reads = [node for node in nodes if isinstance(node, ast.Name) and node.id == name]
        members = [
            node.attr
            for node in nodes
            if isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id == name
        ]
        for member in members:
            self.need(source, member)
        if len(members) < len(reads):  # it is handed on as a whole
            self.need_all(source)
