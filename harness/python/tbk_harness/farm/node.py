# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What runs on a node: a part of the tests, some litmus programs, a mutant. Imports no Ray.

Each returns `code`, `said`, `files` (name: bytes), and what else its caller asked for, as values
that JSON has. A part's records leave the node when all of them are there, or not at all.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tbk_reports.model import EXIT_SUITE_ERROR

from tbk_harness import locate

LIBRARY, TIMINGS, PYTHON = "@library@", "@timings@", "@python@"
GATE, BRIDGE = "@gate@", "@bridge@"
RESULTS = "results.jsonl"

Job = Mapping[str, Any]
Blobs = Mapping[str, bytes]
Reply = dict[str, Any]


def digest_of(data: bytes) -> str:
    """Returns the SHA-256 of a file's bytes."""
    return hashlib.sha256(data).hexdigest()


def _own_folder() -> Path:
    """Returns a folder of this user alone. Raises OSError where somebody else has it."""
    folder = Path(tempfile.gettempdir()) / f"tbk-farm-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    about = folder.lstat()
    if about.st_uid != os.getuid() or folder.is_symlink():
        raise PermissionError(f"{folder} belongs to somebody else")
    return folder


def library_file(path: str, data: bytes) -> Path:
    """Returns the library: the node's own file where it is the same, else a copy of what came."""
    here, digest = Path(path), digest_of(data)
    if _is(here, digest):
        return here
    copy = _own_folder() / digest[:32] / here.name
    if not _is(copy, digest):
        copy.parent.mkdir(exist_ok=True)
        waiting = copy.with_name(f"{copy.name}.{os.getpid()}")
        waiting.write_bytes(data)
        waiting.chmod(0o700)
        waiting.replace(copy)
    return copy


def _is(path: Path, digest: str) -> bool:
    try:
        return path.is_absolute() and path.is_file() and digest_of(path.read_bytes()) == digest
    except OSError:
        return False


def _words(job: Job, blobs: Blobs, folder: Path) -> tuple[list[str], str]:
    """Returns the arguments with the node's own paths in them, and the library's, or nothing."""
    library = str(library_file(job["library"], blobs["library"])) if "library" in blobs else ""
    places = {LIBRARY: library, PYTHON: sys.executable, BRIDGE: str(locate.bridge())}
    if "gate" in blobs:
        places[GATE] = str(library_file(job["gate"], blobs["gate"]))
    if "timings" in blobs:
        timings = folder / "timings.jsonl"
        timings.write_bytes(blobs["timings"])
        places[TIMINGS] = str(timings)
    found = []
    for word in job["arguments"]:
        for name, value in places.items():
            word = word.replace(name, value)  # noqa: PLW2901
        found.append(word)
    return found, library


def _files(folder: Path, *names: str) -> dict[str, bytes]:
    paths = [folder / name for name in names]
    return {path.name: path.read_bytes() for path in paths if path.exists()}


def tests(job: Job, blobs: Blobs, folder: Path) -> Reply:
    """Runs a shard of a layer's tests."""
    from tbk_harness import runner  # noqa: PLC0415

    words, library = _words(job, blobs, folder)
    ended = runner.run(words, folder / RESULTS, tethered=True)
    said = ended.said.replace(library, str(job["library"]))
    return {
        "code": ended.exit_code, "said": said, "library": library,
        "files": _files(folder, RESULTS),
    }  # fmt: skip


def litmus(job: Job, blobs: Blobs, folder: Path) -> Reply:
    """Runs litmus programs; by PyTorch's calls where the job names another reproducer than C's."""
    from tbk_harness import litmus_runner  # noqa: PLC0415

    program = litmus_runner.runner()
    if program is None:
        return {"code": EXIT_SUITE_ERROR, "said": litmus_runner.MISSING, "files": {}}
    words, library = _words(job, blobs, folder)
    reproducer = job.get("reproducer", litmus_runner.REPRODUCER)
    if reproducer == litmus_runner.REPRODUCER:
        hunted = litmus_runner.hunt(program, library, words, folder, tethered=True)
    else:
        hunted = litmus_runner.hunt_torch(program, words, folder, tethered=True)
    files = _files(folder, litmus_runner.RESULTS, reproducer)
    return {
        "code": hunted.code, "said": hunted.said, "printed": hunted.printed, "files": files,
        "library": library,
    }  # fmt: skip


def mutant(job: Job, blobs: Blobs, _: Path) -> Reply:
    """Runs the tests that shall notice a mutant, and the thorough ones where those do not."""
    from tbk_harness import kill  # noqa: PLC0415
    from tbk_harness.farm import mutants  # noqa: PLC0415

    library = library_file(job["library"], blobs["library"])
    row = kill.judge_task(library, mutants.task_from(job["task"]))
    return {"code": 0, "said": "", "files": {}, "row": mutants.told(row)}


CALLS: Mapping[str, Callable[[Job, Blobs, Path], Reply]] = {
    "tests": tests, "litmus": litmus, "mutant": mutant,
}  # fmt: skip


def work(job: Job, blobs: Blobs) -> Reply:
    """Does one job; what goes wrong with it is part of the answer."""
    try:
        with tempfile.TemporaryDirectory(prefix="tbk-farm-") as folder:
            return CALLS[job["call"]](job, blobs, Path(folder))
    except Exception as error:  # a node may lack anything  # noqa: BLE001, RUF100
        said = "".join(traceback.format_exception_only(error)).strip()
        return {"code": EXIT_SUITE_ERROR, "said": said, "files": {}}
