# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The torch layer as the checker reads it: tests, capability words and mutants, and what is wrong.

Nothing is imported: PyTorch need not be there.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tbk_contracts import Clause
from tbk_contracts.torch_rows import (
    TorchMutant,
    TorchTest,
    parse_file,
    torch_mutants,
    torch_tests,
)

TESTS = Path("contracts") / "python" / "tbk_contracts" / "torch"
MUTANTS = Path("bridge") / "tests" / "mutants" / "tbk_torch_mutants"
BACKENDS = (
    "ascend", "cuda", "hip", "mps", "npu", "openreg", "rocm", "tbk_cpu", "tbk_template", "xpu",
)  # fmt: skip


@dataclass
class TorchWorld:
    """What there is of the torch layer under a checkout."""

    tests: list[TorchTest] = field(default_factory=list)
    mutants: list[TorchMutant] = field(default_factory=list)
    words: set[str] = field(default_factory=set)
    named: list[str] = field(default_factory=list)  # places where a test names a backend


def load_torch(root: Path) -> TorchWorld:
    """Read it."""
    world = TorchWorld()
    capability = root / TESTS / "capability.py"
    if capability.exists():
        world.words = read_words(
            parse_file(capability), parse_file(capability.with_name("case.py"))
        )
    for path in sorted((root / TESTS).glob("test_*.py")):
        world.named += read_names(parse_file(path), path.relative_to(root).as_posix())
    world.tests += torch_tests(root / TESTS, root)
    world.mutants += torch_mutants(root / MUTANTS, root)
    return world


def read_names(tree: ast.Module, file: str) -> Iterator[str]:
    """Strings and names of the code in which a backend's name stands."""
    pattern = re.compile(rf"\b({'|'.join(BACKENDS)})\b", re.IGNORECASE)
    documented = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, (ast.Module, ast.FunctionDef, ast.ClassDef))
        and node.body and isinstance(node.body[0], ast.Expr)
    }  # fmt: skip
    for node in ast.walk(tree):
        word = ""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            word = "" if id(node) in documented else node.value
        elif isinstance(node, (ast.Attribute, ast.Name)):
            word = node.attr if isinstance(node, ast.Attribute) else node.id
        for found in pattern.findall(word):
            yield f"{file}:{getattr(node, 'lineno', 0)}: names the backend {found}"


def read_words(capability: ast.Module, case: ast.Module) -> set[str]:
    """The keys of WORDS, and a word for each dtype."""
    dtypes: set[str] = set()
    for node in case.body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "DTYPES":
            dtypes = set(ast.literal_eval(node.value))
    for node in capability.body:
        if isinstance(node, ast.AnnAssign) and getattr(node.target, "id", "") == "WORDS":
            table = node.value
            keys = table.keys if isinstance(table, ast.Dict) else []
            plain = {key.value for key in keys if isinstance(key, ast.Constant)}
            return {str(word) for word in plain} | {f"dtype:{name}" for name in dtypes}
    return set()


def torch_clauses(clauses: list[Clause]) -> list[Clause]:
    """Those that only PyTorch shows."""
    return [one for one in clauses if "torch" in one.layer and "c" not in one.layer]


def tests_faults(world: TorchWorld, clauses: list[Clause]) -> Iterator[str]:
    """Each test cites a checked clause of the layer, stands once, and needs known words."""
    known = {one.id: one for one in clauses}
    for (file, name), count in Counter((one.file, one.name) for one in world.tests).items():
        if count > 1:
            yield f"{file}: {name} is there {count} times: pytest runs the last one"
    for test in world.tests:
        place = f"{test.file}:{test.number}: {test.name}"
        for clause in test.clauses:
            said = _no_citation(known.get(clause))
            if said:
                yield f"{place} cites {clause}, which {said}"
        for word in test.needs.split():
            if word.removeprefix("!") not in world.words:
                yield f"{place} needs {word}, which capability.py does not know"
    yield from world.named


def _no_citation(clause: Clause | None) -> str:
    if clause is None:
        return "is not in the spec"
    if "torch" not in clause.layer:
        return "cannot be seen at the torch layer"
    return "" if clause.kind == "checked" else f"is {clause.kind}"


def cited_faults(world: TorchWorld, clauses: list[Clause]) -> Iterator[str]:
    """Each checked clause of the layer is cited by a test."""
    cited = {clause for test in world.tests for clause in test.clauses}
    for clause in torch_clauses(clauses):
        if clause.kind == "checked" and clause.id not in cited:
            yield f"{clause.file}: {clause.id} is checked, and no test cites it"


def mutants_faults(world: TorchWorld, clauses: list[Clause]) -> Iterator[str]:
    """Each checked `must` clause of the layer can be seen to fail; each mutant breaks a clause."""
    known = {one.id: one for one in clauses}
    for name, count in Counter(one.name for one in world.mutants).items():
        if count > 1:
            yield f"mutant {name} stands {count} times in the tables of the torch layer"
    broken = set()
    for mutant in world.mutants:
        for clause in mutant.clauses:
            broken.add(clause)
            if clause not in known or "torch" not in known[clause].layer:
                yield (f"{mutant.file}:{mutant.number}: {mutant.name} breaks {clause}, "
                       "which is no clause of the torch layer")  # fmt: skip
            elif known[clause].kind != "checked":
                yield (f"{mutant.file}:{mutant.number}: {mutant.name} breaks {clause}, "
                       f"which is {known[clause].kind}")  # fmt: skip
    for one in torch_clauses(clauses):
        if one.checked_must and one.id not in broken:
            yield f"{one.file}: {one.id} has no mutant"
