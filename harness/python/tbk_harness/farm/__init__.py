# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Runs over many boards, by Ray. `driver` alone imports it, in a process of its own: a farm that is
lost takes that process, and not the command."""
