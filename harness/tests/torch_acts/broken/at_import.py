# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Says why, and crashes, when it is imported."""

import os
import sys

print("RULE 7: no context is current", file=sys.stderr, flush=True)
os.abort()
