# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What a user names as a file and is none is refused at once, with the reason."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tbk_reports import given
from tbk_reports.given import MOST_BYTES, read_given
from tbk_reports.model import read_results


def test_a_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"\0\n")
    assert read_given(path) == b"\0\n"


def test_a_pipe_without_a_writer_is_not_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(OSError, match="nothing was written"):
        read_results(path)


@pytest.fixture
def pipe() -> Iterator[tuple[Path, int]]:
    """As a shell hands over <(...): a name of its read end, and the write end."""
    read, write = os.pipe()
    yield Path(f"/dev/fd/{read}"), write
    for descriptor in (read, write):
        with contextlib.suppress(OSError):
            os.close(descriptor)


def test_a_pipe_of_the_shell_is_read_to_its_end(pipe: tuple[Path, int]) -> None:
    path, write = pipe
    much = b"0123456789abcdef" * (1 << 14)  # more than the kernel keeps of a pipe

    def says_all() -> None:
        os.write(write, much)
        os.close(write)

    writer = threading.Thread(target=says_all)
    writer.start()
    assert read_given(path) == much
    writer.join()


def test_a_writer_that_sleeps_is_not_waited_for_without_end(
    pipe: tuple[Path, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(given, "SILENCE_S", 0.05)
    os.write(pipe[1], b"half of it")
    with pytest.raises(OSError, match=r"silent for 0\.05 s"):
        read_given(pipe[0])


def test_a_writer_without_an_end_does_not_fill_the_memory(
    pipe: tuple[Path, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(given, "MOST_PIPED", 10)
    os.write(pipe[1], b"eleven bytes")
    with pytest.raises(OSError, match="too large"):
        read_given(pipe[0])


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
