# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Products of matrices, attention and convolutions."""

from __future__ import annotations

import torch
from torch.nn import functional as nnf

from route_samples.sample import Sample, Tensor, learned, of, real, written

ONE, OTHER, SUMMAND = real(4, 4), real(4, 4, seed=1), real(4, 4, seed=2)
BATCH, OTHERS = real(3, 4, 4), real(3, 4, 4, seed=1)
QUERY, KEY, VALUE = (real(2, 2, 4, 4, seed=seed) for seed in range(3))
MASK = torch.tensor([[True, False, True, True], [True, True, False, True],
                     [False, False, True, True], [True, True, True, False]])  # fmt: skip


def scaled(function: object, summand: Tensor, *operands: Tensor) -> Sample:
    return of(lambda c, a, b: function(c, a, b, beta=0.5, alpha=3), summand, *operands)  # type: ignore[operator]


PRODUCTS: dict[str, Sample] = {
    "mm": learned(torch.mm, ONE, OTHER),
    "mm of turned ones": of(lambda a, b: a.t() @ b.t(), ONE, OTHER),
    "mm of doubles": of(torch.mm, real(3, 5, dtype=torch.float64), real(5, 2, dtype=torch.float64)),
    "mm of halves": of(torch.mm, real(3, 5, dtype=torch.bfloat16),
                       real(5, 2, dtype=torch.bfloat16)),
    "bmm": learned(torch.bmm, BATCH, OTHERS),
    "matmul of a broadcast": learned(torch.matmul, BATCH, OTHER),
    "addmm": scaled(torch.addmm, SUMMAND, ONE, OTHER),
    "addmm of a row": scaled(torch.addmm, SUMMAND[0], ONE, OTHER),
    "addmm without a summand": of(lambda c, a, b: torch.addmm(c, a, b, beta=0), SUMMAND * torch.nan,
                                  ONE, OTHER),
    "addmm in place": written(lambda c, a, b: c.addmm_(a, b, alpha=2, beta=3), SUMMAND, ONE, OTHER),
    "baddbmm": scaled(torch.baddbmm, real(3, 4, 4, seed=2), BATCH, OTHERS),
    "addbmm": scaled(torch.addbmm, SUMMAND, BATCH, OTHERS),
    "addmv": scaled(torch.addmv, SUMMAND[0], ONE, OTHER[1]),
    "addr": scaled(torch.addr, SUMMAND, ONE[0], OTHER[1]),
    "mv": of(torch.mv, ONE, OTHER[0]),
    "dot": of(torch.dot, ONE[0], OTHER[:, 0]),
    "linear": learned(nnf.linear, real(2, 3, 4), real(4, 4, seed=1), real(4, seed=2)),
    "einsum": of(lambda a, b: torch.einsum("bij,bkj->bik", a, b), BATCH, OTHERS),
}  # fmt: skip


def encoder(x: Tensor) -> Tensor:
    """Attention that does not learn calls operators of its own."""
    torch.manual_seed(3)
    layer = torch.nn.MultiheadAttention(4, 2, batch_first=True).eval()
    for one in (layer.in_proj_bias, layer.out_proj.bias):
        torch.nn.init.normal_(one)  # which are 0 otherwise
    layer.to(x.device)
    hidden = torch.tensor([[False, False, True, True], [False, True, False, True]]).to(x.device)
    with torch.no_grad():
        made: Tensor = layer(x, x, x, key_padding_mask=hidden)[0]
    return made


ATTENTION: dict[str, Sample] = {
    "plain": learned(nnf.scaled_dot_product_attention, QUERY, KEY, VALUE),
    "masked": learned(
        lambda q, k, v, m: nnf.scaled_dot_product_attention(q, k, v, attn_mask=m),
        QUERY, KEY, VALUE, fixed=[MASK],
    ),
    "causal": learned(
        lambda q, k, v: nnf.scaled_dot_product_attention(q, k, v, is_causal=True),
        QUERY, KEY, VALUE,
    ),
    "of several heads": of(encoder, real(2, 4, 4)),
}  # fmt: skip


def convolution(function: object, *sizes: tuple[int, ...], **named: object) -> Sample:
    """Returns a sample with all gradients, of input, weight and, where it is there, bias."""
    operands = [real(*each, seed=seed) for seed, each in enumerate(sizes)]
    return learned(lambda *given: function(*given, **named), *operands)  # type: ignore[operator]


C2, T2 = nnf.conv2d, nnf.conv_transpose2d
CONVOLUTIONS: dict[str, Sample] = {
    "lines": convolution(nnf.conv1d, (2, 3, 9), (4, 3, 3), (4,), stride=2, padding=1),
    "images": convolution(C2, (2, 3, 6, 6), (4, 3, 3, 3), (4,)),
    "all but groups": convolution(C2, (2, 2, 9, 9), (4, 2, 3, 3), (4,), stride=(2, 1),
                                  padding=(1, 2), dilation=(1, 2)),
    "groups": convolution(C2, (2, 4, 5, 5), (6, 2, 3, 3), groups=2),
    "depthwise": convolution(C2, (2, 3, 5, 5), (3, 1, 3, 3), (3,), groups=3, padding=1),
    "transposed": convolution(T2, (2, 3, 4, 4), (3, 4, 3, 3), (4,), stride=(2, 3), padding=(0, 1),
                              output_padding=(1, 0)),
    "transposed in groups": convolution(T2, (2, 4, 4, 4), (4, 2, 3, 3), groups=2, dilation=(2, 1)),
    "volumes": convolution(nnf.conv3d, (1, 2, 4, 4, 4), (3, 2, 2, 2, 2), (3,), padding=(1, 0, 0)),
    "last channels": of(nnf.conv2d, real(2, 3, 5, 5).to(memory_format=torch.channels_last),
                        real(4, 3, 3, 3, seed=1)),
}  # fmt: skip
FAMILIES = {"products": PRODUCTS, "attention": ATTENTION, "convolutions": CONVOLUTIONS}
