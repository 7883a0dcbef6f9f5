# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Counts no device."""

import torch

torch.cpu.device_count = lambda: 0
