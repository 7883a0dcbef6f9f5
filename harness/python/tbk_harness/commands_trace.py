# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""tbk trace: which operators a user's own script asks of a device, and who computes them."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text
from tbk_reports.model import (
    EXIT_BAD_LIBRARY,
    EXIT_FINDINGS,
    EXIT_NO_DEVICE,
    EXIT_NOT_WRITTEN,
    EXIT_PASS,
    EXIT_USAGE,
)
from tbk_reports.text import count_words, line

from tbk_harness import outcome, places, progress
from tbk_harness.command_line import DEVICE, LIBRARY, OUTPUT, VERDICT, Command, option
from tbk_harness.commands_check import known_device, need_pytorch
from tbk_harness.options import PATH, device_kind
from tbk_harness.traced import Operator, Traced, trace_of

SHOWN = 20
# Exit statuses of the process that runs the script, which are not the script's.
_NOT_BEGUN = {77: EXIT_BAD_LIBRARY, 78: EXIT_NO_DEVICE}
_NOT_WRITTEN = 79
_WORKER = "tbk_harness.torch_worker.script_trace"
EXAMPLES = """\
tbk trace --library ./libacme.so train.py --epochs 1    a library, behind the bridge
tbk trace --device npu --import torch_npu train.py      a device that PyTorch knows
tbk trace --device cpu train.py                         what a model needs, without a device
tbk run ./libacme.so --trace trace.json                 what it needs most comes first"""


@click.command(
    name="trace", cls=Command, examples=EXAMPLES,
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)  # fmt: skip
@click.argument("script", metavar="SCRIPT")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[ARGUMENTS]...")
@option(
    DEVICE, "--device", metavar="NAME", callback=device_kind,
    help="A device that PyTorch knows, without an index.",
)  # fmt: skip
@option(
    DEVICE, "--import", "imports", multiple=True, metavar="MODULE",
    help="Import it first, so that PyTorch knows the device.",
)  # fmt: skip
@option(LIBRARY, "--library", metavar="LIB", help="Instead: a library, loaded by torch_tbk.")
@option(LIBRARY, "--backend-option", multiple=True, metavar="K=V", help="For the library.")
@click.option("-m", "--module", is_flag=True, help="SCRIPT is a module's name, as in python -m.")
@option(
    OUTPUT, "-o", "--output", type=PATH, default=Path("trace.json"), show_default=True,
    metavar="FILE", help="Where all of it goes.",
)  # fmt: skip
@option(
    VERDICT, "--no-fallbacks", is_flag=True,
    help="Exit code 1 where the device does not compute everything by itself.",
)  # fmt: skip
def trace_command(script: str, arguments: tuple[str, ...], output: Path, **options: Any) -> None:
    """Run SCRIPT, and tell which operators it asks of a device and who computes them.

    The script runs as it would under python, and has to choose the device itself. What it asks for
    in other processes is not seen. With --device cpu it shows what a model needs, before there is
    a device.

    The exit codes: 0 the script ended well, 1 it did not, or --no-fallbacks forbids what was seen,
    2 there is no such script, 4 the library or a module can't be loaded, 5 PyTorch comes to know
    no such device, 8 FILE could not be written.
    """
    if not options["module"] and not Path(script).is_file():
        outcome.stop(EXIT_USAGE, f"there is no script {script}")
    outcome.writable(output)  # a script may run for hours
    places.free(output, places.TRACE)
    asked = _asked(script, arguments, options)
    status, found, latest = _traced(asked)
    _stop_early(status)
    if found is not None:
        _write(output, found, asked, status)
    out = outcome.console()
    if found is not None:
        _tell(found, out)
    if status != 0:
        _tell_end(status, latest)
    if found is not None:
        out.print(Text(str(output)))
    forbidden = options["no_fallbacks"] and (found is None or bool(found.unserved))
    raise SystemExit(EXIT_FINDINGS if status != 0 or forbidden else EXIT_PASS)


def _asked(script: str, arguments: tuple[str, ...], options: dict[str, Any]) -> dict[str, Any]:
    """Returns what the process that runs the script is given, without its files."""
    device, library = options["device"], options["library"]
    if bool(device) == bool(library):
        told = "a device is needed: --device NAME, or --library LIB, not both"
        outcome.stop(EXIT_USAGE, told + ("" if device else _misplaced(script, arguments)))
    need_pytorch()
    if device:
        known_device(device, options["imports"])
    return {
        "device": device, "imports": list(options["imports"]),
        "library": outcome.library_file(library) if library else None,
        "options": list(options["backend_option"]), "module": options["module"],
        "script": script, "arguments": list(arguments),
    }  # fmt: skip


def _misplaced(script: str, arguments: tuple[str, ...]) -> str:
    """Returns what is said of an option that stands behind the script, and so is for that."""
    late = [word for word in arguments if word.startswith(("--device", "--library"))]
    return f"; what stands behind {script}, such as {late[0]}, is for the script" if late else ""


def _traced(asked: dict[str, Any]) -> tuple[int, Traced | None, str]:
    """Runs the script. Returns how it ended, what it needed where that was written, and the
    operator that was called last."""
    with tempfile.TemporaryDirectory(prefix="tbk-trace-") as folder:
        needs, latest = Path(folder) / "needs.json", Path(folder) / "latest"
        given = json.dumps({**asked, "needs": str(needs), "latest": str(latest)})
        # Ctrl-C stops the script; what it had asked for until then is told.
        before = signal.signal(signal.SIGINT, lambda *_: None)
        try:
            status = subprocess.Popen([sys.executable, "-m", _WORKER, given]).wait()
        finally:
            signal.signal(signal.SIGINT, before)
        last = latest.read_text("utf-8", "replace").strip() if latest.exists() else ""
        found = trace_of(json.loads(needs.read_text("utf-8"))) if needs.exists() else None
        return status, found, last


def _stop_early(status: int) -> None:
    """Stops where the script has not begun; its process has said why."""
    if status in _NOT_BEGUN:
        raise SystemExit(_NOT_BEGUN[status])
    if status == _NOT_WRITTEN:
        outcome.stop(EXIT_NOT_WRITTEN, "there is no room for what was seen")


def _write(path: Path, found: Traced, asked: dict[str, Any], status: int) -> None:
    command = [asked["script"], *asked["arguments"]]
    document = found.document() | {"script": shlex.join(command), "status": status}
    try:
        path.write_text(json.dumps(document, indent=1) + "\n", "utf-8")
    except OSError as error:
        outcome.stop(EXIT_NOT_WRITTEN, outcome.reason(error))


def _tell_end(status: int, latest: str) -> None:
    """Says on stderr how a script ended that did not end well."""
    last = f"; the last operator that it called was {line(latest, 120)}" if latest else ""
    if status < 0:
        name = signal.Signals(-status).name
        print(f"tbk: the script ended by {name}, so nothing was traced{last}", file=sys.stderr)
    else:
        print(f"tbk: the script ended with status {status}", file=sys.stderr)


def _tell(found: Traced, out: Console) -> None:
    progress.end()
    if found.unserved:
        out.print(_table(found.unserved[:SHOWN]))
        if len(found.unserved) > SHOWN:
            out.print(Text(f"  and {len(found.unserved) - SHOWN} more in the file", style="dim"))
    for how, (operators, calls) in found.shares.items():
        told = f"{count_words(operators, 'operator')}, {count_words(calls, 'call')}"
        out.print(Text(f"  {how:<10} ", style="dim").append(told, style="default"))
    if not found.counts and found.device != "cpu":
        out.print(Text(f"  {found.device} does not count what falls back within operators"))
    out.print(Text(found.headline, style="bold"))


def _table(rows: tuple[Operator, ...]) -> Table:
    table = Table(box=None, pad_edge=False, title="implement next", title_justify="left")
    table.add_column("calls", justify="right")
    for name in ("operator", "dtypes", "served"):
        table.add_column(name, overflow="fold")
    for one in rows:
        table.add_row(f"{one.calls:,}", one.name, ", ".join(one.dtypes), one.served)
    return table
