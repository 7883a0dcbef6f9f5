# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What a device declares to have: a file that tbk probe writes, a vendor commits, and a run binds.

The words are tbk-run's business, which probes them and writes into the header what came of it; the
operators' dtypes are compared with the tests. Both become tests of the verdict here.
"""

from __future__ import annotations

import datetime
import json
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tbk_contracts import clause
from tbk_reports.given import read_given
from tbk_reports.model import WARNING, ResultFile, Test, with_verdict
from tbk_reports.operators import DTYPES
from tbk_reports.text import line

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

KEYS = frozenset({"device", "torch", "written", "capabilities", "operators"})
WORDS_CLAUSE, OPERATORS_CLAUSE = "CAP-501", "CAP-502"
SUITE = "torch_declared"
# What tbk-run writes about a word of the file in the header.
BROKEN, MODEST = "declared, and its probe fails", "not declared, and its probe succeeds"
_OF_OPERATOR = re.compile(r"torch_operator(?:s|_gradients)/(.+)\[(\w+)\]")
HOLDS = frozenset({"pass", WARNING, "not-shown"})

HEAD = """\
# What {device} has, as tbk probe found it on {today} with PyTorch {torch}. Correct it and
# commit it: with tbk check --capabilities it binds. What is true here and does not work is a
# failure then; what is false here and works is a note.
"""
OPERATORS_HEAD = """
# The dtypes for which each operator passes its tests. Operators that are not here promise nothing.
"""


class CapabilityError(ValueError):
    """A file that can't be taken as it stands, in one line."""


@dataclass(frozen=True)
class Declared:
    """The file's contents."""

    device: str = ""
    words: dict[str, bool] = field(default_factory=dict)
    operators: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def record(self, path: Path) -> dict[str, Any] | None:
        """Returns what of it goes into the result file; the words are in its header."""
        if not self.operators:
            return None
        listed = {name: list(dtypes) for name, dtypes in self.operators.items()}
        return {"record": "capability", "file": str(path), "operators": listed}


def _table(document: Mapping[str, Any], key: str, name: str) -> dict[str, Any]:
    table = document.get(key, {})
    if not isinstance(table, dict):
        raise CapabilityError(f"{name}: {key} must be a table")
    return table


def parse(text: str, name: str) -> Declared:
    """Reads it strictly. Whether a word is known is left to tbk-run, which knows the words."""
    try:
        document = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise CapabilityError(f"{name}: {error}") from error
    unknown = sorted(set(document) - KEYS)
    if unknown:
        raise CapabilityError(
            f"{name}: unknown key {unknown[0]!r}; there are {', '.join(sorted(KEYS))}"
        )
    words = _table(document, "capabilities", name)
    for word, held in words.items():
        if not isinstance(held, bool):
            raise CapabilityError(f"{name}: {word} must be true or false")
    operators = _table(document, "operators", name)
    for operator, dtypes in operators.items():
        if not isinstance(dtypes, list) or not all(isinstance(one, str) for one in dtypes):
            raise CapabilityError(f"{name}: {operator} must be a list of dtypes")
        odd = [dtype for dtype in dtypes if dtype not in DTYPES]
        if odd:
            raise CapabilityError(f"{name}: {operator}: {odd[0]!r} is no dtype")
    listed = {operator: tuple(dtypes) for operator, dtypes in operators.items()}
    return Declared(str(document.get("device", "")), words, listed)


def load(path: Path) -> Declared:
    """Raises CapabilityError."""
    try:
        return parse(read_given(path).decode("utf-8"), str(path))
    except OSError as error:
        raise CapabilityError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise CapabilityError(f"{path}: {error}") from error


# ------------------------------------------------------------------------------------ judging ---


def _test(name: str, clause_id: str, **members: Any) -> Test:
    stated = clause(clause_id)
    return Test(
        id=f"{SUITE}/{name}", verdict="pass", recorded="pass", suite=SUITE, clause=clause_id,
        clause_text=stated.text if stated else "", level="must", profile="torch", layer="torch",
        checks=1, **members,
    )  # fmt: skip


def _failed(test: Test, cause: str, expected: str, seen: str) -> Test:
    values = {"cause": cause, "expected": expected, "seen": seen, "blame": "backend"}
    made = Test(**{**vars(test), **values, "failures": 1, "recorded": "fail"})
    return with_verdict(made, "fail", "")


def torch_header(header: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns the header of the torch layer, also of a run over both."""
    layers = header.get("layers")
    part = layers.get("torch") if isinstance(layers, Mapping) else header
    return part if isinstance(part, Mapping) else {}


def _words(header: Mapping[str, Any]) -> tuple[list[Test], list[str]]:
    part = torch_header(header)
    torch, held = part.get("torch"), part.get("capabilities")
    if not isinstance(torch, Mapping) or not torch.get("declared") or not isinstance(held, Mapping):
        return [], []
    told = part.get("capability_notes")
    told = told if isinstance(told, Mapping) else {}
    tests, notes = [], []
    for word, declared in held.items():
        note = line(str(told.get(word) or ""), 300)
        if declared:
            test = _test(line(str(word), 60), WORDS_CLAUSE)
            if note.startswith(BROKEN):
                why = note.removeprefix(BROKEN).removeprefix(": ") or "its probe says no"
                test = _failed(test, f"declared/{word}", f"{word} works, as declared", why)
            tests.append(test)
        elif note.startswith(MODEST):
            notes.append(f"{line(str(word), 60)} works, and is not declared")
    return tests, notes


def _pair(test: Test) -> tuple[str, str] | None:
    """Operator and dtype. A test that did not end has told no facts; its name has them, too."""
    operator, dtype = test.facts.get("operator"), test.facts.get("dtype")
    if isinstance(operator, str) and isinstance(dtype, str):
        return operator, dtype
    found = _OF_OPERATOR.fullmatch(test.id)
    return (found[1], found[2]) if found else None


def _by_pair(tests: Iterable[Test]) -> dict[tuple[str, str], list[Test]]:
    found: dict[tuple[str, str], list[Test]] = {}
    for test in tests:
        pair = _pair(test)
        if pair is not None:
            found.setdefault(pair, []).append(test)
    return found


def _works(test: Test) -> bool:
    """Returns whether a test shows that it works: of an operator that the device does not offer it
    shows nothing, and does not fail."""
    return test.verdict in HOLDS and test.facts.get("served") not in ("missing", "refused")


def _operator(name: str, dtype: str, tests: list[Test]) -> Test:
    test = _test(f"{name}[{dtype}]", OPERATORS_CLAUSE)
    bad = [one for one in tests if not _works(one) and one.verdict != "left-out"]
    if not bad:
        return test
    seen = bad[0].seen or bad[0].needs_missing or str(bad[0].facts.get("served"))
    return _failed(
        test, f"declared/{name}", f"{name} works with {dtype}, as declared",
        line(f"{bad[0].id}: {bad[0].verdict}, {seen}", 300),
    )  # fmt: skip


def _operators(results: ResultFile, complete: bool) -> tuple[list[Test], list[str]]:
    """Returns each declared pair that the run has seen; one that a whole run has not seen is a
    typo."""
    listed: dict[str, Any] = {}
    for record in results.more:
        operators = record.get("operators") if record.get("record") == "capability" else None
        listed |= operators if isinstance(operators, Mapping) else {}
    pairs = _by_pair(results.tests)
    found, problems = [], []
    for name, dtypes in listed.items():
        for dtype in dtypes if isinstance(dtypes, list) else ():
            tests = pairs.get((str(name), str(dtype)))
            if tests and any(test.verdict != "left-out" for test in tests):
                found.append(_operator(str(name), str(dtype), tests))
            elif complete:
                problems.append(f"{name} is declared for {dtype}, and no test is of that")
    return found, problems


def declared(results: ResultFile, complete: bool) -> tuple[list[Test], list[str], list[str]]:
    """Returns what a file declares, as tests; problems of the file; and notes."""
    words, notes = _words(results.header)
    operators, problems = _operators(results, complete)
    return words + operators, problems, notes


# ------------------------------------------------------------------------------------ writing ---


def passing_dtypes(tests: Iterable[Test]) -> dict[str, tuple[str, ...]]:
    """For each operator the dtypes of which no test fails."""
    found: dict[str, list[str]] = {}
    for (operator, dtype), members in _by_pair(tests).items():
        passed = any(test.verdict in ("pass", WARNING) for test in members)
        if passed and all(map(_works, members)) and dtype in DTYPES:
            found.setdefault(operator, []).append(dtype)
    return {name: tuple(sorted(found[name], key=DTYPES.index)) for name in sorted(found)}


def _key(name: str) -> str:
    plain = name.replace("_", "").replace("-", "")
    return name if plain.isascii() and plain.isalnum() else json.dumps(name)


def document(
    header: Mapping[str, Any],
    operators: Mapping[str, tuple[str, ...]],
    meanings: Mapping[str, str],
    today: datetime.date,
) -> str:
    """Returns the file, from the header of a run, with what each word means beside it."""
    part = torch_header(header)
    torch, backend = part.get("torch") or {}, part.get("backend") or {}
    device = line(str(torch.get("device") or backend.get("name") or ""), 60)
    version = line(str(torch.get("version") or ""), 40)
    lines = [HEAD.format(device=device, today=today, torch=version)]
    lines.append(f"device = {json.dumps(device)}\ntorch = {json.dumps(version)}\n")
    lines.append(f"written = {today}\n\n[capabilities]\n")
    notes = part.get("capability_notes") or {}
    for word, held in (part.get("capabilities") or {}).items():
        why = line(str(notes.get(word) or ""), 120)
        said = line(meanings.get(word, ""), 100) + (f"; {why}" if why else "")
        comment = f"  # {said}" if said else ""
        lines.append(f"{_key(word)} = {'true' if held else 'false'}{comment}\n")
    if operators:
        lines.append(f"{OPERATORS_HEAD}[operators]\n")
        lines += [f"{_key(name)} = {json.dumps(list(d))}\n" for name, d in operators.items()]
    return "".join(lines)
