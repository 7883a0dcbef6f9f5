# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Convolutions told each of their options, alone and with others, of whole numbers."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tbk_contracts.torch import check, host
from tbk_contracts.torch.case import clause
from tbk_contracts.torch.operators import layouts

F = torch.nn.functional
OPTIONS: dict[str, dict[str, Any]] = {
    "stride": {"stride": 2}, "padding": {"padding": 1}, "dilation": {"dilation": 2},
    "groups": {"groups": 2}, "stride, padding": {"stride": 2, "padding": 1},
    "dilation, padding": {"dilation": 2, "padding": 2},
    "groups, stride, dilation": {"groups": 2, "stride": 2, "dilation": 2, "padding": 2},
}  # fmt: skip
OF_PLACES = {"same": {"padding": "same"}, "valid": {"padding": "valid"}}
OF_TRANSPOSED: dict[str, dict[str, Any]] = {
    "output_padding": {"stride": 2, "output_padding": 1},
    "output_padding, padding": {"stride": 3, "output_padding": 2, "padding": 1},
    "output_padding, dilation": {"dilation": 2, "output_padding": 1},
    "output_padding, groups": {"stride": 2, "output_padding": 1, "groups": 2},
}
CALLS = [(f"conv{rank}d", option, {**OPTIONS, **OF_PLACES}[option])
         for rank in (1, 2, 3) for option in (*OPTIONS, *OF_PLACES)]  # fmt: skip
CALLS += [(f"conv_transpose{rank}d", option, {**OPTIONS, **OF_TRANSPOSED}[option])
          for rank in (1, 2, 3) for option in (*OPTIONS, *OF_TRANSPOSED)]  # fmt: skip


def _uneven(options: dict[str, Any], rank: int) -> dict[str, Any]:
    """The same option along the last dimension alone."""
    ones = {"stride": 1, "padding": 0, "dilation": 1, "output_padding": 0}
    return {name: (*[ones[name]] * (rank - 1), value) if name in ones and isinstance(value, int)
            else value for name, value in options.items()}  # fmt: skip


@pytest.mark.parametrize(("name", "option", "options"), CALLS, ids=lambda one: (
    one.replace(", ", "-") if isinstance(one, str) else ""))  # fmt: skip
@clause("OPS-520", needs="dtype:float32")
def test_options_of_a_convolution(
    device: torch.device, name: str, option: str, options: dict[str, Any]
) -> None:
    rank = int(name[-2])
    call, groups = getattr(F, name), options.get("groups", 1)
    weights = (4, 2 // groups) if "transpose" in name else (2, 4 // groups)
    given = [layouts.whole((2, 4, *(6, 5, 7)[:rank]), torch.float32),
             layouts.whole((*weights, *(2, 3, 2)[:rank]), torch.float32),
             layouts.whole((2,), torch.float32)]  # fmt: skip
    for said in (options, _uneven(options, rank)):
        for count in (2, 3):
            expected = call(*given[:count], **said)
            seen = host.download(call(*(host.upload(one, device) for one in given[:count]), **said))
            check.equal(f"shape of {name} with {option}", tuple(seen.shape), tuple(expected.shape))
            # How exact they are is of other tests; zeros of either sign are sums of nothing.
            check.tensor(f"{name} with {option}", seen.round() + 0.0, expected + 0.0)
