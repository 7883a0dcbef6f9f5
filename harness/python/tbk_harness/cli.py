# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The command tbk."""

from __future__ import annotations

import os
import sys

import click
from tbk_reports.model import EXIT_INTERRUPTED, EXIT_NOT_WRITTEN

from tbk_harness import STARTED, __version__, outcome, pace
from tbk_harness.commands_build import kill_command, new_command
from tbk_harness.commands_check import check_command, probe_command
from tbk_harness.commands_files import diff_command, lint_command, report_command, verify_command
from tbk_harness.commands_litmus import litmus_command
from tbk_harness.commands_replay import replay_command
from tbk_harness.commands_run import run_command
from tbk_harness.commands_spec import list_command, show_command


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="tbk")
def tbk() -> None:
    """Judge PyTorch accelerator backends by their contract.

    Start with: tbk run ./libacme.so, or tbk check --device NAME
    """


for _command in (
    run_command, check_command, probe_command, list_command, show_command, report_command,
    diff_command, replay_command, new_command, verify_command, lint_command, kill_command,
    litmus_command,
):  # fmt: skip
    tbk.add_command(_command)


def main() -> None:
    """Every way out has a documented exit code, and none a traceback for what a user can mend."""
    pace.begin(STARTED)
    try:
        tbk.main(standalone_mode=False)
    except click.exceptions.Exit as error:
        raise SystemExit(error.exit_code) from None
    except (click.Abort, KeyboardInterrupt):
        outcome.stop(EXIT_INTERRUPTED, "interrupted")
    except click.ClickException as error:
        error.show()
        raise SystemExit(error.exit_code) from None
    except BrokenPipeError:
        # The reader of our output went away; what is written to files is whole.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(EXIT_NOT_WRITTEN) from None
    except OSError as error:
        outcome.stop(EXIT_NOT_WRITTEN, outcome.reason(error))


if __name__ == "__main__":
    main()
