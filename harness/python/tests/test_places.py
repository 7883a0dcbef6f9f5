# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What a tired person types: names that are swapped, empty, of a folder or of a pipe."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click
import pytest
import synthetic
from invoke import starter
from tbk_harness import archive, baseline, capabilities, outcome, places
from tbk_harness.judge import Known
from tbk_harness.options import FOLDER, INPUT, PATH, RUN
from tbk_reports.model import read_record
from tbk_reports.render import write_file
from tbk_reports.words import seen_words

OTHERS = (
    b'{"record":"header"}\n',
    b"#include <tbk/tbk.h>\n",
    b'device = "acme"\nprint(device)\n',
    b'[project]\nname = "acme"\n',
    b"\x7fELF\2\1\1",
    b"PK\3\4 a wheel",
    b"<!DOCTYPE html><title>mine</title>",
    b"# a file of comments alone\n",
    b'device = "acme"\nwritten = 2026-01-01\n[other]\n',
    b"\n",
)


@pytest.mark.parametrize("data", OTHERS)
@pytest.mark.parametrize(
    "kind",
    [places.ARCHIVE, places.PAGE, places.CAUSES, places.CAPABILITIES, places.HEADER, places.TRACE],
)
def test_what_is_of_another_kind_is_not_replaced(
    tmp_path: Path, kind: places.Kind, data: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "mine"
    path.write_bytes(data)
    with pytest.raises(SystemExit) as ended:
        places.free(path, kind)
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert said == f"tbk: {path} is there, and is no {kind.name}: it is not replaced\n"


def test_an_earlier_one_is_replaced(tmp_path: Path) -> None:
    path = synthetic.write(tmp_path / "r.jsonl", [synthetic.case(0, "fail")], synthetic.header(1))
    (tmp_path / "a.zip").write_bytes(archive.pack([("statement.json", b"{}")]))
    assert starter(tmp_path)("history", str(path), "-o", "h.html").returncode == 0
    outcome.write_baseline(outcome.verdict_on(outcome.read(path), Known()), tmp_path / "b.toml")
    header = synthetic.header(0, layer="torch", torch={"device": "acme"})
    words = capabilities.document(header, {}, {}, outcome.today())
    (tmp_path / "c.toml").write_text(words)
    (tmp_path / "empty").touch()
    places.free(tmp_path / "a.zip", places.ARCHIVE)
    places.free(tmp_path / "h.html", places.PAGE)
    places.free(tmp_path / "b.toml", places.CAUSES)
    places.free(tmp_path / "c.toml", places.CAPABILITIES)
    places.free(tmp_path / "empty", places.ARCHIVE)
    places.free(tmp_path / "none", places.ARCHIVE)
    (tmp_path / "d.toml").write_text('[[cause]]\ncause = "x"\nkind = "fail"\n')  # by hand
    places.free(tmp_path / "d.toml", places.CAUSES)
    assert baseline.load(tmp_path / "b.toml")


@pytest.mark.parametrize("swapped", [("b.toml", places.CAPABILITIES), ("c.toml", places.CAUSES)])
def test_two_kinds_of_one_format_are_told_apart(
    tmp_path: Path, swapped: tuple[str, places.Kind]
) -> None:
    (tmp_path / "b.toml").write_text('written = 2026-01-01\ndevice = "acme"\n')
    (tmp_path / "c.toml").write_text('written = 2026-01-01\ndevice = "acme"\n[capabilities]\n')
    with pytest.raises(SystemExit):
        places.free(tmp_path / swapped[0], swapped[1])


def test_a_pipe_is_written_to_and_a_link_stays_one(tmp_path: Path) -> None:
    pipe, link, file = tmp_path / "pipe", tmp_path / "link", tmp_path / "file"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_file(pipe, "said")
    assert os.read(reader, 10) == b"said"
    os.close(reader)
    file.write_text("before")
    link.symlink_to(file)
    write_file(link, b"after")
    assert (link.is_symlink(), file.read_text(), pipe.is_fifo()) == (True, "after", True)
    write_file(Path(os.devnull), "nothing")
    assert Path(os.devnull).is_char_device()


@pytest.mark.parametrize("kind", [PATH, FOLDER, INPUT, RUN])
def test_an_empty_name_is_not_the_working_folder(kind: click.Path) -> None:
    with pytest.raises(click.BadParameter, match="an empty name"):
        kind.convert("", None, None)


def test_a_folder_stands_for_the_results_in_it(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    assert RUN.convert(str(tmp_path), None, None) == path
    assert RUN.convert(str(path), None, None) == path


def test_a_pipe_is_called_by_the_name_that_was_typed(tmp_path: Path) -> None:
    path = synthetic.write(tmp_path / "r.jsonl", [synthetic.case(0)], synthetic.header(1))
    reader, writer = os.pipe()
    os.write(writer, path.read_bytes())
    os.close(writer)
    done = subprocess.run(
        [sys.executable, "-m", "tbk_harness", "verify", f"/dev/fd/{reader}"],
        pass_fds=[reader], capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    os.close(reader)
    assert done.stdout == f"/dev/fd/{reader}: sound\n", done.stderr


def test_a_file_that_is_not_there_has_no_tests(tmp_path: Path) -> None:
    done = starter(tmp_path)("list", "memory")
    assert (done.returncode, done.stdout) == (4, "")
    assert "memory: no such file" in done.stderr


@pytest.mark.parametrize(
    ("output", "said"),
    [
        ("assertions are off\nfree(): invalid pointer\n", "; it said: free(): invalid pointer"),
        ("SUMMARY: AddressSanitizer: heap-use-after-free\n==7==ABORTING\n",
         "; it said: SUMMARY: AddressSanitizer: heap-use-after-free"),
        ("\n", ""),
    ],
)  # fmt: skip
def test_the_last_words_of_a_process_are_told(output: str, said: str) -> None:
    crash = synthetic.case(0, "crash", seen="killed by SIGABRT", signal=6, output=output)
    assert seen_words(read_record(crash)) == f"killed by SIGABRT{said}"
    assert seen_words(read_record({**crash, "layer": "torch"})) == "killed by SIGABRT"
    assert seen_words(read_record({**crash, "signal": 9})) == "killed by SIGABRT"
