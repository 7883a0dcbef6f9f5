# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The front door: drives tbk-run, judges what it recorded, and has the verdict rendered."""

__version__ = "0.1.0"
