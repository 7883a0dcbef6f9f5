# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The guard's devices, and the hooks."""

from tbk_torch_mutants.native import native

native("guard_count_is_zero", "DEV-502", "the guard counts none")
native("unchecked_set_device_opens", "DEV-510 DEV-511", "starts the device")
native("hooks_count_is_one_less", "DEV-502", "the hooks count one less")
native("hooks_count_raises", "DEV-502", "the hooks throw when asked for the count")
native("get_device_beyond_count", "DEV-504", "the current device is 100 too high")
native("get_device_of_cpu", "DEV-504", "the current device is the CPU")
native("current_device_is_shared", "DEV-505 GRD-509", "one current device for all threads")
native("threads_inherit_device", "DEV-506", "a new thread begins on the device that was set last",
       narrow=True)  # fmt: skip
native("set_device_clamps", "DEV-507", "an index that is too high is 0")
native("set_device_ignores_range", "DEV-507", "an index that is too high is passed over")
native("set_device_raises_after_change", "DEV-507",
       "raises for an index that is too high, on another device")  # fmt: skip
native("set_same_device_raises", "DEV-513", "the current device can't be set again")
native("set_device_does_nothing", "DEV-504 AGD-502", "setting a device has no effect")
native("exchange_device_gives_new", "DEV-509 GRD-501", "gives back the new device")
native("exchange_device_gives_0", "DEV-509 GRD-501", "gives back device 0")
native("exchange_device_does_nothing", "DEV-509", "exchanging has no effect")
native("guard_does_not_restore", "GRD-505", "leaving a guard changes nothing")
native("guard_restores_0", "GRD-505", "leaving a guard goes to device 0")
native("capability_takes_any_device", "DEV-524", "capability of a device that is not there")
native("capability_claims_all", "DEV-523", "claims dtypes it has not")
native("capability_lacks_float", "DEV-523", "does not tell of float32")
native("context_never", "AGD-504", "no device has a context")
native("device_of_pointer_is_0", "MEM-531", "all memory is of device 0")
native("device_of_pointer_is_current", "MEM-531", "memory is of the current device", narrow=True)
native("device_of_pointer_only_at_the_start", "MEM-531", "not for a pointer inside", narrow=True)
native("device_of_pointer_takes_gil", "MEM-532", "waits for the GIL")
native("device_of_any_pointer", "MEM-531", "memory of others is of device 0")
native("resize_of_storage_does_nothing", "MEM-530", "a storage keeps its size")
native("resize_of_storage_loses_all", "MEM-530", "what was there is lost")
native("resize_of_storage_never_shrinks", "MEM-530", "it only grows", narrow=True)
native("resize_of_storage_refuses_0", "MEM-530", "it can't be emptied", narrow=True)
