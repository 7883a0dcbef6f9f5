# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Files of tests of which none is selected are not imported, and no other is left out."""

from __future__ import annotations

from pathlib import Path

import pytest
from tbk_harness.torch_worker.request import Request

NAMES = ("test_view.py", "test_copy.py", "act_seed.py", "conftest.py", "case.py")


@pytest.mark.parametrize(
    ("only", "left_out"),
    [
        (["torch_view"], {"test_copy.py", "act_seed.py"}),
        (["torch_view/a_view[expand]", "torch_act_seed/"], {"test_copy.py"}),
        ([], set()),
        (["CPY-501"], {"test_view.py", "act_seed.py"}),  # what one file cites
        (["torch_view", "CPY-50"], {"act_seed.py"}),
        (["copy"], {"test_view.py", "act_seed.py"}),
        (["profile:torch"], {"test_view.py", "act_seed.py"}),
        (["torch_view", "MEM-502"], set()),  # which no file cites
        (["torch_view", "memory"], set()),
        (["torch_viwe/a_view"], set()),  # the supervisor tells that there is no such test
    ],
)
def test_what_is_not_selected_is_not_imported(
    tmp_path: Path, only: list[str], left_out: set[str]
) -> None:
    for name in NAMES:
        (tmp_path / name).write_text('("CPY-501")' if "copy" in name else "")
    request = Request("cpu", [], None, [], None, -1, None, 1.0, 1, only=only)
    assert {path.name for path in request.left_out(tmp_path)} == left_out
