# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The guard's streams."""

import torch

from tbk_torch_mutants.native import native

native("get_stream_always_default", "STR-503 STR-505 GRD-507", "setting a stream is not seen")
native("get_stream_of_next_device", "STR-503 STR-522", "the current stream of another device")
native(
    "get_stream_of_current_device", "STR-501 STR-503", "the current device's stream for any device"
)
native("get_stream_is_new_each_time", "STR-501 STR-502", "another current stream each time")
native("get_stream_takes_any_index", "STR-522", "a stream of a device that is not there")
native("get_stream_fails_late", "STR-526", "fails after 500 questions", narrow=True)
native("current_stream_is_shared", "STR-502 STR-503", "one current stream for all threads")
native("exchange_stream_does_nothing", "STR-504 STR-505 STR-524", "the stream is not set")
native("exchange_stream_changes_others", "STR-505", "the other device gets another stream, too")
native("query_stream_is_always_true", "STR-508", "no work is ever pending")
native("query_stream_is_never_true", "STR-508", "work is pending for ever")
native("query_stream_waits", "STR-508", "the question waits for the work")
native("synchronize_stream_does_nothing", "STR-509", "does not wait")
native("synchronize_waits_for_default_stream", "STR-509", "waits for the default stream instead")
native("synchronize_device_does_nothing", "STR-511", "does not wait")
native("synchronize_device_of_current", "STR-511", "waits for the current device", narrow=True)
native("synchronize_device_its_default_stream", "STR-511", "waits for the default stream only")
native("synchronize_device_its_current_stream", "STR-511", "waits for the current stream only")
native("synchronize_device_wants_its_thread", "STR-512", "raises in a second thread")
native("synchronize_device_sets_it", "GRD-503", "makes that device current")
native("new_stream_is_default", "STR-514 STR-518", "a new stream is the default one")
native("new_stream_refuses_priorities", "STR-516", "priorities above 2 and below -2 raise")
native("later_streams_have_no_priority", "STR-516", "after 32 streams none has a priority",
       narrow=True, tests="priority_stays")  # fmt: skip
native("new_streams_run_out", "STR-519", "64 streams and no more")
native("native_handle_differs_each_time", "STR-520", "another handle at each question")
if hasattr(torch.Stream, "is_capturing"):  # in 2.11 there is none
    native("stream_is_capturing", "STR-521", "always capturing")
    native("stream_capturing_raises", "STR-521", "asking whether it is capturing raises")
native("stream_ids_expire", "STR-515", "the first stream is gone after 32 others")
