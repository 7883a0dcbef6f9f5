# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The same verdicts, whatever else the machine does.

    soak.py [--runs 200] [--kills 200] [--hostile 100] [--width 6] [--load 2]
            [--act NAME]... [--keep FOLDER] [--minutes M]

Shuffled runs of each conforming backend are compared verdict by verdict; runs whose supervisor is
killed at a random moment are resumed until they are complete; each hostile backend must get the
verdict, the blame and the exit code that acts.py states. All of it beside busy loops. Prints one
line for each part, and exits with 1 if any verdict differs.
"""

from __future__ import annotations

import argparse
import collections
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from acts import Round, rounds
from runs import CPU, TEMPLATE, command, processes_with, read

FINE = ("pass", "unsupported", "not-shown")


@contextmanager
def load(count: int) -> Iterator[None]:
    """Busy loops, one process each."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


class Part:
    """Rounds of one kind, and what differed in them."""

    def __init__(self, name: str, rounds: int, until: float) -> None:
        self.name, self.rounds, self.until = name, rounds, until
        self.done = self.differing = 0
        self.seen: collections.Counter[str] = collections.Counter()

    def each(self) -> Iterator[int]:
        for at in range(self.rounds):
            if time.monotonic() > self.until:
                return
            yield at
            self.done += 1

    def differs(self, what: str) -> None:
        self.differing += 1
        self.seen[what] += 1

    def tell(self) -> bool:
        print(
            f"{self.name}: {self.done} of {self.rounds} rounds, {self.differing} differing verdicts"
        )
        for what, count in self.seen.most_common(20):
            print(f"  {count} x {what}")
        sys.stdout.flush()
        return self.differing == 0 and self.done == self.rounds


def quiet_run(library: Path, output: Path, *arguments: str) -> str:
    """Returns what it complained about."""
    line = [*command(library, output, *arguments), "--quiet"]
    return subprocess.run(line, capture_output=True, text=True, check=False).stderr.strip()


def expect(part: Part, library: Path, output: Path) -> dict[str, str]:
    """Returns the verdicts of a plain run; a backend that conforms fails nothing."""
    quiet_run(library, output)
    verdicts = read(output).verdicts
    for test, verdict in verdicts.items():
        if verdict not in FINE:
            part.differs(f"{test}: {verdict}")
    return verdicts


def compare(part: Part, expected: dict[str, str], seen: dict[str, str], keep: Path | None,
            output: Path) -> None:  # fmt: skip
    differing = [test for test in {**expected, **seen} if expected.get(test) != seen.get(test)]
    for test in differing:
        part.differs(f"{test}: {expected.get(test)} became {seen.get(test)}")
    if differing and keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        (keep / f"{part.name.replace(' ', '-')}-{part.done}.jsonl").write_bytes(output.read_bytes())


def shuffled(part: Part, library: Path, folder: Path, keep: Path | None) -> bool:
    output = folder / "shuffled.jsonl"
    expected = expect(part, library, output)
    for at in part.each():
        quiet_run(library, output, "--shuffle", str(at + 1))
        compare(part, expected, read(output).verdicts, keep, output)
    return part.tell()


def killed(part: Part, library: Path, folder: Path, keep: Path | None) -> bool:
    output = folder / "killed.jsonl"
    started = time.monotonic()
    expected = expect(part, library, output)
    took = time.monotonic() - started
    chance = random.Random(1)  # noqa: S311
    for _ in part.each():
        output.unlink(missing_ok=True)
        run = subprocess.Popen([*command(library, output), "--quiet"], stdout=subprocess.DEVNULL)
        time.sleep(chance.random() * took)
        run.send_signal(signal.SIGKILL)
        run.wait()
        said = quiet_run(library, output, *(["--resume"] if output.exists() else []))
        try:
            results = read(output)
        except (AssertionError, IndexError):
            part.differs(f"no complete result: {said[:200]}")
            continue
        if len(results.tests) != results.footer["planned"]:
            part.differs(f"{len(results.tests)} records for {results.footer['planned']} tests")
        compare(part, expected, results.verdicts, keep, output)
        if processes_with(str(output)):
            part.differs("a process is left")
    return part.tell()


def one_round(part: Part, check: Round, output: Path, keep: Path | None) -> None:
    if time.monotonic() > part.until:
        return
    wrong = check(output)
    part.done += 1
    for what in wrong:
        part.differs(what)
    if wrong and keep is not None and output.exists():
        keep.mkdir(parents=True, exist_ok=True)
        shutil.copy(output, keep)
    output.unlink(missing_ok=True)


def terrible(count: int, until: float, width: int, acts: list[str], folder: Path,
             keep: Path | None) -> bool:  # fmt: skip
    """Runs each act once in each round, some of them at a time: most of them wait for a
    deadline. Returns whether all went as they should."""
    checks = {name: check for name, check in rounds().items() if not acts or name in acts}
    parts = {name: Part(f"hostile {name}", count, until) for name in checks}
    with ThreadPoolExecutor(width) as pool:
        done = [
            pool.submit(one_round, parts[name], check, folder / f"{name}-{at}.jsonl", keep)
            for at in range(count)
            for name, check in checks.items()
        ]
    for future in done:
        future.result()
    good = [part.tell() for part in parts.values()]
    return all(good)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="The same verdicts under load.")
    parser.add_argument("--runs", type=int, default=200, help="shuffled runs of each backend")
    parser.add_argument("--kills", type=int, default=200, help="rounds of kill -9 and --resume")
    parser.add_argument("--hostile", type=int, default=100, help="rounds of each hostile backend")
    parser.add_argument("--act", action="append", choices=[*rounds()], help="these alone")
    parser.add_argument("--load", type=int, default=len(os.sched_getaffinity(0)), help="busy loops")
    parser.add_argument("--width", type=int, default=6, help="hostile backends at a time")
    parser.add_argument("--keep", type=Path, help="folder for result files that differ")
    parser.add_argument(
        "--minutes", type=float, default=600, help="stop starting rounds after this"
    )
    return parser.parse_args()


def main() -> int:
    options = parse()
    until = time.monotonic() + 60 * options.minutes
    good = True
    with load(options.load), tempfile.TemporaryDirectory(prefix="tbk-soak-") as name:
        folder = Path(name)
        for library in (CPU, TEMPLATE):
            if options.runs > 0:
                part = Part(f"shuffled {library.stem}", options.runs, until)
                good &= shuffled(part, library, folder, options.keep)
            if options.kills > 0:
                part = Part(f"kill -9 {library.stem}", options.kills, until)
                good &= killed(part, library, folder, options.keep)
        if options.hostile > 0:
            good &= terrible(
                options.hostile, until, options.width, options.act or [], folder, options.keep
            )
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
