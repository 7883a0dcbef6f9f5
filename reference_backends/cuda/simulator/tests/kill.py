# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Faults of the cuda backend on the simulated driver: which rule of the simulator, or which clause,
reports each.

    python reference_backends/cuda/simulator/tests/kill.py [--quick] [--only TEXT] [--output PAGE]

A fault is one of those that shim.h lists: by position (call K of each function is left out, gets
another live handle, or has its error dropped), or by hand. One that never takes place, because
nothing makes that call, is none. Ends with 1 where a fault is found by nothing and not declared.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[4]
BUILD = Path(os.environ.get("TBK_BUILD", ROOT / "build"))
SHIM = BUILD / "lib" / "libtbk_cuda_shim.so"
SIMULATOR = BUILD / "lib" / "libtbk_cuda_simulator.so"  # whose compiler the shim does not have
REFUSED = re.compile(r"^tbk-run: ERROR.*?libtbk_cuda\.so: (.*?)  results:", re.MULTILINE)
RULE = re.compile(r"SIM-CUDA-\d{3}")
PASSES = {"pass", "unsupported", "not-shown", "xfail", "left-out"}
POSITIONS = (1,)
QUICK = 16  # faults of the quick version, in equal steps over all
LIMIT_S = 300

# What is no fault by the contract or the reference, by the beginning of its name; all else that
# nothing finds is a gap.
TEXT = "a text for people"
LEGAL = "a legal answer: nobody knows better"
WAITS = "waits where it need not, which is legal"
EQUIVALENT = {
    "skip:cuGetErrorString": TEXT,
    "skip:cuDeviceGetName": TEXT,
    "swap:cuDeviceGetName": TEXT,
    "skip:cuDeviceTotalMem_v2": LEGAL,
    "swap:cuDeviceTotalMem_v2": "the devices are alike",
    "skip:cuDeviceCanAccessPeer": LEGAL,
    "swap:cuDeviceCanAccessPeer": "the devices are alike",
    "swap:cuDeviceGetAttribute": "the devices are alike",
    "swap:cuModuleLoadData.image": "no handle: an image that the driver refuses is made anew",
    "fill-waits": WAITS,
    "record-waits": WAITS,
    "host-waits-for-the-event": WAITS,
    "always-device-0": "two devices may be one piece of hardware",
    "blocking-streams": "differs only beside work on the legacy stream, and there is none",
}


def declared(fault: str) -> str:
    """Returns why nothing need find this fault; empty where something must."""
    return next((why for name, why in EQUIVALENT.items() if fault.startswith(name)), "")


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


def faults() -> list[str]:
    """Returns all faults, as the shim lists them."""
    listed: list[str] = []
    library = ctypes.CDLL(str(SHIM))
    kind = ctypes.CFUNCTYPE(None, ctypes.c_char_p)
    library.tbk_cuda_shim_list(kind(lambda text: listed.append(text.decode())))
    by_position = [f"{one}:{k}" for one in listed if ":" in one for k in POSITIONS]
    return by_position + [one for one in listed if ":" not in one]


def _records(path: Path) -> list[dict[str, object]]:
    lines = path.read_text(errors="replace").splitlines() if path.exists() else []
    found = []
    for line in lines:
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    return found


def _left(environment: dict[str, str]) -> str:
    """Returns what the scenario of faults, which looks behind the backend, finds at its end."""
    libraries = [str(one) for one in (BUILD / "lib" / "libtbk_cuda.so", SHIM, SIMULATOR)]
    done = subprocess.run(
        [str(BUILD / "bin" / "tbk-cuda-faults"), *libraries, "--as-is"], env=environment,
        capture_output=True, text=True, timeout=LIMIT_S, check=False,
    )  # fmt: skip
    return " ".join(done.stdout.split("\n")[0].split()[1:]) if done.returncode else ""


def judge(fault: str) -> Found:
    """Runs the contracts on the backend with this fault.

    Copies of pageable memory wait, as they may; once more, where nothing finds it, they do not.
    """
    found = _judge(fault, "")
    return found if found.reported or not found.hits else _judge(fault, "pageable=late")


def _judge(fault: str, simulator: str) -> Found:
    with tempfile.TemporaryDirectory() as folder:
        hits, output, log = (Path(folder) / name for name in ("hits", "results.jsonl", "log"))
        environment = {**os.environ, "TBK_CUDA_SHIM": fault, "TBK_CUDA_SHIM_HITS": str(hits)}
        environment |= {"TBK_CUDA_SIMULATOR": simulator}
        environment |= {"TBK_CUDA_SIMULATOR_LOG": str(log), "TBK_CUDA_NVRTC": str(SIMULATOR)}
        command = [str(BUILD / "bin" / "tbk-run"), str(BUILD / "lib" / "libtbk_cuda.so")]
        command += ["-b", f"driver={SHIM}", "-q", "--jobs", "1", f"--output={output}"]
        command += ["--timeout", "8", "--open-timeout", "8", "--most-hangs", "1"]
        try:
            done = subprocess.run(
                command, env=environment, capture_output=True, text=True, timeout=LIMIT_S,
                check=False,
            )  # fmt: skip
            said = done.stdout + done.stderr
        except subprocess.TimeoutExpired:
            said = f"the run took more than {LIMIT_S} s"
        tests = [one for one in _records(output) if one.get("record") == "test"]
        failed = {
            str(one["clause"]) for one in tests if one.get("verdict") not in PASSES | {"warning"}
        }
        rules = set(RULE.findall(log.read_text() if log.exists() else ""))
        count = hits.stat().st_size if hits.exists() else 0
        refused = REFUSED.search(said)
        left = "" if rules or failed or refused else _left(environment)
    return Found(
        fault, count, tuple(sorted(rules)), tuple(sorted(failed)),
        refused.group(1) if refused else left, said.strip()[-200:],
    )  # fmt: skip


def _group(fault: str) -> str:
    return fault.partition(":")[0] if ":" in fault else "by hand"


def table(found: Sequence[Found]) -> str:
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
        by = one.by or f"nothing: {declared(one.fault) or one.seen}"
        lines.append(f"| `{one.fault}` | {by} |".replace("\n", " "))
    return "\n".join(lines) + "\n"


def main(words: Iterable[str] | None = None) -> int:
    """Prints the table; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} of the faults")
    parser.add_argument("--only", default="", help="faults with this in their names")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--output", type=Path, help="write the table to this page as well")
    options = parser.parse_args(list(words) if words is not None else None)
    control = judge("")
    if control.reported:
        sys.exit(f"without a fault there are findings: {control.rules} {control.clauses}")
    chosen = [one for one in faults() if options.only in one]
    if options.quick:
        chosen = chosen[:: max(1, len(chosen) // QUICK)]
    with ThreadPoolExecutor(options.jobs) as pool:
        found = []
        for one in pool.map(judge, chosen):
            found.append(one)
            print(f"{one.fault}: {one.by or 'nothing'}", file=sys.stderr, flush=True)
    page = table(found)
    sys.stdout.write(page)
    if options.output is not None:
        options.output.write_text(page)
    real = [one for one in found if one.hits]
    lost = [one for one in real if not one.reported and not declared(one.fault)]
    for one in lost:
        sys.stdout.write(f"found by nothing, and not declared: {one.fault}\n")
    sys.stdout.write(f"\n{sum(one.reported for one in real)} of {len(real)} found\n")
    return 1 if lost or not real else 0


if __name__ == "__main__":
    sys.exit(main())
