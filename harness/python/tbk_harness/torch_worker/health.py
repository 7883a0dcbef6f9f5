# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Does the device still compute? A copy there and back, one operator, one synchronisation."""

from __future__ import annotations

import os

import torch

from tbk_harness.torch_worker.speech import told
from tbk_harness.torch_worker.subject import Subject


def probe(subject: Subject) -> str:
    """Returns what is wrong; "" for a device that computes."""
    try:
        return _probe(subject)
    except Exception as error:
        return told(error)[:250]


def _probe(subject: Subject) -> str:
    # Other values each time, so that what an earlier probe left in memory is not the answer.
    sent = torch.arange(64, dtype=torch.float32) + float(os.urandom(1)[0])
    there = sent.to(subject.device, copy=True)
    if not torch.equal(there.to("cpu", copy=True), sent):
        return "a copy to the device and back gives other values"
    try:
        doubled = there + there
    except NotImplementedError:
        return ""  # a device that is being brought up: it copies, and says what it lacks
    subject.synchronize()
    back = doubled.to("cpu", copy=True)
    if not torch.equal(back, 2 * sent):
        at = int((back != 2 * sent).nonzero()[0])
        value = float(sent[at])
        return f"it adds wrongly: {value} + {value} gives {float(back[at])}"
    return ""
