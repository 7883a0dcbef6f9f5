# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""From options to a judged run: the parts, what is asked besides, one file, one verdict."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NoReturn

from tbk_reports.model import (
    EXIT_FINDINGS,
    EXIT_NOT_WRITTEN,
    EXIT_NOTHING_SELECTED,
    EXIT_PASS,
    EXIT_SUITE_ERROR,
    EXIT_USAGE,
    Judged,
    read_results,
)
from tbk_reports.text import line

from tbk_harness import blame, folder, layers, outcome, pace, places, runner
from tbk_harness.folder import PARTS, PREVIOUS, RESULTS
from tbk_harness.judge import Known
from tbk_harness.layers import Part
from tbk_harness.options import Subject
from tbk_harness.progress import Display
from tbk_harness.progress_row import JUDGING
from tbk_harness.suggest import capability_hint, selector_hint, unmatched

JUDGED = (EXIT_PASS, EXIT_FINDINGS, EXIT_SUITE_ERROR)  # it ran to its end
BLAME_SHARE = 0.25  # of a budget, where a test fails
C_SHARE = 0.5  # of a budget, where PyTorch's layer is to come
LAST_SHARE = 0.05  # of a budget, for the test that runs when it is over
REPORTS_S = 3.0  # of processor time, for judging and for writing all reports
MOST_FOR_REPORTS = 0.25  # of a budget


def runner_or_stop() -> Path:
    """tbk-run, or a documented way out."""
    try:
        return runner.runner()
    except runner.NoRunnerError as error:
        outcome.stop(EXIT_SUITE_ERROR, str(error))


def understood(arguments: Sequence[str], layer: str) -> None:
    """Stops where tbk-run does not understand its arguments for this layer. It says so without
    opening a library or importing PyTorch; at that time nothing is run or replaced yet."""
    runner_or_stop()
    ended = runner.list_tests(arguments) if layer == "c" else runner.check_options(arguments)
    if ended.returncode == EXIT_USAGE:
        _stop_misunderstood(ended.stderr)


def known_parameters(only: Sequence[str], arguments: Sequence[str]) -> None:
    """Stops where what stands in brackets behind a test of the torch layer names no parameters of
    it. Only PyTorch knows them, so that it is imported once more for such words."""
    if not any("[" in word for word in only):
        return
    listed = runner.list_tests(arguments)
    if listed.returncode == EXIT_NOTHING_SELECTED and (word := unmatched(listed.stderr)):
        outcome.stop(EXIT_USAGE, f"--only: {word!r} names no test{selector_hint(listed.stderr)}")


def _stop_misunderstood(told: str) -> NoReturn:
    said = told.partition("\n")[0]  # what follows names the help of tbk-run
    said += capability_hint(said)
    outcome.stop(EXIT_USAGE, said or "tbk-run did not understand its arguments")


@dataclass(frozen=True)
class Request:
    """What all commands that run something are told."""

    known: Known
    report_dir: Path
    resume: bool = False
    blame: bool = True
    budget: float | None = None
    coverage_dir: Path | None = None
    write_baseline: Path | None = None
    quiet: bool = False
    fail_on: tuple[str, ...] = ()
    open_page: bool = False
    profile: str | None = None
    trace: Mapping[str, int] | None = None


def request(known: Known, options: dict[str, Any], on_farm: bool = False) -> Request:
    """Takes out of click's values what is not for tbk-run."""
    if options.get("timings") and not (options.get("shard") or on_farm):
        outcome.stop(
            EXIT_USAGE, "--timings goes with --shard or --farm, whose parts it makes equal"
        )
    names = Request.__dataclass_fields__
    return Request(known, **{name: options.pop(name) for name in tuple(options) if name in names})


@dataclass
class Session:
    """One command's runs of tbk-run, in its report folder."""

    request: Request
    display: Display
    parts: list[Part] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    more: list[dict[str, Any]] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)
    """Added to that of tbk-run at the C layer."""
    started: float = field(default_factory=pace.began)
    not_begun: list[str] = field(default_factory=list)
    """Layers that were asked for and never came."""
    _has_begun: bool = False

    def __post_init__(self) -> None:
        runner_or_stop()
        try:
            self._lock = folder.lock(self.folder)
        except folder.BusyError as error:
            outcome.stop(EXIT_NOT_WRITTEN, str(error))
        if self.request.write_baseline is not None:  # which may well lie in the folder
            outcome.writable(self.request.write_baseline)
            places.free(self.request.write_baseline, places.CAUSES)

    def begin(self) -> None:
        """Sets the last results aside, once. Whoever runs something calls it when all that a user
        has given is known to be good, and no earlier."""
        if not self._has_begun and not self.request.resume:
            folder.set_aside(self.folder)
        self._has_begun = True

    @property
    def folder(self) -> Path:
        return self.request.report_dir

    @property
    def results(self) -> Path:
        return self.folder / RESULTS

    def run(self, layer: str, arguments: Sequence[str], alone: bool = False) -> Part:
        """Returns one run of tbk-run; `alone`: it is all there is, and its file is the result."""
        self.begin()
        path = self.results if alone else self.folder / PARTS / f"{layer}.jsonl"
        path.parent.mkdir(exist_ok=True)
        resume = ["--resume"] if self.request.resume else []
        environment = self.environment if layer == "c" else None
        ended = runner.run(
            [*arguments, *resume], path, self.display, environment=environment, keep=(self._lock,),
            layer=layer, growth=self._growth(layer, path),
        )  # fmt: skip
        if ended.exit_code == EXIT_USAGE:
            _stop_misunderstood(ended.said)
        if ended.exit_code == EXIT_NOTHING_SELECTED and (meant := selector_hint(ended.said)):
            self.notes.append(f"{line(ended.said.removeprefix('tbk-run: '), 200)}{meant}")
        part = Part(layer, path, ended)
        self.parts.append(part)
        return part

    def _growth(self, layer: str, path: Path) -> runner.Growth:
        """Returns what is known of a layer's results before there are any."""
        budget = self.request.budget if layer == "torch" else None
        deadline = None if budget is None else time.monotonic() + self.left()
        return runner.Growth(path, previous=self.folder / PREVIOUS, deadline=deadline)

    def run_torch(self, subject: Subject, options: dict[str, Any]) -> Part:
        """Returns the torch layer; then, for what fails, the same on other devices."""
        begun = time.time()
        part = self.run("torch", subject.arguments({**options, **self._budgets()}))
        self.substitute(part, subject, options, begun)
        return part

    def substitute(
        self, part: Part, subject: Subject, options: Mapping[str, Any], begun: float
    ) -> None:
        """Runs what fails in the torch layer, which began at this time of day, on other devices."""
        if self.request.blame and part.written and part.ended.exit_code in JUDGED:
            results = read_results(part.path)
            start_up = pace.start_up(results.header, begun)
            self.more += blame.substitutions(
                results.tests, subject, part.path.parent,
                lambda: self._blame_options(options, start_up), self.display,
            )  # fmt: skip

    def _blame_options(self, options: Mapping[str, Any], start_up: float) -> dict[str, Any] | None:
        """What one more run on another device is told; None where the budget leaves no time for
        more than its start."""
        if self.request.budget is not None and self.left() <= start_up:
            return None
        return {"seed": options.get("seed"), **self._budget()}

    def left(self, share: float = 1) -> float:
        """Returns what is left of `share` of the budget, in seconds, when the reports are written:
        it holds for all that this command does."""
        budget = self.request.budget or 0
        reports = min(REPORTS_S * pace.slowness(), MOST_FOR_REPORTS * budget)
        return budget * share - reports - (time.monotonic() - self.started)

    def _budget(self, share: float = 1) -> dict[str, str]:
        if self.request.budget is None:
            return {}
        return {"budget": f"{max(self.left(share), 0.001):g}"}

    def _budgets(self) -> dict[str, str]:
        """Returns what the tests get, and what once one has failed: the rest is for blame."""
        made = self._budget(1 - LAST_SHARE)
        if made and self.request.blame:
            made["failing_budget"] = self._budget(1 - BLAME_SHARE)["budget"]
        return made

    def budget_of_c(self, is_shared: bool) -> dict[str, str]:
        """Returns what the C layer gets; `is_shared`: PyTorch's layer is to have the rest."""
        return self._budget(C_SHARE if is_shared else 1 - LAST_SHARE)

    def spent_ns(self) -> int:
        """Returns the time since this command began, with all that it ran besides."""
        return int((time.monotonic() - self.started) * 1e9)

    def finish(self, subject: str) -> Judged:
        """Writes the one result file where there are several, and judges it."""
        self.display.phase(JUDGING)
        written = [part for part in self.parts if part.written]
        if written and written[0].path != self.results:
            layers.compose(
                [part.path for part in written], self.more, self.results, self.spent_ns(),
                ["tbk", *sys.argv[1:]], self.not_begun,
            )  # fmt: skip
        judged = self._judged(subject, bool(written))
        judged = replace(judged, notes=(*self.notes, *judged.notes))
        judged = outcome.strict(judged, self.request.fail_on)
        judged = outcome.with_profile(judged, self.request.profile)
        judged = outcome.with_trace(judged, self.request.trace)
        if self.request.write_baseline:
            outcome.write_baseline(judged, self.request.write_baseline)
        return judged

    def end(self, subject: str) -> NoReturn:
        """Writes all reports, tells the verdict, and leaves with its exit code."""
        asked = self.request
        outcome.finish(
            self.finish(subject), self.folder, asked.coverage_dir, asked.quiet, asked.open_page,
            self.results,
        )  # fmt: skip

    def _judged(self, subject: str, written: bool) -> Judged:
        """Judges the file, and does not trust it where tbk-run's end tells another story."""
        disagreements = [
            disagreement for part in self.parts if (disagreement := part.disagreement())
        ]
        if not written:
            code, said = disagreements[0]
            return Judged(
                header={"backend": {"path": subject}}, footer={}, tests=(), verdict="error",
                exit_code=code, problems=(said,),
            )  # fmt: skip
        judged = outcome.verdict_on(read_results(self.results), self.request.known)
        if not disagreements:
            return judged
        told = tuple(problem for _, problem in disagreements)
        return replace(
            judged,
            verdict="error",
            exit_code=disagreements[0][0],
            problems=(*told, *judged.problems),
        )
