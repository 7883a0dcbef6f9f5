# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""tbk-litmus in several processes: faults that some of them have, and what is kept."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from litmus_runs import LITMUS, MUTANTS, SEEDED, litmus, plant, read, sound
from nights import every
from runs import CPU, PATIENCE, ROOT

EACH = 2_000  # programs of a process
ENOUGH = 8  # calls, of a program that was made smaller

# Counts the processes that load it, and is the backend $INNER but in process $NUMBER: there it dies
# or has no device.
ODD_PROCESS = """
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tbk/tbk.h>
tbk_status_t tbk_backend_create(const tbk_host_t* host, const tbk_backend_t** out,
                                tbk_error_t* error) {
  FILE* file = fopen(getenv("COUNTER"), "a");
  fputc('x', file);
  const int is_odd = ftell(file) == atol(getenv("NUMBER"));
  fclose(file);
  if (is_odd && !strcmp(getenv("HOW"), "dies")) abort();
  tbk_host_t mine = *host;
  if (is_odd) mine.options = "devices=0";
  void* inner = dlopen(getenv("INNER"), RTLD_NOW | RTLD_LOCAL);
  return ((tbk_backend_create_fn)dlsym(inner, "tbk_backend_create"))(&mine, out, error);
}
"""


def run(folder: Path, library: Path, *words: str, **environment: str) -> tuple[int, str, list[Any]]:
    done = subprocess.run(
        [LITMUS, library, *words, f"--output={folder / 'litmus.jsonl'}",
         f"--reproducer={folder / 'litmus.c'}",
         *(f"--backend-option={one}" for one in SEEDED)],
        env={**os.environ, **environment},
        capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    output = folder / "litmus.jsonl"
    return done.returncode, done.stderr, read(output) if output.exists() else []


def odd_process(folder: Path) -> Path:
    compiler = shutil.which("cc")
    assert compiler, "the suite was built by some compiler"
    (folder / "odd.c").write_text(ODD_PROCESS)
    library = folder / "libodd.so"
    include = f"-I{ROOT / 'contracts' / 'include'}"
    subprocess.run(
        [compiler, "-shared", "-fPIC", include, folder / "odd.c", "-o", library, "-ldl"], check=True
    )
    return library


def odd(folder: Path, number: int, how: str) -> dict[str, str]:
    return {"COUNTER": str(folder / "counter"), "NUMBER": str(number), "HOW": how,
            "INNER": str(CPU)}  # fmt: skip


@pytest.mark.parametrize("kind", every(["WAIT", "STREAM_SYNCHRONIZE", "DEVICE_SYNCHRONIZE"], 3))
def test_what_is_excluded_of_some_processes_would_have_been_found(kind: str) -> None:
    """By as many processes as exclude it, where it is as rare in them as is stated."""
    count = 96
    edge = sound(count * EACH, count).edges[kind]
    assert edge["share_percent"] < 40
    options = plant(kind, edge["share_one_in"], 3, edge["share_percent"])
    assert litmus(MUTANTS, options, count * EACH, seed=2, processes=count).code == 1


def test_one_process_says_nothing_of_others() -> None:
    known = sound(20_000)
    assert known.processes == 1
    assert known.edges["WAIT"]["state"] == "proven"
    assert {edge["share_percent"] for edge in known.edges.values()} == {100}


def test_a_count_says_in_how_many_processes_a_fault_is() -> None:
    everywhere = litmus(MUTANTS, plant("WAIT", 1, 1), 6_000, counts=True, processes=12)
    assert (everywhere.processes, everywhere.found_in) == (12, 12)
    some = litmus(MUTANTS, plant("WAIT", 1, 1, share=50), 60_000, counts=True, processes=120)
    assert 20 < some.found_in < 100  # but with a chance below 1e-12


def test_a_number_of_programs_is_divided(tmp_path: Path) -> None:
    code, _, records = run(tmp_path, CPU, "--programs=1000", "--processes=7")
    footer = records[-1]
    assert (code, footer["programs"], footer["processes"]) == (0, 1000, 7)
    whole = run(tmp_path, CPU, "--programs=1000")[2]
    assert whole[-1]["processes"] == 1
    # The programs are the same ones, and each ends in the same way.
    assert {k: whole[-1][k] for k in ("controls", "calls", "looks")} == {
        k: footer[k] for k in ("controls", "calls", "looks")
    }


def test_a_time_is_divided_as_starting_costs_allow(tmp_path: Path) -> None:
    code, _, records = run(tmp_path, CPU, "--seconds=4")
    footer = records[-1]
    assert code == 0
    assert footer["processes"] > 1
    assert footer["opening_milliseconds"] < footer["milliseconds"]
    assert run(tmp_path, CPU, "--seconds=1", "--processes=1")[2][-1]["processes"] == 1


def test_each_process_is_executed_anew(tmp_path: Path) -> None:
    """A fork would have the addresses of its parent, and so would all of them."""
    library = odd_process(tmp_path)
    (tmp_path / "loads.c").write_text(
        "#include <unistd.h>\n__attribute__((constructor)) static void loaded(void) {"
        ' (void)!write(2, "loaded\\n", 7); }\n'
    )
    preloaded = tmp_path / "loads.so"
    subprocess.run(["cc", "-shared", "-fPIC", tmp_path / "loads.c", "-o", preloaded], check=True)
    _, said, _ = run(
        tmp_path, library, "--programs=30", "--processes=3", LD_PRELOAD=str(preloaded),
        **odd(tmp_path, 9, "dies"),
    )  # fmt: skip
    assert said.count("loaded\n") == 1 + 3


def test_what_others_saw_is_kept_where_a_process_dies_while_it_opens(tmp_path: Path) -> None:
    code, said, records = run(
        tmp_path, odd_process(tmp_path), "--programs=9000", "--processes=3",
        **odd(tmp_path, 3, "dies"),
    )  # fmt: skip
    footer = records[-1]
    assert code == footer["exit_code"] == 4
    assert "process 3 of this run: while it is loaded and opened: signal 6" in said
    assert (footer["processes"], footer["programs"]) == (2, 6000)
    assert "proven" in {one.get("state") for one in records}


def test_the_command_tells_what_is_kept(tmp_path: Path) -> None:
    library = odd_process(tmp_path)

    def tbk(number: int) -> subprocess.CompletedProcess[str]:
        (tmp_path / "counter").unlink(missing_ok=True)
        return subprocess.run(
            [sys.executable, "-m", "tbk_harness", "litmus", str(library), "--programs=9000",
             "--processes=3", f"--report-dir={tmp_path}",
             *(f"--backend-option={one}" for one in SEEDED)],
            env={**os.environ, **odd(tmp_path, number, "dies")},
            capture_output=True, text=True, timeout=PATIENCE, check=False,
        )  # fmt: skip

    late = tbk(3)
    assert late.returncode == 4
    assert "EVT-018" in late.stdout
    assert "process 3 of this run" in late.stderr
    first = tbk(1)  # nothing was run: what stands there is of the run before
    assert (first.returncode, first.stdout) == (4, "")


def test_a_device_that_is_not_free_yet_is_waited_for(tmp_path: Path) -> None:
    code, _, records = run(
        tmp_path, odd_process(tmp_path), "--programs=300", "--processes=3",
        **odd(tmp_path, 2, "is taken"),
    )  # fmt: skip
    assert (code, records[-1]["processes"]) == (0, 3)
    (tmp_path / "counter").unlink()
    at_once = run(tmp_path, odd_process(tmp_path), "--programs=300", **odd(tmp_path, 1, "is taken"))
    assert at_once[0] == 5


def test_a_device_that_another_process_holds_is_waited_for_as_long_as_opening_may_take(
    tmp_path: Path,
) -> None:
    lock = tmp_path / "lock"
    with lock.open("w") as file:
        fcntl.lockf(file, fcntl.LOCK_EX)
        held = f"--backend-option=exclusive={lock}"
        code, said, records = run(tmp_path, CPU, held, "--open-timeout=2")
    assert (code, records) == (5, [])
    [waited] = re.findall(
        r"answered UNAVAILABLE, as if another process had it, for ([0-9.]+) s: ", said
    )
    assert float(waited) >= 1.5
    assert run(tmp_path, CPU, held, "--programs=20")[0] == 0


def test_what_a_device_is_waited_for_is_no_time_to_open_it(tmp_path: Path) -> None:
    """Together it is more than opening may take."""
    lock = tmp_path / "lock"
    with lock.open("w") as file:
        fcntl.lockf(file, fcntl.LOCK_EX)
        freed = threading.Timer(1.3, fcntl.lockf, (file, fcntl.LOCK_UN))
        freed.start()
        slow = ("open_ms=1000", "devices=2", f"exclusive={lock}")
        words = (f"--backend-option={one}" for one in slow)
        code, said, _ = run(tmp_path, CPU, *words, "--open-timeout=3", "--programs=20")
        freed.join()
    assert code == 0, said


def test_a_fault_of_some_processes_is_made_smaller(tmp_path: Path) -> None:
    options = [f"--backend-option={one}" for one in plant("WAIT", 1, 5, share=30)]
    words = ("--programs=60000", "--processes=60", "--shrink-time=300", *options)
    code, _, records = run(tmp_path, MUTANTS, *words)
    [found] = [one for one in records if one["record"] == "litmus-finding"]
    assert code == 1
    assert len(found["program"]) <= ENOUGH
    assert found["processes"] > 1
    assert found["shown"] >= 15  # of 20, each in up to sixteen processes
    assert "Some processes show it" in (tmp_path / "litmus.c").read_text()


@pytest.mark.parametrize("number", ["0", "513", "x"])
def test_a_number_of_processes_that_is_none_is_bad_usage(number: str, tmp_path: Path) -> None:
    assert run(tmp_path, CPU, f"--processes={number}")[0] == 2


def sure(lines: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [LITMUS, "--sure"],
        input=lines,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def test_what_each_process_saw_says_again_how_sure_the_run_is(tmp_path: Path) -> None:
    code, said, records = run(
        tmp_path, CPU, "--programs=6000", "--processes=3", "--each-process"
    )  # fmt: skip
    assert code == 0, said
    edges = [one for one in records if one["record"] == "litmus-edge"]
    programs = records[-1]["programs"] + records[-1]["controls"]
    assert all(len(one["of_processes"]) == 6 for one in edges)
    assert all(sum(one["of_processes"][::2]) == one["tried"] for one in edges)
    lines = "".join(
        f"{programs} {' '.join(map(str, one['of_processes']))}\n" for one in edges
    )  # fmt: skip
    answered = [json.loads(one) for one in sure(lines).stdout.splitlines()]
    assert len(answered) == len(edges)
    for edge, told in zip(edges, answered, strict=True):
        for name in ("one_in", "share_percent", "share_one_in"):
            assert told[name] == edge[name], edge["kind"]
    assert any(one["one_in"] > 1 for one in edges)


@pytest.mark.parametrize("line", ["", "1", "9 3", "9 3 4", "9 3 2 1", "9 x 2", "-9 3 2"])
def test_a_line_that_no_process_had_is_bad_usage(line: str) -> None:
    done = sure(line + "\n")
    assert done.returncode == 2, done.stdout
    assert len(done.stderr.splitlines()) == 1
