# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Options that several commands share, and tbk-run's arguments from them."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])

PATH = click.Path(path_type=Path)
_FACTORS = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(s|m|min|h|)")


def duration(_: click.Context, __: click.Parameter, value: str | None) -> float | None:
    """Returns seconds, also as 120s, 2m or 1h."""
    found = _DURATION.fullmatch(value.strip()) if value is not None else None
    if value is not None and (not found or not float(found[1])):
        raise click.BadParameter(f"{value!r} is no time such as 120s or 2m")
    return float(found[1]) * _FACTORS[found[2]] if found else None


def seconds(context: click.Context, option: click.Parameter, value: str | None) -> str | None:
    """The same as tbk-run takes it."""
    found = duration(context, option, value)
    return None if found is None else f"{found:g}"


# Handed on to tbk-run as they are; it checks their values.
_ONLY = click.option(
    "--only", multiple=True, metavar="SEL", help="A clause, area, profile or test."
)
_BACKEND = click.option("--backend-option", multiple=True, metavar="K=V", help="For the library.")
_RUNNING = (
    click.option(
        "--tier",
        type=click.Choice(["quick", "thorough"]),
        help="Seconds, or a minute or two: sweeps and long repeats as well (default: quick).",
    ),
    click.option("--jobs", metavar="N", help="Test processes at a time."),
    click.option("--shard", metavar="I/N", help="Run the I-th of N parts."),
    click.option("--repeat", metavar="N", help="Run each test N times."),
    click.option("--shuffle", metavar="SEED", help="Run in another order."),
    click.option("--seed", metavar="N", help="Seed of the inputs."),
    click.option("--isolation", metavar="auto|fork|batch", help="One process a test, or many."),
    click.option(
        "--timeout", callback=seconds, metavar="TIME", help="Deadline of one test (30s, 1m)."
    ),
    click.option(
        "--open-timeout", callback=seconds, metavar="TIME", help="Deadline of opening the device."
    ),
    click.option("--require", multiple=True, metavar="WORD", help="What must be declared."),
    click.option("--memory-limit", metavar="BYTES", help="Resident memory of a test process."),
    click.option("--most-hangs", metavar="N", help="Whole hangs before later tests get less time."),
)
_VERDICT = (
    click.option("--resume", is_flag=True, help="Go on where an interrupted run ended."),
    click.option("--waivers", type=PATH, help="Known failures, in TOML."),
    click.option("--baseline", type=PATH, help="Known causes, as --write-baseline wrote them."),
    click.option(
        "--write-baseline", type=PATH, metavar="FILE", help="Write the causes of failure to FILE."
    ),
    click.option(
        "--budget", callback=duration, metavar="TIME",
        help="Begin no test of the torch layer after TIME (120s, 2m); the most telling come first.",
    ),
    click.option(
        "--blame/--no-blame", default=True,
        help="Run what fails in the torch layer on other devices, too, to see who is to blame.",
    ),
    click.option(
        "--fail-on", type=click.Choice(["partial"]),
        help="Fail a run that left out tests of its tier, too (exit code 1).",
    ),
    click.option(
        "--report-dir", type=click.Path(path_type=Path, file_okay=False), default="tbk-report",
        show_default=True, help="Where results and reports go.",
    ),
    click.option("--coverage-dir", type=PATH, help="Coverage pages to link."),
    click.option("--quiet", is_flag=True, help="Print the path of the page only."),
)  # fmt: skip
_DEVICE = (
    click.argument("name", metavar="[NAME]", required=False),
    click.option("--device", metavar="NAME", help="As in torch.device(NAME); NAME alone does."),
    click.option(
        "--import", "imports", multiple=True, metavar="MODULE",
        help="Import it first, so that PyTorch knows the device.",
    ),
)  # fmt: skip


def _decorated(command: Command, options: tuple[Callable[[Command], Command], ...]) -> Command:
    for option in reversed(options):
        command = option(command)
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
