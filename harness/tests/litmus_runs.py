# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Runs of tbk-litmus, and what they say: how often a fault shows, and how sure a run is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from runs import BUILD, CPU, LIB, PATIENCE, Record

LITMUS = BUILD / "bin" / "tbk-litmus"
MUTANTS = LIB / "libtbk_mutants.so"
# One thread makes all calls and runs all work, and takes its choices from the seed.
SEEDED = ("scheduler=caller", "policy=shuffled", "seed=3")
# A variable that steers a simulated driver, of a text that ends quotes and comments.
STEERED = ("TBK_ACME_SIMULATOR", 'it\'s "a" $b; */ \n\\ *')
BRIDGE = BUILD / "python" / "torch_tbk" / "_C.so"  # is a gate, too
SURE = 20.7  # sightings: e^-20.7 is below 1e-9

# Of each kind of edge that a rate can be planted for: the call that is broken.
PLANTED = {
    "WAIT": "rare_wait",
    "RERECORD": "rare_record",
    "EVENT_SYNCHRONIZE": "rare_event_synchronize",
    "STREAM_SYNCHRONIZE": "rare_stream_synchronize",
    "DEVICE_SYNCHRONIZE": "rare_device_synchronize",
    "CALLBACK_AFTER": "rare_callback",
}


@dataclass(frozen=True)
class Hunt:
    """A run that ends with its first finding, made smaller."""

    code: int
    stdout: str
    stderr: str
    records: list[Record]
    reproducer: Path

    def one(self, kind: str) -> Record:
        found = [record for record in self.records if record["record"] == f"litmus-{kind}"]
        assert len(found) == 1, self.stderr
        return found[0]


def read(path: Path) -> list[Record]:
    return [json.loads(one) for one in path.read_text().splitlines()]


def hunted(
    command: Sequence[str],
    folder: Path,
    reproducer: str,
    environment: Mapping[str, str] | None = None,
) -> Hunt:
    """Runs a command that writes litmus.jsonl and the file of a finding into `folder`."""
    done = subprocess.run(
        command, env=environment,
        capture_output=True, text=True, errors="replace", timeout=PATIENCE, check=False,
    )  # fmt: skip
    output = folder / "litmus.jsonl"
    records = read(output) if output.exists() else []
    return Hunt(done.returncode, done.stdout, done.stderr, records, folder / reproducer)


def arguments(library: Path | str, folder: Path, options: tuple[str, ...]) -> list[str]:
    words = [f"--backend-option={option}" for option in options]
    files = [f"--output={folder / 'litmus.jsonl'}", f"--reproducer={folder / 'litmus.c'}"]
    return [str(LITMUS), str(library), *files, *words]


def hunt(library: Path | str, folder: Path, options: tuple[str, ...], *more: str) -> Hunt:
    return hunted([*arguments(library, folder, options), *more], folder, "litmus.c")


def tbk(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tbk_harness", "litmus", *words, f"--report-dir={folder}"],
        capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip


@dataclass(frozen=True)
class Run:
    code: int
    programs: int  # those without an edge too
    found: int
    cpu_seconds: float
    index: int  # of the first finding, where the run ended with it
    outcome: str  # of that
    processes: int
    found_in: int  # of them; only where the run goes on after what it finds
    edges: dict[str, Record]


def litmus(
    library: Path, options: tuple[str, ...], programs: int, *, seed: int = 1, counts: bool = False,
    processes: int = 1, seconds: float = 100_000, call_timeout: float = 0.5,
) -> Run:  # fmt: skip
    """Runs programs in one thread, and returns what was found; nothing is made smaller."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "litmus.jsonl"
        words = [f"--backend-option={option}" for option in (*options, *SEEDED)]
        done = subprocess.run(
            [LITMUS, library, f"--programs={programs}", f"--processes={processes}",
             f"--seed={seed}", f"--seconds={seconds}",
             "--shrink-time=0.001", f"--call-timeout={call_timeout}", f"--output={output}",
             f"--reproducer={folder}/litmus.c", *(["--count"] if counts else []), *words],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode not in (0, 1):
            raise RuntimeError(f"{options}: {done.stderr.strip()}")
        records = read(output)
    footer = records[-1]
    first = next((r for r in records if r["record"] == "litmus-finding"), {})
    return Run(
        code=done.returncode,
        programs=footer["programs"] + footer["controls"],
        found=footer["found"],
        cpu_seconds=footer["cpu_milliseconds"] / 1000,
        index=first.get("index", -1),
        outcome=first.get("outcome", ""),
        processes=footer["processes"],
        found_in=footer["found_in"],
        edges={r["kind"]: r for r in records if r["record"] == "litmus-edge"},
    )


def through_pytorch(options: tuple[str, ...], seconds: float, gated: bool = False) -> Record:
    """Runs programs of PyTorch's calls on a mutant behind the bridge; nothing is made smaller.

    `gated`: with the bridge's gate, for which work must have threads of its own.
    """
    with tempfile.TemporaryDirectory() as folder:
        scheduler = () if gated else SEEDED
        words = [f"--backend-option={option}" for option in (*options, *scheduler)]
        words += [f"--torch-gate={BRIDGE}"] if gated else []
        ended = hunted(
            [str(LITMUS), f"--torch-library={MUTANTS}", f"--python={sys.executable}",
             f"--seconds={seconds}", "--shrink-time=0.01", "--call-timeout=6",
             f"--output={folder}/litmus.jsonl", f"--reproducer={folder}/litmus.py", *words],
            Path(folder), "litmus.py", {**os.environ, "TBK_BUILD": str(BUILD)},
        )  # fmt: skip
        if ended.code not in (0, 1):
            raise RuntimeError(f"{options}: {ended.stderr.strip()}")
        footer = ended.one("footer")
        found = [one for one in ended.records if one["record"] == "litmus-finding"]
        clauses = found[0]["clauses"] if found else []
    return {"code": ended.code, "programs": footer["programs"],
            "milliseconds": footer["milliseconds"], "clauses": clauses}  # fmt: skip


def stated(edges: dict[str, Record], programs: int, kind: str) -> float:
    """Returns N / programs: a fault in one of N edges is excluded by so many programs."""
    return float(edges[kind]["one_in"]) / programs


def plant(kind: str, one_in: int, chance: int, share: int = 100) -> tuple[str, ...]:
    """Returns the options of a fault of one of so many calls, in so many of a hundred processes."""
    rate = (f"one_in={one_in}", f"chance={chance}", f"share={share}")
    return (f"mutant={PLANTED[kind]}", *rate)


def sound(programs: int, processes: int = 1) -> Run:
    """Returns a run of the reference, which says how sure programs are."""
    return litmus(CPU, (), programs, processes=processes)
