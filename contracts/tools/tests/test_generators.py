# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What is generated from the spec, and the package that reads it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import tbk_contracts
from generate_docs import escape
from generate_operators import SchemaError, parse_schema

TOOLS = Path(__file__).resolve().parent.parent


def run(tool: str, root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A generator as a program."""
    return subprocess.run(
        [sys.executable, str(TOOLS / tool), "--root", str(root), *arguments],
        capture_output=True,
        text=True,
        check=False,
    )


def test_pages_are_written_and_checked(checkout: Path) -> None:
    mutants = ("--mutants", str(checkout / "mutants.jsonl"))
    assert run("generate_docs.py", checkout, "--check", *mutants).returncode == 1
    assert run("generate_docs.py", checkout, *mutants).returncode == 0
    assert run("generate_docs.py", checkout, "--check", *mutants).returncode == 0
    page = (checkout / "docs/reference/clauses.md").read_text()
    row = next(line for line in page.splitlines() if 'id="mem-003"' in line)
    assert "`memory/it_gives_memory`" in row
    assert row.endswith("| 3 |")
    assert "| **all** | 7 | 4 | 5 | 1 | 1 | 5 |" in page
    assert "## mm" in (checkout / "docs/reference/operators.md").read_text()


def test_clauses_c_holds_the_c_layer(checkout: Path) -> None:
    target = checkout / "contracts/tests/generated/clauses.c"
    target.unlink()
    assert run("generate_clauses.py", checkout / "contracts", "--check").returncode == 1
    assert run("generate_clauses.py", checkout / "contracts").returncode == 0
    text = target.read_text()
    assert '{"MEM-001", "memory", "must", "core", "checked",' in text
    assert "MEM-501" not in text


def test_the_digest_follows_the_words_of_the_c_layer(checkout: Path) -> None:
    def digest() -> str:
        return tbk_contracts.spec_digest(tbk_contracts.load_clauses(checkout / "contracts"))

    before = digest()
    torch = checkout / "contracts/spec/torch/memory.yml"
    torch.write_text(torch.read_text().replace("current", "other"))
    assert digest() == before
    header = checkout / "contracts/include/tbk/core.h"
    header.write_text(header.read_text().replace("is there", "is here"))
    assert digest() != before


def test_the_package_finds_what_belongs_to_a_clause() -> None:
    clause = tbk_contracts.clause("MEM-005")
    assert clause is not None
    assert clause.functions == ("memory_alloc",)
    assert [line.label for line in tbk_contracts.header_lines("MEM-005")] == [clause.line]
    tests = tbk_contracts.tests_of("MEM-005")
    assert tests
    assert {row.clause for row in tests} == {"MEM-005"}
    assert tbk_contracts.clause("MEM-000") is None
    assert tbk_contracts.tests_of("MEM-000") == []


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("*out <= b_c | d", r"\*out &lt;= b\_c &#124; d"),
        ("`a_b` and a_b", r"`a_b` and a\_b"),
    ],
)
def test_text_is_inert_in_a_table(text: str, shown: str) -> None:
    assert escape(text) == shown


def test_a_schema_becomes_members() -> None:
    operator = parse_schema("sum.x(Tensor self, int[1]? dim, *, ScalarType? dtype=None) -> Tensor")
    assert operator.identifier == "sum_x"
    assert [member.c_type for member in operator.members] == [
        "const tbk_tensor_t*",
        "const tbk_int_list_t*",
        "const int64_t*",
        "const tbk_tensor_t*",
    ]


@pytest.mark.parametrize("schema", ["no schema", "f(Storage s) -> Tensor", "f(Tensor) -> Tensor"])
def test_a_schema_that_is_not_understood_is_refused(schema: str) -> None:
    with pytest.raises(SchemaError):
        parse_schema(schema)
