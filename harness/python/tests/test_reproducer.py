# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Failed tests as files that run alone. harness/tests runs some of them; here nothing is run."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
import synthetic
import tbk_contracts
from tbk_contracts.torch_rows import torch_tests
from tbk_harness import reproducer
from tbk_harness.excerpt import Excerpt, ExcerptError
from tbk_reports.html import render_html
from tbk_reports.model import Judged, Test, read_record
from tbk_reports.terminal import render_terminal

TORCH = Path(tbk_contracts.__file__).resolve().parent / "torch"
HEADER = {"torch": {"device": "acme", "imports": ["acme_torch"]}, "seed": 5, "command": []}
NAME = "torch_copy/a_round_trip_keeps_every_bit[float32]"


def _failed(name: str = NAME, **changes: str | dict[str, str]) -> Test:
    record = {"id": name, "verdict": "fail", "layer": "torch", "phase": "body", "clause": "CPY-501",
              "blame": "backend", "seen": "0"}  # fmt: skip
    return read_record({**record, **changes})


def _judged(*tests: Test) -> Judged:
    return Judged({**synthetic.header(1), **HEADER}, {}, tests, "fail", 1)


def test_most_tests_of_the_torch_layer_can_be_taken_out_of_the_suite() -> None:
    names = sorted({(one.file, one.name) for one in torch_tests(TORCH, TORCH)})[::7]
    made = []
    for file, name in names:
        suite = f"torch_{Path(file).stem.removeprefix('test_')}"
        text = reproducer.alone(_failed(f"{suite}/{name.removeprefix('test_')}"), HEADER)
        ast.parse(text)
        made.append(bool(text))
    assert sum(made) > 0.9 * len(names)


def test_an_excerpt_has_what_a_test_reaches_and_no_more() -> None:
    excerpt = Excerpt(TORCH)
    excerpt.need_test("tbk_contracts.torch.test_copy", "test_a_round_trip_keeps_every_bit")
    text = {name.rpartition(".")[2]: one.text() for name, one in excerpt.modules.items()}
    assert "def random_bits" in text["test_copy"]
    assert "test_a_copy_writes_nothing_else" not in text["test_copy"]
    assert "import itertools" not in text["test_copy"]
    assert "def poisoned" not in text["host"]
    assert "order" not in text


def test_what_reads_other_files_is_not_said_to_run_alone() -> None:
    with pytest.raises(ExcerptError, match="reads files"):
        Excerpt(TORCH).need_all("tbk_contracts.torch.operators.table")
    assert reproducer.alone(_failed("torch_operators/cos[float32]"), HEADER) == ""


@pytest.mark.parametrize(
    "changes",
    [{"layer": "c"}, {"phase": "clean"}, {"blame": "suite"}, {"verdict": "poisoned"},
     {"verdict": "pass"}, {"verdict": "not-reached"}],
)  # fmt: skip
def test_only_what_fails_by_itself_has_a_file(changes: dict[str, str]) -> None:
    assert reproducer.can_be_alone(_failed())
    assert not reproducer.can_be_alone(_failed(**changes))


def test_the_reports_name_the_file(tmp_path: Path) -> None:
    (tmp_path / reproducer.FOLDER).mkdir()
    old = tmp_path / reproducer.FOLDER / "torch_old-x.py"
    old.touch()
    judged = reproducer.write(_judged(_failed(), _failed("torch_none/such[1]")), tmp_path)
    named = judged.tests[0].alone
    assert not old.exists()
    assert [path.name for path in (tmp_path / reproducer.FOLDER).iterdir()] == [Path(named).name]
    assert judged.tests[1].alone == ""
    assert f'href="{named}"' in render_html(judged)
    assert f"python {named}" in render_terminal(judged)


def test_what_a_result_file_says_is_never_code() -> None:
    evil = "x\nimport os; os.abort()\n'''"
    header = {
        "torch": {"device": evil, "imports": ["a; import os", "good.name"]},
        "command": ["--torch-library=x"],
        "backend": {"path": evil, "options": evil},
    }
    text = reproducer.alone(_failed(seen=evil, expected=evil, clause=evil), header)
    names = {one.name for node in ast.parse(text).body if isinstance(node, ast.Import)
             for one in node.names}  # fmt: skip
    assert "abort" not in names
    stated = {node.targets[0].id: ast.literal_eval(node.value) for node in ast.parse(text).body
              if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
              and isinstance(node.value, ast.Constant)}  # fmt: skip
    assert stated["DEVICE"] == evil
    assert stated["START"].splitlines()[-1] == "import good.name"
    assert "a; import os" not in stated["START"]
    assert not any(
        isinstance(node, ast.Attribute) and node.attr == "abort"
        for node in ast.walk(ast.parse(text))
    )


def test_no_other_file_is_linked() -> None:
    test = _failed(facts={"alone": "../../etc/passwd"})
    assert "etc/passwd" not in render_html(_judged(test))
