# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The allocator of device memory, its statistics, and pinned memory."""

from tbk_torch_mutants.native import native, storage

native("record_stream_is_ignored", "MEM-511 MEM-514 MEM-538", "a recorded stream is not waited for")
native(
    "record_stream_on_default_stream", "MEM-511 MEM-514 MEM-538", "the default stream is recorded"
)
native("record_stream_refuses_own_stream", "MEM-513", "the allocation's own stream raises")
native("record_stream_refuses_foreign_memory", "MEM-512", "memory of others raises")
native("record_stream_crashes_for_null", "MEM-512", "crashes for no memory", narrow=True)
native("empty_cache_does_nothing", "MEM-518", "keeps all of it")
native("emptying_keeps_a_small_block", "MEM-518", "keeps the segment of a small block that is free",
       narrow=True, tests="torch_memory_emptied/")  # fmt: skip
native("emptying_is_of_the_current_device", "MEM-518", "keeps what lies free on the other devices",
       narrow=True, tests="torch_memory_emptied/")  # fmt: skip
storage("copy_data_does_nothing", "MEM-528 MEM-529", "nothing is copied")
storage("copy_data_drops_last_byte", "MEM-528", "a byte too few", narrow=True)
storage("copy_data_on_default_stream", "MEM-528", "does not wait for the current stream",
        narrow=True)  # fmt: skip
storage("allocate_for_default_stream", "MEM-509 MEM-538", "all blocks are of the default stream")
storage("allocate_forgets_to_free", "MEM-520 MEM-535 MEM-536 MEM-518 MEM-537", "nothing is freed")
storage("deleter_sets_device", "MEM-506", "freeing makes the memory's device current", narrow=True)
storage("allocate_misaligned", "MEM-504", "8 bytes off")
storage("allocate_is_short", "MEM-503 MEM-538", "half of what was asked for, above 64 bytes")
storage("allocate_nothing_crashes", "MEM-501", "0 bytes end the process")
storage("out_of_memory_is_another_error", "MEM-515 MEM-538", "a RuntimeError like any other")
storage("out_of_memory_crashes", "MEM-515 MEM-517 MEM-538", "too much ends the process")
storage("out_of_memory_leaks", "MEM-515 MEM-537", "each failure keeps some memory", narrow=True)
storage("block_given_out_twice", "MEM-503 MEM-527 MEM-538", "a live block at every second call")
native("allocated_is_constant", "MEM-520 MEM-537", "always 0")
native("allocated_never_falls", "MEM-520 MEM-535 MEM-537", "only rises")
native("allocated_is_half", "MEM-520 MEM-537", "half of it", narrow=True)
native("peak_below_current", "MEM-521 MEM-537", "the peak is half of what is in use")
native("statistics_below_zero", "MEM-521 MEM-537", "less than nothing was freed")
native("reserved_below_allocated", "MEM-521 MEM-537", "less reserved than in use")
native("reserved_is_never_given_back", "MEM-518", "what is reserved only rises")
native("statistics_of_device_0", "MEM-523", "those of device 0 for all")
native("statistics_take_any_index", "MEM-524", "statistics of a device that is not there")
native("statistics_forget_failures", "MEM-516", "retries and failures are not counted")
native("reset_peak_does_nothing", "MEM-522 MEM-537", "peaks stay")
native(
    "reset_peak_resets_sums", "MEM-522 MEM-537", "what was allocated is cleared, too", narrow=True
)
native("reset_accumulated_does_nothing", "MEM-522 MEM-537", "sums stay")
native("reset_accumulated_resets_peaks", "MEM-522 MEM-537", "peaks are reset, too", narrow=True)
native("memory_info_is_swapped", "MEM-525", "more free than there is")
native("memory_info_in_kilobytes", "MEM-525", "the total is in another unit", narrow=True)
native("memory_info_raises", "MEM-525", "an error that is not NotImplementedError")
native("pinned_always", "PIN-502", "everything is pinned")
native("pinned_never", "PIN-502", "nothing is pinned")
native("far_inside_of_pinned_is_not_pinned", "PIN-502", "a view that begins 4 KiB within",
       narrow=True, tests="torch_pinned/")  # fmt: skip
native("is_pinned_sets_device", "PIN-505", "asking sets device 0", narrow=True)
native("pin_memory_does_not_pin", "PIN-501 PIN-502 PIN-514", "ordinary memory")
native("pinned_allocate_nothing_raises", "PIN-508", "0 bytes raise")
native("pinned_allocate_sets_device", "PIN-505", "allocating sets device 0", narrow=True)
native("pinned_allocate_is_half", "PIN-501", "half of what was asked for")
native("pinned_memory_is_reused_at_once", "PIN-506 PIN-509", "given out while a copy uses it")

# Blocks that wait for recorded streams, and go too early or never.
storage("emptying_frees_what_waits", "MEM-538 MEM-518", "empty_cache frees what pending work uses",
        narrow=True)  # fmt: skip
storage("exhaustion_frees_what_waits", "MEM-538",
        "running out of memory frees what pending work uses", narrow=True)  # fmt: skip
storage("third_allocation_frees_what_waits", "MEM-538",
        "recorded memory waits for two allocations", narrow=True)  # fmt: skip
storage("freed_in_thread_waits_for_nothing", "MEM-538 MEM-514",
        "recorded memory that another thread frees is given out at once", narrow=True,
        tests="torch_sweep_memory/ torch_memory_sequences/")  # fmt: skip
storage("only_last_recorded_stream_counts", "MEM-538 MEM-514",
        "of several streams the one that was recorded last", narrow=True,
        tests="torch_sweep_memory/ torch_memory_sequences/")  # fmt: skip
storage("block_waits_only_once", "MEM-538", "an address that waited once waits no more",
        narrow=True)  # fmt: skip
storage("recorded_before_the_work", "MEM-538", "a stream is waited for up to record_stream",
        narrow=True)  # fmt: skip
storage("recorded_twice_is_lost", "MEM-537", "memory that two streams used is never freed",
        narrow=True)  # fmt: skip
native("peak_is_current", "MEM-537 MEM-521", "the peak falls with what is in use")
native("allocated_counts_twice", "MEM-537", "each allocation is added twice to the sum")
native("freed_lags_behind", "MEM-537", "what was freed is told in steps of 4 KiB", narrow=True)
native("large_blocks_stay_in_use", "MEM-537", "blocks above 1 MiB are counted as in use for ever",
       narrow=True)  # fmt: skip
native("emptying_resets_peaks", "MEM-537", "empty_cache resets peaks", narrow=True)
