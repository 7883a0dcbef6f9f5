/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * mutants_peer.c: copies between devices.
 */
#include "calls.h"

CAN_ACCESS(can_access_accepts_null) {
  return out_can == NULL ? TBK_OK : CAN_ACCESS_INNER;
}
CAN_ACCESS(can_access_unknown_peer) {
  tbk_status_t status = CAN_ACCESS_INNER;
  if (status == TBK_INVALID && out_can != NULL) {
    *out_can = 0;
    status = TBK_OK;
  }
  return status;
}
CAN_ACCESS(can_access_negative_is_failure) {
  return device < 0 || peer < 0 ? TBK_FAILED : CAN_ACCESS_INNER;
}
CAN_ACCESS(can_access_itself) {
  tbk_status_t status = CAN_ACCESS_INNER;
  if (status == TBK_OK && device == peer) *out_can = 1;
  return status;
}
CAN_ACCESS(can_access_is_minus_1) {
  tbk_status_t status = CAN_ACCESS_INNER;
  if (status == TBK_OK && device != peer) *out_can = -1;
  return status;
}
CAN_ACCESS(can_access_opens_devices) {
  ignore(INNER(self, core)->device_open(self, peer, NULL));
  return CAN_ACCESS_INNER;
}
CAN_ACCESS(can_access_never) {
  tbk_status_t status = CAN_ACCESS_INNER;
  if (status == TBK_OK) *out_can = 0;
  return status;
}

PEER_COPY(peer_copy_opens_devices) {
  tbk_status_t status = PEER_COPY_INNER;
  if (status == TBK_INVALID_STATE) {
    ignore(INNER(self, core)->device_open(self, destination_device, NULL));
    ignore(INNER(self, core)->device_open(self, source_device, NULL));
    status = TBK_OK;
  }
  return status;
}
PEER_COPY(peer_copy_closed_is_invalid) {
  tbk_status_t status = PEER_COPY_INNER;
  return status == TBK_INVALID_STATE ? TBK_INVALID : status;
}
PEER_COPY(peer_copy_accepts_unaligned) {
  if (((destination_offset | source_offset | size_bytes) & 3) != 0) return TBK_OK;
  return PEER_COPY_INNER;
}
/* Together with can_access_never: what cannot be reached directly is not copied either. */
PEER_COPY(peer_copy_needs_access) {
  if (source_device != destination_device)
    return wrap_fail(error, TBK_UNSUPPORTED, "no direct access");
  return PEER_COPY_INNER;
}
PEER_COPY(peer_copy_within_device_refused) {
  if (destination_device == source_device)
    return wrap_fail(error, TBK_INVALID, "that is no other device");
  return PEER_COPY_INNER;
}
PEER_COPY(peer_copy_downwards_refused) {
  if (destination_device < source_device) return wrap_fail(error, TBK_FAILED, "no such route");
  return PEER_COPY_INNER;
}
PEER_COPY(peer_copy_drops_last_byte) {
  size_bytes -= size_bytes > 0;
  return PEER_COPY_INNER;
}
PEER_COPY(peer_copy_writes_one_byte_more) {
  tbk_status_t status = PEER_COPY_INNER;
  if (status == TBK_OK && size_bytes > 0 && stream == NULL)
    ignore(INNER(self, core)
               ->fill(self, destination_device, destination, destination_offset + size_bytes, 0x3c,
                      1, NULL, NULL));
  return status;
}
PEER_COPY(peer_copy_ignores_offset) {
  destination_offset = 0;
  return PEER_COPY_INNER;
}
PEER_COPY(peer_copy_large_stops_short) {
  if (size_bytes > 65536) size_bytes = 65536;
  return PEER_COPY_INNER;
}
PEER_COPY(peer_copy_on_any_stream) {
  wrap_t* wrap = wrap_of(self);
  if (stream != NULL && note_of_stream(wrap, stream)->device != source_device) stream = NULL;
  return PEER_COPY_INNER;
}
/* Of nothing, before anything is looked at. */
PEER_COPY(peer_copy_of_nothing_on_any_stream) {
  if (size_bytes == 0) stream = NULL;
  return PEER_COPY_INNER;
}
PEER_COPY(peer_copy_on_destination_stream) {
  wrap_t* wrap = wrap_of(self);
  if (stream != NULL && source_device != destination_device &&
      note_of_stream(wrap, stream)->device == destination_device)
    return TBK_OK;
  return PEER_COPY_INNER;
}

/* The engine of a device that receives two transfers at once drops the one of the other device. */
UPLOAD(upload_is_latest) {
  wrap_t* wrap = wrap_of(self);
  const tbk_status_t status = UPLOAD_INNER;
  if (status == TBK_OK && stream != NULL && size_bytes > 0) {
    atomic_store(&wrap->value, (uint64_t)device);
    atomic_store(&wrap->kept, (uintptr_t)stream);
  }
  return status;
}
PEER_COPY(peer_copy_beside_upload_is_lost) {
  wrap_t* wrap = wrap_of(self);
  tbk_stream_t* other = (tbk_stream_t*)atomic_load(&wrap->kept);
  if (other != NULL && other != stream && destination_device != source_device &&
      atomic_load(&wrap->value) == (uint64_t)destination_device &&
      INNER(self, stream)->stream_query(self, other, NULL) == TBK_NOT_READY)
    size_bytes = 0;
  return PEER_COPY_INNER;
}

#define PEER(function, clause, operation, narrow, member, note, options, install) \
  {                                                                               \
#function, clause, MUTANT, operation, narrow, note,                           \
        {PATCH(peer.member, function) }, 0, options, install, 0                   \
  }

extern const mutant_t mutants_peer[];
const mutant_t mutants_peer[] = {
    ROW(can_access_accepts_null, "PER-001", RETURN, BROAD, peer.peer_can_access, "OK for NULL"),
    ROW(can_access_unknown_peer, "PER-001", RETURN, BROAD, peer.peer_can_access,
        "OK and 0 for a device that is not there"),
    ROW(can_access_negative_is_failure, "PER-001", RETURN, NARROW, peer.peer_can_access, "FAILED"),
    ROW(can_access_itself, "PER-002", VALUE, BROAD, peer.peer_can_access, "1 for itself"),
    ROW(can_access_is_minus_1, "PER-002", VALUE, NARROW, peer.peer_can_access, "-1"),
    ROW(can_access_opens_devices, "DEV-004", STATE, NARROW, peer.peer_can_access,
        "asking opens the peer"),
    ROW(peer_copy_opens_devices, "PER-003", RETURN, BROAD, peer.peer_copy, "OK, and opens them"),
    ROW(peer_copy_closed_is_invalid, "PER-003", RETURN, NARROW, peer.peer_copy, "INVALID"),
    PEER(peer_copy_accepts_unaligned, "PER-004", RETURN, BROAD, peer_copy, "OK, no effect",
         "granularity=4", NULL),
    {"peer_copy_needs_access",
     "PER-005",
     MUTANT,
     RETURN,
     BROAD,
     "UNSUPPORTED without access",
     {PATCH(peer.peer_copy, peer_copy_needs_access), PATCH(peer.peer_can_access, can_access_never)},
     0,
     0,
     0,
     0},
    ROW(peer_copy_within_device_refused, "PER-005", RETURN, NARROW, peer.peer_copy,
        "INVALID where both are one device"),
    ROW(peer_copy_downwards_refused, "PER-005", RETURN, NARROW, peer.peer_copy,
        "FAILED from device 1 to device 0"),
    ROW(peer_copy_drops_last_byte, "PER-006", EXTENT, BROAD, peer.peer_copy, "one byte too few"),
    ROW(peer_copy_writes_one_byte_more, "PER-006", EXTENT, BROAD, peer.peer_copy,
        "the byte behind"),
    ROW(peer_copy_ignores_offset, "PER-006", VALUE, BROAD, peer.peer_copy, "to offset 0"),
    ROW(peer_copy_large_stops_short, "PER-006", EXTENT, NARROW, peer.peer_copy, "at 64 KiB"),
    PEER(peer_copy_on_any_stream, "PER-007", RETURN, BROAD, peer_copy,
         "runs at once where the stream is another device's", NULL, notes_install),
    ROW(peer_copy_of_nothing_on_any_stream, "PER-007", RETURN, NARROW, peer.peer_copy,
        "OK for size 0"),
    PEER(peer_copy_on_destination_stream, "PER-007", RETURN, NARROW, peer_copy,
         "OK, no effect, on a stream of the destination's device", NULL, notes_install),
    {"peer_copy_beside_upload_is_lost",
     "PER-006",
     MUTANT,
     STATE,
     NARROW,
     "while the destination's device has an upload pending",
     {PATCH(core.upload, upload_is_latest), PATCH(peer.peer_copy, peer_copy_beside_upload_is_lost),
      PATCH(stream.stream_destroy, notes_destroy_unkept)},
     0,
     0,
     0,
     0},
    {0}};
