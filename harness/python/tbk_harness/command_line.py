# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What click lacks: options in groups, and examples, in the help of a command."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from tbk_harness.near import hint

Decorated = TypeVar("Decorated", bound=Callable[..., Any])
DEVICE, WHAT, LIBRARY, HOW = "The device", "What is run", "The library", "How it is run"
VERDICT, REPORTS, OUTPUT, OTHERS = "The verdict", "Reports", "Output", "Options"
FARM = "The farm"
GAP = " " * 3  # in an example, before a remark
ORDER = (DEVICE, WHAT, LIBRARY, HOW, FARM, VERDICT, REPORTS, OUTPUT, OTHERS)


class Choice(click.Choice[str]):
    """One of some words. A mistyped one is told with the nearest."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Returns the word, as click does."""
        if value not in self.choices:
            there = ", ".join(self.choices)
            self.fail(f"{value!r} is none of {there}{hint(str(value), self.choices)}", param, ctx)
        return super().convert(value, param, ctx)


class Option(click.Option):
    """An option that stands under a heading of its command's help."""

    def __init__(self, *names: Any, group: str = OTHERS, **settings: Any) -> None:
        super().__init__(*names, **settings)
        self.group = group


def option(group: str, *names: str, **settings: Any) -> Callable[[Decorated], Decorated]:
    """As click.option; `group` is the heading."""
    return click.option(*names, cls=Option, group=group, **settings)


def write_examples(formatter: click.HelpFormatter, examples: str) -> None:
    """Writes commands as they are typed, one a line, unwrapped; a remark for which there is no room
    stands below its command."""
    if not examples:
        return
    with formatter.section("Examples"):
        indent = " " * formatter.current_indent
        for line in examples.splitlines():
            command, _, remark = line.partition(GAP)
            fits = len(indent) + len(line) <= formatter.width
            told = [line] if fits else [command, *([f"  {remark.lstrip()}"] if remark else [])]
            formatter.write("".join(f"{indent}{one}\n" for one in told))


class Command(click.Command):
    """A command whose help has its options in groups, and ends with examples."""

    def __init__(self, *names: Any, examples: str = "", **settings: Any) -> None:
        super().__init__(*names, **settings)
        self.examples = examples

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the groups, each under its heading."""
        groups: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None and isinstance(parameter, click.Option):  # arguments are above
                groups.setdefault(getattr(parameter, "group", OTHERS), []).append(record)
        for title in filter(groups.__contains__, ORDER):
            with formatter.section(title):
                formatter.write_dl(groups[title], col_max=28)
        write_examples(formatter, self.examples)
