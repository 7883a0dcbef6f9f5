# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Calls overloads by name on a backend that offers them, in a process of its own.

Its arguments are the library, its options, and a file of overloads, a line each: a name, and the
dtypes of the first tensor. Prints JSON: of each overload and each of its samples whether values,
dtypes and shapes are those of PyTorch's CPU, and which route it took.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
import torch_tbk

Arguments = list[Any]
WHOLE, TENSOR, LIST = torch.int64, "Tensor", "List[Tensor]"


def real(*sizes: int) -> torch.Tensor:
    """Returns distinct numbers between 0 and 1, in no order."""
    count = torch.Size(sizes).numel()
    return ((torch.arange(count) * 37 + 11) % 97 + 0.5).div(98).reshape(sizes)


def signed(*sizes: int) -> torch.Tensor:
    return real(*sizes) * 8 - 4


def places(*numbers: int) -> torch.Tensor:
    return torch.tensor(numbers)


# What the schema does not say: by overload, all arguments.
GIVEN: dict[str, Arguments] = {
    "round.decimals": [signed(2, 3), {"decimals": 1}],
    "clamp": [signed(2, 3), None, 1.5],
    "clamp.Tensor": [signed(2, 3), signed(3), None],
    "hardtanh": [signed(2, 3), -1, 1.5],
    "elu": [signed(2, 3), 1.5, 0.5, 2],
    "threshold": [signed(2, 3), 0.5, -7],
    "softplus": [signed(2, 3) * 4, 2, 5],
    "softplus_backward": [real(2, 3), signed(2, 3) * 4, 2, 5],
    "hardtanh_backward": [real(2, 3), signed(2, 3), -1, 1.5],
    "elu_backward": [real(2, 3), 1.5, 0.5, 2, False, signed(2, 3)],
    "div.Tensor_mode": [signed(2, 3), real(3), {"rounding_mode": "floor"}],
    "div.Scalar_mode": [signed(2, 3), 0.75, {"rounding_mode": "trunc"}],
    "acosh": [real(2, 3) + 1],
    "logit": [real(2, 3), 0.25],
    "logit_backward": [signed(2, 3), real(2, 3), 0.25],
    "gelu": [signed(2, 3)],
    "log_sigmoid_backward": [real(2, 3), signed(2, 3), signed(2, 3).abs().neg().exp()],
    "leaky_relu_backward": [real(2, 3), signed(2, 3), 0.25, False],
    "max.dim": [signed(2, 3), 1, True],
    "min.dim": [signed(2, 3), 0],
    "aminmax": [signed(2, 3)],
    "argmax": [signed(2, 3), 1],
    "argmin": [signed(2, 3), -1, True],
    "norm.Scalar": [signed(2, 3), 3],
    "norm.ScalarOpt_dim": [signed(2, 3), None, [1], True],
    "linalg_vector_norm": [signed(2, 3), 3, [0]],
    "nansum": [torch.where(signed(2, 3) > 2, torch.nan, signed(2, 3)), [1]],
    "kthvalue": [signed(2, 5), 2],
    "trace": [signed(3, 3)],
    "dot": [signed(4), real(4)],
    "topk": [signed(2, 5), 3],
    "bmm": [signed(2, 3, 4), real(2, 4, 2)],
    "mv": [signed(3, 4), real(4)],
    "addmm": [signed(2), signed(3, 4), real(4, 2), 0, {"beta": 2, "alpha": 0.5}],
    "baddbmm": [signed(2, 3, 2), signed(2, 3, 4), real(2, 4, 2), {"beta": 2, "alpha": 0.5}],
    "addmv": [signed(3), signed(3, 4), real(4), {"beta": 2, "alpha": 0.5}],
    "native_layer_norm": [signed(2, 3, 4), [3, 4], real(3, 4), None, 1e-3],
    "glu": [signed(2, 6, 2), 1],
    "glu_backward": [real(2, 3, 2), signed(2, 6, 2), 1],
    "embedding_dense_backward": [real(2, 2, 3), places(4, 1, 1, 0).reshape(2, 2), 5, 1, False],
    "flip": [signed(2, 3, 2), [0, -1]],
    "roll": [signed(2, 3), [1, -4], [0, 1]],
    "repeat": [signed(2, 3), [2, 1, 2]],
    "cat": [[signed(2, 3), real(2, 1)], 1],
    "stack": [[signed(2, 3), real(2, 3)], 1],
    "gather": [signed(2, 3), 1, places(2, 0, 1, 1).reshape(2, 2)],
    "index_select": [signed(2, 3), 1, places(2, 0, 2, 1)],
    "embedding": [signed(5, 3), places(4, 1, 0, 1).reshape(2, 2)],
    "take": [signed(2, 3), places(5, -1, 0)],
    "scatter.src": [signed(2, 3), 1, places(2, 0, 1, 2).reshape(2, 2), real(2, 3)],
    "scatter.value": [signed(2, 3), 0, places(1, 0, 1).reshape(1, 3), 2.5],
    "scatter_add": [signed(2, 3), 1, places(2, 2, 1, 1).reshape(2, 2), real(2, 3)],
    "index_add": [signed(2, 3), 1, places(2, 2, 0), real(2, 3), {"alpha": 2}],
    "bucketize.Tensor": [signed(2, 3), torch.tensor([-2.0, 0.0, 2.0])],
    "constant_pad_nd": [signed(2, 3), [1, 0, -1, 2], 0.5],
    "reflection_pad1d": [signed(2, 3), [1, 2]],
    "reflection_pad2d": [signed(2, 3, 4), [1, 2, 0, 1]],
    "reflection_pad3d": [signed(1, 3, 4, 2), [1, 0, 2, 1, 1, 0]],
    "replication_pad1d": [signed(2, 3), [1, 4]],
    "replication_pad2d": [signed(2, 3, 4), [1, 2, 0, 3]],
    "replication_pad3d": [signed(1, 3, 4, 2), [1, 0, 2, 1, 1, 0]],
    "upsample_nearest1d": [signed(1, 2, 3), [7]],
    "upsample_nearest2d": [signed(1, 2, 3, 4), [6, 2]],
    "_adaptive_avg_pool2d": [signed(2, 5, 4), [3, 2]],
    "_adaptive_avg_pool3d": [signed(1, 2, 5, 4, 3), [2, 2, 2]],
    "_softmax_backward_data": [signed(2, 3), signed(2, 3).softmax(1), 1, torch.float32],
    "_log_softmax_backward_data": [signed(2, 3), signed(2, 3).log_softmax(1), 1, torch.float32],
    "binary_cross_entropy": [real(2, 3), real(2, 3).flip(0), real(3), 1],
    "binary_cross_entropy_backward": [real(1)[0], real(2, 3), real(2, 3).flip(0), None, 1],
    "mse_loss_backward": [real(1)[0], signed(2, 3), real(2, 3), 1],
    "soft_margin_loss_backward": [real(1)[0], signed(2, 3), signed(2, 3).sign(), 1],
    "tril": [signed(2, 3, 3), -1],
    "triu": [signed(2, 3, 3), 1],
    "_softmax": [signed(2, 3, 2), 1, False],
    "_log_softmax": [signed(2, 3, 2), -2, False],
    "std.correction": [signed(2, 3), [1], {"correction": 0, "keepdim": True}],
    "sort": [signed(2, 5), 1, True],
    "sort.stable": [signed(2, 5).round(), {"stable": True, "dim": 0}],
}
GIVEN["addmm"].pop(3)
# A tensor without dimensions counts as one of one element.
ALONE: dict[str, Arguments] = {
    "gather": [signed(1)[0], 0, places(0)[0]],
    "index_select": [signed(1)[0], -1, places(0)],
    "scatter.src": [signed(1)[0], 0, places(0)[0], real(1)[0]],
    "scatter_add": [signed(1)[0], -1, places(0)[0], real(1)[0]],
    "index_add": [signed(1)[0], 0, places(0), real(1)[0]],
    "max.dim": [signed(1)[0], 0], "kthvalue": [signed(1)[0], 1], "topk": [signed(1)[0], 1],
    "sort": [signed(1)[0]], "median.dim": [signed(1)[0], 0], "cumsum": [signed(1)[0], 0],
    "_softmax": [signed(1)[0], 0, False], "argmax": [signed(1)[0], 0], "amax": [signed(1)[0]],
}  # fmt: skip
# Whole numbers where a formula alone would say infinity, a fraction, or a sign that is not there.
EDGES: dict[str, Arguments] = {
    "pow.Tensor_Tensor": [places(0, 1, 2, -1, 0), places(-1, -1, -2, -3, 0)],
    "pow.Scalar": [0, places(-1, 0, 2)],
    "__lshift__.Tensor": [places(5, -5, 1, 1), places(20000, -1, 63, 64)],
    "__rshift__.Tensor": [places(5, -5, -5, -5), places(20000, 20000, -1, 2)],
}
# Two name the dtype; of half, PyTorch's CPU alone keeps mean and deviation in half.
FLOAT32_ALONE = ("_softmax_backward_data", "_log_softmax_backward_data", "native_layer_norm")
# Within the domain of these, and where they are not smooth: what has no row here takes both signs.
POSITIVE = {
    "acos", "asin", "atanh", "erfinv", "log", "log10", "log1p", "log2", "pow", "rsqrt", "sqrt",
    "xlogy", "logit", "_foreach_acos", "_foreach_asin", "_foreach_log", "_foreach_log10",
    "_foreach_log1p", "_foreach_log2", "_foreach_pow", "_foreach_sqrt", "sigmoid_backward",
}  # fmt: skip


def tensors(name: str, is_whole: bool) -> Iterator[torch.Tensor]:
    """Yields the tensors of a call: one of two dimensions, then some that broadcast."""
    base = name.split(".", maxsplit=1)[0]
    make = real if base in POSITIVE else signed
    shapes = [(2, 3)] * 4 if base.endswith("backward") or base.startswith("_foreach") else [
        (2, 3), (3,), (2, 1), (2, 3)]  # fmt: skip
    for number, shape in enumerate(shapes):
        value = make(*shape) if number == 0 else real(*shape) + 0.25 * number
        yield (value * 4 + 2).long().abs() + number if is_whole else value


def made(name: str, is_whole: bool) -> Arguments:
    """Makes arguments of the schema: tensors, 2 for a number, dimension 1, defaults."""
    schema = operator(name)._schema
    rest, number = tensors(name, is_whole), iter((2, 3, 1))
    arguments: Arguments = []
    keywords: dict[str, Any] = {}
    for one in schema.arguments:
        kind = str(one.type)
        if kind == TENSOR or (kind == "Optional[Tensor]" and not one.has_default_value()):
            value: Any = next(rest)
        elif kind == LIST:
            both = next(rest)
            value = [both, both.t() * 2]
        elif one.kwarg_only and kind == "number":
            value = next(number)
        elif one.has_default_value():
            continue
        elif kind == "number":
            value = next(number) if is_whole else next(number) * 0.5
        else:
            value = [1] if kind == "List[int]" else 1 if kind == "int" else False
        if one.kwarg_only:
            keywords[one.name] = value
        else:
            arguments.append(value)
    return [*arguments, keywords]


def operator(name: str) -> Any:
    base, _, overload = name.partition(".")
    return getattr(getattr(torch.ops.aten, base), overload or "default")


def each(value: Any, change: Callable[[torch.Tensor], Any]) -> Any:
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, dict):
        return {key: each(one, change) for key, one in value.items()}
    return [each(one, change) for one in value] if isinstance(value, list | tuple) else value


def sparse(tensor: torch.Tensor) -> torch.Tensor:
    """Returns the same values, every second element of a storage, without its first one."""
    room = torch.zeros(2 * tensor.numel() + 1, dtype=tensor.dtype, device=tensor.device)
    strides = [2 * stride for stride in tensor.contiguous().stride()]
    return room.as_strided(tensor.shape, strides, 1).copy_(tensor)


def extreme(tensor: torch.Tensor) -> torch.Tensor:
    """Returns what is no number, infinite, zero, or equal to others, in the same shape."""
    numbers = torch.tensor([torch.nan, torch.inf, -torch.inf, 0.0, 1.0, 0.5, 1.0])
    return numbers.repeat(tensor.numel())[: tensor.numel()].reshape(tensor.shape)


def samples(name: str, dtypes: str) -> Iterator[tuple[str, Arguments]]:
    whole = dtypes in ("INTEGERS", "WHOLE")
    first = GIVEN.get(name) or made(name, whole)
    yield "plain", first
    yield "strided", each(first, sparse)
    if not whole and name not in FLOAT32_ALONE:
        yield "float16", each(first, lambda x: x.half() if x.is_floating_point() else x)
    if dtypes in ("NUMBERS", "ALL") and name not in GIVEN:
        yield "int64", made(name, is_whole=True)
    if name in EDGES:
        yield "whole numbers at the edge", EDGES[name]
    if name in ALONE:
        yield "no dimensions", ALONE[name]
    if not whole and name not in GIVEN:
        yield "extremes", each(first, extreme)


def call(name: str, arguments: Arguments, device: torch.device) -> list[torch.Tensor]:
    given = each(arguments, lambda x: x.clone().to(device) if x.is_contiguous() else sparse(
        x.to(device)))  # fmt: skip
    keywords = given.pop() if given and isinstance(given[-1], dict) else {}
    found = operator(name)(*given, **keywords)
    return [found] if isinstance(found, torch.Tensor) else list(found)


def agree(one: torch.Tensor, other: torch.Tensor) -> bool:
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    bound = {torch.float16: 4e-3, torch.float32: 2e-5}.get(other.dtype, 0)
    return torch.allclose(one.cpu().double(), other.double(), bound, bound / 4, equal_nan=True)


def told(name: str, arguments: Arguments, device: torch.device, module: Any) -> dict[str, Any]:
    try:
        expected = call(name, arguments, torch.device("cpu"))
    except (RuntimeError, NotImplementedError):
        return {"agrees": True, "route": "not of the CPU's"}
    module.reset_routes()
    found = call(name, arguments, device)
    routes = {row.operator.removeprefix("aten::"): row.route for row in module.routes()}
    return {
        "agrees": len(found) == len(expected) and all(map(agree, found, expected)),
        "route": routes.get(name, str(routes)),
        "found": str(found), "expected": str(expected),
    }  # fmt: skip


def main() -> None:
    warnings.simplefilter("ignore")
    module = torch_tbk.load(sys.argv[1], options=sys.argv[2])
    device = torch.device(module.backend_name, 0)
    found = {}
    for line in Path(sys.argv[3]).read_text().splitlines():
        name, dtypes = line.split()
        found[name] = {
            sample: told(name, arguments, device, module)
            for sample, arguments in samples(name, dtypes)
        }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
