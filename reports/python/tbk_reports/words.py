# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""How states, phases, codes and failures are called, the same in every report."""

from __future__ import annotations

import re

from . import recorded, text
from .finding import ENDINGS as ORDER_ENDINGS
from .model import VERDICTS, Test

# Worst first. Two are no verdicts: "trivial" is a pass that shows nothing about ordering, "partly"
# is a clause of which some tests pass while others could not be run or showed nothing.
STATES = (*VERDICTS[:-1], "partly", "trivial", "pass")
HOLDING = frozenset({"pass", "trivial"})
LEVELS = ("must", "should", "may")
EARLY_PHASES = ("load", "create", "open")
# After the vendor's own causes: nothing that the vendor can mend.
UNCLEAR = "unclear"  # the backend, or a limit of the machine that the run had
FOREIGN_BLAME = ("suite", "harness", UNCLEAR)

STATE_WORDS = {
    "suite-error": "suite error",
    "trivial": "holds trivially",
    "partly": "holds in part",
    "not-shown": "not shown",
    "not-reached": "not reached",
    "left-out": "left out",
    "xfail": "expected failure",
    "xpass": "unexpected pass",
}
STATE_MEANING = {
    "pass": "checked, and it holds",
    "trivial": "holds, but this device could not have shown the fault",
    "partly": "some of its tests pass, others could not be run or showed nothing",
    "not-shown": "ran, but proved nothing on this device",
    "unsupported": "not run: the backend does not declare what it needs",
    "left-out": "not run: the budget left it out",
    "warning": "a recommendation, a should, is not met",
    "xfail": "fails, and is known to fail",
    "xpass": "a waiver says that it fails, and it passes",
    "not-reached": "planned, but the run ended before it",
    "unstable": "passes and fails from one repeat to the next",
    "polluted": "fails together with others, passes alone",
    "fail": "a check does not hold",
    "hang": "did not end in its time",
    "crash": "the process died",
    "poisoned": "the device no longer computes after it",
    "suite-error": "the test itself is at fault",
}
PHASE_WORDS = {
    "load": "while the library was loaded",
    "create": "in the entry point",
    "open": "while the device was opened",
    "body": "in the test",
    "clean": "in the checks after the test",
    "close": "while the device was closed",
    "exit": "while the process ended",
}
_DEATH_PHASES = {"none": "before the library was loaded", **PHASE_WORDS}
GATE_WORDS = {
    "full": "a closed gate holds one stream; others go on",
    "one_queue": "a closed gate holds every stream of the device",
    "synchronous": "the device executes at once: ordering holds trivially",
    "none": "no stream can be held: ordering is not shown",
}
# What helps where there is no verdict, by exit code.
ADVICE = {
    2: "Look at the message above and at tbk run --help.",
    3: "Look at --only and --shard, and with tbk list at what the backend declares.",
    4: "Look at the path; whether the library loads (ldd) and exports tbk_backend_create (nm -D).",
    5: "Look at whether the driver sees the device, and whether another process holds it.",
    6: "This is not the backend's fault. Please report it with the result file.",
    7: "The same command with --resume goes on where the run ended.",
    8: "Look at the free space and the permissions of the folder, then use --resume.",
}
# Of a device that PyTorch knows, without a library of this interface.
DEVICE_ADVICE = {
    4: "Import the same modules in this Python, without the suite: what is said above is theirs.",
    5: "Try in plain PyTorch what is said above; look at --import, at whether the driver sees the "
    "device, and whether another process holds it.",
}
SIMULATED = (
    "software stands in for the device, so nothing is said of weak memory, of work that really "
    "overlaps, of clocks and speed, or of the results and rounding of a vendor's libraries"
)
ERROR_WORDS = {
    2: "the command could not be used",
    3: "nothing was selected",
    4: "the library is no backend",
    5: "no device can be used",
    6: "the suite itself is at fault",
    7: "the run was interrupted",
    8: "the results could not be written",
}
DEVICE_ERROR_WORDS = {4: "what makes PyTorch know the device cannot be imported"}


def state_words(state: str) -> str:
    return STATE_WORDS.get(state, state)


ENDINGS = {
    "exited": "The process exits",
    "memory": "The memory limit is exceeded",
    "killed-its-parent": "The process kills its parent",
    "stopped": "The process stops itself",
    "stopped-its-parent": "The parent of the process is stopped",
    "unkillable": "A hang that SIGKILL does not end",
    "processes": "Too many processes are started",
    "report-lost": "The report of the test is lost",
}
# What the suite finds without a check of a test, by its whole name.
FOUND_BESIDE = {
    "fail/writes-on-a-foreign-descriptor": "Writes to a file descriptor that is not its own",
    "fail/changes-the-harness": "Changes the limits of a process that is not its own",
    "fail/poisons-the-device": "Leaves the device unable to compute",
    "poisoned": "The device no longer computed in the process of the test",
    "unstable": "Another verdict when the same test is repeated",
    "not-reached": "The run ended before the test",
    "not-reached/after-hangs": "No end in the time that was left after other tests hung",
    "suite-error/lost": "The run ended, and the test had no verdict",
    "suite-error/no-check": "The test ended without a check",
    "suite-error/no-process": "The test was given no process",
}


MANY_CLAUSES = 4
# As PyTorch says it, of its dispatcher and of its fallback.
_MISSING = re.compile(
    r"(?:Could not run|The operator|NotImplementedError:?|no kernel (?:of|for))\s+'?(aten::[\w.]+)"
)


# A dispatch key beside that of the device's own kernels, of which all may be missing together.
_MISSING_KEY = re.compile(r"from the '((?:Autocast|Autograd|Sparse|Quantized|Nested)\w+)' backend")
_RAISED = re.compile(r"[A-Za-z_][\w.]*(?:Error|Exception|Warning)\b")
_NUMBERS = re.compile(r"\d+(?:\.\d+)?(?:e[+-]?\d+)?")
NO_EXCEPTION = ("no exception", "a result")


def missing_operator(test: Test) -> str:
    """Returns the operator that a failed test found to be missing: "aten::add.out"; empty where
    none."""
    found = None if _missing_key(test) else _MISSING.search(f"{test.seen}\n{test.what}")
    return found[1].rstrip(".") if found else ""


def _missing_key(test: Test) -> str:
    """Returns the dispatch key for which there are no kernels: "AutocastPrivateUse1"; empty where
    none."""
    found = _MISSING_KEY.search(test.seen)
    return found[1] if found else ""


def _operator(test: Test) -> str:
    name = test.facts.get("operator")
    return text.line(name, 80) if isinstance(name, str) else ""


def cause_of(test: Test) -> str:
    """Returns what failures of one cause share.

    In the torch layer a missing operator is one cause, wherever it is missed, and so is one
    exception, whatever was called; but wrong numbers of two operators are two causes.
    """
    if test.recorded not in ("fail", "warning") or test.layer != "torch":
        return test.cause
    missing = missing_operator(test)
    if missing:
        return f"missing/{missing}"
    if _missing_key(test):
        return f"missing/kernels for {_missing_key(test)}"
    operator = _operator(test)
    if test.expected in NO_EXCEPTION and _RAISED.match(test.seen):
        said = test.seen.replace(operator, "the operator") if len(operator) > 2 else test.seen
        return f"raises/{text.line(_NUMBERS.sub('N', said), 140)}"
    return f"{test.cause.rstrip('/')}/{operator}" if operator else test.cause


def fingerprint(test: Test) -> str:
    """Returns what failures of one cause share. All crashes look alike, so theirs names the clause,
    too; and so does that of a warning, which no failure shares."""
    cause = cause_of(test)
    if not cause:
        return f"{test.clause}/{test.recorded}"
    return cause if test.recorded == "fail" else f"{cause}/{test.clause}"


def fingerprint_words(test: Test, clauses: int, subject: str = "") -> str:
    """tbk-run's fingerprints in words: crash/PHASE/SIGNAL, hang/PHASE, fail/FILE/CHECK/SEEN,
    required/WORD, and those that have no parts."""
    kind, *rest = cause_of(test).split("/")
    if kind == "missing":
        verb = "is" if "::" in rest[0] else "are"
        return f"{rest[0]} {verb} missing (in {text.count_words(clauses, 'clause')})"
    if kind == "raises":
        more = f" (in {text.count_words(clauses, 'clause')})"
        return text.shorten(text.line(test.seen, 200), 150 - len(more)) + more
    if kind == "fail" and test.layer == "torch" and _operator(test):
        return f"{_operator(test)}: {difference_words(test)}"
    if kind == "order" and len(rest) > 1:
        *others, last = rest[1].split("+")
        accused = f"{', '.join(others)} or {last}" if others else last
        return f"{ORDER_ENDINGS.get(rest[0], rest[0])} ({accused})"
    if kind == "not-reached" and rest and test.clause_text:
        return _given_up_words(test, subject)
    return _recorded_words(test, clauses, kind, rest, subject)


def _given_up_words(test: Test, subject: str) -> str:
    """Returns what was begun, and got no more time."""
    named = f", {subject}" if subject else ""
    said = text.shorten(test.clause_text, 110)
    return f"{test.clause}{named}: no end in the time that was left; {said}"


def _words_beside(test: Test, kind: str, rest: list[str]) -> str:
    """Returns what was found without a check of a test; empty where a check found it."""
    if kind == "required" and rest:
        return f"{rest[0]} is required, and the library does not declare it"
    if kind == "declared" and rest:
        return f"{rest[0]} is declared, and does not work as declared"
    return FOUND_BESIDE.get(test.cause, "")


def _recorded_words(test: Test, clauses: int, kind: str, rest: list[str], subject: str) -> str:
    said = _words_beside(test, kind, rest)
    if said:
        return said
    if kind in ("crash", "hang") and rest and rest[0] in _DEATH_PHASES:
        how = rest[1] if len(rest) > 1 and not rest[1].startswith("in ") else ""
        said = ENDINGS.get(how) or ("Hang" if kind == "hang" else f"Crash ({how})")
        called = rest[-1] if rest[-1].startswith("in ") else _DEATH_PHASES[rest[0]]
        return f"{said} {called}"
    if kind == "fail" and test.phase == "clean" and test.expected:
        return f"Does not hold after the test: {test.expected}"
    if kind == "fail" and clauses > MANY_CLAUSES:  # then the clause of the first says little
        more = f" (in {clauses} clauses)"
        return text.shorten(difference_words(test), 150 - len(more)) + more
    if kind == "fail" and len(rest) > 2:
        more = f" (and {text.count_words(clauses - 1, 'more clause')})" if clauses > 1 else ""
        said = text.shorten(test.clause_text, 150 - len(more)) if test.clause_text else test.what
        named = f", {subject}" if subject and not said.startswith(subject) else ""
        return f"{test.clause}{named}: {said}{more}"
    return ""


def difference_words(test: Test) -> str:
    """Returns what was expected and seen, in one line; a bare condition says nothing by its
    value.
    """
    if (test.expected.lower(), test.seen.lower()) == ("true", "false") and test.what:
        return f"does not hold: {text.line(test.what, 160)}"
    if test.expected:
        asked = f" from {test.call}" if _answers(test) else ""
        expected = text.line(test.expected, 110)
        return f"expected {expected}{asked}, seen {text.line(seen_words(test), 130)}"
    return f"seen: {text.line(seen_words(test), 200)}"


def _answers(test: Test) -> bool:
    """Returns whether what was checked is what the last call returned, as the source says."""
    return bool(test.call) and f"->{test.call}(" in test.what and test.call not in test.seen


def check_words(test: Test) -> str:
    """The check as it stands in the source, where, and its clause where that is not the test's."""
    said = f"{text.line(test.what, 160)} ({test.where})" if test.where else test.what
    other = test.checked if said and test.checked != test.clause else ""
    return f"{said}, a check of {other}" if other else said


def seen_words(test: Test) -> str:
    """Returns what was seen, also where no check had the time to say so."""
    said = last_words(test)
    if test.seen:
        return f"{test.seen}; it said: {said}" if said else test.seen
    if test.verdict == "crash":
        if test.signal not in ("", "0"):
            return f"the process died of signal {test.signal}"
        return f"the process ended with status {test.exit_status or 'unknown'}"
    if test.verdict == "hang":
        return f"no end after {text.time_words(test.wall_ns or test.duration_ns)}"
    return state_words(test.verdict)


def sentence(test: Test) -> str:
    """Returns what was expected and seen, in plain words, with the place of the check."""
    clause = f"{test.clause} " if test.clause else ""
    expected = f"expected {text.line(test.expected, 160)}, " if test.expected else ""
    where = test.where or stood_words(test)[1]
    at = f" ({text.line(where, 200)})" if where else ""
    seen = text.line(seen_words(test), 200)
    return f"{clause}{state_words(test.verdict)}: {expected}seen {seen}{at}"


_SUMMARY = re.compile(
    r"^(?:SUMMARY: .+|.+: runtime error: .+|.*Assertion .+ failed.*|.*assertion failed.*)$",
    re.MULTILINE,
)
SIGKILL = "9"  # comes from outside: what was written before says nothing of it


def last_words(test: Test) -> str:
    """Returns what a process of the C layer wrote last that a signal killed, or the line in which
    a sanitizer or an assertion says what it was; often that alone names the fault."""
    if test.recorded != "crash" or test.layer == "torch" or test.signal in ("", "0", SIGKILL):
        return ""
    lines = [one for one in test.output.splitlines() if one.strip()]
    told = [*lines[-1:], *_SUMMARY.findall(test.output)]
    return text.line(told[-1], 160) if told else ""


def blame_words(test: Test) -> str:
    """Returns who is to blame, and how that was found out; the backend's guilt is only presumed
    where nothing was tried on another device."""
    if test.blame_how:
        return f"{test.blame}: {test.blame_how}"
    if test.blame == UNCLEAR:
        return "not clear: the backend, or a limit of the run"
    return f"{test.blame}, not cross-checked" if test.blame == "backend" else test.blame


def debug_words(test: Test) -> str:
    """Returns the command that runs a crash or hang of the C layer under gdb; empty for all else.
    RESULTS stands for the result file, which may have gone elsewhere since."""
    if test.recorded not in ("crash", "hang") or test.layer == "torch":
        return ""
    command = recorded.read(test.replay)  # gdb gets nothing to preload
    if command.program != "tbk-run" or command.preloads or not _PLAIN_ID.fullmatch(test.id):
        return ""
    return f"tbk replay --gdb RESULTS {test.id}"


_PLAIN_ID = re.compile(r"[A-Za-z0-9_]+/[A-Za-z0-9_]+")
_FRAME = re.compile(r'File "([^"\n]+)", line (\d+)(?:,)? in ([\w.<>]+)')
_RUNNER = re.compile(r"/(?:_?pytest|pluggy|tbk_harness)/|<frozen|<string>")
_NATIVE = re.compile(r"#\d+ (.+)")
_SYSTEM = re.compile(r"\((?:libc|libm|libpthread|libstdc\+\+|libgcc_s|ld-linux[\w-]*)[.-][\w.-]*\+")
_DEAD = re.compile(r"most recent call first\)?:?\s*\n")


def stood_words(test: Test) -> tuple[str, str]:
    """Returns where a crash or hang stood, as a label and words: in Python, or in which function.

    The words are empty where that is not known.
    """
    if test.recorded not in ("crash", "hang"):
        return ("", "")
    return ("in Python", _python(test)) if test.layer == "torch" else ("stack", _native(test))


def _native(test: Test) -> str:
    """Returns the innermost function that is not of the C library, and its caller."""
    frames = [found[1] for line in test.stack.splitlines() if (found := _NATIVE.match(line))]
    own = [frame for frame in frames if not _SYSTEM.search(frame)] or frames
    return text.line(", called from ".join(own[:2]), 260)


def _python(test: Test) -> str:
    dump = _DEAD.split(test.output)
    if len(dump) < 2:
        return ""
    frames = [found.groups() for found in _FRAME.finditer(dump[-1])]
    own = [frame for frame in frames if not _RUNNER.search(frame[0])]
    if not own:
        return ""
    called = next((frame for frame in own[1:] if "/tbk_contracts/" in frame[0]), None)
    inner = _frame_words(own[0])
    outer = "" if called is None or "/tbk_contracts/" in own[0][0] else _frame_words(called)
    return f"{inner}, called from {outer}" if outer else inner


def _frame_words(frame: tuple[str, ...]) -> str:
    path, number, function = frame
    return text.line(f"{'/'.join(path.split('/')[-2:])}:{number} in {function}", 120)
