# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What tests of order write on one stream and read on another."""

from __future__ import annotations

from collections.abc import Callable

import torch

from tbk_contracts.torch import check, host, order

LENGTH = 64


class Cell:
    """A tensor with old values; new ones beside it, and a place to which it can be copied."""

    def __init__(self, device: torch.device) -> None:
        self.old, self.new = host.values((LENGTH,)), host.values((LENGTH,))
        self.source = host.upload(self.new, device)
        self.value = host.upload(self.old, device)
        self.seen = host.poisoned((LENGTH,), self.new.dtype, device)

    def write(self, stream: torch.Stream) -> None:
        """Lets `stream` write the new values."""
        with order.on(stream):
            self.value.copy_(self.source)

    def read(self, stream: torch.Stream) -> None:
        """Lets `stream` copy what is there when it comes to that."""
        with order.on(stream):
            self.seen.copy_(self.value)

    def is_old(self, stream: torch.Stream) -> bool:
        """Returns whether what the host sees by way of `stream` now is what was there before."""
        return torch.equal(order.read(stream, self.value), self.old)

    def check_value(self, what: str, stream: torch.Stream) -> None:
        """What the host sees by way of `stream` now is new."""
        check.tensor(what, order.read(stream, self.value), self.new)

    def check_seen(self, what: str, stream: torch.Stream) -> None:
        """What was read is new; `stream` is the one that read it."""
        check.tensor(what, order.read(stream, self.seen), self.new)


def hand_over(
    what: str,
    write: torch.Stream,
    read: torch.Stream,
    edge: Callable[[], object] | None,
    control: bool = True,
) -> None:
    """What stream `write` writes behind a load, stream `read` sees, because of `edge` between.

    The control has no edge, or is left out where an edge cannot be taken away.
    """

    def ordered(load: order.Load) -> None:
        cell = Cell(write.device)
        load.hold()
        cell.write(write)
        if edge is not None:
            edge()
        cell.read(read)
        load.mark()
        cell.check_seen(what, read)

    order.show(write, ordered, unordered(write, read) if control else None)


def host_sees(
    what: str, write: torch.Stream, other: torch.Stream, wait: Callable[[], object]
) -> None:
    """After `wait` on the host, what stream `write` has written behind a load is seen by way of
    any `other` stream, which waits for nothing."""

    def waited(load: order.Load) -> None:
        cell = Cell(write.device)
        load.hold()
        cell.write(write)
        load.mark()
        wait()
        cell.check_value(what, other)
        check.equal(f"{what}: what was before it is pending", load.pending(), False)

    order.show(write, waited, unordered(write, other))


def unordered(write: torch.Stream, read: torch.Stream) -> order.Control:
    """Nothing between writing and reading: true if the old values were seen."""

    def control(load: order.Load) -> bool:
        cell = Cell(write.device)
        load.hold()
        cell.write(write)
        return cell.is_old(read)

    return control


def does_not_wait(
    what: str,
    stream: torch.Stream,
    call: Callable[[], object],
    *,
    legal: str = "",
    by_event: bool = True,
) -> None:
    """`call` returns while `stream` is at work. `legal`: why one that waits is no failure.
    `by_event`: as for order.waits; a call must not be judged by itself."""
    waits = order.waits(stream, call, by_event=by_event)
    if waits is None:
        call()
        if order.asynchronous(stream.device):
            check.evidence(check.NOT_SHOWN, "the stream was not held until the call")
        else:
            check.evidence(check.TRIVIAL, "work is complete when the call returns")
    elif waits and legal:
        check.evidence(check.NOT_SHOWN, f"{what} waits; {legal}")
    check.that(what, not waits or bool(legal), expected="it returns while the stream is at work",
               seen="it returns when the work is complete, each time")  # fmt: skip
