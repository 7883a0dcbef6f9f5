# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""A page as Chromium shows it: a script measures it there, and what it says comes back."""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

CHROMIUM = os.environ.get("TBK_CHROMIUM") or next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
LIMIT_S = 90
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
         "--force-prefers-reduced-motion", "--disable-dev-shm-usage")  # fmt: skip
MEASURED = re.compile(r'<pre id="measured">(.*?)</pre>', re.DOTALL)


def axe() -> Path | None:
    """Returns the file of axe-core, from the package that brings it; None where there is none."""
    folders = [os.environ.get("TBK_AXE", ""), sysconfig.get_paths()["purelib"]]
    found = (Path(one) / "axe_playwright_python" / "axe.min.js" for one in folders if one)
    return next((path for path in found if path.is_file()), None)


def _chromium(*arguments: str) -> str:
    """Runs Chromium; returns what it prints."""
    assert CHROMIUM
    ended = subprocess.run(
        [CHROMIUM, *FLAGS, *arguments], capture_output=True, text=True, timeout=LIMIT_S, check=True
    )
    return ended.stdout


def _open(source: str) -> str:
    """Returns the page without its policy, which would keep the measuring script out."""
    return re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", source, count=1)


def measure(
    folder: Path, source: str, script: str, *, address: str = "", width: int = 1200,
    height: int = 900, dark: bool = False, library: str = "",
) -> Any:  # fmt: skip
    """Opens a page at `address`, an anchor with its "#"; returns the JSON value that `script`, the
    body of an asynchronous function, returns. The page stands in a frame of that size, since a
    window can't be narrow. Raises AssertionError where it does not answer."""
    tail = (
        f"<script>{library}</script><script>addEventListener('load', async function () {{"
        f"const said = await (async function () {{{script}}})();"
        "parent.postMessage(JSON.stringify(said), '*'); });</script></body>"
    )
    page = folder / "page.html"
    page.write_text(_open(source).replace("</body>", tail), "utf-8")
    frame = folder / "frame.html"
    frame.write_text(
        "<!doctype html><body><script>addEventListener('message', function (told) {"
        "const said = document.createElement('pre'); said.id = 'measured';"
        "said.textContent = told.data; document.body.appendChild(said); });</script>"
        f'<iframe width="{width}" height="{height}" src="page.html{html.escape(address)}">',
        "utf-8",
    )
    scheme = ["--force-dark-mode"] if dark else []
    dumped = _chromium(*scheme, "--virtual-time-budget=30000", "--dump-dom", frame.as_uri())
    found = MEASURED.search(dumped)
    assert found, "the page did not answer"
    return json.loads(html.unescape(found[1]))


def load_ms(folder: Path, source: str) -> float:
    """Returns how long a page takes from the start of its loading to its end, its script included,
    by the browser's own clock."""
    tail = (
        "<script>addEventListener('load', function () {"
        "const said = document.createElement('pre'); said.id = 'measured';"
        "said.textContent = performance.now(); document.body.appendChild(said); });"
        "</script></body>"
    )
    page = folder / "timed.html"
    page.write_text(_open(source).replace("</body>", tail), "utf-8")
    found = MEASURED.search(_chromium("--dump-dom", page.as_uri()))
    assert found, "the page did not answer"
    return float(found[1])


def printed_pages(folder: Path, source: str) -> int:
    """Returns how many sheets of paper a page takes."""
    page, paper = folder / "print.html", folder / "print.pdf"
    page.write_text(source, "utf-8")
    _chromium(f"--print-to-pdf={paper}", page.as_uri())
    return len(re.findall(rb"/Type\s*/Page\b", paper.read_bytes()))
