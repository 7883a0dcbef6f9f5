# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""tbk litmus: programs drawn at random, judged by a model of what happens before what."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

import click
from rich.console import Console
from rich.text import Text
from tbk_reports import text
from tbk_reports.finding import Finding, Ordering, ordering_of
from tbk_reports.model import (
    EXIT_FINDINGS,
    EXIT_NOT_WRITTEN,
    EXIT_PASS,
    EXIT_SUITE_ERROR,
    EXIT_USAGE,
)
from tbk_reports.ordering import render_ordering
from tbk_reports.render import write_file

from tbk_harness import litmus_on_farm, litmus_runner, locate, outcome, progress, steering
from tbk_harness.command_line import Choice, Command
from tbk_harness.commands_check import known_device, need_pytorch
from tbk_harness.farm.place import Place, farm_options
from tbk_harness.farm.place import place as farm_place
from tbk_harness.folder import BusyError, lock
from tbk_harness.litmus_runner import REPRODUCER, TORCH_REPRODUCER, Hunted, again
from tbk_harness.options import FOLDER, GATE, device_kind, duration
from tbk_harness.progress_row import LITMUS

PAGE = "report.html"
MOST_PROCESSES = 512
_STATES = {"proven": "green", "trivial": "cyan", "not-shown": "yellow", "broken": "red"}

_LEGEND = """\
without it: how many programs without such an edge ended in a way that it forbids
one in N: a fault that breaks one of N such edges would have been missed with a chance below 1e-9;
"""


EXAMPLES = """\
tbk litmus ./libacme.so --time 5m                  as long as you have
tbk litmus ./libacme.so --seed 7 --first 1203 --programs 1    one program again
tbk litmus --device npu --import torch_npu         by PyTorch's calls, without a library
tbk litmus ./libacme.so --time 8h --farm ray://head:10001 --resource acme=1    a night of boards"""


@click.command(name="litmus", cls=Command, examples=EXAMPLES)
@click.argument("library", metavar="[LIB]", required=False)
@click.option(
    "--layer", type=Choice(["c", "torch"]), default="c", show_default=True,
    help="Call LIB's functions, or PyTorch's, with LIB behind the bridge.",
)  # fmt: skip
@click.option(
    "--device", metavar="NAME", callback=device_kind,
    help="Instead of LIB: a device that PyTorch knows.",
)  # fmt: skip
@click.option(
    "--import", "imports", multiple=True, metavar="MODULE",
    help="Import it first, so that PyTorch knows the device.",
)  # fmt: skip
@GATE
@click.option(
    "--time", "seconds", callback=duration, default="60s", show_default=True, metavar="TIME",
    help="Run programs for so long (20s, 2m).",
)  # fmt: skip
@click.option(
    "--programs", type=click.IntRange(min=1), metavar="N",
    help="At most so many, in one process unless --processes says otherwise.",
)  # fmt: skip
@click.option(
    "--processes", type=click.IntRange(1, MOST_PROCESSES), metavar="N",
    help="At most so many of LIB, one after the other (on a farm: in each part); by default as many"
    " as there is time for.",
)  # fmt: skip
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
@farm_options
@click.option(
    "--report-dir", type=FOLDER, default="tbk-litmus",
    show_default=True, help="Where the results and the C file of a finding go.",
)  # fmt: skip
@click.option("--open", "open_page", is_flag=True, help="Show the page when it is written.")
def litmus_command(report_dir: Path, open_page: bool, **options: Any) -> NoReturn:
    """Look for faults of order and lifetime in the backend LIB, with programs drawn at random.

    LIB is a file. Where there is none of that name, `cpu` and `template` are the backends that come
    with the suite. With --device NAME programs are made of PyTorch's calls, on a device that it
    knows. What is found is shrunk to the smallest program that shows it.

    The exit codes are those of tbk run: 0 nothing found, 1 a finding, 2 bad usage, 3 there are no
    streams or no events, or nothing was run, 4 bad library, 5 no device, 6 suite error,
    7 interrupted, 8 results could not be written.
    """
    program = litmus_runner.runner()
    if program is None:
        outcome.stop(EXIT_SUITE_ERROR, litmus_runner.MISSING)
    place = farm_place(options)
    library, words = str(options["library"] or ""), _torch_words(options, place is not None)
    subject = str(options["device"] or outcome.library_file(library))
    try:
        lock(report_dir)  # for as long as this process lives
    except BusyError as error:
        outcome.stop(EXIT_NOT_WRITTEN, str(error))
    progress.begin(outcome.console()).phase(LITMUS, options["seconds"])
    hunted = _hunt(program, place, subject, words, options, report_dir)
    progress.end()
    if hunted.printed:
        outcome.console().print(Text(hunted.printed), end="", soft_wrap=True)
    reproducer = report_dir / (TORCH_REPRODUCER if words else REPRODUCER)
    if hunted.records:
        ordering = ordering_of(hunted.records)
        found = next(iter(ordering.findings), None)
        # What ran before on a farm ran in other parts.
        command = command_again(found, options, alone=place is not None) if found else ""
        tell(ordering, outcome.console(), command)
        litmus_on_farm.tell(hunted.records, outcome.console())
        _tell_gate(hunted.records[-1].get("gate"), options["gate"])
        _write_page(report_dir, ordering, subject, command, reproducer if hunted.wrote else None)
    if hunted.code == EXIT_FINDINGS:
        found = next(iter(ordering_of(hunted.records).findings), None)
        _tell_alone(outcome.console(), reproducer, found, "" if words else subject, options)
    if hunted.records:
        outcome.console().print(Text(str(report_dir / PAGE)))
        if open_page:
            outcome.show_page(report_dir / PAGE)
    if hunted.said and hunted.code not in (EXIT_PASS, EXIT_FINDINGS):
        outcome.stop(hunted.code, hunted.said)
    raise SystemExit(hunted.code)


def _hunt(
    program: Path, place: Place | None, subject: str, words: list[str],
    options: Mapping[str, Any], folder: Path,
) -> Hunted:  # fmt: skip
    """Runs programs where they are to run; `words`: what PyTorch's calls shall judge, or none."""
    arguments = _arguments(options)
    if place is not None:
        return litmus_on_farm.hunt(program, place, subject, arguments, options, folder)
    if words:
        return litmus_runner.hunt_torch(program, [*words, *arguments], folder)
    return litmus_runner.hunt(program, subject, arguments, folder)


def _tell_alone(
    console: Console, reproducer: Path, found: Finding | None, library: str,
    options: Mapping[str, Any],
) -> None:  # fmt: skip
    """Prints how to see a finding without the suite; `library`: none, where it is in Python."""
    words = f" ({found.alone_words})" if found else ""
    console.print(Text(f"without the suite: {reproducer}{words}"))
    if not library:
        return
    folders = (f"-I{locate.alone()}", f"-I{locate.include()}")
    binary = reproducer.with_suffix("")
    build = ("cc", str(reproducer), *folders, "-o", str(binary), "-ldl", "-lpthread")
    run = (str(binary.absolute()), library, ",".join(options["backend_option"]))
    steered = steering.shown(steering.here(), run)
    console.print(Text(f"  {shlex.join(build)} && {steered}"), soft_wrap=True)


def _torch_words(options: Mapping[str, Any], on_farm: bool) -> list[str]:
    """Returns tbk-litmus's words for what PyTorch's calls shall judge; none: those of tbk.h do.

    `on_farm`: it is the nodes that have PyTorch and the device.
    """
    library, device, imports = options["library"], options["device"], options["imports"]
    if bool(library) == bool(device):
        outcome.stop(EXIT_USAGE, "one of them is needed: LIB, or --device NAME")
    if (options["processes"] or 1) > 1 and (device or options["layer"] == "torch"):
        outcome.stop(EXIT_USAGE, "--processes goes with a library: PyTorch runs in one process")
    if imports and not device:
        outcome.stop(EXIT_USAGE, "--import goes with --device")
    if options["gate"] and not device and options["layer"] != "torch":
        outcome.stop(EXIT_USAGE, "--gate goes with --device, or with --layer torch")
    if on_farm:
        return litmus_on_farm.torch_words(options)
    gate = [f"--torch-gate={outcome.gate_file(options['gate'])}"] if options["gate"] else []
    if device:
        need_pytorch()
        known_device(device, imports)
        imported = (f"--torch-import={name}" for name in imports)
        return [f"--torch-device={device}", *imported, *gate]
    if options["layer"] != "torch":
        return []
    need_pytorch()
    return [f"--torch-library={Path(outcome.library_file(library)).absolute()}", *gate]


def _users_words(options: Mapping[str, Any]) -> list[str]:
    gate = [f"--gate={options['gate']}"] if options["gate"] else []
    if options["library"] and options["layer"] == "c":
        return [str(options["library"])]
    if options["library"]:
        return [str(options["library"]), "--layer=torch", *gate]
    imported = (f"--import={name}" for name in options["imports"])
    return [f"--device={options['device']}", *imported, *gate]


def command_again(found: Finding, options: Mapping[str, Any], alone: bool = False) -> str:
    """Returns the command that shows it again. The programs before it are in it, unless `alone`,
    where its file does not show it, and, of the C interface's calls, its program never did."""
    through_pytorch = options["device"] or options["layer"] == "torch"
    needs_others = found.needs_others and (through_pytorch or found.shown == 0)
    first = min(options["first"], found.index) if needs_others and not alone else found.index
    indexes = range(first, found.index + 1)
    return again(_users_words(options), found.seed, indexes, options["backend_option"])


def _write_page(
    folder: Path, ordering: Ordering, subject: str, again: str, program: Path | None
) -> None:  # fmt: skip
    """Writes the page; `program`: the file of this run's finding, where that has one."""
    try:
        code = program.read_text("utf-8", "replace") if program and program.exists() else ""
        page = render_ordering(ordering, subject, again, code, program.name if program else "")
        write_file(folder / PAGE, page)
    except OSError as error:
        outcome.stop(EXIT_NOT_WRITTEN, f"the page cannot be written: {outcome.reason(error)}")


def _arguments(options: Mapping[str, Any]) -> list[str]:
    found = [f"--seconds={options['seconds']:g}", f"--seed={options['seed']}"]
    found += [f"--first={options['first']}", f"--call-timeout={options['call_timeout']:g}"]
    found += [f"--open-timeout={options['open_timeout']:g}"]
    counts = ("programs", "processes")
    found += [f"--{name}={options[name]}" for name in counts if options[name]]
    return [*found, *(f"--backend-option={one}" for one in options["backend_option"])]


def tell(ordering: Ordering, console: Console, again: str) -> None:
    """Prints what was found, with the command that runs its program again; else how sure it is
    that there is nothing."""
    for finding in ordering.findings:
        _tell_finding(finding, console, again)
    if ordering.edges and not ordering.findings:
        _tell_edges(ordering, console)
    if ordering.programs:
        _tell_end(ordering, console)


def _tell_finding(finding: Finding, console: Console, again: str) -> None:
    console.print(Text(f"FOUND: {finding.words}", style="bold red"))
    console.print(Text(f"  clauses: {', '.join(finding.clauses) or 'none by itself'}"))
    if finding.said:
        console.print(Text(f"  {finding.said}"))
    size = f"{finding.size_bytes:,} bytes a cell"
    console.print(Text(f"\nthe smallest program that shows it ({size}):"))
    here = finding.read if finding.outcome != "wrong" else None
    for number, call in enumerate(finding.calls):
        mark = "  <- here" if number == here else ""
        console.print(Text(f"  {number + 1:2}  {call}{mark}"))
    if here == len(finding.calls):
        console.print(Text("      when all is waited for and given back  <- here"))
    for reason in finding.reason:
        console.print(Text(f"  {reason}"))
    console.print(Text(f"\n{finding.frequency}"))
    console.print(Text(f"the program that it was found by: {again}\n"), soft_wrap=True)


def _tell_gate(told: object, gate: str) -> None:
    if told == "holds":
        outcome.console().print(Text(f"the gate {gate} holds a stream at a time"))
    elif told:
        why = "the device does its work within its calls"
        outcome.console().print(Text(f"the gate {gate} held its caller and was not used: {why}"))


def _tell_edges(ordering: Ordering, console: Console) -> None:
    head = f"{'clause':8} {'state':10} {'without it':>14} {'one in':>9} {'of processes':>17}  what"
    console.print(Text(head, style="dim"))
    for edge in ordering.edges:
        rate = f"{edge.one_in:,}" if edge.state == "proven" else ""
        row = Text(f"{edge.clause:8} ")
        row.append(f"{edge.state:10}", style=_STATES.get(edge.state, ""))
        row.append(f" {edge.control_words:>14} {rate:>9} {edge.share:>17}  ")
        console.print(row.append(text.shorten(edge.words, 80)))
    console.print(Text(_LEGEND + ordering.process_words, style="dim"))


def _tell_end(ordering: Ordering, console: Console) -> None:
    console.print(Text(f"\n{ordering.extent_words}"))
    if ordering.findings or not ordering.edges:
        return
    console.print(Text(f"nothing found; {ordering.headline}"))
    for edge in ordering.edges:
        if edge.state in ("not-shown", "trivial"):
            console.print(Text(f"  {edge.clause} {edge.state}: {edge.why}", style="dim"))
