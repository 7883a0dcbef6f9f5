# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What a user names as a file and is none is refused at once, with the reason."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tbk_reports.given import MOST_BYTES, read_given
from tbk_reports.model import read_results


def test_a_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"\0\n")
    assert read_given(path) == b"\0\n"


def test_a_pipe_without_a_writer_is_not_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(OSError, match="Not a regular file"):
        read_results(path)


def test_a_device_without_an_end_is_not_read() -> None:
    with pytest.raises(OSError, match="Not a regular file"):
        read_results(Path("/dev/zero"))


def test_a_folder_is_named_as_one(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        read_given(tmp_path)


def test_a_file_beyond_all_reason_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.touch()
    os.truncate(path, MOST_BYTES + 1)
    with pytest.raises(OSError, match="too large"):
        read_given(path)
