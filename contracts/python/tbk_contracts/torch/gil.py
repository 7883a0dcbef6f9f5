# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Whether a call that has given the GIL away can end while somebody else keeps it.

One thread makes the calls, straight from one bytecode to C: it can lose the GIL inside the call
or after it, but not between saying that it begins and beginning. The other one takes the GIL at any
moment and keeps it. A call that has begun by then must complete: one that wants the GIL cannot.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any

from tbk_contracts.torch.patience import awake_s

PATIENCE_S = 10.0
_KEEP_S = 1000.0  # as a switch interval: nobody else gets the GIL before this thread blocks
_HAND_OVER_S = 1e-6
_REST_S = 2e-5


def calls_caught(
    function: Callable[..., object],
    arguments: Sequence[tuple[Any, ...]],
    complete: Callable[[int], bool],
) -> tuple[int, int]:
    """Returns how many calls had begun when the GIL was taken, and how many of these did not
    complete.

    `function` is one of ctypes. `complete` tells of the call with that index, and keeps the GIL.
    """
    begun, ended = [0], [0]

    def make_all() -> None:
        for index, each in enumerate(arguments, 1):
            begun[0] = index
            function(*each)
            ended[0] = index

    interval = sys.getswitchinterval()
    thread = threading.Thread(target=make_all)
    caught = stuck = 0
    try:
        sys.setswitchinterval(_HAND_OVER_S)
        thread.start()
        while thread.is_alive() and not stuck:
            thread.join(_REST_S)  # the other one, which may wait as long as _KEEP_S, is woken by it
            sys.setswitchinterval(_KEEP_S)
            for _ in range(3):  # what was asked for before is granted here
                pass
            if begun[0] > ended[0]:
                caught += 1
                stuck += not _waited(complete, begun[0] - 1)
            sys.setswitchinterval(_HAND_OVER_S)
    finally:
        sys.setswitchinterval(interval)
    thread.join()
    return caught, stuck


def _waited(complete: Callable[[int], bool], index: int) -> bool:
    deadline = awake_s() + PATIENCE_S
    while not complete(index):
        if awake_s() > deadline:
            return False
    return True
