# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The rows of the contract tests in C: which test cites which clause."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tbk_contracts.places import contracts_root

_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_SUITE = re.compile(r"\bTBK_SUITE\s*\(\s*(\w+)\s*\)")
_ROW = re.compile(
    r"\bTBK_CASE\s*\(\s*(?P<clause>\"[^\"]*\"|\w+)\s*,\s*"
    r"(?P<needs>NULL|(?:\"[^\"]*\"\s*)+)\s*,\s*(?P<flags>[^,()]*?)\s*,\s*(?P<name>\w+)\s*\)"
)


@dataclass(frozen=True)
class Row:
    """One row: a test function, the clause it cites and what it needs."""

    clause: str
    needs: str | None
    flags: str
    name: str
    suite: str
    file: str
    number: int

    @property
    def id(self) -> str:
        """Returns the name of the test in a run."""
        return f"{self.suite}/{self.name}"


def _blank(found: re.Match[str]) -> str:
    """Comments become blanks, and line numbers stay."""
    return re.sub(r"[^\n]", " ", found[0])


def parse_rows(text: str, file: str) -> list[Row]:
    """Returns the rows of one test file."""
    plain = _COMMENT.sub(_blank, text)
    suite = _SUITE.search(plain)
    name = suite[1] if suite else Path(file).stem.removesuffix("_test")
    rows = []
    for found in _ROW.finditer(plain):
        needs = (
            None if found["needs"] == "NULL" else "".join(re.findall(r'"([^"]*)"', found["needs"]))
        )
        number = plain.count("\n", 0, found.start()) + 1
        clause = found["clause"].strip('"')
        rows.append(Row(clause, needs, found["flags"], found["name"], name, file, number))
    return rows


def load_rows(root: Path) -> list[Row]:
    """Returns the rows of all test files under `root` (contracts/)."""
    found = []
    for path in sorted((root / "tests").rglob("*_test.c")):
        text = path.read_text(encoding="utf-8")
        found += parse_rows(text, path.relative_to(root).as_posix())
    return found


@cache
def _packaged() -> Mapping[str, list[Row]]:
    by_clause: dict[str, list[Row]] = {}
    for row in load_rows(contracts_root()):
        by_clause.setdefault(row.clause, []).append(row)
    return by_clause


def tests_of(clause_id: str) -> list[Row]:
    """Returns the tests that cite this clause."""
    return list(_packaged().get(clause_id, ()))
