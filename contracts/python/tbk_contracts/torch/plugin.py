# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The pytest plugin: options, markers and fixtures of the contract tests of the torch layer.

It is registered with pytest for the whole environment, so it imports no PyTorch before a device is
asked for.
"""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tbk_contracts.torch import run_seed

if TYPE_CHECKING:
    import torch

HERE = Path(__file__).resolve().parent
OPTION = "--tbk-device"


@dataclass(frozen=True)
class Case:
    """A test as the spec knows it."""

    id: str
    suite: str
    clause: str
    needs: tuple[str, ...]
    fresh: bool
    alone: bool
    slow: bool
    thorough: bool
    cost: int
    """How many times as long as the smallest test it takes: `COST` of its file."""


def describe(item: pytest.Item) -> Case | None:
    """Returns what `item` says of itself; None for a test that is not of the contract."""
    mark = item.get_closest_marker("clause")
    if mark is None:
        return None
    words = str(mark.kwargs.get("needs", "")).split()
    for more in item.iter_markers("needs"):
        words += str(more.args[0]).split()
    suite = f"torch_{item.path.stem.removeprefix('test_')}"
    return Case(
        f"{suite}/{item.name.removeprefix('test_')}", suite, str(mark.args[0]),
        tuple(dict.fromkeys(words)), bool(mark.kwargs.get("fresh")), bool(mark.kwargs.get("alone")),
        bool(mark.kwargs.get("slow")),
        mark.kwargs.get("tier") == "thorough" or item.get_closest_marker("thorough") is not None,
        int(getattr(getattr(item, "module", None), "COST", 1)),
    )  # fmt: skip


def is_only_should(item: pytest.Item) -> bool:
    """Returns whether the clause that `item` cites is a recommendation."""
    from tbk_contracts import clause as find  # noqa: PLC0415  # reads the spec

    case = describe(item)
    clause = find(case.clause) if case is not None else None
    return clause is not None and clause.level == "should"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("tbk", "contracts of PyTorch devices")
    group.addoption(OPTION, metavar="NAME", help="the device that the contracts are for")
    group.addoption(
        "--tbk-import", metavar="MODULE", action="append", default=[],
        help="import this first, so that PyTorch knows the device",
    )  # fmt: skip
    group.addoption(
        "--tbk-seed", metavar="N", type=int, default=run_seed.DEFAULT, help="seed of the inputs"
    )
    # How a fresh interpreter comes to know the device, where the modules are not all of it.
    group.addoption("--tbk-start", help=argparse.SUPPRESS)
    # The supervisor's worker judges needs and checks itself.
    group.addoption("--tbk-supervised", action="store_true", help=argparse.SUPPRESS)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "clause(id, needs, fresh, alone, slow, tier): the clause that it shows"
    )
    run_seed.choose(config.getoption("--tbk-seed"))
    config.addinivalue_line("markers", "thorough: one parameter of a test is of that tier")
    config.addinivalue_line("markers", "needs(words): capabilities without which it says nothing")
    if not config.getoption("--tbk-supervised"):
        config.pluginmanager.register(_InOneProcess(), "tbk-one-process")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Without a device there is nothing to collect here, and PyTorch may not be there."""
    if config.getoption(OPTION) is None and collection_path.is_relative_to(HERE):
        return True
    return None


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    case = describe(item)
    if case is not None:
        run_seed.begin(case.id)


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Iterator[None]:
    """A test that ends for want of an operator of which its clause does not speak has failed
    nothing."""
    if describe(pyfuncitem) is None or pyfuncitem.config.getoption(OPTION) is None:
        return (yield)
    from tbk_contracts.torch import missing  # noqa: PLC0415  # imports PyTorch

    given = getattr(pyfuncitem, "funcargs", {})
    with missing.of(given.get("device") or next(iter(given.get("devices", [])), None)):
        try:
            return (yield)
        except Exception as error:
            if not missing.excused(error):
                raise
            return True  # type: ignore[return-value]  # as pytest's own


@pytest.fixture(scope="session")
def tbk_device_name(request: pytest.FixtureRequest) -> str:
    """Returns the name of the device, with its modules imported."""
    for name in request.config.getoption("--tbk-import"):
        importlib.import_module(name)
    return str(request.config.getoption(OPTION))


@pytest.fixture
def device(tbk_device_name: str) -> torch.device:
    """Returns the first device."""
    return _device(tbk_device_name, 0)


@pytest.fixture
def other_device(tbk_device_name: str) -> torch.device:
    """Returns the second one; for tests that need "two_devices"."""
    return _device(tbk_device_name, 1)


@pytest.fixture
def devices(tbk_device_name: str) -> list[torch.device]:
    """Returns all of them."""
    count = _torch().get_device_module(tbk_device_name).device_count()
    return [_device(tbk_device_name, index) for index in range(count)]


@pytest.fixture
def module(tbk_device_name: str) -> Any:
    """Returns the device's module, such as torch.cuda for a device "cuda"."""
    return _torch().get_device_module(tbk_device_name)


@pytest.fixture
def tbk_start(request: pytest.FixtureRequest) -> str:
    """Python statements by which PyTorch comes to know the device, in a fresh interpreter."""
    given = request.config.getoption("--tbk-start")
    if given is not None:
        return str(given)
    names = request.config.getoption("--tbk-import")
    return "\n".join(f"import {name}" for name in ("torch", *names))


def _torch() -> Any:
    return importlib.import_module("torch")


def _device(name: str, index: int) -> torch.device:
    # PyTorch's own CPU has no index in what it answers.
    made: torch.device = _torch().device(name) if name == "cpu" else _torch().device(name, index)
    return made


def missing_word(case: Case, held: dict[str, bool]) -> str | None:
    """Returns the first word that does not hold; a word that is not known counts as absent."""
    for word in case.needs:
        wanted = not word.startswith("!")
        if held.get(word.removeprefix("!"), False) != wanted:
            return word
    return None


class _InOneProcess:
    """Plain pytest: what the supervisor does otherwise, as far as one process can."""

    held: dict[str, bool] | None = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        case = describe(item)
        if case is None or item.config.getoption(OPTION) is None:
            return
        if case.fresh:
            pytest.skip("not run: it wants a process that has used no device; use tbk check")
        missing = missing_word(case, self._held(item))
        if missing is not None:
            pytest.skip(f"unsupported: the device lacks {missing}")

    @pytest.hookimpl(wrapper=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> Iterator[None]:
        if describe(pyfuncitem) is None or pyfuncitem.config.getoption(OPTION) is None:
            return (yield)
        from tbk_contracts.torch import check  # noqa: PLC0415  # imports PyTorch

        check.begin()
        try:
            result = yield
        except Exception as error:
            if is_only_should(pyfuncitem):
                pytest.xfail(f"a recommendation is not met: {error}")
            raise
        totals = check.totals()
        if totals.failure is not None:
            raise totals.failure
        if totals.warning is not None:
            pytest.xfail(f"a recommendation is not met: {totals.warning}")
        if totals.checks == 0:
            pytest.fail("the test ended without a check: an error of the suite", pytrace=False)
        return result

    def _held(self, item: pytest.Item) -> dict[str, bool]:
        if self.held is None:
            from tbk_contracts.torch import capability  # noqa: PLC0415

            for name in item.config.getoption("--tbk-import"):
                importlib.import_module(name)
            found = capability.probe_all(_device(str(item.config.getoption(OPTION)), 0))
            type(self).held = {word: answer.held for word, answer in found.items()}
        return self.held or {}
