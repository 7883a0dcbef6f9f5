# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Operators that a YAML file describes, on a device without their kernels and on one with them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import torch_tbk
from torch_tbk.custom import check
from torch_tbk.custom.header import render, struct
from torch_tbk.custom.lines import OperatorsError
from torch_tbk.custom.members import TypeNotCarriedError, members
from torch_tbk.custom.register import register_file, registered
from torch_tbk.custom.samples import Values
from torch_tbk.custom.spec import Operator, read_operators

ROOT = Path(__file__).resolve().parents[3]
EXAMPLE = ROOT / "bridge" / "example" / "operators" / "acme.yml"
KINDS = ROOT / "bridge" / "tests" / "backends" / "operators" / "kinds.yml"
HEADER = ROOT / "contracts" / "include" / "tbk" / "tbk_aten.h"
LIBRARY = torch_tbk.reference("cpu").parent / "bridge_tests" / "liboperators.so"
Child = Callable[..., str]


@pytest.fixture
def example(device: torch.device) -> dict[str, Operator]:
    """Returns the example's operators by name; no backend here has their kernels but one."""
    return {one.name: one for one in register_file(EXAMPLE)}


# opcheck takes seconds, and runs where the kernels are; so does "served".
HERE = ("values", "layouts", "shapes", "stream", "gradients", "second gradients", "autocast")


@pytest.mark.parametrize("name", ["swish", "swish_backward", "row_norms", "scale_", "first_half"])
def test_a_device_without_the_kernels_computes_by_formula(
    name: str, device: torch.device, example: dict[str, Operator]
) -> None:
    done = []
    for title in HERE:
        try:
            check.CHECKS[title](example[name], device)
        except check.NothingToCheck:
            continue
        done.append(title)
    assert {"values", "layouts", "stream"} <= set(done)


def test_what_writes_counts_as_a_write_and_refuses_a_gradient(
    device: torch.device, example: dict[str, Operator]
) -> None:
    x = torch.ones(3, device=device)
    version = x._version
    torch.ops.acme.scale_(x, 2.0)
    assert x._version == version + 1
    assert x.tolist() == [2.0, 2.0, 2.0]
    with pytest.raises(NotImplementedError, match=r"acme::scale_ writes .*acme\.yml:\d+"):
        torch.ops.acme.scale_(torch.ones(3, device=device, requires_grad=True), 2.0)
    y = torch.zeros(1, device=device).expand(3)
    with pytest.raises(RuntimeError, match="memory"):
        torch.ops.acme.scale_(y, 2.0)


def test_what_has_no_backward_says_so(device: torch.device, example: dict[str, Operator]) -> None:
    x = torch.ones(3, device=device, requires_grad=True)
    out = torch.ops.acme.swish_backward(torch.ones(3, device=device), x, 1.0)
    with pytest.raises(NotImplementedError, match=r"acme::swish_backward has no backward .*yml:\d"):
        out.sum().backward()
    # The engine's thread raises before it lets go of what failed; it does by its next task.
    torch.ones(1, device=device, requires_grad=True).sum().backward()


def test_the_same_file_again_is_the_same_and_another_one_is_told(
    device: torch.device, example: dict[str, Operator], tmp_path: Path
) -> None:
    register_file(EXAMPLE)
    copy = tmp_path / "copy.yml"
    copy.write_text(EXAMPLE.read_text())
    with pytest.raises(OperatorsError, match=r"copy\.yml:\d+: acme::swish was loaded from .*acme"):
        register_file(copy)
    assert "acme::swish" in registered()


@pytest.mark.parametrize("title", ["shapes", "stream", "autocast", "values"])
def test_a_check_sees_a_wrong_result(
    title: str,
    device: torch.device,
    example: dict[str, Operator],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def wrong(one: Operator, values: Values) -> list[torch.Tensor]:
        right = torch.ops.acme.swish(values["x"], values["beta"])
        if title == "shapes" and not right.is_meta:
            return [right.t() if right.dim() == 2 else right]
        if title == "autocast":
            return [right.float()]
        return [right + (title in ("stream", "values"))]

    monkeypatch.setattr(check, "run", wrong)
    with pytest.raises(AssertionError):
        check.CHECKS[title](example["swish"], device)


WRONG_DERIVATIVES = """
namespace: wrong_derivatives
operators:
  - schema: cube(Tensor x) -> Tensor
    formula: x * x * x
    backward: {gradients: {x: grad * 2 * x * x}}
    samples: [{x: [3]}]
  - schema: square(Tensor x) -> Tensor
    formula: x * x
    backward: {operator: square_backward, arguments: [grad, x], gives: [x]}
    samples: [{x: [3]}]
  - schema: square_backward(Tensor grad, Tensor x) -> Tensor
    formula: 2 * grad * x
    backward: {gradients: {grad: grad * x, x: 3 * grad}}
    samples: [{grad: [3], x: [3]}]
  - schema: unserved(Tensor x) -> Tensor
    formula: x + 1
    kernel: {name: "wrong_derivatives::unserved"}
    samples: [{x: [3]}]
"""


@pytest.mark.parametrize(
    ("name", "title", "says"),
    [
        ("cube", "gradients", "gradient of x, as described"),
        ("square", "second gradients", "second derivative, as described"),
        ("unserved", "served", "has no kernel wrong_derivatives::unserved of version 1"),
    ],
)
def test_a_wrong_description_is_found(
    name: str, title: str, says: str, device: torch.device, tmp_path: Path
) -> None:
    key = f"wrong_derivatives::{name}"
    if key not in registered():
        file = tmp_path / "wrong.yml"
        file.write_text(WRONG_DERIVATIVES)
        register_file(file)
    with pytest.raises(AssertionError, match=says):
        check.CHECKS[title](registered()[key], device)


# One process for all that needs these kernels: to import PyTorch takes seconds.
PROGRAM = """
import json, os, sys
import torch, torch_tbk
from torch_tbk.custom import check
from torch_tbk.custom.register import registered
module = torch_tbk.load(sys.argv[1], operators=sys.argv[2])
device = torch.device(module.backend_name, 0)
swish = registered()["acme::swish"]
def fails(fault, title):
    os.environ["ACME_FAULT"] = fault  # which the kernels read at each launch
    try:
        check.CHECKS[title](swish, device)
    except AssertionError as error:
        return str(error)[:200]
    finally:
        del os.environ["ACME_FAULT"]
    return ""
pairs = [("value", "values"), ("input", "values"), ("layout", "layouts"), ("gradient", "gradients")]
titles = ["values", "layouts", "served", "gradients"]
faults, right = [fails(*pair) for pair in pairs], [fails("", title) for title in titles]

torch_tbk.load(sys.argv[1], operators=sys.argv[3])
def tensor(value):
    return torch.tensor([float(value)], device=device)
def total(**changes):
    values = dict(x=tensor(4), y=tensor(2), list=[tensor(1), tensor(2)], i=1, j=2, f=0.5, g=0.25,
                  b=True, s=3, t=0.5, ints=[1, 2], floats=[0.5, 0.25], bools=[True, False],
                  text="four", dtype=torch.float32, other=torch.int64, last=1)
    values.update(changes)
    made, none = torch.ops.kinds.total(**values)
    return made.item(), none.numel()
totals = [total(), total(
    y=None, j=None, g=None, t=None, other=None, bools=[False, True], b=False, s=0.5, text="",
    list=[], ints=[], floats=[], last=-1)]
print(json.dumps([faults, right, totals]))
"""


def test_kernels_get_what_they_are_called_with_and_their_faults_are_found(child: Child) -> None:
    said = child(PROGRAM, LIBRARY, EXAMPLE, KINDS).splitlines()[-1]
    faults, right, totals = json.loads(said)
    assert right == [""] * 4
    assert all(faults), faults
    assert "x was changed" in faults[1]
    # As kinds.c weighs them: 6 is the dtype float32, 4 is int64.
    first = (1 + 1 + 3 + 30 + 75 + 1000) + (1 + 4 + 2 + 2 + 16 + 96 + 32 + 512 + 1536 + 2048 + 1024)
    second = (1 + 1000) + (1 + 2 + 16 + 1536 - 1024) + 1e6
    assert totals == [[first, 0], [second, 1]]


def test_the_rule_of_structs_is_that_of_tbk_aten() -> None:
    """Every overload of PyTorch whose types an operator of a vendor may have, word by word."""
    parts = re.findall(
        r"/\* (\S+\(.*\) -> .*) \*/\n(#define (?:.*\n)+?\} \w+;\n)", HEADER.read_text()
    )
    compared = 0
    for schema, text in parts:
        version = int(re.findall(r"(\d+)u\n", text)[0])
        name = schema.partition("(")[0]
        parsed = torch._C.parse_schema(f"aten::{schema}")
        if any(one.alias_info and not one.alias_info.is_write for one in parsed.returns):
            continue  # a view, of which a vendor has a formula and no kernel
        try:
            found = members(parsed)
        except TypeNotCarriedError:
            continue
        made = struct(schema, re.sub(r"\W", "_", name), name, version, found)
        assert made == f"/* {schema} */\n{text}"
        compared += 1
    assert len(parts) > 1700
    assert compared > 1200


@pytest.mark.parametrize("file", [EXAMPLE, KINDS])
def test_headers_are_those_of_their_files(file: Path) -> None:
    header = file.with_name(f"{file.stem}_operators.h")
    assert header.read_text() == render(read_operators(file), file)
