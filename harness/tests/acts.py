# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What hostile backends do, and what must be said of each."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path

from runs import HOSTILE, LIB, Record, Run, hostile, processes_with, read, run

FAST = ("--timeout", "1.5", "--open-timeout", "1.5", "--memory-limit", "200M")
# What does not hang needs no deadline: on a busy machine it would only be another end than its own.
PATIENT = ("--timeout", "240", "--open-timeout", "240", "--memory-limit", "200M")
SOME = ("--only", "memory_free", "--only", "MEM-002", "--only", "MEM-014")

SAID = "; it printed: RULE 7:  [2Jno context is current \ufffd"  # the last line that is not blank
# name: the code, and what the one line says
NO_START = {
    "crash_in_constructor": (4, "loading it: killed by SIGSEGV"),
    "hang_in_constructor": (4, "loading it: no end after"),
    "exit_in_constructor": (4, "loading it: the process exited with status 0"),
    "crash_in_entry": (4, "calling tbk_backend_create: killed by SIGSEGV"),
    "hang_in_entry": (4, "calling tbk_backend_create: no end after"),
    "exit_in_entry": (4, "calling tbk_backend_create: the process exited with status 0"),
    "crash_in_open": (5, "opening device 0: killed by SIGSEGV"),
    "rule_in_entry": (4, f"calling tbk_backend_create: killed by SIGABRT (create){SAID}"),
    "rule_in_open": (5, f"opening device 0: killed by SIGABRT (open){SAID}"),
    "hang_in_open": (5, "opening device 0: no end after"),
    "size_short": (4, "12 bytes"),
    "size_zero": (4, "0 bytes"),
    "size_huge": (4, "1099511627776 bytes"),
    "core_short": (4, "core table"),
    "core_huge": (4, "core table"),
    "wrong_version": (4, "ABI version 4711"),
    "null_core": (4, "no core functions"),
    "null_entry": (4, "download is NULL"),
    "null_name": (4, "name"),
    "refuses": (4, "the licence server does not answer"),
    "refuses_badly": (4, "xxxx"),
    "unknown_status": (4, "a status that tbk.h does not name"),
    "no_devices": (5, "no device"),
    "minus_devices": (5, "no device"),
}

# name: the verdict of the test in which it happens, and the cause
IN_A_TEST = {
    "crash_in_call": ("crash", "/SIGSEGV"),
    "hang_in_call": ("hang", ""),
    "spin_in_call": ("hang", ""),
    "exit_0_in_call": ("crash", "/exited"),
    "exit_now_0_in_call": ("crash", "/exited"),
    "abort_in_call": ("crash", "/SIGABRT"),
    "overflow_stack": ("crash", "/SIGSEGV"),
    "close_descriptors": ("crash", "/exited"),
    "block_signals": ("hang", ""),
    "stop_itself": ("hang", "/stopped"),
    "eat_memory": ("crash", "/memory"),
    "scribble": ("crash", ""),
    "kill_parent": ("crash", "/killed-its-parent"),
    "kill_group": ("crash", "/SIGKILL"),
    "crash_in_thread": ("crash", "/SIGSEGV"),
    "crash_in_close": ("crash", "close/SIGSEGV"),
    "hang_in_close": ("hang", "close"),
    "crash_at_exit": ("crash", "exit/SIGSEGV"),
    "hang_at_exit": ("hang", "exit"),
    "exit_now_0_at_exit": ("crash", "exit/exited"),
    "crash_in_destructor": ("crash", "exit/SIGSEGV"),
    "hang_in_destructor": ("hang", "exit"),
    **dict.fromkeys(
        (
            "report_byte", "report_long_line", "report_random", "report_nul", "report_half",
            "report_forged_health", "report_from_child", "report_flood",
            "report_full_and_unblocked", "report_every_descriptor",
        ),
        ("fail", "foreign-descriptor"),
    ),
    "report_forged": ("crash", "/SIGABRT"),
    "report_forged_done": ("crash", "/exited"),
    "report_closed": ("crash", "/exited"),
    "report_replaced": ("crash", "/exited"),
    "report_own_pipe": ("crash", "/exited"),
    "fork_bomb": ("crash", "/processes"),
    "fork_sessions": ("crash", "/processes"),
    "fork_chain": ("hang", ""),
    "child_eats_memory": ("crash", "/memory"),
    "child_hangs": ("hang", ""),
    "stop_parent": ("hang", "/stopped-its-parent"),
    "main_thread_leaves": ("hang", ""),
    "kill_itself": ("crash", "/SIGKILL"),
    "term_itself": ("crash", "/SIGTERM"),
    "pipe_itself": ("crash", "/SIGPIPE"),
    "stop_by_terminal": ("hang", "/stopped"),
    "alarm_rings": ("crash", "/SIGALRM"),
    "exit_86": ("crash", "/exited"),
    "exit_now_86": ("crash", "/exited"),
    "quick_exit_0": ("crash", "/exited"),
    "self_deadlock": ("hang", ""),
    "ignores_all": ("hang", ""),
    "double_free": ("crash", "/SIGABRT"),
    "divide_by_zero": ("crash", "/SIGFPE"),
    "call_null": ("crash", "/SIGSEGV"),
    "ruin_stack": ("crash", "/SIGABRT"),
    "crash_in_many_threads": ("crash", "/SIGSEGV"),
    "crash_while_loading": ("crash", "/SIGSEGV"),
    "cpu_time_over": ("crash", "/SIG"),
    "no_address_space": ("crash", "/SIGABRT"),
    **dict.fromkeys(("report_is_stderr", "report_forged_key"), ("fail", "foreign-descriptor")),
    "report_closed_with_all": ("crash", "/exited"),
    "kill_parents_group": ("crash", "/killed-its-parent"),
    "signal_parent": ("crash", "/killed-its-parent"),
    "outlives_its_parent": ("crash", "/killed-its-parent"),
    "trace_parent": ("hang", "/stopped-its-parent"),
    "traced_by_parent": ("hang", "/stopped"),
    "vfork_hangs": ("hang", ""),
    "exec_true": ("crash", "/exited"),
    "exec_hangs": ("hang", ""),
    "crash_handled_exit_0": ("crash", "/exited"),
    "crash_handled_for_ever": ("hang", ""),
    "exit_86_on_term": ("hang", ""),
    "exit_342": ("crash", "/exited"),
    "exit_in_thread": ("crash", "/exited"),
    "exit_handler_exits_0": ("crash", "/exit/exited"),
    "realtime_signal": ("crash", "/SIGRTMIN+1"),
    "bus_error": ("crash", "/SIGBUS"),
    "illegal_instruction": ("crash", "/SIGILL"),
    "trap": ("crash", "/SIGTRAP"),
    "main_thread_cancelled": ("crash", "/exited"),
    "stdout_locked": ("hang", ""),
    "overflow_stack_without_another": ("crash", "/SIGSEGV"),
    "overflow_stack_of_thread": ("crash", "/SIGSEGV"),
    "exception_thrown": ("crash", "/SIGABRT"),
    "shared_pages_unmapped": ("crash", "/SIGSEGV"),
    "shared_memory_eaten": ("crash", "/memory"),
    "parents_limits": ("fail", "changes-the-harness"),
    "seccomp_strict": ("crash", "/SIGKILL"),
    "seccomp_kills": ("crash", "/SIGSYS"),
    "seccomp_refuses_reports": ("crash", "/exited"),
}  # fmt: skip


def act(output: Path, name: str, *arguments: str, options: tuple[str, ...] = ()) -> Run:
    hangs = "hang" in name or IN_A_TEST.get(name, ("", ""))[0] == "hang"
    limits = FAST if hangs else PATIENT
    if name.endswith("_in_constructor"):
        return run(HOSTILE, output, *limits, *arguments, env={"TBK_HOSTILE": name})
    return run(HOSTILE, output, *limits, *arguments, *hostile(name, *options))


# --------------------------------------------------------------------- one round, and what is wrong

Complaints = list[str]
Round = Callable[[Path], Complaints]

NO_LIBRARY = ("no_symbol", "text", "empty")
INERT = {
    "daemonise": SOME,
    "memory_locked": ("--only", "MEM-002"),  # whoever fills the device would fill the machine
    "print_megabytes": ("--only", "MEM-006"),
    **dict.fromkeys(
        (
            "child_returns", "child_crashes", "reaps_all", "odd_name", "new_session",
            "many_threads", "no_descriptors", "no_file_size", "closed_output", "full_output",
            "other_folder", "odd_umask", "report_appends", "report_taken_away_for_a_while",
            "report_small_pipe", "report_watched", "child_of_parent", "own_subreaper",
            "own_pid_namespace", "fork_runner", "calls_system", "signal_storm", "timer_threads",
            "rounds_up", "flushes_subnormals", "traps_arithmetic", "no_environment", "folder_gone",
            "other_root", "other_user", "not_dumpable", "own_namespaces", "lowest_priority",
            "one_processor", "output_unblocked", "output_closed_by_stream",
            "prints_for_ever", "parents_priority",
        ),
        SOME,
    ),
}  # fmt: skip
# Started where nothing may be: one test says so, on the clause that forbids it.
STARTED = {
    "daemonise_in_constructor": "library/creation_starts_no_process",
    "daemonise_in_entry": "library/creation_starts_no_process",
    "threads_in_entry": "library/creation_starts_no_thread",
}
MISNAMED = ("markup", "long_names")
GOOD = {"pass", "unsupported"}
RECHECKED = {"polluted", "unstable"}


def _bad_files(output: Path, name: str) -> Complaints:
    path = output.parent if name == "directory" else LIB / "hostile" / f"libtbk_hostile_{name}.so"
    done = run(path, output, *FAST)
    lines = len(done.stderr.strip().splitlines())
    return [] if (done.code, lines) == (4, 1) else [f"exit {done.code}, {lines} lines"]


def _no_start(output: Path, name: str) -> Complaints:
    code, text = NO_START[name]
    done = act(output, name)
    if done.code != code:
        return [f"exit {done.code}"]
    return [] if text in done.stderr else [f"says {done.stderr.strip()[:200]}"]


def _wrong_hit(record: Record, verdict: str, cause: str) -> Complaints:
    seen = (record["verdict"], record["blame"])
    if seen != (verdict, "backend"):
        return [f"{record['id']}: {seen[0]}, blame {seen[1]}"]
    right = cause in record["cause"].replace("/clean", "/close")
    return [] if right else [f"{record['id']}: cause {record['cause']}"]


def _in_a_test(output: Path, name: str) -> Complaints:
    """One process of the run is hit; every other test ends as on the template."""
    return [
        f"{isolation}: {said}"
        for isolation in ("fork", "batch")
        for said in _hit_once(output, name, isolation)
    ]


def _hit_once(output: Path, name: str, isolation: str) -> Complaints:
    verdict, cause = IN_A_TEST[name]
    marker = output.with_suffix(".marker")
    marker.unlink(missing_ok=True)
    once = ("at=4", f"once={marker}")
    done = act(output, name, *SOME, "--isolation", isolation, options=once)
    marker.unlink(missing_ok=True)
    tests = done.results().tests
    hit = [record for record in tests if record["verdict"] not in GOOD]
    wrong = [] if (done.code, len(hit)) == (1, 1) else [f"exit {done.code}, {len(hit)} hit"]
    if isolation == "batch":  # alone it does not happen again, which the verdict says
        hit = [{**r, "verdict": verdict} if r["verdict"] in RECHECKED else r for r in hit]
    return wrong + [said for record in hit for said in _wrong_hit(record, verdict, cause)]


def _at_the_end(output: Path, name: str) -> Complaints:
    """Every process is hit, that of the preflight too."""
    verdict, cause = IN_A_TEST[name]
    done = act(output, name, "--only", "MEM-002", "--isolation", "fork")
    hit = [record for record in done.results().tests if record["verdict"] not in GOOD]
    wrong = [] if done.code == 1 and hit else [f"exit {done.code}, {len(hit)} hit"]
    return wrong + [said for record in hit for said in _wrong_hit(record, verdict, cause)]


def _inert(output: Path, name: str) -> Complaints:
    """Whatever it does, and in however many processes: each test ends as on the template."""
    wrong = []
    for isolation in ("fork", "batch"):
        done = act(output, name, *INERT[name], "--isolation", isolation)
        bad = [f"{test}: {v}" for test, v in done.results().verdicts.items() if v not in GOOD]
        wrong += bad if done.code == 0 else [*bad, f"{isolation}: exit {done.code}"]
    return wrong


def _started(output: Path, name: str) -> Complaints:
    done = act(output, name, "--only", "LIB-007", *SOME)
    bad = {r["id"] for r in done.results().tests if r["verdict"] not in GOOD}
    wrong = [] if bad == {STARTED[name]} else [f"findings: {sorted(bad)}"]
    return wrong if done.code == 1 else [*wrong, f"exit {done.code}"]


def _misnamed(output: Path, name: str) -> Complaints:
    done = act(output, name, "--only", "library", "--only", "MEM-002")
    bad = [r for r in done.results().tests if r["verdict"] not in {*GOOD, "fail"}]
    wrong = [f"{record['id']}: {record['verdict']}" for record in bad]
    return wrong if done.code == 1 else [*wrong, f"exit {done.code}"]


def _whole(output: Path, check: Callable[[Path, str], Complaints], name: str) -> Complaints:
    output.unlink(missing_ok=True)
    try:
        wrong = check(output, name)
        if output.exists():
            results = read(output)
            tests, planned = len(results.tests), results.footer["planned"]
            if results.tests and tests != planned:
                wrong.append(f"{tests} records for {planned} tests")
    except (AssertionError, IndexError, subprocess.TimeoutExpired) as error:
        wrong = [f"no complete result: {error!r:.200}"]
    return [*wrong, "a process is left"] if processes_with(str(output)) else wrong


def rounds() -> dict[str, Round]:
    """Returns one round of each act: what is wrong about what was said of it."""
    checks: dict[str, Callable[[Path, str], Complaints]] = {}
    checks |= dict.fromkeys((*NO_LIBRARY, "directory"), _bad_files)
    checks |= dict.fromkeys(NO_START, _no_start)
    for name, (_, cause) in IN_A_TEST.items():
        checks[name] = _at_the_end if cause.startswith(("close", "exit")) else _in_a_test
    checks |= dict.fromkeys(INERT, _inert)
    checks |= dict.fromkeys(STARTED, _started)
    checks |= dict.fromkeys(MISNAMED, _misnamed)
    return {name: partial(_whole, check=check, name=name) for name, check in checks.items()}
