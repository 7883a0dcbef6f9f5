# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The C file of a finding: how often it makes its calls, and what it claims."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from litmus_runs import MUTANTS, SEEDED, hunt
from runs import CPU, ROOT

# Numbers of programs end a run, not time: on a busy machine it takes as long as it takes.
LONG = ("--seconds=500", "--shrink-time=300")


def test_what_building_takes_is_no_time_of_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A compiler that is slow once does not end the search for a number of rounds that shows it."""
    compiler, mark = shutil.which("cc"), tmp_path / "bin" / "mark"
    slow = tmp_path / "bin" / "cc"
    slow.parent.mkdir()
    slow.write_text(f'#!/bin/sh\n[ -e {mark} ] || sleep 2.5\n: > {mark}\nexec {compiler} "$@"\n')
    slow.chmod(0o755)
    monkeypatch.setenv("PATH", str(slow.parent), prepend=":")
    headers = [f"--include={ROOT / 'contracts' / name}" for name in ("alone", "include")]
    options = ("mutant=third_query_is_complete", *SEEDED)
    ended = hunt(MUTANTS, tmp_path, options, *LONG, *headers)
    assert mark.exists()
    assert ended.one("finding")["alone_shown"] == 3, ended.reproducer.read_text()


def test_a_finding_that_was_not_tried_claims_no_tries(tmp_path: Path) -> None:
    options = ("mutant=wait_does_nothing", *SEEDED)
    ended = hunt(MUTANTS, tmp_path, options, "--seconds=500", "--shrink-time=1e-9")
    found = ended.one("finding")
    assert (found["replays"], found["repeats"], found["processes"]) == (0, 1, 1)
    assert "it is tried" not in ended.reproducer.read_text()


# Counts the threads that a file makes and joins; one is renewed in each round.
COUNTED = """
#include <pthread.h>
static int made, joined; /* atomic */
static int create(pthread_t* it, const pthread_attr_t* how, void* (*run)(void*), void* argument) {
  __atomic_fetch_add(&made, 1, __ATOMIC_SEQ_CST);
  return pthread_create(it, how, run, argument);
}
static int join(pthread_t it, void** out) {
  __atomic_fetch_add(&joined, 1, __ATOMIC_SEQ_CST);
  return pthread_join(it, out);
}
#define pthread_create create
#define pthread_join join
#include <tbk_alone.h>
LITMUS(.devices = 1, .bytes = 64, .streams = 1, .cells = 1 << 0, .threads = 3, .calls = 4,
       .rounds = 5) {
  BY(0, 0, 0) fill(m0, 0x11, s0);
  BY(1, 1, 0) { thread_renew(1, 1); return; }
  BY(1, 2, 0) fill(m0, 0x12, s0);
  BY(2, 3, 0) fill(m0, 0x13, s0);
}
__attribute__((destructor)) static void tell(void) { printf("%d %d\\n", made, joined); }
"""


def test_a_file_joins_its_threads_in_each_round(tmp_path: Path) -> None:
    (tmp_path / "counted.c").write_text(COUNTED)
    headers = [f"-I{ROOT / 'contracts' / name}" for name in ("alone", "include")]
    binary = tmp_path / "counted"
    subprocess.run(
        ["cc", tmp_path / "counted.c", *headers, "-o", binary, "-ldl", "-lpthread"], check=True
    )
    done = subprocess.run([binary, CPU], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "as it should be\n15 15\n")
