# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
# torch_memory_sequences/memory_in_use[first-24], alone
#
# MEM-538: in whatever order memory is allocated, used, recorded, freed, emptied or run out of, no byte is given out that a tensor or pending work has.
# expected: no exception
# seen:     NotImplementedError: Could not run 'aten::record_stream' with arguments from the 'CPU' backend. This could be because the operator doesn't exist for this backend, or was omitted during the selective/custom build process (if using custom build). If you are a Facebook employee using PyTorch on mobile, please visit https://fburl.com/ptmfixes for possible resolutions. 'aten::record_stream' is only av…
#
#     python torch_memory_sequences-memory_in_use-first-24.py                 on the device of the run
#     python torch_memory_sequences-memory_in_use-first-24.py --device cpu    the same on PyTorch's own CPU
#
# It needs PyTorch, pytest and what brings the device, and nothing of tbk's test suite. It ends
# with 0 where the test passes and with 1 where it fails, or it crashes or hangs as the test did.
import faulthandler
import importlib.abc
import importlib.util
import linecache
import os
import sys

os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
import pytest
import torch

ID = 'torch_memory_sequences/memory_in_use[first-24]'
NODE = 'test_memory_in_use[first-24]'
SEED = 1
DEVICE = 'accinte'  # empty: the one that the library below registers
START = 'import torch\nimport torch_accinte'
TEST_NAME = 'tbk_contracts.torch.test_memory_sequences'
TEST = r'''
from __future__ import annotations
import time
from collections.abc import Callable
import pytest
import torch
from tbk_contracts.torch import capability, check, run_seed
from tbk_contracts.torch.case import clause, needs
from tbk_contracts.torch.extremes import place
from tbk_contracts.torch.lifetime import calls, search
from tbk_contracts.torch.lifetime.execute import Device
from tbk_contracts.torch.lifetime.finding import NoRoom
WORDS = ("memory_stats", "memory_info", "oom", "addresses")
MOST_S = 20.0  # of a device on which a sequence takes long
MANY = 120
each_length = pytest.mark.parametrize(
    "sequences", [24, pytest.param(MANY, marks=pytest.mark.thorough)]
)
each_device = pytest.mark.parametrize(
    "on", ["first", pytest.param("second", marks=needs("two_devices"))]
)


def _search(device: torch.device, sequences: int, *, figures: bool) -> tuple[Device, search.Result]:
    """Returns what the sequences have come to. Raises NoRoom where the suite's own tensors do not
    fit."""
    words = {word for word in WORDS if capability.probe(word, device).held}
    subject = Device(device, words, figures=figures)
    until = time.monotonic() + MOST_S
    result = search.search(subject, words, run_seed.chosen(), range(sequences), until=until)
    check.fact(sequences=result.sequences, no_room=result.no_room, controls=result.controls,
               controls_shown=result.controls_shown, pending_frees=subject.shown.pending_frees,
               figures=subject.shown.figures)  # fmt: skip
    _judge(result)
    if result.no_room == result.sequences:
        raise NoRoom
    return subject, result


def _where_it_fits(test: Callable[[], object]) -> None:
    """A device may have no room; then the test has shown nothing."""
    try:
        test()
    except NoRoom:
        check.should("room for some tensors", True, expected="", seen="")
        check.evidence(check.NOT_SHOWN, "the device has no room for any sequence")


def _judge(result: search.Result) -> None:
    found = result.finding
    if found is None:
        check.that("sequences", True, expected="", seen="")
        return
    check.that(
        f"{found.wrong.what}, of {found.wrong.clause}", False, expected=found.wrong.expected,
        seen=f"{found.wrong.seen}; in {calls.line(found.calls)}; run again, it showed"
        f" {found.shown} of {search.REPLAYS} times",
    )  # fmt: skip


def _judge_order(device: torch.device, sequences: int) -> None:
    subject, result = _search(device, sequences, figures=False)
    if not subject.asynchronous:
        check.evidence(check.TRIVIAL, "work is complete when the call returns")
    elif not result.controls_shown:
        check.evidence(
            check.NOT_SHOWN, "controls that do not tell of other streams went right, too"
        )


@each_length
@each_device
@clause("MEM-538", needs="accelerator stream event")
def test_memory_in_use(device: torch.device, on: str, sequences: int) -> None:
    """What tensors hold and pending work reads, whatever is freed and made around it."""
    there = place({"device": on}, device)
    _where_it_fits(lambda: _judge_order(there, sequences))
'''

# ------------------------------------------------------------------------------------------------
# What runs it. The modules below are the parts of tbk's contract tests that the test stands on.

MODULES = {
    "tbk_contracts.torch.capability": (False, r'''
from __future__ import annotations
import itertools
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Any
import torch
from tbk_contracts.torch import host, process
from tbk_contracts.torch.case import DTYPES
from tbk_contracts.torch.operators import subnormal
Probe = Callable[[torch.device], bool]
MODULE = ("device_count", "current_device", "set_device", "synchronize", "get_rng_state",
          "set_rng_state", "manual_seed_all")  # fmt: skip
SMALL_ENOUGH = 64 << 30  # bytes: a device whose memory a test may fill


@dataclass(frozen=True)
class Answer:
    """Whether a word holds of a device; the reason is what the probe raised, if it did."""

    held: bool
    reason: str = ""


def _module(device: torch.device) -> Any:
    return torch.get_device_module(device)


def _is_accelerator(device: torch.device) -> bool:
    current = torch.accelerator.current_accelerator()
    return current is not None and current.type == device.type


def _has_module(device: torch.device) -> bool:
    return all(hasattr(_module(device), name) for name in MODULE)


def _works_in_a_fork(device: torch.device) -> bool:
    """Asked before the first use. A driver may start threads when its devices are counted; then a
    forked child waits for ever, which no test but those of forking may be failed for."""
    sent = host.counting((4,))
    ended = process.in_fork(
        lambda: torch.equal(host.download(host.upload(sent, device)), sent), process.PROBE_S
    )
    if ended.error:
        raise RuntimeError(f"in a forked child: {ended.error}")
    return ended.value is True and ended.exit_code == 0


def _is_renamed(device: torch.device) -> bool:
    return device.type == torch._C._get_privateuse1_backend_name()


def _is_autoloaded(device: torch.device) -> bool:
    """A package that was imported declares itself to PyTorch; there is one device of this kind."""
    declared = {entry.module.partition(".")[0] for entry in entry_points(group="torch.backends")}
    return _is_renamed(device) and not declared.isdisjoint(sys.modules)


def _has_two_devices(device: torch.device) -> bool:
    return device.type != "cpu" and int(_module(device).device_count()) > 1


def _has_streams(device: torch.device) -> bool:
    if not _is_accelerator(device):
        return False
    own, current = torch.Stream(device), torch.accelerator.current_stream(device)
    return own.device.type == device.type and own.stream_id != current.stream_id


def native_handle(stream: torch.Stream) -> object:
    """Returns the handle of the vendor's runtime; NotImplementedError where there is none."""
    return stream.native_handle  # type: ignore[attr-defined]  # torch's stubs lack it


def _has_native_handles(device: torch.device) -> bool:
    return _has_streams(device) and isinstance(native_handle(torch.Stream(device)), int)


def _has_events(device: torch.device) -> bool:
    if not _is_accelerator(device):
        return False
    event = torch.Event(device)
    event.record(torch.accelerator.current_stream(device))
    event.synchronize()
    return True  # that it is complete now is for a test to say


def _has_event_timing(device: torch.device) -> bool:
    if not _is_accelerator(device):
        return False
    first, last = (torch.Event(device, enable_timing=True) for _ in range(2))
    for event in (first, last):
        event.record(torch.accelerator.current_stream(device))
        event.synchronize()
    return isinstance(first.elapsed_time(last), float)


def _is_asynchronous(device: torch.device) -> bool:
    """Work is pending when the call returns. A chain of operators is long enough to be seen."""
    return _is_accelerator(device) and any(_was_pending(device) for _ in range(4))


def _was_pending(device: torch.device) -> bool:
    """One try: a host that is held up asks when all is done, however the device works."""
    work = host.upload(host.values((256, 256)), device)
    for _ in range(64):
        work = work @ work
    event = torch.Event(device)
    event.record(torch.accelerator.current_stream(device))
    pending = not event.query()
    event.synchronize()
    return pending


def _has_pinned_memory(device: torch.device) -> bool:
    """There is an allocator. That it pins, and says so, is for the tests."""
    return _is_accelerator(device) and torch.empty(16, pin_memory=True).numel() == 16


def _has_memory_stats(device: torch.device) -> bool:
    if not _is_accelerator(device):
        return False
    return isinstance(torch.accelerator.memory_allocated(device), int)


def _memory_info(device: torch.device) -> tuple[int, int]:
    free, total = torch.accelerator.get_memory_info(device)
    return int(free), int(total)


def _has_memory_info(device: torch.device) -> bool:
    return _is_accelerator(device) and 0 <= _memory_info(device)[0] <= _memory_info(device)[1]


def _can_run_out(device: torch.device) -> bool:
    return _has_memory_info(device) and 0 < _memory_info(device)[1] <= SMALL_ENOUGH


def _has_generator(device: torch.device) -> bool:
    return torch.Generator(device).device.type == device.type


def _has_autocast(device: torch.device) -> bool:
    """PyTorch answers for a whole device type; what is computed in must be there, too."""
    if not torch.amp.is_autocast_available(device.type):
        return False
    return _goes_round(torch.get_autocast_dtype(device.type), device)


def _has_initialisation(device: torch.device) -> bool:
    return _is_accelerator(device) and hasattr(_module(device), "is_initialized")


def _has_addresses(device: torch.device) -> bool:
    """Live tensors lie apart. Handles that are no addresses are nearer than tensors are large.

    A handle may be the address of a record on the host's heap, and a few of those can lie far
    apart, where others were freed; of more than the heap keeps for reuse, two are neighbours.
    """
    size = 1 << 16
    held = [torch.empty(size, dtype=torch.uint8, device=device) for _ in range(32)]
    places = sorted(tensor.data_ptr() for tensor in held)
    return all(later - place >= size for place, later in itertools.pairwise(places))


def _copies_on_write(device: torch.device) -> bool:
    clone = torch._lazy_clone(host.upload(host.values((8,)), device))
    return bool(torch._C._is_cow_tensor(clone))  # type: ignore[attr-defined]


def _has_device_interface(device: torch.device) -> bool:
    if _is_renamed(device) and "torch._dynamo.device_interface" not in sys.modules:
        return False  # whoever registers one has imported that
    from torch._dynamo.device_interface import get_interface_for_device  # noqa: PLC0415  # slow

    return get_interface_for_device(device.type) is not None


def _has_profiler(device: torch.device) -> bool:
    """Device time is measured."""
    if not _is_accelerator(device):
        return False
    work = host.upload(host.values((64, 64)), device)
    with torch.profiler.profile(activities=torch.profiler.supported_activities()) as profiler:
        (work @ work).sum().item()
    return any(row.self_device_time_total > 0 for row in profiler.key_averages())


def _tells_capability(device: torch.device) -> bool:
    """A guard need not tell: PyTorch's own answer is that the backend does not support it."""
    if not _is_accelerator(device):
        return False
    return isinstance(torch.accelerator.get_device_capability(device)["supported_dtypes"], set)


def _tells_bad_fork(device: torch.device) -> bool:
    """PyTorch does without the function: it warns that seeds have no effect."""
    return callable(getattr(_module(device), "_is_in_bad_fork", None))


def properties(device: torch.device) -> Any:
    """Returns what its module says of it; None where the module says nothing."""
    ask = getattr(_module(device), "get_device_properties", None)
    return None if ask is None else ask(device)


def is_exclusive(device: torch.device) -> bool:
    """Returns whether its properties say that one process at a time may have it."""
    return getattr(properties(device), "exclusive", False) is True


def _counts_fallbacks(device: torch.device) -> bool:
    return callable(getattr(_module(device), "fallbacks", None))


def _goes_round(dtype: torch.dtype, device: torch.device) -> bool:
    sent = host.counting((8,), dtype)
    return bool(torch.equal(host.download(host.upload(sent, device)), sent))


def _has_dtype(name: str) -> Probe:
    dtype: torch.dtype = getattr(torch, name)

    return lambda device: _goes_round(dtype, device)
WORDS: dict[str, tuple[str, Probe]] = {
    "fork": ("a child that is forked before the first use may use it", _works_in_a_fork),
    "accelerator": ("torch.accelerator answers with it", _is_accelerator),
    "module": ("torch.<name> has the functions of a device module", _has_module),
    "privateuse1": ("PyTorch knows it by a package of its own, not by its own code", _is_renamed),
    "autoload": ("its package declares it to PyTorch, for `import torch` alone", _is_autoloaded),
    "two_devices": ("there are two of them", _has_two_devices),
    "stream": ("it has streams beside the default one", _has_streams),
    "native_handle": ("streams tell the handle of the vendor's runtime", _has_native_handles),
    "event": ("it has events", _has_events),
    "event_timing": ("events measure time", _has_event_timing),
    "async": ("work may be pending when a call returns", _is_asynchronous),
    "pinned": ("it has pinned host memory", _has_pinned_memory),
    "memory_stats": ("its allocator counts", _has_memory_stats),
    "memory_info": ("it says how much memory is free", _has_memory_info),
    "oom": ("its memory is small enough to be filled by a test", _can_run_out),
    "generator": ("it has a random number generator", _has_generator),
    "autocast": ("autocast knows it, and it has autocast's dtype", _has_autocast),
    "lazy": ("it tells whether it has been initialised", _has_initialisation),
    "addresses": ("pointers of its tensors are addresses, of each byte", _has_addresses),
    "cow": ("lazy clones of its tensors share memory until one is written", _copies_on_write),
    "profiler": ("the profiler measures its time", _has_profiler),
    "device_interface": ("torch._dynamo knows it", _has_device_interface),
    "capability_query": ("it tells which dtypes it supports", _tells_capability),
    "bad_fork": ("its module tells a forked child whether it may use it", _tells_bad_fork),
    "fallback_count": ("its module counts what fell back to the host", _counts_fallbacks),
    "subnormals": ("subnormal numbers are kept", subnormal.kept),
    # Of these PyTorch 2.11 has none, whatever the device.
    "host_cache": ("PyTorch can be told to give its cache of pinned memory back",
                   lambda _: hasattr(torch.accelerator, "empty_host_cache")),
    "capture": ("PyTorch's streams tell whether they are captured",
                lambda _: hasattr(torch.Stream, "is_capturing")),
    "graph": ("PyTorch has graphs for devices of any kind",
              lambda _: hasattr(torch.accelerator, "Graph")),
    "exclusive": ("its properties say that one process at a time may have it", is_exclusive),
    **{f"dtype:{name}": (f"tensors of {name} can be copied to it and back", _has_dtype(name))
       for name in DTYPES},
}  # fmt: skip


def probe(word: str, device: torch.device) -> Answer:
    """Asks `device` for one word. An exception is a no, with its text."""
    try:
        return Answer(WORDS[word][1](device))
    except Exception as error:
        return Answer(False, f"{type(error).__name__}: {' '.join(str(error).split())[:200]}")
'''),
    "tbk_contracts.torch.case": (False, r'''
from __future__ import annotations
from typing import Literal
import pytest
Tier = Literal["quick", "thorough"]


def clause(
    clause_id: str,
    needs: str = "",
    *,
    fresh: bool = False,
    alone: bool = False,
    slow: bool = False,
    tier: Tier = "quick",
) -> pytest.MarkDecorator:
    """This test shows that clause.

    `needs`: capability words, space-separated, without which it says nothing; "!word" wants one
    absent. `fresh`: wants a process that has used no device yet. `alone`: nothing else may run
    beside it, because it takes all memory or measures time. `slow`: takes seconds on any
    machine, as where something is compiled; a budget takes it late. `tier`: a "thorough" test
    takes seconds, and runs with --tier thorough or named by its id.

    A file whose tests take several times as long as one that copies a few bytes says so in `COST`,
    for the order of a run with a budget.
    """
    return pytest.mark.clause(
        clause_id, needs=needs, fresh=fresh, alone=alone, slow=slow, tier=tier
    )


def needs(words: str) -> pytest.MarkDecorator:
    """Further words, for one parameter of a test."""
    return pytest.mark.needs(words)
DTYPES = (
    "float64", "float32", "float16", "bfloat16", "complex64", "complex128",
    "int8", "int16", "int32", "int64", "uint8", "bool",
)  # fmt: skip
'''),
    "tbk_contracts.torch.check": (False, r'''
from __future__ import annotations
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
TRIVIAL = "trivial"
NOT_SHOWN = "not-shown"
_SHOWN = 400  # characters of a value in a message


@dataclass
class Totals:
    """What one test has checked."""

    checks: int = 0
    failure: ContractFailure | None = None
    """The first check that did not hold, whatever became of its exception."""
    warning: ContractFailure | None = None
    """The first recommendation that was not met."""
    evidence: str | None = None
    """None: shown. Else TRIVIAL (holds on this device whatever happens) or NOT_SHOWN."""
    evidence_reason: str = ""
    notes: list[str] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)


class ContractFailure(AssertionError):  # noqa: N818  # a failure, not an error
    """A check that does not hold: of what, what was expected, what was seen, and where."""

    def __init__(self, what: str, expected: str, seen: str, where: str) -> None:
        super().__init__(f"{what}: expected {expected}, saw {seen}")
        self.what, self.expected, self.seen, self.where = what, expected, seen, where
_lock = threading.Lock()
_totals = Totals()


def begin() -> None:
    """A test begins: nothing is counted yet."""
    global _totals  # noqa: PLW0603  # one test at a time in a process
    with _lock:
        _totals = Totals()


def totals() -> Totals:
    """Returns what the test that runs, or ran last, has checked."""
    return _totals


def _where() -> str:
    """Returns the line of the test: the innermost frame outside of this file."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename == __file__:
        frame = frame.f_back
    return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"


def shown(value: object) -> str:
    """Returns a value in a message: one line, not too long."""
    text = " ".join(repr(value).split())
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."


def _text(value: object) -> str:
    return value if isinstance(value, str) else shown(value)


def _counted(what: str, held: bool, expected: object, seen: object) -> ContractFailure | None:
    with _lock:
        _totals.checks += 1
    return None if held else ContractFailure(what, _text(expected), _text(seen), _where())


def that(what: str, held: bool, *, expected: object, seen: object) -> None:
    """`what` is a stable name of what is checked, without values: failures are grouped by it."""
    failure = _counted(what, held, expected, seen)
    if failure is None:
        return
    with _lock:
        _totals.failure = _totals.failure or failure
    raise failure


def should(what: str, held: bool, *, expected: object, seen: object) -> None:
    """As `that`, of a recommendation: the test goes on, and what it comes to is a warning."""
    unmet = _counted(what, held, expected, seen)
    with _lock:
        _totals.warning = _totals.warning or unmet


def evidence(kind: str, reason: str) -> None:
    """The checks hold, and show less than they should: TRIVIAL or NOT_SHOWN, and why."""
    if kind not in (TRIVIAL, NOT_SHOWN):
        raise ValueError(f"evidence is {TRIVIAL} or {NOT_SHOWN}, not {kind}")
    with _lock:
        _totals.evidence, _totals.evidence_reason = kind, reason


def fact(**members: Any) -> None:
    """Members of the test's record: numbers, texts, lists of them."""
    with _lock:
        _totals.facts.update(members)
'''),
    "tbk_contracts.torch.extremes": (False, r'''
from __future__ import annotations
import torch
from tbk_contracts.torch.pairs import Case


def place(case: Case, device: torch.device) -> torch.device:
    """Returns the device that the case names; the current one stays as it is."""
    return torch.device(device.type, 1) if case.get("device") == "second" else device
'''),
    "tbk_contracts.torch.gate": (False, r'''
from __future__ import annotations
import ctypes
import os
import time
import torch
_MESSAGE = 512
_SYNCHRONOUS = 1  # KEEPER_SYNCHRONOUS
FIRST_S, ATTEMPTS = 0.25, 4  # how long a probe holds a stream at most; each time twice as long
PATIENCE_S = 10.0  # for work whose gate is open
LEAST_S, LONGER = 0.03, 8  # work that stays pending so long, or so often its usual time, is held
LIBRARY, KEEPER = "TBK_GATE", "TBK_GATE_KEEPER"  # files, for the proofs of order of a process


class GateError(Exception):
    """The gate is none, or does not do what it says; one line for people."""


class Gate:
    """The one of this process. One thread closes it, one stream at a time."""

    def __init__(self, library: str, keeper: str, inside: int | None = None) -> None:
        """Loads `library`. `keeper` is libtbk_gate_keeper.so; `inside` the address of a number that
        counts the calls that are within the gate, for who watches this process.

        Raises GateError.
        """
        self._library = library
        self._keeper = ctypes.CDLL(keeper)  # which lets go of Python's lock meanwhile
        self._keeper.tbk_keeper_name.restype = ctypes.c_char_p
        self._keeper.tbk_keeper_is_shut.restype = ctypes.c_bool
        self._said = ctypes.create_string_buffer(_MESSAGE)
        self._checked(
            self._keeper.tbk_keeper_load(library.encode(), ctypes.c_void_p(inside), self._said)
        )

    @property
    def name(self) -> str:
        """Returns what the library calls itself."""
        said: bytes = self._keeper.tbk_keeper_name()
        return said.decode("utf-8", "replace")

    @property
    def is_shut(self) -> bool:
        """Returns whether a stream is held."""
        return bool(self._keeper.tbk_keeper_is_shut())

    def close(self, stream: torch.Stream, most_s: float) -> bool:
        """Holds a stream for `most_s` at most; first lets go of the one that is held. Returns False
        where the device, being synchronous, held the caller instead. Raises GateError."""
        try:
            handle: int = stream.native_handle  # type: ignore[attr-defined]
        except Exception as error:  # whatever a device raises
            why = str(error).partition("\n")[0]
            raise GateError(f"the device tells no native handles of streams: {why}") from error
        nanoseconds = ctypes.c_uint64(int(most_s * 1e9))
        address = ctypes.c_void_p(handle)
        index = stream.device_index
        code = self._keeper.tbk_keeper_close(index, address, nanoseconds, self._said)
        return self._checked(code) != _SYNCHRONOUS

    def let_go(self, after_s: float = 0) -> None:
        """Opens it in so many seconds, unless it is opened before. Waits for nothing."""
        self._keeper.tbk_keeper_let_go(ctypes.c_uint64(int(after_s * 1e9)))

    def stay(self, for_s: float) -> None:
        """What is held stays so for `for_s`: the host did not have to wait."""
        self._keeper.tbk_keeper_stay(ctypes.c_uint64(int(for_s * 1e9)))

    def settle(self) -> None:
        """Waits until it is open. Raises GateError where it could not be opened."""
        self._checked(self._keeper.tbk_keeper_settle(self._said))

    def _checked(self, code: int) -> int:
        if code < 0:
            raise GateError(" ".join(self._said.value.decode("utf-8", "replace").split()))
        return code

    # -------------------------------------------------------------------------------- probing --

    def holds(self, stream: torch.Stream) -> bool:
        """Returns whether it holds the stream, with nothing else pending; False where the device is
        synchronous, so that there is nothing to hold. Raises GateError: it closes nothing, or does
        not open."""
        with stream:
            value = torch.empty(64, dtype=torch.uint8, device=stream.device)
            value.zero_()  # what is done at first use takes long
        for attempt in range(ATTEMPTS):
            found = self._attempt(stream, value, FIRST_S * 2**attempt)
            if found is not None:
                return found
        return False  # it was open each time before the work was enqueued: the host had waited

    def _attempt(self, stream: torch.Stream, value: torch.Tensor, seconds: float) -> bool | None:
        torch.accelerator.synchronize(stream.device)
        usual_s = self._timed(stream, value)
        event = torch.Event(stream.device)
        if not self.close(stream, seconds):
            self.settle()
            self._await(stream, event)
            return False
        _enqueue(stream, value, event)
        pending = self._stays_pending(stream, event, max(LEAST_S, LONGER * usual_s))
        shut = self.is_shut
        self.let_go()
        self.settle()
        self._await(stream, event)
        if not shut:
            return None
        if not pending:
            raise GateError(
                f"the gate {self._library} closes nothing: "
                "work behind it was complete while it was closed"
            )
        return True

    def _timed(self, stream: torch.Stream, value: torch.Tensor) -> float:
        """Returns the seconds that the work of a probe takes with nothing shut."""
        event = torch.Event(stream.device)
        begin = time.monotonic()
        _enqueue(stream, value, event)
        self._await(stream, event)
        return time.monotonic() - begin

    def _stays_pending(self, stream: torch.Stream, event: torch.Event, seconds: float) -> bool:
        """Returns whether work is pending after `seconds`, or when the gate opens: asked at once,
        work that nothing holds is pending too."""
        until = time.monotonic() + seconds
        while not (event.query() and stream.query()):  # either may be what is broken
            if time.monotonic() > until or not self.is_shut:
                return True
            time.sleep(0.0005)
        return False

    def _await(self, stream: torch.Stream, event: torch.Event) -> None:
        until = time.monotonic() + PATIENCE_S
        while not (event.query() or stream.query()):
            if time.monotonic() > until:
                raise GateError(
                    f"the gate {self._library} does not open: "
                    f"{PATIENCE_S:g} s later the work behind it is not complete"
                )
            time.sleep(0.0005)


def _enqueue(stream: torch.Stream, value: torch.Tensor, event: torch.Event) -> None:
    with stream:
        value.fill_(1)
        event.record(stream)
_taken: dict[tuple[int, torch.device], Gate | None] = {}  # by process, as forks make their own


def of(device: torch.device) -> Gate | None:
    """Returns the gate that the environment names; None where there is none, or it does not hold
    streams of this device: what is proved is then proved by loads."""
    library, keeper = os.environ.get(LIBRARY), os.environ.get(KEEPER)
    if not library or not keeper:
        return None
    key = (os.getpid(), device)
    if key not in _taken:
        _taken[key] = _tried(library, keeper, device)
    return _taken[key]


def _tried(library: str, keeper: str, device: torch.device) -> Gate | None:
    try:
        found = Gate(library, keeper)
        return found if found.holds(torch.Stream(device)) else None
    except (GateError, RuntimeError):  # it was good before the first test, or the run had stopped
        return None


def shut(stream: torch.Stream, most_s: float) -> bool:
    """Holds the stream, where a gate is and holds no other one. Returns whether it does."""
    found = of(stream.device)
    if found is None or found.is_shut:
        return False
    try:
        return found.close(stream, most_s)
    except GateError:
        return False


def let_go() -> None:
    """Lets go of what is held in this process, and waits until it is open."""
    for (process, _), found in _taken.items():
        if process == os.getpid() and found is not None:
            found.let_go()
            found.settle()
'''),
    "tbk_contracts.torch.host": (False, r'''
from __future__ import annotations
import math
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar
import torch
from tbk_contracts.torch import run_seed
Result = TypeVar("Result")
JOIN_S = 60.0
GONE_S = 2.0


def seed(number: int = 0) -> torch.Generator:
    """Returns a generator on the host. Without a number, another one each time: no value comes
    twice, so that a block of memory that is used again does not hold the right answer by chance."""
    return torch.Generator("cpu").manual_seed(number or run_seed.fresh())


def values(
    shape: Sequence[int],
    dtype: torch.dtype = torch.float32,
    generator: torch.Generator | None = None,
) -> torch.Tensor:
    """Random values on the host: normal ones, integers over the range of int8, or booleans."""
    made = generator or seed()
    if dtype == torch.bool:
        return torch.randint(0, 2, tuple(shape), generator=made).to(torch.bool)
    if not (dtype.is_floating_point or dtype.is_complex):
        low = 0 if dtype == torch.uint8 else -100
        return torch.randint(low, 101, tuple(shape), generator=made).to(dtype)
    if dtype.is_complex:
        parts = torch.randn((*shape, 2), generator=made, dtype=torch.float64)
        return torch.view_as_complex(parts).to(dtype)
    return torch.randn(tuple(shape), generator=made, dtype=torch.float64).to(dtype)


def counting(shape: Sequence[int], dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """0, 1, 2, ... in this shape: each element tells where it came from."""
    return torch.arange(math.prod(shape), dtype=torch.int64).reshape(tuple(shape)).to(dtype)


def upload(tensor: torch.Tensor, device: torch.device) -> torch.Tensor:
    """Returns a copy on `device` with the same strides, where they are dense."""
    return tensor.to(device, copy=True)


def download(tensor: torch.Tensor) -> torch.Tensor:
    """Returns a copy on the host, which waits for what the tensor waits for."""
    return tensor.detach().to("cpu", copy=True)


def goes_round(dtype: torch.dtype, device: torch.device) -> bool:
    """Returns whether the device has tensors of `dtype`: they come back as they were sent."""
    sent = counting((8,), dtype)
    try:
        return torch.equal(download(upload(sent, device)), sent)
    except (RuntimeError, TypeError):
        return False


def in_thread(call: Callable[[], Result], timeout_s: float = JOIN_S) -> Result:
    """Returns what `call` returns or raises in a thread of its own."""
    return in_threads([call], timeout_s)[0]


def in_threads(calls: Sequence[Callable[[], Result]], timeout_s: float = JOIN_S) -> list[Result]:
    """Returns the same for several threads that run at once. One that does not end is an error."""
    results: list[Result | None] = [None] * len(calls)
    errors: list[BaseException] = []

    def run(index: int, call: Callable[[], Result]) -> None:
        try:
            results[index] = call()
        except BaseException as error:  # handed on to the caller below
            errors.append(error)

    threads = [threading.Thread(target=run, args=pair, daemon=True) for pair in enumerate(calls)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout_s)
        if thread.is_alive():
            raise TimeoutError(f"a thread has not ended after {timeout_s:g} s")
        _wait_until_gone(thread)
    if errors:
        raise errors[0]
    return results  # type: ignore[return-value]  # each has returned


def _wait_until_gone(thread: threading.Thread) -> None:
    """Python's join returns when a thread has left Python. What a device keeps for a thread goes
    later, as it ends in the kernel, which Linux tells."""
    told, until = Path(f"/proc/self/task/{thread.native_id}"), time.monotonic() + GONE_S
    while told.exists() and time.monotonic() < until:
        time.sleep(0.001)
'''),
    "tbk_contracts.torch.lifetime.calls": (False, r'''
from __future__ import annotations
from collections.abc import Sequence
from dataclasses import dataclass
STREAMS = 4
SLOTS = "abcdefgh"


@dataclass(frozen=True)
class Call:
    """One call; members that it does not have are as they are here."""

    name: str
    slot: str = ""
    bytes: int = 0
    stream: int = -1
    other: int = -1
    """The stream that is waited for."""
# What each call is followed by. Streams are s0, the one that is current from the start, to s3.
FORMS: dict[str, tuple[str, ...]] = {
    "alloc": ("slot", "bytes", "stream"),  # and writes it there
    "write": ("slot", "stream"),
    "read": ("slot", "stream"),
    "record": ("slot", "stream"),
    "free": ("slot",),
    "free_in_thread": ("slot",),
    "resize_to_0": ("slot",),  # of the storage; the tensor goes, too
    "hold": ("stream",),  # with long work
    "wait": ("stream", "other"),  # the first one for the second one
    "synchronize": ("stream",),
    "settle": (),  # waits for the device
    "empty_cache": (),
    "too_much": (),  # asks for more than there is
    "statistics": (),
    "reset_peak": (),
    "reset_sums": (),
}
FREES = ("free", "free_in_thread", "resize_to_0")


def _word(call: Call, member: str) -> str:
    value = getattr(call, member)
    return f"s{value}" if member in ("stream", "other") else str(value)


def line(calls: Sequence[Call]) -> str:
    """Returns the sequence as it is printed."""
    return "; ".join(
        " ".join([call.name, *(_word(call, member) for member in FORMS[call.name])])
        for call in calls
    )
'''),
    "tbk_contracts.torch.lifetime.draw": (False, r'''
from __future__ import annotations
import random
from collections.abc import Callable, Collection
from tbk_contracts.torch.lifetime.calls import FREES, SLOTS, STREAMS, Call
from tbk_contracts.torch.lifetime.model import MOST_READ, Model, Slot
SIZES = (1, 100, 511, 512, 513, 4096, 5000, 16_384, 70_001, 262_144, 1 << 20, (1 << 20) + 1,
         3_000_000)  # fmt: skip
LARGE = 40 << 20
SHARE = 64  # of its memory a tensor is at most so small a part, but for a large one
LARGE_ENOUGH = 5 * LARGE  # bytes that a device has, where large tensors are drawn
UNTOLD = 128 << 20  # bytes that a device is taken to have that does not tell
LENGTHS = (8, 40)
MOST_HELD = 2  # streams at a time
# How often, and the word that a device must have for it.
WEIGHTS: dict[str, tuple[float, str]] = {
    "allocate": (4, ""),
    "use": (5, ""),
    "release": (3, ""),
    "overtake": (4, ""),
    "hold": (3, ""),
    "wait": (1, ""),
    "synchronize": (0.7, ""),
    "settle": (0.5, ""),
    "empty_cache": (0.8, "memory_stats"),
    "too_much": (0.3, "oom"),
    "statistics": (0.8, "memory_stats"),
    "reset_peak": (0.3, "memory_stats"),
    "reset_sums": (0.3, "memory_stats"),
}


def most_read(total: int) -> int:
    """Returns how much a sequence may read: it needs as much memory."""
    return min(MOST_READ, total // 16)


class Drawing:
    """A sequence that grows; `words`: what the device has, `total`: how much memory."""

    def __init__(self, seed: str, words: Collection[str], total: int) -> None:
        self.random = random.Random(seed)  # noqa: S311
        self.model, self.calls = Model(most_read=most_read(total)), list[Call]()
        self.names = [name for name, (_, word) in WEIGHTS.items() if not word or word in words]
        sizes = [size for size in SIZES if size <= max(SIZES[0], total // SHARE)]
        self.sizes = self.random.choices(sizes, k=self.random.choice((1, 2, 3)))
        if total >= LARGE_ENOUGH and self.random.random() < 0.06:
            self.sizes.append(LARGE)

    def whole(self) -> list[Call]:
        """Returns the calls."""
        length = self.random.randint(*LENGTHS)
        steps: dict[str, Callable[[], None]] = {
            "allocate": self._allocate, "use": self._use, "release": self._release,
            "hold": self._hold, "wait": self._wait, "overtake": self._overtake,
        }  # fmt: skip
        weights = [WEIGHTS[name][0] for name in self.names]
        while len(self.calls) < length:
            name = self.random.choices(self.names, weights)[0]
            step = steps.get(name)
            if step is not None:
                step()
            elif name == "synchronize":
                self._add(Call(name, stream=self._stream()))
            else:
                if name.startswith("reset") and self.random.random() < 0.5:
                    self._add(Call("settle"))  # figures are exact there
                self._add(Call(name))
        return self.calls

    def _add(self, call: Call) -> None:
        if not self.model.why_not(call):
            self.model.take(call)
            self.calls.append(call)

    def _stream(self, *beside: int) -> int:
        return self.random.choice([one for one in range(STREAMS) if one not in beside])

    def _allocate(self, size: int = 0, stream: int = -1) -> None:
        unused = [name for name in SLOTS if name not in self.model.slots]
        size = size or self.random.choice(self.sizes)
        large = [slot for slot in self.model.slots.values() if slot.bytes == LARGE]
        if unused and not (size == LARGE and large):
            stream = self._stream() if stream < 0 else stream
            self._add(Call("alloc", unused[0], size, stream))

    def _hold(self) -> None:
        if len(self.model.held) < MOST_HELD:
            self._add(Call("hold", stream=self._stream()))

    def _wait(self) -> None:
        stream = self._stream()
        self._add(Call("wait", stream=stream, other=self._stream(stream)))

    def _use(self) -> None:
        """Reads or writes a tensor on some stream, often a held one, behind what it races with."""
        if not self.model.slots:
            return
        name = self.random.choice(list(self.model.slots))
        slot = self.model.slots[name]
        held = [one for one in self.model.held if one != slot.home]
        stream = self.random.choice(held) if held and self.random.random() < 0.6 else self._stream()
        self._use_on(name, stream, self.random.choice(("read", "read", "read", "write")))

    def _use_on(self, name: str, stream: int, kind: str) -> None:
        slot = self.model.slots[name]
        if stream != slot.home and self.random.random() < 0.3:
            self._add(Call("record", name, stream=stream))
        for use in self.model.racing(slot, stream, write=kind == "write"):
            if not self.model.known(stream, use):
                self._add(Call("wait", stream=stream, other=use.stream))
        self._add(Call(kind, name, stream=stream))

    def _overtake(self) -> None:
        """Frees a tensor that a held stream reads, and makes others in its place at once."""
        late = self.random.choice([*self.model.held] or [self._stream()])
        home = late if self.random.random() < 0.25 else self._stream(late, *self.model.held)
        mine = [name for name, slot in self.model.slots.items() if slot.home == home]
        if not mine or self.random.random() < 0.5:
            self._allocate(stream=home)
            mine = [name for name, slot in self.model.slots.items() if slot.home == home]
        if not mine:
            return
        if late not in self.model.held:
            if late != home and self.random.random() < 0.3:
                self._add(Call("record", mine[-1], stream=late))  # before it has work
            self._add(Call("hold", stream=late))
        self._use_on(mine[-1], late, "read")
        if self.random.random() < 0.4:
            self._use_on(mine[-1], self._stream(late), "read")
        self._free(mine[-1])

    def _release(self) -> None:
        """Frees a tensor, mostly while work uses it."""
        if self.model.slots:
            used = [name for name, slot in self.model.slots.items() if self._busy(slot)]
            self._free(self.random.choice(used or list(self.model.slots)))

    def _free(self, name: str) -> None:
        """Frees a tensor, and mostly makes others in its place."""
        slot = self.model.slots[name]
        self._make_safe(name, slot)
        self._add(Call(self.random.choice((FREES[0], *FREES)), name))
        between = [one for one in ("empty_cache", "too_much", "statistics") if one in self.names]
        if between and self.random.random() < 0.3:
            self._add(Call(self.random.choice(between)))
        for _ in range(self.random.choice((0, 1, 1, 2, 3))):
            away = self.random.random() < (0.8 if slot.home in self.model.held else 0.2)
            self._allocate(slot.bytes, self._stream(*self.model.held) if away else slot.home)

    def _busy(self, slot: Slot) -> bool:
        return any(use.stream in self.model.held for use in (slot.written, *slot.read))

    def _make_safe(self, name: str, slot: Slot) -> None:
        for use in self.model.unsafe(slot):
            if use not in self.model.unsafe(slot):
                continue
            how = self.random.random()
            if how < 0.75:
                self._add(Call("record", name, stream=use.stream))
            elif how < 0.95:
                self._add(Call("wait", stream=slot.home, other=use.stream))
            else:
                self._add(Call("synchronize", stream=use.stream))


def draw(seed: int, number: int, words: Collection[str], total: int) -> list[Call]:
    """Returns sequence `number` of a seed: the same each time for devices that have the same."""
    return Drawing(f"{seed}/{number}", words, total).whole()
'''),
    "tbk_contracts.torch.lifetime.execute": (False, r'''
from __future__ import annotations
import contextlib
import gc
import random
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
import torch
from tbk_contracts.torch import check, host, missing, order
from tbk_contracts.torch.lifetime.calls import STREAMS, Call
from tbk_contracts.torch.lifetime.draw import LARGE, LARGE_ENOUGH, SHARE, SIZES, UNTOLD, most_read
from tbk_contracts.torch.lifetime.figures import Figures
from tbk_contracts.torch.lifetime.finding import NoRoom, Shown, Wrong
from tbk_contracts.torch.lifetime.model import Model, Slot
HOLD_S = 0.006
PLACES = 1 << 16  # where in the bytes a write may begin
MOST_SHOWN = 8  # a longer part that two patterns have in common is no chance


@dataclass
class Tensor:
    """A tensor that lives, and from where in the bytes it was written last."""

    tensor: torch.Tensor
    place: int
    bytes: int
    freed_pending: bool = False


@dataclass
class Read:
    """A read, where in the sink it went, and what it is to see."""

    call: int
    slot: str
    stream: int
    place: int
    begin: int
    bytes: int
    home: int
    freed_at: int = -1
    recorded: bool = False
    emptied: bool = False


class Device:
    """One device, its streams, and memory of the suite that outlives all sequences."""

    def __init__(self, device: torch.device, words: Collection[str], *, figures: bool) -> None:
        self.device, self.words = device, words
        first = torch.accelerator.current_stream(device)
        self.asynchronous = order.asynchronous(device)
        self.streams = [first, *(torch.Stream(device) for _ in range(STREAMS - 1))]
        self.shown = Shown()
        self.total = self._total()
        largest = LARGE if self.total >= LARGE_ENOUGH else min(SIZES[-1], self.total // SHARE)
        self.bytes = host.values((largest + PLACES,), torch.uint8)
        self._take()
        self.settle()
        self.figures = None
        if figures and "memory_stats" in words:
            self.figures = Figures(device, self.shown)

    def _total(self) -> int:
        """Returns how much memory there is, as far as the device tells."""
        if "memory_info" not in self.words:
            return UNTOLD
        return int(torch.accelerator.get_memory_info(self.device)[1])

    def _take(self) -> None:
        try:
            self.source = host.upload(self.bytes, self.device)
            room = most_read(self.total)
            self.sink = torch.empty(room, dtype=torch.uint8, device=self.device)
            self.holds = [order.holder(stream, HOLD_S) for stream in self.streams]
        except torch.OutOfMemoryError as error:
            raise NoRoom from error

    def settle(self) -> None:
        """Waits for all work, and empties the cache where there is one to be told of."""
        order.settle(self.device)
        if "memory_stats" in self.words:
            torch.accelerator.empty_cache()

    def run(self, calls: Sequence[Call], seed: str, *, checked: bool = True) -> None:
        """Makes the calls, and compares what is seen; where it is not `checked` they need not be
        legal. Raises Wrong, and NoRoom."""
        with _no_garbage():
            self.settle()
            if self.figures is not None:
                self.figures.begin()
            sequence = Execution(self, seed)
            try:
                sequence.run(calls, checked=checked)
                self._check_idle()
            finally:
                sequence.tensors.clear()
                if self.figures is not None:
                    self.figures.live.clear()
            self._check_idle()
            if self.figures is not None:
                self.figures.check_given_back()

    def _check_idle(self) -> None:
        self.settle()
        if self.figures is not None:
            self.figures.check_idle()


@contextlib.contextmanager
def _no_garbage() -> Iterator[None]:
    """Garbage of others is not freed while a sequence counts."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


class Execution:
    """One run of a sequence."""

    def __init__(self, device: Device, seed: str) -> None:
        self.on, self.model = device, Model(most_read=most_read(device.total))
        self.random = random.Random(seed)  # noqa: S311
        self.tensors: dict[str, Tensor] = {}
        self.reads: list[Read] = []
        self.used = 0
        """Bytes of the sink."""
        self.ends: dict[int, torch.Event] = {}
        self.writes: list[tuple[int, int, int, str]] = []
        """Of each write the call, its place and size in the bytes, and the tensor."""
        self.number = 0
        """Of the call that is made."""

    def run(self, calls: Sequence[Call], *, checked: bool) -> None:
        """Makes the calls and looks at all that was read."""
        for number, call in enumerate(calls):
            self.number = number
            self.model.take(call, checked=checked)
            self._make(call)
            if self.on.figures is not None and call.name not in ("settle", "statistics"):
                self.on.figures.idle &= call.name in ("alloc", "reset_peak", "reset_sums")
        order.settle(self.on.device)
        self._look()

    def _make(self, call: Call) -> None:
        """Makes the call. What a device lacks is for the test to say; nothing else is raised."""
        try:
            getattr(self, f"_{call.name}")(call)
        except torch.OutOfMemoryError as error:
            raise NoRoom from error
        except RuntimeError as error:
            if missing.lacking(error):
                raise
            raise Wrong("MEM-538", f"call {self.number + 1}, {call.name}", "no exception",
                        check.shown(str(error))) from error  # fmt: skip

    # ------------------------------------------------------------------------------- memory --

    def _alloc(self, call: Call) -> None:
        figures = self.on.figures
        before = figures.in_use() if figures is not None else 0
        with order.on(self.on.streams[call.stream]):
            tensor = self._taken(call.bytes)
        self._check_place(call, tensor)
        self.tensors[call.slot] = Tensor(tensor, 0, call.bytes)
        if figures is not None:
            figures.allocated(call.slot, call.bytes, before)
        self._write(call)

    def _taken(self, size: int) -> torch.Tensor:
        try:
            return torch.empty(size, dtype=torch.uint8, device=self.on.device)
        except torch.OutOfMemoryError:
            self.on.settle()  # an allocator should do so itself
        try:
            return torch.empty(size, dtype=torch.uint8, device=self.on.device)
        except torch.OutOfMemoryError as error:
            raise NoRoom from error

    def _check_place(self, call: Call, tensor: torch.Tensor) -> None:
        if "addresses" not in self.on.words:
            return
        begin = tensor.data_ptr()
        others = {name: (one.tensor.data_ptr(), one.bytes) for name, one in self.tensors.items()}
        others["the suite's"] = self.on.source.data_ptr(), len(self.on.source)
        for name, (other, size) in others.items():
            if begin < other + size and other < begin + call.bytes:
                raise Wrong("MEM-503", f"call {self.number + 1}, where {call.slot} lies",
                            f"outside of {name}, {size} bytes at {other:#x}",
                            f"{call.bytes} bytes at {begin:#x}")  # fmt: skip

    def _record(self, call: Call) -> None:
        self.tensors[call.slot].tensor.record_stream(self.on.streams[call.stream])

    def _free(self, call: Call) -> None:
        self._forget(call, lambda _: None)

    def _free_in_thread(self, call: Call) -> None:
        self._forget(call, lambda held: host.in_thread(held.clear))

    def _resize_to_0(self, call: Call) -> None:
        self._forget(call, lambda held: held[0].untyped_storage().resize_(0))

    def _forget(self, call: Call, free: Callable[[list[torch.Tensor]], object]) -> None:
        held = [self.tensors.pop(call.slot).tensor]
        pending = {stream for stream, end in self.ends.items() if not end.query()}
        free(held)
        del held
        mine = [read for read in self.reads if read.slot == call.slot and read.freed_at < 0]
        for read in mine:
            read.freed_at = self.number
        self.on.shown.pending_frees += any(read.stream in pending for read in mine)
        if self.on.figures is not None:
            self.on.figures.freed(call.slot)

    def _empty_cache(self, _: Call) -> None:
        torch.accelerator.empty_cache()
        for read in self.reads:
            read.emptied |= read.freed_at >= 0

    def _too_much(self, _: Call) -> None:
        try:
            torch.empty(2 * self.on.total, dtype=torch.uint8, device=self.on.device)
        except torch.OutOfMemoryError:
            self.on.shown.refusals += 1
            return
        except RuntimeError as error:
            seen = check.shown(f"{type(error).__name__}: {error}")
        else:
            seen = "no exception"
        raise Wrong("MEM-515", f"call {self.number + 1}, twice of what the device has",
                    "OutOfMemoryError", seen)  # fmt: skip

    # --------------------------------------------------------------------------------- work --

    def _write(self, call: Call) -> None:
        one = self.tensors[call.slot]
        one.place = self.random.randrange(PLACES)
        self.writes.append((self.number, one.place, one.bytes, call.slot))
        with order.on(self.on.streams[call.stream]):
            one.tensor.copy_(self.on.source[one.place : one.place + one.bytes])

    def _read(self, call: Call) -> None:
        one = self.tensors[call.slot]
        begin, self.used = self.used, self.used + one.bytes
        slot: Slot = self.model.slots[call.slot]
        self.reads.append(Read(self.number, call.slot, call.stream, one.place, begin, one.bytes,
                               slot.home, recorded=call.stream in slot.recorded))  # fmt: skip
        with order.on(self.on.streams[call.stream]):
            self.on.sink[begin : self.used].copy_(one.tensor)

    def _hold(self, call: Call) -> None:
        self.ends[call.stream] = self.on.holds[call.stream]()

    def _wait(self, call: Call) -> None:
        self.on.streams[call.stream].wait_stream(self.on.streams[call.other])

    def _synchronize(self, call: Call) -> None:
        self.on.streams[call.stream].synchronize()

    def _settle(self, _: Call) -> None:
        self.on.settle()
        if self.on.figures is not None:
            self.on.figures.idle = True
            self.on.figures.check_idle()

    # -------------------------------------------------------------------------- statistics --

    def _statistics(self, _: Call) -> None:
        if self.on.figures is not None:
            self.on.figures.check()

    def _reset_peak(self, _: Call) -> None:
        if self.on.figures is not None:
            self.on.figures.reset_peak()

    def _reset_sums(self, _: Call) -> None:
        if self.on.figures is not None:
            self.on.figures.reset_sums()

    # ------------------------------------------------------------------------- what was read --

    def _look(self) -> None:
        seen = host.download(self.on.sink[: self.used]) if self.used else torch.empty(0)
        self.on.shown.reads += len(self.reads)
        for read in self.reads:
            self._compare(read, seen[read.begin : read.begin + read.bytes])
        for name, one in self.tensors.items():
            lives = Read(self.number, name, -1, one.place, 0, one.bytes, -1)
            self._compare(lives, host.download(one.tensor))

    def _compare(self, read: Read, seen: torch.Tensor) -> None:
        expected = self.on.bytes[read.place : read.place + read.bytes]
        if torch.equal(seen, expected):
            return
        wrong = (seen != expected).nonzero().flatten()
        where = (
            "at the end" if read.stream < 0 else f"read by s{read.stream} in call {read.call + 1}"
        )
        raise Wrong(self._clause(read), f"what tensor {read.slot} holds, {where}",
                    "the bytes that were written to it last",
                    f"others in {len(wrong)} of {read.bytes} bytes, the first one at"
                    f" {int(wrong[0])}: {self._owner(seen, int(wrong[0]))}")  # fmt: skip

    def _clause(self, read: Read) -> str:
        """Returns the clause that speaks of the memory of this read."""
        if read.freed_at < 0:
            return "MEM-503"
        if read.emptied:
            return "MEM-518"
        return "MEM-514" if read.stream != read.home else "MEM-509"

    def _owner(self, seen: torch.Tensor, at: int) -> str:
        """Returns whose bytes were seen there."""
        part = seen[at : at + MOST_SHOWN]
        for made_in, place, size, slot in reversed(self.writes):
            written = self.on.bytes[place + at : place + size][: len(part)]
            if torch.equal(part, written):
                return f"those of {slot}, written in call {made_in + 1}"
        return f"{part.tolist()}, which no call has written there"
'''),
    "tbk_contracts.torch.lifetime.figures": (False, r'''
from __future__ import annotations
import torch
from tbk_contracts.torch.lifetime.finding import Shown, Wrong
IN_USE, RESERVED = "allocated_bytes.all", "reserved_bytes.all"
KINDS = (".current", ".peak", ".allocated", ".freed")
GIVEN_BACK = 32 << 20  # so much unused memory goes back by all means
Stats = dict[str, int]


class Figures:
    """The statistics of one device over sequences."""

    def __init__(self, device: torch.device, shown: Shown) -> None:
        self.device, self.shown = device, shown
        self.live: dict[str, tuple[int, int | None]] = {}
        """Of each tensor what was asked for, and what was counted of it, if that is known."""
        self.idle = False
        self.base = self.read()
        self.most = 0
        """The most that was in use since peaks were reset, for certain."""
        self.offset = 0
        """In use, less what the sums since their reset come to."""
        self.begin()

    def read(self) -> Stats:
        """Returns them as PyTorch has them."""
        return dict(torch.accelerator.memory_stats(self.device))

    def begin(self) -> None:
        """Takes the device as it is now, idle and with its cache emptied."""
        self.live.clear()
        self.idle = True
        self.base = self.read()
        self.most = self.base[f"{IN_USE}.current"]
        self.offset = self._offset(self.base)

    @staticmethod
    def _offset(stats: Stats) -> int:
        grown = stats[f"{IN_USE}.allocated"] - stats[f"{IN_USE}.freed"]
        return stats[f"{IN_USE}.current"] - grown

    def in_use(self) -> int:
        """Returns what memory_allocated says."""
        return int(torch.accelerator.memory_allocated(self.device))

    def allocated(self, slot: str, size: int, before: int) -> None:
        """A tensor of `size` bytes was made; `before` it so much was in use."""
        counted = self.in_use() - before
        if self.idle:
            self._check("MEM-520", "memory_allocated(), risen by an allocation", counted >= size,
                        f"by {size} at least", counted)  # fmt: skip
        self.live[slot] = size, counted if self.idle else None
        self.check()

    def freed(self, slot: str) -> None:
        """A tensor has gone."""
        del self.live[slot]

    def check(self) -> Stats:
        """Compares what holds at any time; returns what it has seen."""
        seen = self.read()
        low = {name: value for name, value in seen.items() if name.endswith(KINDS) and value < 0}
        self._check("MEM-521", "memory_stats()", not low, "nothing below 0", low)
        for name, value in seen.items():
            if name.endswith(".current"):
                peak = seen[name.replace(".current", ".peak")]
                self._check("MEM-521", f"{name} beside its peak", value <= peak,
                            f"at most {peak}", value)  # fmt: skip
        in_use, least = seen[f"{IN_USE}.current"], self._least()
        self._check("MEM-520", "memory_allocated()", in_use >= least,
                    f"{least} at least, for what lives", in_use)  # fmt: skip
        reserved = seen[f"{RESERVED}.current"]
        self._check("MEM-521", "memory_reserved()", reserved >= in_use,
                    f"at least what is in use, {in_use}", reserved)  # fmt: skip
        self.most = max(self.most, in_use)
        peak = seen[f"{IN_USE}.peak"]
        self._check("MEM-521", "max_memory_allocated()", peak >= self.most,
                    f"at least {self.most}, which was in use since its reset", peak)  # fmt: skip
        self._check("MEM-537", f"{IN_USE}.current, less what was allocated and not freed",
                    self._offset(seen) == self.offset, f"{self.offset}, as before",
                    self._offset(seen))  # fmt: skip
        return seen

    def _least(self) -> int:
        counted = (size if known is None else known for size, known in self.live.values())
        return self.base[f"{IN_USE}.current"] + sum(counted)

    def check_idle(self) -> None:
        """Compares what holds where all work is over and the cache was emptied."""
        in_use, least = self.check()[f"{IN_USE}.current"], self._least()
        if all(known is not None for _, known in self.live.values()):
            self._check("MEM-537" if self.live else "MEM-535",
                        "memory_allocated() of an idle device with an empty cache",
                        in_use == least, f"{least}, for what lives", in_use)  # fmt: skip

    def check_given_back(self) -> None:
        """Compares what is reserved once nothing that the sequence made lives any more."""
        kept = self.read()[f"{RESERVED}.current"] - self.base[f"{RESERVED}.current"]
        self._check("MEM-518", "memory_reserved() above what it was, with all freed and the cache"
                    " emptied", kept < GIVEN_BACK, "nothing", kept)  # fmt: skip

    def kept(self) -> int:
        """Returns how much more is reserved than at the start."""
        return self.read()[f"{RESERVED}.current"] - self.base[f"{RESERVED}.current"]

    def reset_peak(self) -> None:
        """Resets peaks; exact where the device is idle."""
        before = self.check()
        torch.accelerator.reset_peak_memory_stats(self.device)
        seen = self.read()
        self.most = seen[f"{IN_USE}.current"]
        self._same("sums", before, seen, (".allocated", ".freed"))
        for name, value in seen.items():
            if self.idle and name.endswith(".peak"):
                current = seen[name.replace(".peak", ".current")]
                self._check("MEM-522", f"{name} behind its reset", value == current,
                            current, value)  # fmt: skip

    def reset_sums(self) -> None:
        """Resets what has been allocated and freed so far."""
        before = self.check()
        torch.accelerator.reset_accumulated_memory_stats(self.device)
        seen = self.read()
        self.offset = self._offset(seen)
        self._same("what is no sum", before, seen, (".current", ".peak"))
        for name, value in seen.items():
            if self.idle and name.endswith((".allocated", ".freed")):
                self._check("MEM-522", f"{name} behind its reset", value == 0, 0, value)

    def _same(self, what: str, before: Stats, seen: Stats, kinds: tuple[str, ...]) -> None:
        changed = {
            name: (before[name], seen[name]) for name in seen
            if self.idle and name.endswith(kinds) and seen[name] != before.get(name)
        }  # fmt: skip
        self._check("MEM-522", f"{what}, behind a reset", not changed, "as before", changed)

    def _check(self, clause: str, what: str, held: bool, expected: object, seen: object) -> None:
        self.shown.figures += 1
        if not held:
            raise Wrong(clause, what, expected, seen)
'''),
    "tbk_contracts.torch.lifetime.finding": (False, r'''
from __future__ import annotations
from dataclasses import dataclass


class Wrong(Exception):  # noqa: N818  # a verdict on the device, not an error
    """Ends a sequence: the clause, what was looked at, what was expected and what was seen."""

    def __init__(self, clause: str, what: str, expected: object, seen: object) -> None:
        super().__init__(f"{clause}: {what}: expected {expected}, saw {seen}")
        self.clause, self.what = clause, what
        self.expected, self.seen = str(expected), str(seen)


class NoRoom(Exception):  # noqa: N818  # of the device, as it may be
    """Ends a sequence that takes more memory than the device can give."""


@dataclass
class Shown:
    """What sequences have looked at: nothing of it shows that a device is right by itself."""

    reads: int = 0
    pending_frees: int = 0
    """Tensors that were freed while work that uses them was pending for certain."""
    refusals: int = 0
    """Allocations that were more than there is."""
    figures: int = 0
    """Comparisons of statistics with the model."""
'''),
    "tbk_contracts.torch.lifetime.model": (False, r'''
from __future__ import annotations
from collections.abc import Sequence
from dataclasses import dataclass, field
from tbk_contracts.torch.lifetime.calls import FREES, STREAMS, Call
Clock = list[int]
MOST_READ = 16 << 20  # bytes, together, of a sequence that is not told less


@dataclass(frozen=True)
class Use:
    """The `number`th piece of work of a stream."""

    stream: int
    number: int


@dataclass
class Slot:
    """A tensor that lives."""

    bytes: int
    home: int
    """The stream that it was allocated for."""
    written: Use
    read: list[Use] = field(default_factory=list)
    recorded: set[int] = field(default_factory=set)


class Model:
    """The state behind the calls that were taken."""

    def __init__(self, calls: Sequence[Call] = (), most_read: int = MOST_READ) -> None:
        self.most_read = most_read
        self.slots: dict[str, Slot] = {}
        self.clocks: list[Clock] = [[0] * STREAMS for _ in range(STREAMS)]
        self.host: Clock = [0] * STREAMS
        self.held: set[int] = set()
        self.read_bytes = 0
        for call in calls:
            self.take(call)

    def known(self, stream: int, use: Use) -> bool:
        """Returns whether what the stream gets next is behind that use."""
        return max(self.clocks[stream][use.stream], self.host[use.stream]) >= use.number

    def racing(self, slot: Slot, stream: int, *, write: bool) -> list[Use]:
        """Returns the uses that the stream would race with, were it to use the tensor now."""
        against = [slot.written, *(slot.read if write else ())]
        return [use for use in against if not self.known(stream, use)]

    def unsafe(self, slot: Slot) -> list[Use]:
        """Returns the uses that keep the tensor from being freed: of other streams than its own, of
        which the allocator does not know, and that nothing waits for."""
        return [
            use for use in (slot.written, *slot.read)
            if use.stream not in (slot.home, *slot.recorded) and not self.known(slot.home, use)
        ]  # fmt: skip

    def why_not(self, call: Call) -> str:
        """Returns why the call may not be made; empty if it may."""
        if call.name == "alloc":
            return f"{call.slot} lives" if call.slot in self.slots else ""
        slot = self.slots.get(call.slot)
        if slot is None:
            return f"{call.slot} does not live" if call.slot else ""
        return self._why_no_use(call, slot)

    def _why_no_use(self, call: Call, slot: Slot) -> str:
        if call.name in ("read", "write") and self.racing(
            slot, call.stream, write=call.name == "write"
        ):
            return f"s{call.stream} would race for {call.slot}"
        if call.name == "read" and self.read_bytes + slot.bytes > self.most_read:
            return "more is read than a sequence may"
        if call.name in FREES and self.unsafe(slot):
            return f"{call.slot} is in use by a stream that it is not recorded on"
        return ""

    def take(self, call: Call, *, checked: bool = True) -> None:
        """Makes the call. Raises ValueError where it may not be made, if that is `checked`."""
        reason = self.why_not(call) if checked else ""
        if reason:
            raise ValueError(f"{call.name}: {reason}")
        if call.name in FREES:
            del self.slots[call.slot]
        elif call.name in ("alloc", "read", "write"):
            self._use(call)
        elif call.name == "record":
            self.slots[call.slot].recorded.add(call.stream)
        else:
            self._order(call)

    def _use(self, call: Call) -> None:
        clock = self.clocks[call.stream]
        clock[:] = map(max, clock, self.host)
        clock[call.stream] += 1
        use = Use(call.stream, clock[call.stream])
        if call.name == "alloc":
            self.slots[call.slot] = Slot(call.bytes, call.stream, use)
        elif call.name == "write":
            slot = self.slots[call.slot]
            slot.written, slot.read = use, []
        else:
            self.slots[call.slot].read.append(use)
            self.read_bytes += self.slots[call.slot].bytes

    def _order(self, call: Call) -> None:
        if call.name == "hold":
            self.held.add(call.stream)
        elif call.name == "wait":
            clock = self.clocks[call.stream]
            clock[:] = map(max, clock, self.clocks[call.other], self.host)
        elif call.name == "synchronize":
            self.host = list(map(max, self.host, self.clocks[call.stream]))
            self.held.discard(call.stream)
        elif call.name == "settle":
            self.host = [max(clock[s] for clock in self.clocks) for s in range(STREAMS)]
            self.held.clear()


def legal(calls: Sequence[Call]) -> bool:
    """Returns whether all calls may be made, one after the other."""
    model = Model()
    for call in calls:
        if model.why_not(call):
            return False
        model.take(call)
    return True
'''),
    "tbk_contracts.torch.lifetime.search": (False, r'''
from __future__ import annotations
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from tbk_contracts.torch.lifetime.calls import SLOTS, Call
from tbk_contracts.torch.lifetime.draw import draw
from tbk_contracts.torch.lifetime.execute import Device
from tbk_contracts.torch.lifetime.finding import NoRoom, Wrong
from tbk_contracts.torch.lifetime.model import legal
TRIES = 3  # of a smaller sequence, of which most must show it: what needs luck is no better
REPLAYS = 10
SHRINK_S = 10.0
CONTROLS = 4  # one in so many sequences is run again without what orders it
MEMORY = frozenset({"MEM-503", "MEM-509", "MEM-514", "MEM-518"})
# What gives memory back to the device for good, which work without an order may still use.
UNSAFE = frozenset({"record", "empty_cache", "too_much", "settle"})


@dataclass
class Finding:
    """The smallest sequence that shows it, and how often of REPLAYS it did when run again."""

    wrong: Wrong
    calls: list[Call]
    number: int
    length: int
    shown: int


@dataclass
class Result:
    """What a run of sequences has come to."""

    sequences: int = 0
    no_room: int = 0
    controls: int = 0
    """Sequences that were run without telling the allocator of other streams."""
    controls_shown: int = 0
    """How many of them read what was not theirs."""
    finding: Finding | None = None
    seconds: float = field(default=0.0)


def attempt(device: Device, calls: Sequence[Call], seed: str) -> Wrong | None:
    """Returns what the sequence shows in one run."""
    try:
        device.run(calls, seed)
    except Wrong as wrong:
        return wrong
    except NoRoom:
        return None
    return None


def shrink(device: Device, calls: list[Call], wrong: Wrong, seed: str) -> tuple[list[Call], Wrong]:
    """Returns a sequence from which nothing can be left out, as far as time allows."""
    until = time.monotonic() + SHRINK_S
    for slot in SLOTS:  # whole tensors first: without its end a beginning is seldom legal
        fewer = [call for call in calls if call.slot != slot]
        if fewer and len(fewer) < len(calls) and legal(fewer) and time.monotonic() < until:
            seen = _repeat(device, fewer, wrong.clause, seed)
            calls, wrong = (calls, wrong) if seen is None else (fewer, seen)
    size = len(calls) // 2
    while size:
        begin = 0
        while begin < len(calls) and time.monotonic() < until:
            fewer = calls[:begin] + calls[begin + size :]
            seen = _repeat(device, fewer, wrong.clause, seed) if fewer and legal(fewer) else None
            if seen is None:
                begin += size
            else:
                calls, wrong = fewer, seen
        size //= 2
    return calls, wrong


def _repeat(device: Device, calls: list[Call], clause: str, seed: str) -> Wrong | None:
    found: list[Wrong] = []
    for left in reversed(range(TRIES)):
        seen = attempt(device, calls, seed)
        if seen is not None and seen.clause == clause:
            found.append(seen)
        if 2 * len(found) > TRIES:
            return found[0]
        if 2 * (len(found) + left) < TRIES:
            break
    return None


def _control(device: Device, calls: list[Call], seed: str, result: Result) -> None:
    """Runs the sequence without the calls that tell the allocator of other streams: what is then
    read that was not theirs shows that a fault would have been seen."""
    fewer = [call for call in calls if call.name not in UNSAFE]
    if not any(call.name == "record" for call in calls):
        return
    result.controls += 1
    try:
        device.run(fewer, seed, checked=False)
    except NoRoom:
        pass
    except Wrong as wrong:
        result.controls_shown += wrong.clause in MEMORY


def search(
    device: Device,
    words: Collection[str],
    seed: int,
    numbers: range,
    *,
    until: float = float("inf"),
    begin: Callable[[int, list[Call]], object] = lambda *_: None,
) -> Result:
    """Runs these sequences of a seed, until `until` on the monotonic clock or the first finding.
    `begin` is told of each before it runs."""
    result, started = Result(), time.monotonic()
    for number in numbers:
        if time.monotonic() >= until:
            break
        calls, name = draw(seed, number, words, device.total), f"{seed}/{number}"
        begin(number, calls)
        result.sequences += 1
        try:
            device.run(calls, name)
        except NoRoom:
            result.no_room += 1
        except Wrong as wrong:
            smaller, seen = shrink(device, calls, wrong, name)
            shown = sum(attempt(device, smaller, name) is not None for _ in range(REPLAYS))
            result.finding = Finding(seen, smaller, number, len(calls), shown)
            break
        if device.asynchronous and number % CONTROLS == 0:
            _control(device, calls, name, result)
    result.seconds = time.monotonic() - started
    return result
'''),
    "tbk_contracts.torch.missing": (False, r'''
from __future__ import annotations
import functools
import re
from collections.abc import Iterator
from contextlib import contextmanager
import torch
from tbk_contracts.torch import check, host
# Each names the operator in its first group. Those above the line come as a RuntimeError, too.
_SURE = (
    re.compile(r"Could not run '(\w+::[\w.]+)'"),
    re.compile(r"[Tt]he operator '?(\w+::[\w.]+)'?"),
    re.compile(r"for schema (\w+::[\w.]+)"),
    re.compile(r"no kernel (?:of|for) '?(\w+::[\w.]+)"),
    re.compile(r"\"(\w+)\" not implemented for '"),
    re.compile(r"\b(\w+::[\w.]+)\b.{0,60}\bnot (?:\w+ )?(?:implemented|supported)\b"),
)
_LIKELY = (
    re.compile(r"derivative for '?((?:\w+::)?[\w.]+)'? is not implemented"),
    re.compile(r"['\"`]?((?:\w+::)?\w+(?:\.\w+)?)['\"`]?(?:\(\))?:? (?:is |are |has )?"
               r"not (?:\w+ )?(?:implemented|supported)\b"),
    re.compile(r"\b(\w+::[\w.]+)"),
)  # fmt: skip
_SUFFIX = re.compile(r"(?:_(?:stub|kernel|impl|out|cpu|cuda|mps|xpu|npu))+$")
# What has none of these is no device: a test that ends by their lack has failed.
BASIC = frozenset({"empty", "empty_strided", "copy_", "_copy_from", "_to_copy"})


@functools.cache
def _all_operators() -> frozenset[str]:
    names = torch._C._dispatch_get_all_op_names()
    return frozenset(_base(name) for name in names)


def _base(name: str) -> str:
    """add of aten::add.out"""
    return name.rpartition("::")[2].partition(".")[0]


def _known(name: str) -> bool:
    base = _base(name)
    return "::" in name or base in _all_operators() or _SUFFIX.sub("", base) in _all_operators()


def operator(error: BaseException) -> str:
    """Returns the operator that `error` says is missing, such as "aten::add.out"; empty where it
    tells of no such thing, or names none."""
    if not isinstance(error, RuntimeError):  # NotImplementedError is one
        return ""
    text = " ".join(str(error).split())
    forms = (*_SURE, *_LIKELY) if isinstance(error, NotImplementedError) else _SURE
    for form in forms:
        for found in form.finditer(text):
            name = found[1].rstrip(".")
            if _known(name):
                return name if "::" in name else f"aten::{_SUFFIX.sub('', name)}"
    return ""


def lacking(error: BaseException) -> bool:
    """Returns whether `error` says that the device does not offer something."""
    return isinstance(error, NotImplementedError) or bool(operator(error))
_DTYPES = {
    "float64": "float64|Double", "float16": "float16|Half", "bfloat16": "bfloat16|BFloat16",
    "complex64": "complex64|ComplexFloat", "complex128": "complex128|ComplexDouble",
    "int8": "int8|Char", "int16": "int16|Short", "int32": "int32|Int", "int64": "int64|Long",
    "uint8": "uint8|Byte",
    "bool": "bool|Bool",
}  # fmt: skip
# Python asks an operand after the other, and then says nothing of the TypeError that was raised.
_HIDDEN = re.compile(
    r"not supported between instances of 'Tensor'|unsupported operand type.*'Tensor'"
)


def dtype(error: BaseException, device: torch.device | None) -> str:
    """Returns the dtype of which `error` speaks, where the device has none of it; else empty."""
    if device is None or not isinstance(error, (RuntimeError, TypeError)):
        return ""
    text = " ".join(str(error).split())
    for name, words in _DTYPES.items():
        said = re.search(rf"(?<![A-Za-z0-9])(?:torch\.)?(?:{words})(?![A-Za-z0-9])", text)
        if (said or _HIDDEN.search(text)) and not host.goes_round(getattr(torch, name), device):
            return name
    return ""


@contextmanager
def of(device: torch.device | None) -> Iterator[None]:
    """The test inside is about `device`."""
    _device.append(device)
    try:
        yield
    finally:
        _device.pop()
_device: list[torch.device | None] = []


def lacked(error: BaseException) -> str:
    """Returns what a test that ends by `error` stands on and the device lacks: "aten::add.out", or
    "tensors of float64"; empty where it has failed.

    What PyTorch says of features that are neither, such as streams, is for capabilities.
    """
    if isinstance(error, AssertionError):
        return ""
    kind = dtype(error, _device[-1] if _device else None)
    if kind:
        return f"tensors of {kind}"
    name = operator(error)
    of_host = "from the 'CPU' backend" in str(error)
    return "" if of_host or _base(name) in BASIC else name


def excused(error: BaseException) -> bool:
    """Returns whether such a test has shown nothing, instead of failing; then it is told."""
    what = lacked(error)
    if what.startswith("tensors"):
        check.should("a dtype that the test stands on", True, expected="", seen="")
        check.evidence(check.NOT_SHOWN, f"the device has no {what}")
    elif what:
        tell(what)
    return bool(what)


def tell(name: str, waiting: int = 1) -> None:
    """Says that the test ends for want of the operator `name`, and how many checks wait for it."""
    check.should("an operator that the test stands on", bool(name),
                 expected="the exception names it", seen="no operator is named")  # fmt: skip
    check.fact(missing=[name] if name else [], waiting=waiting)
    check.evidence(check.NOT_SHOWN, f"the device does not offer {name or 'an operator'}")
'''),
    "tbk_contracts.torch.operators.subnormal": (False, r'''
from __future__ import annotations
import torch
from tbk_contracts.torch import host


def kept(device: torch.device, dtype: torch.dtype = torch.float32) -> bool:
    """A multiplication by 1 keeps one. The capability word `subnormals` is for float32."""
    facts = torch.finfo(dtype)
    # About 1e-40 in float32: of the size of some subnormal number, not of the least one.
    sent = torch.full((8,), facts.smallest_normal / 128, dtype=dtype, device="cpu")
    return bool((host.download(host.upload(sent, device) * 1) != 0).all())
'''),
    "tbk_contracts.torch.order": (False, r'''
from __future__ import annotations
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
import torch
from tbk_contracts.torch import gate
STEP_S = 0.002  # an operator of the chain lasts at least this long, or is as large as may be
SIZES = (128, 256, 512, 1024, 2048, 4096)
MOST_STEPS = 512  # per load: queues of devices are bounded, and a full one makes the host wait
Step = Callable[[], object]


@dataclass(frozen=True)
class _Chain:
    """How to keep a device busy; `step_s` is 0 where work is complete when its call returns."""

    make: Callable[[torch.device, int], Step]
    size: int
    step_s: float


def _multiply_matrices(device: torch.device, size: int) -> Step:
    left, right = (torch.ones((size, size)).to(device) for _ in range(2))
    product = torch.empty((size, size), device=device)
    return lambda: torch.mm(left, right, out=product)


def _multiply(device: torch.device, size: int) -> Step:
    left, right = (torch.ones(size * size).to(device) for _ in range(2))
    return lambda: left.mul_(right)


def _copy(device: torch.device, size: int) -> Step:
    left, right = (torch.ones(size * size).to(device) for _ in range(2))
    return lambda: left.copy_(right)
_chains: dict[torch.device, _Chain] = {}


def asynchronous(device: torch.device) -> bool:
    """Returns whether some operator of this device is still at work when its call has returned, or
    a gate holds it."""
    return gate.of(device) is not None or _chain(device).step_s > 0


def _chain(device: torch.device) -> _Chain:
    if device not in _chains:
        _chains[device] = _find_chain(device)
    return _chains[device]


def _find_chain(device: torch.device) -> _Chain:
    """Asked twice: where others take the processor, the host may come too late to see it."""
    for make in 2 * (_multiply_matrices, _multiply, _copy):
        found = _largest_needed(make, device)
        if found is not None:
            return found
    return _Chain(_copy, SIZES[0], 0)


def _largest_needed(
    make: Callable[[torch.device, int], Step], device: torch.device
) -> _Chain | None:
    found = None
    stream = torch.Stream(device)
    for size in SIZES:
        try:
            with stream:
                step = make(device, size)
            step_s = _measure(stream, step)
        except Exception:  # no such operator, or no memory for more of it
            return found
        if step_s > 0:
            found = _Chain(make, size, step_s)
        if step_s >= STEP_S or (step_s < 0 and -step_s >= STEP_S):
            return found
    return found


def _finish(stream: torch.Stream) -> None:
    """Waits in every way there is: one of them may be what a test finds broken."""
    event = torch.Event(stream.device)
    event.record(stream)
    event.synchronize()
    stream.synchronize()
    torch.accelerator.synchronize(stream.device)


def _measure(stream: torch.Stream, step: Step) -> float:
    """Returns seconds that one step takes; less than 0 if it was complete when the call
    returned."""
    seconds, pending = [], 0
    with stream:
        for _ in range(3):
            _finish(stream)
            event = torch.Event(stream.device)
            begin = time.perf_counter()
            for _ in range(4):
                step()
            event.record(stream)
            enqueued = time.perf_counter()
            done = event.query()
            _finish(stream)
            end = time.perf_counter()
            # An event that claims to be complete too early must not make the device synchronous.
            pending += not done or end - begin > 4 * (enqueued - begin)
            seconds.append((end - begin) / 4)
    return min(seconds) if pending >= 2 else -min(seconds)


@contextmanager
def on(stream: torch.Stream) -> Iterator[None]:
    """`stream` is current inside; current device and streams are as before behind it."""
    device = torch.accelerator.current_device_index()
    former = torch.accelerator.current_stream(stream.device)
    try:
        torch.accelerator.set_stream(stream)
        yield
    finally:
        torch.accelerator.set_stream(former)
        torch.accelerator.set_device_index(device)


def holder(stream: torch.Stream, seconds: float) -> Callable[[], torch.Event]:
    """Returns a function that keeps `stream` at work for about so long, where a device can be held,
    and an event behind it. It allocates nothing, and may be called again and again."""
    chain = _chain(stream.device)
    with on(stream):
        step = chain.make(stream.device, chain.size)
        step()
    _finish(stream)
    steps = min(MOST_STEPS, 1 + int(seconds / chain.step_s)) if chain.step_s > 0 else 0

    def hold() -> torch.Event:
        with on(stream):
            for _ in range(0 if gate.shut(stream, seconds) else steps):
                step()
            end = torch.Event(stream.device)
            end.record(stream)
        return end

    return hold


def settle(device: torch.device) -> None:
    """Waits for all work of all devices; what a gate holds goes on."""
    gate.let_go()
    for index in range(torch.accelerator.device_count()):
        torch.accelerator.synchronize(torch.device(device.type, index))
'''),
    "tbk_contracts.torch.pairs": (False, r'''
from __future__ import annotations
Case = dict[str, str]
'''),
    "tbk_contracts.torch.process": (False, r'''
from __future__ import annotations
import contextlib
import json
import os
import select
import signal
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
import torch
# Well under the deadline of a test, which its supervisor knows: a child that hangs is told of.
PATIENCE_S = float(os.environ.get("TBK_PATIENCE_S", "15"))
PROBE_S = 7.0  # that of one question to a device is shorter


@dataclass(frozen=True)
class Ended:
    """What became of a child."""

    value: Any
    """What its call returned, if it did."""
    error: str
    """The exception otherwise, or what else kept it from answering; empty if none."""
    exit_code: int
    """Negative: the signal that ended it."""


def _answer(call: Callable[[], object]) -> str:
    try:
        return json.dumps({"value": call()})
    except BaseException as error:  # told to the parent, which checks it
        return json.dumps({"error": f"{type(error).__name__}: {error}"})


def fork() -> int:
    """os.fork. A child has only the thread that forked, which is for the tests to judge, not for
    Python to warn of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def in_fork(call: Callable[[], object], patience_s: float = PATIENCE_S) -> Ended:
    """Returns what `call` gives, as JSON can say it, in a forked child, and how that ends.

    An operator that is missing there is missing here: NotImplementedError is raised again."""
    source, sink = os.pipe()
    child = fork()
    if child == 0:
        # Threads of the host's operators are not forked: whoever waits for them waits for ever.
        torch.set_num_threads(1)
        os.write(sink, _answer(call).encode()[:60_000])
        os._exit(0)
    os.close(sink)
    try:
        text = _read(source, patience_s)
    finally:
        os.close(source)
        if not text:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    told = json.loads(text) if text else {"error": f"no answer within {patience_s:g} s"}
    _raise_missing(told.get("error", ""))
    return Ended(told.get("value"), told.get("error", ""), status)


def _raise_missing(error: str) -> None:
    kind, _, text = error.partition(": ")
    if kind == NotImplementedError.__name__:
        raise NotImplementedError(text)


def _read(source: int, patience_s: float, nothing: str = json.dumps({"error": "it died"})) -> str:
    """Returns all that comes until the other end is closed; "" if that takes too long."""
    parts: list[bytes] = []
    deadline = time.monotonic() + patience_s
    while True:
        ready, _, _ = select.select([source], [], [], max(0.0, deadline - time.monotonic()))
        part = os.read(source, 65_536) if ready else b""
        if not ready:
            return ""
        if not part:
            return b"".join(parts).decode() or nothing
        parts.append(part)
'''),
    "tbk_contracts.torch.run_seed": (False, r'''
from __future__ import annotations
import itertools
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
DEFAULT = 1  # that of tbk-run
BITS = 32  # as many as numpy takes
PER_TEST = 1 << 20  # more than a test asks for


@dataclass
class _Run:
    seed: int = DEFAULT
    test: str = ""
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))
_run = _Run()


def choose(seed: int) -> None:
    """Before the first input is made."""
    _run.seed = seed % (1 << BITS)


def chosen() -> int:
    """Returns the number to seed generators from."""
    return _run.seed


def begin(test: str) -> None:
    """The test that runs next: alone or behind others, it gets the same numbers."""
    _run.test, _run.numbers = test, itertools.count(1)


def fresh() -> int:
    """Another number each time, and others in each test."""
    return zlib.crc32(f"{_run.seed} {_run.test}".encode()) * PER_TEST + next(_run.numbers)
'''),
}


class Embedded(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports them from this file, and nothing else of tbk's suite from anywhere."""

    def find_spec(self, name, path=None, target=None):
        if name in MODULES or any(one.startswith(name + ".") for one in MODULES):
            package = name not in MODULES or MODULES[name][0]
            return importlib.util.spec_from_loader(name, self, is_package=package)
        if name.partition(".")[0] in ("tbk_contracts", "tbk_harness", "tbk_reports"):
            raise ImportError(f"{name} is no part of this file")
        return None

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        names = vars(module)
        names["__file__"] = run(MODULES.get(module.__name__, (True, ""))[1], module.__name__, names)


def run(source, name, names):
    """Executes it under a file name of its own, which it returns: a traceback shows its lines."""
    file = f"<{name} in {os.path.basename(__file__)}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    exec(compile(source, file, "exec"), names)
    return file


class Alone:
    """Fixtures, and a verdict: a check that does not hold fails, and so does a test without one."""

    def device_of(self, index):
        return torch.device(DEVICE) if DEVICE == "cpu" else torch.device(DEVICE, index)

    @pytest.fixture
    def tbk_device_name(self):
        return DEVICE

    @pytest.fixture
    def tbk_start(self):
        return START

    @pytest.fixture
    def device(self):
        return self.device_of(0)

    @pytest.fixture
    def other_device(self):
        return self.device_of(1)

    @pytest.fixture
    def devices(self):
        count = torch.get_device_module(DEVICE).device_count()
        return [self.device_of(index) for index in range(count)]

    @pytest.fixture
    def module(self):
        return torch.get_device_module(DEVICE)

    @pytest.hookimpl(wrapper=True)
    def pytest_pyfunc_call(self, pyfuncitem):
        from tbk_contracts.torch import check, missing, run_seed

        run_seed.choose(SEED)
        run_seed.begin(ID)
        check.begin()
        with missing.of(self.device_of(0)):
            try:
                result = yield
            except Exception as error:
                if not missing.excused(error):
                    raise
                result = True
        if check.totals().failure is not None:
            raise check.totals().failure
        assert check.totals().checks > 0, "the test ended without a check"
        return result


sys.meta_path.insert(0, Embedded())
if __name__ == "__main__":
    if sys.argv[1:2] == ["--device"]:
        DEVICE, START = sys.argv[2], "import torch"
    exec(START)
    DEVICE = DEVICE or torch._C._get_privateuse1_backend_name()
    faulthandler.enable()
    words = ["-q", "-p", "no:cacheprovider", "--noconftest", "-c", os.devnull, "-W", "ignore"]
    code = pytest.main([f"{os.path.abspath(__file__)}::{NODE}", *words], plugins=[Alone()])
    sys.exit(int(code))
run(TEST, TEST_NAME, globals())
