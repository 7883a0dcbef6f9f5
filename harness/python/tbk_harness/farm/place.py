# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What a user says of a farm: where it is, what a part takes of it, how long to wait for it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import click

from tbk_harness.command_line import FARM, option
from tbk_harness.options import Command, duration

LOCAL, AUTO = "local", "auto"
WAIT_S = 60.0
_ADDRESS = re.compile(r"(ray://)?(\[[0-9A-Fa-f:]+\]|[A-Za-z0-9_.-]+):(\d{1,5})")
_LOCAL = re.compile(r"local(?::([1-9]\d{0,3}))?")
MOST_PORT = 65_535


@dataclass(frozen=True)
class Place:
    """A farm, as Ray knows it."""

    where: str
    resources: tuple[tuple[str, float], ...] = ()
    parts: int | None = None
    wait_s: float = WAIT_S

    @property
    def words(self) -> str:
        """Returns what a part takes, as it is typed."""
        return ", ".join(f"{name}={amount:g}" for name, amount in self.resources) or "CPU=1"


def where(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    """Returns the address, where it is one."""
    if value is None or value == AUTO or _LOCAL.fullmatch(value):
        return value
    found = _ADDRESS.fullmatch(value)
    if not found or not 0 < int(found[3]) <= MOST_PORT:
        raise click.BadParameter(f"{value!r} is none of ray://HOST:PORT, HOST:PORT, auto, local:N")
    return value


def host_and_port(address: str) -> tuple[str, int] | None:
    """Returns where a farm listens; None where its address does not say."""
    found = None if local_boards(address) else _ADDRESS.fullmatch(address)
    return (found[2].strip("[]"), int(found[3])) if found else None


def local_boards(address: str) -> int | None:
    """Returns how many parts run at a time on this machine; None for a farm elsewhere."""
    found = _LOCAL.fullmatch(address)
    return int(found[1] or 1) if found else None


def resources(
    _: click.Context, __: click.Parameter, values: tuple[str, ...]
) -> tuple[tuple[str, float], ...]:
    """Returns names and amounts."""
    found: dict[str, float] = {}
    for value in values:
        name, _equals, amount = value.partition("=")
        known = re.fullmatch(r"\d+(\.\d+)?", amount or "1")
        if not name.strip() or not known or not float(amount or 1):
            raise click.BadParameter(f"{value!r} is no resource such as acme=1")
        found[name.strip()] = float(amount or 1)
    return tuple(found.items())


_OPTIONS = (
    option(
        FARM, "--farm", callback=where, metavar="WHERE",
        help="Over many boards: ray://HOST:PORT, HOST:PORT, auto, or local:N (this machine, N parts"
        " at a time).",
    ),
    option(
        FARM, "--resource", multiple=True, callback=resources, metavar="NAME=N",
        help="What a part takes of a node, as Ray was told: acme=1, GPU=1 (default: CPU=1).",
    ),
    option(
        FARM, "--farm-wait", callback=duration, metavar="TIME",
        help=f"No longer for a farm that does not answer, or has no board left"
        f" (default: {WAIT_S:g}s).",
    ),
)  # fmt: skip
PARTS = option(
    FARM, "--parts", type=click.IntRange(1, 10_000), metavar="N",
    help="Divide each layer into N parts (default: eight a board in C, two for PyTorch).",
)  # fmt: skip


def farm_options(command: Command) -> Command:
    """Returns the command with what it is told of a farm."""
    for one in reversed(_OPTIONS):
        command = one(command)
    return command


def place(options: dict[str, Any]) -> Place | None:
    """Takes the farm out of click's values; None where there is none. Raises click.UsageError."""
    address, held = options.pop("farm"), options.pop("resource")
    wait, parts = options.pop("farm_wait"), options.pop("parts", None)
    if address is None:
        if held or wait or parts:
            raise click.UsageError("--resource, --parts and --farm-wait go with --farm")
        return None
    return Place(address, held, parts, wait or WAIT_S)
