# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What every command does at its end: render, tell, and leave with a documented exit code."""

from __future__ import annotations

import datetime
import errno
import os
import select
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click
from rich.console import Console
from rich.text import Text
from tbk_reports.model import (
    EXIT_BAD_LIBRARY,
    EXIT_FINDINGS,
    EXIT_NOT_WRITTEN,
    EXIT_USAGE,
    Judged,
    ResultFile,
    read_results,
)
from tbk_reports.text import line

from tbk_harness import handed, locate, progress
from tbk_harness.near import hint

if TYPE_CHECKING:
    from tbk_harness.judge import Known

# What reads the spec or draws pages is imported where it is used: first a word is on the screen.


def stop(code: int, message: str) -> NoReturn:
    """Ends with one clear line, and a documented exit code."""
    progress.end()
    print(f"tbk: {line(handed.as_typed(message), 600)}", file=sys.stderr)
    raise SystemExit(code)


def reason(error: OSError) -> str:
    name = f"{error.filename}: " if error.filename else ""
    return f"{name}{error.strerror or error}"


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """As all else that prints; the library's own way out would say that there are findings."""
        raise BrokenPipeError


def pipe_broke(error: BrokenPipeError) -> NoReturn:
    """Ends without a word where nobody reads our output any more; what is written to files is
    whole. Any other pipe is told of."""
    ours = select.poll()
    ours.register(sys.stdout.fileno(), 0)
    if not any(found & (select.POLLERR | select.POLLHUP) for _, found in ours.poll(0)):
        stop(EXIT_NOT_WRITTEN, f"a process that this one writes to is gone: {reason(error)}")
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    raise SystemExit(EXIT_NOT_WRITTEN)


def console(quiet: bool = False) -> Console:
    return _Console(quiet=quiet, highlight=False, markup=False, emoji=False, soft_wrap=True)


def read(path: Path) -> ResultFile:
    try:
        found = read_results(path)
    except OSError as error:
        stop(EXIT_USAGE, f"cannot read {reason(error)}")
    if not (found.header or found.tests or found.footer):
        stop(EXIT_USAGE, f"{path} is no result file: {found.problems[0]}")
    return replace(found, path=handed.as_typed(found.path))


def read_parts(paths: Sequence[Path]) -> list[ResultFile]:
    """Reads shards. A file that is torn, empty or not there is a problem of the whole, and takes
    nothing from the others; where none can be read, there is nothing to report."""
    found = [_read_part(path) for path in paths]
    if not any(one.header or one.tests for one in found):
        read(paths[0])
    return found


def _read_part(path: Path) -> ResultFile:
    name = handed.as_typed(str(path))
    try:
        return replace(read_results(path), path=name)
    except OSError as error:
        return ResultFile(name, {}, (), None, (f"cannot be read: {error.strerror}",))


def today() -> datetime.date:
    return datetime.datetime.now(datetime.timezone.utc).date()


def verdict_on(results: ResultFile, known: Known) -> Judged:
    """Returns the judge's verdict as of today, with the clauses' sentences and the functions of
    crashes filled in where they fit."""
    from tbk_harness.enrich import enrich  # noqa: PLC0415
    from tbk_harness.judge import judge  # noqa: PLC0415
    from tbk_harness.stacks import name_frames  # noqa: PLC0415

    return judge(name_frames(enrich(results)), known, today())


def with_profile(judged: Judged, name: str | None) -> Judged:
    """Returns it with the profile that the reports hold it against; that changes no verdict."""
    if name is None:
        return judged
    from tbk_contracts.profiles import profiles  # noqa: PLC0415  # the whole spec

    asked = next(one for one in profiles() if one.name == name)
    return replace(judged, profile=asked.document())


def with_trace(judged: Judged, calls: Mapping[str, int] | None) -> Judged:
    """Returns it with a script's calls, by which the reports order what to implement next; that
    changes no verdict."""
    return judged if calls is None else replace(judged, trace=dict(calls))


def strict(judged: Judged, fail_on: Sequence[str]) -> Judged:
    """With --fail-on a pass that has these words is a failure, and the reports say why."""
    if not fail_on or judged.verdict != "pass":
        return judged
    told = _forbidden(judged, fail_on)
    if not told:
        return judged
    return replace(
        judged, verdict="fail", exit_code=EXIT_FINDINGS, problems=(*judged.problems, *told)
    )


def _forbidden(judged: Judged, fail_on: Sequence[str]) -> list[str]:
    """Returns what --fail-on forbids and the run has, a sentence for each word. What a waiver or a
    baseline knows is neither a warning nor left out."""
    from tbk_reports.extent import extent  # noqa: PLC0415

    found = []
    for word in (one for one in fail_on if one != "partial"):
        tests = [test for test in judged.tests if word in (test.verdict, test.state)]
        if tests:
            count = "1 test is" if len(tests) == 1 else f"{len(tests):,} tests are"
            found.append(f"{count} {word}, which --fail-on {word} forbids; first {tests[0].id}")
    extents = extent(judged)
    if "partial" in fail_on and extents.partial:
        missing = "; ".join(extents.missing)
        found.append(f"the run is partial, which --fail-on partial forbids: {missing}")
    return found


def known_words(only: Sequence[str]) -> None:
    """Stops where a word of --only names nothing, before anything is run or replaced."""
    from tbk_harness.suggest import unknown_selector  # noqa: PLC0415

    if only and (said := unknown_selector(only)):
        stop(EXIT_USAGE, said)


def known_from(waivers: Path | None, causes: Path | None = None) -> Known:
    from tbk_harness import baseline  # noqa: PLC0415
    from tbk_harness.judge import Known  # noqa: PLC0415
    from tbk_harness.waivers import WaiverError, load_waivers  # noqa: PLC0415

    try:
        return Known(
            load_waivers(waivers) if waivers else (), baseline.load(causes) if causes else None
        )
    except (WaiverError, baseline.BaselineError) as error:
        stop(EXIT_USAGE, str(error))


def write_baseline(judged: Judged, path: Path) -> None:
    """The causes of failure of a run, for --baseline. A run without a verdict has none."""
    if judged.verdict == "error":
        print(f"tbk: {path} is not written: the run has no verdict", file=sys.stderr)
        return
    from tbk_harness import baseline  # noqa: PLC0415

    try:
        path.write_text(baseline.document(judged, today()), "utf-8")
    except OSError as error:
        stop(EXIT_NOT_WRITTEN, f"the baseline cannot be written: {reason(error)}")


def library_file(name: str) -> str:
    """Returns a file, one of the suite's backends where no file has the name. What is none stops
    here, before anything of the last run is touched."""
    if os.path.lexists(name):
        return name
    own = locate.library(name) if name.isidentifier() else None
    if own is None:
        told = f"{name or repr(name)}: no such file, and no backend that comes with the suite"
        stop(EXIT_BAD_LIBRARY, f"{told}{_near_library(name)}")
    return str(own)


def _near_library(name: str) -> str:
    """Returns what was meant: a library beside the one that is not there, or a backend's name."""
    path = Path(name)
    beside = {one.name: str(path.parent / one.name) for one in path.parent.glob("*.so*")}
    if meant := hint(path.name, beside):
        return meant if path.parent == Path() else f"{meant[:-1]} in {path.parent}?"
    return hint(name, locate.libraries())


def gate_file(name: str) -> str:
    """Returns the path of a gate, one of the suite's where no file has the name; `bridge` is for
    devices behind torch_tbk."""
    found = Path(name)
    if not found.is_file() and name.isidentifier():  # a folder may be named so
        found = (locate.bridge() if name == "bridge" else locate.library(f"gate_{name}")) or found
    if not found.is_file():
        stop(EXIT_BAD_LIBRARY, f"the gate {name}: no such file, and none that comes with the suite")
    return str(found.absolute())


def prepare(folder: Path) -> None:
    """Finds out before a run whether its results can be written."""
    probe = folder / ".tbk-write-probe"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe.write_bytes(b"")
        probe.unlink()
    except OSError as error:
        stop(EXIT_NOT_WRITTEN, f"the results cannot be written: {reason(error)}")


def writable(path: Path) -> None:
    """Stops where no file can be written at `path`: before a run, and not when it is over."""
    target = path.absolute()
    if target.is_dir():
        stop(EXIT_NOT_WRITTEN, f"{path}: {os.strerror(errno.EISDIR)}")
    if not os.access(target if target.exists() else target.parent, os.W_OK):
        stop(EXIT_NOT_WRITTEN, f"{path}: nothing can be written there")


def show_page(page: Path) -> None:
    """Shows a page in the browser of the user, if there is one."""
    progress.end()
    if click.launch(str(page.resolve())):
        print(f"tbk: --open: no browser could be started for {page}", file=sys.stderr)


def finish(
    judged: Judged,
    folder: Path,
    coverage: Path | None = None,
    quiet: bool = False,
    open_page: bool = False,
    results: Path | None = None,
) -> NoReturn:
    """Writes all reports, prints the verdict and the page's path last. `results`: the file that was
    judged, where it is one that lies where it lay."""
    from tbk_reports.html import coverage_links  # noqa: PLC0415
    from tbk_reports.render import write_reports  # noqa: PLC0415
    from tbk_reports.terminal import print_report  # noqa: PLC0415

    from tbk_harness import reproducer  # noqa: PLC0415

    out = console()
    links: Sequence[tuple[str, str]] = coverage_links(coverage, folder) if coverage else ()
    try:
        judged = reproducer.write(judged, folder)
        paths = write_reports(judged, folder, links)
    except OSError as error:
        progress.end()
        print_report(judged, out)
        stop(EXIT_NOT_WRITTEN, f"the reports cannot be written: {reason(error)}")
    progress.end()
    if not quiet:
        print_report(judged, out, shlex.quote(str(results)) if results else "")
    elif judged.verdict == "error":  # no code from 2 on comes without a word
        print(f"tbk: {line(next(iter(judged.problems), 'no verdict'), 600)}", file=sys.stderr)
    out.print(Text(str(paths["html"])))
    if open_page:
        show_page(paths["html"])
    raise SystemExit(judged.exit_code)
