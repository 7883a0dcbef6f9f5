# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Faults of the runtime that show in one situation only."""

from __future__ import annotations

from tbk_torch_mutants.native import native


def _rows(*rows: tuple[str, str, str]) -> None:
    for name, clauses, breaks in rows:
        native(name, clauses, breaks, narrow=True)


_rows(
    ("third_new_stream_is_default", "STR-518", "every third new stream"),
    ("priority_stream_is_default", "STR-518", "a new stream with a priority"),
    ("low_priorities_are_refused", "STR-516", "from -1000 on"),
    ("second_device_stream_is_not_awaited", "STR-509", "streams of device 1"),
    ("fourth_stream_query_is_true", "STR-508", "while work is pending"),
    ("default_stream_query_waits", "STR-508", "of the default stream"),
    ("second_device_synchronize_is_of_first", "STR-511", "device 1 is taken for 0"),
    ("stream_is_forgotten_after_failure", "ERR-502", "the default stream is current after it"),
    ("third_record_is_lost", "EVT-505", "of one event"),
    ("ninth_block_is_lost", "EVT-508", "of one event"),
    ("timing_events_are_complete", "EVT-503", "after an event with timing was recorded"),
    ("default_stream_never_blocks", "EVT-507", "the default stream does not wait"),
    ("elapsed_time_wraps_at_50_ms", "EVT-514", "over longer stretches"),
    ("eleventh_event_synchronize_is_early", "EVT-509", "every eleventh does not wait"),
    ("exchange_of_same_device_gives_0", "DEV-509", "where nothing changes"),
    ("threads_count_no_device", "DEV-502", "the guard's count outside of the main thread"),
    ("second_record_of_memory_is_lost", "MEM-511", "the second stream of a block"),
    ("memory_is_recorded_once", "MEM-514", "on the first stream only"),
    ("peak_is_reset_on_all_devices", "MEM-523", "not only of the device asked for"),
    ("accumulated_reset_on_all_devices", "MEM-523", "not only of the device asked for"),
    ("second_empty_cache_raises", "MEM-518", "every second time"),
    ("free_exceeds_total_when_half_full", "MEM-525", "once half of the memory is used"),
    ("inside_of_pinned_is_not_pinned", "PIN-502", "slices off a multiple of 64 bytes"),
    ("unaligned_pointers_raise", "PIN-503", "odd addresses"),
    ("device_of_inside_pointer_raises", "MEM-531", "addresses off a multiple of 64 bytes"),
    ("seed_of_63_bits", "GEN-503", "the highest bit is lost"),
    ("offset_of_32_bits", "GEN-513", "the upper half is lost"),
)
