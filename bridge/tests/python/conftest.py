# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The backend under test, and what every test must leave as it found it.

The tests of this folder run on any backend: `pytest bridge/tests --tbk-backend ./libacme.so`.
"""

from __future__ import annotations

import gc
import time
import warnings
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import forked_torch
import pytest
import torch
import torch_tbk

if TYPE_CHECKING:
    from torch_tbk import DeviceModule


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("tbk", "the bridge's tests")
    group.addoption("--tbk-backend", metavar="PATH", help="its library; the cpu reference")
    group.addoption("--tbk-options", metavar="KEY=VALUE,...", default="", help="for the backend")
    group.addoption("--tbk-every", metavar="N", type=int, default=1, help="cases of many; all")
    group.addoption("--tbk-steps", metavar="N", type=int, default=200, help="of long trainings")
    group.addoption(
        "--tbk-models", choices=["small", "published"], default="small", help="their depth"
    )


RELEASE_S = 10  # in which what another thread still holds is given back
MANY = 8  # cases of one test, from which on some stand for all


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out cases of tests that have many, where --tbk-every asks for that."""
    step = config.getoption("--tbk-every")
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    left_out = {one for some in cases.values() if len(some) >= MANY
                for place, one in enumerate(some) if place % step}  # fmt: skip
    config.hook.pytest_deselected(items=[item for item in items if item in left_out])
    items[:] = [item for item in items if item not in left_out]


@pytest.fixture(scope="session")
def library(pytestconfig: pytest.Config) -> Path:
    """Returns the library under test."""
    return Path(pytestconfig.getoption("--tbk-backend") or torch_tbk.reference("cpu")).resolve()


@pytest.fixture(scope="session")
def backend_options(pytestconfig: pytest.Config) -> str:
    return str(pytestconfig.getoption("--tbk-options"))


@pytest.fixture(scope="session")
def backend(library: Path, backend_options: str) -> DeviceModule:
    """Returns the module of the backend under test, which has a device."""
    module = torch_tbk.load(library, options=backend_options)
    assert module.is_available(), f"{library} has no device here"
    return module


@pytest.fixture
def device(backend: DeviceModule) -> torch.device:
    """Device 0, which is current."""
    return torch.device(backend.backend_name, 0)


@pytest.fixture
def other_device(backend: DeviceModule) -> torch.device:
    """Device 1."""
    if backend.device_count() < 2:
        pytest.skip("needs two devices")
    return torch.device(backend.backend_name, 1)


@dataclass(frozen=True)
class State:
    """What is the process's or the thread's, and no test's to keep."""

    device: int
    streams: tuple[torch.Stream, ...]
    fallback_mode: str
    memory_limits: tuple[int | None, ...]
    allocated: tuple[int, ...]
    pinned: int

    @classmethod
    def now(cls, backend: DeviceModule) -> State:
        gc.collect()
        devices = range(backend.device_count())
        for index in devices:
            backend.synchronize(index)
        backend.empty_host_cache()  # counts what is free only when it looks
        return cls(
            device=backend.current_device(),
            streams=tuple(backend.current_stream(index) for index in devices),
            fallback_mode=backend.get_fallback_mode(),
            memory_limits=tuple(backend.get_memory_limit(index) for index in devices),
            allocated=tuple(backend.memory_allocated(index) for index in devices),
            pinned=backend.host_memory_stats()["active_requests.current"],
        )

    def check_against(self, before: State, backend: DeviceModule) -> None:
        """Less memory in use than before is what an earlier failure had kept."""
        assert (self.device, self.streams) == (before.device, before.streams)
        assert self.fallback_mode == before.fallback_mode
        assert self.memory_limits == before.memory_limits
        assert holds_no_more_than(before.allocated, backend), (
            "the test left device memory allocated"
        )
        if self.pinned > before.pinned and counts_pinned_down(backend):
            pytest.fail("the test left pinned memory allocated")


def holds_no_more_than(allocated: tuple[int, ...], backend: DeviceModule) -> bool:
    """Returns whether that is so within a while: the thread in which autograd runs the device's
    operators tells the caller that it is done, and then lets go of what it had."""
    end = time.monotonic() + RELEASE_S
    while True:
        held = (backend.memory_allocated(index) for index in range(len(allocated)))
        if all(now <= then for now, then in zip(held, allocated, strict=True)):
            return True
        if time.monotonic() > end:
            return False
        time.sleep(0.001)


def counts_pinned_down(backend: DeviceModule) -> bool:
    """Returns whether freed memory that no copy has used is counted, which 2.11 does not do."""

    def active() -> int:
        return backend.host_memory_stats()["active_requests.current"]

    before = active()
    torch.empty(1, pin_memory=True)
    return active() == before


@pytest.fixture
def is_pinned_counted_down(backend: DeviceModule) -> bool:
    return counts_pinned_down(backend)


_FAILED = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    item.stash[_FAILED] = report.failed
    return report


@pytest.fixture(autouse=True)
def leaves_nothing_behind(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fails a test that has changed what is current, or leaked memory."""
    if "backend" not in request.fixturenames:
        yield
        return
    backend: DeviceModule = request.getfixturevalue("backend")
    before = State.now(backend)
    # What is there now stays, also modules that the test before was the first to import: the
    # collecting after the test then looks at its own objects alone.
    gc.freeze()
    yield
    if not request.node.stash.get(_FAILED, False):  # its traceback keeps tensors alive
        State.now(backend).check_against(before, backend)


@pytest.fixture
def takes_programs(backend: DeviceModule, device: torch.device) -> None:
    """Skips where the backend takes no programs."""
    backend.reset_routes()
    torch.ones(2, device=device).exp()
    if not any(row.route == "generic" for row in backend.routes()):
        pytest.skip("the backend offers no generic kernels")


@pytest.fixture
def takes_indices(backend: DeviceModule, device: torch.device) -> Iterator[None]:
    """Skips where the backend moves nothing by indices; PyTorch's own warnings are not ours."""
    backend.reset_routes()
    torch.ones(2, device=device).take(torch.tensor([1], device=device))
    if not any(row.route == "generic" for row in backend.routes() if "take" in row.operator):
        pytest.skip("the backend offers no tbk::index")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.fixture
def child() -> Callable[..., str]:
    """Runs a program in a Python of its own: what it prints. Its argv is what follows it."""

    def run(program: str, *arguments: object, **environment: str) -> str:
        done = forked_torch.run(program, arguments, environment)
        assert done.returncode == 0, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    return run
