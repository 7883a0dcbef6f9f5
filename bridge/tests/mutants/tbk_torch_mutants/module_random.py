# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Random numbers: the module's functions, and operators that draw."""

from __future__ import annotations

import functools
import itertools
from typing import Any

import torch

from tbk_torch_mutants import kernels, table
from tbk_torch_mutants.module_device import answer, module, patch

mutant = functools.partial(table.mutant, mechanism="module")
operator = table.mutant

DRAWS = "random_ random_.from random_.to uniform_ normal_ bernoulli_.float exponential_"


@mutant("manual_seed_all_does_nothing", "GEN-511", "no device is seeded")
def _() -> None:
    answer(module(), "manual_seed_all", None)


@mutant("manual_seed_all_seeds_device_0", "GEN-511", "only device 0 is seeded", narrow=True)
def _() -> None:
    def seed(_: Any, number: int) -> None:
        with module().device(0):
            module().manual_seed(number)

    patch(module(), "manual_seed_all", seed)


@mutant("seeding_starts_the_device", "GEN-511", "seeding in a bad fork raises")
def _() -> None:
    def seed(original: Any, number: int) -> None:
        torch.empty(1, device=module().backend_name)
        original(number)

    patch(module(), "manual_seed_all", seed)
    answer(module(), "_is_in_bad_fork", False)


@mutant("default_generators_are_one", "GEN-502", "devices share the default generator")
def _() -> None:
    patch(module(), "get_rng_state", lambda get, *_: get(0))
    patch(module(), "set_rng_state", lambda put, state, *_: put(state, 0))

    def draw(original: Any, tensor: torch.Tensor, *given: Any, generator: Any = None) -> Any:
        if generator is None:
            generator = torch.Generator(tensor.device)
            generator.set_state(module().get_rng_state(0))
            drawn = original(tensor, *given, generator=generator)
            module().set_rng_state(generator.get_state(), 0)
            return drawn
        return original(tensor, *given, generator=generator)

    kernels.around(DRAWS, draw)


@mutant("set_rng_state_does_nothing", "GEN-517", "set_rng_state has no effect")
def _() -> None:
    answer(module(), "set_rng_state", None)


@mutant("set_rng_state_sets_device_0", "GEN-517", "whatever device is named", narrow=True)
def _() -> None:
    patch(module(), "set_rng_state", lambda put, state, *_: put(state, 0))


@mutant("set_rng_state_all_sets_device_0", "GEN-517", "of all states the first alone is set",
        narrow=True, tests="states_of_all_devices")  # fmt: skip
def _() -> None:
    patch(module(), "set_rng_state_all", lambda put, states: put(list(states)[:1]))


@mutant("an_index_is_the_current_device", "GEN-517",
        "the state of a device that is named by its index is the current one's", narrow=True,
        tests="device_named[index]")  # fmt: skip
def _() -> None:
    patch(module(), "get_rng_state", lambda get, *given: get(
        *(one for one in given if not isinstance(one, int))))  # fmt: skip


@operator("random_ignores_generator", "GEN-509", "the default generator in place of the one given")
def _() -> None:
    kernels.around(DRAWS, lambda draw, tensor, *given, generator=None: draw(tensor, *given))


@operator("random_advances_default_too", "GEN-509", "the default generator advances, too",
          narrow=True)  # fmt: skip
def _() -> None:
    def draw(original: Any, tensor: torch.Tensor, *given: Any, generator: Any = None) -> Any:
        if generator is not None:
            original(torch.empty_like(tensor), *given, generator=None)
        return original(tensor, *given, generator=generator)

    kernels.around(DRAWS, draw)


@operator("random_takes_any_generator", "GEN-510", "a generator of another device is passed over")
def _() -> None:
    def draw(original: Any, tensor: torch.Tensor, *given: Any, generator: Any = None) -> Any:
        if generator is not None and generator.device != tensor.device:
            generator = None
        return original(tensor, *given, generator=generator)

    kernels.around(DRAWS, draw)


def _without_advance(every: int) -> Any:
    calls = itertools.count()

    def draw(original: Any, tensor: torch.Tensor, *given: Any, generator: Any = None) -> Any:
        source = generator
        if source is None or next(calls) % every:
            return original(tensor, *given, generator=generator)
        state = source.get_state()
        drawn = original(tensor, *given, generator=generator)
        source.set_state(state)
        return drawn

    return draw


@operator("random_does_not_advance", "GEN-514 GEN-515", "the state stays")
def _() -> None:
    kernels.around(DRAWS, _without_advance(1))


@operator(
    "normal_does_not_advance",
    "GEN-514",
    "the state stays, of one operator",
    narrow=True,
    tests="[normal_]",
)
def _() -> None:
    kernels.around("normal_", _without_advance(1))


@operator("random_seldom_advances_not", "GEN-515", "at every fifth call the state stays",
          narrow=True)  # fmt: skip
def _() -> None:
    kernels.around(DRAWS, _without_advance(5))


@operator("random_depends_on_stream", "GEN-518", "other numbers on streams")
def _() -> None:
    def draw(original: Any, tensor: torch.Tensor, *given: Any, generator: Any = None) -> Any:
        if torch.accelerator.current_stream(tensor.device).stream_id != 0:
            original(tensor, *given, generator=generator)
        return original(tensor, *given, generator=generator)

    kernels.around(DRAWS, draw)
