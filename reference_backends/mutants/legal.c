/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * legal.c: what legal.h reads, put over the tables of the reference.
 */
#include "legal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"

legal_t* legal_of(tbk_instance_t* self) {
  return (legal_t*)atomic_load(&wrap_of(self)->kept);
}

/* ------------------------------------------------------------------------------------ device -- */

#define SET_PROPERTY(member, value)                                              \
  if (out_properties->struct_size >=                                             \
      offsetof(tbk_device_properties_t, member) + sizeof out_properties->member) \
  out_properties->member = (value)

/* Hands over no more than an older header has, and leaves the size as the host has set it. */
static tbk_status_t properties_before(tbk_instance_t* self, int32_t device, void* out_properties,
                                      tbk_error_t* error) {
  tbk_device_properties_t* out = out_properties;
  const size_t known = offsetof(tbk_device_properties_t, max_allocation_bytes),
               whole = out->struct_size;
  if (whole > known) out->struct_size = known;
  const tbk_status_t status = INNER(self, core)->device_properties(self, device, out, error);
  out->struct_size = whole;
  return status;
}

PROPERTIES(legal_properties) {
  const legal_t* legal = legal_of(self);
  tbk_status_t status = legal->older && out_properties != NULL
                            ? properties_before(self, device, out_properties, error)
                            : PROPERTIES_INNER;
  if (status != TBK_OK) return status;
  tbk_device_properties_t all = {.struct_size = sizeof all};
  status = INNER(self, core)->device_properties(self, device, &all, error);
  SET_PROPERTY(flags, all.flags & ~legal->flags_off);
  if (legal->unknown_memory) SET_PROPERTY(memory_bytes, 0);
  SET_PROPERTY(dtypes, legal->without[LEGAL_NO_kernel] ? 0 : all.dtypes & legal->dtypes);
  SET_PROPERTY(max_rank, legal->without[LEGAL_NO_kernel] ? 0 : (int32_t)legal->max_rank);
  SET_PROPERTY(priority_least, (int32_t)legal->priorities);
  SET_PROPERTY(priority_greatest, -(int32_t)legal->priorities);
  return status;
}

UPLOAD(legal_upload) {
  tbk_status_t status = UPLOAD_INNER;
  if (status == TBK_OK && stream != NULL && legal_of(self)->copies_block)
    wrap_wait_untold(self, stream);
  return status;
}

DOWNLOAD(legal_download) {
  tbk_status_t status = DOWNLOAD_INNER;
  if (status == TBK_OK && stream != NULL && legal_of(self)->copies_block)
    wrap_wait_untold(self, stream);
  return status;
}

/* ------------------------------------------------------------------- streams, events, callbacks -- */

static _Atomic(tbk_stream_t*)* place_of(legal_t* legal, int32_t device, tbk_stream_t* stream) {
  for (size_t i = 0; i < legal->streams; i++)
    if (atomic_load(&legal->live[device][i]) == stream) return &legal->live[device][i];
  return NULL;
}

STREAM_CREATE(legal_stream_create) {
  legal_t* legal = legal_of(self);
  wrap_t* wrap = wrap_of(self);
  if (out_stream == NULL || device < 0 || device >= WRAP_DEVICES || legal->streams == 0)
    return STREAM_CREATE_INNER;
  tbk_status_t status = TBK_OUT_OF_MEMORY;
  pthread_mutex_lock(&wrap->lock);
  _Atomic(tbk_stream_t*)* place = place_of(legal, device, NULL);
  if (place != NULL) status = STREAM_CREATE_INNER;
  if (status == TBK_OK) atomic_store(place, *out_stream);
  pthread_mutex_unlock(&wrap->lock);
  return place != NULL ? status
                       : wrap_fail(error, TBK_OUT_OF_MEMORY, "the device has no more streams");
}

STREAM_DESTROY(legal_stream_destroy) {
  legal_t* legal = legal_of(self);
  for (int32_t device = 0; device < WRAP_DEVICES && stream != NULL; device++) {
    _Atomic(tbk_stream_t*)* place = place_of(legal, device, stream);
    if (place != NULL) atomic_store(place, NULL);
  }
  STREAM_DESTROY_INNER;
}

/* Streams that outlive their device count no more. */
CLOSE(legal_close) {
  legal_t* legal = legal_of(self);
  tbk_status_t status = CLOSE_INNER;
  if (device < 0 || device >= WRAP_DEVICES || status == TBK_INVALID_STATE) return status;
  for (size_t i = 0; i < LEGAL_STREAMS; i++)
    atomic_store(&legal->live[device][i], NULL);
  legal_forget_allocations(wrap_of(self), device);
  return status;
}

EVENT_WAIT(legal_wait) {
  if (legal_of(self)->host_waits && event != NULL && stream != NULL)
    ignore(INNER(self, event)->event_synchronize(self, event, NULL));
  return EVENT_WAIT_INNER;
}

/* As drivers do that keep a list of what is pending: nothing is, so the caller may run it. */
CALLBACK(legal_callback) {
  if (!legal_of(self)->callbacks_by_caller || stream == NULL || function == NULL ||
      INNER(self, stream)->stream_query(self, stream, NULL) != TBK_OK)
    return CALLBACK_INNER;
  function(argument);
  return TBK_OK;
}

/* ---------------------------------------------------------------------------------- the entry -- */

static void leave_out(wrap_t* wrap, const legal_t* legal) {
#define LEAVE_TABLE(name, type, needs) \
  if (legal->without[LEGAL_NO_##name] || legal_lacks(legal, needs)) wrap->backend.name = NULL;
#define LEAVE_FUNCTION(table, type, function, word) \
  if (legal->without[LEGAL_NO_##function]) wrap->table.function = NULL;
  TBK_TABLE_MAP(LEAVE_TABLE)
  TBK_OPTIONAL_MAP(LEAVE_FUNCTION)
  if (legal->older) wrap->core.struct_size = offsetof(tbk_core_t, fill);
#undef LEAVE_TABLE
#undef LEAVE_FUNCTION
}

static void legal_destroy(tbk_instance_t* self) {
  legal_t* legal = legal_of(self);
  wrap_destroy(self);
  free(legal);
}

static void patch(wrap_t* wrap) {
  wrap->core.destroy = legal_destroy;
  wrap->core.device_properties = legal_properties;
  wrap->core.device_close = legal_close;
  wrap->core.upload = legal_upload;
  wrap->core.download = legal_download;
  wrap->stream.stream_create = legal_stream_create;
  wrap->stream.stream_destroy = legal_stream_destroy;
  wrap->event.event_wait = legal_wait;
  wrap->callback.callback_enqueue = legal_callback;
  legal_patch_allocations(wrap);
  legal_patch_kernels(wrap);
  legal_patch_early(wrap);
}

static tbk_status_t legal_entry(const tbk_host_t* host, const tbk_backend_t** out_backend,
                                tbk_error_t* error) {
  const size_t needed = offsetof(tbk_host_t, options) + sizeof host->options;
  if (host == NULL || out_backend == NULL || host->struct_size < needed)
    return wrap_create(NULL, host, out_backend, error);
  legal_t* legal = calloc(1, sizeof *legal);
  if (legal == NULL) return wrap_fail(error, TBK_OUT_OF_MEMORY, "no memory for the options");
  tbk_host_t own = *host;
  own.struct_size = sizeof own;
  const char* row_options = wrap_active_row()->options;
  char options[1024];
  snprintf(options, sizeof options, "%s,%s", row_options != NULL ? row_options : "",
           host->options != NULL ? host->options : "");
  tbk_status_t status = legal_read(legal, options, error);
  own.options = legal->rest;
  if (status == TBK_OK) status = wrap_create(NULL, &own, out_backend, error);
  if (status != TBK_OK) {
    free(legal);
    return status;
  }
  wrap_t* wrap = wrap_of((*out_backend)->instance);
  wrap->host = host;
  atomic_store(&wrap->kept, (uintptr_t)legal);
  patch(wrap);
  leave_out(wrap, legal);
  return TBK_OK;
}

#define LEGAL(name, options, note) \
  { name, NULL, ANTI, STATE, BROAD, note, {{0, 0}}, 0, options, 0, legal_entry }

extern const mutant_t mutants_legal[];
const mutant_t mutants_legal[] = {
    LEGAL("legal", 0, "any device that the header allows, by options"),
    LEGAL("granularity_64", "granularity=64", "copies in multiples of 64 bytes only"),
    LEGAL("granularity_4096", "granularity=4096", "copies in whole pages only"),
    LEGAL("eight_streams", "streams=8,events=8", "no more than 8 streams and events of a device"),
    LEGAL("few_allocations", "allocations=32,streams=8,events=8",
          "no more than 32 allocations, 8 streams and 8 events of a device"),
    LEGAL("few_allocations_lazy", "allocations=32,streams=8,events=8,policy=lazy",
          "the same, where memory that is freed on a stream counts until somebody asks"),
    LEGAL("tells_early", "tells_early=1", "whatever enqueues tells of work that has failed before"),
    LEGAL("prepare_refuses", "prepare=1", "nothing is ever planned"),
    LEGAL("float32_alone", "dtypes=0x40", "a device of one dtype"),
    LEGAL("int32_alone", "dtypes=0x8", "a device of one dtype, and not of FLOAT32"),
    LEGAL("integers_alone", "dtypes=0x818", "INT32, INT64 and BOOL"),
    LEGAL("halves_and_floats", "dtypes=0x60", "FLOAT16 and FLOAT32"),
    LEGAL("rank_1", "max_rank=1", "kernels for rank 1 only"),
    LEGAL("rank_2", "max_rank=2", "kernels for ranks up to 2"),
    LEGAL("sort_alone", "only=tbk::sort", "one kernel of the generic ones"),
    LEGAL("reduce_alone", "only=tbk::reduce", "one kernel of the generic ones"),
    LEGAL("refuses_much", "refuses=rank_0+empty+strided+offset+alias+dtype+large",
          "kernels take what they must and no more"),
    LEGAL("units_of_2M", "unit=2M", "allocations in units of 2 MiB"),
    LEGAL("memory_4M", "memory=4M", "a device of 4 MiB"),
    LEGAL("max_allocation_4M", "max_allocation=4M", "no allocation beyond 4 MiB"),
    LEGAL("callbacks_by_caller", "callbacks_by_caller=1",
          "callbacks of complete streams run in the caller"),
    LEGAL("aligned_bases", "aligned=1,prepare=2", "kernels want the memory of all tensors aligned"),
    LEGAL("kernels_need_memory", "scratch=1M", "a launch needs memory of its own"),
    LEGAL("compiles_when_idle", "compile=2", "a kernel's first launch waits for an idle device"),
    {0}};
