# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Crashes when it is imported."""

import os

os.abort()
