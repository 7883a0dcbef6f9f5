# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What can be shown of a backend on a machine that has its device, as files to publish.

A folder of them has `run.json` (devices, driver, versions, machine, commit, date, and what became
of each step) and a README.md made of it, beside what the steps wrote: `results.jsonl` of both
layers, `kill.json`, `driver.json` and `training.json`. Ends with 0 where every step that was run
passed, 1 where one failed, 2 for bad usage, and 5 where there is no device, or a simulated one.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from tbk_harness import kill, kill_document, mutants, runner
from tbk_harness.locate import binary, library
from tbk_reports.extent import simulated
from tbk_reports.model import EXIT_NO_DEVICE, EXIT_PASS, EXIT_USAGE, read_results
from tbk_reports.text import line

ROOT = Path(__file__).resolve().parent.parent
SAMPLE = 40
SMALLEST = "DEV"  # what is run to have the device told: the tests of its properties
NOT_RUN = "not run: "


@dataclass
class Job:
    """What was asked for, and where it goes."""

    name: str
    library: Path
    options: str
    folder: Path
    short: bool
    sample: int
    seed: int
    chosen: tuple[str, ...]
    steps: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def backend_option(self) -> list[str]:
        return [f"--backend-option={self.options}"] if self.options else []


def stop(code: int, said: str) -> NoReturn:
    """Ends with one line on the error stream."""
    sys.stderr.write(f"ci/hardware: {said}\n")
    raise SystemExit(code)


def drivers() -> list[str]:
    """Returns the backends whose driver can be called without them, to compare with."""
    program = binary("tbk-bench-driver")
    if program is None:
        stop(EXIT_USAGE, "tbk-bench-driver was not found; build the checkout first")
    listed = subprocess.run([str(program), "--list"], capture_output=True, text=True, check=True)
    return listed.stdout.split()


def devices(job: Job) -> dict[str, Any]:
    """Returns the header of a small run, which has the devices in it. Ends where they won't do."""
    output = job.folder / "probe.jsonl"
    arguments = [str(job.library), *job.backend_option, f"--only={SMALLEST}"]
    ended = runner.run(arguments, output, alone=False)
    found = read_results(output) if output.exists() else None
    output.unlink(missing_ok=True)
    told = found.header if found else {}
    if not told.get("devices"):
        footer = (found.footer if found else None) or {}
        said = str(footer.get("reason") or ended.said)
        stop(ended.exit_code or EXIT_NO_DEVICE, f"{job.name}: {line(said, 300)}")
    if simulated(told, (found.footer if found else None) or {}):
        stop(EXIT_NO_DEVICE, f"{job.name}: its devices are simulated: nothing of hardware is shown")
    return told


def run(command: Sequence[str], output: Path) -> tuple[int, str]:
    """Runs a command of this project, whose output goes to a file; its exit code and last words."""
    environment = {**os.environ, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    with output.open("w", encoding="utf-8") as file:
        ended = subprocess.run(
            command, stdout=file, stderr=subprocess.PIPE, text=True, errors="replace", cwd=ROOT,
            env=environment, check=False,
        )  # fmt: skip
    said = (ended.stderr or output.read_text("utf-8", "replace")).strip().splitlines()
    return ended.returncode, line(said[-1], 300) if said else ""


def judge(job: Job) -> tuple[bool, str]:
    """Both layers, whole; of the short form one area in C."""
    reports = job.folder / "judge"
    words = ["--layer", "c", "--only", "memory"] if job.short else []
    code, said = run(
        [sys.executable, "-m", "tbk_harness", "run", str(job.library), *job.backend_option, *words,
         "--report-dir", str(reports)],
        job.folder / "terminal.txt",
    )  # fmt: skip
    for name in ("results.jsonl", "judged.json", "summary.md"):
        if (reports / name).is_file():
            shutil.copy(reports / name, job.folder / name)
    shutil.rmtree(reports, ignore_errors=True)
    return code == EXIT_PASS, "PASS" if code == EXIT_PASS else f"exit code {code}: {said}"


def killed(job: Job) -> tuple[bool, str]:
    """Broken backends made of this one: whether the tests notice them on this device, too.

    What runs no test is none: the fault is in what this backend does not have. One that survives is
    told and fails nothing: on a device that waits where it need not, an order that is left out does
    not show.
    """
    broken = library("mutants")
    if broken is None:
        return False, "the mutants' library was not found"
    # Read by the mutants' library, in the processes of tbk-run: what is broken is this backend.
    os.environ["TBK_MUTANTS_OF"] = str(job.library)
    listed = runner.list_tests([str(broken), *job.backend_option, "--tier=thorough"])
    matrix = kill.Matrix(
        tests=kill.parse_list(listed.stdout), thorough=kill.parse_thorough(listed.stdout),
        seed=job.seed, partial=True,
    )  # fmt: skip
    own = [one for one in mutants.choose(mutants.load(), False) if one.kind == "mutant"]
    chosen = random.Random(job.seed).sample(own, min(job.sample, len(own)))  # noqa: S311
    kill.run_all(broken, matrix, chosen, 1 if job.short else kill.default_jobs(),
                 job.backend_option, lambda _: None)  # fmt: skip
    (job.folder / "kill.json").write_text(
        json.dumps(kill_document.document(matrix), indent=1) + "\n"
    )
    ran = [row for row in matrix.rows if row.ran]
    found = [row for row in ran if row.killers or row.refused]
    missed = [row.mutant.name for row in ran if row not in found]
    told = (
        f"{len(found)} of {len(ran)} noticed; {len(matrix.rows) - len(ran)} break what it has not"
    )
    return bool(found), told + (f"; not noticed: {', '.join(missed)}" if missed else "")


def driver(job: Job) -> tuple[bool, str]:
    """Copies and launches through the interface, beside bare calls of the driver."""
    program = binary("tbk-bench-driver")
    short = ["--rounds", "3", "--most", "4096"] if job.short else []
    options = ["--options", job.options] if job.options else []
    code, said = run([str(program), job.name, str(job.library), *options, *short],
                     job.folder / "driver.json")  # fmt: skip
    if code:
        return False, said
    figures = json.loads((job.folder / "driver.json").read_text("utf-8"))["figures"]
    worst = max(figures, key=lambda one: float(one["ratio"]))
    return True, f"at most {worst['ratio']} of the bare driver ({worst['what']})"


def training(job: Job) -> tuple[bool, str]:
    """A training step, beside PyTorch's own device for the same hardware."""
    if job.short:
        return True, NOT_RUN + "the short form leaves it out"
    code, said = run([sys.executable, "bridge/bench/training.py", str(job.library),
                      "--options", job.options], job.folder / "training.json")  # fmt: skip
    if code:
        return False, said
    found = json.loads((job.folder / "training.json").read_text("utf-8"))
    return True, "; ".join(f"{one['model']}: {one['ratio']} of {one['beside']}" for one in found)


STEPS: dict[str, Callable[[Job], tuple[bool, str]]] = {
    "judge": judge, "kill": killed, "driver": driver, "training": training,
}  # fmt: skip


def said_by(*command: str) -> str:
    """Returns the first line of what a program says; empty where there is none."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    except OSError:
        return ""
    return line(done.stdout.strip().split("\n")[0], 200)


def document(job: Job, header: dict[str, Any], started: datetime.datetime) -> dict[str, Any]:
    """What run.json has."""
    torch = [sys.executable, "-c", "import torch; print(torch.__version__)"]
    return {
        "format": 1,
        "kind": "tbk-hardware",
        "name": job.name,
        "short": job.short,
        "started": started.isoformat(timespec="seconds"),
        "devices": header["devices"],
        "backend": header.get("backend", {}),
        "machine": header.get("machine", {}),
        "versions": {
            "python": said_by(sys.executable, "-V"), "torch": said_by(*torch),
            "compiler": said_by("cc", "--version"),
        },
        "commit": said_by("git", "rev-parse", "HEAD"),
        "uncommitted": said_by("git", "status", "--porcelain") != "",
        "sample": job.sample,
        "seed": job.seed,
        "chosen": job.chosen,
        "steps": job.steps,
    }  # fmt: skip


def page(told: dict[str, Any]) -> str:
    """The same for people."""
    rows = [("Date", told["started"]), ("Commit", told["commit"])]
    rows += [(f"Device {i}", one.get("name")) for i, one in enumerate(told["devices"])]
    rows += [(f"Driver of {i}", one.get("driver")) for i, one in enumerate(told["devices"])]
    rows += [("Library", told["backend"].get("digest")), ("CPU", told["machine"].get("cpu"))]
    rows += [("Kernel", told["machine"].get("kernel"))]
    rows += [(name.capitalize(), text) for name, text in told["versions"].items()]
    lines = [f"# {told['name']}", ""]
    if told["short"]:
        lines += ["The short form: it shows that the script works, and nothing of the device.", ""]
    lines += ["| what | which |", "|---|---|"]
    lines += [f"| {name} | {line(str(text), 300).replace('|', ' ')} |" for name, text in rows]
    lines += ["", "| step | passed | s | |", "|---|---|---:|---|"]
    for name, step in told["steps"].items():
        passed = "not run" if step["not_run"] else "yes" if step["passed"] else "no"
        said = line(step["said"], 600).replace("|", " ")
        lines.append(f"| {name} | {passed} | {step['seconds']} | {said} |")
    return "\n".join(lines) + "\n"


def new_folder(path: Path) -> Path:
    """Makes a folder that is not there yet, with a number behind its name where need be."""
    for number in range(1, 1000):
        folder = path if number == 1 else path.with_name(f"{path.name}-{number}")
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            continue
        return folder
    stop(EXIT_USAGE, f"{path}: too many of that name")


def asked(words: Sequence[str] | None) -> Job:
    """Reads the command line; what cannot be asked for ends here."""
    parser = argparse.ArgumentParser(prog="ci/hardware", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("name", help="of a backend that comes with the suite")
    parser.add_argument("--backend-option", default="", metavar="KEY=VALUE", help="for the backend")
    parser.add_argument("--output", type=Path, help="default: reports/published/NAME/DATE")
    parser.add_argument("--only", action="append", choices=STEPS, help="this step alone")
    parser.add_argument("--sample", type=int, default=SAMPLE, help="broken backends to judge")
    parser.add_argument("--seed", type=int, default=1, help="of the sample")
    parser.add_argument("--short", action="store_true", help="a minute: shows that this works")
    options = parser.parse_args(words)
    found = library(options.name)
    known = drivers()
    if options.name not in known or found is None:
        stop(EXIT_USAGE, f"{options.name}: no driver of hardware is known by that name, but "
                         f"{', '.join(known)}")  # fmt: skip
    today = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    target = options.output or ROOT / "reports" / "published" / options.name / today
    chosen = tuple(name for name in STEPS if name in (options.only or STEPS))
    return Job(options.name, found, options.backend_option, target.resolve(), options.short,
               1 if options.short else options.sample, options.seed, chosen)  # fmt: skip


def main(words: Sequence[str] | None = None) -> int:
    """Runs the steps one after the other, since they measure; returns the exit code."""
    job = asked(words)
    started = datetime.datetime.now(datetime.timezone.utc)
    job.folder = new_folder(job.folder)
    try:
        header = devices(job)
    except BaseException:
        job.folder.rmdir()
        raise
    for name in job.chosen:
        began = time.monotonic()
        passed, said = STEPS[name](job)
        left_out = said.startswith(NOT_RUN)
        job.steps[name] = {
            "passed": passed and not left_out, "not_run": left_out, "said": said,
            "seconds": round(time.monotonic() - began),
        }  # fmt: skip
        sys.stdout.write(f"{name}: {'' if passed else 'FAILED: '}{said}\n")
        told = document(job, header, started)
        (job.folder / "run.json").write_text(json.dumps(told, indent=1) + "\n", "utf-8")
        (job.folder / "README.md").write_text(page(told), "utf-8")
    sys.stdout.write(f"{job.folder}\n")
    return 0 if all(one["passed"] or one["not_run"] for one in job.steps.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
