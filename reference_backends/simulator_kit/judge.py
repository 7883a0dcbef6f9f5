# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Faults of a backend on its simulated driver: which rule of it, or which clause, reports each.

A fault is one of those that shim/shim.h lists: by position (call K of each function is left out,
gets another live handle, or has its error dropped), or by hand. One that never takes place, because
nothing makes that call, is none. Ends with 1 where a fault is found by nothing and not declared.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("TBK_BUILD", ROOT / "build"))
PASSES = {"pass", "unsupported", "not-shown", "xfail", "left-out"}
POSITIONS = (1,)
QUICK = 16  # faults of the quick version, in equal steps over all
LIMIT_S = 300
LOOK_S = 0.3


@dataclass(frozen=True)
class Driver:
    """What is judged: a backend, with its simulated driver and the one with a fault before it."""

    name: str  # of the backend; in capitals, of variables and rules
    equivalent: Mapping[str, str]  # what nothing need find, by how its name begins, and why
    rules: str  # how its rules begin: "SIM-CUDA"
    modes: tuple[str, ...] = ("",)  # of the simulator: the next, where one has found nothing
    environment: Mapping[str, str] = field(default_factory=dict)  # {simulator}: its path

    def library(self, suffix: str = "") -> Path:
        return BUILD / "lib" / f"libtbk_{self.name}{suffix}.so"

    def variable(self, suffix: str) -> str:
        return f"TBK_{self.name.upper()}_{suffix}"

    def declared(self, fault: str) -> str:
        """Returns why nothing need find this fault; empty where something must."""
        return next((why for name, why in self.equivalent.items() if fault.startswith(name)), "")

    def faults(self) -> list[str]:
        """Returns all faults, as the shim lists them."""
        listed: list[str] = []
        library = ctypes.CDLL(str(self.library("_shim")))
        kind = ctypes.CFUNCTYPE(None, ctypes.c_char_p)
        library.tbk_shim_list(kind(lambda text: listed.append(text.decode())))
        by_position = [f"{one}:{k}" for one in listed if ":" in one for k in POSITIONS]
        return by_position + [one for one in listed if ":" not in one]

    def judge(self, fault: str) -> Found:
        """Runs the scenario of faults with this one, which takes no time; then the contracts.

        Where the scenario breaks no rule that it does not break without a fault, the contracts are
        run in each mode of the simulator, until something is found; not where nothing need be.
        """
        found = self._scenario(fault)
        rules = tuple(one for one in found.rules if one not in self._asked.rules)
        if rules:
            return replace(found, rules=rules)
        if self.declared(fault):
            return replace(found, rules=())
        for mode in self.modes:
            found = self._judge(fault, mode)
            if found.reported or not found.hits:
                break
        return found

    @cached_property
    def _asked(self) -> Found:
        """What the scenario breaks by itself, when it asks the simulator what is left."""
        return self._scenario("")

    def _scenario(self, fault: str) -> Found:
        with tempfile.TemporaryDirectory() as folder:
            hits, log = Path(folder) / "hits", Path(folder) / "log"
            left = self._left(self._environment(fault, "", hits, log))
            return Found(fault, _size(hits), self._rules_of(log), (), left, "")

    def _rules_of(self, log: Path) -> tuple[str, ...]:
        return tuple(sorted(set(re.findall(rf"{self.rules}-\d{{3}}", _text(log)))))

    def may_take_place(self, fault: str, seen: set[str]) -> bool:
        """Returns whether the contracts call the function of a fault by position, and it fails."""
        kind, _, where = fault.partition(":")
        symbol = where.partition(":")[0].partition(".")[0]
        return not where or f"{'failed' if kind == 'drop' else 'called'} {symbol}" in seen

    def seen(self) -> set[str]:
        """Returns which functions are called, and which fail; ends where anything is found."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "seen"
            found = self._judge("", self.modes[0], {self.variable("SHIM_SEEN"): str(path)})
            if found.reported:
                sys.exit(f"without a fault there are findings: {found.rules} {found.clauses}")
            return set(_text(path).splitlines())

    def _left(self, environment: dict[str, str]) -> str:
        """Returns what the scenario of faults, which looks behind the backend, finds at its end."""
        libraries = [str(self.library(one)) for one in ("", "_shim", "_simulator")]
        done = subprocess.run(
            [str(BUILD / "bin" / f"tbk-{self.name}-faults"), *libraries, "--as-is"],
            env=environment, capture_output=True, text=True, timeout=LIMIT_S, check=False,
        )  # fmt: skip
        return " ".join(done.stdout.split("\n")[0].split()[1:]) if done.returncode else ""

    def _environment(self, fault: str, mode: str, hits: Path, log: Path) -> dict[str, str]:
        more = {name: text.format(simulator=self.library("_simulator"))
                for name, text in self.environment.items()}  # fmt: skip
        own = {"SHIM": fault, "SHIM_HITS": str(hits), "SIMULATOR": mode, "SIMULATOR_LOG": str(log)}
        return {**os.environ, **{self.variable(name): text for name, text in own.items()}, **more}

    def _judge(self, fault: str, mode: str, more: Mapping[str, str] | None = None) -> Found:
        with tempfile.TemporaryDirectory() as folder:
            hits, output, log = (Path(folder) / name for name in ("hits", "results.jsonl", "log"))
            environment = self._environment(fault, mode, hits, log) | dict(more or {})
            command = [str(BUILD / "bin" / "tbk-run"), str(self.library())]
            command += ["-b", f"driver={self.library('_shim')}", "-q", "--jobs", "1"]
            command += [f"--output={output}", "--timeout", "8", "--open-timeout", "8"]
            # The most telling come first, and one finding is enough.
            command += ["--most-hangs", "1", "--budget", f"{LIMIT_S}s"]
            said = _run_until(
                command, environment, lambda: bool(_failed(output) or self._rules_of(log))
            )
            failed = _failed(output)
            rules = self._rules_of(log)
            count = _size(hits)
            said_no = re.search(
                rf"^tbk-run: ERROR.*?{self.library().name}: (.*?)  results:", said, re.MULTILINE
            )
            refused = said_no.group(1) if said_no else ""
            left = "" if rules or failed or refused else self._left(environment)
        return Found(
            fault, count, rules, tuple(sorted(failed)), refused or left,
            said.strip()[-200:],
        )  # fmt: skip


@dataclass(frozen=True)
class Found:
    """What came of one fault."""

    fault: str
    hits: int
    rules: tuple[str, ...]
    clauses: tuple[str, ...]
    refused: str  # in one line, where no test could run, or what was left at the end
    seen: str  # how the run ended

    @property
    def reported(self) -> bool:
        return bool(self.rules or self.clauses or self.refused)

    @property
    def by(self) -> str:
        if self.rules:
            return ", ".join(self.rules)
        if not self.clauses:
            return self.refused
        return ", ".join(self.clauses[:3]) + (" ..." if len(self.clauses) > 3 else "")


def _failed(output: Path) -> set[str]:
    """Returns the clauses of which a test has failed."""
    tests = [one for one in _records(output) if one.get("record") == "test"]
    return {str(one["clause"]) for one in tests if one.get("verdict") not in PASSES | {"warning"}}


def _run_until(
    command: Sequence[str], environment: Mapping[str, str], is_enough: Callable[[], bool]
) -> str:
    """Runs the command to its end, or until it is enough or late; returns what it said."""
    with tempfile.TemporaryFile("w+", errors="replace") as said:
        process = subprocess.Popen(command, env=environment, stdout=said, stderr=said)
        until = time.monotonic() + LIMIT_S
        while process.poll() is None and time.monotonic() < until and not is_enough():
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(LOOK_S)
        if process.poll() is None:
            process.terminate()
            process.wait()
        said.seek(0)
        return said.read()


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _text(path: Path) -> str:
    return path.read_text(errors="replace") if path.exists() else ""


def _records(path: Path) -> list[dict[str, object]]:
    lines = _text(path).splitlines()
    found = []
    for line in lines:
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    return found


def _group(fault: str) -> str:
    return fault.partition(":")[0] if ":" in fault else "by hand"


def table(driver: Driver, found: Sequence[Found]) -> str:
    """Returns the kill table, as Markdown."""
    real = [one for one in found if one.hits]
    groups = list(dict.fromkeys(_group(one.fault) for one in real))
    lines = ["| faults | number | by a rule | by a clause | otherwise | by nothing |"]
    lines += ["|---|---|---|---|---|---|"]
    for group in [*groups, ""]:
        mine = [one for one in real if not group or _group(one.fault) == group]
        rules = sum(bool(one.rules) for one in mine)
        clauses = sum(bool(one.clauses) and not one.rules for one in mine)
        lost = sum(not one.reported for one in mine)
        counts = (len(mine), rules, clauses, len(mine) - rules - clauses - lost, lost)
        lines.append("| " + " | ".join(map(str, (group or "all", *counts))) + " |")
    lines += ["", "| fault | found by |", "|---|---|"]
    for one in real:
        by = one.by or f"nothing: {driver.declared(one.fault) or one.seen}"
        lines.append(f"| `{one.fault}` | {by} |".replace("\n", " "))
    return "\n".join(lines) + "\n"


def main(driver: Driver, words: Iterable[str] | None = None) -> int:
    """Prints the table; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} of the faults")
    parser.add_argument("--only", default="", help="faults with this in their names")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--output", type=Path, help="write the table to this page as well")
    options = parser.parse_args(list(words) if words is not None else None)
    seen = driver.seen()
    chosen = [one for one in driver.faults() if options.only in one]
    chosen = [one for one in chosen if driver.may_take_place(one, seen)]
    if options.quick:
        chosen = chosen[:: max(1, len(chosen) // QUICK)]
    with ThreadPoolExecutor(options.jobs) as pool:
        found = []
        for one in pool.map(driver.judge, chosen):
            found.append(one)
            print(f"{one.fault}: {one.by or 'nothing'}", file=sys.stderr, flush=True)
    page = table(driver, found)
    sys.stdout.write(page)
    if options.output is not None:
        options.output.write_text(page)
    real = [one for one in found if one.hits]
    lost = [one for one in real if not one.reported and not driver.declared(one.fault)]
    for one in lost:
        sys.stdout.write(f"found by nothing, and not declared: {one.fault}\n")
    sys.stdout.write(f"\n{sum(one.reported for one in real)} of {len(real)} found\n")
    return 1 if lost or not real else 0
