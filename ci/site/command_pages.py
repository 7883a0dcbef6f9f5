# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The commands of tbk as pages, each made from the help that the command itself prints."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click
from c_pages import escape
from tbk_harness.command_line import ORDER, OTHERS
from tbk_harness.commands import GROUPS, tbk

FOLDER = "commands"
INDEX = "command-line.md"


def _code(text: str) -> str:
    return f"`{text}`"  # Markdown of Python keeps a | in code from ending a cell


def _cell(text: str) -> str:
    """Options and words in capitals of a help text stand as code."""
    said = re.sub(r"(?<![\w`-])(--?[a-z][\w-]*)", r"`\1`", escape(text))
    return said.replace("\n", " ")


def options(command: click.Command, context: click.Context) -> dict[str, list[tuple[str, str]]]:
    """Returns what the help lists, by heading."""
    groups: dict[str, list[tuple[str, str]]] = {}
    for one in command.get_params(context):
        record = one.get_help_record(context)
        if record is not None and isinstance(one, click.Option):
            groups.setdefault(getattr(one, "group", OTHERS), []).append(record)
    return {title: groups[title] for title in ORDER if title in groups}


def sections(name: str, command: click.Command) -> Iterator[str]:
    """Yields the page of a command."""
    parent = click.Context(tbk, info_name="tbk")
    with click.Context(command, info_name=name, parent=parent) as context:
        usage = " ".join(command.get_usage(context).removeprefix("Usage: ").split())
        yield f"# tbk {name}\n\n```text\n{usage}\n```\n\n"
        for paragraph in (command.help or "").split("\n\n"):
            yield f"{_cell(' '.join(paragraph.replace(chr(8), '').split()))}\n\n"
        for title, records in options(command, context).items():
            yield f"## {title}\n\n| option | what it does |\n|---|---|\n"
            yield "".join(f"| {_code(left)} | {_cell(right)} |\n" for left, right in records) + "\n"
    examples = getattr(command, "examples", "")
    if examples:
        yield f"## Examples\n\n```sh\n{examples}\n```\n\n"
    yield f"How it ends: [exit codes](../exit-codes.md). [Of all commands](../{INDEX}).\n"


def names() -> list[str]:
    """Returns the commands in the order of the help; those in no group stand last."""
    grouped = [name for members in GROUPS.values() for name in members]
    with click.Context(tbk) as context:
        known = tbk.list_commands(context)
    return [*grouped, *(name for name in known if name not in grouped)]


def pages() -> dict[str, str]:
    """Returns all pages by their paths below docs/."""
    made = {}
    with click.Context(tbk) as context:
        for name in names():
            command = tbk.get_command(context, name)
            if command is None:
                raise LookupError(f"no command {name}")
            made[f"{FOLDER}/{name}.md"] = "".join(sections(name, command))
    return made
