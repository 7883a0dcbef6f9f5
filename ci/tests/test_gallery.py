# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""ci/gallery: the page says what the folders have, and what cannot be run is told."""

from __future__ import annotations

import sys
from pathlib import Path

import gallery
import pytest

BEGIN, END = "<!-- generated: begin -->\n", "<!-- generated: end -->\n"


def test_the_page_is_that_of_the_folders() -> None:
    rows = {device.name: gallery.stored(device.name) for device in gallery.devices()}
    page = gallery.PAGE.read_text("utf-8")
    assert page.split(BEGIN)[1].split(END)[0] == gallery.table(rows).strip() + "\n"


def test_each_folder_is_of_a_device_and_has_what_its_row_links() -> None:
    names = {device.name for device in gallery.devices()}
    assert {path.name for path in gallery.FOLDER.iterdir()} <= names
    for name in names:
        if "verdict" in gallery.stored(name):
            assert (gallery.FOLDER / name / "index.html").is_file()
            assert (gallery.FOLDER / name / "results.jsonl.gz").is_file()


def test_every_cause_that_is_named_was_confirmed() -> None:
    told = [
        one
        for device in gallery.devices()
        for one in gallery.stored(device.name).get("confirmed", [])
    ]
    assert told
    assert all(one["confirmed"] for one in told)


def test_what_is_no_device_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        gallery.main(["nobody"])
    assert ended.value.code == 2
    assert "no device nobody; there are: torch_opencl" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("program", "says", "confirmed"),
    [
        ("print(6 * 7)", "42", True),
        ("print(6 * 9)", "42", False),
        ("raise KeyError(1)", "KeyError: 1", True),
        ("import os; os.abort()", "killed by 6", True),
    ],
)
def test_a_cause_is_confirmed_by_what_a_program_says(
    tmp_path: Path, program: str, says: str, confirmed: bool
) -> None:
    one = gallery.Confirmation("it is wrong", program, says)
    device = gallery.Device("acme", "Acme", ["check"], confirm=[one])
    (told,) = gallery.confirmed(device, Path(sys.executable), tmp_path)
    assert told["confirmed"] is confirmed


def test_a_device_that_nobody_built_is_not_run(tmp_path: Path) -> None:
    device = gallery.Device("acme", "Acme", ["check"], source="its checkout")
    why = gallery.environment(device, tmp_path, {})
    assert why == "no --python acme=PATH was given; it is built from its checkout"
