# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""tbk init: what it writes is what the systems take, and is red for what is new alone."""

from __future__ import annotations

import datetime
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import dekobon_tree_sitter_groovy
import pytest
import synthetic
import tree_sitter
from invoke import STAND_IN, Tbk
from tbk_harness import baseline, ci_files
from tbk_harness.ci_files import InitError, Wish
from tbk_harness.judge import Known, judge
from tbk_reports.model import read_results

TODAY = datetime.date(2026, 3, 1)
SCHEMAS = {
    "vendor.github-workflows": [
        ("github", ".github/workflows/tbk.yml"),
        ("pytorch-ci", ".github/workflows/tbk-pytorch.yml"),
    ],
    "vendor.gitlab-ci": [("gitlab", "ci/tbk.gitlab-ci.yml"), ("gitlab", ".gitlab-ci.yml")],
    "vendor.buildkite": [("buildkite", ".buildkite/tbk.yml")],
}
WISHES = (
    Wish(library="build/libacme.so"),
    Wish(device="acme", imports=("torch_acme",), runner="self-hosted,acme", shards=3),
)


def _written(folder: Path, system: str, wish: Wish) -> Path:
    folder.mkdir(parents=True)
    ci_files.write(system, wish, folder)
    return folder


@pytest.mark.parametrize("schema", SCHEMAS)
def test_what_is_written_fits_the_published_schema(schema: str, tmp_path: Path) -> None:
    paths = [
        str(_written(tmp_path / f"{at}-{number}", system, wish) / path)
        for at, wish in enumerate(WISHES)
        for number, (system, path) in enumerate(SCHEMAS[schema])
    ]
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, *paths]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_the_jenkinsfile_is_groovy_with_all_stages(tmp_path: Path) -> None:
    parser = tree_sitter.Parser(tree_sitter.Language(dekobon_tree_sitter_groovy.language()))
    for at, wish in enumerate(WISHES):
        text = (_written(tmp_path / str(at), "jenkins", wish) / "ci/tbk.Jenkinsfile").read_bytes()
        assert not parser.parse(text).root_node.has_error
        assert parser.parse(text[:-3]).root_node.has_error  # it would notice
        assert text.count(b"stage('") == (4 if wish.shards > 1 else 2)


@pytest.mark.parametrize("wish", WISHES, ids=["library", "device"])
@pytest.mark.parametrize("system", ci_files.SYSTEMS)
def test_no_mark_of_a_template_is_left_and_bash_reads_the_script(
    system: str, wish: Wish, tmp_path: Path
) -> None:
    files = ci_files.rendered(system, wish, tmp_path)
    assert not [path for path, text in files.items() if "<@" in text or "{%" in text]
    subprocess.run(["bash", "-n"], input=files["ci/tbk.sh"], text=True, check=True)
    shards = f"/{wish.shards}"
    if system not in ("shell", "gitlab", "buildkite", "pytorch-ci") and wish.shards > 1:
        assert any(shards in text for path, text in files.items() if path != "ci/tbk.sh")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("github",), "--library PATH, or --device NAME"),
        (("githbu",), "did you mean github"),
        (("shell", "--library", "a.so", "--device", "acme"), "two subjects"),
        (("shell", "--device", "a b"), "no name of a device"),
        (("shell", "--device", "acme", "--import", "a-b"), "no name of a module"),
        (("shell", "--library", "a.so", "--import", "a"), "--import goes with --device"),
        (("shell", "--library", "a.so", "--runner", "x y"), "is no label"),
        (("shell", "--library", "a.so", "--shards", "0"), "--shards"),
    ],
)
def test_what_cannot_be_written_is_one_line_and_no_file(
    tbk: Tbk, tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    ended = tbk("init", *arguments)
    assert ended.returncode == 2
    assert said in ended.stderr
    assert ended.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_overwritten_but_by_force(tmp_path: Path) -> None:
    wish = WISHES[0]
    assert ci_files.write("github", wish, tmp_path).kept == ()
    script, workflow = tmp_path / "ci/tbk.sh", tmp_path / ".github/workflows/tbk.yml"
    assert os.access(script, os.X_OK)
    script.write_text(script.read_text() + "# mine\n")
    workflow.write_text("mine\n")
    with pytest.raises(InitError, match=r"tbk\.yml is there already; nothing was written"):
        ci_files.write("github", wish, tmp_path)
    assert workflow.read_text() == "mine\n"
    # The script is shared by all systems, and the user's own by then.
    assert ci_files.write("ctest", wish, tmp_path).kept == ("ci/tbk.sh",)
    assert script.read_text().endswith("# mine\n")
    assert not ci_files.write("github", wish, tmp_path, force=True).kept
    assert "mine" not in script.read_text() + workflow.read_text()
    (tmp_path / "other").mkdir()
    (tmp_path / ".git").mkdir()
    with pytest.raises(InitError, match="the root of the repository"):
        ci_files.write("github", wish, tmp_path / "other")


def test_the_library_that_tbk_new_makes_is_found(tbk: Tbk, tmp_path: Path) -> None:
    assert tbk("new", "acme").returncode == 0
    assert ci_files.guessed_library(tmp_path / "acme") == "build/libacme.so"
    wish = Wish(library='we"ird $(x)/lib`a.so')
    text = ci_files.rendered("shell", wish, tmp_path)["ci/tbk.sh"]
    line = next(one for one in text.splitlines() if one.startswith("SUBJECT="))
    ended = subprocess.run(
        ["bash", "-c", f'{line}; printf "%s" "${{SUBJECT[1]}}"'], capture_output=True, text=True,
        check=True, env={"PATH": os.environ["PATH"]},
    )  # fmt: skip
    assert ended.stdout == wish.library


def _device(causes: range) -> list[dict[str, Any]]:
    """Returns a run of 60 tests on a device that fails by these causes."""
    return [
        synthetic.case(at, **({"verdict": "fail", "cause": f"cause {at}", "seen": f"{at} is odd"}
                              if at in causes else {}))
        for at in range(60)
    ]  # fmt: skip


def test_of_twenty_known_causes_one_added_and_one_mended(tmp_path: Path) -> None:
    """Red names exactly the new one, and then the entry to remove."""
    before = read_results(synthetic.write(tmp_path / "a.jsonl", _device(range(20))))
    first = judge(before, Known(), TODAY)
    entries = baseline.parse(baseline.document(first, TODAY), "b.toml")
    assert len(entries) == 20
    assert judge(before, Known((), entries), TODAY).exit_code == 0

    after = read_results(synthetic.write(tmp_path / "b.jsonl", _device(range(1, 21))))
    both = judge(after, Known((), entries), TODAY)
    assert both.exit_code == 1
    assert [test.cause for test in both.tests if test.failed] == ["cause 20"]
    assert both.problems == ("the baseline's cause 0 no longer occurs: remove it",)

    mended = read_results(synthetic.write(tmp_path / "c.jsonl", _device(range(1, 20))))
    told = judge(mended, Known((), entries), TODAY)
    assert (told.exit_code, [test for test in told.tests if test.failed]) == (1, [])
    assert told.problems == both.problems
    shorter = [one for one in entries if one.cause != "cause 0"]
    assert judge(mended, Known((), shorter), TODAY).exit_code == 0


def test_a_quick_run_says_nothing_of_what_the_thorough_tier_knows(tmp_path: Path) -> None:
    made = synthetic.header(60, tier="thorough")
    thorough = read_results(synthetic.write(tmp_path / "a.jsonl", _device(range(3)), made))
    text = baseline.document(judge(thorough, Known(), TODAY), TODAY)
    assert 'tier = "thorough"' in text
    entries = baseline.parse(text, "b.toml")
    quick = read_results(synthetic.write(tmp_path / "b.jsonl", _device(range(1))))
    judged = judge(quick, Known((), entries), TODAY)
    assert judged.exit_code == 0
    assert [one["outcome"] for one in judged.baseline] == ["used", "not exercised", "not exercised"]
    again = read_results(synthetic.write(tmp_path / "c.jsonl", _device(range(1)), made))
    assert judge(again, Known((), entries), TODAY).exit_code == 1
    with pytest.raises(baseline.BaselineError, match="tier must be"):
        baseline.parse("tier = 'slow'", "b.toml")


def _script(folder: Path, *arguments: str, **more: str) -> tuple[int, str]:
    """Returns the end of a step, with the stand-in for tbk-run."""
    programs = folder / "bin"
    programs.mkdir(exist_ok=True)
    (programs / "tbk").write_text(f'#!/bin/sh\nexec {sys.executable} -m tbk_harness "$@"\n')
    (programs / "tbk").chmod(0o755)
    environment = {
        **os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "TBK_BUILT": "yes",
        "TBK_RUN": str(STAND_IN), "TBK_LITMUS": "none", "TBK_OPTIONS": "--layer c", **more,
    }  # fmt: skip
    ended = subprocess.run(
        [folder / "ci/tbk.sh", *arguments], cwd=folder, env=environment, capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    return ended.returncode, ended.stdout + ended.stderr


def test_the_script_from_the_first_day_to_what_is_new(tmp_path: Path) -> None:
    for name in ("bad.so", "good.so", "plain.so"):
        (tmp_path / name).touch()
    ci_files.write("shell", Wish(library="bad.so"), tmp_path)
    (tmp_path / "tbk-capabilities.toml").touch()  # for tbk check, and not for a library
    assert _script(tmp_path, "quick")[0] == 1
    code, said = _script(tmp_path, "baseline")
    assert (code, "causes of today" in said) == (0, True), said
    assert _script(tmp_path, "quick")[0] == 0
    assert _script(tmp_path, "keep", "quick")[0] == 0
    # Another device has none of the known causes, which is told.
    code, said = _script(tmp_path, "quick", TBK_LIBRARY="good.so")
    assert "mended" in said
    # Without a baseline, what was kept is another gate: what failed before is not new.
    (tmp_path / "tbk-baseline.toml").unlink()
    assert _script(tmp_path, "quick", TBK_LIBRARY="good.so")[0] == 0
    assert _script(tmp_path, "keep", "quick")[0] == 0
    code, said = _script(tmp_path, "quick")
    assert (code, "new: " in said) == (1, True)
    (tmp_path / "tbk-before/quick/results.jsonl").write_text("torn")
    assert _script(tmp_path, "quick", TBK_LIBRARY="good.so")[0] == 0
    for words in ((), ("quick", "x"), ("shard",), ("together",), ("nosuch",)):
        assert _script(tmp_path, *words)[0] == 2
    assert _script(tmp_path, "together", "nosuch.jsonl")[0] == 3


def test_the_callback_of_a_run_is_the_output_of_a_step(tbk: Tbk, tmp_path: Path) -> None:
    assert tbk("callback").returncode == 2
    assert tbk("run", "bad.so").returncode == 1
    outputs = tmp_path / "outputs"
    ended = tbk("callback", "tbk-report", GITHUB_OUTPUT=str(outputs))
    assert ended.returncode == 0, ended.stderr
    told = dict(line.split("=", 1) for line in outputs.read_text().splitlines())
    assert told["conclusion"] == "failure"
    assert {"test-results", "failed-tests-detail", "triage-verdict"} < set(told)
    (tmp_path / "tbk-report/judged.json").write_text("[]")
    assert tbk("callback").returncode == 2
