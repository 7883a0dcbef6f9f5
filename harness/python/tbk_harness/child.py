# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Tells how a process of a command's own ended that did not do what it is for."""

from __future__ import annotations

from tbk_reports.model import EXIT_FINDINGS, EXIT_NOT_WRITTEN, EXIT_SUITE_ERROR
from tbk_reports.text import line

MOST = 400  # letters of what it said


def exit_code(status: int, otherwise: int = EXIT_SUITE_ERROR) -> int:
    """Returns the exit code of a command whose process ended with `status`, where that says why;
    `otherwise` where it says nothing: 1 is that of a program with a mistake, as well as findings.
    """
    return status if EXIT_FINDINGS < status <= EXIT_NOT_WRITTEN else otherwise


def ending(status: int) -> str:
    """Returns how it ended, in words."""
    return f"signal {-status}" if status < 0 else f"it ended with status {status}"


def last_words(said: str | bytes | None) -> str:
    """Returns the last line that it said, such as the error below a traceback; empty where it said
    nothing."""
    text = said.decode("utf-8", "replace") if isinstance(said, bytes) else said or ""
    lines = [one for one in text.splitlines() if one.strip()]
    return line(lines[-1].strip(), MOST) if lines else ""


def reason(status: int, said: str | bytes | None) -> str:
    """Returns why it failed: its last words, else how it ended."""
    return last_words(said) or ending(status)
