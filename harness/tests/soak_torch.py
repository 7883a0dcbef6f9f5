# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The same verdicts of the torch layer, whatever the machine does, and whatever a few tests do.

    soak_torch.py [--runs 50] [--library LIB | --device cpu] [--only AREA]... [--shard K/N]
                  [--load 2] [--injected] [--isolation auto] [--keep FOLDER] [--minutes M]

Shuffled runs are compared verdict by verdict, beside busy loops. With --injected one test of a
hundred crashes, hangs, ends its process or spoils it: those must get the verdict and the blame that
they deserve, and all others theirs. Exits with 1 if any verdict differs.
"""

from __future__ import annotations

import argparse
import importlib
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from runs import CPU, TBK_RUN, Record, read
from soak import Part, compare, load

BY_OTHERS = ("polluted", "poisoned")
ACTS = Path(__file__).resolve().parent / "torch_acts"


def torch_run(options: argparse.Namespace, output: Path, *more: str) -> None:
    subject = [f"--torch-device={options.device}"] if options.device else []
    subject += [] if options.device else [f"--torch-library={options.library}"]
    words = [str(TBK_RUN), *subject, "--python", sys.executable, "--output", str(output), "--quiet"]
    only = [f"--only={area}" for area in options.only]
    shard = ["--shard", options.shard] if options.shard else []
    path = os.pathsep.join([str(ACTS), os.environ.get("PYTHONPATH", "")])
    subprocess.run(
        [*words, *only, *shard, "--isolation", options.isolation, *more],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.DEVNULL,
        check=False,
    )


def shuffled(options: argparse.Namespace, expected: dict[str, str], folder: Path) -> bool:
    output = folder / "shuffled.jsonl"
    until = time.monotonic() + 60 * options.minutes
    part = Part("shuffled torch", options.runs, until)
    for at in part.each():
        torch_run(options, output, "--shuffle", str(at + 1))
        compare(part, expected, read(output).verdicts, options.keep, output)
    return part.tell()


def injected(options: argparse.Namespace, expected: dict[str, str], folder: Path) -> bool:
    sys.path.insert(0, str(ACTS))
    acts = importlib.import_module("injected")  # needs PyTorch, and changes pytest

    output = folder / "injected.jsonl"
    part = Part(f"injected, isolation {options.isolation}", 1, float("inf"))
    for _ in part.each():
        torch_run(
            options, output, "--torch-import", "injected", "--timeout", "20", "--most-hangs", "1000"
        )
        records = {record["id"]: record for record in read(output).tests}
        touched = {test: act for test in expected if (act := acts.act_of(test))}
        deserved = {**expected}
        for test, act in touched.items():
            if expected[test] != "unsupported":
                deserved[test] = acts.VERDICTS.get(act, expected[test])
        seen = {test: _as_if_alone(record) for test, record in records.items()}
        compare(part, deserved, seen, options.keep, output)
        for test, verdict in deserved.items():
            if verdict != expected[test] and records[test].get("blame") != "backend":
                part.differs(f"{test}: {records[test].get('blame')} is to blame")
        polluted = [record for record in records.values() if record["verdict"] == "polluted"]
        print(f"{len(touched)} of {len(expected)} tests touched, {len(polluted)} found polluted")
        for record in polluted:
            print(f"  {record['id']}: {record.get('seen') or record.get('notes')}")
    return part.tell()


def _as_if_alone(record: Record) -> str:
    """Returns the verdict without what others did in the same process, where that is what it
    says."""
    spoils = record.get("cause") == "fail/poisons-the-device"
    return "pass" if spoils or record["verdict"] in BY_OTHERS else str(record["verdict"])


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="The same verdicts of the torch layer.")
    parser.add_argument("--runs", type=int, default=50, help="shuffled runs")
    parser.add_argument("--library", type=Path, default=CPU, help="seen through the bridge")
    parser.add_argument("--device", help="a device that PyTorch knows, instead of a library")
    parser.add_argument("--only", action="append", default=[], metavar="AREA")
    parser.add_argument("--shard", metavar="K/N")
    parser.add_argument("--isolation", default="auto", metavar="auto|fork|batch")
    parser.add_argument("--load", type=int, default=len(os.sched_getaffinity(0)), help="busy loops")
    parser.add_argument("--injected", action="store_true", help="with tests that behave badly")
    parser.add_argument("--keep", type=Path, help="folder for result files that differ")
    parser.add_argument("--minutes", type=float, default=600, help="begin no run after this")
    return parser.parse_args()


def main() -> int:
    options = parse()
    with load(options.load), tempfile.TemporaryDirectory(prefix="tbk-soak-") as name:
        folder = Path(name)
        output = folder / "expected.jsonl"
        torch_run(options, output)
        expected = read(output)
        print(f"{len(expected.tests)} tests: {expected.counts()}", flush=True)
        good = True
        if options.injected:
            good &= injected(options, expected.verdicts, folder)
        if options.runs > 0:
            good &= shuffled(options, expected.verdicts, folder)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
