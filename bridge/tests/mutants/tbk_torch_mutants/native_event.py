# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The guard's events."""

from tbk_torch_mutants.native import native

native("record_is_ignored", "EVT-503 EVT-507 EVT-502", "recording has no effect")
native("record_on_default_stream", "EVT-507 EVT-509", "recorded on the default stream")
native("second_record_is_ignored", "EVT-505", "only the first record counts", narrow=True)
native("record_sets_device", "EVT-520 GRD-503", "recording sets the stream's device")
native("record_moves_between_devices", "EVT-512", "an event may be recorded on another device")
native("record_measures_never", "EVT-516", "an event with timing measures nothing")
native("block_does_nothing", "EVT-507 EVT-522 EVT-508", "waiting on the device has no effect")
native("block_on_default_stream", "EVT-507 EVT-522", "the default stream waits instead")
native("block_sets_device", "EVT-520 GRD-503", "waiting sets the stream's device")
native("block_on_other_device_does_nothing", "EVT-507", "streams of device 1 do not wait",
       narrow=True)  # fmt: skip
native("only_first_block_counts", "EVT-508", "of several streams the first one waits")
native("query_event_is_always_true", "EVT-503", "an event is complete at once")
native("query_event_is_never_true", "EVT-503", "an event is never complete")
native("query_event_sets_device", "EVT-520", "asking sets device 0", narrow=True)
native("synchronize_event_does_nothing", "EVT-509", "does not wait")
native("synchronize_event_sets_device", "EVT-520 GRD-503", "sets device 0", narrow=True)
native("events_belong_to_threads", "EVT-523", "nobody waits for what another thread recorded")
native("elapsed_time_is_negative", "EVT-513", "negative for events in order")
native("elapsed_time_is_absolute", "EVT-513", "positive in reverse, too", narrow=True)
native("elapsed_time_is_of_the_second", "EVT-514", "falls from question to question")
native("elapsed_time_in_seconds", "EVT-513", "in seconds")
native("destroy_event_sets_device", "EVT-520 GRD-503", "sets the event's device")
native("destroy_event_raises", "ERR-509", "a failure ends the process")
native("destroy_event_wants_its_thread", "EVT-518", "aborts in a thread that has recorded none")
native("query_event_waits", "EVT-510", "the question waits for the device")
