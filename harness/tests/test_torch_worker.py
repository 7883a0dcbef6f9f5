# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The PyTorch worker under hostile contracts: right blame, nothing else lost."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

import jsonschema
import pytest
from runs import ROOT, Record, Results, processes_with, read, wait_for
from torch_runs import HOSTILE, environment, judge, words

pytest.importorskip("torch", reason="the torch layer is for machines that have PyTorch")

SCHEMA = json.loads((ROOT / "harness/schema/results.schema.json").read_text())


def record(results: Results, name: str) -> Record:
    return next(one for one in results.tests if one["id"] == f"{HOSTILE}/{name}")


VERDICTS = {
    "first_passes": ("pass", None, None),
    "segfault": ("crash", "body", "SIGSEGV"),
    "abort": ("crash", "body", "SIGABRT"),
    "hang": ("hang", "body", "no end after"),
    "exit": ("crash", "body", "status 0 without finishing"),
    "sys_exit": ("crash", "body", "status 0 without finishing"),
    "worker_exit": ("crash", "body", "status 86 without finishing"),
    "stops_itself": ("hang", "body", "SIGSTOP"),
    "kills_the_fork_server": ("pass", None, None),
    "kills_its_parent": ("crash", "body", "killed its parent"),
    "closes_all_descriptors": ("crash", "clean", "descriptor was closed"),
    "prints_megabytes": ("pass", None, None),
    "leaves_a_daemon": ("pass", None, None),
    "crashes_at_the_end_of_the_interpreter": ("crash", "exit", "SIGABRT"),
    "checks_nothing": ("suite-error", None, "without a check"),
    "skips": ("suite-error", "body", "Skipped: no verdict"),
    "is_marked": ("suite-error", "open", "it is marked xfail"),
    "misspells": ("suite-error", "body", "NameError"),
    "has_a_broken_fixture": ("suite-error", "open", "IndexError"),
    "fails": ("fail", "body", "41"),
    "is_not_as_recommended": ("warning", "body", "2"),
    "is_not_as_recommended_and_fails": ("fail", "body", "41"),
    "of_a_recommendation": ("warning", "body", "41"),
    "of_a_recommendation_that_dies": ("crash", "body", "SIGABRT"),
    "raises": ("fail", "body", "RuntimeError: mat1 and mat2"),
    "asserts": ("fail", "body", "AssertionError: a plain assertion"),
    "swallows_a_failure": ("fail", "body", "41"),
    "needs_two": ("unsupported", None, None),
    "shows_nothing": ("not-shown", None, None),
    "last_passes": ("pass", None, None),
}


def test_each_act_is_judged(hostile: Results) -> None:
    assert {one["id"].partition("/")[2] for one in hostile.tests} == set(VERDICTS)


@pytest.mark.parametrize("name", VERDICTS)
def test_a_hostile_contract_gets_its_verdict(hostile: Results, name: str) -> None:
    verdict, phase, seen = VERDICTS[name]
    found = record(hostile, name)
    assert found["verdict"] == verdict, found
    assert phase is None or found["phase"] == phase
    assert seen is None or seen in found["seen"]
    blame = {
        "suite-error": "suite",
        "fail": "backend",
        "warning": "backend",
        "crash": "backend",
        "hang": "backend",
    }
    assert found["blame"] == blame.get(verdict)
    assert found["layer"] == "torch"


def test_lines_are_as_the_schema_says(hostile: Results) -> None:
    for one in [hostile.header, *hostile.tests, hostile.footer]:
        jsonschema.validate(one, SCHEMA)


def test_facts_and_notes_go_into_the_record(hostile: Results) -> None:
    found = record(hostile, "fails")
    source = found["facts"].pop("source")
    assert "def test_fails(" in source
    assert found["facts"] == {"operator": "add", "margin": 0.5}
    assert found["notes"] == "a note"
    assert (found["what"], found["expected"]) == ("the answer", "42")
    assert "facts" not in record(hostile, "first_passes")


def test_a_cause_holds_no_values(hostile: Results) -> None:
    assert record(hostile, "fails")["cause"] == "fail/act_hostile.py/the answer/"
    cause = record(hostile, "raises")["cause"]
    assert cause.startswith("fail/act_hostile.py/torch.zeros(2, 3, device=device)")
    assert cause.endswith("/RuntimeError")


def test_output_is_kept(hostile: Results) -> None:
    assert record(hostile, "prints_megabytes")["output_bytes"] == 4096 * 1024
    assert "Fatal Python error" in record(hostile, "segfault")["output"]
    assert "ContractFailure" in record(hostile, "fails")["output"]
    assert "left 1 process behind" in record(hostile, "leaves_a_daemon")["notes"]


def test_in_one_process_the_others_keep_their_verdicts(tmp_path: Path, hostile: Results) -> None:
    calm = ("segfault", "exit", "sys_exit", "fails", "last_passes", "first_passes", "skips")
    only = [word for name in calm for word in ("--only", f"{HOSTILE}/{name}")]
    batch = judge(tmp_path / "batch.jsonl", *only, "--isolation", "batch", "--jobs", "1").results()
    assert batch.header["isolation"] == "batch"
    assert batch.verdicts == {one: hostile.verdicts[one] for one in batch.verdicts}
    assert len(batch.tests) == len(calm)


def test_pollution_is_attributed_in_company_and_harmless_alone(tmp_path: Path) -> None:
    apart = judge(tmp_path / "a.jsonl", "--only", "torch_act_poison", "--isolation", "fork")
    assert apart.code == 0, apart.stdout
    together = judge(
        tmp_path / "b.jsonl", "--only", "torch_act_poison", "--isolation", "batch", "--jobs", "1"
    )
    results = together.results()
    polluted = next(one for one in results.tests if one["verdict"] != "pass")
    assert together.code == 1
    assert results.counts() == {"pass": 3, "polluted": 1}
    assert polluted["id"] == "torch_act_poison/c_is_polluted"
    assert "fails after torch_act_poison/b_pollutes" in polluted["notes"]


def test_who_spoils_the_device_is_found(tmp_path: Path) -> None:
    done = judge(
        tmp_path / "a.jsonl", "--only", "torch_act_spoil", "--isolation", "batch", "--jobs", "1"
    )
    verdicts = done.results().verdicts
    assert done.code == 1
    assert verdicts["torch_act_spoil/a_passes"] == "pass"
    assert verdicts["torch_act_spoil/b_spoils"] == "fail"
    assert verdicts["torch_act_spoil/c_passes"] == "poisoned"


def test_a_run_that_was_killed_goes_on(tmp_path: Path) -> None:
    output = tmp_path / "a.jsonl"
    options = ("--only", HOSTILE, "--timeout", "8", "--jobs", "1", "--isolation", "fork")
    process = subprocess.Popen(
        words(output, *options), env=environment(), stdout=subprocess.DEVNULL
    )
    wait_for(lambda: output.exists() and output.read_bytes().count(b"\n") >= 4)
    process.send_signal(signal.SIGKILL)
    process.wait()
    done = judge(output, *options, "--resume")
    results = read(output)
    assert done.code == 1, done.stderr
    assert {name: results.verdicts[f"{HOSTILE}/{name}"] for name in VERDICTS} == {
        name: verdict for name, (verdict, _, _) in VERDICTS.items()
    }
    assert not processes_with(str(output))
