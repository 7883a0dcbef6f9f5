# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""tbk litmus on a farm of local Ray nodes."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from farm import RESOURCE, farm
from litmus_runs import MUTANTS, SEEDED, litmus, read
from runs import CPU, PATIENCE, ROOT, Record

pytest.importorskip("tbk_harness")

PROGRAMS = 24_000
NODES = 3

# The backend INNER, which notes in COUNTER that it was opened.
NOTED = """
#include <dlfcn.h>
#include <stdio.h>
#include <tbk/tbk.h>
tbk_status_t tbk_backend_create(const tbk_host_t* host, const tbk_backend_t** out,
                                tbk_error_t* error) {
  FILE* file = fopen(COUNTER, "a");
  fputc('x', file);
  fclose(file);
  void* inner = dlopen(INNER, RTLD_NOW | RTLD_LOCAL);
  return ((tbk_backend_create_fn)dlsym(inner, "tbk_backend_create"))(host, out, error);
}
"""


def noted(folder: Path) -> tuple[Path, Path]:
    """Returns the library, and the file that grows by a byte for each process that opens it."""
    compiler = shutil.which("cc")
    assert compiler, "the suite was built by some compiler"
    source, library, counter = (folder / name for name in ("noted.c", "libnoted.so", "opened"))
    source.write_text(NOTED)
    include = ROOT / "contracts" / "include"
    places = (f'-DINNER="{CPU}"', f'-DCOUNTER="{counter}"')
    subprocess.run(
        [compiler, "-shared", "-fPIC", f"-I{include}", *places, source, "-o", library], check=True
    )
    return library, counter


def start(library: Path, folder: Path, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tbk_harness", "litmus", str(library), *words,
         f"--report-dir={folder}"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    out, err = process.communicate(timeout=PATIENCE)
    return process.returncode, out + err


def one(records: list[Record], kind: str) -> Record:
    (found,) = (record for record in records if record["record"] == f"litmus-{kind}")
    return found


def lose_a_node(tmp_path: Path) -> tuple[Record, int]:
    """Returns the header of a run of which a node was killed when all three ran programs, and how
    often the library was opened. No program was lost, and none counted twice."""
    library, counter = noted(tmp_path)
    folder = tmp_path / "report"
    with farm(NODES) as local:
        process = start(
            library, folder, "--farm", local.address, "--resource", f"{RESOURCE}=1",
            f"--programs={PROGRAMS}", "--time=5m", "--farm-wait=2m",
        )  # fmt: skip
        until = time.monotonic() + PATIENCE
        while not counter.exists() or counter.stat().st_size < NODES:
            assert process.poll() is None, ended(process)
            assert time.monotonic() < until
            time.sleep(0.01)
        local.cluster.remove_node(local.nodes[1], allow_graceful=False)
        code, said = ended(process)
    assert code == 0, said
    records = read(folder / "litmus.jsonl")
    header, footer = one(records, "header"), one(records, "footer")
    assert footer["programs"] == PROGRAMS, said
    assert header["library"] == str(library)
    assert set(header["farm"]["lost"]) <= {"board-1"}  # the run may end before Ray notices
    assert header["farm"]["parts"] == NODES
    assert sum(node["parts"] for node in header["nodes"].values()) == NODES
    assert (folder / "report.html").exists()
    return header, counter.stat().st_size


def test_a_node_that_is_killed_loses_no_program_and_counts_none_twice(tmp_path: Path) -> None:
    """On a busy machine it may hand in its part before it is killed: then it is tried again."""
    for attempt in range(3):
        folder = tmp_path / str(attempt)
        folder.mkdir()
        header, opened = lose_a_node(folder)
        if "board-1" not in header["nodes"]:
            break
    assert set(header["nodes"]) == {"board-0", "board-2"}
    assert opened == NODES + 1


def test_the_finding_is_the_one_of_one_machine(tmp_path: Path) -> None:
    """Of all parts that found something, the one with the least numbers."""
    options = ("mutant=third_query_is_complete",)
    here = litmus(MUTANTS, options, 2_000)
    assert here.code == 1
    words = [f"--backend-option={option}" for option in (*options, *SEEDED)]
    process = start(
        MUTANTS, tmp_path, "--farm=local:2", "--programs=4000", "--farm-wait=2m", *words
    )
    code, said = ended(process)
    assert code == 1, said
    records = read(tmp_path / "litmus.jsonl")
    finding = one(records, "finding")
    assert finding["index"] == here.index
    (node,) = one(records, "header")["nodes"].values()
    assert node["parts"] == node["findings"] == 2
    assert "the program that it was found by" in said
    assert "tbk_alone.h" in (tmp_path / "litmus.c").read_text("utf-8")
    accused = {edge["kind"] for edge in records if edge.get("state") == "broken"}
    assert accused == set(finding["edges"])


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--farm", "here"), 2, "'here' is none of ray://HOST:PORT, HOST:PORT, auto, local:N"),
        (("--resource", "acme=1"), 2, "--resource, --parts and --farm-wait go with --farm"),
        (("--farm", "127.0.0.1:1"), 5, "no farm answers at 127.0.0.1:1: Connection refused"),
    ],
)
def test_a_farm_that_is_none_is_one_line(
    tmp_path: Path, words: tuple[str, ...], code: int, said: str
) -> None:
    ran, told = ended(start(CPU, tmp_path, *words))
    assert ran == code, told
    assert said in told
    assert len(told.splitlines()) == 1


def test_a_library_that_no_node_can_open_is_told_with_the_node(tmp_path: Path) -> None:
    code, said = ended(start(Path(__file__), tmp_path, "--farm=local:1", "--farm-wait=2m"))
    assert code == 4, said
    assert "litmus-00000 on " in said
    assert "0 of 1 parts are recorded" in said
