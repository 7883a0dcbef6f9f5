# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""tbk check and tbk probe: any device that PyTorch knows."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from rich.text import Text
from tbk_reports.model import (
    EXIT_BAD_LIBRARY,
    EXIT_FINDINGS,
    EXIT_NO_DEVICE,
    EXIT_NOT_WRITTEN,
    EXIT_NOTHING_SELECTED,
    EXIT_PASS,
    EXIT_USAGE,
    ResultFile,
    Test,
    read_results,
)
from tbk_reports.text import line

from tbk_harness import capabilities, outcome, runner
from tbk_harness.folder import RESULTS
from tbk_harness.options import (
    PATH,
    Subject,
    device_options,
    running_options,
    verdict_options,
)
from tbk_harness.session import Session, request, runner_or_stop
from tbk_harness.suggest import hint

USUAL = ("cpu", "cuda")  # to ask PyTorch takes seconds
NO_DEVICE = 77
_PARSES = (
    "import re, sys, torch\n"
    "try: torch.device(sys.argv[1])\n"
    "except RuntimeError as error:\n"
    "  known = re.search('one of (.*?) device type', str(error))\n"
    "  print(known[1].replace(',', ' ') if known else '')\n"
    f"  sys.exit({NO_DEVICE})"
)
_MEANINGS = (
    "import json; from tbk_contracts.torch.capability import WORDS; "
    "print(json.dumps({word: meaning for word, (meaning, _) in WORDS.items()}))"
)


def need_pytorch() -> None:
    """Stops where it is not installed for this interpreter."""
    if importlib.util.find_spec("torch") is None:
        outcome.stop(EXIT_BAD_LIBRARY, f"PyTorch is not installed for {sys.executable}")


def known_device(name: str, imports: tuple[str, ...]) -> None:
    """Stops where PyTorch has no such device and no module is there that would bring it: to find
    that out in a run takes the time in which all tests are collected."""
    if name in USUAL or imports or importlib.metadata.entry_points(group="torch.backends"):
        return
    ended = subprocess.run(
        [sys.executable, "-c", _PARSES, name], capture_output=True, text=True, check=False
    )
    if ended.returncode != NO_DEVICE:
        return  # it is there, or PyTorch itself is at fault, of which the run has more to say
    meant = hint(name, ended.stdout.split())
    outcome.stop(
        EXIT_NO_DEVICE,
        f"PyTorch knows no device {name!r}{meant}"
        f"{' A' if meant else '; a'} device that a package brings needs --import MODULE",
    )


def _named(name: str | None, device: str | None) -> str:
    """Returns the device, given as a word or as an option, but once."""
    if bool(name) == bool(device):
        said = f"{name} and {device} are two devices" if name else "a device is needed"
        outcome.stop(EXIT_USAGE, f"{said}: tbk check NAME, or --device NAME")
    return str(name or device)


def _declared(path: Path | None, device: str) -> capabilities.Declared:
    if path is None:
        return capabilities.Declared()
    try:
        found = capabilities.load(path)
    except capabilities.CapabilityError as error:
        outcome.stop(EXIT_USAGE, str(error))
    if found.device and found.device != device:
        outcome.stop(EXIT_USAGE, f"{path} is of the device {found.device}, not of {device}")
    return found


@click.command(name="check")
@device_options
@click.option(
    "--capabilities", "file", type=PATH, metavar="FILE",
    help="What the device declares to have, as tbk probe wrote it; it binds.",
)  # fmt: skip
@running_options
@verdict_options
def check_command(
    name: str | None,
    device: str | None,
    imports: tuple[str, ...],
    file: Path | None,
    waivers: Path | None,
    baseline: Path | None,
    **options: Any,
) -> None:
    """Judge the device NAME that PyTorch knows: cpu, cuda, or anybody's own.

    A first diagnosis: tbk check --device NAME --budget 120s. The exit codes are those of tbk run.
    """
    device = _named(name, device)
    need_pytorch()
    outcome.known_words(options["only"])
    known_device(device, imports)
    known = outcome.known_from(waivers, baseline)
    declared = _declared(file, device)
    session = Session(request(known, options))
    if file is not None:
        options["facts"] = str(file)
        record = declared.record(file)
        session.more += [record] if record else []
    session.run_torch(Subject(device, imports), options)
    judged = session.finish(device)
    outcome.finish(judged, session.folder, session.request.coverage_dir, session.request.quiet)


@click.command(name="probe")
@device_options
@click.option(
    "--output", type=PATH, metavar="FILE", default=Path("tbk-capabilities.toml"),
    show_default=True, help="Where to write it.",
)  # fmt: skip
@click.option(
    "--from", "earlier", type=PATH, metavar="RESULTS",
    help="A run's results: write down for which dtypes each operator passed, too.",
)  # fmt: skip
def probe_command(
    name: str | None,
    device: str | None,
    imports: tuple[str, ...],
    output: Path,
    earlier: Path | None,
) -> None:
    """Find out what the device NAME has, and write it into a file to commit.

    With tbk check --capabilities FILE it binds: what is declared there and does not work is a
    failure, and what works without being declared is a note.
    """
    device = _named(name, device)
    need_pytorch()
    known_device(device, imports)
    runner_or_stop()
    tests: Sequence[Test] = outcome.read(earlier).tests if earlier else ()
    header = _probed(Subject(device, imports)).header
    words = header.get("capabilities") or {}
    operators = capabilities.passing_dtypes(tests)
    text = capabilities.document(header, operators, _meanings(), outcome.today())
    try:
        output.write_text(text, "utf-8")
    except OSError as error:
        outcome.stop(EXIT_NOT_WRITTEN, outcome.reason(error))
    out = outcome.console()
    held = [line(word, 60) for word, value in words.items() if value]
    out.print(Text(f"{len(held)} of {len(words)}: {', '.join(held)}"))
    out.print(Text(str(output)))
    raise SystemExit(EXIT_PASS)


def _probed(subject: Subject) -> ResultFile:
    """tbk-run probes first, each word where it can crash without harm, and has no time for more."""
    with tempfile.TemporaryDirectory(prefix="tbk-probe-") as folder:
        output = Path(folder) / RESULTS
        ended = runner.run(subject.arguments({"budget": "0.001"}), output)
        found = read_results(output) if output.exists() else None
    whole = ended.exit_code in (EXIT_PASS, EXIT_FINDINGS, EXIT_NOTHING_SELECTED)
    if found is None or not whole or not found.header.get("capabilities"):
        said = line(ended.said, 400) or str(((found and found.footer) or {}).get("reason") or "")
        known = EXIT_FINDINGS < ended.exit_code <= 8
        outcome.stop(
            ended.exit_code if known else EXIT_NO_DEVICE, said or f"{subject.words} can't be probed"
        )
    return found


def _meanings() -> dict[str, str]:
    """Returns what the words mean; they stand beside code that imports PyTorch, so another
    process asks.
    """
    ended = subprocess.run(
        [sys.executable, "-c", _MEANINGS], capture_output=True, text=True, check=False,
        env={**os.environ, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"},
    )  # fmt: skip
    found = json.loads(ended.stdout) if ended.returncode == 0 else {}
    return {str(word): str(meaning) for word, meaning in found.items()}
