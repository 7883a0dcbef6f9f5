# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Commands that pages show: `tbk` knows each command and option of them, and runs none."""

from __future__ import annotations

import shlex
from pathlib import Path

import click
import pytest
from page_reader import PAGES, lines_of_shell, listings
from tbk_harness.commands import tbk

STOPS = {"|", ">", "&&", "||", ";", "&"}


def commands(page: Path) -> list[list[str]]:
    """Returns the words of each line of shell that calls `tbk`."""
    found = []
    for listing in listings(page):
        if listing.language == "sh":
            for line in lines_of_shell(listing):
                words = shlex.split(line, comments=True)
                end = next((at for at, one in enumerate(words) if one in STOPS), len(words))
                if words and words[0].rpartition("/")[2] == "tbk":
                    found.append(words[1:end])
    return found


def parse(words: list[str]) -> None:
    """Reads a command line as click does, and runs nothing. Raises click.UsageError."""
    with click.Context(tbk, info_name="tbk") as context:
        command = tbk.get_command(context, words[0])
        if command is None:
            raise click.UsageError(f"no command {words[0]}")
        settings = command.context_settings
        with click.Context(command, info_name=words[0], parent=context, **settings) as inner:
            command.make_parser(inner).parse_args(list(words[1:]))


def test_tbk_knows_each_command_that_a_page_shows() -> None:
    shown = [(page.name, words) for page in PAGES for words in commands(page)]
    assert len(shown) > 30
    for name, words in shown:
        try:
            parse(words)
        except click.UsageError as error:
            pytest.fail(f"{name}: tbk {' '.join(words)}: {error.format_message()}")


@pytest.mark.parametrize("words", [["nosuch"], ["run", "--nosuch", "x"], ["run", "--only"]])
def test_one_that_it_does_not_know_is_told(words: list[str]) -> None:
    with pytest.raises(click.UsageError):
        parse(words)
