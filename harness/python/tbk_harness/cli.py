# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The command tbk."""

from __future__ import annotations

import errno
import io
import os
import signal
import sys
import traceback

from tbk_harness import STARTED, __version__, first_word, pace

_STANDARD_FILES = (("stdin", "r"), ("stdout", "w"), ("stderr", "w"))  # by descriptor
_NO_NAMES = (errno.ENAMETOOLONG, errno.ELOOP)  # nothing can lie there: whoever typed it is told
TRACEBACK = "TBK_TRACEBACK"  # in the environment: show it, where tbk itself makes a mistake


def main() -> None:
    """Every way out has a documented exit code, and none a traceback for what a user can mend."""
    pace.begin(STARTED)
    _open_standard_files()
    if hasattr(signal, "SIGCHLD"):  # where it is ignored, each child seems to have ended with 0
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    first_word.say(sys.argv[1:], __version__)
    _run()


def _open_standard_files() -> None:
    """Who was started without one would print into the file that is opened next."""
    while (file := os.open(os.devnull, os.O_RDWR)) < len(_STANDARD_FILES):
        os.set_inheritable(file, True)
        name, mode = _STANDARD_FILES[file]
        setattr(sys, name, os.fdopen(file, mode, encoding="utf-8"))
    os.close(file)
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="surrogateescape")  # a file's name may be no UTF-8


def _run() -> None:
    # Now that something is on the screen.
    import click  # noqa: PLC0415
    from tbk_reports.model import (  # noqa: PLC0415
        EXIT_INTERRUPTED,
        EXIT_NOT_WRITTEN,
        EXIT_SUITE_ERROR,
        EXIT_USAGE,
    )

    from tbk_harness import outcome, progress  # noqa: PLC0415
    from tbk_harness.commands import tbk  # noqa: PLC0415

    try:
        tbk.main(prog_name="tbk", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.Exit as error:
        raise SystemExit(error.exit_code) from None
    except (click.Abort, KeyboardInterrupt):
        outcome.stop(EXIT_INTERRUPTED, "interrupted")
    except click.ClickException as error:
        progress.end()
        outcome.stop(error.exit_code, error.format_message())
    except OSError as error:
        given = error.errno in _NO_NAMES
        outcome.stop(EXIT_USAGE if given else EXIT_NOT_WRITTEN, outcome.reason(error))
    except Exception as error:  # a mistake of ours, of which no command knows
        _tell_mistake(error)
        raise SystemExit(EXIT_SUITE_ERROR) from None
    finally:
        progress.end()


def _tell_mistake(error: Exception) -> None:
    """Says in one line that tbk itself is at fault, below the traceback where that is asked for."""
    from tbk_reports.text import line  # noqa: PLC0415

    from tbk_harness import progress  # noqa: PLC0415

    progress.end()
    if os.environ.get(TRACEBACK):
        traceback.print_exception(error)
    told = line(f"{type(error).__name__}: {error}".removesuffix(": "), 300)
    more = "" if os.environ.get(TRACEBACK) else f"; {TRACEBACK}=1 shows where"
    print(f"tbk: this is a mistake of tbk itself: {told}{more}", file=sys.stderr)


if __name__ == "__main__":
    main()
