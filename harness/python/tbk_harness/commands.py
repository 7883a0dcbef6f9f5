# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The commands of tbk, each imported when it is asked for."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator, Mapping
from typing import Any

import click

from tbk_harness import __version__
from tbk_harness.command_line import write_examples
from tbk_harness.near import nearest

# By module. In each, NAME_command is the command NAME.
MODULES: Mapping[str, tuple[str, ...]] = {
    "commands_run": ("run",),
    "commands_check": ("check", "probe"),
    "commands_spec": ("list", "profiles", "show"),
    "commands_files": ("report", "diff", "lint-reports"),
    "commands_statement": ("certify", "verify", "badge"),
    "commands_history": ("history",),
    "commands_replay": ("replay",),
    "commands_build": ("new", "kill-matrix"),
    "commands_init": ("init",),
    "commands_callback": ("callback",),
    "commands_litmus": ("litmus",),
    "commands_trace": ("trace",),
    "commands_operators": ("operators",),
}
BRIEF = 100  # letters that a command's first sentence has at the most
GROUPS: Mapping[str, tuple[str, ...]] = {
    "Judge a backend": ("run", "check", "operators", "litmus", "replay"),
    "Read results": ("report", "diff", "history"),
    "Show it to others": ("certify", "verify", "badge", "callback"),
    "Look things up": ("list", "profiles", "show"),
    "Begin, and keep": ("new", "init", "probe", "trace", "kill-matrix"),
}
EXAMPLES = """\
tbk run ./libacme.so                    a library, in C and through PyTorch
tbk check cuda --budget 2m              any device that PyTorch knows
tbk show EVT-019                        what a clause says, and what tests it
tbk report shard-*.jsonl                one report of several shards"""


@contextlib.contextmanager
def _no_findings_in_a_pipe() -> Iterator[None]:
    """Where nobody reads our output any more, or another pipe is broken, click would end with 1,
    which says that there are findings."""
    try:
        yield
    except BrokenPipeError as error:
        from tbk_harness import outcome  # noqa: PLC0415  # after the first word

        outcome.pipe_broke(error)


class Commands(click.Group):
    """Imports a command's module where the command is asked for, and groups them in the help."""

    def make_context(self, *arguments: Any, **more: Any) -> click.Context:
        """Reads the group's own options, of which --help and --version print."""
        with _no_findings_in_a_pipe():
            return super().make_context(*arguments, **more)

    def invoke(self, ctx: click.Context) -> Any:
        """Runs the command."""
        with _no_findings_in_a_pipe():
            return super().invoke(ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:  # as click calls it
        """Returns all names."""
        return sorted(name for names in MODULES.values() for name in names)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Returns the command; None where there is none of that name."""
        for module, names in MODULES.items():
            if cmd_name in names:
                found = importlib.import_module(f"tbk_harness.{module}")
                attribute = f"{cmd_name.removesuffix('-matrix').removesuffix('-reports')}_command"
                command: click.Command = getattr(found, attribute)
                return command
        return super().get_command(ctx, cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Names the nearest command where there is none of that name."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError:
            meant = nearest(args[0], self.list_commands(ctx))
            more = f"; did you mean {' or '.join(meant)}?" if meant else "; tbk --help lists them"
            ctx.fail(f"there is no command {args[0]!r}{more}")

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes them by what they are for."""
        for title, names in GROUPS.items():
            rows = [(name, self._brief(ctx, name)) for name in names]
            with formatter.section(title):
                formatter.write_dl(rows)
        write_examples(formatter, EXAMPLES)

    def _brief(self, ctx: click.Context, name: str) -> str:
        command = self.get_command(ctx, name)
        return command.get_short_help_str(limit=BRIEF) if command is not None else ""


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="tbk")
def tbk() -> None:
    """Judge PyTorch accelerator backends by their contract."""
