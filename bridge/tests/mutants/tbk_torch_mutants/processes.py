# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Processes, the profiler, and what PyTorch has beside eager mode."""

from __future__ import annotations

import os
from multiprocessing.reduction import ForkingPickler
from typing import Any

import torch

from tbk_torch_mutants import kernels
from tbk_torch_mutants.module_device import answer, fail, module, name, patch
from tbk_torch_mutants.table import mutant


@mutant("bad_fork_is_not_explained", "FRK-501", "a child's error does not tell it to spawn")
def _() -> None:
    def make(original: Any, *given: Any, **named: Any) -> Any:
        try:
            return original(*given, **named)
        except RuntimeError as error:
            raise RuntimeError(str(error).replace("spawn", "")) from None

    kernels.around("empty.memory_format empty_strided", make)


@mutant("bad_fork_ends_the_child", "FRK-501", "a child that uses the device ends")
def _() -> None:
    here = os.getpid()

    def make(original: Any, *given: Any, **named: Any) -> Any:
        if os.getpid() != here and module()._is_in_bad_fork():
            os._exit(3)
        return original(*given, **named)

    kernels.around("empty.memory_format empty_strided", make)


@mutant("bad_fork_is_unknown", "FRK-504", "_is_in_bad_fork is always False")
def _() -> None:
    answer(module(), "_is_in_bad_fork", False)


@mutant("every_fork_is_bad", "FRK-502", "a child forked before the first use is refused")
def _() -> None:
    here = os.getpid()

    def make(original: Any, *given: Any, **named: Any) -> Any:
        if os.getpid() != here:
            raise RuntimeError("forked: use the start method spawn")
        return original(*given, **named)

    kernels.around("empty.memory_format empty_strided", make)


@mutant("seeding_is_a_use", "FRK-503 FRK-504", "seeding starts the device")
def _() -> None:
    def seed(original: Any, number: int) -> None:
        torch.empty(1, device=name())
        original(number)

    patch(module(), "manual_seed_all", seed)
    answer(module(), "_is_in_bad_fork", False)


@mutant("children_abort", "FRK-506 DEV-518", "a forked child ends badly, whatever it does")
def _() -> None:
    os.register_at_fork(after_in_child=os.abort)


@mutant("spawned_child_gets_nothing", "FRK-505", "in a process that was spawned all is 0")
def _() -> None:
    import multiprocessing  # noqa: PLC0415  # of this mutant alone

    if multiprocessing.parent_process() is not None:
        kernels.result("add.Tensor mul.Tensor", lambda made, *_: made.zero_())


def _lost_in_threads(original: Any, *given: Any, **named: Any) -> Any:
    import threading  # noqa: PLC0415  # of this mutant alone

    made = original(*given, **named)
    return made if threading.current_thread() is threading.main_thread() else made.zero_()


@mutant("threads_compute_nothing", "FRK-507", "what threads compute is 0")
def _() -> None:
    kernels.around("add.Tensor mul.Tensor mm sum", _lost_in_threads)


def _profiled() -> bool:
    return bool(torch._C._autograd._profiler_enabled())


@mutant("profiling_changes_results", "PRF-504 PRF-507", "results are 0 while the profiler looks")
def _() -> None:
    kernels.result("mm", lambda made, *_: made.zero_() if _profiled() else made)


@mutant("profiling_sets_stream", "PRF-507", "the default stream is current after profiling")
def _() -> None:
    def multiply(original: Any, one: torch.Tensor, other: torch.Tensor) -> Any:
        if _profiled():
            torch.accelerator.set_stream(module().default_stream(one.device))
        return original(one, other)

    kernels.around("mm", multiply)


@mutant("functional_writes_are_lost", "INT-504", "compiled code loses what is written in place")
def _() -> None:
    kernels.around("select_scatter slice_scatter copy", lambda _, one, *given, **named: one.clone())


@mutant(
    "clones_are_of_another_dtype", "INT-503", "an operator's dtype is not that of its Meta kernel"
)
def _() -> None:
    kernels.result("lt.Tensor", lambda made, *_: made.to(torch.uint8))


@mutant("shared_storage_is_a_copy", "INT-506", "a storage that is shared arrives as zeros")
def _() -> None:
    def share(one: torch.Tensor) -> Any:
        return torch.zeros, (tuple(one.shape),)

    ForkingPickler.register(torch.Tensor, share)


@mutant("graphs_fail_without_reason", "INT-507", "a graph raises, and does not say why")
def _() -> None:
    fail(torch.accelerator, "Graph", "not supported")


@mutant("graphs_record_nothing", "INT-507", "a graph is made, and nothing in it runs", narrow=True)
def _() -> None:
    class Graph:
        def __enter__(self) -> None: ...
        def __exit__(self, *_: object) -> None: ...
        def replay(self) -> None: ...

    torch.accelerator.Graph = Graph  # type: ignore[assignment,misc]
