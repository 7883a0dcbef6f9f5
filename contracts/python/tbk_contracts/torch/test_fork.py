# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Processes that are forked before a device is used and after it, and spawned ones."""

from __future__ import annotations

import gc
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset

from tbk_contracts.torch import check, host, process
from tbk_contracts.torch.case import clause

COST = 11


def use(device: torch.device) -> list[float]:
    """A tensor goes there, is computed with, and comes back."""
    return (host.upload(host.counting((4,)), device) * 2).to("cpu").tolist()


USED = [0.0, 2.0, 4.0, 6.0]


def driver_has_threads(what: str, seen: object, expected: object) -> bool:
    """Returns whether a child fails because the driver had threads before the fork, which are
    not forked.
    It may: that counting devices starts nothing is a recommendation, and to make a device known to
    PyTorch may be to count."""
    threads = process.foreign_threads()
    if seen == expected or not threads:
        return False
    check.should("a driver has no threads before its first use", False, expected="0", seen=threads)
    check.evidence(check.NOT_SHOWN, f"{what}: no fork works once the driver has threads, and it "
                   f"has {threads} before its first use")  # fmt: skip
    return True


def check_forked(what: str, call: Callable[[], object], expected: object) -> None:
    ended = process.in_fork(call)
    seen = ended.error or ended.value
    check.that(f"{what}, in a forked child", seen == expected, expected=expected, seen=seen)
    check.equal(f"exit code of the child of {what}", ended.exit_code, 0)


def check_told(what: str, call: Callable[[], object], expected: object, *told: str) -> None:
    """A forked child gets an error with all of `told` in it. One that may use the device gets the
    value that the parent would get."""
    ended = process.in_fork(call)
    if ended.error:
        right = all(one in ended.error for one in told)
        check.that(what, right, expected=f"an error: {' '.join(told)}", seen=ended.error)
    else:
        check.note(f"{what} works in a child that was forked after the device was used")
        check.equal(f"{what}, without an error", ended.value, expected)
    check.equal(f"{what}: exit code", ended.exit_code, 0)


@clause("FRK-501", needs="accelerator", fresh=True)
def test_a_child_is_told_to_spawn(device: torch.device) -> None:
    check.equal("use in the parent", use(device), USED)
    uses: dict[str, tuple[Callable[[], object], object]] = {
        "a copy to the device": (lambda: use(device), USED),
        "an empty tensor": (lambda: torch.empty(3, device=device).fill_(2).tolist(), [2.0] * 3),
        "a factory": (lambda: torch.zeros(3, device=device).tolist(), [0.0] * 3),
    }
    for what, (call, expected) in uses.items():
        check_told(what, call, expected, "RuntimeError", "spawn")
    check.equal("use in the parent afterwards", use(device), USED)


@clause("FRK-501", needs="accelerator", fresh=True)
def test_what_the_parent_holds_is_refused_in_a_child(device: torch.device) -> None:
    x = host.upload(host.counting((3,)), device)
    stream = torch.accelerator.current_stream(device)
    stream.synchronize()
    uses: dict[str, tuple[Callable[[], object], object]] = {
        "a copy to the host": (x.tolist, [0.0, 1.0, 2.0]),
        "an operator": (partial(lambda one: (one + one).tolist(), x), [0.0, 2.0, 4.0]),
        "a number": (partial(lambda one: one[1].item(), x), 1.0),
        "synchronising the device": (partial(torch.accelerator.synchronize, device), None),
        "synchronising a stream": (stream.synchronize, None),
    }
    for what, (call, expected) in uses.items():
        check_told(what, call, expected, "Error")
    check.tensor("in the parent afterwards", host.download(x), host.counting((3,)))


@clause("FRK-502", fresh=True)
def test_both_may_use_what_nobody_has_used(device: torch.device) -> None:
    ended = process.in_fork(lambda: use(device))
    if driver_has_threads("the first use", ended.error or ended.value, USED):
        check.equal("use in the parent", use(device), USED)
        return
    seen = ended.error or ended.value
    check.that("the first use, in a forked child", seen == USED, expected=USED, seen=seen)
    check.equal("exit code of the child of the first use", ended.exit_code, 0)
    check_forked("the first use once more", lambda: use(device), USED)
    check.equal("use in the parent", use(device), USED)


@clause("FRK-503", needs="accelerator", fresh=True)
def test_asking_and_seeding_are_no_use(device: torch.device) -> None:
    asked = torch.accelerator.is_available() and torch.accelerator.device_count() > 0
    check.equal("available", asked, True)
    ended = process.in_fork(lambda: use(device))
    if driver_has_threads("asking for devices", ended.error or ended.value, USED):
        return
    if "Error" in ended.error:  # some drivers cannot count without starting
        check.note(f"asking for devices counts as use here: {ended.error[:200]}")
        check.evidence(check.NOT_SHOWN, "the driver starts when it is asked for devices")
        check.equal("exit code of a child that may not use the device", ended.exit_code, 0)
        return
    check.equal("use in a child, after asking", ended.error or ended.value, USED)
    torch.manual_seed(3)
    check_forked("use after a seed", lambda: use(device), USED)


@clause("FRK-504", needs="accelerator module bad_fork", fresh=True)
def test_a_child_knows_that_it_is_a_bad_fork(device: torch.device, module: Any) -> None:
    check.equal("before the first use", module._is_in_bad_fork(), False)
    check_forked("_is_in_bad_fork before the first use", module._is_in_bad_fork, False)
    use(device)
    check.equal("in the parent", module._is_in_bad_fork(), False)

    def says_so_or_works() -> bool:
        return bool(module._is_in_bad_fork()) or use(device) == USED

    check_forked("_is_in_bad_fork, or else use", says_so_or_works, True)

    def seed() -> list[float]:
        torch.manual_seed(3)
        return torch.rand(3).tolist()

    check_forked("torch.manual_seed", seed, seed())
    check.equal("in the parent afterwards", module._is_in_bad_fork(), False)


@clause("FRK-505", needs="!exclusive")
def test_a_spawned_process_uses_the_device(device: torch.device, tbk_start: str) -> None:
    check.equal("use in the parent", use(device), USED)
    values = host.counting((5,)).tolist()
    ended = process.in_spawned(tbk_start, device.type, values)
    if ended.value == process.UNKNOWN:
        check.evidence(check.NOT_SHOWN, "a fresh interpreter is not told how to get the device")
    else:
        expected = [device.type, [2 * one + 1 for one in values]]
        check.equal("in the child", ended.error or ended.value, expected)
    check.equal("exit code", ended.exit_code, 0)


@clause("FRK-506", fresh=True)
def test_a_child_goes_on_without_the_device(device: torch.device) -> None:
    kept = [host.upload(torch.ones(1 << size), device) for size in range(16)]
    kept[0].add_(kept[1][0])

    def work() -> list[float]:
        torch.manual_seed(3)
        made = torch.arange(4.0)
        return ((made + made) @ torch.eye(4)).tolist()

    check_forked("work of the host", work, USED)
    check.tensor("in the parent afterwards", host.download(kept[2]), torch.ones(4))


class Squares(Dataset[torch.Tensor]):
    """A data set of the host."""

    def __len__(self) -> int:
        return 12

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.full((3,), float(index * index))


@clause("FRK-506", fresh=True)
def test_workers_of_a_loader_do_without_the_device(device: torch.device) -> None:
    check.equal("use before", use(device), USED)
    loader: DataLoader[torch.Tensor] = DataLoader(Squares(), batch_size=4, num_workers=2,
                        multiprocessing_context="fork", timeout=process.PATIENCE_S)  # fmt: skip
    for _ in range(2):
        batches = [host.upload(batch, device) for batch in loader]
        seen = host.download(torch.cat(batches))
        expected = torch.stack([Squares()[index] for index in range(12)])
        check.tensor("what was loaded", seen, expected)
    check.equal("use afterwards", use(device), USED)


@clause("ERR-509", needs="accelerator", fresh=True)
def test_nothing_is_raised_where_things_go_in_a_child(device: torch.device) -> None:
    """A device that is the parent's fails a child; what is destroyed there must not."""
    held: list[object] = [host.upload(torch.ones(1 << size), device) for size in range(16)]
    for kind in (torch.Stream, torch.Event):
        try:
            held += [kind(device) for _ in range(4)]
        except (RuntimeError, NotImplementedError):
            continue  # the device has none
    for one in held:
        if isinstance(one, torch.Event):
            one.record(torch.accelerator.current_stream(device))

    def drop() -> int:
        held.clear()
        gc.collect()
        return len(held)

    check_forked("destroying what the parent made", drop, 0)
    check.equal("use in the parent afterwards", use(device), USED)
