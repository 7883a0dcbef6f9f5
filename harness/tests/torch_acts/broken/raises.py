# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Can't be imported."""

raise RuntimeError("no driver is there")
