# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The device "acme" for PyTorch. Plain `import torch` is enough: it calls autoload()."""

from pathlib import Path

import torch_tbk

autoload = torch_tbk.autoload(Path(__file__).with_name("libacme.so"))
