# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
# torch_generator/a_seed_begins_the_numbers_again, alone
#
# GEN-501: equal seeds give equal sequences, on each device of one kind.
# expected: no exception
# seen:     RuntimeError: Expected a 'cpu' device type for generator but found 'accinte'
#
#     python torch_generator-a_seed_begins_the_numbers_again.py                 on the device of the run
#     python torch_generator-a_seed_begins_the_numbers_again.py --device cpu    the same on PyTorch's own CPU
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

ID = 'torch_generator/a_seed_begins_the_numbers_again'
NODE = 'test_a_seed_begins_the_numbers_again'
SEED = 1
DEVICE = 'accinte'  # empty: the one that the library below registers
START = 'import torch\nimport torch_accinte'
TEST_NAME = 'tbk_contracts.torch.test_generator'
TEST = r'''
from __future__ import annotations
import torch
from tbk_contracts.torch import check, host
from tbk_contracts.torch.case import clause
COUNT = 67  # odd, so that a generator that gives numbers in groups has some left


def draw(device: torch.device, generator: torch.Generator | None = None) -> torch.Tensor:
    """Returns numbers of 63 bits, on the host: none comes twice by chance."""
    drawn = torch.empty(COUNT, dtype=torch.int64, device=device).random_(generator=generator)
    return host.download(drawn)


def made(device: torch.device, seed: int) -> torch.Generator:
    return torch.Generator(device).manual_seed(seed)


@clause("GEN-501", needs="generator")
def test_a_seed_begins_the_numbers_again(device: torch.device) -> None:
    used, expected = made(device, 7), draw(device, made(device, 7))
    for _ in range(2):
        draw(device, used)
        used.manual_seed(7)
        check.tensor("numbers of a generator that was used before", draw(device, used), expected)
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
    "tbk_contracts.torch.host": (False, r'''
from __future__ import annotations
import math
from collections.abc import Sequence
import torch


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
    "tbk_contracts.torch.run_seed": (False, r'''
from __future__ import annotations
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
DEFAULT = 1  # that of tbk-run
BITS = 32  # as many as numpy takes


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
