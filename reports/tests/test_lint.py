# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
import synthetic
from judged import hostile, judged
from tbk_reports.lint import lint_reports
from tbk_reports.model import Judged
from tbk_reports.registry import FILES
from tbk_reports.render import write_reports

RUNS = {
    "passing": judged(synthetic.passing()),
    "failing": judged(synthetic.failing()),
    "every": judged(synthetic.every_verdict()),
    "many": judged(synthetic.many()),
    "empty": judged([], problems=("no device",), exit_code=5),
    "hostile": hostile(),
    "waived": judged(synthetic.passing(), verdict="fail", exit_code=1, problems=("expired",)),
}


@pytest.fixture(scope="module")
def failing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a folder with the reports of the failing run."""
    folder = tmp_path_factory.mktemp("failing")
    write_reports(RUNS["failing"], folder)
    return folder


@pytest.fixture
def written(failing: Path, tmp_path: Path) -> Path:
    """Returns a folder with the same reports, to be changed."""
    return Path(shutil.copytree(failing, tmp_path / "written"))


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS.keys())
def test_reports_of_one_run_agree(run: Judged, tmp_path: Path) -> None:
    write_reports(run, tmp_path)
    assert lint_reports(tmp_path) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(FILES.values())


@pytest.mark.parametrize("name", ["html", "junit", "markdown", "terminal", "badge"])
def test_a_report_of_another_run_is_found(name: str, written: Path, tmp_path: Path) -> None:
    write_reports(RUNS["passing"], tmp_path / "other")
    (written / FILES[name]).write_bytes((tmp_path / "other" / FILES[name]).read_bytes())
    assert any(found.startswith(name) for found in lint_reports(written))


# One small lie in each report, which a reader might believe.
LIES = [
    ("html", 'data-verdict="crash" data-count="5"', 'data-verdict="crash" data-count="4"'),
    ("html", 'data-state="crash"', 'data-state="pass"'),
    ("html", 'data-states="hang:1 ', 'data-states="hang:2 '),
    ("html", " open>", ">"),
    ("html", 'id="cause-2"', 'id="cause-1"'),
    ("html", 'id="MEM-001"', 'id="MEM-999"'),
    ("html", 'href="#cause-1"', 'href="#cause-9"'),
    ("html", '"causes":{"cause-1":[', '"causes":{"cause-1":[0,'),
    ("html", "<title>FAIL", "<title>PASS"),
    ("html", "<title>FAIL (quick)", "<title>FAIL (thorough)"),
    ("junit", 'name="tbk.complete" value="yes"', 'name="tbk.complete" value="no"'),
    ("json", '"complete": true', '"complete": false'),
    ("json", '"tier": "quick",\n "complete"', '"tier": "thorough",\n "complete"'),
    ("html", "does not conform</h1>", "conforms</h1>"),
    ("html", '"counts":{"pass":', '"counts":{"pass":1'),
    ("html", 'data-test="memory/', 'data-test="nothing/'),
    ("junit", 'name="tbk.verdict" value="fail"', 'name="tbk.verdict" value="pass"'),
    ("junit", "<skipped", "<system-out /><ignored"),
    ("junit", 'failures="', 'failures="1'),
    ("markdown", "| crash | 5 |", "| crash | 6 |"),
    ("markdown", "FAIL (quick): ", "PASS (quick): "),
    ("markdown", "Exit code 1.", "Exit code 0."),
    ("terminal", "FAIL (quick)  ", "PASS (quick)  "),
    ("terminal", "5 crash", "4 crash"),
    ("terminal", "     test           memory/", "     test           nothing/"),
    ("json", '"exit_code": 1', '"exit_code": 0'),
    ("json", '"verdict": "fail",\n "exit_code"', '"verdict": "pass",\n "exit_code"'),
    ("json", '"crash": 5', '"crash": 4'),
    ("badge", "fails, quick", "passes, quick"),
    ("badge-json", "fails, quick", "passes, quick"),
    ("badge-json", "fails, quick", "fails, quick, simulated"),
    ("badge-json", "fails, quick", "fails, quick, partial"),
]


def _first(source: str, pattern: str) -> str:
    found = re.search(pattern, source)
    assert found
    return found[1]


@pytest.mark.parametrize("name", ["junit", "markdown"])
def test_blaming_another_test_is_found(name: str, written: Path) -> None:
    """Counts and sums stay as they are; only the names of two tests change places."""
    document = json.loads((written / FILES["json"]).read_text("utf-8"))
    tests = document["tests"]
    path = written / FILES[name]
    source = path.read_text("utf-8")
    if name == "junit":
        failing = _first(source, r'name="([^"]+)" time="[^"]+">\s*<(?:failure|error)')
    else:
        failing = _first(source, r"\n  \* `[^/`]+/([^`]+)`")
    suite = next(one["suite"] for one in tests if one["id"].endswith(f"/{failing}"))
    passing = next(
        one["id"].partition("/")[2]
        for one in tests
        if one["verdict"] == "pass" and one["suite"] == suite
    )
    swapped = {failing: passing, passing: failing}
    both = re.compile(rf"(?<=[/\"])({re.escape(failing)}|{re.escape(passing)})(?=[`\"])")
    path.write_text(both.sub(lambda one: swapped[one[1]], source), "utf-8")
    assert lint_reports(written)


@pytest.mark.parametrize(("name", "truth", "lie"), LIES)
def test_every_lie_is_found(name: str, truth: str, lie: str, written: Path) -> None:
    path = written / FILES[name]
    source = path.read_text("utf-8")
    assert truth in source
    path.write_text(source.replace(truth, lie, 1), "utf-8")
    assert lint_reports(written)


def test_a_missing_report_is_found(tmp_path: Path) -> None:
    write_reports(RUNS["passing"], tmp_path)
    (tmp_path / FILES["junit"]).unlink()
    assert lint_reports(tmp_path)
    (tmp_path / FILES["json"]).write_text(json.dumps([]))
    assert lint_reports(tmp_path)
