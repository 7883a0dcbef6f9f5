# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Runs sequences of allocations on a device, or one sequence again.

    python -m tbk_contracts.torch.lifetime --device acme --import acme_torch --time 60
    python -m tbk_contracts.torch.lifetime --device acme --case "alloc a 4096 s1; free a"

The exit codes are those of tbk run: 0 nothing was found, 1 something was, 2 bad usage, 3 nothing
was run, 5 there is no such device.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from typing import NoReturn

import torch

from tbk_contracts.torch import capability
from tbk_contracts.torch.lifetime import calls, search
from tbk_contracts.torch.lifetime.execute import Device
from tbk_contracts.torch.lifetime.finding import NoRoom
from tbk_contracts.torch.lifetime.model import Model

WORDS = ("memory_stats", "memory_info", "oom", "addresses")
FOUND, USAGE, NOTHING, NO_DEVICE = 1, 2, 3, 5
MOST = 1 << 62


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tbk_contracts.torch.lifetime", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("--device", required=True, metavar="NAME[:INDEX]")
    parser.add_argument("--import", action="append", default=[], dest="modules", metavar="MODULE")
    parser.add_argument("--start", default="", metavar="PYTHON",
                        help="statements by which PyTorch comes to know the device")  # fmt: skip
    parser.add_argument("--time", type=float, default=60, metavar="SECONDS")
    parser.add_argument("--sequences", type=int, metavar="N", help="at most so many")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    parser.add_argument("--first", type=int, default=0, metavar="N", help="begin with this one")
    parser.add_argument("--case", metavar="LINE", help="run this sequence alone, some times")
    parser.add_argument("--trace", action="store_true", help="print each before it runs")
    parser.add_argument("--no-statistics", action="store_true", help="look at values alone")
    return parser.parse_args()


def _stop(code: int, reason: str) -> NoReturn:
    print(f"lifetime: {' '.join(reason.split())}", file=sys.stderr)
    raise SystemExit(code)


def _device(options: argparse.Namespace) -> Device:
    try:
        for module in options.modules:
            importlib.import_module(module)
        exec(options.start, {})  # noqa: S102  # what the user asked for
        found = torch.device(options.device)
    except (ImportError, RuntimeError) as error:
        _stop(NO_DEVICE, str(error))
    if found.index is None:
        found = torch.device(found.type, 0)
    if not capability.probe("stream", found).held:
        _stop(NO_DEVICE, f"{found} has no streams beside the default one")
    words = {word for word in WORDS if capability.probe(word, found).held}
    try:
        return Device(found, words, figures=not options.no_statistics)
    except NoRoom:
        _stop(NOTHING, f"{found} has no room for the tensors of the suite")


def _tell(finding: search.Finding) -> None:
    wrong = finding.wrong
    print(f"FOUND: {wrong.what}\n  clause: {wrong.clause}")
    print(f"  expected: {wrong.expected}\n  seen: {wrong.seen}\n")
    print(f"the smallest sequence that shows it, of {finding.length} calls:")
    for number, call in enumerate(finding.calls):
        print(f"  {number + 1:2}  {calls.line([call])}")
    print(f"\nrun again, it showed {finding.shown} of {search.REPLAYS} times")
    print(f'that one alone: --case "{calls.line(finding.calls)}"')
    print(f"the one it was found by: --first {finding.number} --sequences 1")


def _tell_all(device: Device, result: search.Result) -> None:
    shown = device.shown
    print(f"{result.sequences:,} sequences in {result.seconds:.1f} s: {shown.reads:,} reads,"
          f" {shown.pending_frees:,} tensors freed under pending work, {shown.refusals:,} times out"
          f" of memory, {shown.figures:,} figures compared")  # fmt: skip
    if result.no_room:
        print(f"{result.no_room:,} found no memory, and say nothing")
    if not device.asynchronous:
        print("trivial: work is complete when the call returns, so no memory is in use when freed")
    elif not result.controls_shown:
        print(f"not shown: {result.controls} controls, which do not tell of other streams, went"
              " right, too")  # fmt: skip
    else:
        print(f"without telling the allocator of other streams {result.controls_shown} of"
              f" {result.controls} sequences went wrong")  # fmt: skip


def _sequence(line: str) -> list[calls.Call]:
    try:
        sequence = calls.parse(line)
        Model(sequence)
    except ValueError as error:
        _stop(USAGE, f"--case: {error}")
    return sequence


def _replay(device: Device, sequence: list[calls.Call], seed: int) -> NoReturn:
    """Runs one sequence as often as a finding is replayed."""
    seen = [search.attempt(device, sequence, f"{seed}/{number}")
            for number in range(search.REPLAYS)]  # fmt: skip
    wrong = [one for one in seen if one is not None]
    print(f"it showed {len(wrong)} of {len(seen)} times")
    for one in wrong[:1]:
        print(one)
    raise SystemExit(FOUND if wrong else 0)


def main() -> NoReturn:
    """Runs what the command line asks for."""
    options = _arguments()
    case = None if options.case is None else _sequence(options.case)
    device = _device(options)
    if case is not None:
        _replay(device, case, options.seed)

    def begin(number: int, sequence: list[calls.Call]) -> None:
        if options.trace:
            print(f"{number}: {calls.line(sequence)}", file=sys.stderr, flush=True)

    numbers = range(options.first, options.first + options.sequences if options.sequences else MOST)
    until = time.monotonic() + options.time
    result = search.search(device, device.words, options.seed, numbers, until=until, begin=begin)
    if result.finding is not None:
        _tell(result.finding)
    _tell_all(device, result)
    if result.sequences == result.no_room:
        _stop(NOTHING, "no sequence was run to its end")
    raise SystemExit(FOUND if result.finding is not None else 0)


if __name__ == "__main__":
    main()
