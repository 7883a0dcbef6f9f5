# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""How much of PyTorch a backend reaches: every entry of the OpInfo database, beside PyTorch's CPU.

    python bridge/tests/reach ./libacme.so --output reach/

writes reach.json and reach.md. Ends with 1 where an entry is wrong, hangs or crashes.
"""

from __future__ import annotations

import argparse
import queue
import sys
import threading
import time
from pathlib import Path

import share
from process import Process
from table import FORMS, STATES, UNWANTED, Item, Outcome, write_json, write_markdown


class Gang:
    """Worker processes that take one item after the other until none is left."""

    def __init__(self, arguments: argparse.Namespace, first: Process) -> None:
        self._arguments = arguments
        self._waiting: queue.SimpleQueue[Item] = queue.SimpleQueue()
        self._outcomes: dict[Item, Outcome] = {}
        self._first: Process | None = first
        self._lock = threading.Lock()
        self._failure: BaseException | None = None

    def run(self, items: list[Item]) -> list[Outcome]:
        for item in items:
            self._waiting.put(item)
        threads = [threading.Thread(target=self._work) for _ in range(self._arguments.jobs)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if self._failure is not None:
            raise self._failure
        return [self._outcomes[item] for item in items]

    def _process(self) -> Process:
        with self._lock:
            first, self._first = self._first, None
        return first or Process(self._arguments)

    def _work(self) -> None:
        try:
            process = self._process()
            while True:
                try:
                    item = self._waiting.get_nowait()
                except queue.Empty:
                    break
                outcome = process.judge(item)
                self._outcomes[item] = outcome
                if outcome.state in ("hang", "crash"):
                    process = Process(self._arguments)
            process.close()
        except BaseException as failure:  # raised again by run()
            self._failure = failure


def shard(text: str) -> tuple[int, int]:
    """K/N: each Nth item, from the Kth on."""
    part, _, parts = text.partition("/")
    if not (part.isdigit() and parts.isdigit() and 1 <= int(part) <= int(parts)):
        raise argparse.ArgumentTypeError(f"{text} is not K/N")
    return int(part), int(parts)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("library", type=Path, help="the backend")
    parser.add_argument("--options", default="", metavar="KEY=VALUE,...", help="for the backend")
    parser.add_argument("--output", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--entry", action="append", metavar="NAME", help="only this; repeatable")
    parser.add_argument("--form", action="append", choices=FORMS, help="only this; repeatable")
    parser.add_argument("--shard", type=shard, default=(1, 1), metavar="K/N", help="a part of all")
    parser.add_argument(
        "--samples", type=int, default=12, help="of an entry and dtype (%(default)s)"
    )
    parser.add_argument("--jobs", type=int, default=2, help="processes (%(default)s)")
    parser.add_argument("--deadline", type=float, default=120, help="seconds for one (%(default)s)")
    arguments = parser.parse_args()
    if arguments.samples < 2:
        parser.error("--samples is at least 2")
    return arguments


def main() -> int:
    arguments = parse()
    arguments.output.mkdir(parents=True, exist_ok=True)
    start = time.monotonic()
    first = Process(arguments)
    wanted = arguments.entry
    items = [
        item
        for item in first.items
        if (not wanted or item.name in wanted) and item.form in (arguments.form or FORMS)
    ]
    part, parts = arguments.shard
    items = items[part - 1 :: parts]
    if not items:
        print("no entry of that name", file=sys.stderr)
        return 2
    outcomes = Gang(arguments, first).run(items)
    without = [] if wanted else first.without
    facts: dict[str, object] = {
        "backend": first.backend,
        "torch": first.torch,
        "entries, dtypes and forms": len(items),
        "part of them": f"{part} of {parts}",
        "entries left out": len(without),
        "samples run": sum(outcome.samples for outcome in outcomes),
        "samples with gradients": sum(outcome.backward for outcome in outcomes),
        "samples of an entry and dtype": f"at most {arguments.samples}, spread over the first 96",
        "seconds": round(time.monotonic() - start),
    }
    shares = share.shares(outcomes)
    write_json(arguments.output / "reach.json", facts, outcomes, without, shares)
    write_markdown(arguments.output / "reach.md", facts, outcomes, without, share.lines(outcomes))
    counts = {state: sum(each.state == state for each in outcomes) for state in STATES}
    print(", ".join(f"{state} {count}" for state, count in counts.items()))
    for what, part in shares.items():
        print(f"without fallback, {what}: {part}")
    for each in outcomes:
        if each.state in UNWANTED:
            what = f"{each.name} {each.dtype} {each.form}"
            print(f"{each.state}: {what}: {' '.join(each.reason.split())[:300]}")
    return 1 if any(counts[state] for state in UNWANTED) else 0


if __name__ == "__main__":
    sys.exit(main())
