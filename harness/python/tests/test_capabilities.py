# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pytest
import synthetic
from invoke import Tbk
from tbk_harness import capabilities
from tbk_harness.capabilities import CapabilityError
from tbk_harness.judge import Known, judge
from tbk_harness.layers import compose
from tbk_reports.model import Judged, read_results

TODAY = datetime.date(2026, 3, 1)
BROKEN = f"{capabilities.BROKEN}: RuntimeError: no streams"


def _header(planned: int, **changes: Any) -> Any:
    values = {
        "layer": "torch",
        "torch": {"device": "acme", "version": "2.13.0", "declared": "c.toml"},
        "capabilities": {"stream": True, "event": True, "oom": False, "peer": False},
        "capability_notes": {"stream": BROKEN, "oom": capabilities.MODEST, "event": "slow"},
    }
    return synthetic.header(planned, **{**values, **changes})


def _judged(folder: Path, records: list[Any], *more: Any, **head: Any) -> Judged:
    part = synthetic.write(folder / "part.jsonl", records, _header(len(records), **head))
    compose([part], more, folder / "r.jsonl")
    return judge(read_results(folder / "r.jsonl"), Known(), TODAY)


def _declared(judged: Judged) -> dict[str, str]:
    return {
        test.id.partition("/")[2]: test.verdict
        for test in judged.tests
        if test.suite == capabilities.SUITE
    }


def test_what_is_declared_binds_and_the_rest_is_a_note(tmp_path: Path) -> None:
    judged = _judged(tmp_path, [synthetic.torch_case(0)])
    assert _declared(judged) == {"stream": "fail", "event": "pass"}
    assert judged.exit_code == 1
    failed = next(test for test in judged.tests if test.failed)
    assert (failed.clause, failed.seen) == ("CAP-501", "RuntimeError: no streams")
    assert failed.clause_text == "a capability that the vendor's file declares works."
    assert judged.notes == ("oom works, and is not declared",)


def test_without_a_file_nothing_binds(tmp_path: Path) -> None:
    judged = _judged(tmp_path, [synthetic.torch_case(0)], torch={"declared": None})
    assert (_declared(judged), judged.exit_code, judged.notes) == ({}, 0, ())


def test_a_run_over_both_layers_has_the_words_of_the_torch_layer(tmp_path: Path) -> None:
    layers = {"c": synthetic.header(1), "torch": _header(1)}
    judged = _judged(tmp_path, [synthetic.torch_case(0)], layers=layers, capabilities={})
    assert _declared(judged) == {"stream": "fail", "event": "pass"}


def _operators(**operators: list[str]) -> Any:
    return {"record": "capability", "operators": operators}


@pytest.mark.parametrize(
    ("verdict", "outcome"),
    [("pass", "pass"), ("fail", "fail"), ("unsupported", "fail"), ("crash", "fail")],
)
def test_declared_dtypes_of_an_operator_bind(tmp_path: Path, verdict: str, outcome: str) -> None:
    records = [synthetic.torch_case(0, verdict), synthetic.torch_case(1)]
    declared = _operators(op_000=["float32", "float16"])
    judged = _judged(tmp_path, records, declared, torch={})
    assert _declared(judged) == {"op_000[float32]": outcome, "op_000[float16]": "pass"}
    assert judged.exit_code == (outcome == "fail")


def test_an_operator_that_crashed_has_no_facts_and_is_seen_by_its_name(tmp_path: Path) -> None:
    died = {**synthetic.torch_case(0, "crash"), "facts": {}, "id": "torch_operators/op_000[int8]"}
    works = {**synthetic.torch_case(1), "id": "torch_operator_gradients/op_000[int8]"}
    works["facts"] |= {"operator": "op_000", "dtype": "int8"}
    judged = _judged(tmp_path, [died, works], _operators(op_000=["int8"]), torch={})
    assert _declared(judged) == {"op_000[int8]": "fail"}


@pytest.mark.parametrize("served", ["missing", "refused"])
def test_a_declared_operator_must_be_offered(tmp_path: Path, served: str) -> None:
    made = synthetic.torch_case(0, "not-shown")
    made["facts"]["served"] = served
    judged = _judged(tmp_path, [made], _operators(op_000=["float32"]), torch={})
    assert _declared(judged) == {"op_000[float32]": "fail"}
    assert served in next(test.seen for test in judged.tests if test.failed)


def test_a_declared_operator_that_no_test_is_of_is_a_problem(tmp_path: Path) -> None:
    declared = _operators(op_00=["float32"])
    judged = _judged(tmp_path, [synthetic.torch_case(0)], declared, torch={})
    assert judged.problems == ("op_00 is declared for float32, and no test is of that",)
    assert judged.exit_code == 1
    part = _judged(tmp_path, [synthetic.torch_case(0)], declared, torch={}, selection=["x"])
    assert part.exit_code == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("words = 1", "unknown key 'words'"),
        ("[capabilities]\nstream = 1", "stream must be true or false"),
        ("capabilities = 1", "capabilities must be a table"),
        ("[operators]\nadd = 'float32'", "add must be a list of dtypes"),
        ("[operators]\nadd = ['float33']", "'float33' is no dtype"),
        ("[capabilities", "c.toml: "),
    ],
)
def test_a_file_that_cannot_be_taken_as_it_stands(text: str, said: str) -> None:
    with pytest.raises(CapabilityError, match=r"c\.toml") as found:
        capabilities.parse(text, "c.toml")
    assert said in str(found.value)


def test_what_is_written_can_be_read(tmp_path: Path) -> None:
    words = {"stream": True, "dtype:float64": False}
    notes = {"dtype:float64": 'RuntimeError: "no"\n# float64 = true'}
    header = _header(0, capabilities=words, capability_notes=notes)
    records = [synthetic.torch_case(index, "fail" if index == 2 else "pass") for index in range(9)]
    for record in records:
        record["facts"]["served"] = "native"
    tests = read_results(synthetic.write(tmp_path / "r.jsonl", records)).tests
    operators = capabilities.passing_dtypes(tests)
    text = capabilities.document(header, operators, {"stream": "it has streams"}, TODAY)
    assert "stream = true  # it has streams\n" in text
    found = capabilities.parse(text, "c.toml")
    assert (found.device, found.words) == ("acme", words)
    assert found.operators["op_001"] == ("float32",)
    assert "bfloat16" not in found.operators["op_000"]
    assert len(found.operators["op_000"]) == 7


def test_probed_committed_and_binding(tbk: Tbk, tmp_path: Path) -> None:
    tbk("check", "--device", "sound", "--report-dir", "before")
    ended = tbk("probe", "--device", "sound", "--output", "c.toml", "--from",
                "before/results.jsonl")  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.splitlines()[-1] == "c.toml"
    text = (tmp_path / "c.toml").read_text()
    assert "stream = false" in text
    assert 'op_000 = ["float32"' in text
    check = ("check", "--device", "sound", "--capabilities", "c.toml")
    assert tbk(*check).returncode == 0
    assert tbk("verify", "tbk-report/results.jsonl").returncode == 0
    (tmp_path / "c.toml").write_text(text.replace("stream = false", "stream = true"))
    ended = tbk(*check)
    assert ended.returncode == 1
    assert "RuntimeError: no streams" in ended.stdout
    (tmp_path / "c.toml").write_text(text.replace("event = true", "event = false"))
    ended = tbk(*check)
    assert ended.returncode == 0
    assert "event works, and is not declared" in ended.stdout


def test_files_that_cannot_bind(tbk: Tbk, tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text('device = "other"\n')
    check = ("check", "--device", "sound", "--capabilities")
    ended = tbk(*check, "c.toml")
    assert ended.returncode == 2
    assert "is of the device other, not of sound" in ended.stderr
    assert tbk(*check, "none.toml").returncode == 2
    assert tbk("probe", "--device", "nosuch").returncode == 5
    assert not (tmp_path / "tbk-capabilities.toml").exists()
