# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""tbk callback: what PyTorch's CI is told of a run."""

from __future__ import annotations

import json
import os
from pathlib import Path

import click
from rich.text import Text
from tbk_reports.callback import callback
from tbk_reports.document import judged_from_document
from tbk_reports.given import read_given
from tbk_reports.model import EXIT_NOT_WRITTEN, EXIT_PASS, EXIT_USAGE
from tbk_reports.registry import FILES
from tbk_reports.render import write_file

from tbk_harness import outcome
from tbk_harness.command_line import Command
from tbk_harness.options import PATH

FILE = "callback.json"


@click.command(
    name="callback",
    cls=Command,
    examples="tbk callback tbk-report/quick    after a run; in GitHub outputs of its step",
)
@click.argument("folder", type=PATH, default="tbk-report")
def callback_command(folder: Path) -> None:
    """Write callback.json: what PyTorch's CI takes of the run in FOLDER (RFC-0050, RFC-0054).

    In a job of GitHub its members are outputs of the step, too: conclusion, test-results,
    failed-tests-detail and triage-verdict.
    """
    path = folder / FILES["json"]
    try:
        document = json.loads(read_given(path))
    except OSError as error:
        outcome.stop(EXIT_USAGE, f"cannot read {outcome.reason(error)}")
    except ValueError:
        document = None
    if not isinstance(document, dict) or document.get("kind") != "tbk-judged":
        outcome.stop(EXIT_USAGE, f"{path} is no judged run")
    found = callback(judged_from_document(document))
    try:
        write_file(folder / FILE, json.dumps(found) + "\n")
        if outputs := os.environ.get("GITHUB_OUTPUT"):
            with Path(outputs).open("a", encoding="utf-8") as file:
                for name, value in found.items():
                    said = value if isinstance(value, str) else json.dumps(value)
                    file.write(f"{name}={said}\n")
    except OSError as error:
        outcome.stop(EXIT_NOT_WRITTEN, outcome.reason(error))
    outcome.console().print(Text(f"{found['conclusion']}: {folder / FILE}"))
    raise SystemExit(EXIT_PASS)
