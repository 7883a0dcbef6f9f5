# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""tbk init: a vendor's CI, as files to commit."""

from __future__ import annotations

from pathlib import Path

import click
from rich.text import Text
from tbk_reports.model import EXIT_NOT_WRITTEN, EXIT_PASS, EXIT_USAGE

from tbk_harness import ci_files, outcome
from tbk_harness.command_line import WHAT, Choice, Command, option
from tbk_harness.options import device_kind

EXAMPLES = """\
tbk init github                                       the library that CMakeLists.txt here builds
tbk init gitlab --library out/libacme.so --shards 4   the whole at night, on four boards
tbk init jenkins --device acme --import torch_acme    a device that PyTorch knows
tbk init github --runner self-hosted,acme             on the machines with these labels"""


@click.command(name="init", cls=Command, examples=EXAMPLES)
@click.argument("system", type=Choice(list(ci_files.SYSTEMS)), metavar="NAME")
@option(
    WHAT, "--library", metavar="PATH",
    help="What tbk run judges (default: what CMakeLists.txt in this folder builds).",
)  # fmt: skip
@option(
    WHAT, "--device", metavar="NAME", callback=device_kind,
    help="What tbk check judges, as in torch.device(NAME), without an index.",
)  # fmt: skip
@option(
    WHAT, "--import", "imports", multiple=True, metavar="MODULE",
    help="With --device: the module that brings it.",
)  # fmt: skip
@option(
    WHAT, "--runner", metavar="LABEL", default="",
    help="Machines that have the device: a label, tag or queue of that system.",
)  # fmt: skip
@option(
    WHAT, "--shards", metavar="N", type=click.IntRange(1, ci_files.MOST_SHARDS), default=1,
    show_default=True, help="Boards that share the whole at night.",
)  # fmt: skip
@click.option("--force", is_flag=True, help="Overwrite what is there.")
def init_command(
    system: str,
    library: str | None,
    device: str | None,
    imports: tuple[str, ...],
    runner: str,
    shards: int,
    force: bool,
) -> None:
    """Write what a repository needs to be judged by the CI system NAME.

    NAME is github, gitlab, jenkins, buildkite, ctest or shell: each push gets a quick gate, each
    night the whole; red is what is new. pytorch-ci answers PyTorch's own CI. All call ci/tbk.sh,
    which does the same by hand.
    """
    root = Path.cwd()
    if library and device:
        outcome.stop(EXIT_USAGE, "--library and --device are two subjects; one is judged")
    found = library or ("" if device else ci_files.guessed_library(root))
    if not found and not device:
        outcome.stop(EXIT_USAGE, "what is to be judged? --library PATH, or --device NAME")
    wish = ci_files.Wish(found, device or "", imports, runner, shards)
    try:
        written = ci_files.write(system, wish, root, force)
    except ci_files.InitError as error:
        outcome.stop(EXIT_USAGE, str(error))
    except OSError as error:
        outcome.stop(EXIT_NOT_WRITTEN, outcome.reason(error))
    _tell(system, found or str(device), written)
    raise SystemExit(EXIT_PASS)


def _tell(system: str, subject: str, written: ci_files.Written) -> None:
    """Prints what was written, and three lines of what to do next."""
    out = outcome.console()
    for path in written.written:
        out.print(Text(f"{path} is written"))
    for path in written.kept:
        out.print(Text(f"{path} is there, and kept as it is"))
    out.print(Text(f"It judges {subject}. Next:\n"))
    files = " ".join((*written.written, *written.kept))
    for line in ci_files.SYSTEMS[system].next:
        out.print(Text(f"  {line.format(files=files)}"))
