# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Which part of a run this process is, as a CI system says in the environment."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import click

AUTO = "auto"
STATUS_FILE = "TEST_SHARD_STATUS_FILE"  # Bazel wants it touched by whoever knows of shards


@dataclass(frozen=True)
class System:
    """How a CI system says which of how many it runs."""

    name: str
    index: str
    total: str
    first: int  # the index of the first one


SYSTEMS = (
    System("Bazel", "TEST_SHARD_INDEX", "TEST_TOTAL_SHARDS", 0),
    System("GitLab", "CI_NODE_INDEX", "CI_NODE_TOTAL", 1),
    System("Buildkite", "BUILDKITE_PARALLEL_JOB", "BUILDKITE_PARALLEL_JOB_COUNT", 0),
)


class ShardError(ValueError):
    """The variables do not say which shard it is, in one line."""


def _number(environment: Mapping[str, str], name: str) -> int:
    text = environment[name]
    if not (text.isascii() and text.isdecimal()):
        raise ShardError(f"{name} is {text!r}, and no number")
    return int(text)


def _stated(system: System, environment: Mapping[str, str]) -> str:
    """Returns I/N; empty where the system says nothing."""
    there = [name for name in (system.index, system.total) if environment.get(name, "") != ""]
    if system.index not in there:
        # GitLab says 1 of jobs that are not parallel, and Bazel nothing.
        alone = not there or _number(environment, system.total) == 1
        if alone:
            return "1/1" if there else ""
    if len(there) < 2:
        missing = ({system.index, system.total} - set(there)).pop()
        raise ShardError(f"{system.name} sets {there[0]} and not {missing}")
    index = _number(environment, system.index) - system.first + 1
    total = _number(environment, system.total)
    if not 1 <= index <= total:
        said = f"{system.index}={environment[system.index]}, {system.total}={total}"
        raise ShardError(f"{said}: {system.name} counts from {system.first}")
    return f"{index}/{total}"


def from_environment(environment: Mapping[str, str]) -> str:
    """Returns I/N. Raises ShardError where no system says it, or where two say different things.

    A job that is not parallel (1/1) contradicts nothing: one system may start another.
    """
    stated = {one.name: _stated(one, environment) for one in SYSTEMS}
    told = {name: shard for name, shard in stated.items() if shard}
    if not told:
        names = ", ".join(one.index for one in SYSTEMS)
        raise ShardError(f"none of {names} is set; --shard I/N says it by hand")
    parallel = {name: shard for name, shard in told.items() if shard != "1/1"}
    if len(set(parallel.values())) > 1:
        said = ", ".join(f"{name} says {shard}" for name, shard in parallel.items())
        raise ShardError(f"{said}; --shard I/N decides")
    return next(iter(parallel.values()), "1/1")


def read(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    """Returns what --shard means, as tbk-run takes it."""
    if value is None:
        return None
    if path := os.environ.get(STATUS_FILE):
        with contextlib.suppress(OSError):  # Bazel itself complains where it is not there
            Path(path).touch()
    if value != AUTO:
        return value
    try:
        return from_environment(os.environ)
    except ShardError as error:
        raise click.BadParameter(str(error)) from error
