# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
# torch_memory_reuse/recorded_memory_waits_for_the_stream, alone
#
# MEM-514: it is registered, and a block recorded by it is not given out before the stream's work up to the free is complete.
# expected: no exception
# seen:     NotImplementedError: Could not run 'aten::record_stream' with arguments from the 'CPU' backend. This could be because the operator doesn't exist for this backend, or was omitted during the selective/custom build process (if using custom build). If you are a Facebook employee using PyTorch on mobile, please visit https://fburl.com/ptmfixes for possible resolutions. 'aten::record_stream' is only av…
#
#     python torch_memory_reuse-recorded_memory_waits_for_the_stream.py                 on the device of the run
#     python torch_memory_reuse-recorded_memory_waits_for_the_stream.py --device cpu    the same on PyTorch's own CPU
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

ID = 'torch_memory_reuse/recorded_memory_waits_for_the_stream'
NODE = 'test_recorded_memory_waits_for_the_stream'
SEED = 1
DEVICE = 'accinte'  # empty: the one that the library below registers
START = 'import torch\nimport torch_accinte'
TEST_NAME = 'tbk_contracts.torch.test_memory_reuse'
TEST = r'''
from __future__ import annotations
from collections.abc import Callable
import torch
from tbk_contracts.torch import check, host, order
from tbk_contracts.torch.case import clause
COUNT = 50_000
FRESH = 8  # tensors that are made in the place of the freed one


def _write_fresh(stream: torch.Stream, values: torch.Tensor, device: torch.device) -> None:
    """New tensors on `stream`, each written and waited for."""
    with stream:
        held = []
        for _ in range(FRESH):
            held.append(torch.empty(COUNT, device=device))
            held[-1].copy_(values)
    stream.synchronize()


def _late_read(
    load: order.Load,
    values: torch.Tensor,
    others: torch.Tensor,
    streams: tuple[torch.Stream, torch.Stream],
    record: Callable[[torch.Tensor], torch.Tensor],
    free: Callable[[], object] | None = None,
) -> torch.Tensor:
    """Returns what the late stream reads of a tensor of the other stream that is freed before."""
    late, own = streams
    device = late.device
    with own:
        tensor = host.upload(values, device)
        own.synchronize()
    seen = host.poisoned((COUNT,), values.dtype, device)
    load.hold()
    tensor = record(tensor)
    with late:
        seen.copy_(tensor)
    del tensor
    if free is not None:  # it may wait itself, which is right, too
        load.mark()
        free()
    _write_fresh(own, others, device)
    if free is None:
        load.mark()
    return order.read(late, seen)


def _shown(device: torch.device, record: Callable[[torch.Tensor, torch.Stream], torch.Tensor],
           free: Callable[[], object] | None = None) -> None:  # fmt: skip
    late, own = torch.Stream(device), torch.Stream(device)
    values, others = host.values((COUNT,)), host.values((COUNT,))

    def program(load: order.Load) -> None:
        seen = _late_read(
            load, values, others, (late, own), lambda tensor: record(tensor, late), free
        )
        check.tensor("what the late stream reads", seen, values)

    def control(load: order.Load) -> bool:
        seen = _late_read(load, values, others, (late, own), lambda tensor: tensor)
        return not torch.equal(seen, values)

    order.show(late, program, control)


def _recorded(tensor: torch.Tensor, stream: torch.Stream) -> torch.Tensor:
    tensor.record_stream(stream)
    return tensor


@clause("MEM-514", needs="stream")
def test_recorded_memory_waits_for_the_stream(device: torch.device) -> None:
    _shown(device, _recorded)
'''

# ------------------------------------------------------------------------------------------------
# What runs it. The modules below are the parts of tbk's contract tests that the test stands on.

MODULES = {
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
'''),
    "tbk_contracts.torch.check": (False, r'''
from __future__ import annotations
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
import torch
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


def equal(what: str, seen: object, expected: object) -> None:
    """Both compare equal, and by a plain bool: not for tensors."""
    that(what, bool(seen == expected), expected=expected, seen=seen)


def tensor(what: str, seen: torch.Tensor, expected: torch.Tensor) -> None:
    """Two tensors on the host are the same: dtype, shape, and each element bit for bit.

    A NaN equals any other NaN; zeros differ by their sign.
    """
    for name, one in (("seen", seen), ("expected", expected)):
        if one.device.type != "cpu":
            raise TypeError(f"check.tensor compares on the host, {name} is on {one.device}")
    equal(f"{what}: dtype", seen.dtype, expected.dtype)
    equal(f"{what}: shape", tuple(seen.shape), tuple(expected.shape))
    wrong = _different(seen.resolve_conj().resolve_neg(), expected.resolve_conj().resolve_neg())
    count = int(wrong.sum())
    if count == 0:
        that(what, True, expected="", seen="")
        return
    at = tuple(int(index) for index in wrong.nonzero()[0])
    that(
        what,
        False,
        expected=f"{shown(expected[at].item())} at {list(at)}",
        seen=f"{shown(seen[at].item())}; {count} of {wrong.numel()} elements differ",
    )


def _different(seen: torch.Tensor, expected: torch.Tensor) -> torch.Tensor:
    if seen.is_complex():
        seen, expected = torch.view_as_real(seen), torch.view_as_real(expected)
        return _different(seen, expected).any(-1)
    if seen.is_floating_point() and seen.itemsize == 1:  # too few operators, and all fit in float32
        seen, expected = seen.float(), expected.float()
    wrong = seen != expected
    if seen.is_floating_point():
        wrong &= ~(seen.isnan() & expected.isnan())
        wrong |= (seen == expected) & (torch.signbit(seen) != torch.signbit(expected))
    return wrong


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
from collections.abc import Sequence
import torch
from tbk_contracts.torch import run_seed


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


def poisoned(shape: Sequence[int], dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    """Memory on `device` that holds no right answer: NaN, or the largest integer, or True."""
    if dtype.is_floating_point or dtype.is_complex:
        value: float | int | bool = math.nan
    else:
        value = True if dtype == torch.bool else torch.iinfo(dtype).max
    return upload(torch.full(tuple(shape), value, dtype=dtype), device)
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
    "tbk_contracts.torch.order": (False, r'''
from __future__ import annotations
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
import torch
from tbk_contracts.torch import check, gate
ATTEMPTS = 4  # each with a load twice as long as the one before
FIRST_S = 0.06  # how long the first load is to last
STEP_S = 0.002  # an operator of the chain lasts at least this long, or is as large as may be
SIZES = (128, 256, 512, 1024, 2048, 4096)
MOST_STEPS = 512  # per load: queues of devices are bounded, and a full one makes the host wait
Step = Callable[[], object]
Program = Callable[["Load"], None]
Control = Callable[["Load"], bool]


class Load:
    """Work that holds a stream: what is enqueued there after `hold` cannot begin before its end."""

    def __init__(self, stream: torch.Stream, seconds: float) -> None:
        self.stream, self.seconds = stream, seconds
        self.held: bool | None = None
        """Whether each mark found the stream held; None before the first one."""
        self.lasts_s = 0.0
        """How long the load takes as measured: less than asked for where steps are short."""
        self._end: torch.Event | None = None
        self._step: Step | None = None  # whose tensors live as long as it works

    def hold(self) -> None:
        """Waits until all devices are idle, then enqueues the load. Current device and streams stay
        as they are."""
        settle(self.stream.device)
        self._end = torch.Event(self.stream.device)
        if gate.shut(self.stream, self.seconds):
            self.lasts_s = self.seconds
            self._end.record(self.stream)
            return
        chain = _chain(self.stream.device)
        with on(self.stream):
            self._step = chain.make(self.stream.device, chain.size)
            _finish(self.stream)
            if chain.step_s > 0:
                steps = min(MOST_STEPS, 1 + int(self.seconds / chain.step_s))
                self.lasts_s = steps * chain.step_s
                for _ in range(steps):
                    self._step()
            self._end.record(self.stream)

    def pending(self) -> bool:
        """Returns True as long as the stream is held."""
        if self._end is None:
            raise RuntimeError("a program of order.show does not hold its stream")
        return not self._end.query()

    def mark(self) -> bool:
        """Calls it when all that the proof needs has been enqueued or asked: whether the load still
        holds the stream. If not, this attempt has shown nothing."""
        pending = self.pending()
        self.held = pending and self.held is not False
        return pending


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


def show(stream: torch.Stream, program: Program, control: Control | None = None) -> None:
    """Runs `program` with a load for `stream`. It makes its tensors, calls `load.hold()`, enqueues,
    calls `load.mark()` when the stream must still be held for it to show something, and checks.

    `control` runs likewise; true if it came out wrong, as it may without what orders it.
    """
    if not asynchronous(stream.device):
        _attempt(stream, program, 0)
        check.evidence(check.TRIVIAL, "work is complete when the call returns")
    elif not any(_attempt(stream, program, FIRST_S * 2**count) for count in range(ATTEMPTS)):
        check.evidence(check.NOT_SHOWN, "the stream was not held until the program was enqueued")
    elif control is not None and not ever(stream, control):
        check.evidence(
            check.NOT_SHOWN,
            "without what orders it the outcome is the same; one queue may serve all streams",
        )


def _attempt(stream: torch.Stream, program: Program, seconds: float) -> bool:
    load = Load(stream, seconds)
    try:
        program(load)
    finally:
        settle(stream.device)
    if load.held is None:
        raise RuntimeError("a program of order.show does not mark when its stream must be held")
    return load.held


def ever(stream: torch.Stream, control: Control) -> bool:
    """Returns whether `control` is true at least once, with ever longer loads."""
    for count in range(ATTEMPTS):
        try:
            if control(Load(stream, FIRST_S * 2**count)):
                return True
        finally:
            settle(stream.device)
    return False


def settle(device: torch.device) -> None:
    """Waits for all work of all devices; what a gate holds goes on."""
    gate.let_go()
    for index in range(torch.accelerator.device_count()):
        torch.accelerator.synchronize(torch.device(device.type, index))


def read(stream: torch.Stream, tensor: torch.Tensor) -> torch.Tensor:
    """Returns a copy on the host, made on `stream`: behind what is enqueued there, and nothing
    else."""
    with on(stream):
        return tensor.detach().to("cpu", copy=True)
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
