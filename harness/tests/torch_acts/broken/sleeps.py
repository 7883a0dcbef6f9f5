# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Never comes to an end when it is imported."""

import threading

threading.Event().wait()
