# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Operators that are wrong for one form of what they take: of indices, arguments, draws, sizes."""

from __future__ import annotations

from typing import Any

import torch

from tbk_torch_mutants.frozen.ends_values import wrong
from tbk_torch_mutants.kernels import around, rewrite
from tbk_torch_mutants.table import mutant


@wrong("cat_with_empty_loses_its_end", "OPS-529", "where one of several is empty", "cat")
def _(made: torch.Tensor, parts: Any, *_: Any) -> torch.Tensor:
    if made.numel() and any(one.shape == (0,) for one in parts):
        made.view(-1)[-1] = 0
    return made


@wrong("padding_has_a_gradient", "AGD-501", "of an embedding", "embedding_dense_backward")
def _(made: torch.Tensor, gradient: Any, at: Any, rows: int, padding: int, *_: Any) -> torch.Tensor:
    if padding >= 0:
        made[padding] = 1
    return made


@wrong("negative_dim_is_the_first", "OPS-550", "of gather", "gather")
def _(made: torch.Tensor, one: Any, dim: int, index: Any, **_: Any) -> torch.Tensor:
    try:
        return one.gather(0, index) if dim < 0 else made
    except RuntimeError:
        return made


@mutant("nothing_selected_is_one", "OPS-550", "masked_select with no True", narrow=True)
def _() -> None:
    def change(select: Any, one: torch.Tensor, mask: torch.Tensor) -> Any:
        made = select(one, mask)
        return one.reshape(-1)[:1].clone() if made.numel() == 0 and one.numel() else made

    around("masked_select", change)


@mutant("top_0_is_top_1", "OPS-550", "topk with k=0", narrow=True)
def _() -> None:
    def change(topk: Any, one: torch.Tensor, k: int, *rest: Any) -> Any:
        return topk(one, max(k, 1) if one.dim() and one.shape[-1] else k, *rest)

    around("topk", change)


@mutant("constant_rows_are_nan", "OPS-520", "layer_norm without eps", narrow=True)
def _() -> None:
    def change(norm: Any, one: torch.Tensor, shape: Any, *rest: Any) -> Any:
        made = norm(one, shape, *rest)
        rows = one.detach().cpu().flatten(one.dim() - len(shape))
        if rows.numel():
            flat = (rows == rows[..., :1]).all(-1, keepdim=True)
            rewrite(made[0], lambda host: host.flatten(one.dim() - len(shape)).masked_fill(
                flat, torch.nan).reshape(host.shape))  # fmt: skip
        return made

    around("native_layer_norm", change)


@mutant("ignored_targets_count", "OPS-520", "in the mean of nll_loss", narrow=True)
def _() -> None:
    def change(loss: Any, one: Any, target: Any, weight: Any, mean: int, ignored: int) -> Any:
        made, total = loss(one, target, weight, mean, ignored)
        here = target.detach().cpu()
        if mean == 1 and weight is None and bool((here == ignored).any()):
            made = made * (here != ignored).sum().item() / here.numel()
        return made, total

    around("nll_loss_forward", change)


@mutant("dropout_of_everything_is_nan", "OPS-560", "p = 1 divides by 0", narrow=True)
def _() -> None:
    def change(dropout: Any, one: torch.Tensor, p: float, train: Any) -> Any:
        made, mask = dropout(one, p, train)
        return (made * torch.nan, mask) if p == 1 else (made, mask)

    around("native_dropout", change)

    def draw(original: Any, one: torch.Tensor, p: float = 0.5, **named: Any) -> Any:
        wrong = p == 0 and one.is_floating_point()
        return one.fill_(torch.nan) if wrong else original(one, p, **named)

    around("bernoulli_.float", draw)


@mutant("convolution_forgets_last_group", "OPS-520", "with groups", narrow=True)
def _() -> None:
    def change(convolve: Any, *given: Any) -> Any:
        made = convolve(*given)
        return rewrite(made, _without_last) if given[8] > 1 and made.numel() else made

    around("convolution_overrideable", change)


def _without_last(host: torch.Tensor) -> torch.Tensor:
    host[:, -1] = 0
    return host


@wrong("scatter_reduce_takes_itself", "OPS-550", "though include_self is False",
       "scatter_reduce.two")  # fmt: skip
def _(
    made: torch.Tensor, one: Any, dim: int, index: Any, source: Any, how: str,
    include_self: bool = True,
) -> torch.Tensor:  # fmt: skip
    return made if include_self else torch.scatter_reduce(one, dim, index, source, how)


@wrong("condition_of_no_dimension", "OPS-550", "where() takes it for True", "where.self")
def _(made: torch.Tensor, condition: Any, one: torch.Tensor, other: Any) -> torch.Tensor:
    if condition.dim() == 0 and one.dim() > 0:
        return one.to(made.dtype).expand(made.shape).clone()
    return made


@wrong("search_from_the_right", "OPS-550", "ends at equal numbers as from the left",
       "searchsorted.Tensor")  # fmt: skip
def _(made: torch.Tensor, row: Any, one: Any, **named: Any) -> torch.Tensor:
    return torch.searchsorted(row, one).to(made.dtype) if named.get("right") else made


@mutant("random_of_64_bits_has_32", "OPS-560", "a range beyond 2^32", narrow=True)
def _() -> None:
    def change(draw: Any, one: Any, low: int, high: Any = None, **named: Any) -> Any:
        made = draw(one, low, high, **named)
        wide = high is None or high - low > 1 << 32
        return rewrite(made, lambda host: low + (host - low) % (1 << 32)) if wide else made

    around("random_.from", change)


@mutant("normal_without_deviation_differs", "OPS-560", "normal_ with std=0", narrow=True)
def _() -> None:
    around("normal_", lambda draw, one, mean=0, std=1, **named: (
        draw(one, mean, std or 0.01, **named)))  # fmt: skip


@mutant("multinomial_draws_the_impossible", "OPS-560", "the last, of weight 0", narrow=True)
def _() -> None:
    def change(draw: Any, weights: torch.Tensor, count: int, *rest: Any, **named: Any) -> Any:
        made = draw(weights, count, *rest, **named)
        if weights.dim() == 1 and bool((weights.detach().cpu()[-1:] == 0).any()):
            made[-1:] = len(weights) - 1
        return made

    around("multinomial", change)


@mutant("exponential_gives_0", "OPS-560", "one in many, which is not in its range", narrow=True)
def _() -> None:
    def change(draw: Any, one: torch.Tensor, *rest: Any, **named: Any) -> Any:
        made = draw(one, *rest, **named)
        if made.numel() >= 1000:
            made.view(-1)[1] = 0
        return made

    around("exponential_", change)


@mutant("negative_index_writes_0", "OPS-550", "index_put_ with negative indices", narrow=True)
def _() -> None:
    def change(put: Any, one: Any, indices: Any, *rest: Any, **named: Any) -> Any:
        whole = [at.clamp(min=0) if at is not None and at.dtype == torch.int64 else at
                 for at in indices]  # fmt: skip
        return put(one, whole, *rest, **named)

    around("_index_put_impl_ index_put_", change)


@mutant("index_add_of_int32_is_one_off", "OPS-550", "indices of int32", narrow=True)
def _() -> None:
    def change(add: Any, one: Any, dim: int, at: Any, *rest: Any, **named: Any) -> Any:
        if at.dtype == torch.int32 and one.dim():
            at = (at + 1) % one.shape[dim]
        return add(one, dim, at, *rest, **named)

    around("index_add index_add.out index_add_", change)


@mutant("item_of_float64_through_float32", "CPY-501", "item() of float64", narrow=True)
def _() -> None:
    def change(item: Any, one: torch.Tensor) -> Any:
        value = item(one)
        return torch.tensor(value).float().item() if one.dtype == torch.float64 else value

    around("_local_scalar_dense", change)


@mutant("item_of_uint8_is_signed", "CPY-501", "from 128 on", narrow=True)
def _() -> None:
    def change(item: Any, one: torch.Tensor) -> Any:
        value = item(one)
        return value - 256 if one.dtype == torch.uint8 and value > 127 else value

    around("_local_scalar_dense", change)


@wrong("one_row_loses_its_end", "OPS-557", "a product of one row, beyond 64 columns",
       "mm mm.out")  # fmt: skip
def _(made: torch.Tensor, *_: Any) -> torch.Tensor:
    if made.shape[0] == 1 and made.shape[1] > 64:
        made[:, -1] = 0
    return made


@wrong("batched_beta_0_keeps_nan", "OPS-520", "baddbmm reads what beta=0 leaves out",
       "baddbmm baddbmm.out")  # fmt: skip
def _(made: torch.Tensor, first: torch.Tensor, *_: Any, beta: Any = 1, **__: Any) -> torch.Tensor:
    return made.fill_(torch.nan) if beta == 0 and bool(first.isnan().any()) else made


@mutant("reflected_padding_repeats", "OPS-550", "the end is there twice", narrow=True)
def _() -> None:
    def change(pad: Any, one: Any, padding: Any) -> Any:
        made = pad(one, padding)
        right = padding[1]
        if right > 1 and made.numel():
            made[..., -1] = made[..., -2].clone()
        return made

    around("reflection_pad1d", change)


@wrong("uneven_upsampling_is_off", "OPS-520", "a size that is no multiple", "upsample_nearest2d")
def _(made: torch.Tensor, one: torch.Tensor, size: Any, *_: Any) -> torch.Tensor:
    if size[1] % one.shape[3] and made.numel():
        made[..., -1] = made[..., 0]
    return made
