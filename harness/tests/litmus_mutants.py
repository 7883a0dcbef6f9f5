# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Faults of order and lifetime that litmus programs find."""

# What a device may get wrong in order and lifetime, and backends that do.
BROKEN = {
    "a record does not cover the copy engine": "download_on_copy_queue",
    "a record does nothing": "record_does_nothing",
    "a record stands for an idle stream": "record_on_idle_stream",
    "a stale record": "record_once_only",
    "every second record is left out": "second_record_does_nothing",
    "a wait binds what is recorded when it runs": "wait_looks_when_it_runs",
    "a wait holds another stream": "wait_on_another_stream",
    "a wait does nothing": "wait_does_nothing",
    "every hundredth wait is left out": "wait_every_100th_is_left_out",
    "a wait between devices does nothing": "wait_crossing_does_nothing",
    "a wait does not hold fills": "fills_run_ahead_of_wait",
    "who waits for a destroyed event goes on": "destroy_releases_waiters",
    "an event is complete when it is recorded": "event_query_always_complete",
    "a query says OK too early, at times": "third_event_query_is_complete",
    "a stream's query says OK too early": "third_query_is_complete",
    "synchronize of an event returns at once": "second_event_synchronize_at_once",
    "synchronize of a stream returns at once": "third_synchronize_returns_at_once",
    "synchronize of a device misses streams": "device_synchronize_latest_stream",
    "synchronize misses a device": "synchronize_of_second_device_returns_at_once",
    "a copy runs at once": "copy_early",
    "fills have a queue of their own": "fill_aside",
    "an upload reads its source too late": "upload_without_stream_is_late",
    "a callback runs too early": "callback_at_once",
    "a callback lets later work go on": "callback_detached",
    "a callback runs twice": "third_callback_twice",
    "freed memory is handed out too early": "async_free_at_once",
    "freed memory is handed out in another order": "async_free_on_idle_stream",
    "a stream is its thread's": "upload_on_own_streams_only",
    "synchronize misses another thread's stream": "synchronize_own_streams_only",
    "an event is its thread's": "record_own_events_only",
    "memory is its thread's": "free_own_memory_only",
    "a wait is of the thread that recorded": "event_wait/of_its_thread/THR-004",
    "a kernel runs at once": "launch_early",
    "kernels have a queue of their own": "launch_aside",
    "a kernel without a stream is late": "launch/late_without_stream/CPY-006",
    "a kernel's arguments are read late": "launch_reads_shapes_late",
    "memory ends with its thread": "memory_ends_with_thread",
    "a stream ends with its thread": "stream_ends_with_thread",
    "an upload runs at once": "upload_early",
    "a download runs at once": "download_early",
    "a fill runs at once": "fill_early",
    "a copy between devices runs at once": "peer_copy_early",
    "copies have a queue of their own": "copy_aside",
    "a copy without a stream returns too early": "copy_without_stream_is_late",
    "a copy between devices returns too early": "peer_copy_without_stream_is_late",
    "a callback runs before an upload": "callback_before_upload",
    "a download runs behind a callback": "download_behind_callback",
    "fills do not wait for a callback": "fills_ahead_of_callback",
    "work goes with its stream": "destroy_drops_work",
    "a record is left out while one is pending": "record_while_pending_ignored",
    "a record is of the first stream": "record_elsewhere_keeps_stream",
    "an event that was recorded again is complete": "rerecorded_event_is_complete",
    "synchronize of an event gives up": "event_synchronize_asks_eight_times",
    "synchronize of a second record returns at once": "rerecorded_event_synchronize_at_once",
    "a stream is complete behind a callback": "query_complete_after_callback",
    "an upload reads its source when its stream is complete": "upload_on_copy_queue",
    "downloads do not wait for an event": "downloads_run_ahead_of_wait",
    "the first fill behind a wait does not wait": "fill_before_wait",
    "the first upload behind a wait does not wait": "upload_before_wait",
    "a wait takes effect with the next work": "waits_apply_late",
    "a wait behind work does nothing": "wait_behind_work_does_nothing",
    "a wait behind a callback does nothing": "wait_behind_callback_does_nothing",
    "a wait of the highest priority does nothing": "wait_of_greatest_is_left_out",
    "a record stands for what was before a wait": "record_before_waits",
    "a record holds up who waited for the one before": "record_reaches_waiters",
    "two callbacks change places": "callbacks_in_pairs",
    "synchronize misses a stream that was destroyed": "synchronize_forgets_gone",
    "fresh memory is cleared late": "synchronize_clears_fresh_memory",
    "memory in use is handed out": "alloc_seventh_the_same",
    "memory in the order of a stream is handed out twice": "async_alloc_twice_the_same",
    "an upload ignores its offset": "upload_ignores_offset",
    "a download begins a byte late": "download_from_next_byte",
    "a fill loses its last byte": "fill_drops_last_byte",
    "a copy writes too far": "copy_writes_one_byte_more",
}

# Of these, those that show through PyTorch on a device of another kind, or behind a gate: with
# options of the library's, and with the bridge's gate, which is a callback of the device's.
OPAQUE = ("flat=0",)  # where addresses are flat, the bridge adds offsets itself
OPTIONS_IN_PYTORCH = {"upload_ignores_offset": OPAQUE, "download_from_next_byte": OPAQUE}
BY_GATE = {
    "fills_ahead_of_callback",
    "query_complete_after_callback",
    "wait_behind_callback_does_nothing",
}
BY_MARKS = {  # which the same gate tells: how far a stream has come
    "callback_at_once",
    "callback_before_upload",
    "download_behind_callback",
    "third_callback_twice",
    "callbacks_in_pairs",
}

_NO_GATE = "it is no gate: tbk litmus --gate refuses it, with exit code 4"
_OWN_ALLOCATOR = "memory is PyTorch's caching allocator's, which frees nothing in a stream's order"
_ALWAYS_A_STREAM = "PyTorch names a stream for each copy and each operator"
_STREAMS_STAY = "PyTorch's streams come from a pool, and are never destroyed"

# Those that no program of PyTorch's calls reaches, and what is missing.
NO_CALL_OF_PYTORCH = {
    "callback_detached": _NO_GATE,
    "async_free_at_once": _OWN_ALLOCATOR,
    "async_free_on_idle_stream": _OWN_ALLOCATOR,
    "async_alloc_twice_the_same": _OWN_ALLOCATOR,
    "upload_without_stream_is_late": _ALWAYS_A_STREAM,
    "copy_without_stream_is_late": _ALWAYS_A_STREAM,
    "peer_copy_without_stream_is_late": _ALWAYS_A_STREAM,
    "launch/late_without_stream/CPY-006": _ALWAYS_A_STREAM,
    "destroy_drops_work": _STREAMS_STAY,
    "synchronize_forgets_gone": _STREAMS_STAY,
    "record_reaches_waiters": _STREAMS_STAY,  # it shows where who waited is gone
}
