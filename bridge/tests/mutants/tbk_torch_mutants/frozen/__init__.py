# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Mutants written without sight of the tests; `table.rows` has them where they are asked for."""
