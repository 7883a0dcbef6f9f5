# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""A gate: somebody's library that holds one stream shut (tbk/gate.h), and who opens it in time."""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Callable

import torch

from tbk_contracts.torch.patience import awake_s

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
        self._keeper.tbk_keeper_has_marks.restype = ctypes.c_bool
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
        address = _address(stream)
        nanoseconds = ctypes.c_uint64(int(most_s * 1e9))
        index = stream.device_index
        code = self._keeper.tbk_keeper_close(index, address, nanoseconds, self._said)
        return self._checked(code) != _SYNCHRONOUS

    @property
    def has_marks(self) -> bool:
        """Returns whether it can tell how far a stream has come."""
        return bool(self._keeper.tbk_keeper_has_marks())

    def mark(self, stream: torch.Stream) -> Callable[[], int]:
        """Puts a mark on a stream. Returns what tells how often the stream has come to it, which is
        once, when all work before it is complete. Raises GateError."""
        address, said = _address(stream), ctypes.create_string_buffer(_MESSAGE)
        code = self._keeper.tbk_keeper_mark(stream.device_index, address, said)
        if code < 0:
            self._said = said
        mark = self._checked(code)
        return lambda: int(self._keeper.tbk_keeper_passed(mark))

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
        until = awake_s() + PATIENCE_S
        while not (event.query() or stream.query()):
            if awake_s() > until:
                raise GateError(
                    f"the gate {self._library} does not open: "
                    f"{PATIENCE_S:g} s later the work behind it is not complete"
                )
            time.sleep(0.0005)


def _address(stream: torch.Stream) -> ctypes.c_void_p:
    try:
        return ctypes.c_void_p(stream.native_handle)  # type: ignore[attr-defined]
    except Exception as error:  # whatever a device raises
        why = str(error).partition("\n")[0]
        raise GateError(f"the device tells no native handles of streams: {why}") from error


def _enqueue(stream: torch.Stream, value: torch.Tensor, event: torch.Event) -> None:
    with stream:
        value.fill_(1)
        event.record(stream)


# ------------------------------------------------------------------------ the one of a process --

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
