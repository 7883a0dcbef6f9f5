# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""How much a first diagnosis finds: sabotaged devices under `tbk check --budget`, beside a load.

    budget.py BUILD FOLDER [--set first]... [--budget 120] [--jobs 1] [--load CORES] [--sound 3]
              [--only NAME]... [--shard 1/1] [--seed 1] [--count 30] [--whole] [--resume]

The sound device is checked first, each time to the end: what fails there is found falsely. Then
each device of bridge/tests/mutants/tbk_torch_sabotages, until the first record of a failure that
the sound one does not have, or to the end; with --whole always to the end, so that its results can
be ranked (ranking.py --torch). The set `mutants` is drawn by --seed from those mutants of the torch
layer which are not narrow. Each run is a line here, and in FOLDER/budget.jsonl; --resume leaves out
what that has. Exits with 1 where fewer than `--least` of a hundred are found, a
sound device has a finding, or a run ends late.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from runs import ROOT
from soak import load
from tbk_reports.model import EXIT_FINDINGS, EXIT_PASS, FAILING

DEVICES = ROOT / "bridge/tests/mutants"
SOUND = "sound"
SETS = ("first", "held_out", "second", "third", "mutants")
CHOSEN = {"mutants": "TBK_TORCH_MUTANT"}  # by the set; else by SABOTAGE
SABOTAGE = "TBK_TORCH_SABOTAGE"
LATE = 1.1  # of the budget
LEAST = 25 / 30
NOT_RUN = ("unsupported", "left-out")
MARKS = (15, 30, 45, 60, 75, 90, 105)  # seconds at which it is told how much has been looked at
GRACE_S = 30


@dataclass
class Diagnosis:
    """What one run said."""

    of: str
    name: str
    area: str
    found: str = ""
    """The first test whose failure counts."""
    clause: str = ""
    seconds: float = 0  # until then, or in all
    ended: float = 0  # seconds in all
    cpu_seconds: float = 0  # of all processes, in all; of several runs where --jobs is not 1
    begun: int = 0  # tests, until then
    exit_code: int | None = None  # None: it was ended when it had found something
    load: float = 0  # of the machine, when it ended
    failed: list[str] = field(default_factory=list)
    shares: dict[str, list[float]] = field(default_factory=dict)
    """Of the sound device: how many tests there had been after so many seconds, and which parts of
    suites, of clauses, and of their pairs with a value had one."""

    @property
    def is_sound(self) -> bool:
        return self.of == SOUND

    @property
    def is_false(self) -> bool:
        return self.is_sound and (self.exit_code != EXIT_PASS or bool(self.failed))

    def line(self) -> str:
        good = "clean" if self.is_sound else "found"
        what = good if bool(self.found) != self.is_sound else "FALSE" if self.is_sound else "MISSED"
        by = self.found or (f"exit {self.exit_code}" if self.exit_code else "")
        return (f"{what:6} {self.seconds:6.1f} s {self.cpu_seconds:6.1f} s of processors "
                f"{self.begun:5} tests  load {self.load:4.1f}  {self.area:13} {self.name}: "
                f"{self.clause} {by}")  # fmt: skip


class Ledger:
    """The records of a run while it writes them."""

    def __init__(self, path: Path) -> None:
        self.path, self._offset = path, 0
        self.planned: list[dict[str, Any]] = []
        self.began = time.monotonic()

    def read(self) -> list[dict[str, Any]]:
        """Returns the tests that ran since; each is given the time at which it was seen."""
        try:
            with self.path.open("rb") as file:
                file.seek(self._offset)
                data = file.read()
        except OSError:
            return []
        whole = data.rfind(b"\n") + 1
        self._offset += whole
        records = [json.loads(line) for line in data[:whole].splitlines()]
        tests = [one for one in records if one["record"] == "test"]
        for one in tests:
            one["at"] = time.monotonic() - self.began
        self.planned += tests
        return [one for one in tests if one["verdict"] not in NOT_RUN]


def environment(build: Path) -> dict[str, str]:
    path = os.pathsep.join([str(DEVICES), os.environ.get("PYTHONPATH", "")])
    library = str(build / "lib/libtbk_cpu.so")
    return {**os.environ, "PYTHONPATH": path, "TBK_BUILD": str(build), "TBK_TORCH_LIBRARY": library}


def listed(module: str, build: Path) -> list[str]:
    """Returns what a module of DEVICES says that it has, a line each."""
    command = [sys.executable, "-m", module]
    done = subprocess.run(
        command, env=environment(build), capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


def sabotages(build: Path, sets: tuple[str, ...]) -> list[Diagnosis]:
    """Returns one of each, not yet run."""
    rows = [line.split() for line in listed("tbk_torch_sabotages", build)]
    return [Diagnosis(of, name, area) for of, name, area in rows if of in sets]


def mutants(build: Path, seed: int, count: int | None) -> list[Diagnosis]:
    """Returns mutants of the torch layer that are not narrow, drawn by a seed, not yet run; all
    without a count."""
    rows = [json.loads(line) for line in listed("tbk_torch_mutants", build)]
    broad = [row for row in rows if not row["narrow"]]
    drawn = random.Random(seed).sample(broad, min(count or len(broad), len(broad)))  # noqa: S311
    return [Diagnosis("mutants", row["name"], row["mechanism"]) for row in drawn]


def pairs(test: dict[str, Any]) -> set[tuple[str, ...]]:
    """Returns clause and value, for each value of a parameter that the test has."""
    given = test["id"].partition("[")[2].rpartition("]")[0]
    keyed = "=" in given
    values = given.split("," if keyed else "-") if given else []
    return {
        (test["clause"], value if keyed else f"{at}={value}") for at, value in enumerate(values)
    }


def shares(tests: list[dict[str, Any]]) -> dict[str, list[float]]:
    """Returns how much of suites, clauses and pairs had been looked at, by seconds."""
    planned = [one for one in tests if one["verdict"] != "unsupported"]
    suites = {one["suite"] for one in planned}
    clauses = {one["clause"] for one in planned}
    all_pairs = {pair for one in planned for pair in pairs(one)}
    told = {}
    for mark in (*MARKS, float("inf")):
        ran = [one for one in planned if one["verdict"] not in NOT_RUN and one["at"] <= mark]
        seen = {pair for one in ran for pair in pairs(one)}
        part = [
            len({one["suite"] for one in ran}) / len(suites),
            len({one["clause"] for one in ran}) / len(clauses),
            len(seen) / len(all_pairs),
        ]
        told[f"{mark:g}"] = [len(ran), *(round(one, 3) for one in part)]
    return told


def end(process: subprocess.Popen[bytes]) -> None:
    """Ends a run that has found what it was for."""
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(GRACE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def take(told: Diagnosis, ledger: Ledger, known: set[str]) -> None:
    """Counts what a run has recorded since; the first failure that counts is what it has found."""
    for test in ledger.read():
        told.begun += not told.found
        if test["verdict"] not in FAILING or test["id"] in known:
            continue
        told.failed.append(test["id"])
        if not (told.found or told.is_sound):
            told.found, told.clause = test["id"], test["clause"]
            told.seconds = round(time.monotonic() - ledger.began, 1)


def diagnose(
    told: Diagnosis, known: set[str], build: Path, folder: Path, budget: float, whole: bool
) -> None:
    """Checks one device, as its vendor would. `known`: what fails on the sound one, too. `whole`:
    go on when something is found."""
    words = [str(Path(sys.executable).parent / "tbk"), "check", "--device", "tbk_cpu", "--import",
             "tbk_torch_device", "--budget", f"{budget:g}s",
             "--report-dir", str(folder)]  # fmt: skip
    chosen = {} if told.is_sound else {CHOSEN.get(told.of, SABOTAGE): told.name}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "parts/torch.jsonl").unlink(missing_ok=True)
    before, ledger = (
        resource.getrusage(resource.RUSAGE_CHILDREN),
        Ledger(folder / "parts/torch.jsonl"),
    )
    with (folder / "said.txt").open("wb") as said:
        process = subprocess.Popen(
            words, env={**environment(build), **chosen}, stdout=said, stderr=said
        )
        running = True
        while running and (whole or not told.found):
            time.sleep(0.1)
            running = process.poll() is None
            take(told, ledger, known)
        told.ended = round(time.monotonic() - ledger.began, 1)
        told.seconds = told.seconds or told.ended
        if running:
            end(process)
        else:
            told.exit_code = process.returncode
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    told.cpu_seconds = round(
        after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 1)  # fmt: skip
    told.load = round(os.getloadavg()[0], 1)
    if not (running or told.found or told.is_sound) and process.returncode == EXIT_FINDINGS:
        told.found = "the device"  # as where it stops to compute
    if told.is_sound and ledger.planned:
        told.shares = shares(ledger.planned)


def conclude(told: list[Diagnosis], budget: float, least: float) -> bool:
    """Prints the figures, and returns whether they are as they should be."""
    good = True
    for of in dict.fromkeys(one.of for one in told if not one.is_sound):
        broken = [one for one in told if one.of == of]
        found = sorted(one.seconds for one in broken if one.found)
        median = f", half of them within {found[len(found) // 2]:.0f} s" if found else ""
        print(f"{of}: {len(found)} of {len(broken)} found{median}; missed: "
              f"{', '.join(one.name for one in broken if not one.found) or 'none'}")  # fmt: skip
        good &= len(found) >= int(least * len(broken)) or of == "held_out"
    sound = [one for one in told if one.is_sound]
    for one in sound:
        for mark, (tests, suites, clauses, values) in one.shares.items():
            print(f"{one.name}: after {mark} s {tests:.0f} tests, {suites:.1%} of the suites, "
                  f"{clauses:.1%} of the clauses, {values:.1%} of their values")  # fmt: skip
    whole = [one.ended for one in told if one.exit_code is not None]
    late = sum(one > LATE * budget for one in whole)
    false = sum(one.is_false for one in sound)
    print(f"{false} of {len(sound)} sound devices with findings; whole runs took "
          f"{max(whole, default=0):.1f} s at most, {late} late")  # fmt: skip
    return good and not false and not late


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=Path)
    parser.add_argument("folder", type=Path, help="where the reports go")
    parser.add_argument("--set", action="append", choices=SETS, help="of sabotages; else the first")
    parser.add_argument("--budget", type=float, default=120)
    parser.add_argument("--jobs", type=int, default=1, help="devices at a time")
    parser.add_argument("--load", type=int, default=len(os.sched_getaffinity(0)), help="busy loops")
    parser.add_argument("--only", action="append", help="a sabotage")
    parser.add_argument("--shard", default="1/1", help="which part of them, of how many")
    parser.add_argument("--seed", type=int, default=1, help="by which mutants are drawn")
    parser.add_argument("--count", type=int, default=30, help="of mutants")
    parser.add_argument("--whole", action="store_true", help="go on when something was found")
    parser.add_argument("--sound", type=int, default=3, help="runs of the sound device")
    parser.add_argument("--least", type=float, default=LEAST, help="of 1, how many must be found")
    parser.add_argument("--resume", action="store_true", help="go on where FOLDER ends")
    given = parser.parse_args()
    build, folder = given.build.resolve(), given.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    results = folder / "budget.jsonl"
    if not given.resume:
        results.unlink(missing_ok=True)
    lines = results.read_text("utf-8").splitlines() if results.exists() else []
    told = [Diagnosis(**json.loads(line)) for line in lines]
    done = {one.name for one in told}
    shard, count = map(int, given.shard.split("/"))
    sets = tuple(given.set or SETS[:1])
    rows = sabotages(build, sets)
    if "mutants" in sets:
        rows += mutants(build, given.seed, None if given.only else given.count)
    if given.only:
        rows = [one for one in rows if one.name in given.only]
    sound = [Diagnosis(SOUND, f"{SOUND}-{at + 1}", SOUND) for at in range(given.sound)]

    def run(one: Diagnosis) -> None:
        known = {test for other in told if other.is_sound for test in other.failed}
        diagnose(one, known, build, folder / one.name, given.budget, given.whole)
        told.append(one)
        with results.open("a") as file:
            file.write(json.dumps(asdict(one)) + "\n")
        print(one.line(), flush=True)

    with load(given.load), ThreadPoolExecutor(given.jobs) as pool:
        for part in (sound, rows[shard - 1 :: count]):
            list(pool.map(run, (one for one in part if one.name not in done)))
    return 0 if conclude(told, given.budget, given.least) else 1


if __name__ == "__main__":
    sys.exit(main())
