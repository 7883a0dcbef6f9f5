# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Sequences of calls that allocate, use and free memory of a device, drawn at random and judged by
a model. `python -m tbk_contracts.torch.lifetime --help` runs them by themselves."""
