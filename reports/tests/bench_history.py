# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What a history of a year costs: 365 runs of 7,000 tests, read and drawn, as a ratio to the digest
of the same bytes. `ci/bench history [FOLDER]`; the files stay in FOLDER, where one is named."""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
import time
from pathlib import Path

import history_files
from tbk_reports.history import History
from tbk_reports.history_file import summarize
from tbk_reports.history_page import render_history
from tbk_reports.history_read import collect, result_files

DAYS, TESTS = 365, 7_000
LIMIT_BYTES = 3_000_000


def _digest(paths: list[Path]) -> tuple[int, float]:
    begun, size = time.process_time(), 0
    for path in paths:
        data = path.read_bytes()
        hashlib.sha256(data).hexdigest()
        size += len(data)
    return size, time.process_time() - begun


def main(folder: Path) -> None:
    if not any(folder.rglob("*.jsonl")):
        history_files.year(folder, DAYS, TESTS)
    paths = result_files([folder])
    size, bare = _digest(paths)
    begun = time.process_time()
    for path in paths[:40]:
        summarize(path)
    one_core = (time.process_time() - begun) * len(paths) / len(paths[:40])
    begun = time.monotonic()
    found = History(collect(paths))
    read = time.monotonic() - begun
    begun = time.process_time()
    page = render_history(found, folder, {}).encode()
    drawn = time.process_time() - begun
    print(f"{len(paths)} files, {size / 1e9:.2f} GB; {os.cpu_count()} cores, load "
          f"{os.getloadavg()[0]:.1f}")  # fmt: skip
    print(f"  digest alone        {bare:6.1f} s of processor time")
    print(
        f"  summaries           {one_core:6.1f} s of processor time, {one_core / bare:.1f} times it"
    )
    print(f"  read by all cores   {read:6.1f} s by the clock, with causes and series")
    print(f"  page                {drawn:6.1f} s of processor time, {len(page) / 1e6:.2f} MB")
    if len(page) > LIMIT_BYTES:
        sys.exit(f"the page is larger than {LIMIT_BYTES} bytes")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory(prefix="tbk-history-") as made:
            main(Path(made))
