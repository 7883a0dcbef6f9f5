# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Random numbers that are drawn by programs: the same bits on every backend."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest
import torch
from route_samples.randoms import OFFSET, SEED, words

if TYPE_CHECKING:
    from torch_tbk import DeviceModule

COUNT = 257
REAL = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
DIGITS = {torch.float32: 24, torch.float64: 53, torch.float16: 11, torch.bfloat16: 8}
DRAWS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "uniform_": lambda x: x.uniform_(-1, 3),
    "normal_": lambda x: x.normal_(2, 0.5),
    "exponential_": lambda x: x.exponential_(2),
    "bernoulli_": lambda x: x.bernoulli_(0.25),
    "random_.from": lambda x: x.random_(-3, 100),
    "random_.to": lambda x: x.random_(100),
    "random_": torch.Tensor.random_,
}


@pytest.fixture(autouse=True)
def seeded(backend: DeviceModule, device: torch.device) -> Iterator[None]:
    states = backend.get_rng_state_all()
    backend.default_generators[device.index].manual_seed(SEED)
    backend.default_generators[device.index].set_offset(OFFSET)
    yield
    backend.set_rng_state_all(states)


pytestmark = pytest.mark.usefixtures("takes_programs")


@pytest.mark.parametrize("dtype", REAL)
def test_uniform_numbers_are_those_bits(dtype: torch.dtype, device: torch.device) -> None:
    digits = DIGITS[dtype]
    bits = [(w[0] << 32 | w[1]) >> (64 - digits) for w in words(COUNT)]
    expected = torch.tensor(bits, dtype=torch.float64).mul(2.0**-digits).to(dtype)
    assert torch.equal(torch.empty(COUNT, dtype=dtype, device=device).uniform_().cpu(), expected)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bool, torch.int8, torch.int64])
def test_chances_are_those_bits(dtype: torch.dtype, device: torch.device) -> None:
    expected = torch.tensor([w[0] < 2**32 // 4 for w in words(COUNT)]).to(dtype)
    drawn = torch.empty(COUNT, dtype=dtype, device=device).bernoulli_(0.25)
    assert torch.equal(drawn.cpu(), expected)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int16, torch.int32, torch.int64, *REAL])
def test_whole_numbers_are_those_bits(dtype: torch.dtype, device: torch.device) -> None:
    bits = [(w[0] << 32 | w[1]) >> 1 for w in words(COUNT)]
    expected = torch.tensor([each % 90 + 7 for each in bits]).to(dtype)
    drawn = torch.empty(COUNT, dtype=dtype, device=device).random_(7, 97)
    assert torch.equal(drawn.cpu(), expected)


@pytest.mark.parametrize("name", DRAWS)
def test_the_layout_changes_no_number(
    name: str, backend: DeviceModule, device: torch.device
) -> None:
    generator = backend.default_generators[device.index]
    whole = DRAWS[name](torch.empty(6, 5, 4, device=device)).cpu()
    generator.manual_seed(SEED)
    generator.set_offset(OFFSET)
    room = torch.full((4, 12, 5), 7.5, device=device)
    strided = DRAWS[name](room.permute(1, 2, 0)[::2])
    assert torch.equal(strided.cpu(), whole)
    assert torch.equal(room.cpu()[:, 1::2], torch.full((4, 6, 5), 7.5))


@pytest.mark.parametrize("name", DRAWS)
def test_each_draw_takes_its_own_words(
    name: str, backend: DeviceModule, device: torch.device
) -> None:
    generator = backend.default_generators[device.index]
    first = DRAWS[name](torch.empty(COUNT, device=device)).cpu()
    assert generator.get_offset() == OFFSET + 4 * COUNT
    assert not torch.equal(DRAWS[name](torch.empty(COUNT, device=device)).cpu(), first)
    before = generator.get_offset()
    DRAWS[name](torch.empty(0, device=device))
    assert generator.get_offset() == before


@pytest.mark.parametrize("name", DRAWS)
def test_nothing_falls_back(name: str, backend: DeviceModule, device: torch.device) -> None:
    backend.reset_fallbacks()
    DRAWS[name](torch.empty(5, device=device))
    assert backend.fallbacks() == []


@pytest.mark.parametrize("dtype", REAL)
def test_numbers_keep_their_bounds(dtype: torch.dtype, device: torch.device) -> None:
    x = torch.empty(1 << 16, dtype=dtype, device=device)
    below = x.uniform_(0, 1).cpu()
    assert bool(((below >= 0) & (below < 1)).all())
    narrow = x.uniform_(1, 1 + 2 * torch.finfo(dtype).eps).cpu().double()
    assert set(narrow.unique().tolist()) <= {1.0, 1.0 + torch.finfo(dtype).eps}
    assert bool((x.exponential_().cpu() > 0).all())
    assert bool(x.normal_().cpu().isfinite().all())


@pytest.mark.parametrize("dtype", REAL)
def test_numbers_are_spread_as_they_should(dtype: torch.dtype, device: torch.device) -> None:
    # The bounds are of six deviations of the mean, and for the square three times its own.
    x = torch.empty(1 << 16, dtype=dtype, device=device)
    normal = x.normal_(1, 2).cpu().double()
    assert abs(normal.mean() - 1) < 6 * 2 / 256
    assert abs(normal.std() - 2) < 0.05
    assert abs((normal > 3).double().mean() - 0.1587) < 0.01
    assert abs(x.exponential_(4).cpu().double().mean() - 0.25) < 0.01
    assert abs(x.bernoulli_(0.3).cpu().double().mean() - 0.3) < 0.012


@pytest.mark.parametrize("p", [0.0, 1.0])
def test_a_chance_of_all_or_nothing_is_one(p: float, device: torch.device) -> None:
    drawn = torch.empty(1 << 14, device=device).bernoulli_(p)
    assert torch.equal(drawn.cpu(), torch.full((1 << 14,), p))


@pytest.mark.parametrize(
    "wrong",
    [
        lambda x: x.uniform_(2, 1),
        lambda x: x.normal_(0, -1),
        lambda x: x.exponential_(0),
        lambda x: x.bernoulli_(1.5),
        lambda x: x.random_(5, 5),
        lambda x: x.to(torch.int8).random_(0, 300),
        lambda x: x[:1].expand(4).uniform_(),
        lambda x: x.uniform_(generator=torch.Generator()),
        lambda x: x[:0].uniform_(generator=torch.Generator()),
    ],
)
def test_what_pytorch_refuses_is_refused(
    wrong: Callable[[torch.Tensor], object], device: torch.device
) -> None:
    with pytest.raises(RuntimeError):
        wrong(torch.ones(4, device=device))


@pytest.mark.parametrize(
    ("dtype", "most"), [(torch.uint8, 255), (torch.int8, 127), (torch.bool, 1)]
)
def test_all_values_of_a_dtype_are_drawn(
    dtype: torch.dtype, most: int, device: torch.device
) -> None:
    drawn = torch.empty(1 << 16, dtype=dtype, device=device).random_().cpu().long()
    assert drawn.unique().tolist() == list(range(most + 1))
