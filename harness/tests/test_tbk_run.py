# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What tbk-run does with good backends, bad command lines and bad places to write to."""

from __future__ import annotations

import os
import random
import resource
import signal
import stat
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
from runs import (
    CPU,
    HOSTILE,
    LIB,
    TBK_RUN,
    TEMPLATE,
    command,
    hostile,
    processes_with,
    read,
    run,
)


@pytest.fixture
def output(tmp_path: Path) -> Path:
    return tmp_path / "results.jsonl"


def test_the_template_passes(output: Path) -> None:
    done = run(TEMPLATE, output)
    results = done.results()
    assert done.code == 0, done.stdout
    assert results.footer["verdict"] == "pass"
    assert results.footer["planned"] == results.footer["recorded"] == len(results.tests)
    assert set(results.counts()) <= {"pass", "unsupported", "not-shown"}
    assert done.line.startswith("tbk-run: PASS (quick)  ")
    assert str(output) in done.line
    assert not processes_with(str(output))


@pytest.mark.parametrize(
    ("arguments", "missing"),
    [
        (("--only", "memory", "--only", "DEV"), "--only memory, DEV"),
        (("--shard", "1/3"), "shard 1/3"),
    ],
)
def test_a_pass_of_a_part_is_called_partial(
    output: Path, arguments: tuple[str, ...], missing: str
) -> None:
    done = run(TEMPLATE, output, *arguments)
    assert done.code == 0, done.stdout
    assert done.line.startswith("tbk-run: PARTIAL (quick)  ")
    assert f"partial: {missing}  " in done.line


def test_a_pass_says_what_was_checked(output: Path) -> None:
    for record in run(TEMPLATE, output).results().tests:
        if record["verdict"] == "pass":
            assert record["checks"] > 0
            assert record["evidence"] in {"proven", "trivial"}
        if record["verdict"] == "unsupported":
            assert record["needs_missing"]
            assert record["checks"] == 0


def test_the_same_verdicts_in_one_process_and_in_many(output: Path, tmp_path: Path) -> None:
    fork = run(TEMPLATE, output, "--isolation", "fork").results()
    batch = run(TEMPLATE, tmp_path / "batch.jsonl", "--isolation", "batch").results()
    assert fork.verdicts == batch.verdicts
    assert (fork.header["isolation"], batch.header["isolation"]) == ("fork", "batch")


def test_a_device_that_opens_slowly_is_kept_open(output: Path) -> None:
    slow = ("--backend-option", "open_ms=80", "--only", "MEM-002")
    assert run(CPU, output, *slow).results().header["isolation"] == "batch"


def test_the_list_names_tests_and_runs_none(output: Path) -> None:
    done = run(TEMPLATE, output, "--list", "--only", "MEM-002")
    words = done.stdout.splitlines()[0].split()
    assert done.code == 0
    assert words[0].startswith("memory")
    assert words[1:3] == ["MEM-002", "must"]
    assert not output.exists()


@pytest.mark.parametrize(
    ("selector", "member", "value"),
    [
        ("memory_free", "suite", "memory_free"),
        ("MEM-005", "clause", "MEM-005"),
        ("profile:async", "profile", "async"),
    ],
)
def test_what_is_selected_is_what_runs(
    output: Path, selector: str, member: str, value: str
) -> None:
    tests = run(TEMPLATE, output, "--only", selector).results().tests
    assert tests
    assert {record[member] for record in tests} == {value}


def test_shards_are_a_partition(tmp_path: Path) -> None:
    whole = run(TEMPLATE, tmp_path / "whole.jsonl", "--only", "memory").results().verdicts
    parts: list[str] = []
    for i in (1, 2, 3):
        part = tmp_path / f"{i}.jsonl"
        parts += run(TEMPLATE, part, "--only", "memory", "--shard", f"{i}/3").results().verdicts
    assert sorted(parts) == sorted(whole)


def test_shuffling_changes_the_order_alone(tmp_path: Path) -> None:
    def order(name: str, *arguments: str) -> list[str]:
        done = run(TEMPLATE, tmp_path / name, "--only", "memory", "--jobs", "1", *arguments)
        tests = sorted(done.results().tests, key=lambda record: int(record["index"]))
        return [record["id"] for record in tests]

    plain, one, again = order("a"), order("b", "--shuffle", "7"), order("c", "--shuffle", "7")
    assert one == again
    assert one != plain
    assert sorted(one) == sorted(plain)


def test_each_repetition_has_a_record(output: Path) -> None:
    tests = run(TEMPLATE, output, "--only", "MEM-002", "--repeat", "5").results().tests
    names = {record["id"] for record in tests}
    assert sorted((r["id"], r["repeat"]) for r in tests) == sorted(
        (name, i) for name in names for i in range(5)
    )


def test_differing_verdicts_are_unstable(output: Path, tmp_path: Path) -> None:
    once = f"once={tmp_path / 'marker'}"
    options = hostile("crash_in_call", "at=4", once)
    done = run(HOSTILE, output, "--only", "copy", "--repeat", "3", *options)
    assert done.code == 1
    assert done.results().counts().get("unstable", 0) > 0


# ------------------------------------------------------------------------------- exit codes


@pytest.mark.parametrize(
    "arguments",
    [
        ["--no-such-option"],
        ["--shard", "3/2"],
        ["--repeat", "0"],
        ["--timeout", "-1"],
        ["--isolation", "thread"],
        ["--backend-option", "novalue"],
        ["--require", "coffee"],
        ["--memory-limit", "9X"],
    ],
)
def test_bad_usage_is_2(output: Path, arguments: list[str]) -> None:
    done = run(TEMPLATE, output, *arguments)
    assert done.code == 2
    assert "tbk-run: " in done.stderr


def test_no_library_at_all_is_2(tmp_path: Path) -> None:
    done = subprocess.run([TBK_RUN], capture_output=True, cwd=tmp_path, check=False)
    assert done.returncode == 2


@pytest.mark.parametrize("arguments", [["--only", "XYZ-999"], ["--shard", "2/2", "--only", "-"]])
def test_nothing_selected_is_3(output: Path, arguments: list[str]) -> None:
    if "-" in arguments:  # a shard of one test
        one = run(TEMPLATE, output, "--list").stdout.split()[0]
        arguments = [*arguments[:-1], one]
    done = run(TEMPLATE, output, *arguments)
    assert done.code == 3
    assert done.results().footer["reason"].startswith("nothing selected")


def test_a_misspelt_selector_beside_a_good_one_is_3(output: Path) -> None:
    assert run(TEMPLATE, output, "--only", "memory", "--only", "memori").code == 3


def test_nothing_executed_is_3(output: Path) -> None:
    done = run(TEMPLATE, output, "--only", "stream")
    assert done.results().counts().keys() == {"unsupported"}
    assert done.code == 3


def test_no_device_is_5(output: Path) -> None:
    done = run(HOSTILE, output, *hostile("no_devices"))
    assert done.code == 5
    assert done.results().footer["exit_code"] == 5


@pytest.mark.skipif(Path("/dev/nvidiactl").exists(), reason="there is a device")
def test_cuda_without_a_driver_has_no_device(output: Path) -> None:
    done = run(LIB / "libtbk_cuda.so", output)
    assert done.code == 5
    assert "counts no device" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("loader", "reason"),
    [
        ("/nowhere/libOpenCL.so.1", "no OpenCL loader: /nowhere/libOpenCL.so.1: cannot open"),
        ("libm.so.6", "libm.so.6 is no loader of OpenCL 1.2: it lacks clGetPlatformIDs"),
        (__file__, "no OpenCL loader: "),
    ],
)
def test_opencl_without_a_loader_says_why_it_has_no_device(
    output: Path, loader: str, reason: str
) -> None:
    done = run(LIB / "libtbk_opencl.so", output, f"-blibrary={loader}")
    assert done.code == 5
    assert f"counts no device: 0 devices: {reason}" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_simulated_driver_is_told_by_the_device_itself(output: Path) -> None:
    driver = f"driver={LIB / 'libtbk_cuda_simulator.so'}"
    done = run(LIB / "libtbk_cuda.so", output, "--backend-option", driver)
    found = done.results()
    assert done.code == 0, done.stdout
    assert done.line.startswith("tbk-run: PASS (quick, simulated)  ")
    assert found.footer["simulated"] is True
    assert {device["simulated"] for device in found.header["devices"]} == {True}
    assert run(CPU, output, "--only", "DEV").results().footer["simulated"] is False


def test_a_call_that_waits_longer_than_its_gate_is_known_to_wait(output: Path) -> None:
    """The patience of a gate is a third of a test's; the probe of gates has its own."""
    driver = f"driver={LIB / 'libtbk_cuda_simulator.so'}"  # downloads wait there, as they may
    given = ("--backend-option", driver, "--timeout", "4", "--only", "DEV-023")
    done = run(LIB / "libtbk_cuda.so", output, *given)
    assert set(done.results().verdicts.values()) <= {"pass", "not-shown"}, done.stdout


@pytest.mark.parametrize("given", ["driver=/nowhere/libx.so", "driver=a,driver=b", "seed=1"])
def test_what_is_no_driver_is_refused_in_one_line(output: Path, given: str) -> None:
    done = run(LIB / "libtbk_cuda.so", output, "--backend-option", given)
    assert done.code == 4
    assert len(done.stderr.strip().splitlines()) == 1


def test_findings_are_1_and_say_how_to_see_them_again(output: Path) -> None:
    done = run(HOSTILE, output, "--only", "copy", *hostile("crash_in_call"))
    assert done.code == 1
    failed = [r for r in done.results().tests if r["verdict"] == "crash"]
    assert failed
    first = failed[0]
    assert first["blame"] == "backend"
    assert first["cause"].startswith("crash/body/SIGSEGV/in ")
    assert first["clause_text"]
    replay = first["replay"].split()
    again = run(HOSTILE, output.with_name("again.jsonl"), *replay[2:])
    assert again.code == 1
    assert again.results().verdicts == {first["id"]: "crash"}


def test_a_required_capability_that_is_missing_fails(output: Path) -> None:
    done = run(TEMPLATE, output, "--only", "stream", "--require", "stream")
    assert done.code == 1
    failed = [r for r in done.results().tests if r["verdict"] == "fail"]
    assert failed
    assert {r["needs_missing"] for r in failed} == {"stream"}


@pytest.mark.parametrize(
    "library",
    [
        LIB / "hostile" / "libtbk_hostile_text.so",
        LIB / "hostile" / "libtbk_hostile_empty.so",
        LIB / "hostile" / "libtbk_hostile_no_symbol.so",
        LIB / "hostile",
        LIB / "no_such_file.so",
        Path("/dev/null"),
    ],
)
def test_what_is_no_backend_is_4(output: Path, library: Path) -> None:
    done = run(library, output)
    assert done.code == 4
    assert len(done.stderr.strip().splitlines()) == 1
    assert str(library) in done.stderr
    assert done.results().footer["verdict"] == "error"


def test_an_unreadable_library_is_4() -> None:
    as_nobody = ("setpriv", "--reuid=65534", "--clear-groups") if os.geteuid() == 0 else ()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o777)
        locked = folder / "libtbk_locked.so"
        locked.write_bytes(TEMPLATE.read_bytes())
        locked.chmod(0)
        tool = folder / "tbk-run"
        tool.write_bytes(TBK_RUN.read_bytes())
        tool.chmod(0o755)
        done = subprocess.run(
            [*as_nobody, tool, locked, "--output", folder / "results.jsonl"],
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 4
    assert f"{locked}: Permission denied" in done.stderr


# ---------------------------------------------------------------------------- what is written


def test_a_full_disk_is_8_and_says_so_once() -> None:
    done = run(TEMPLATE, Path("/dev/full"))
    assert done.code == 8
    assert "No space left on device" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


ROOM = 60000  # for the journal of two jobs, and for a part of the results


def limit_file_size() -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (ROOM, ROOM))


def test_a_disk_that_fills_up_loses_nothing_written(output: Path) -> None:
    done = subprocess.run(
        command(TEMPLATE, output, "--jobs=2"),
        capture_output=True,
        text=True,
        preexec_fn=limit_file_size,
        check=False,
    )
    assert done.returncode == 8
    assert len(done.stderr.strip().splitlines()) == 1
    written = output.read_bytes()
    assert 0 < len(written) <= ROOM
    assert written.endswith(b"\n")
    kept = written.count(b"\n") - 1
    resumed = run(TEMPLATE, output, "--resume")
    assert resumed.code == 0, resumed.stderr
    results = resumed.results()
    assert results.raw.startswith(written)
    assert len(results.tests) > kept
    assert len(results.verdicts) == len(results.tests)


def test_a_folder_that_is_not_there_is_8(tmp_path: Path) -> None:
    done = run(TEMPLATE, tmp_path / "missing" / "results.jsonl")
    assert done.code == 8
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_read_only_folder_is_8(tmp_path: Path) -> None:
    folder = Path("/sys/kernel") if os.geteuid() == 0 else tmp_path / "locked"
    if os.geteuid() != 0:
        folder.mkdir(mode=stat.S_IRUSR | stat.S_IXUSR)
    done = run(TEMPLATE, folder / "results.jsonl")
    assert done.code == 8
    assert len(done.stderr.strip().splitlines()) == 1


def test_two_runs_do_not_share_a_file(output: Path) -> None:
    hang = hostile("hang_in_call")
    with subprocess.Popen(
        command(HOSTILE, output, "--only", "copy", *hang),
        stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    ) as first:
        wait_for(lambda: output.exists() and output.stat().st_size > 0)
        done = run(TEMPLATE, output)
        first.terminate()
    assert done.code == 8
    assert "another run is writing it" in done.stderr


def test_64_descriptors_are_enough(output: Path) -> None:
    done = run(CPU, output, "--only", "memory", "--jobs", "64", prefix=("prlimit", "--nofile=64"))
    assert done.code == 0, done.stdout + done.stderr


# ------------------------------------------------------------------------ signals and resuming


def wait_for(condition: object, seconds: float = 60) -> None:
    assert callable(condition)
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.005)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_run_with_7(output: Path, number: signal.Signals) -> None:
    hang = hostile("hang_in_call", "at=4")
    arguments = ["--only", "copy", "--jobs", "1", *hang]
    with subprocess.Popen(
        command(HOSTILE, output, *arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        wait_for(lambda: output.exists() and output.stat().st_size > 0)
        process.send_signal(number)
        assert process.wait(timeout=60) == 7
    results = read(output)
    assert results.footer["exit_code"] == 7
    assert results.footer["verdict"] == "error"
    assert len(results.tests) == results.footer["recorded"] < results.footer["planned"]
    assert not processes_with(str(output))


def test_killed_at_random_and_resumed_each_test_counts_once(output: Path) -> None:
    plain = run(TEMPLATE, output.with_name("plain.jsonl")).results()
    rounds = int(os.environ.get("TBK_KILL_ROUNDS", "10"))
    random_source = random.Random(1)  # noqa: S311
    for _ in range(rounds):
        output.unlink(missing_ok=True)
        for _ in range(20):
            with subprocess.Popen(
                command(TEMPLATE, output, "--resume"),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            ) as process:
                try:
                    process.wait(timeout=random_source.uniform(0.01, 0.4))
                    break
                except subprocess.TimeoutExpired:
                    process.kill()
            wait_for(lambda: not processes_with(str(output)))
        done = run(TEMPLATE, output, "--resume")
        results = read(output)
        assert done.code == 0, done.stderr
        assert len(results.tests) == results.footer["planned"]
        assert results.verdicts == plain.verdicts


def test_resuming_a_complete_run_changes_nothing(output: Path) -> None:
    run(TEMPLATE, output, "--only", "memory")
    before = output.read_bytes()
    done = run(TEMPLATE, output, "--only", "memory", "--resume")
    assert done.code == 0
    assert output.read_bytes() == before


def test_a_torn_last_line_runs_again(output: Path) -> None:
    run(TEMPLATE, output, "--only", "memory")
    lines = output.read_bytes().splitlines(keepends=True)
    output.write_bytes(b"".join(lines[:9]) + lines[9][:30])
    results = run(TEMPLATE, output, "--only", "memory", "--resume").results()
    assert results.raw.startswith(b"".join(lines[:9]))
    assert len(results.verdicts) == len(results.tests) == results.footer["planned"]


def test_a_failure_is_kept_whatever_stands_before_it(output: Path, tmp_path: Path) -> None:
    """A backend that crashes once: resumed, the crash must not become a second try."""
    options = ["--only", "memory_free", "--only", "MEM-002"]
    for option in ("hostile=crash_in_call", "at=4", f"once={tmp_path / 'crashed'}"):
        options += ["--backend-option", option]
    assert run(HOSTILE, output, *options).code == 1
    head, *records, _ = output.read_bytes().splitlines(keepends=True)
    records.sort(key=lambda line: b'"verdict":"pass"' not in line)
    records[0] = records[0].replace(b'"verdict":"pass"', b'"verdict":"not-reached"')
    assert b"not-reached" in records[0]
    output.write_bytes(b"".join([head, *records]))
    done = run(HOSTILE, output, *options, "--resume")
    results = done.results()
    assert done.code == 1
    assert "crash" in results.verdicts.values()
    assert len(results.verdicts) == len(results.tests) == results.footer["planned"]
    assert not list(output.parent.glob("*.resumed"))


@pytest.mark.parametrize(
    "other",
    [
        ["--seed", "5"],
        ["--only", "copy"],
        ["--repeat", "2"],
        ["--shuffle", "1"],
        ["--budget", "100"],
        ["--tier", "thorough"],
        ["--require", "memory_info"],
    ],
)
def test_another_run_is_not_resumed(output: Path, other: list[str]) -> None:
    run(TEMPLATE, output, "--only", "MEM-002")
    before = output.read_bytes()
    base = [] if other[0] == "--only" else ["--only", "MEM-002"]
    done = run(TEMPLATE, output, "--resume", *base, *other)
    assert done.code == 2
    assert "cannot resume" in done.stderr
    assert output.read_bytes() == before


SWEEP = "sweep_memory/memory_comes_and_goes"


def test_a_thorough_test_runs_in_its_tier_or_named_by_its_id(output: Path) -> None:
    quick = run(TEMPLATE, output, "--list").stdout
    thorough = run(TEMPLATE, output, "--list", "--tier", "thorough").stdout
    assert SWEEP not in quick
    assert SWEEP in thorough
    assert set(quick.splitlines()) < set(thorough.splitlines())
    done = run(TEMPLATE, output, "--only", "sweep_memory/")
    assert done.code == 3
    assert "is of the thorough tier" in done.stderr
    results = run(TEMPLATE, output, "--only", SWEEP).results()
    assert results.verdicts == {SWEEP: "pass"}
    assert (results.header["tier"], results.footer["tier"]) == ("quick", "quick")


def test_one_case_of_a_sweep_runs_alone(output: Path) -> None:
    whole = run(TEMPLATE, output, "--only", SWEEP).results().tests[0]
    line = "size=1 blocks=1 turns=1 freed=first_first sizes=equal device=0 thread=main error=given"
    alone = run(TEMPLATE, output, "--only", SWEEP, "--case", line).results().tests[0]
    assert int(whole["notes"].split()[0]) > 20
    assert alone["notes"].split()[0] == "1"
    none = run(TEMPLATE, output, "--only", SWEEP, "--case", "size=none").results().tests[0]
    assert "names no case of this sweep" in none["notes"]
    assert none["verdict"] == "not-shown"
