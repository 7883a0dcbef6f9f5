# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""All result files below some folders as summaries: found, read side by side, each of them once."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from .history_file import NoResultsError, summarize
from .history_summary import Summary, Table

PARTS, RESULTS = "parts", "results.jsonl"  # of a report folder: what its result file is made of
FEW = 6  # files, for which further processes do not pay
CHUNK = 4  # files that a process takes at a time

Shown = Callable[[int, int], None]  # files read, and all


@dataclass
class Collected:
    """What was found."""

    summaries: list[Summary] = field(default_factory=list)  # of whole files
    torn: list[Summary] = field(default_factory=list)
    others: list[str] = field(default_factory=list)  # files of something else
    copies: int = 0  # files that were there before under another name
    tables: dict[str, Table] = field(default_factory=dict)

    @property
    def files(self) -> int:
        return len(self.summaries) + len(self.torn) + self.copies


def result_files(paths: Iterable[Path]) -> list[Path]:
    """Returns the files, and those below the folders that may hold results, in the order of their
    names. Raises OSError where a path is not there."""
    found: dict[Path, None] = {}
    for path in paths:
        if path.is_dir():
            found |= dict.fromkeys(one for one in sorted(path.rglob("*.jsonl")) if _own(one))
        else:
            path.stat()
            found[path] = None
    return list(found)


def _own(path: Path) -> bool:
    """Returns whether a file is no part of another one."""
    return path.parent.name != PARTS or not (path.parent.parent / RESULTS).exists()


def _read(paths: Sequence[Path]) -> list[tuple[Summary | str, Table | None]]:
    """Returns summaries, and each table but once; the name of a file of something else."""
    found: list[tuple[Summary | str, Table | None]] = []
    sent: set[str] = set()
    for path in paths:
        try:
            summary, table = summarize(path)
        except NoResultsError:
            found.append((str(path), None))
            continue
        except OSError as error:
            summary = Summary(str(path), problem=f"cannot be read: {error.strerror or error}")
            table = Table((), (), ())
        new = summary.table not in sent and not summary.problem
        sent.add(summary.table)
        found.append((summary, table if new else None))
    return found


def _processes() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _answers(paths: Sequence[Path]) -> Iterator[list[tuple[Summary | str, Table | None]]]:
    """Yields what chunks of the files say, in their order, read by as many processes as there are
    cores."""
    if len(paths) <= FEW or _processes() == 1:
        for path in paths:
            yield _read([path])
        return
    chunks = [paths[at : at + CHUNK] for at in range(0, len(paths), CHUNK)]
    # Not by a bare fork: the one who calls may have threads, such as one that shows how far it is.
    context = multiprocessing.get_context("forkserver")
    with ProcessPoolExecutor(_processes(), mp_context=context) as pool:
        yield from pool.map(_read, chunks)


def collect(paths: Sequence[Path], show: Shown = lambda _done, _all: None) -> Collected:
    """Reads result files. Of equal files the first counts; `show` is told how far it is."""
    found, known, done = Collected(), set[str](), 0
    for answers in _answers(paths):
        for told, table in answers:
            done += 1
            if isinstance(told, str):
                found.others.append(told)
            elif told.problem:
                found.torn.append(told)
            elif told.digest in known:
                found.copies += 1
            else:
                known.add(told.digest)
                found.summaries.append(told)
            if table is not None:
                found.tables.setdefault(table.key, table)
        show(done, len(paths))
    return found
