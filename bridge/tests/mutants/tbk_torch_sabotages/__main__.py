# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Prints a line for each sabotage: its set, its name, its area."""

from tbk_torch_sabotages import SETS, sabotages

for _of in SETS:
    for _name, _one in sabotages(_of).items():
        print(_of, _name, _one.area)
