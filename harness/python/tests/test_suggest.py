# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
from __future__ import annotations

import importlib.metadata

import pytest
from tbk_harness.commands_check import known_device
from tbk_harness.enrich import enrich
from tbk_harness.near import hint
from tbk_harness.suggest import (
    capability_hint,
    clause_words,
    selector_hint,
    unknown_selector,
)
from tbk_reports.model import ResultFile, read_record
from tbk_reports.words import blame_words, stood_words

UNKNOWN = "tbk-run: nothing selected: 'memory/frees_can_be_alocated' names no test"
DUMP = """Fatal Python error: Segmentation fault

Current thread 0x00007f (most recent call first):
  File "/usr/lib/python3/site-packages/torch/_tensor.py", line 12 in copy_
  File "/opt/tbk_contracts/torch/test_copy.py", line 41 in test_it_arrives
  File "/usr/lib/python3/site-packages/_pytest/python.py", line 166 in pytest_pyfunc_call
"""


@pytest.mark.parametrize(("word", "meant"), [("memroy", "memory"), ("mem-01", "MEM-01")])
def test_a_mistyped_word_is_near_what_was_meant(word: str, meant: str) -> None:
    assert meant in hint(word, clause_words())
    assert hint("zzzzzzzz", clause_words()) == ""


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("nosuch", ""),
        ("frobnicate", ""),
        ("cpi", "; did you mean cpu?"),
        ("vulcan", "; did you mean vulkan?"),
    ],
)
def test_a_word_is_given_only_where_it_is_near(word: str, meant: str) -> None:
    assert hint(word, ["cpu", "vulkan", "cosh", "concat"]) == meant


def test_a_crash_names_its_line_of_python_without_the_runner() -> None:
    crash = {"id": "torch_copy/x", "verdict": "crash", "layer": "torch", "output": DUMP}
    label, said = stood_words(read_record(crash))
    assert label == "in Python"
    assert (
        said == "torch/_tensor.py:12 in copy_, called from torch/test_copy.py:41 in test_it_arrives"
    )
    assert stood_words(read_record({**crash, "layer": "c"}))[1] == ""
    assert stood_words(read_record({**crash, "output": "nothing"}))[1] == ""


def test_blame_is_only_presumed_where_nothing_was_compared() -> None:
    test = {"id": "a/b", "verdict": "fail", "blame": "backend"}
    assert blame_words(read_record(test)) == "backend, not cross-checked"
    known = {**test, "blame_how": "the same test passes on PyTorch's own cpu"}
    assert blame_words(read_record(known)).endswith("own cpu")


def test_no_function_of_pytorch_is_said_to_stand_in_the_header() -> None:
    ids = ("CPY-501", "CPY-001", "OPS-559", "MEM-001", "STR-501")
    tests = tuple(read_record({"id": f"a/{one}", "verdict": "pass", "clause": one}) for one in ids)
    for test in enrich(ResultFile("", {}, tests, None)).tests:
        header = test.clause_source.partition("tbk.h: ")[2].partition(";")[0]
        assert "." not in header


def test_a_word_of_only_that_names_nothing_is_told_with_what_was_meant() -> None:
    assert "did you mean memory" in unknown_selector(["memory", "memroy"])
    assert "torch_copy" in unknown_selector(["torch_copi"])
    known = ("memory", "MEM-001", "MEM", "profile:core", "torch_copy", "sweep_memory", "STR-5")
    assert unknown_selector(known) == ""
    tests = ("memory/a_handle_is_never_0", "torch_copy/dtypes_are_converted")
    assert unknown_selector([*tests, f"{tests[1]}[float32]", f"{tests[1]}[no-such]"]) == ""
    made = "torch_operators/add"  # of PyTorch's list: tbk-run says whether there is such a test
    assert unknown_selector([made, f"{made}[float32]", "torch_operators"]) == ""
    for word in ("memory/whatever", f"{tests[0]}[x]", "torch_copy/[", "torch_copy/x[float32]", ""):
        assert f"{word!r} is no clause" in unknown_selector([word])


def test_what_tbk_run_does_not_know_is_told_with_what_was_meant() -> None:
    assert "memory/" in selector_hint(UNKNOWN)
    said = "tbk-run: --require: '{}' is no capability"
    assert capability_hint(said.format("strem")) == "; did you mean stream?"
    assert "op:mm" in capability_hint(said.format("op:m"))
    assert selector_hint("tbk-run: the disk is full") == capability_hint("another end") == ""


def test_a_device_that_pytorch_does_not_know_is_told_before_a_run(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch", reason="PyTorch is asked")
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda **_: ())
    with pytest.raises(SystemExit) as stopped:
        known_device("vulcan", ())
    assert stopped.value.code == 5
    assert "did you mean vulkan" in capsys.readouterr().err
    known_device("vulcan", ("json",))  # a module may bring it
    known_device("cpu", ())
