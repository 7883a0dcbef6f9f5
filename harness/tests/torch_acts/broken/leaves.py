# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Wants to end the process that imports it."""

import sys

print("usage: a program of its own")
sys.exit(3)
