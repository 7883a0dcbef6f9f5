# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""A backend may offer any overload of PyTorch by its name: then that kernel is asked first."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch_tbk

CHILD = Path(__file__).with_name("named_child.py")
LIBRARY = torch_tbk.reference("cpu").with_name("libtbk_template_named.so")
NAMED = {
    "function": "exp", "in place": "exp", "out": "tanh", "out gets its size": "tanh",
    "transposed": "tanh", "no elements": "exp", "one element": "exp", "broadcast": "div.Tensor",
    "number of the host": "div.Tensor", "made of another overload": "div.Tensor",
    "made of another in place": "div.Tensor", "optional number": "clamp", "both numbers": "clamp",
    "list of tensors": "cat", "indices": "embedding", "two results": "topk",
    "two results given": "topk", "factory": "arange.start_out",
    "factory with an output": "arange.start_out",
}  # fmt: skip
REFUSED = ("refused by dtype", "refused by rank", "another dtype of out", "negated view")


@pytest.fixture(scope="module")
def told() -> dict[str, Any]:
    """Returns what the child says."""
    done = subprocess.run([sys.executable, CHILD, LIBRARY], capture_output=True, text=True,
                          check=False, timeout=300)  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("case", NAMED)
def test_its_kernel_computes_every_form(told: dict[str, Any], case: str) -> None:
    one = told["cases"][case]
    assert one["agrees"]
    assert one["on"] == ["tbk_template"]
    assert one["routes"].get(NAMED[case]) == "named"


def test_gradients_are_those_of_the_operators(told: dict[str, Any]) -> None:
    one = told["cases"]["gradients"]
    assert one["agrees"]
    served = {name for name, route in one["routes"].items() if route == "named"}
    assert served >= {"embedding", "cat", "tanh", "exp", "relu"}


@pytest.mark.parametrize("case", REFUSED)
def test_what_it_refuses_goes_on_as_before(told: dict[str, Any], case: str) -> None:
    one = told["cases"][case]
    assert one["agrees"]
    assert "fallback" in one["routes"].values()


def test_what_is_wrong_in_a_call_is_pytorchs_to_say(told: dict[str, Any]) -> None:
    for both in told["messages"]:
        device, cpu = both.split()
        assert device == cpu
