# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Views: every operator that PyTorch says returns one does, with no copy and no fallback."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest
import torch

if TYPE_CHECKING:
    from torch_tbk import DeviceModule

View = Callable[[torch.Tensor], Any]
aten = torch.ops.aten

# What every operator is called with. Operators that need no other argument stand in PLAIN.
PLAIN = (
    "_neg_view alias contiguous detach diagonal flatten.using_ints lift_fresh mT "
    "positive ravel real resolve_conj resolve_neg slice.Tensor squeeze unbind.int "
    "_test_autograd_multiple_dispatch_view mH adjoint"
)
WITH: dict[str, View] = {
    "_reshape_alias": lambda x: aten._reshape_alias(x, [4, 6], [6, 1]),
    "as_strided": lambda x: aten.as_strided(x, [2, 2], [3, 1], 5),
    "broadcast_to": lambda x: aten.broadcast_to(x, [5, 2, 3, 4]),
    "chunk": lambda x: aten.chunk(x, 2, 2),
    "dsplit.array": lambda x: aten.dsplit.array(x, [1, 3]),
    "dsplit.int": lambda x: aten.dsplit.int(x, 2),
    "expand": lambda x: aten.expand(x, [5, 2, 3, 4]),
    "expand_as": lambda x: aten.expand_as(x, torch.empty(5, 2, 3, 4)),
    "hsplit.array": lambda x: aten.hsplit.array(x, [1, 2]),
    "hsplit.int": lambda x: aten.hsplit.int(x, 3),
    "matrix_H": lambda x: aten.matrix_H(x[1]),
    "linalg_diagonal": lambda x: aten.linalg_diagonal(x, offset=1),
    "moveaxis.int": lambda x: aten.moveaxis.int(x, 0, 2),
    "moveaxis.intlist": lambda x: aten.moveaxis.intlist(x, [0, 1], [2, 0]),
    "movedim.int": lambda x: aten.movedim.int(x, 0, 2),
    "movedim.intlist": lambda x: aten.movedim.intlist(x, [0, 1], [2, 0]),
    "narrow": lambda x: aten.narrow(x, 2, 1, 2),
    "narrow.Tensor": lambda x: aten.narrow.Tensor(x, 2, torch.tensor(1), 2),
    "permute": lambda x: aten.permute(x, [2, 0, 1]),
    "reshape": lambda x: aten.reshape(x, [6, 4]),
    "reshape_as": lambda x: aten.reshape_as(x, torch.empty(6, 4)),
    "select.int": lambda x: aten.select.int(x, 1, 2),
    "slice.Tensor": lambda x: aten.slice.Tensor(x, 2, 1, None, 2),
    "split.Tensor": lambda x: aten.split.Tensor(x, 2, 2),
    "split.sizes": lambda x: aten.split.sizes(x, [1, 3], 2),
    "split_with_sizes": lambda x: aten.split_with_sizes(x, [1, 3], 2),
    "squeeze.dim": lambda x: aten.squeeze.dim(x[:1], 0),
    "squeeze.dims": lambda x: aten.squeeze.dims(x[:1], [0, 1]),
    "swapaxes": lambda x: aten.swapaxes(x, 0, 2),
    "swapdims": lambda x: aten.swapdims(x, 0, 2),
    "t": lambda x: aten.t(x[1]),
    "numpy_T": lambda x: aten.numpy_T(x[1]),
    "tensor_split.indices": lambda x: aten.tensor_split.indices(x, [1, 2], 2),
    "tensor_split.sections": lambda x: aten.tensor_split.sections(x, 3, 2),
    "tensor_split.tensor_indices_or_sections": lambda x: (
        aten.tensor_split.tensor_indices_or_sections(x, torch.tensor([1, 2]), 2)
    ),
    "to.device": lambda x: aten.to.device(x, x.device, x.dtype),
    "to.dtype": lambda x: aten.to.dtype(x, x.dtype),
    "to.dtype_layout": lambda x: aten.to.dtype_layout(x, device=x.device),
    "to.other": lambda x: aten.to.other(x, x[0]),
    "transpose.int": lambda x: aten.transpose.int(x, 0, 2),
    "unflatten.int": lambda x: aten.unflatten.int(x, 2, [2, 2]),
    "unfold": lambda x: aten.unfold(x, 2, 3, 1),
    "unsqueeze": lambda x: aten.unsqueeze(x, 1),
    "view": lambda x: aten.view(x, [4, 6]),
    "view.dtype": lambda x: aten.view.dtype(x, torch.int16),
    "view_as": lambda x: aten.view_as(x, torch.empty(4, 6)),
    "vsplit.array": lambda x: aten.vsplit.array(x, [1]),
    "vsplit.int": lambda x: aten.vsplit.int(x, 2),
    "slice_inverse": lambda x: aten.slice_inverse(x[:, :, :2], x, 2, 0, 2),
}
COMPLEX: dict[str, View] = {
    "_conj": aten._conj,
    "conj": aten.conj,
    "adjoint": aten.adjoint,
    "imag": aten.imag,
    "mH": aten.mH,
    "real": aten.real,
    "view_as_real": aten.view_as_real,
}
PAIRS: dict[str, View] = {
    "view_as_complex": lambda x: aten.view_as_complex(aten.view(x, [2, 3, 2, 2]))
}
# Not of a dense tensor of one device, with the reason.
OTHERS = {
    "of sparse tensors": "_indices _values indices values crow_indices col_indices ccol_indices "
    "row_indices coalesce _sparse_broadcast_to",
    "of nested tensors": "_nested_get_values _nested_view_from_buffer _nested_view_from_jagged",
    "of the host": "pin_memory",
    "of forward-mode differentiation, below": "_fw_primal _make_dual _unpack_dual",
    "of the compiler for CUDA": "_autocast_to_full_precision _autocast_to_reduced_precision",
}


# With "aten::"; TorchScript has operators besides, which the dispatcher does not know.
OPERATORS = frozenset(torch._C._dispatch_get_all_op_names())


def schemas_of_views() -> Iterator[str]:
    """Yields those of views, but for dimensions with names, which PyTorch 2.13 has no longer."""
    for schema in torch._C._jit_get_all_schemas():
        if any("str" in str(argument.type) for argument in schema.arguments):
            continue
        aliases = [value.alias_info for value in schema.returns]
        if not any(alias is not None and not alias.is_write for alias in aliases):
            continue
        name = schema.name + (f".{schema.overload_name}" if schema.overload_name else "")
        if name.startswith("aten::") and name in OPERATORS:
            yield name.removeprefix("aten::")


def operator(name: str) -> View:
    base, _, overload = name.partition(".")
    found: View = getattr(getattr(aten, base), overload or "default")
    return found


def calls() -> dict[str, View]:
    return {name: operator(name) for name in PLAIN.split()} | WITH


def real_input(device: torch.device | str) -> torch.Tensor:
    return torch.arange(24, dtype=torch.float32).reshape(2, 3, 4).to(device)


def complex_input(device: torch.device | str) -> torch.Tensor:
    real = torch.arange(24, dtype=torch.float32).reshape(2, 3, 4)
    return torch.complex(real, -real - 1).to(device)


def results(out: Any) -> list[torch.Tensor]:
    return [out] if isinstance(out, torch.Tensor) else list(out)


CASES = [
    pytest.param(call, source, id=f"{name}-{source.__name__}")
    for table, source in ((calls(), real_input), (COMPLEX, complex_input), (PAIRS, real_input))
    for name, call in table.items()
]


@pytest.mark.parametrize(("call", "source"), CASES)
def test_a_view_shares_the_storage(
    backend: DeviceModule,
    device: torch.device,
    call: View,
    source: Callable[[torch.device | str], torch.Tensor],
) -> None:
    base, host = source(device), source("cpu")
    allocated, fallen = backend.memory_allocated(device), backend.fallbacks()
    views, expected = results(call(base)), results(call(host))
    assert backend.memory_allocated(device) == allocated
    assert backend.fallbacks() == fallen
    assert len(views) == len(expected)
    for view, want in zip(views, expected, strict=True):
        assert view.untyped_storage()._cdata == base.untyped_storage()._cdata
        assert view.device == device
        assert view.stride() == want.stride()
        assert view.storage_offset() == want.storage_offset()
        assert (view.is_conj(), view.is_neg()) == (want.is_conj(), want.is_neg())
        torch.testing.assert_close(view.cpu(), want, rtol=0, atol=0)


def test_every_view_operator_is_among_them() -> None:
    others = " ".join(OTHERS.values()).split()
    known = {*calls(), *COMPLEX, *PAIRS, *others}
    assert known == set(schemas_of_views())


def test_a_write_goes_both_ways(device: torch.device) -> None:
    base, host = real_input(device), real_input("cpu")
    for each in (base, host):
        each.transpose(0, 2)[1:3, 0].fill_(100)
        each[1].t()[2].mul_(-1)
        each.view(4, 6)[:, 2:4].copy_(torch.arange(8.0).reshape(4, 2))
    view = base.permute(2, 1, 0)
    base[0, 0, 0] = 77
    host[0, 0, 0] = 77
    assert torch.equal(base.cpu(), host)
    assert torch.equal(view.cpu(), host.permute(2, 1, 0))


def test_versions_of_a_view_and_its_base_are_one(device: torch.device) -> None:
    base = torch.ones(4, device=device, requires_grad=True).clone()
    product = base * base
    base[:2].zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.sum().backward()


def test_a_view_keeps_the_memory(backend: DeviceModule, device: torch.device) -> None:
    view = torch.arange(1000, device=device)[10:12]
    torch.zeros(1000, dtype=torch.int64, device=device)
    assert view.tolist() == [10, 11]


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda x: x.view(5, 5), "invalid for input of size"),
        (lambda x: x.t().view(-1), "view size is not compatible"),
        (lambda x: x.as_strided([3], [-1]), "Negative strides"),
        (lambda x: x.as_strided([30], [1]), "out of bounds"),
        (lambda x: x.unfold(0, 9, 1), "maximum size"),
        (lambda x: x[:, :3].view(torch.int64), "must be divisible"),
        (lambda x: torch.view_as_complex(x[:, :3]), "must have a last dimension of size 2"),
    ],
)
def test_a_wrong_view_is_refused(device: torch.device, call: View, error: str) -> None:
    matrix = torch.arange(16.0).reshape(4, 4).to(device)
    with pytest.raises(RuntimeError, match=error):
        call(matrix)


# PyTorch's own forward mode scripts its formulas when it is first used; 2.14 has another category.
@pytest.mark.filterwarnings("ignore:`torch.jit.script:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:`torch.jit.script:FutureWarning")
def test_views_of_duals_share_the_storage(device: torch.device) -> None:
    primal, tangent = real_input(device), torch.ones(2, 3, 4, device=device)
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(primal, tangent)
        back = torch.autograd.forward_ad.unpack_dual(dual)
        assert back.primal.untyped_storage()._cdata == primal.untyped_storage()._cdata
        assert back.tangent is not None
        assert torch.equal(back.tangent.cpu(), tangent.cpu())
