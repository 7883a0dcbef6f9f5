# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Devices that the header allows: what varies, and vectors in which each pair of values meets.

    legal_range.py [--tier quick] [--layer c] [--every 1] [--jobs 2] [--budget 300s]

Runs the suite on them, on the template, the cpu backend and each anti-mutant, and says what it
finds.
`--every N` takes each Nth of the vectors. At the torch layer each device gets a budget.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import tbk_contracts
from runs import BUILD, LIB, Results, run

Vector = Mapping[str, str]
Pair = tuple[tuple[str, str], tuple[str, str]]


@dataclass(frozen=True)
class Dimension:
    """An option of the anti-mutant `legal`, its values with the plain one first."""

    option: str
    values: tuple[str, ...]
    properties: tuple[str, ...] = field(default=())


# Left out at once, to keep the vectors few.
TOGETHER = (
    "pinned+peer",
    "async_memory+random",
    "fault+fill",
    "memory_info+event_elapsed",
    "stream_native_handle+stream_from_native",
)


def alone() -> Iterator[str]:
    """Yields the optional tables and functions of the header that are left out one by one."""
    paired = {word for words in TOGETHER for word in words.split("+")}
    tables = tbk_contracts.interface().tables
    names = [one.name for one in tables if not one.mandatory]
    names += [function.name for one in tables for function in one.optional_functions]
    yield from (name for name in names if name not in paired)


PLAIN_SIZES = ("256M", "8M", "4M")
DIMENSIONS = (
    Dimension("memory", PLAIN_SIZES, ("memory_bytes",)),
    Dimension("unknown_memory", ("0", "1")),
    Dimension("max_allocation", ("", "4M", "16M"), ("max_allocation_bytes",)),
    Dimension("unit", ("1", "512", "2M")),
    Dimension("alignment", ("64", "16", "4096"), ("memory_alignment",)),
    Dimension("granularity", ("1", "4", "32", "64", "512", "4096"), ("copy_granularity",)),
    Dimension("flat", ("1", "0"), ("flags",)),
    Dimension("flags_off", ("0", "0x10")),
    Dimension("dtypes", ("0xffff", "0x40", "0x8", "0x20", "0x8c8"), ("dtypes",)),
    Dimension("max_rank", ("8", "1", "2", "16"), ("max_rank",)),
    Dimension("priorities", ("1", "0", "5", "2147483647"), ("priority_least", "priority_greatest")),
    Dimension("devices", ("2", "1", "3")),
    Dimension("streams", ("0", "8")),
    Dimension("events", ("64", "8")),
    Dimension("allocations", ("0", "32")),
    Dimension("tells_early", ("0", "1")),
    Dimension("policy", ("fifo", "lazy", "one_queue", "shuffled", "inline")),
    Dimension("callbacks_by_caller", ("0", "1")),
    Dimension("host_waits", ("0", "1")),
    Dimension("copies_block", ("0", "1")),
    Dimension("handles", ("fresh", "reuse", "never")),
    Dimension("poison", ("0", "1")),
    Dimension("zero_handle", ("0", "1")),
    Dimension("prepare", ("0", "1", "2")),
    Dimension("compile", ("0", "1", "2")),
    Dimension("aligned", ("0", "1")),
    Dimension("scratch", ("0", "64K")),
    Dimension("refuses", ("", "rank_0+empty", "strided", "offset", "alias+large", "dtype")),
    Dimension("only", ("", "copy_", "add.Tensor")),
    Dimension("without", ("", *alone(), *TOGETHER, "stream_native_handle")),
    Dimension("older", ("0", "1")),
)
NOT_VARIED = {"struct_size", "name", "driver", "zero"}
TORCH = ("--python", sys.executable)
# A recommendation may be left aside: an anti-mutant does.
FINE = {"pass", "unsupported", "not-shown", "left-out", "warning"}
SMALL = ("8M", "4M")


def legal(vector: Vector) -> bool:
    """Returns whether the header allows the combination."""
    small = vector.get("memory") in SMALL
    if small and vector.get("unit") == "2M":
        return False  # 32 allocations at a time
    if vector.get("older") == "1" and vector.get("max_allocation"):
        return False  # its properties end before they could say so
    return not (small and vector.get("unknown_memory") == "1")  # at least 64 MiB then


def plain() -> dict[str, str]:
    return {dimension.option: dimension.values[0] for dimension in DIMENSIONS}


def singles() -> Iterator[Vector]:
    """Each value beside the plain ones."""
    for dimension in DIMENSIONS:
        for value in dimension.values[1:]:
            yield {**plain(), dimension.option: value}


def all_pairs() -> set[Pair]:
    pairs = set()
    for first, second in itertools.combinations(DIMENSIONS, 2):
        for a, b in itertools.product(first.values, second.values):
            if legal({first.option: a, second.option: b}):
                pairs.add(((first.option, a), (second.option, b)))
    return pairs


def covered(vector: Vector) -> Iterator[Pair]:
    """Yields the pairs that meet in the vector."""
    items = [(dimension.option, vector[dimension.option]) for dimension in DIMENSIONS]
    yield from itertools.combinations(items, 2)


def _draw(left: set[Pair], chance: random.Random) -> Vector | None:
    """Returns a vector that begins with a pair that is left, and takes what covers most."""
    (a, b) = chance.choice(sorted(left))
    vector = dict([a, b])
    others = [d for d in DIMENSIONS if d.option not in vector]
    chance.shuffle(others)
    for dimension in others:
        best, most = "", -1
        for value in chance.sample(dimension.values, len(dimension.values)):
            if not legal({**vector, dimension.option: value}):
                continue
            item = (dimension.option, value)
            gain = sum((p, item) in left or (item, p) in left for p in vector.items())
            if gain > most:
                best, most = value, gain
        if most < 0:
            return None
        vector[dimension.option] = best
    return vector


def vectors(seed: int = 1) -> list[Vector]:
    """Returns vectors in which each legal pair of values meets at least once."""
    chance = random.Random(seed)  # noqa: S311
    left, found = all_pairs(), []
    while left:
        tries = [vector for _ in range(8) if (vector := _draw(left, chance)) is not None]
        best = max(tries, key=lambda vector: sum(pair in left for pair in covered(vector)))
        left.difference_update(covered(best))
        found.append(best)
    return found


def options(vector: Vector) -> list[str]:
    words = ["--backend-option", "mutant=legal"]
    for option, value in vector.items():
        if value:
            words += ["--backend-option", f"{option}={value}"]
    return words


def spoken(vector: Vector) -> str:
    """Returns the vector in short: what is not plain."""
    usual = plain()
    return " ".join(f"{k}={v}" for k, v in vector.items() if v != usual[k]) or "plain"


def may_be_trivial(vector: Vector) -> bool:
    """Returns whether an order may hold trivially on this device."""
    return vector["policy"] in {"inline", "one_queue", "shuffled"} or "1" in (
        vector["host_waits"],
        vector["copies_block"],
    )


@dataclass(frozen=True)
class Legal:
    """A device that is as it should be."""

    name: str
    library: str
    options: tuple[str, ...] = ()
    trivial: bool = True
    """An order may hold trivially on it."""


def of_vector(vector: Vector) -> Legal:
    """Returns the device that a vector describes."""
    return Legal(spoken(vector), "mutants", tuple(options(vector)), may_be_trivial(vector))


def fixed() -> Iterator[Legal]:
    """Yields the conforming backends, and all anti-mutants."""
    yield Legal("template", "template")
    yield Legal("cpu", "cpu", trivial=False)
    told = subprocess.run([BUILD / "bin/tbk-mutants", "anti"], capture_output=True, check=True)
    for row in map(json.loads, told.stdout.splitlines()):
        name = str(row["name"])
        yield Legal(name, "mutants", ("--backend-option", f"mutant={name}"))


def findings(device: Legal, results: Results) -> list[str]:
    """Returns what the suite says of a device that is as it should be."""
    said = []
    for test in results.tests:
        if test["verdict"] not in FINE:
            why = f"expected {test['expected']}, seen {test['seen']}"
            said.append(f"{test['id']}: {test['verdict']}: {why}")
        reason = test["evidence_reason"] or ""
        if test["evidence"] == "trivial" and not device.trivial and test["layer"] == "c":
            said.append(f"{test['id']}: trivial: {reason}")
    return said


def judge(device: Legal, folder: Path, *more: str, layer: str = "c") -> list[str]:
    """Runs the suite on the device, and returns what it finds."""
    library = LIB / f"libtbk_{device.library}.so"
    words = [str(library)] if layer == "c" else [f"--torch-library={library}", *TORCH]
    ran = run(words[0], folder / "results.jsonl", *words[1:], *device.options, *more, timeout=7200)
    said = findings(device, ran.results())
    if ran.code != 0 and not said:
        said.append(f"exit {ran.code}: {ran.line}")
    return said


def sweep(
    devices: Iterable[Legal], jobs: int, *more: str, layer: str = "c"
) -> Iterator[tuple[Legal, list[str]]]:
    """Judges each device, `jobs` at a time."""

    def one(device: Legal) -> tuple[Legal, list[str]]:
        with tempfile.TemporaryDirectory() as folder:
            return device, judge(device, Path(folder), *more, layer=layer)

    with ThreadPoolExecutor(jobs) as pool:
        yield from pool.map(one, devices)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="The suite on devices that the header allows.")
    parser.add_argument("--tier", choices=("quick", "thorough"), default="quick")
    parser.add_argument("--layer", choices=("c", "torch"), default="c")
    parser.add_argument("--every", type=int, default=1, help="take each Nth vector")
    parser.add_argument("--jobs", type=int, default=2, help="devices at a time")
    parser.add_argument("--budget", default="300", help="seconds of a device at the torch layer")
    return parser.parse_args()


def main() -> int:
    given = parse()
    drawn = [plain(), *[*singles(), *vectors()][:: given.every]]
    devices = [*fixed(), *map(of_vector, drawn)]
    more = ["--tier", given.tier] if given.layer == "c" else ["--budget", given.budget]
    bad = 0
    for device, said in sweep(devices, given.jobs, *more, layer=given.layer):
        bad += bool(said)
        if said:
            print(device.name, *said, sep="\n  ", flush=True)
    print(f"{len(devices)} devices, {given.tier}, layer {given.layer}, {bad} with findings")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
