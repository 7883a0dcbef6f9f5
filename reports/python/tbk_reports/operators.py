# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Who serves each operator for each dtype, and which operators to write next."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

from . import text
from .model import VERDICTS, Test
from .words import missing_operator

# Worst first: what several tests of one operator and dtype amount to.
SERVED = ("missing", "refused", "fallback", "composite", "composed", "generic", "named", "native")
ON_DEVICE = ("composed", "generic", "named", "native")  # by itself, with no help of PyTorch's
SERVED_MEANING = {
    "native": "a kernel of the device, which does not tell of what kind",
    "named": "a kernel of the device that has the operator's name",
    "generic": "a kernel of the device that takes programs",
    "composed": "several kernels of the device, one after the other",
    "composite": "PyTorch makes it of other operators",
    "fallback": "PyTorch's cpu computes it, with copies there and back",
    "refused": "the device says that it has none for this dtype",
    "missing": "nothing serves it",
}
# All differ.
LETTERS = {
    "native": "N", "named": "K", "generic": "G", "composed": "S", "composite": "C", "fallback": "F",
    "refused": "R", "missing": "M",
}  # fmt: skip
DTYPES = (
    "float32", "float16", "bfloat16", "float64", "complex64", "complex128",
    "int64", "int32", "int16", "int8", "uint8", "bool",
)  # fmt: skip
WAITING = ("missing", "refused")  # a test ends there
NEXT = 10
_ODD = re.compile(r"[^A-Za-z0-9_.]")


@dataclass(frozen=True)
class Cell:
    """One operator with one dtype."""

    served: str
    rank: int = len(VERDICTS)  # that of the worst verdict of its failures
    test: str = ""  # the id of the test that fails so; empty where none does

    @property
    def fails(self) -> bool:
        return bool(self.test)

    @property
    def letter(self) -> str:
        return LETTERS[self.served]

    @property
    def code(self) -> str:
        return f"{self.served}!" if self.fails else self.served


@dataclass(frozen=True)
class Row:
    name: str
    cells: dict[str, Cell]

    @property
    def served(self) -> tuple[str, ...]:
        found = {cell.served for cell in self.cells.values()}
        return tuple(name for name in SERVED if name in found)

    @property
    def failing(self) -> int:
        return sum(cell.fails for cell in self.cells.values())

    @property
    def worst(self) -> tuple[int, int, str]:
        """Returns what rows are ordered by: most failures first, then how they are served."""
        return (-self.failing, min(SERVED.index(name) for name in self.served), self.name)

    @property
    def code(self) -> str:
        """Returns all of it in one word a dtype, for machines."""
        return " ".join(f"{dtype}:{cell.code}" for dtype, cell in self.cells.items())


@dataclass
class Next:
    """An operator worth writing, and what that would unlock."""

    name: str
    served: str  # missing, refused or fallback
    checks: int = 0
    tests: int = 0
    calls: int = 0
    """How often the user's own script calls it, where that was traced."""
    dtypes: set[str] = field(default_factory=set)

    @property
    def words(self) -> str:
        gain = text.count_words(self.checks, "check")
        dtypes = f" ({', '.join(_in_order(self.dtypes))})" if self.dtypes else ""
        tests = text.count_words(self.tests, "test")
        if self.calls:
            dtypes += f"; your script calls it {text.count_words(self.calls, 'time')}"
        if self.served == "fallback":
            return f"{gain} in {tests} run on PyTorch's cpu instead{dtypes}"
        return f"{gain} in {tests} wait for it: it is {self.served}{dtypes}"


@dataclass(frozen=True)
class Operators:
    dtypes: tuple[str, ...]
    rows: tuple[Row, ...]
    next: tuple[Next, ...]

    def __bool__(self) -> bool:
        return bool(self.rows or self.next)

    @property
    def served(self) -> dict[str, int]:
        """Returns how many pairs of operator and dtype are served in each way, the best first."""
        found = [cell.served for row in self.rows for cell in row.cells.values()]
        return {name: found.count(name) for name in reversed(SERVED) if name in found}

    @property
    def worst_first(self) -> tuple[Row, ...]:
        return tuple(sorted(self.rows, key=lambda row: row.worst))

    @property
    def native(self) -> dict[str, tuple[int, int]]:
        """Returns for each dtype how many operators the device computes by itself, by whatever
        kernels, and of how many that is known."""
        shares = {}
        for dtype in self.dtypes:
            found = [row.cells[dtype].served for row in self.rows if dtype in row.cells]
            shares[dtype] = (sum(how in ON_DEVICE for how in found), len(found))
        return shares


def percent(part: int, whole: int) -> str:
    """Returns a share in words: neither "0 %" nor "100 %" where it is not quite that."""
    if part in (0, whole):
        return f"{100 * part // max(whole, 1)} %"
    return f"{min(max(round(100 * part / whole), 1), 99)} %"


def _in_order(names: Iterable[str]) -> list[str]:
    return sorted(names, key=lambda name: (DTYPES.index(name) if name in DTYPES else 99, name))


def _name(test: Test, member: str) -> str:
    """A plain name, whatever the record says: it stands in every report."""
    value = test.facts.get(member)
    return _ODD.sub("_", value)[:80] if isinstance(value, str) else ""


def _served(test: Test) -> str:
    served = test.facts.get("served")
    return served if isinstance(served, str) and served in SERVED else ""


def _cells(tests: Iterable[Test]) -> dict[str, dict[str, Cell]]:
    found: dict[str, dict[str, Cell]] = {}
    for test in tests:
        name, dtype, served = _name(test, "operator"), _name(test, "dtype") or "-", _served(test)
        if not name or not served:
            continue
        row = found.setdefault(name, {})
        before = row.get(dtype, Cell("native"))
        worst = min(served, before.served, key=SERVED.index)
        row[dtype] = Cell(worst, *_worse_failure(before, test))
    return found


def _worse_failure(cell: Cell, test: Test) -> tuple[int, str]:
    """Returns rank and id of the worst failure, of those before and the test."""
    if not (test.failed or test.verdict == "xfail"):
        return cell.rank, cell.test
    return min((cell.rank, cell.test), (VERDICTS.index(test.verdict), test.id), key=itemgetter(0))


def _base(name: object) -> str:
    """add of aten::add.out: kernels are written for all overloads together."""
    plain = str(name).removeprefix("aten::").partition(".")[0]
    return _ODD.sub("_", plain)[:80]


def lacked(test: Test) -> tuple[tuple[str, ...], str]:
    """Returns the operators without which this test does not pass, or not natively; how they are
    served."""
    if test.failed or test.verdict == "xfail":
        missing = missing_operator(test)
        if missing:
            return (_base(missing),), "missing"
    served = _served(test)
    if served == "fallback":
        named = test.facts.get("fell_back")
    else:  # gradients and exact sums tell what is missing, and not who serves the operator
        named = test.facts.get("missing")
        if not named and served not in WAITING:
            return (), ""
        served = served if served in WAITING else "missing"
    listed = named if isinstance(named, list) else [named] if named else []
    names = tuple(dict.fromkeys(_base(name) for name in listed[:20] if name))
    return names or (_name(test, "operator"),), served


def _checks(test: Test) -> int:
    """A test that ends where an operator is missing would have made more; it says how many wait."""
    waiting = test.facts.get("waiting")
    return max(waiting if isinstance(waiting, int) else 0, test.checks, 1)


def _next(tests: Iterable[Test], trace: Mapping[str, int]) -> tuple[Next, ...]:
    """What a traced script calls comes first, by its calls; then what unlocks most."""
    found: dict[str, Next] = {}
    for test in tests:
        names, served = lacked(test)
        for name in filter(None, names):
            entry = found.setdefault(name, Next(name, served))
            entry.served = min(served, entry.served, key=SERVED.index)
            entry.checks += _checks(test)
            entry.tests += 1
            if dtype := _name(test, "dtype"):
                entry.dtypes.add(dtype)
    for entry in found.values():
        entry.calls = trace.get(entry.name, 0)
    ranked = sorted(found.values(), key=lambda one: (-one.calls, -one.checks, -one.tests, one.name))
    return tuple(ranked[:NEXT])


def operators(tests: Iterable[Test], trace: Mapping[str, int] | None = None) -> Operators:
    """Returns the matrix, and the ten that unlock most; empty where no test says what it used.
    `trace` has the calls that a script makes of operators, by name; these come first."""
    tests = tuple(tests)
    cells = _cells(tests)
    dtypes = tuple(_in_order({dtype for row in cells.values() for dtype in row}))
    rows = tuple(
        Row(name, {dtype: cells[name][dtype] for dtype in dtypes if dtype in cells[name]})
        for name in sorted(cells)
    )
    return Operators(dtypes, rows, _next(tests, trace or {}))


def operator_document(found: Operators) -> dict[str, Any]:
    """Returns the same for machines; a "!" marks a pair of which a test fails."""
    return {
        "dtypes": list(found.dtypes),
        "served": found.served,
        "native": {dtype: list(share) for dtype, share in found.native.items()},
        "rows": {row.name: {d: cell.code for d, cell in row.cells.items()} for row in found.rows},
        "next": [
            {
                "operator": one.name,
                "served": one.served,
                "checks": one.checks,
                "tests": one.tests,
                "calls": one.calls,
            }
            for one in found.next
        ],
    }
