# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""tbk operators: the C header of what a YAML file describes, and its checks on a device."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
from rich.text import Text
from tbk_reports.model import (
    EXIT_BAD_LIBRARY,
    EXIT_FINDINGS,
    EXIT_NOT_WRITTEN,
    EXIT_PASS,
    EXIT_SUITE_ERROR,
    EXIT_USAGE,
)
from tbk_reports.text import count_words, line

from tbk_harness import child, outcome, places
from tbk_harness.command_line import Command
from tbk_harness.commands_check import need_pytorch
from tbk_harness.near import hint
from tbk_harness.options import INPUT, PATH

# Each runs in a process that has PyTorch, which this one does without.
_MODULE = "torch_tbk.custom"
_KNOWN = (EXIT_USAGE, EXIT_BAD_LIBRARY)
Row = dict[str, str]

EXAMPLES = """\
tbk operators acme.yml --header acme_operators.h     the argument structs of its kernels
tbk operators acme.yml ./libacme.so                  check each operator on the device
tbk operators acme.yml ./libacme.so --only swish     one of them"""


@click.command(name="operators", cls=Command, examples=EXAMPLES)
@click.argument("file", type=INPUT, metavar="FILE")
@click.argument("library", required=False, metavar="[LIB]")
@click.option("--header", type=PATH, metavar="OUT", help="Write the C header of FILE; - prints it.")
@click.option("--only", multiple=True, metavar="NAME", help="This operator alone; repeatable.")
@click.option(
    "--backend-option", multiple=True, metavar="KEY=VALUE", help="For LIB; repeatable.",
)  # fmt: skip
@click.option(
    "--deadline", type=click.FloatRange(min=0, min_open=True), default=300, show_default=True,
    metavar="SECONDS", help="How long one check may take.",
)  # fmt: skip
def operators_command(
    file: Path,
    library: str | None,
    header: Path | None,
    only: tuple[str, ...],
    backend_option: tuple[str, ...],
    deadline: float,
) -> None:
    """Check the operators that FILE describes on the backend LIB, or write their C header.

    Without LIB and --header, FILE is only read, and what is wrong in it is told.

    The exit codes: 0 pass, 1 findings, 2 bad usage or FILE is wrong, 4 bad library, 6 suite error,
    8 the header could not be written.
    """
    need_pytorch()
    names = _names(file, only)
    operators = count_words(len(names), "operator")
    if header is not None:
        places.free(header, places.HEADER)
        _write(header, _output(["header", str(file)]))
    out = outcome.console()
    if library is None:
        if header is None:
            out.print(Text(line(f"{file}: {operators}: {', '.join(names)}", 400)))
        raise SystemExit(EXIT_PASS)
    words = [str(file), outcome.library_file(library), ",".join(backend_option)]
    failed = count = 0
    for row in _judged(words, names, deadline):
        count += 1
        failed += row["verdict"] not in ("pass", "not applicable")
        says = f": {row['says']}" if row["says"] else ""
        told = f"{row['operator']}, {row['check']}: {row['verdict']}{says}"
        out.print(Text(line(told, 800)), soft_wrap=True)
    if not count:
        outcome.stop(EXIT_SUITE_ERROR, "nothing was checked")
    out.print(Text(f"{count_words(count, 'check')} of {operators}, {failed} failed"))
    raise SystemExit(EXIT_FINDINGS if failed else EXIT_PASS)


def _names(file: Path, only: Sequence[str]) -> list[str]:
    """Returns the operators that are meant. Stops where one is not in the file."""
    names: list[str] = json.loads(_output(["list", str(file)]))
    for name in only:
        if name not in names:
            outcome.stop(EXIT_USAGE, f"{file} has no operator {name!r}{hint(name, names)}")
    return [name for name in names if not only or name in only]


def _output(words: Sequence[str]) -> str:
    """Returns what the process prints. Stops, with its reason, where it fails."""
    ended = subprocess.run(
        [sys.executable, "-m", _MODULE, *words],
        capture_output=True, text=True, check=False, env=_environment(),
    )  # fmt: skip
    if ended.returncode:
        _stop(ended.returncode, ended.stderr)
    return ended.stdout


def _environment() -> dict[str, str]:
    return {**os.environ, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}


def _stop(code: int, said: str) -> None:
    outcome.stop(code if code in _KNOWN else EXIT_SUITE_ERROR, child.reason(code, said))


def _write(header: Path, text: str) -> None:
    if str(header) == "-":
        click.echo(text, nl=False)
        return
    try:
        header.write_text(text, encoding="utf-8")
    except OSError as error:
        outcome.stop(EXIT_NOT_WRITTEN, outcome.reason(error))


def _judged(words: Sequence[str], names: Sequence[str], deadline: float) -> Iterator[Row]:
    """Yields a row for each check. One that ends its process, or does not end, is told so, and the
    operators behind it go on in a new process.
    """
    left = list(names)
    while left:
        begun: Row | None = None
        process = _Process([*words, *left], deadline)
        for row in process.rows():
            begun = row if row["verdict"] == "begins" else None
            if begun is None:
                yield row
        code, said = process.end()
        if begun is None and code == 0:
            return
        if begun is None:
            _stop(code, said)
            return
        yield {**begun, **process.blame(code)}
        left = left[left.index(begun["operator"]) + 1 :]


class _Process:
    """One process that checks operators, and is ended where a check takes too long."""

    def __init__(self, words: Sequence[str], deadline: float) -> None:
        self._deadline = deadline
        self._is_late = False
        self._process = subprocess.Popen(
            [sys.executable, "-m", _MODULE, "check", *words],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
            env=_environment(),
        )  # fmt: skip
        self._said: list[str] = []
        # Read all along, or a process that says much would wait for us.
        self._reader = threading.Thread(target=self._listen, daemon=True)
        self._reader.start()

    def rows(self) -> Iterator[Row]:
        """Yields what it tells; ends when it ends."""
        timer = self._timer()
        try:
            for text in self._process.stdout or ():
                timer.cancel()
                timer = self._timer()
                if text.startswith('{"operator"'):
                    yield json.loads(text)
        finally:
            timer.cancel()

    def end(self) -> tuple[int, str]:
        """Returns the exit code, and what it said on its standard error."""
        code = self._process.wait()
        self._reader.join()
        for pipe in (self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()
        return code, "".join(self._said)

    def blame(self, code: int) -> Row:
        """Returns the verdict on a check that had begun, and its reason."""
        if self._is_late:
            return {"verdict": "hang", "says": f"no end within {self._deadline:g} s"}
        said = f"signal {-code}" if code < 0 else f"the process ended with status {code}"
        return {"verdict": "crash", "says": f"{said}; the checks behind it were not reached"}

    def _timer(self) -> threading.Timer:
        timer = threading.Timer(self._deadline, self._stop_late)
        timer.daemon = True
        timer.start()
        return timer

    def _stop_late(self) -> None:
        self._is_late = True
        self._process.kill()

    def _listen(self) -> None:
        self._said.extend(self._process.stderr or ())
