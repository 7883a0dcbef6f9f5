# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The layers of tbk run, with their tests on a farm: divided, run, and put together as one file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tbk_reports.model import (
    EXIT_INTERRUPTED,
    EXIT_NOT_WRITTEN,
    EXIT_SUITE_ERROR,
    EXIT_USAGE,
    FAILING,
    read_results,
)
from tbk_reports.text import line

from tbk_harness import outcome, runner
from tbk_harness.farm import merge
from tbk_harness.farm.node import LIBRARY, PYTHON, RESULTS, TIMINGS, digest_of
from tbk_harness.farm.parts import Division, OtherRunError, divide
from tbk_harness.farm.place import Place
from tbk_harness.farm.watch import Farm, FarmError, Reply
from tbk_harness.folder import FARM, PARTS, latest
from tbk_harness.layers import Part
from tbk_harness.litmus_runner import REPRODUCER, Hunted, hunted_from
from tbk_harness.litmus_runner import RESULTS as LITMUS_RESULTS
from tbk_harness.options import Subject, flags
from tbk_harness.session import Session

BY = "the farm"
TIMINGS_FILE = "timings.jsonl"


@dataclass
class Progress:
    """What came back so far of a layer."""

    done: int
    failing: int = 0
    unanswered: list[tuple[int, str]] = field(default_factory=list)
    """Exit codes and sentences of parts that brought no records."""


@dataclass
class FarmRun:
    """One command's layers on one farm."""

    session: Session
    farm: Farm
    library: str
    options: Mapping[str, Any]
    resume: bool = False

    def run(self, layer: str, only: Sequence[str]) -> Part:
        """Runs a layer, and returns it as a part of the session, whatever became of the farm."""
        arguments = self._arguments(layer, only)
        division = self._division(layer, arguments)
        display = self.session.display
        display.phase(runner.PHASES[layer]["tests"], unit="parts")
        left = division.left()
        progress = Progress(division.of - len(left))
        jobs = [
            {
                "name": division.name(number), "call": "tests", "library": self.library,
                "arguments": [*arguments, f"--shard={number}/{division.of}"],
            }
            for number in left
        ]  # fmt: skip

        def tell(name: str, reply: Reply) -> None:
            path = division.folder / name / RESULTS
            if path.exists():
                progress.done += 1
                progress.failing += sum(
                    test.verdict in FAILING for test in read_results(path).tests
                )
            else:
                said = f"{name} on {reply.get('node')}: {line(str(reply.get('said')), 300)}"
                progress.unanswered.append((int(reply.get("code", EXIT_SUITE_ERROR)), said))
            display.show(progress.done, division.of, progress.failing, None, name)

        said = ""
        try:
            failed = self.farm.run(jobs, tell) if jobs else []
            progress.unanswered += [(EXIT_INTERRUPTED, one) for one in failed]
        except FarmError as error:
            said = str(error)
        return self._part(division, progress, said)

    def _arguments(self, layer: str, only: Sequence[str]) -> list[str]:
        """Returns tbk-run's arguments, the same for each part, with words for what each node has of
        its own."""
        options = {**self.options, "only": tuple(only)}
        options["timings"] = TIMINGS if "timings" in self.farm.files else None
        if layer == "c":
            return [LIBRARY, *flags(options)]
        options.pop("require", None)
        found = Subject(library=LIBRARY).arguments(options)
        return [f"--python={PYTHON}" if one.startswith("--python=") else one for one in found]

    def _division(self, layer: str, arguments: Sequence[str]) -> Division:
        identity = {
            "arguments": list(arguments),
            "files": {
                name: digest_of(path.read_bytes()) for name, path in self.farm.files.items()
            },
        }  # fmt: skip
        try:
            return divide(
                layer, self.farm.boards, self.farm.place.parts, self.farm.folder, identity,
                self.resume,
            )  # fmt: skip
        except OtherRunError as error:
            outcome.stop(EXIT_USAGE, str(error))

    def _part(self, division: Division, progress: Progress, said: str) -> Part:
        """Returns the layer as a part: its file, with all that came back, and how it ended."""
        path = self.session.folder / PARTS / f"{division.layer}.jsonl"
        shards = division.shards()
        place = self.farm.place
        farm = {"where": place.where, "takes": place.words, "lost": list(self.farm.lost)}
        code = EXIT_INTERRUPTED
        if shards:
            code = merge.compose(
                shards, division.of, self.library, farm, path, self.session.spent_ns()
            )
        if len(shards) == division.of and not said:
            return Part(division.layer, path, runner.Ended(code, "", BY))
        path_code, why = progress.unanswered[0] if progress.unanswered else (EXIT_INTERRUPTED, "")
        recorded = f"{len(shards)} of {division.of} parts are recorded; --resume goes on"
        told = "; ".join(one for one in (said or why, recorded) if one)
        ended = runner.Ended(EXIT_INTERRUPTED if said else path_code, told, BY)
        return Part(division.layer, path, ended)

    def hunt(self, words: list[str], folder: Path) -> Hunted:
        """Runs litmus programs on a node, with what they write in `folder`."""
        job = {
            "name": "litmus", "call": "litmus", "library": self.library,
            "arguments": list(words),
        }  # fmt: skip
        replies: list[Reply] = []
        try:
            failed = self.farm.run([job], lambda _, reply: replies.append(reply))
        except FarmError as error:
            return Hunted(EXIT_INTERRUPTED, str(error), ())
        if not replies:
            return Hunted(EXIT_INTERRUPTED, failed[0] if failed else "", ())
        for name in (LITMUS_RESULTS, REPRODUCER):
            brought = self.farm.folder / "litmus" / name
            if brought.exists():
                (folder / name).write_bytes(brought.read_bytes())
        code, said = int(replies[0]["code"]), str(replies[0]["said"])
        hunted = hunted_from(code, f"tbk-litmus: {said}" if said else "", folder)
        return replace(hunted, printed=str(replies[0].get("printed") or ""))


def begin(session: Session, place: Place, library: str, timings: Path | None) -> Farm:
    """Returns the farm, connected; ends the command in one line where there is none."""
    session.display.phase("finding the farm")
    folder = session.folder / PARTS / FARM
    old = _old_results(session, timings)
    files = {"library": Path(library), **({"timings": old} if old else {})}
    try:
        data = old.read_bytes() if old else b""
        farm = Farm(place, folder, files).__enter__()
    except FarmError as error:
        outcome.stop(error.code, str(error))
    except OSError as error:
        outcome.stop(EXIT_USAGE, f"cannot read {outcome.reason(error)}")
    try:
        session.begin()  # which may have moved them
        if old:
            farm.files = {**files, "timings": _kept(session, data)}
    except BaseException as error:
        farm.__exit__()
        if isinstance(error, OSError):
            outcome.stop(EXIT_NOT_WRITTEN, f"cannot write {outcome.reason(error)}")
        raise
    return farm


def end(session: Session, farm: Farm) -> None:
    """Leaves the farm, and notes which nodes went away."""
    farm.__exit__()
    if farm.lost:
        count = "1 node" if len(farm.lost) == 1 else f"{len(farm.lost)} nodes"
        told = f"{count} of the farm went away: {', '.join(map(line, farm.lost))}"
        session.notes.append(f"{told}; what was lost with it was run again on others")


def _old_results(session: Session, timings: Path | None) -> Path | None:
    """Returns old results to divide the tests by, where there are some. Those of the run before do,
    and stay the same for one that goes on."""
    kept = session.folder / PARTS / FARM / TIMINGS_FILE
    if session.request.resume:
        return kept if kept.exists() else None
    return timings or latest(session.folder)


def _kept(session: Session, data: bytes) -> Path:
    """Keeps them for a run that goes on with this one. Raises OSError."""
    kept = session.folder / PARTS / FARM / TIMINGS_FILE
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_bytes(data)
    return kept
