# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Operators that a file describes, called without a tensor that they may do without."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch_tbk.custom import check
from torch_tbk.custom.dry import read_and_try
from torch_tbk.custom.register import register_file, registered

FILE = """\
namespace: absent
operators:
  - schema: by_operator(Tensor x, Tensor? bias=None) -> Tensor
    formula: x * 2 if bias is None else x * 2 + bias
    backward: {operator: helper, arguments: [grad, bias, needed], gives: [x, bias]}
    samples: [{x: [3, 4]}, {x: [3, 4], bias: [4]}]
  - schema: helper(Tensor grad, Tensor? bias, bool[] needed) -> (Tensor, Tensor)
    formula: "(grad * 2, grad if bias is None else sum(grad, 0))"
    outputs: [{like: grad, when: "needed[0]"}, {like: bias, when: "needed[1]"}]
    samples:
      - {grad: [3, 4], bias: [4], needed: [true, true]}
      - {grad: [3, 4], needed: [true, false]}
  - schema: by_formulas(Tensor x, Tensor? bias=None) -> Tensor
    formula: x * 2 if bias is None else x * 2 + bias
    backward: {gradients: {x: grad * 2, bias: "sum(grad, 0)"}}
    samples: [{x: [3, 4]}, {x: [3, 4], bias: [4]}]
  - schema: of_list(Tensor x, Tensor[] list, Tensor? bias=None) -> Tensor
    formula: x * sum(stack(list), 0) if bias is None else x * sum(stack(list), 0) + bias
    backward:
      gradients: {x: "grad * sum(stack(list), 0)", bias: grad}
      not_differentiable: [list]
    samples: [{x: [3], list: [[3], [3]]}, {x: [3], list: [[3]], bias: [3]}]
  - schema: of_optionals(Tensor x, Tensor?[] list) -> Tensor
    formula: x * list[0]
    backward: {gradients: {x: "grad * list[0]"}, not_differentiable: [list]}
    samples: [{x: [3], list: [[3], null]}]
"""
NAMES = ("by_operator", "helper", "by_formulas", "of_list", "of_optionals")


@pytest.fixture
def absent(device: torch.device, tmp_path_factory: pytest.TempPathFactory) -> torch.device:
    """Returns the device, after the file above was tried and is known to PyTorch."""
    if "absent::by_operator" not in registered():
        file: Path = tmp_path_factory.mktemp("absent") / "absent.yml"
        file.write_text(FILE)
        assert [one.name for one in read_and_try(file)] == list(NAMES)
        register_file(file)
    return device


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("title", ["values", "shapes", "gradients", "second gradients"])
def test_checks_pass(name: str, title: str, absent: torch.device) -> None:
    one = registered()[f"absent::{name}"]
    if one.backward is None and "gradients" in title:
        with pytest.raises(check.NothingToCheck):
            check.CHECKS[title](one, absent)
    else:
        check.CHECKS[title](one, absent)


@pytest.mark.parametrize("name", ["by_operator", "by_formulas"])
@pytest.mark.parametrize("given", [(), (None,)])
def test_the_gradient_is_right_without_a_bias(
    name: str, given: tuple[None, ...], absent: torch.device
) -> None:
    for place in (absent, torch.device("cpu")):
        x = torch.ones(3, 4, device=place, requires_grad=True)
        (gradient,) = torch.autograd.grad(getattr(torch.ops.absent, name)(x, *given).sum(), x)
        assert gradient.tolist() == [[2.0] * 4] * 3


def test_an_output_that_follows_what_is_absent_is_a_sentence(absent: torch.device) -> None:
    grad = torch.ones(3, 4, device=absent)
    says = r"absent::helper: an output follows bias, which is not given.*absent\.yml:7"
    with pytest.raises(RuntimeError, match=says):
        torch.ops.absent.helper(grad, None, [True, True])
