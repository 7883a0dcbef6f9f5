# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""python -m tbk_harness"""

from tbk_harness.cli import main

main()
