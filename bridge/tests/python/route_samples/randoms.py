# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Random numbers by programs. Those of the host are computed here, as the definition has them."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch

from route_samples.sample import Place, Sample, Tensor

SEED, OFFSET, COUNT = 0x0123456789ABCDEF, 40, 64
MASK = 0xFFFFFFFF
Words = list[int]


def philox(block: int) -> Words:
    """Returns the four words of a block of the seed's."""
    counter, key = [block & MASK, block >> 32, 0, 0], [SEED & MASK, SEED >> 32]
    for _ in range(10):
        high, low = divmod(0xD2511F53 * counter[0], 1 << 32)
        other_high, other_low = divmod(0xCD9E8D57 * counter[2], 1 << 32)
        counter = [other_high ^ counter[1] ^ key[0], other_low, high ^ counter[3] ^ key[1], low]
        key = [(key[0] + 0x9E3779B9) & MASK, (key[1] + 0xBB67AE85) & MASK]
    return counter


def words(count: int) -> list[Words]:
    """Returns what each element is made of."""
    return [philox(OFFSET // 4 + i) for i in range(count)]


def seeded(draw: Callable[[torch.device], Tensor], expected: Callable[[], Tensor]) -> Sample:
    """Returns a sample of what is drawn by the seed; of the host what it should be."""

    def run(place: Place) -> list[Tensor]:
        if place.is_host:
            return [expected()]
        module = getattr(torch, place.device.type)
        generator = module.default_generators[place.device.index]
        before = generator.get_state()
        generator.manual_seed(SEED)
        generator.set_offset(OFFSET)
        here = draw(place.device)
        generator.set_state(before)
        return [here]

    return run


def drawn(draw: Callable[[Tensor], object], of_words: Callable[[Words], float]) -> Sample:
    def fill(device: torch.device) -> Tensor:
        here = torch.empty(COUNT, device=device)
        draw(here)
        return here

    return seeded(fill, lambda: torch.tensor([float(of_words(each)) for each in words(COUNT)]))


def _fraction(word: Words) -> float:
    return ((word[0] << 32 | word[1]) >> 40) * 2.0**-24


def _above_0(word: Words) -> float:
    return ((word[0] << 32 | word[1]) >> 41) * 2.0**-23 + 2.0**-24


def _normal(word: Words) -> float:
    """Returns one of the two numbers of Box and Muller."""
    turn = ((word[2] << 32 | word[3]) >> 41) * 2.0**-23
    return math.sqrt(-2 * math.log(_above_0(word))) * math.cos(2 * math.pi * turn)


CHANCES = torch.tensor([[0.0, 1.0, 3.0, 0.5], [5.0, 0.0, 0.25, 2.0]])


def _order() -> Tensor:
    """Returns where the drawn words of 63 bits are, the least first."""
    return torch.tensor([(w[0] << 32 | w[1]) >> 1 for w in words(COUNT)]).argsort()


def _waited() -> Tensor:
    """Returns each category's chance by the time that it waits."""
    times = [-math.log(_above_0(w)) for w in words(CHANCES.numel())]
    return CHANCES / torch.tensor(times).view(CHANCES.shape)


RANDOM: dict[str, Sample] = {
    "uniform_": drawn(lambda x: x.uniform_(-1, 3), lambda w: _fraction(w) * 4 - 1),
    "uniform_ without its end": drawn(
        lambda x: x.uniform_(2**24, 2**24 + 2).sub_(2**24), lambda _: 0
    ),
    "normal_": drawn(lambda x: x.normal_(2, 0.5), lambda w: _normal(w) * 0.5 + 2),
    "exponential_": drawn(lambda x: x.exponential_(2), lambda w: -math.log(_above_0(w)) / 2),
    "bernoulli_": drawn(lambda x: x.bernoulli_(0.25), lambda w: w[0] < 2**32 // 4),
    "random_": drawn(lambda x: x.random_(7, 97),
                     lambda w: ((w[0] << 32 | w[1]) >> 1) % 90 + 7),
}  # fmt: skip
CHOICES: dict[str, Sample] = {
    "randperm": seeded(lambda device: torch.randperm(COUNT, device=device), _order),
    "multinomial": seeded(lambda device: torch.multinomial(CHANCES.to(device), 2),
                          lambda: _waited().topk(2).indices),
    "multinomial of one": seeded(lambda device: torch.multinomial(CHANCES.to(device), 1),
                                 lambda: _waited().argmax(1, keepdim=True)),
}  # fmt: skip
FAMILIES = {"random": RANDOM, "choices": CHOICES}
