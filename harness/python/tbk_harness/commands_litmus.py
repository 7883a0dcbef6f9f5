# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""tbk litmus: programs drawn at random, judged by a model of what happens before what."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import click
from rich.console import Console
from rich.text import Text
from tbk_reports.model import (
    EXIT_FINDINGS,
    EXIT_INTERRUPTED,
    EXIT_NOT_WRITTEN,
    EXIT_PASS,
    EXIT_SUITE_ERROR,
    parse_line,
)
from tbk_reports.text import line

from tbk_harness import locate, outcome
from tbk_harness.interruption import handed_on
from tbk_harness.options import duration

RESULTS = "litmus.jsonl"
REPRODUCER = "litmus.c"
_RAN = (EXIT_PASS, EXIT_FINDINGS, EXIT_INTERRUPTED)  # with other codes the last results stay
_RUNNER = "tbk-litmus: "  # its own lines, among what the library prints
_STATES = {"proven": "green", "trivial": "cyan", "not-shown": "yellow", "broken": "red"}
_ENDINGS = {
    "wrong": "a read saw what no order of the work allows",
    "refused": "a call was answered with an error",
    "miscounted": "a callback did not run exactly once",
    "stuck": "what was asked again and again did not become complete",
    "crash": "the process died",
    "hang": "a call did not return",
}

_LEGEND = """\
without it: how many programs without such an edge ended in a way that it forbids
one in N: a fault that breaks one of N such edges would have been missed with a chance below 1e-9"""

Record = Mapping[str, Any]


@click.command(name="litmus")
@click.argument("library", metavar="LIB")
@click.option(
    "--time", "seconds", callback=duration, default="60s", show_default=True, metavar="TIME",
    help="Run programs for so long (20s, 2m).",
)  # fmt: skip
@click.option("--programs", type=click.IntRange(min=1), metavar="N", help="At most so many.")
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, metavar="N")
@click.option(
    "--first", type=click.IntRange(min=0), default=0, metavar="N",
    help="Begin with program N of the seed: how a finding is run again.",
)  # fmt: skip
@click.option("--backend-option", multiple=True, metavar="K=V", help="For the library.")
@click.option(
    "--timeout", "call_timeout", callback=duration, default="20s", show_default=True,
    metavar="TIME", help="No call takes longer.",
)  # fmt: skip
@click.option(
    "--open-timeout", callback=duration, default="60s", show_default=True, metavar="TIME",
    help="Loading the library and opening its devices take no longer.",
)  # fmt: skip
@click.option(
    "--report-dir", type=click.Path(path_type=Path, file_okay=False), default="tbk-litmus",
    show_default=True, help="Where the results and the C file of a finding go.",
)  # fmt: skip
def litmus_command(library: str, report_dir: Path, **options: Any) -> NoReturn:
    """Look for faults of order and lifetime in the backend LIB, with programs drawn at random.

    LIB is a file. Where there is none of that name, `cpu` and `template` are the backends that come
    with the suite. What is found is shrunk to the smallest program that shows it.

    The exit codes are those of tbk run: 0 nothing found, 1 a finding, 2 bad usage, 3 LIB has no
    streams or no events, or nothing was run, 4 bad library, 5 no device, 6 suite error,
    7 interrupted, 8 results could not be written.
    """
    runner, subject = _runner(), outcome.library_file(library)
    if subject.startswith("-"):
        subject = f"./{subject}"
    outcome.prepare(report_dir)
    results = report_dir / RESULTS
    program = report_dir / REPRODUCER
    code, stderr = _run(
        [str(runner), subject, *_arguments(options), f"--output={results}",
         f"--reproducer={program}"]
    )  # fmt: skip
    if code in _RAN:
        tell(list(_records(results)), outcome.console(), library)
    said = [one for one in stderr.splitlines() if one.startswith(_RUNNER)]
    if said and code not in (EXIT_PASS, EXIT_FINDINGS):
        outcome.stop(code, said[-1].removeprefix(_RUNNER))
    if code == EXIT_FINDINGS:
        outcome.console().print(Text(f"without the suite: {program}"))
    raise SystemExit(code)


def _run(command: Sequence[str]) -> tuple[int, str]:
    """Returns the exit code and what was printed; a runner that was killed is itself at fault."""
    with tempfile.TemporaryFile() as said, handed_on() as interruption:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stderr=said, start_new_session=True
        )
        interruption.started(process)
        code = process.wait()
        said.seek(0)
        stderr = said.read().decode("utf-8", "replace")
    return (code if 0 <= code <= EXIT_NOT_WRITTEN else EXIT_SUITE_ERROR), stderr


def _runner() -> Path:
    found = locate.binary("tbk-litmus")
    if found is None:
        outcome.stop(EXIT_SUITE_ERROR, "tbk-litmus was not found: build it (cmake --build build)")
    return found


def _arguments(options: Mapping[str, Any]) -> list[str]:
    found = [f"--seconds={options['seconds']:g}", f"--seed={options['seed']}"]
    found += [f"--first={options['first']}", f"--call-timeout={options['call_timeout']:g}"]
    found += [f"--open-timeout={options['open_timeout']:g}"]
    found += [f"--programs={options['programs']}"] if options["programs"] else []
    return [*found, *(f"--backend-option={one}" for one in options["backend_option"])]


def _records(path: Path) -> Iterator[Record]:
    for raw in path.read_bytes().splitlines():
        try:
            record = parse_line(raw)
        except ValueError:
            continue
        if isinstance(record, dict):
            yield record


def tell(records: Sequence[Record], console: Console, library: str) -> None:
    """Prints what a result file says: the finding first, then how sure the rest is."""
    edges = [record for record in records if record.get("record") == "litmus-edge"]
    found = [record for record in records if record.get("record") == "litmus-finding"]
    for record in found:
        _tell_finding(record, console, library)
    if edges and not found:
        _tell_edges(edges, console)
    for record in records:
        if record.get("record") == "litmus-footer":
            _tell_footer(record, [] if found else edges, console)


def _tell_finding(record: Record, console: Console, library: str) -> None:
    ending = _ENDINGS.get(str(record["outcome"]), str(record["outcome"]))
    clauses = ", ".join(record["clauses"]) or "none by itself"
    console.print(Text(f"FOUND: {ending}", style="bold red"))
    console.print(Text(f"  clauses: {clauses}"))
    message = line(str(record["message"]), 200)
    said = ": ".join(part for part in (str(record.get("status", "")), message) if part)
    if said:
        console.print(Text(f"  {said}"))
    size = f"{record['size_bytes']:,} bytes a cell"
    console.print(Text(f"\nthe smallest program that shows it ({size}):"))
    for number, call in enumerate(record["program"]):
        mark = "  <- here" if number == record["call"] else ""
        console.print(Text(f"  {number + 1:2}  {line(call, 120)}{mark}"))
    if record["outcome"] != "wrong" and record["call"] < 0:
        console.print(Text("      when all is waited for and given back  <- here"))
    for reason in record["reason"]:
        console.print(Text(f"  {reason}"))
    shown = f"{record['shown']} of {record['replays']} times"
    tries = f", each with up to {record['repeats']} tries" if record["repeats"] > 1 else ""
    console.print(
        Text(f"\nrun again, it showed {shown}{tries}; it was {record['calls_before']} calls")
    )
    again = f"tbk litmus {library} --seed {record['seed']} --first {record['index']} --programs 1"
    console.print(Text(f"the program that it was found by: {again}\n"))


def _tell_edges(edges: Sequence[Record], console: Console) -> None:
    head = f"{'clause':8} {'state':10} {'without it':>14} {'one in':>9}  what"
    console.print(Text(head, style="dim"))
    for edge in edges:
        state = str(edge["state"])
        seen = f"{edge['shown']:,} of {edge['controls']:,}" if edge["controls"] else ""
        rate = f"{edge['one_in']:,}" if state == "proven" else ""
        row = Text(f"{edge['clause']:8} ")
        row.append(f"{state:10}", style=_STATES.get(state, ""))
        row.append(f" {seen:>14} {rate:>9}  {line(edge['text'], 80)}")
        console.print(row)
    console.print(Text(_LEGEND, style="dim"))


def _tell_footer(record: Record, edges: Sequence[Record], console: Console) -> None:
    if not record["programs"]:
        return
    ran = f"{record['programs']:,} programs and {record['controls']:,} controls"
    console.print(Text(f"\n{ran} in {record['milliseconds'] / 1000:.1f} s"))
    if record["no_room"]:
        console.print(Text(f"{record['no_room']:,} found no memory, and say nothing"))
    if not edges:
        return
    proven = sum(edge["state"] == "proven" for edge in edges)
    console.print(Text(f"nothing found; {proven} of {len(edges)} kinds of edges proven"))
    for edge in edges:
        if edge["state"] in ("not-shown", "trivial"):
            console.print(Text(f"  {edge['clause']} {edge['state']}: {edge['why']}", style="dim"))
