# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Five models of published depth and a quarter of the width, and their training."""
