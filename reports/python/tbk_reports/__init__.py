# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""How a verdict is told: HTML, JUnit XML, Markdown, JSON and terminal, from result files alone."""
