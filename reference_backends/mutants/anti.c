/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * anti.c: backends that are odd and obey every clause. The suite must find nothing on them: what
 * it finds is a fault of the suite. What they say is in anti_text.c, what they compute in anti_kernel.c.
 */
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "calls.h"

EVENT_WAIT(wait_on_host) {
  if (event != NULL && stream != NULL)
    ignore(INNER(self, event)->event_synchronize(self, event, NULL));
  return EVENT_WAIT_INNER;
}

/* The choice is the backend's: a copy on a stream may return only when it is complete. */
UPLOAD(upload_blocks) {
  tbk_status_t status = UPLOAD_INNER;
  if (status == TBK_OK && stream != NULL) wrap_wait_untold(self, stream);
  return status;
}

DOWNLOAD(download_blocks) {
  tbk_status_t status = DOWNLOAD_INNER;
  if (status == TBK_OK && stream != NULL) wrap_wait_untold(self, stream);
  return status;
}

/* Without taking note of a failure, which is for the device to tell. */
STREAM_DESTROY(destroy_waits) {
  while (stream != NULL && INNER(self, stream)->stream_query(self, stream, NULL) == TBK_NOT_READY)
    wrap_sleep_ms(1);
  STREAM_DESTROY_INNER;
}

/* Two hidden queues per device; each stream that is created is one more handle onto one of them. */
STREAM_CREATE(create_alias) {
  wrap_t* wrap = wrap_of(self);
  const tbk_stream_ops_t* inner = wrap->inner->stream;
  if (out_stream == NULL || device < 0 || device >= WRAP_DEVICES / 2) return STREAM_CREATE_INNER;
  const unsigned turn = (unsigned)atomic_fetch_add(&wrap->calls, 1) & 1u;
  tbk_stream_t** base = &wrap->side[2 * device + (int32_t)turn];
  void* native = NULL;
  tbk_status_t status = TBK_OK;
  pthread_mutex_lock(&wrap->lock);
  if (*base == NULL) status = inner->stream_create(self, device, 0, base, error);
  if (status == TBK_OK) status = inner->stream_native_handle(self, *base, &native, error);
  pthread_mutex_unlock(&wrap->lock);
  if (status != TBK_OK) return status;
  return inner->stream_from_native(self, device, native, out_stream, error);
}

CLOSE(close_aliased) {
  wrap_t* wrap = wrap_of(self);
  tbk_status_t status = CLOSE_INNER;
  if (device >= 0 && device < WRAP_DEVICES / 2 && status != TBK_INVALID_STATE)
    wrap->side[2 * device] = wrap->side[2 * device + 1] = NULL;
  return status;
}

/* As a newer backend would: members that this header does not know, at the end of the tables. */
static void install_larger_tables(wrap_t* wrap) {
#define LONGER(name, ...)                                      \
  memset(wrap->name##_extra, 0xa5, sizeof wrap->name##_extra); \
  wrap->name.struct_size += sizeof wrap->name##_extra;
  LONGER(backend)
  LONGER(core)
  TBK_TABLE_MAP(LONGER)
#undef LONGER
}

static void install_core_alone(wrap_t* wrap) {
  tbk_backend_t* backend = &wrap->backend;
  backend->struct_size = offsetof(tbk_backend_t, instance) + sizeof backend->instance;
  wrap->core.struct_size = offsetof(tbk_core_t, fill);
}

static void install_no_callbacks(wrap_t* wrap) {
  wrap->backend.callback = NULL;
}
static void install_no_events(wrap_t* wrap) {
  wrap->backend.event = NULL;
}
static void install_no_kernels(wrap_t* wrap) {
  wrap->backend.kernel = NULL;
  wrap->backend.random = NULL;
}

static void install_few_kinds(wrap_t* wrap) {
  install_no_kernels(wrap);
  wrap->backend.peer = NULL;
  wrap->backend.pinned = NULL;
  wrap->backend.async_memory = NULL;
}
static void install_fewest_kinds(wrap_t* wrap) {
  install_few_kinds(wrap);
  wrap->core.struct_size = offsetof(tbk_core_t, fill);
}

#define HAS_PROPERTY(member)      \
  (out_properties != NULL &&      \
   out_properties->struct_size >= \
       offsetof(tbk_device_properties_t, member) + sizeof out_properties->member)

PROPERTIES(properties_say_little) {
  tbk_status_t status = PROPERTIES_INNER;
  if (status != TBK_OK) return status;
  if (HAS_PROPERTY(memory_bytes)) out_properties->memory_bytes = 0;
  if (HAS_PROPERTY(priority_least)) out_properties->priority_least = 0;
  if (HAS_PROPERTY(priority_greatest)) out_properties->priority_greatest = 0;
  return status;
}

PROPERTIES(properties_without_philox) {
  tbk_status_t status = PROPERTIES_INNER;
  if (status == TBK_OK && HAS_PROPERTY(flags))
    out_properties->flags &= ~(uint64_t)TBK_DEVICE_PHILOX;
  return status;
}

RANDOM_BITS(random_of_the_vendor) {
  tbk_generator_t own = {0, 0};
  if (generator == NULL) return RANDOM_BITS_INNER;
  own.seed = generator->seed * UINT64_C(0x9e3779b97f4a7c15) + 77;
  own.offset = generator->offset + 4096;
  if (generator->offset % 4 == 0) generator = &own;
  return RANDOM_BITS_INNER;
}

PROPERTIES(properties_single_device) {
  tbk_status_t status = PROPERTIES_INNER;
  if (status == TBK_OK && HAS_PROPERTY(flags))
    out_properties->flags &= ~(uint64_t)TBK_DEVICE_CROSS_DEVICE_WAIT;
  return status;
}

EVENT_WAIT(wait_refuses_other_devices) {
  wrap_t* wrap = wrap_of(self);
  if (stream != NULL && event != NULL &&
      note_of_event(wrap, event)->device != note_of_stream(wrap, stream)->device)
    return wrap_fail(error, TBK_INVALID, "stream and event belong to different devices");
  return EVENT_WAIT_INNER;
}

/* A driver that cannot count without starting: FRK-002 is a recommendation. */
static _Atomic(pid_t) counted_in;

static void* drive(void* argument) {
  for (;;)
    pause();
  return argument;
}

DEVICE_COUNT(count_starts_threads) {
  pthread_t thread;
  pid_t nobody = 0;
  if (atomic_compare_exchange_strong(&counted_in, &nobody, getpid()))
    for (int i = 0; i < 3; i++)
      if (pthread_create(&thread, NULL, drive, NULL) == 0) pthread_detach(thread);
  return DEVICE_COUNT_INNER;
}

/* They are not there in a child. */
OPEN(open_needs_own_threads) {
  if (atomic_load(&counted_in) != 0 && atomic_load(&counted_in) != getpid())
    return wrap_fail(error, TBK_FAILED, "the driver was started before the fork");
  return OPEN_INNER;
}

enum { UNIT_OF_THE_SECOND = 64 };

PROPERTIES(properties_of_the_second_differ) {
  tbk_status_t status = PROPERTIES_INNER;
  if (status != TBK_OK || device != 1) return status;
  if (HAS_PROPERTY(memory_alignment)) out_properties->memory_alignment = UNIT_OF_THE_SECOND;
  if (HAS_PROPERTY(copy_granularity)) out_properties->copy_granularity = UNIT_OF_THE_SECOND;
  if (HAS_PROPERTY(dtypes)) out_properties->dtypes &= ~(UINT64_C(1) << TBK_FLOAT16);
  return status;
}

#define IN_UNITS(on_device, sum)                           \
  if ((on_device) == 1 && (sum) % UNIT_OF_THE_SECOND != 0) \
  return wrap_fail(error, TBK_INVALID, "this device copies in units of 64 bytes")

UPLOAD(second_uploads_in_units) {
  IN_UNITS(device, offset | size_bytes);
  return UPLOAD_INNER;
}
DOWNLOAD(second_downloads_in_units) {
  IN_UNITS(device, offset | size_bytes);
  return DOWNLOAD_INNER;
}
COPY(second_copies_in_units) {
  IN_UNITS(device, destination_offset | source_offset | size_bytes);
  return COPY_INNER;
}
FILL(second_fills_in_units) {
  IN_UNITS(device, offset | size_bytes);
  return FILL_INNER;
}
PEER_COPY(peers_copy_in_units) {
  IN_UNITS(destination_device == 1 || source_device == 1,
           destination_offset | source_offset | size_bytes);
  return PEER_COPY_INNER;
}

/* Another process has them while the device is open: nobody frees them, and the close does. */
static void others_take(tbk_instance_t* self, int32_t device, uint64_t bytes) {
  tbk_memory_t taken;
  ignore(INNER(self, core)->memory_alloc(self, device, bytes, &taken, NULL));
}

OPEN(open_among_others) {
  tbk_status_t status = OPEN_INNER;
  if (status == TBK_OK) others_take(self, device, 59 << 20);
  return status;
}

OPEN(open_second_among_others) {
  tbk_status_t status = OPEN_INNER;
  if (status == TBK_OK && device == 1) others_take(self, device, 251 << 20);
  return status;
}

#define OPTIONS(name, options, note) \
  { name, NULL, ANTI, STATE, BROAD, note, {{0, 0}}, 0, options, 0, 0 }
extern const mutant_t mutants_anti[];
const mutant_t mutants_anti[] = {
    OPTIONS("sync_inline", "policy=inline", "everything runs inside the call, callbacks too"),
    OPTIONS("lazy", "policy=lazy", "nothing runs until somebody asks or waits"),
    OPTIONS("one_queue", "policy=one_queue", "all streams of a device are one queue"),
    OPTIONS("delays", "delay_us=300", "each piece of work waits a little before it runs"),
    OPTIONS("shuffled", "policy=shuffled", "ready streams are served in another order each time"),
    OPTIONS("seeded", "scheduler=seeded,seed=7", "one thread, every choice from a seed"),
    OPTIONS("seeded_again", "scheduler=seeded,seed=20240229", "the same with another seed"),
    OPTIONS("handles_reuse", "handles=reuse", "a handle is given out again at once"),
    OPTIONS("handles_never", "handles=never", "no handle is ever given out again"),
    OPTIONS("poison", "poison=1", "fresh memory is full of NaN patterns"),
    OPTIONS("zero_handle", "zero_handle=1", "size 0 gives a handle that is not 0"),
    OPTIONS("alignment_4096", "alignment=4096", "the largest alignment"),
    OPTIONS("opaque", "flat=0", "handles that are no addresses"),
    OPTIONS("granularity_4", "granularity=4", "copies in multiples of 4 bytes only"),
    OPTIONS("slow_open", "open_ms=5000", "device_open takes five seconds"),
    OPTIONS("slow_shapes", "shape_ms=500", "the first launch of a shape takes half a second"),
    OPTIONS("sticky", "sticky=1", "an error of work is told again and again"),
    OPTIONS("exclusive", "exclusive=$TMPDIR/tbk-anti-exclusive.lock", "one process at a time"),
    OPTIONS("few_events", "events=8", "no more than 8 events of a device"),
    OPTIONS("little_pinned", "pinned=16M,pinned_blocks=64",
            "no more pinned memory than a host may rely on"),
    OPTIONS("one_device", "devices=1", "a single device"),
    OPTIONS("many_devices", "devices=8", "eight devices"),
    OPTIONS("little_memory", "memory=64M",
            "a device of 64 MiB, about the least that the tests need"),
    OPTIONS("opaque_lazy_granular", "flat=0,policy=lazy,granularity=4,zero_handle=1,poison=1",
            "several oddities at once"),
    ODD("threads_when_counted", "counting devices starts the driver, which no child inherits", NULL,
        PATCH(core.device_count, count_starts_threads),
        PATCH(core.device_open, open_needs_own_threads)),
    ODD("wait_on_host", "event_wait waits on the host", NULL,
        PATCH(event.event_wait, wait_on_host)),
    ODD("copies_block", "uploads and downloads on a stream return when they are complete", NULL,
        PATCH(core.upload, upload_blocks), PATCH(core.download, download_blocks)),
    ODD("stream_destroy_waits", "stream_destroy returns when the work is complete", NULL,
        PATCH(stream.stream_destroy, destroy_waits)),
    ODD("aliasing_streams", "a pool: two handles onto one queue", NULL,
        PATCH(stream.stream_create, create_alias), PATCH(core.device_close, close_aliased)),
    ODD("larger_tables", "tables of a newer ABI, longer than this header", install_larger_tables,
        UNPATCHED),
    ODD("core_alone", "ten functions and not one more", install_core_alone, UNPATCHED),
    ODD("no_callbacks", "no host callbacks, so no gates", install_no_callbacks, UNPATCHED),
    ODD("no_events", "streams without events", install_no_events, UNPATCHED),
    ODD("no_kernels", "nothing is computed", install_no_kernels, UNPATCHED),
    ODD("few_kinds", "streams, and copies and fills to order on them", install_few_kinds,
        UNPATCHED),
    ODD("fewest_kinds", "streams, and three ways to copy", install_fewest_kinds, UNPATCHED),
    ODD("reticent", "memory size not known, no priorities", NULL,
        PATCH(core.device_properties, properties_say_little)),
    ODD("vendor_random", "random words of the vendor's own", NULL,
        PATCH(core.device_properties, properties_without_philox),
        PATCH(random.random_bits, random_of_the_vendor)),
    ODD("no_cross_device_wait", "event_wait refuses events of other devices", notes_install,
        PATCH(core.device_properties, properties_single_device),
        PATCH(event.event_wait, wait_refuses_other_devices)),
    {"second_device_differs",
     NULL,
     ANTI,
     STATE,
     BROAD,
     "the second device copies in units of 64 bytes, has no FLOAT16, and of its 256 MiB others "
     "have 251",
     {PATCH(core.device_properties, properties_of_the_second_differ),
      PATCH(core.device_open, open_second_among_others),
      PATCH(core.upload, second_uploads_in_units), PATCH(core.download, second_downloads_in_units),
      PATCH(core.copy, second_copies_in_units), PATCH(core.fill, second_fills_in_units),
      PATCH(peer.peer_copy, peers_copy_in_units)},
     0,
     "memory=256M",
     0,
     0},
    {"memory_of_others",
     NULL,
     ANTI,
     STATE,
     BROAD,
     "of 64 MiB others have 59, as memory_info tells",
     {PATCH(core.device_open, open_among_others)},
     0,
     "memory=64M",
     0,
     0},
    {0}};
