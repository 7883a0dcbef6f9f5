# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Attention, which devices have their own kernels for: values and gradients."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from tbk_contracts.torch import check, host
from tbk_contracts.torch.case import clause, each_dtype
from tbk_contracts.torch.operators import judge, oracle

COST = 2

# Units of the largest value: scores of size 5 are rounded, their exponentials and sums again.
UNITS = 64
KINDS: dict[str, dict[str, Any]] = {
    "plain": {}, "causal": {"is_causal": True}, "of a scale": {"scale": 0.3},
    "masked": {"attn_mask": "bool"}, "biased": {"attn_mask": "float"},
    "grouped": {"enable_gqa": True},
}  # fmt: skip
SHAPES = ((2, 4, 17, 16), (1, 2, 33, 8))


def _attention(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, options: dict[str, Any]
) -> torch.Tensor:
    """Returns what the documentation says, in the type of its operands."""
    if options.get("enable_gqa"):
        times = query.shape[-3] // key.shape[-3]
        key, value = (one.repeat_interleave(times, -3) for one in (key, value))
    scores = query @ key.transpose(-2, -1) * options.get("scale", 1 / math.sqrt(query.shape[-1]))
    mask = options.get("attn_mask")
    if options.get("is_causal"):
        mask = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
    if mask is not None and mask.dtype == torch.bool:
        scores = scores.masked_fill(~mask, -math.inf)
    elif mask is not None:
        scores = scores + mask
    made: torch.Tensor = scores.softmax(-1) @ value
    return made


def _operands(
    shape: tuple[int, ...], kind: str, dtype: torch.dtype
) -> tuple[list[torch.Tensor], dict[str, Any]]:
    few = (shape[0], shape[1] // 2, *shape[2:]) if kind == "grouped" else shape
    options = dict(KINDS[kind])
    square = (shape[-2], shape[-2])
    if options.get("attn_mask") == "bool":
        options["attn_mask"] = host.values(square, torch.bool) | torch.eye(shape[-2]).bool()
    elif options.get("attn_mask") == "float":
        options["attn_mask"] = host.values(square, dtype)
    return [host.values(each, dtype) for each in (shape, few, few)], options


@each_dtype("float32", "float16", "bfloat16")
@pytest.mark.parametrize("kind", list(KINDS))
@clause("OPS-539")
def test_values_and_gradients(device: torch.device, dtype: torch.dtype, kind: str) -> None:
    for shape in SHAPES:
        operands, options = _operands(shape, kind, dtype)
        wide = [one.to(torch.float64).requires_grad_() for one in operands]
        mask = options.get("attn_mask")
        wide_options = dict(options)
        if mask is not None and mask.dtype != torch.bool:
            wide_options["attn_mask"] = mask.to(torch.float64)
        query, key, value = wide
        expected = _attention(query, key, value, wide_options)
        behind = host.values(shape, dtype)
        gradients = torch.autograd.grad(expected, wide, behind.to(torch.float64))

        placed = [host.upload(one, device).requires_grad_() for one in operands]
        if mask is not None:
            options["attn_mask"] = host.upload(mask, device)
        attention: Any = torch.nn.functional.scaled_dot_product_attention
        result = attention(*placed, **options)
        found = torch.autograd.grad(result, placed, host.upload(behind, device))
        check.equal("dtype of the result", result.dtype, dtype)
        for name, seen, right in zip(
            ("result", "gradient of the query", "gradient of the key", "gradient of the value"),
            (result, *found), (expected.detach(), *gradients), strict=True,
        ):  # fmt: skip
            _judge(name, host.download(seen), right)


def _judge(name: str, seen: torch.Tensor, right: torch.Tensor) -> None:
    check.equal(f"shape of the {name}", tuple(seen.shape), tuple(right.shape))
    limits = UNITS * oracle.unit(right.abs().max().expand(right.shape), seen.dtype)
    plain, leeway = right.to(seen.dtype), oracle.leeway(seen.dtype)
    judge.close(name, seen, right, limits, plain, judge.Margin(), leeway)
