# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Options that several commands share, and tbk-run's arguments from them."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from tbk_harness import complete, shards
from tbk_harness.command_line import DEVICE, HOW, LIBRARY, REPORTS, VERDICT, WHAT, Choice, option
from tbk_harness.folder import RESULTS
from tbk_harness.handed import as_file
from tbk_harness.near import hint

Command = TypeVar("Command", bound=Callable[..., Any])


class Input(click.Path):
    """A file that is read. A shell's <(...) is a pipe, which can be read but once and in this
    process alone: what comes of it is the path of a copy."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Returns the path of a file that can be read again."""
        if not os.fspath(value):
            self.fail("an empty name", param, ctx)
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        try:
            return as_file(path)
        except OSError as error:
            self.fail(f"{path}: {error.strerror}", param, ctx)


class Run(Input):
    """A result file, or the folder of a run, which stands for the one that is in it."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Returns the path of the file."""
        path = super().convert(value, param, ctx)
        return path / RESULTS if path.is_dir() else path


class Place(click.Path):
    """Where something is written, or lies. An empty word is a variable that was not set, and would
    mean the working folder."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Returns the path."""
        if not os.fspath(value):
            self.fail("an empty name", param, ctx)
        return super().convert(value, param, ctx)


PATH = Place(path_type=Path)
FOLDER = Place(path_type=Path, file_okay=False)
INPUT = Input(path_type=Path)
RUN = Run(path_type=Path)
_INPUT_FILE = Input(path_type=Path, exists=True, dir_okay=False, readable=True)
_FACTORS = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(s|m|min|h|)")


GATE = option(
    HOW, "--gate", metavar="FILE",
    help="A library that holds a stream of the device shut; cuda, acl, and bridge (for devices"
    " behind torch_tbk) come with the suite.",
)  # fmt: skip


def duration(_: click.Context, __: click.Parameter, value: str | None) -> float | None:
    """Returns seconds, also as 120s, 2m or 1h."""
    found = _DURATION.fullmatch(value.strip()) if value is not None else None
    if value is not None and (not found or not float(found[1])):
        raise click.BadParameter(f"{value!r} is no time such as 90s, 2m or 1h")
    return float(found[1]) * _FACTORS[found[2]] if found else None


def seconds(context: click.Context, option: click.Parameter, value: str | None) -> str | None:
    """The same as tbk-run takes it."""
    found = duration(context, option, value)
    return None if found is None else f"{found:g}"


def fail_on(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """Returns the words of all that was given, each list at its commas."""
    words = [word.strip() for value in values for word in value.split(",")]
    for word in words:
        if word not in FAIL_ON:
            meant = hint(word, FAIL_ON) or f"; there are {', '.join(FAIL_ON)}"
            raise click.BadParameter(f"{word!r} is nothing to fail on{meant}")
    return tuple(dict.fromkeys(words))


def device_kind(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    """Returns the name of a kind of device: which one of them, the suite chooses."""
    kind, colon, _index = (value or "").partition(":")
    if colon:
        meant = f", as {kind!r}" if kind else ""
        raise click.BadParameter(f"{value!r}: name the device without an index{meant}")
    return value


def known_profile(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    """Returns the name of a profile that there is."""
    if value is not None:
        from tbk_contracts.profiles import profiles  # noqa: PLC0415  # the whole spec

        names = [one.name for one in profiles()]
        if value not in names:
            meant = hint(value, names) or f"; there are {', '.join(names)}"
            raise click.BadParameter(f"{value!r} is no profile{meant}")
    return value


def traced_calls(_: click.Context, __: click.Parameter, value: Path | None) -> Any:
    """Returns the calls that a script makes, by operator, as tbk trace wrote them."""
    if value is None:
        return None
    from tbk_harness.outcome import reason  # noqa: PLC0415
    from tbk_harness.traced import TraceError, calls_by_operator  # noqa: PLC0415

    try:
        return calls_by_operator(value)
    except OSError as error:
        raise click.BadParameter(reason(error)) from error
    except TraceError as error:
        raise click.BadParameter(str(error)) from error


FAIL_ON = ("warning", "not-shown", "left-out", "partial")
FAIL_ON_HELP = (
    "Exit code 1 for these, too, by commas: warning, not-shown, left-out, partial (a run that "
    "left out tests of its tier)."
)

# Handed on to tbk-run as they are; it checks their values.
_ONLY = option(
    WHAT, "--only", multiple=True, metavar="SEL", shell_complete=complete.selectors,
    help="A clause, area, profile or test; may be repeated.",
)  # fmt: skip
_BACKEND = option(
    LIBRARY, "--backend-option", multiple=True, metavar="K=V", help="For the library itself."
)
_RUNNING = (
    option(
        WHAT, "--tier", type=Choice(["quick", "thorough"]),
        help="Seconds, or a minute or two: sweeps and long repeats as well (default: quick).",
    ),
    option(
        WHAT, "--shard", metavar="I/N", callback=shards.read,
        help="The I-th of N parts; auto: as Bazel, GitLab or Buildkite say in the environment.",
    ),
    option(
        WHAT, "--timings", metavar="OLD.jsonl",
        type=_INPUT_FILE,
        help="Old results, by which the parts of --shard take about the same time.",
    ),
    option(WHAT, "--repeat", metavar="N", help="Each test N times."),
    option(WHAT, "--shuffle", metavar="SEED", help="In another order."),
    option(WHAT, "--seed", metavar="N", help="Other inputs."),
    option(HOW, "--jobs", metavar="N", help="Test processes at a time."),
    option(
        HOW, "--isolation", metavar="auto|fork|batch", help="One process a test, or many tests."
    ),
    option(
        HOW, "--timeout", callback=seconds, metavar="TIME", help="Deadline of a test: 30s, 2m, 1h."
    ),
    option(
        HOW, "--open-timeout", callback=seconds, metavar="TIME",
        help="Deadline of opening the device.",
    ),
    option(HOW, "--memory-limit", metavar="BYTES", help="Resident memory of a test process."),
    option(HOW, "--most-hangs", metavar="N", help="Whole hangs before later tests get less time."),
    option(
        VERDICT, "--require", multiple=True, metavar="WORD",
        shell_complete=complete.capabilities, help="A capability that must be there.",
    ),
)  # fmt: skip
PROFILE = option(
    VERDICT, "--profile", metavar="NAME", callback=known_profile,
    help="Tell how much of a profile is met, and what to write next: bring-up, inference, training,"
    " full.",
)  # fmt: skip
TRACE = option(
    VERDICT, "--trace", metavar="FILE", callback=traced_calls,
    type=_INPUT_FILE,
    help="Of tbk trace: what your own script calls most comes first in what to implement next.",
)  # fmt: skip
_VERDICT = (
    PROFILE,
    TRACE,
    option(
        HOW, "--budget", callback=duration, metavar="TIME",
        help="Begin no test after TIME (120s, 2m); the most telling come first.",
    ),
    option(
        HOW, "--blame/--no-blame", default=True,
        help="Run what fails in the torch layer on other devices, too, to see who is to blame.",
    ),
    option(HOW, "--resume", is_flag=True, help="Go on where an interrupted run ended."),
    option(VERDICT, "--waivers", type=INPUT, metavar="FILE", help="Known failures, in TOML."),
    option(
        VERDICT, "--baseline", type=INPUT, metavar="FILE",
        help="Known causes, as --write-baseline wrote them.",
    ),
    option(
        VERDICT, "--write-baseline", type=PATH, metavar="FILE",
        help="Write the causes of failure to FILE.",
    ),
    option(
        VERDICT, "--fail-on", multiple=True, callback=fail_on, metavar="WORDS", help=FAIL_ON_HELP
    ),
    option(
        REPORTS, "--report-dir", type=FOLDER,
        default="tbk-report", show_default=True, help="Where results and reports go.",
    ),
    option(REPORTS, "--open", "open_page", is_flag=True, help="Show the page when it is written."),
    option(REPORTS, "--coverage-dir", type=PATH, help="Coverage pages to link."),
    option(REPORTS, "--quiet", is_flag=True, help="Print the path of the page only."),
)  # fmt: skip
_DEVICE = (
    click.argument(
        "name", metavar="[NAME]", required=False, shell_complete=complete.devices,
        callback=device_kind,
    ),
    option(
        DEVICE, "--device", metavar="NAME", shell_complete=complete.devices, callback=device_kind,
        help="As in torch.device(NAME), without an index; NAME alone does.",
    ),
    option(
        DEVICE, "--import", "imports", multiple=True, metavar="MODULE",
        help="Import it first, so that PyTorch knows the device.",
    ),
)  # fmt: skip


def _decorated(command: Command, options: tuple[Callable[[Command], Command], ...]) -> Command:
    for one in reversed(options):
        command = one(command)
    return command


def runner_options(command: Command) -> Command:
    """Returns those of tbk-run, for a library."""
    return _decorated(command, (_ONLY, _BACKEND, *_RUNNING))


def device_options(command: Command) -> Command:
    """How PyTorch comes to know a device."""
    return _decorated(command, _DEVICE)


def running_options(command: Command) -> Command:
    """Returns those of tbk-run, for a device of PyTorch."""
    return _decorated(command, (_ONLY, *_RUNNING))


def verdict_options(command: Command) -> Command:
    """Returns what is known beforehand, and where the reports go."""
    return _decorated(command, _VERDICT)


def flags(options: Mapping[str, Any]) -> list[str]:
    """--name=value for each value that is there."""
    found = []
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        for item in value if isinstance(value, tuple) else (value,) if value is not None else ():
            found.append(f"{flag}={item}")
    return found


def runner_arguments(library: str, options: Mapping[str, Any]) -> list[str]:
    """tbk-run's arguments for the C layer, from click's values."""
    # A path that looks like an option would be taken for one.
    return [library if not library.startswith("-") else f"./{library}", *flags(options)]


@dataclass(frozen=True)
class Subject:
    """What the torch layer is to judge: a device by its name, or a library through the bridge."""

    device: str = ""
    imports: tuple[str, ...] = ()
    library: str = ""

    @property
    def words(self) -> str:
        return self.device or self.library

    def arguments(self, options: Mapping[str, Any]) -> list[str]:
        """tbk-run's arguments for the torch layer."""
        found = [f"--torch-device={self.device}"] if self.device else []
        found += [f"--torch-library={self.library}"] if self.library else []
        found += [f"--torch-import={name}" for name in self.imports]
        return [*found, f"--python={sys.executable}", *flags(options)]
