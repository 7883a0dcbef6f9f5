# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""tbk list and tbk show as a program reads them, and what is known of each word."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import synthetic
import tbk_contracts
from invoke import Tbk
from tbk_harness import explain, torch_names
from tbk_reports.model import VERDICTS


def _facts(word: str) -> list[tuple[str, dict[str, list[str]]]]:
    return [(one.kind, one.document()["facts"]) for one in explain.found(word)]


def test_a_test_says_its_clause_and_how_to_run_it_alone() -> None:
    ((kind, facts),) = _facts("event/elapsed_is_in_milliseconds")
    assert kind == "test"
    assert facts["clause"][0].startswith("EVT-030, a should: ")
    assert facts["alone"] == ["tbk-run LIB --only event/elapsed_is_in_milliseconds"]
    assert facts["needs"] == ["event elapsed"]
    path, _, number = facts["source"][0].partition(":")
    lines = (tbk_contracts.contracts_root() / path).read_text().splitlines()
    assert "elapsed_is_in_milliseconds" in lines[int(number) - 1]


@pytest.mark.parametrize("word", ["memory", "MEM"])
def test_an_area_goes_by_its_name_and_by_its_letters(word: str) -> None:
    ((kind, facts),) = _facts(word)
    assert kind == "area"
    assert facts["clauses"][0].startswith("MEM-001 to MEM-")
    assert facts["each"] == [f"tbk list --only {word}"]


def test_a_test_of_the_torch_layer_goes_by_its_name_with_parameters_or_without() -> None:
    known = next(one for one in sorted(explain.subjects()) if one.startswith("torch_copy/"))
    ((_, plain),) = _facts(known)
    ((kind, facts),) = _facts(f"{known}[float32]")
    assert kind == "test"
    assert facts["clause"] == plain["clause"]
    assert facts["alone"] == [f"tbk check NAME --only '{known}[float32]'"]


def test_a_word_may_be_several_things() -> None:
    found = _facts("stream")
    assert [(kind, facts.get("layer")) for kind, facts in found] == [
        ("area", None), ("capability", ["c"]), ("capability", ["torch"]),
    ]  # fmt: skip
    assert "stream_create" in found[1][1]["functions"][0]


@pytest.mark.parametrize("word", ["TBK_NOT_READY", "not_ready", "DEVICE_LOST"])
def test_a_status_goes_with_the_prefix_and_without(word: str) -> None:
    ((kind, facts),) = _facts(word)
    assert kind == "status"
    assert facts["value"] in (["5"], ["8"])
    assert facts["stated_by"]


@pytest.mark.parametrize("verdict", [*VERDICTS, "trivial"])
def test_each_verdict_is_known(verdict: str) -> None:
    assert "verdict" in [one.kind for one in explain.found(verdict)]


def test_all_that_can_be_asked_for_has_an_answer() -> None:
    words = [one for one in explain.subjects() if "/" not in one]
    assert len(words) > 400
    assert [word for word in words if not explain.found(word)] == []


def test_the_words_of_the_torch_layer_are_those_that_it_probes() -> None:
    capability = pytest.importorskip("tbk_contracts.torch.capability", reason="it needs PyTorch")
    meanings = {word: meaning for word, (meaning, _) in capability.WORDS.items()}
    assert torch_names.capability_words() == meanings


def test_the_devices_are_those_that_pytorch_names() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is asked")
    with pytest.raises(RuntimeError, match="one of") as raised:
        torch.device("nosuch")
    told = str(raised.value).partition("one of ")[2].partition(" device type")[0].split(", ")
    assert set(told) <= set(torch_names.device_types())
    assert set(torch_names.device_types()) - set(told) <= {"metal"}  # which has a number alone


def test_json_is_for_programs(tbk: Tbk, tmp_path: Path) -> None:
    clauses = json.loads(tbk("list", "--only", "MEM", "--json").stdout)
    assert {one["id"] for one in clauses} >= {"MEM-001", "MEM-005"}
    assert set(clauses[0]) >= {"id", "text", "level", "kind", "layer", "area", "source"}
    tests = json.loads(tbk("list", "good.so", "--json").stdout)
    assert len(tests) == 60
    assert tests[0]["clause"] == "MEM-001"
    synthetic.write(tmp_path / "r.jsonl", synthetic.failing())
    (shown,) = json.loads(tbk("show", "MEM-002", "--json", "--results", "r.jsonl").stdout)
    assert shown["kind"] == "clause"
    assert shown["results"]
    (shown,) = json.loads(tbk("show", "fail", "--json", "--results", "r.jsonl").stdout)
    assert {one["state"] for one in shown["results"]} == {"fail"}
