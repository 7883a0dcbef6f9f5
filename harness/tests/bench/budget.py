# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""How much a first diagnosis finds: sabotaged devices under `tbk check --budget`, beside a load.

    budget.py BUILD FOLDER [--budget 120] [--jobs 1] [--load CORES] [--only NAME]... [--sound 2]

Each device of bridge/tests/mutants/tbk_torch_sabotages.py is checked beside busy loops, and so is
the sound one. Prints a line for each run: found or missed, seconds, clauses. Exits with 1 where
fewer than `--least` are found, a sound device has a finding, or a run ends late.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from runs import ROOT
from soak import load
from tbk_reports.model import EXIT_FINDINGS, EXIT_PASS, read_results

DEVICES = ROOT / "bridge/tests/mutants"
SOUND = "sound"
LATE = 1.1  # of the budget


@dataclass(frozen=True)
class Diagnosis:
    """What one run said."""

    name: str
    area: str
    exit_code: int
    seconds: float
    ran: int
    clauses: tuple[str, ...]
    """Of the tests that failed."""
    odd: tuple[str, ...]
    """What can be of no sabotage here: blame of somebody else, and tests that hang."""

    @property
    def found(self) -> bool:
        return self.exit_code == EXIT_FINDINGS and bool(self.clauses)

    def line(self) -> str:
        what = ("clean" if self.exit_code == EXIT_PASS else "FALSE") if self.name == SOUND else (
            "found" if self.found else "MISSED")  # fmt: skip
        clauses = " ".join(self.clauses[:8]) + (" ..." if len(self.clauses) > 8 else "")
        odd = f"; odd: {', '.join(self.odd)}" if self.odd else ""
        return (f"{what:6} {self.seconds:6.1f} s  {self.ran:4} tests  exit {self.exit_code}  "
                f"{self.area:13} {self.name}: {clauses}{odd}")  # fmt: skip


def environment(build: Path) -> dict[str, str]:
    path = os.pathsep.join([str(DEVICES), os.environ.get("PYTHONPATH", "")])
    library = str(build / "lib/libtbk_cpu.so")
    return {**os.environ, "PYTHONPATH": path, "TBK_BUILD": str(build), "TBK_TORCH_LIBRARY": library}


def sabotages(build: Path) -> dict[str, str]:
    """Returns their names, each with its area."""
    command = [sys.executable, "-m", "tbk_torch_sabotages"]
    done = subprocess.run(
        command, env=environment(build), capture_output=True, text=True, check=True
    )
    return dict(line.split() for line in done.stdout.splitlines())


def diagnose(name: str, area: str, build: Path, folder: Path, budget: float) -> Diagnosis:
    """Checks one device, as its vendor would."""
    words = [str(Path(sys.executable).parent / "tbk"), "check", "--device", "tbk_cpu", "--import",
             "tbk_torch_device", "--budget", f"{budget:g}s",
             "--report-dir", str(folder)]  # fmt: skip
    chosen = {} if area == SOUND else {"TBK_TORCH_SABOTAGE": name}
    folder.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    with (folder / "said.txt").open("w") as said:
        done = subprocess.run(
            words, env={**environment(build), **chosen}, stdout=said, stderr=said, check=False
        )
    seconds = time.monotonic() - started
    results = folder / "results.jsonl"
    tests = read_results(results).tests if results.exists() else ()
    failed = [test for test in tests if test.failed]
    odd = [
        test.id for test in failed if test.blame not in ("", "backend") or test.verdict == "hang"
    ]
    ran = sum(test.verdict not in ("unsupported", "left-out") for test in tests)
    clauses = dict.fromkeys(test.clause for test in failed)
    return Diagnosis(name, area, done.returncode, seconds, ran, tuple(clauses), tuple(odd))


def tell(told: list[Diagnosis], budget: float, least: int) -> bool:
    """Prints the figures, and returns whether they are as they should be."""
    broken = [one for one in told if one.area != SOUND]
    false = [one for one in told if one.area == SOUND and one.exit_code != EXIT_PASS]
    late = [one for one in told if one.seconds > LATE * budget]
    found = sum(one.found for one in broken)
    print(f"{found} of {len(broken)} found, {len(broken) - found} missed; "
          f"{len(false)} of {len(told) - len(broken)} sound devices with findings; "
          f"{sum(bool(one.odd) for one in told)} with odd ones; "
          f"{max(one.seconds for one in told):.1f} s at most, {len(late)} late")  # fmt: skip
    return found >= least and not false and not late


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=Path)
    parser.add_argument("folder", type=Path, help="where the reports go")
    parser.add_argument("--budget", type=float, default=120)
    parser.add_argument("--jobs", type=int, default=1, help="devices at a time")
    parser.add_argument("--load", type=int, default=len(os.sched_getaffinity(0)), help="busy loops")
    parser.add_argument("--only", action="append", help="a sabotage")
    parser.add_argument("--sound", type=int, default=2, help="runs of the sound device")
    parser.add_argument("--least", type=int, help="how many must be found; else 25 of 30")
    given = parser.parse_args()
    build = given.build.resolve()
    chosen = {
        name: area for name, area in sabotages(build).items() if name in (given.only or [name])
    }
    plan = [*chosen.items(), *((SOUND, SOUND) for _ in range(given.sound))]
    least = len(chosen) * 25 // 30 if given.least is None else given.least

    def one(at: int) -> Diagnosis:
        name, area = plan[at]
        folder = given.folder.resolve() / (f"{name}-{at}" if area == SOUND else name)
        told = diagnose(name, area, build, folder, given.budget)
        print(told.line(), flush=True)
        return told

    with load(given.load), ThreadPoolExecutor(given.jobs) as pool:
        told = list(pool.map(one, range(len(plan))))
    return 0 if tell(told, given.budget, least) else 1


if __name__ == "__main__":
    sys.exit(main())
