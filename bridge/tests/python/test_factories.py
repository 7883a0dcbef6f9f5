# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Every operator that makes a tensor of nothing."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
import torch

if TYPE_CHECKING:
    from torch_tbk import DeviceModule

Factory = Callable[..., torch.Tensor]
aten = torch.ops.aten

# By name of the overload. Called with the device, and without, to compare.
EXACT: dict[str, Factory] = {
    "arange": lambda **k: torch.arange(7, **k),
    "arange.start": lambda **k: torch.arange(2, 7, **k),
    "arange.start_step": lambda **k: torch.arange(1, 7, 2.5, **k),
    "bartlett_window": lambda **k: torch.bartlett_window(7, **k),
    "bartlett_window.periodic": lambda **k: torch.bartlett_window(7, False, **k),
    "blackman_window": lambda **k: torch.blackman_window(7, **k),
    "blackman_window.periodic": lambda **k: torch.blackman_window(7, False, **k),
    "eye": lambda **k: torch.eye(3, **k),
    "eye.m": lambda **k: torch.eye(3, 5, **k),
    "full": lambda **k: torch.full((2, 3), 2.5, **k),
    "hamming_window": lambda **k: torch.hamming_window(7, **k),
    "hamming_window.periodic": lambda **k: torch.hamming_window(7, False, **k),
    "hamming_window.periodic_alpha": lambda **k: torch.hamming_window(7, True, 0.5, **k),
    "hamming_window.periodic_alpha_beta": lambda **k: torch.hamming_window(7, True, 0.5, 0.4, **k),
    "hann_window": lambda **k: torch.hann_window(7, **k),
    "hann_window.periodic": lambda **k: torch.hann_window(7, False, **k),
    "kaiser_window": lambda **k: torch.kaiser_window(7, **k),
    "kaiser_window.periodic": lambda **k: torch.kaiser_window(7, False, **k),
    "kaiser_window.beta": lambda **k: torch.kaiser_window(7, True, 8.0, **k),
    "linspace": lambda **k: torch.linspace(1, 9, 5, **k),
    "linspace.Tensor_Tensor": lambda **k: torch.linspace(torch.tensor(1), torch.tensor(9), 5, **k),
    "linspace.Tensor_Scalar": lambda **k: torch.linspace(torch.tensor(1), 9, 5, **k),
    "linspace.Scalar_Tensor": lambda **k: torch.linspace(1, torch.tensor(9), 5, **k),
    "logspace": lambda **k: torch.logspace(1, 3, 5, **k),
    "logspace.Tensor_Tensor": lambda **k: torch.logspace(torch.tensor(1), torch.tensor(3), 5, **k),
    "logspace.Tensor_Scalar": lambda **k: torch.logspace(torch.tensor(1), 3, 5, **k),
    "logspace.Scalar_Tensor": lambda **k: torch.logspace(1, torch.tensor(3), 5, **k),
    "ones": lambda **k: torch.ones(2, 3, **k),
    "range": lambda **k: aten.range(1, 5, **k),
    "range.step": lambda **k: aten.range.step(1, 5, 2, **k),
    "scalar_tensor": lambda **k: torch.scalar_tensor(2.5, **k),
    "tril_indices": lambda **k: torch.tril_indices(4, 3, -1, **k),
    "triu_indices": lambda **k: torch.triu_indices(4, 3, 1, **k),
    "zeros": lambda **k: torch.zeros(2, 3, **k),
    "_efficientzerotensor": lambda **k: aten._efficientzerotensor([2, 3], **k).clone(),
    "fft_fftfreq": lambda **k: torch.fft.fftfreq(5, **k),
    "fft_rfftfreq": lambda **k: torch.fft.rfftfreq(5, **k),
}
DTYPES_OF_A_FILL = [
    torch.float16,
    torch.bfloat16,
    torch.float8_e4m3fn,
    torch.float32,
    torch.int32,
    torch.uint8,
    torch.bool,
    torch.complex64,
]
# The values are the device's own: only that they fit, and that they repeat with the seed.
RANDOM: dict[str, tuple[Factory, float, float]] = {
    "normal.float_float": (lambda **k: torch.normal(0.0, 1.0, (500,), **k), -7, 7),
    "rand": (lambda **k: torch.rand(500, **k), 0, 1),
    "rand.generator": (lambda **k: torch.rand(500, **k), 0, 1),
    "randint": (lambda **k: torch.randint(9, (500,), **k), 0, 8),
    "randint.generator": (lambda **k: torch.randint(9, (500,), **k), 0, 8),
    "randint.low": (lambda **k: torch.randint(-3, 9, (500,), **k), -3, 8),
    "randint.low_generator": (lambda **k: torch.randint(-3, 9, (500,), **k), -3, 8),
    "randn": (lambda **k: torch.randn(500, **k), -7, 7),
    "randn.generator": (lambda **k: torch.randn(500, **k), -7, 7),
    "randperm": (lambda **k: torch.randperm(500, **k), 0, 499),
    "randperm.generator": (lambda **k: torch.randperm(500, **k), 0, 499),
}
# The values are not set, or what is made is no dense tensor of numbers.
OTHERS = (
    "empty.memory_format empty_strided empty_permuted "
    "empty.names full.names ones.names rand.names rand.generator_with_names randn.names "
    "randn.generator_with_names zeros.names "
    "_cudnn_init_dropout_state _empty_affine_quantized _empty_per_channel_affine_quantized "
    "empty_quantized from_file _compressed_tensor sparse_coo_tensor.size "
    "_sparse_compressed_tensor_with_dims _make_dep_token "
    "_sparse_coo_tensor_with_dims tensor.bool tensor.float tensor.int tensor.complex "
)


def schemas_of_factories() -> set[str]:
    """Of the dispatcher, with a device and no tensor among the arguments."""
    known = frozenset(torch._C._dispatch_get_all_op_names())
    found = set()
    for schema in torch._C._jit_get_all_schemas():
        name = schema.name + (f".{schema.overload_name}" if schema.overload_name else "")
        types = {argument.name: str(argument.type) for argument in schema.arguments}
        # Bounds may be tensors, of the host.
        between = name.startswith(("aten::linspace", "aten::logspace"))
        if name not in known or not name.startswith("aten::") or "device" not in types:
            continue
        if between or not any("Tensor" in kind for kind in types.values()):
            found.add(name.removeprefix("aten::"))
    return found


@pytest.mark.parametrize("name", EXACT)
def test_the_values_are_those_of_the_host(device: torch.device, name: str) -> None:
    for options in ({}, {"dtype": torch.float64}, {"dtype": torch.int64}):
        arguments: dict[str, Any] = options
        try:
            want = EXACT[name](**arguments)
        except RuntimeError:
            with pytest.raises(RuntimeError):
                EXACT[name](device=device, **arguments)
            continue
        made = EXACT[name](device=device, **arguments)
        assert (made.device, made.dtype, made.shape) == (device, want.dtype, want.shape)
        torch.testing.assert_close(made.cpu(), want)


@pytest.mark.parametrize("name", RANDOM)
def test_random_values_fit_and_repeat(
    backend: DeviceModule, device: torch.device, name: str
) -> None:
    factory, low, high = RANDOM[name]
    generator = torch.Generator(device) if "generator" in name else None
    arguments: dict[str, Any] = {"generator": generator} if generator else {}
    draws = []
    for _ in range(2):
        if generator:
            generator.manual_seed(5)
        else:
            torch.manual_seed(5)
        draws += [factory(device=device, **arguments), factory(device=device, **arguments)]
    first, second, again, _ = (draw.cpu() for draw in draws)
    assert all(draw.device == device for draw in draws)
    assert torch.equal(first, again)
    assert not torch.equal(first, second)
    assert low <= first.min() < first.max() <= high
    assert first.unique().numel() > 4


def test_every_factory_is_among_them() -> None:
    known = {*EXACT, *RANDOM, *OTHERS.split()}
    assert schemas_of_factories() <= known, schemas_of_factories() - known


def test_like_another_tensor(device: torch.device, other_device: torch.device) -> None:
    like = torch.arange(6.0, device=device).reshape(2, 3).t()
    for made in (torch.zeros_like(like), torch.full_like(like, 3), torch.ones_like(like)):
        assert (made.device, made.stride()) == (device, like.stride())
    assert torch.full_like(like, 3).tolist() == [[3, 3]] * 3
    assert torch.rand_like(like).device == device
    assert torch.randint_like(like, 2, 5).min() >= 2
    assert torch.zeros_like(like, device=other_device).device == other_device
    assert torch.zeros_like(like, device="cpu").device.type == "cpu"
    assert like.new_full((2,), 4).tolist() == [4, 4]
    assert like.new_tensor([1, 2]).device == device


@pytest.mark.parametrize("value", [1 << 40, 1e30, 1j, float("inf"), 2.5])
@pytest.mark.parametrize("dtype", DTYPES_OF_A_FILL, ids=str)
def test_what_does_not_fit_is_refused_as_on_the_host(
    device: torch.device, dtype: torch.dtype, value: complex
) -> None:
    for shape in ((), (1,), (4,), (0,), (2, 3)):
        try:
            want = torch.zeros(shape, dtype=dtype).fill_(value)
        except RuntimeError as error:
            with pytest.raises(RuntimeError, match=re.escape(str(error))):
                torch.zeros(shape, dtype=dtype, device=device).fill_(value)
            continue
        made = torch.zeros(shape, dtype=dtype, device=device).fill_(value).cpu()
        assert made.dtype == dtype
        assert str(made) == str(want)


def test_of_data(device: torch.device) -> None:
    for data in (2.5, [1, 2], [[True], [False]], [1 + 2j], torch.arange(3)):
        made = torch.as_tensor(data, device=device)
        assert made.device == device
        assert torch.equal(made.cpu(), torch.as_tensor(data))
    assert torch.tensor([1.5], device=device, requires_grad=True).requires_grad
    assert (
        torch.complex(torch.ones(2, device=device), torch.zeros(2, device=device)).device == device
    )
