/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * anti.c: backends that are odd and obey every clause. The suite must find nothing on them: what
 * it finds is a fault of the suite.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arguments.h"
#include "calls.h"

EVENT_WAIT(wait_on_host) {
  if (event != NULL && stream != NULL)
    ignore(INNER(self, event)->event_synchronize(self, event, NULL));
  return EVENT_WAIT_INNER;
}

/* The choice is the backend's: a copy on a stream may return only when it is complete. */
UPLOAD(upload_blocks) {
  tbk_status_t status = UPLOAD_INNER;
  if (status == TBK_OK && stream != NULL)
    ignore(INNER(self, stream)->stream_synchronize(self, stream, NULL));
  return status;
}

DOWNLOAD(download_blocks) {
  tbk_status_t status = DOWNLOAD_INNER;
  if (status == TBK_OK && stream != NULL)
    ignore(INNER(self, stream)->stream_synchronize(self, stream, NULL));
  return status;
}

STREAM_DESTROY(destroy_waits) {
  if (stream != NULL) ignore(INNER(self, stream)->stream_synchronize(self, stream, NULL));
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

static tbk_status_t lengthen(tbk_status_t status, tbk_error_t* error) {
  if (status == TBK_OK || status == TBK_NOT_READY || error == NULL) return status;
  memset(error->message, 'm', sizeof error->message - 1);
  error->message[sizeof error->message - 1] = '\0';
  return status;
}

static tbk_status_t mark_up(tbk_status_t status, tbk_error_t* error) {
  if (status == TBK_OK || status == TBK_NOT_READY) return status;
  return wrap_fail(error, status,
                   "<script>alert(1)</script>\x1b[2J\x1b]0;t\x07\xff\xfe]]>&lt;\r\n{}");
}

OPEN(open_with_long_message) {
  return lengthen(OPEN_INNER, error);
}
ALLOC(alloc_with_long_message) {
  return lengthen(ALLOC_INNER, error);
}
UPLOAD(upload_with_long_message) {
  return lengthen(UPLOAD_INNER, error);
}
PROPERTIES(properties_with_long_message) {
  return lengthen(PROPERTIES_INNER, error);
}
STREAM_SYNCHRONIZE(synchronize_with_long_message) {
  return lengthen(STREAM_SYNCHRONIZE_INNER, error);
}

static const char markup_name[] =
    "<script>alert('dev')</script><img src=x onerror=alert(1)> & \"quoted\" \x1b[31mred\x1b[0m"
    "\x1b]0;title\x07 \xc3\x28\xff ]]> \r\n\t--><!-- {{7*7}} %s%n \\u0000 |pipe|`code`";

PROPERTIES(properties_with_markup) {
  tbk_status_t status = mark_up(PROPERTIES_INNER, error);
  const size_t end = offsetof(tbk_device_properties_t, name) + sizeof out_properties->name;
  if (status == TBK_OK && out_properties->struct_size >= end) out_properties->name = markup_name;
  return status;
}
ALLOC(alloc_with_markup) {
  return mark_up(ALLOC_INNER, error);
}
UPLOAD(upload_with_markup) {
  return mark_up(UPLOAD_INNER, error);
}
OPEN(open_with_markup) {
  return mark_up(OPEN_INNER, error);
}

static void install_markup(wrap_t* wrap) {
  wrap->backend.version = "1.0</title><script>alert('version')</script>\x1b[5m";
}

static void say(const char* what) {
  printf("acme: %s\n", what);
  fflush(stdout);
}

OPEN(open_aloud) {
  say("device_open");
  return OPEN_INNER;
}
ALLOC(alloc_aloud) {
  say("memory_alloc");
  return ALLOC_INNER;
}
FREE(free_aloud) {
  say("memory_free");
  return FREE_INNER;
}
UPLOAD(upload_aloud) {
  say("upload");
  return UPLOAD_INNER;
}
DOWNLOAD(download_aloud) {
  say("download");
  return DOWNLOAD_INNER;
}
STREAM_CREATE(stream_create_aloud) {
  say("stream_create");
  return STREAM_CREATE_INNER;
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

/* All argument structs of pointwise operators: self, and what else is a tensor. */
static bool all_contiguous(const char* name, const void* arguments) {
  if (strcmp(name, "add.Tensor") == 0) {
    const tbk_args_add_Tensor_t* a = arguments;
    return tensor_contiguous(a->self) && tensor_contiguous(a->other) && tensor_contiguous(a->out);
  }
  if (strcmp(name, "copy_") == 0) {
    const tbk_args_copy__t* a = arguments;
    return tensor_contiguous(a->self) && tensor_contiguous(a->src);
  }
  return true;
}

/* Too short an argument struct is the reference's to refuse. */
static bool long_enough(const char* name, const void* arguments) {
  return *(const size_t*)arguments >= arguments_size(name);
}

LAUNCH(launch_contiguous_only) {
  if (arguments != NULL && long_enough(KERNEL_NAME, arguments) &&
      !all_contiguous(KERNEL_NAME, arguments))
    return wrap_fail(error, TBK_UNSUPPORTED, "only contiguous tensors");
  return LAUNCH_INNER;
}

PREPARE(prepare_contiguous_only) {
  if (arguments != NULL && long_enough(KERNEL_NAME, arguments) &&
      !all_contiguous(KERNEL_NAME, arguments))
    return wrap_fail(error, TBK_UNSUPPORTED, "only contiguous tensors");
  return PREPARE_INNER;
}

typedef struct nan_work {
  size_t count;
  uint32_t words[];
} nan_work_t;

/* Which bits a NaN carries is nobody's promise, not even its sign. */
static void change_payloads(void* argument) {
  nan_work_t* work = argument;
  for (size_t i = 0; i < work->count; ++i) {
    if ((work->words[i] & UINT32_C(0x7fffffff)) > UINT32_C(0x7f800000))
      work->words[i] = UINT32_C(0xffc0beef);
  }
}

LAUNCH(launch_with_other_payloads) {
  const tbk_args_add_Tensor_t* a = arguments;
  tbk_status_t status = LAUNCH_INNER;
  if (status != TBK_OK) return status;
  const tbk_core_t* core = INNER(self, core);
  const tbk_stream_ops_t* streams = INNER(self, stream);
  const uint64_t bytes = tensor_elements(a->out) * 4;
  if (a->out->dtype != TBK_FLOAT32 || bytes == 0 || !tensor_contiguous(a->out)) return TBK_OK;
  nan_work_t* work = malloc(sizeof *work + bytes);
  if (work == NULL) return TBK_OK;
  work->count = bytes / 4;
  if (stream != NULL) status = streams->stream_synchronize(self, stream, error);
  const uint64_t start = (uint64_t)a->out->offset * 4;
  if (status == TBK_OK)
    status = core->download(self, device, work->words, a->out->memory, start, bytes, NULL, error);
  change_payloads(work);
  if (status == TBK_OK)
    status = core->upload(self, device, a->out->memory, start, work->words, bytes, NULL, error);
  free(work);
  return status;
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

#define OPTIONS(name, options, note) \
  { name, NULL, ANTI, STATE, BROAD, note, {{0, 0}}, 0, options, 0, 0 }
#define ODD(name, note, install, ...) \
  { name, NULL, ANTI, STATE, BROAD, note, {__VA_ARGS__}, 0, 0, install, 0 }
#define UNPATCHED \
  { 0, 0 }

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
    OPTIONS("exclusive", "exclusive=/tmp/tbk-anti-exclusive.lock", "one process at a time"),
    OPTIONS("few_events", "events=8", "no more than 8 events of a device"),
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
    ODD("long_messages", "error messages of 255 bytes", NULL,
        PATCH(core.device_open, open_with_long_message),
        PATCH(core.memory_alloc, alloc_with_long_message),
        PATCH(core.upload, upload_with_long_message),
        PATCH(core.device_properties, properties_with_long_message),
        PATCH(stream.stream_synchronize, synchronize_with_long_message)),
    ODD("markup", "markup, escapes and broken UTF-8 in all that is for people", install_markup,
        PATCH(core.device_properties, properties_with_markup),
        PATCH(core.memory_alloc, alloc_with_markup), PATCH(core.upload, upload_with_markup),
        PATCH(core.device_open, open_with_markup)),
    ODD("talkative", "a line on standard output at each call", NULL,
        PATCH(core.device_open, open_aloud), PATCH(core.memory_alloc, alloc_aloud),
        PATCH(core.memory_free, free_aloud), PATCH(core.upload, upload_aloud),
        PATCH(core.download, download_aloud), PATCH(stream.stream_create, stream_create_aloud)),
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
    ODD("contiguous_only", "kernels refuse tensors that are not contiguous", NULL,
        PATCH(launching.launch, launch_contiguous_only),
        PATCH(launching.prepare, prepare_contiguous_only)),
    {"nan_payload",
     NULL,
     ANTI,
     VALUE,
     BROAD,
     "NaN results with a payload and a sign of their own",
     {PATCH(launching.launch, launch_with_other_payloads)},
     "add.Tensor",
     0,
     0,
     0},
    {0}};
