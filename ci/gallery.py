# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Judges the devices of ci/gallery.yml as their users would, and makes a page of what came of it.

A device of somebody else's gets an environment of its own: its packages and this suite. One that no
registry has is built by hand; `--python NAME=PATH` says where. Each leaves docs/gallery/NAME: the
page of the run, its result file and `run.json`, with the time until the first failing test and what
plain PyTorch said of the causes that were looked at by hand. docs/gallery.md is made of all of
them, also of those that were not run this time. Ends with 0 where each device was judged, whatever
the verdict; 1 where one was not, or where PyTorch did not confirm a cause; 2 for bad usage.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import yaml
from tbk_harness import outcome
from tbk_harness.judge import Known
from tbk_harness.locate import binary
from tbk_reports.model import FAILING
from tbk_reports.text import line
from tbk_reports.view import View

ROOT = Path(__file__).resolve().parent.parent
DEVICES = ROOT / "ci" / "gallery.yml"
PAGE = ROOT / "docs" / "gallery.md"
FOLDER = ROOT / "docs" / "gallery"
SUITE = ["click", "rich", "jinja2", "PyYAML", "jsonschema", "pytest", "expecttest"]
LIMIT_S = 3600
CONFIRM_S = 120
CAUSES = 6  # whose titles the page names


@dataclass(frozen=True)
class Confirmation:
    """A cause, as a program of plain PyTorch that shows it."""

    cause: str
    program: str
    says: str
    """What the program prints, or raises, where the cause is real; `killed by 11` for a signal."""


@dataclass(frozen=True)
class Device:
    """What is judged, and how to get it."""

    name: str
    title: str
    command: list[str]
    ours: bool = False
    packages: list[str] = field(default_factory=list)
    source: str = ""
    """Where it is built from, where no registry has it."""
    module: str = ""
    """Text of a module that a user would write to have the device: the one that --import names."""
    why_not: str = ""
    """Why it cannot be run, for one that is only told of."""
    note: str = ""
    confirm: list[Confirmation] = field(default_factory=list)


def devices() -> list[Device]:
    """Returns the devices, in the order of the page. Raises TypeError for an unknown member."""
    rows = yaml.safe_load(DEVICES.read_text("utf-8"))["devices"]
    return [
        Device(**{**row, "confirm": [Confirmation(**one) for one in row.get("confirm", [])]})
        for row in rows
    ]


def run(command: Sequence[str | Path], **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(word) for word in command], text=True, check=False, **options)


def environment(device: Device, folder: Path, given: dict[str, Path]) -> Path | str:
    """Returns the Python that has the device and this suite, or why there is none."""
    if device.why_not:
        return device.why_not
    if device.ours or device.name in given:
        return given.get(device.name, Path(sys.executable))
    if not device.packages:
        return f"no --python {device.name}=PATH was given; it is built from {device.source}"
    home = folder / "environments" / device.name
    python = home / "bin" / "python"
    return python if (home / ".whole").exists() else installed(device, home, python)


def installed(device: Device, home: Path, python: Path) -> Path | str:
    """Makes the environment of a device, or returns why it can't be made."""
    shutil.rmtree(home, ignore_errors=True)
    run([sys.executable, "-m", "venv", home])
    pip: list[str | Path] = [
        python,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
    ]
    steps: list[list[str | Path]] = [
        [*pip, "scikit-build-core>=1.0", *SUITE],
        [*pip, "--no-build-isolation", *device.packages],
        [*pip, "--no-deps", "--no-build-isolation", "-Cwheel.cmake=false", "--editable", ROOT],
    ]
    for step in steps:
        ended = run(step, capture_output=True)
        if ended.returncode != 0:
            return line(ended.stderr.strip().splitlines()[-1], 300)
    (home / ".whole").touch()
    return python


def confirmed(device: Device, python: Path, folder: Path) -> list[dict[str, Any]]:
    """Returns what plain PyTorch said of each cause that the device's row names."""
    told = []
    for one in device.confirm:
        try:
            ended = run([python, "-c", one.program], capture_output=True, timeout=CONFIRM_S,
                        cwd=folder)  # fmt: skip
            said = (ended.stdout + ended.stderr).strip()
            if ended.returncode < 0:
                said += f"\nkilled by {-ended.returncode}"
        except subprocess.TimeoutExpired:
            said = f"no end within {CONFIRM_S} s"
        last = said.splitlines()[-1] if said else "nothing"
        told.append({**asdict(one), "said": line(last, 200), "confirmed": one.says in said})
    return told


def watched(command: Sequence[str | Path], reports: Path, folder: Path) -> tuple[int, float, float]:
    """Runs a command of the suite. Returns its exit code, and the seconds until it ended and until
    the first record of a failing test was on disk (0 without one)."""
    began = time.monotonic()
    first = 0.0
    added = {"TBK_RUN": str(binary("tbk-run")), "PYTHONPATH": str(folder)}
    with subprocess.Popen(
        [str(word) for word in command], cwd=folder, env={**os.environ, **added},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        while process.poll() is None and time.monotonic() - began < LIMIT_S:
            time.sleep(0.2)
            first = first or (time.monotonic() - began if has_failure(reports) else 0.0)
        process.kill()
    return process.returncode, time.monotonic() - began, first


def has_failure(reports: Path) -> bool:
    """Returns whether a test that failed is on disk already."""
    for path in reports.glob("parts/*.jsonl"):
        for text in path.read_text("utf-8", "replace").splitlines():
            if any(f'"verdict":"{verdict}"' in text for verdict in FAILING):
                return True
    return False


def judged(device: Device, python: Path, work: Path) -> dict[str, Any]:
    """Runs the suite on a device, keeps its files, and returns what the page tells."""
    reports = work / device.name
    shutil.rmtree(reports, ignore_errors=True)
    reports.mkdir(parents=True)
    if device.module:
        module = device.command[device.command.index("--import") + 1]
        (work / f"{module}.py").write_text(device.module, "utf-8")
    words = [*device.command, "--report-dir", str(reports)]
    code, whole, first = watched([python, "-m", "tbk_harness", *words], reports, work)
    results = reports / "results.jsonl"
    if not results.is_file():
        return {"exit_code": code, "why_not": f"no result file; exit code {code}"}
    view = View(outcome.verdict_on(outcome.read(results), Known()))
    home = FOLDER / device.name
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    shutil.copy(reports / "index.html", home / "index.html")
    if (reports / "reproducers").is_dir():  # the page links them
        shutil.copytree(reports / "reproducers", home / "reproducers")
    (home / "results.jsonl.gz").write_bytes(gzip.compress(results.read_bytes(), 9, mtime=0))
    header = view.judged.header
    return {
        "exit_code": code,
        "verdict": view.headline,
        "counts": {name: count for name, count in view.counts.items() if count},
        "causes": [line(cause.title, 200) for cause in view.causes],
        "first_failure_seconds": round(first, 1),
        "seconds": round(whole, 1),
        "load": round(os.getloadavg()[0], 1),
        "torch": header.get("layers", {}).get("torch", header).get("torch", {}).get("version", ""),
        "machine": header.get("machine", {}),
    }


def table(rows: dict[str, dict[str, Any]]) -> str:
    """Returns the text of the page: a table of all devices, then each with what was confirmed."""
    text = [
        "| device | verdict | tests that ran | causes | first failing test | all | load | |",
        "|---|---|---:|---:|---:|---:|---:|---|",
    ]
    sections = []
    for device in devices():
        row = rows.get(device.name, {"why_not": "not run yet"})
        text.append(table_row(device, row))
        sections.append(section(device, row))
    return "\n".join(text) + "\n\n" + "\n\n".join(sections) + "\n"


def table_row(device: Device, row: dict[str, Any]) -> str:
    link = f"[{device.name}](#{device.name.replace('_', '-')})"
    if "verdict" not in row:
        return f"| {link} | not run | | | | | | |"
    ran = sum(row["counts"].get(one, 0) for one in row["counts"] if one not in
              ("unsupported", "left-out", "not-reached"))  # fmt: skip
    first = f"{row['first_failure_seconds']:.0f} s" if row["first_failure_seconds"] else ""
    home = f"gallery/{device.name}"
    files = f"[page]({home}/index.html), [results]({home}/results.jsonl.gz)"
    return (f"| {link} | {row['verdict']} | {ran:,} | {len(row['causes'])} | {first} | "
            f"{row['seconds']:.0f} s | {row['load']} | {files} |")  # fmt: skip


def spaced(program: str) -> str:
    """Returns a program as ruff formats it: an empty line after its imports, which come first."""
    lines = program.rstrip().splitlines()
    count = sum(one.startswith("import ") for one in lines)
    return "\n".join([*lines[:count], "", *lines[count:]])


def section(device: Device, row: dict[str, Any]) -> str:
    anchor = device.name.replace("_", "-")
    text = [f"### {device.name} {{ #{anchor} }}", "", device.title + "."]
    if device.note:
        text += ["", device.note]
    if "verdict" not in row:
        return "\n".join([*text, "", f"Not run: {row['why_not']}."])
    text += ["", f"`tbk {' '.join(device.command)}`, on {row['date']}, PyTorch "
             f"{row['torch'] or 'never begun'}: {row['verdict']}."]  # fmt: skip
    if row["causes"]:
        more = len(row["causes"]) - CAUSES
        text += ["", "First on the page:", "", *(f"1. {one}" for one in row["causes"][:CAUSES])]
        text += ["", f"and {more} more."] if more > 0 else []
    for one in row["confirmed"]:
        state = "Confirmed" if one["confirmed"] else "**Not confirmed**"
        text += ["", f"{state} in plain PyTorch: {one['cause']}. It says `{one['said']}`", "",
                 "```python", spaced(one["program"]), "```"]  # fmt: skip
    return "\n".join(text)


def stored(name: str) -> dict[str, Any]:
    path = FOLDER / name / "run.json"
    return json.loads(path.read_text("utf-8")) if path.is_file() else {"why_not": "not run yet"}


def write_page() -> None:
    """Fills docs/gallery.md from the folders of all devices."""
    content = table({device.name: stored(device.name) for device in devices()})
    aside = FOLDER / "page.md"
    aside.write_text(content, "utf-8")
    run([sys.executable, ROOT / "ci" / "fill_page.py", PAGE, aside])
    aside.unlink()


def parsed(arguments: Sequence[str] | None) -> tuple[list[Device], dict[str, Path], Path]:
    parser = argparse.ArgumentParser(prog="ci/gallery", description=__doc__)
    parser.add_argument("names", nargs="*", help="of ci/gallery.yml; all without one")
    parser.add_argument("--python", action="append", default=[], metavar="NAME=PATH",
                        help="a Python that has that device and this suite")  # fmt: skip
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "gallery",
                        help="where environments and reports are made")  # fmt: skip
    options = parser.parse_args(arguments)
    known = {device.name: device for device in devices()}
    pairs = [one.partition("=") for one in options.python]
    for name in [*options.names, *(name for name, _, _ in pairs)]:
        if name not in known:
            parser.error(f"no device {name}; there are: {', '.join(known)}")
    given = {name: Path(path) for name, _, path in pairs}
    return [known[name] for name in options.names or known], given, options.work.resolve()


def main(arguments: Sequence[str] | None = None) -> int:
    chosen, given, work = parsed(arguments)
    work.mkdir(parents=True, exist_ok=True)
    bad = False
    for device in chosen:
        python = environment(device, work, given)
        if isinstance(python, str):
            row: dict[str, Any] = {"why_not": python}
            bad |= not device.why_not
        else:
            row = judged(device, python, work)
            row["confirmed"] = confirmed(device, python, work)
            bad |= "verdict" not in row or not all(one["confirmed"] for one in row["confirmed"])
        row["date"] = outcome.today().isoformat()
        (FOLDER / device.name).mkdir(parents=True, exist_ok=True)
        (FOLDER / device.name / "run.json").write_text(json.dumps(row, indent=1) + "\n", "utf-8")
        print(f"{device.name}: {row.get('verdict') or 'not run: ' + row['why_not']}", flush=True)
    write_page()
    return 1 if bad else 0


if __name__ == "__main__":
    raise SystemExit(main())
