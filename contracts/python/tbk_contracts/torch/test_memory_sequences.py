# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Allocations, uses on several streams and frees in sequences that are drawn at random, judged by a
model. What finds a fault is made smaller; a message quotes it as one line, which
`python -m tbk_contracts.torch.lifetime --case LINE` runs alone."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
import torch

from tbk_contracts.torch import capability, check, run_seed
from tbk_contracts.torch.case import clause, needs
from tbk_contracts.torch.extremes import place
from tbk_contracts.torch.lifetime import calls, search
from tbk_contracts.torch.lifetime.execute import Device
from tbk_contracts.torch.lifetime.finding import NoRoom

COST = 180

WORDS = ("memory_stats", "memory_info", "oom", "addresses")
MOST_S = 20.0  # of a device on which a sequence takes long
MANY = 120

each_length = pytest.mark.parametrize(
    "sequences", [24, pytest.param(MANY, marks=pytest.mark.thorough)]
)
each_device = pytest.mark.parametrize(
    "on", ["first", pytest.param("second", marks=needs("two_devices"))]
)


def _search(device: torch.device, sequences: int, *, figures: bool) -> tuple[Device, search.Result]:
    """Returns what the sequences have come to. Raises NoRoom where the suite's own tensors do not
    fit."""
    words = {word for word in WORDS if capability.probe(word, device).held}
    subject = Device(device, words, figures=figures)
    until = time.monotonic() + MOST_S
    result = search.search(subject, words, run_seed.chosen(), range(sequences), until=until)
    check.fact(sequences=result.sequences, no_room=result.no_room, controls=result.controls,
               controls_shown=result.controls_shown, pending_frees=subject.shown.pending_frees,
               figures=subject.shown.figures)  # fmt: skip
    _judge(result)
    if result.no_room == result.sequences:
        raise NoRoom
    return subject, result


def _where_it_fits(test: Callable[[], object]) -> None:
    """A device may have no room; then the test has shown nothing."""
    try:
        test()
    except NoRoom:
        check.should("room for some tensors", True, expected="", seen="")
        check.evidence(check.NOT_SHOWN, "the device has no room for any sequence")


def _judge(result: search.Result) -> None:
    found = result.finding
    if found is None:
        check.that("sequences", True, expected="", seen="")
        return
    check.that(
        f"{found.wrong.what}, of {found.wrong.clause}", False, expected=found.wrong.expected,
        seen=f"{found.wrong.seen}; in {calls.line(found.calls)}; run again, it showed"
        f" {found.shown} of {search.REPLAYS} times",
    )  # fmt: skip


def _judge_order(device: torch.device, sequences: int) -> None:
    subject, result = _search(device, sequences, figures=False)
    if not subject.asynchronous:
        check.evidence(check.TRIVIAL, "work is complete when the call returns")
    elif not result.controls_shown:
        check.evidence(
            check.NOT_SHOWN, "controls that do not tell of other streams went right, too"
        )


@each_length
@each_device
@clause("MEM-538", needs="accelerator stream event")
def test_memory_in_use(device: torch.device, on: str, sequences: int) -> None:
    """What tensors hold and pending work reads, whatever is freed and made around it."""
    there = place({"device": on}, device)
    _where_it_fits(lambda: _judge_order(there, sequences))


@each_length
@each_device
@clause("MEM-537", needs="accelerator stream event memory_stats")
def test_statistics(device: torch.device, on: str, sequences: int) -> None:
    """What is counted, beside what lives, with work pending and behind all of it."""
    there = place({"device": on}, device)
    _where_it_fits(lambda: _search(there, sequences, figures=True))
