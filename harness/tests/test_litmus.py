# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""tbk-litmus: finds what is broken, alarms at nothing that is legal, and says what it saw."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from litmus_mutants import BROKEN
from litmus_runs import (
    LITMUS,
    MUTANTS,
    SEEDED,
    STEERED,
    Hunt,
    hunt,
    hunted,
    litmus,
    plant,
    sound,
    stated,
    tbk,
)  # fmt: skip
from nights import NIGHT, every
from runs import BUILD, CPU, ROOT

THREADS = ("HAND_OVER", "STREAM_SHARED")  # in few programs, and in the first only where they race
NO_DEVICE = 5
ENOUGH = 8  # calls, of a program that was made smaller
# Numbers of programs end a run, not time: on a busy machine it takes as long as it takes.
LONG = ("--seconds=500", "--shrink-time=300")

ODD = (
    (), ("policy=lazy",), ("policy=one_queue",), ("policy=inline",), ("policy=shuffled", "seed=5"),
    ("scheduler=seeded", "seed=6"), ("delay_us=30", "seed=7"), ("handles=reuse", "poison=1"),
    ("flat=0", "granularity=64"), ("devices=1",), SEEDED, ("scheduler=caller", "seed=8"),
    ("scheduler=caller", "policy=lazy", "seed=9"), ("scheduler=caller", "policy=one_queue"),
)  # fmt: skip


@pytest.mark.parametrize("mutant", BROKEN.values(), ids=list(BROKEN))
def test_what_is_broken_is_found(mutant: str, tmp_path: Path) -> None:
    options = (f"mutant={mutant}", *SEEDED)
    ended = hunt(
        MUTANTS, tmp_path, options, "--seconds=500", "--call-timeout=4", "--shrink-time=0.01"
    )
    assert ended.code == 1
    found = ended.one("finding")
    assert found["program"]
    if found["outcome"] == "wrong":
        assert found["reason"]


def test_a_finding_says_what_a_picture_needs(tmp_path: Path) -> None:
    found = hunt(MUTANTS, tmp_path, ("mutant=wait_does_nothing", *SEEDED), *LONG).one("finding")
    calls = found["program"]
    assert len(found["lanes"]) == len(calls)
    assert {"host", "s0", "s1", "s2", "s3"} >= set(found["lanes"])
    places = range(-1, len(calls) + 1)  # the beginning, the calls, the end
    assert {found["read"], found["wrote"], *found["moved"]} <= set(places)
    ends = {(one["from"], one["to"]) for one in found["chain"]}
    assert all(before in places and after in places for before, after in ends)
    assert {one["clause"] for one in found["chain"]} >= set(found["clauses"])


def test_a_file_in_the_working_directory_is_the_one_that_is_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its name has no slash, and PATH has another of that name, which shows nothing."""
    other = tmp_path / "bin" / "litmus.c.tried"
    other.parent.mkdir()
    other.write_text("#!/bin/sh\nexit 0\n")
    other.chmod(0o755)
    monkeypatch.setenv("PATH", str(other.parent), prepend=":")
    monkeypatch.chdir(tmp_path)
    words = [f"--backend-option={one}" for one in ("mutant=copy_writes_one_byte_more", *SEEDED)]
    words += [f"--include={ROOT / 'contracts' / name}" for name in ("alone", "include")]
    found = hunted([str(LITMUS), str(MUTANTS), *LONG, *words], tmp_path, "litmus.c").one("finding")
    assert found["alone_shown"] == found["alone_runs"] > 0


# What shows only in some rounds of a fresh process, and what reads its arguments too late.
@pytest.mark.parametrize(
    "mutant", ["async_free_on_idle_stream", "third_query_is_complete", "launch_reads_shapes_late"]
)
def test_the_file_has_as_many_rounds_as_show_it(mutant: str, tmp_path: Path) -> None:
    headers = [f"--include={ROOT / 'contracts' / name}" for name in ("alone", "include")]
    ended = hunt(MUTANTS, tmp_path, (f"mutant={mutant}", *SEEDED), *LONG, *headers)
    found = ended.one("finding")
    assert found["alone_shown"] == found["alone_runs"] == 3, ended.reproducer.read_text()


def legal_but_odd() -> list[str]:
    listed = subprocess.run(
        [BUILD / "bin" / "tbk-mutants", "anti"], capture_output=True, text=True, check=True
    ).stdout
    return [json.loads(one)["name"] for one in listed.splitlines()]


@pytest.mark.parametrize("name", legal_but_odd())
def test_a_legal_device_raises_no_alarm(name: str, tmp_path: Path) -> None:
    ended = hunt(MUTANTS, tmp_path, (f"mutant={name}",), "--programs=60", *LONG)
    held_until = time.monotonic() + 60  # a device of one process, by a test beside this one
    while ended.code == NO_DEVICE and time.monotonic() < held_until:
        time.sleep(0.5)
        ended = hunt(MUTANTS, tmp_path, (f"mutant={name}",), "--programs=60", *LONG)
    # Without streams or events there is nothing to order.
    assert ended.code in (0, 3), ended.records
    assert ended.code == 0 or "nothing to order" in ended.stderr


@pytest.mark.parametrize("options", ODD, ids=" ".join)
def test_the_reference_raises_no_alarm(options: tuple[str, ...], tmp_path: Path) -> None:
    ended = hunt(CPU, tmp_path, options, "--programs=400", *LONG)
    assert ended.code == 0, ended.records
    assert ended.one("footer")["programs"] == 400


@pytest.mark.parametrize(
    ("programs", "least"), [(100_000, 50), pytest.param(1_000_000, 1000, marks=NIGHT)]
)
def test_many_programs_reach_each_pair_and_raise_no_alarm(
    programs: int, least: int, tmp_path: Path
) -> None:
    """Each kind of edge comes before each other in a thousand of a million programs, and nothing is
    found. Of a tenth of them a push asks for half as many."""
    ended = hunt(CPU, tmp_path, SEEDED, f"--programs={programs}", "--coverage", *LONG)
    assert ended.code == 0, ended.records
    assert ended.one("footer")["programs"] == programs
    coverage = ended.one("coverage")
    kinds = {one["kind"] for one in ended.records if one["record"] == "litmus-edge"}
    assert set(coverage["programs"]) == {"HOST", *kinds} - {"ASYNC_FREE"}  # which is no edge
    rare = [
        (earlier, later, count)
        for earlier, row in coverage["programs"].items()
        for later, count in row.items()
        if count < least
    ]
    assert rare == []


def states(ended: Hunt) -> dict[str, str]:
    return {one["kind"]: one["state"] for one in ended.records if one["record"] == "litmus-edge"}


def test_edges_are_proven_only_where_their_loss_shows(tmp_path: Path) -> None:
    shown = states(hunt(CPU, tmp_path, SEEDED, "--programs=24000", *LONG))
    unproven = {kind for kind, state in shown.items() if state != "proven"}
    assert unproven <= {
        "ASYNC_FREE",
        "CALLBACK_HOST",
        "RERECORD",
        *THREADS,
    }  # seldom, or never, shown
    assert shown["ASYNC_FREE"] == "not-shown"
    at_once = states(hunt(CPU, tmp_path, ("policy=inline",), "--programs=600", *LONG))
    assert at_once["WAIT"] == at_once["RECORD"] == "trivial"
    assert "proven" not in {at_once[kind] for kind in ("WAIT", "RECORD", "STREAM")}


@pytest.mark.parametrize("kind", ["WAIT", "EVENT_SYNCHRONIZE", "DEVICE_SYNCHRONIZE"])
def test_what_is_excluded_would_have_been_found(kind: str) -> None:
    """One of a hundred calls is broken: as many programs as exclude that must find it."""
    known = sound(10_000)
    needed = round(100 / stated(known.edges, known.programs, kind))
    assert litmus(MUTANTS, plant(kind, 100, chance=7), needed, seed=2).code == 1


@pytest.mark.parametrize(
    ("mutant", "option", "programs"),
    [
        ("upload_behind_many", "many=100", 40_000),
        ("large_upload", "bytes=4096", 20_000),
        ("callback_behind_large", "bytes=1048576", 100_000),
    ],
)
def test_what_shows_only_in_much_is_found(mutant: str, option: str, programs: int) -> None:
    assert litmus(MUTANTS, (f"mutant={mutant}", option), programs).code == 1


def test_two_threads_that_wait_at_the_same_time_both_wait(tmp_path: Path) -> None:
    """They do so only where work has a thread of its own: with the seeded scheduler's one."""
    options = ("mutant=synchronize_beside_another", "scheduler=seeded", "seed=3")
    ended = hunt(
        MUTANTS, tmp_path, options, "--programs=15000", "--seconds=500", "--shrink-time=0.01"
    )
    assert ended.code == 1
    assert ended.one("finding")["outcome"] == "wrong"


# Those that the fewest programs show: of what a thread leaves behind, and of what takes many calls.
@pytest.mark.parametrize(
    "mutant",
    ["memory_ends_with_thread", "synchronize_own_streams_only", "async_free_on_idle_stream",
     "wait_every_100th_is_left_out", "event_synchronize_asks_eight_times"],
)  # fmt: skip
def test_what_shows_most_seldom_is_drawn_often_enough(mutant: str) -> None:
    """At 40,000 programs a second, one in 2,000 is 20 kills a second."""
    run = litmus(MUTANTS, (f"mutant={mutant}",), 20_000, counts=True)
    assert run.found * 2_000 > run.programs


def test_a_count_goes_on_after_what_is_found() -> None:
    run = litmus(MUTANTS, ("mutant=wait_does_nothing",), 500, counts=True)
    assert run.code == 1
    assert run.found > 10
    assert run.programs >= 500


@pytest.mark.parametrize("mutant", ["wait_does_nothing", "record_once_only", "copy_early"])
def test_the_smallest_program_shows_it_each_time(mutant: str, tmp_path: Path) -> None:
    options = (f"mutant={mutant}", *SEEDED)
    ended = hunt(MUTANTS, tmp_path, options, *LONG)
    found = ended.one("finding")
    assert len(found["program"]) <= ENOUGH
    assert found["shown"] == found["replays"] == 20
    assert found["repeats"] == 1
    again = hunt(MUTANTS, tmp_path, options, f"--first={found['index']}", "--programs=1", *LONG)
    assert again.one("finding") == found
    _shows_without_the_suite(ended.reproducer, tmp_path, options)


@pytest.mark.parametrize("mutant", every(["rare_callback", "rare_wait"], 2))
def test_what_is_rare_is_seen_again_and_made_smaller(mutant: str, tmp_path: Path) -> None:
    options = (f"mutant={mutant}", "one_in=10000", *SEEDED)
    found = hunt(MUTANTS, tmp_path, options, "--shrink-time=600").one("finding")
    assert len(found["program"]) <= ENOUGH
    assert found["shown"] == found["replays"] == 20


# Of a query that lied, a thread that ended, a callback that ran twice, memory that nobody freed.
@pytest.mark.parametrize(
    ("mutant", "seed", "clauses"),
    [
        ("third_query_is_complete", 2, ["STR-015"]),
        ("memory_ends_with_thread", 1, ["THR-005"]),
        ("third_callback_twice", 1, ["CBK-002"]),
        ("async_alloc_twice_the_same", 1, ["SOM-002"]),
        ("event_synchronize_asks_eight_times", 3, ["STR-001", "EVT-014", "EVT-026"]),
        ("launch/late_without_stream/CPY-006", 1, ["CPY-006"]),
    ],
)
def test_the_clause_that_is_broken_is_told(
    mutant: str, seed: int, clauses: list[str], tmp_path: Path
) -> None:
    options = (f"mutant={mutant}", *SEEDED)
    ended = hunt(MUTANTS, tmp_path, options, *LONG, f"--seed={seed}")
    assert ended.one("finding")["clauses"] == clauses


def test_threads_are_in_the_file_that_shows_it(tmp_path: Path) -> None:
    options = ("mutant=synchronize_own_streams_only", *SEEDED)
    ended = hunt(MUTANTS, tmp_path, options, *LONG)
    found = ended.one("finding")
    assert "THR-004" in found["clauses"]
    assert found["shown"] == found["replays"] == 20
    _shows_without_the_suite(ended.reproducer, tmp_path, options)


MOST_LINES = 14  # of a file that shows a finding, without its comment


def _shows_without_the_suite(source: Path, folder: Path, options: tuple[str, ...]) -> None:
    compiler = shutil.which("cc")
    assert compiler, "the suite was built by some compiler"
    binary = folder / "alone"
    folders = [f"-I{ROOT / 'contracts' / name}" for name in ("alone", "include")]
    subprocess.run(
        [compiler, "-Wall", "-Werror", *folders, source, "-o", binary, "-ldl", "-lpthread"],
        check=True,
    )
    own = source.read_text().partition(" */\n")[2]
    assert len([line for line in own.splitlines() if line]) <= MOST_LINES
    broken = subprocess.run([binary, MUTANTS, ",".join(options)], check=False, timeout=60)
    assert broken.returncode == 1
    sound = ",".join(option for option in options if not option.startswith("mutant="))
    assert subprocess.run([binary, CPU, sound], check=False, timeout=60).returncode == 0


# Each takes another way through the file: kernels, callbacks, parts, other devices, queries, ...
@pytest.mark.parametrize(
    "mutant",
    [
        "launch_aside", "callback_at_once", "third_callback_twice", "upload_ignores_offset",
        "peer_copy_early", "async_free_at_once", "third_event_query_is_complete",
        "memory_ends_with_thread", "wait_crossing_does_nothing", "fill_drops_last_byte",
    ],
)  # fmt: skip
def test_each_kind_of_call_shows_without_the_suite(mutant: str, tmp_path: Path) -> None:
    options = (f"mutant={mutant}", *SEEDED)
    ended = hunt(MUTANTS, tmp_path, options, *LONG)
    assert ended.one("finding")["shown"] == 20
    _shows_without_the_suite(ended.reproducer, tmp_path, options)


def test_a_crash_is_told_with_its_call(tmp_path: Path) -> None:
    ended = hunt(MUTANTS, tmp_path, ("mutant=destroy_pending_crashes", *SEEDED))
    found = ended.one("finding")
    assert (ended.code, found["outcome"]) == (1, "crash")
    assert "event_destroy" in found["program"][found["call"]]


@pytest.mark.parametrize(
    ("mutant", "outcome"),
    [("destroy_releases_waiters", "hang"), ("event_query_never_complete", "stuck")],
)
def test_what_does_not_end_is_told_apart(mutant: str, outcome: str, tmp_path: Path) -> None:
    """A call that does not return, and a query that is never answered OK."""
    options = (f"mutant={mutant}", *SEEDED)
    ended = hunt(MUTANTS, tmp_path, options, "--call-timeout=6", "--shrink-time=1")
    assert (ended.code, ended.one("finding")["outcome"]) == (1, outcome)
    assert ended.one("footer")["exit_code"] == 1


def test_the_command_tells_what_was_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(*STEERED)
    options = [f"--backend-option={one}" for one in ("mutant=wait_does_nothing", *SEEDED)]
    done = tbk(tmp_path, str(MUTANTS), *options)
    assert done.returncode == 1
    assert "FOUND: a read saw what no order of the work allows" in done.stdout
    assert "EVT-018" in done.stdout
    assert "event_wait(" in done.stdout
    assert "\n        before [" in done.stdout  # deeper than the calls between which it stands
    assert f"{tmp_path / 'litmus.c'} (shown by 3 of 3 runs of it)" in done.stdout
    stated = ["env", "=".join(STEERED)]
    command = done.stdout[done.stdout.index("  cc ") : done.stdout.index(f"\n{tmp_path}/report")]
    told = shlex.split(command)
    assert told[told.index("&&") + 1 :][:2] == stated
    comment = (tmp_path / "litmus.c").read_text().partition("-lpthread\n * ")[2]
    assert shlex.split(comment.partition(" LIB ")[0]) == [*stated, "./a.out"]
    assert subprocess.run(["sh", "-c", command], check=False, timeout=60).returncode == 1
    assert done.stdout.splitlines()[-1] == str(tmp_path / "report.html")
    shown = (tmp_path / "report.html").read_text()
    assert '<svg class="lanes"' in shown
    assert "tbk litmus" in shown
    assert "tbk_alone.h" in shown  # the C file is on the page, too


def test_the_command_that_is_told_finds_it_again(tmp_path: Path) -> None:
    options = [f"--backend-option={one}" for one in ("mutant=wait_does_nothing", *SEEDED)]
    told = tbk(tmp_path, str(MUTANTS), *options, "--seed=2").stdout
    [command] = [one for one in told.splitlines() if one.startswith("the program that it was")]
    words = shlex.split(command.partition(": ")[2])
    assert words[:2] == ["tbk", "litmus"]
    again = tbk(tmp_path, *words[2:])
    assert again.returncode == 1
    assert "FOUND" in again.stdout


def test_the_command_tells_how_sure_it_is(tmp_path: Path) -> None:
    options = [f"--backend-option={one}" for one in SEEDED]
    done = tbk(tmp_path, "cpu", *options, "--programs=3000")
    assert done.returncode == 0
    assert "nothing found" in done.stdout
    assert "EVT-018" in done.stdout
    none = tbk(tmp_path, "template")
    assert (none.returncode, none.stdout.strip()) == (3, "")
    assert "nothing to order" in none.stderr
    assert tbk(tmp_path, "no_such").returncode == 4
