/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "trace.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <tbk/tables.h>
#include <tbk/tbk_operators.h>

#include "arithmetic.h"
#include "needs.h"
#include "resources.h"
#include "tables.h"
#include "trace_content.h"

static tbk_trace_t private_cell;
tbk_trace_t* tbk_trace_cell = &private_cell;

/* Of this thread, and in which test: a thread may outlive one. */
static _Thread_local struct {
  int32_t call, before; /* and the one before it */
  uint32_t test;
} latest;
static uint32_t test_number;

/* The tables of the backend that was wrapped last, and what tests see of it. */
static tbk_backend_t inner;
static tbk_backend_t outer;

/* A plan does not say which kernel it is of: its entries note calls where all kernels share them. */
static tbk_kernel_t plan_owner;

/* A kernel as tests see it, and the backend's own. */
typedef struct kernel_face {
  tbk_kernel_t face;
  const tbk_kernel_t* inner;
  size_t operation; /* among `operators`, or their count */
} kernel_face_t;

enum { FACE_LIMIT = 512 };

static struct {
  pthread_mutex_t lock;
  size_t count;
  kernel_face_t items[FACE_LIMIT];
} faces = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void begin_call(int32_t call, unsigned aspects);
static void end_call(int32_t call, unsigned aspects);
static void copy_known(void* ours, size_t our_size, const void* theirs);
static const tbk_kernel_t* inner_of(const tbk_kernel_t* kernel);
static const tbk_kernel_t* kernel_face(const tbk_kernel_t* kernel, const char* name);

static unsigned on_stream(const tbk_stream_t* stream) {
  return stream != NULL ? TBK_TRACE_STREAM : TBK_TRACE_NULL_STREAM;
}

static unsigned on_device(int32_t device) {
  return device > 0 ? TBK_TRACE_OTHER_DEVICE : 0;
}

static unsigned with_nothing(bool is_so) {
  return is_so ? TBK_TRACE_NOTHING : 0;
}

static unsigned at_offset(uint64_t offset) {
  return offset != 0 ? TBK_TRACE_OFFSET : 0;
}

/*
 * Who made what, and on which device: by the handle, each in one place, so that of two that meet there the
 * later counts. A handle whose maker is not known says nothing.
 */
enum { MADE_SLOTS = 1024, DEVICE_BITS = 32 };
static struct {
  uint64_t handle;
  int32_t thread, device;
} made_by[MADE_SLOTS];
static uint32_t opened; /* a bit for each of the first devices */

/* A number of its own for each thread, which a fork leaves to it. */
static int32_t this_thread(void) {
  static int32_t threads;
  static _Thread_local int32_t number;
  if (number == 0) number = __atomic_add_fetch(&threads, 1, __ATOMIC_RELAXED);
  return number;
}

static size_t slot_of(uint64_t handle) {
  return (size_t)((handle >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 54);
}

static void note_made(uint64_t handle, int32_t device) {
  const size_t slot = slot_of(handle);
  __atomic_store_n(&made_by[slot].thread, this_thread(), __ATOMIC_RELAXED);
  __atomic_store_n(&made_by[slot].device, device, __ATOMIC_RELAXED);
  __atomic_store_n(&made_by[slot].handle, handle, __ATOMIC_RELAXED);
}

static bool is_known(uint64_t handle) {
  return handle != 0 &&
         __atomic_load_n(&made_by[slot_of(handle)].handle, __ATOMIC_RELAXED) == handle;
}

/* Returns -1 where it is not known. */
static int32_t device_of(uint64_t handle) {
  return is_known(handle) ? __atomic_load_n(&made_by[slot_of(handle)].device, __ATOMIC_RELAXED)
                          : -1;
}

static uint32_t bit_of(int32_t device) {
  return device >= 0 && device < DEVICE_BITS ? UINT32_C(1) << device : 0;
}

static unsigned in_state(int32_t device) {
  const uint32_t bit = bit_of(device);
  const bool is_closed = bit != 0 && (__atomic_load_n(&opened, __ATOMIC_RELAXED) & bit) == 0;
  return is_closed ? TBK_TRACE_CLOSED : 0;
}

static unsigned of_object(uint64_t handle) {
  if (!is_known(handle)) return 0;
  const int32_t maker = __atomic_load_n(&made_by[slot_of(handle)].thread, __ATOMIC_RELAXED);
  return (maker != this_thread() ? TBK_TRACE_FOREIGN : 0) | in_state(device_of(handle));
}

static void note_opening(int32_t device, tbk_status_t status) {
  tbk_device_note_opening(&inner, device, status);
  if (status == TBK_OK) __atomic_fetch_or(&opened, bit_of(device), __ATOMIC_RELAXED);
}

static void note_closing(int32_t device, tbk_status_t status) {
  if (status == TBK_OK) __atomic_fetch_and(&opened, ~bit_of(device), __ATOMIC_RELAXED);
}

/* NOT_READY is an answer like OK. */
static unsigned has_failed(tbk_status_t status) {
  return status != TBK_OK && status != TBK_NOT_READY ? TBK_TRACE_FAILED : 0;
}

#include "../generated/trace_calls.h"

#define X(name) "op:" TBK_NAME_##name,
static const char* const operators[] = {TBK_OPERATOR_MAP(X) TBK_GENERIC_KERNELS(X)};
#undef X
enum { OPERATOR_COUNT = sizeof operators / sizeof *operators };

static bool is_stopped;

void tbk_trace_stop(void) {
  __atomic_store_n(&is_stopped, true, __ATOMIC_RELAXED);
}

/* Without order between threads: a note says that a call was made, not when. */
static void note(size_t index, unsigned bits) {
  if (index >= TBK_TRACE_LIMIT || __atomic_load_n(&is_stopped, __ATOMIC_RELAXED)) return;
  __atomic_fetch_or(&tbk_trace_cell->called[index], (uint8_t)bits, __ATOMIC_RELAXED);
  if (bits >> 8 != 0)
    __atomic_fetch_or(&tbk_trace_cell->states[index], (uint8_t)(bits >> 8), __ATOMIC_RELAXED);
}

static void note_last(int32_t last) {
  __atomic_store_n(&tbk_trace_cell->last, last, __ATOMIC_RELAXED);
}

static _Thread_local bool is_paused;

void tbk_trace_pause(bool pause) {
  is_paused = pause;
}

/* Asked once in each thread: it takes two calls of the kernel, and there are traced calls by the thousand. */
static bool is_main_thread(void) {
  static _Thread_local enum { UNKNOWN, MAIN, OTHER } which;
  if (which == UNKNOWN) which = gettid() == getpid() ? MAIN : OTHER;
  return which == MAIN;
}

static void begin_call(int32_t call, unsigned aspects) {
  if (is_paused) return;
  unsigned thread = is_main_thread() ? 0 : TBK_TRACE_OTHER_THREAD;
  note((size_t)call, TBK_TRACE_CALLED | aspects | thread);
  note_last(2 * call);
  const uint32_t test = __atomic_load_n(&test_number, __ATOMIC_RELAXED);
  latest.before = latest.test == test ? latest.call : CALL_NONE;
  latest.call = call;
  latest.test = test;
}

static void end_call(int32_t call, unsigned aspects) {
  tbk_arithmetic_restore();
  if (is_paused) return;
  if (aspects != 0) note((size_t)call, aspects);
  note_last(2 * call + 1);
}

const char* tbk_trace_latest(void) {
  bool is_of_test = latest.test == __atomic_load_n(&test_number, __ATOMIC_RELAXED);
  return is_of_test ? tbk_trace_name((size_t)latest.call) : NULL;
}

const char* tbk_trace_before(void) {
  bool is_of_test = latest.test == __atomic_load_n(&test_number, __ATOMIC_RELAXED);
  return is_of_test ? tbk_trace_name((size_t)latest.before) : NULL;
}

void tbk_trace_check(void) {
  __atomic_fetch_add(&tbk_trace_cell->checks, 1, __ATOMIC_RELAXED);
}

void tbk_trace_case(const char* line) {
  snprintf(tbk_trace_cell->sweep_case, sizeof tbk_trace_cell->sweep_case, "%s",
           line != NULL ? line : "");
}

void tbk_trace_reset(void) {
  tbk_trace_case(NULL);
  __atomic_store_n(&is_stopped, false, __ATOMIC_RELAXED);
  __atomic_fetch_add(&test_number, 1, __ATOMIC_RELAXED);
  note_last(0);
  __atomic_store_n(&tbk_trace_cell->checks, 0, __ATOMIC_RELAXED);
  for (size_t i = 0; i < TBK_TRACE_LIMIT; i++) {
    __atomic_store_n(&tbk_trace_cell->called[i], 0, __ATOMIC_RELAXED);
    __atomic_store_n(&tbk_trace_cell->states[i], 0, __ATOMIC_RELAXED);
  }
}

const char* tbk_trace_name(size_t index) {
#define X(name) #name,
  static const char* const names[] = {"", TRACE_FUNCTIONS(X)};
#undef X
  if (index > CALL_NONE && index < CALL_OPERATORS) return names[index];
  bool known = index >= CALL_OPERATORS && index - CALL_OPERATORS < OPERATOR_COUNT;
  if (known && index < TBK_TRACE_LIMIT) return operators[index - CALL_OPERATORS];
  const bool is_beyond = index >= CALL_OPERATORS + OPERATOR_COUNT && index < TBK_TRACE_LIMIT;
  return is_beyond ? tbk_content_name(index - CALL_OPERATORS - OPERATOR_COUNT) : NULL;
}

void tbk_trace_text(const volatile uint8_t* bytes, char* out_text) {
  static const char digits[] = "0123456789abcdef";
  size_t end = 0;
  for (size_t i = 0; i < TBK_TRACE_LIMIT; i++) {
    uint8_t bits = __atomic_load_n(&bytes[i], __ATOMIC_RELAXED);
    out_text[2 * i] = digits[bits >> 4];
    out_text[2 * i + 1] = digits[bits & 15];
    if (bits != 0) end = 2 * i + 2;
  }
  out_text[end] = '\0';
}

/* ----------------------------------------------------------------------------------- kernels -- */

static const tbk_kernel_t* inner_of(const tbk_kernel_t* kernel) {
  const kernel_face_t* item = (const kernel_face_t*)kernel;
  if (item->operation < OPERATOR_COUNT) note(CALL_OPERATORS + item->operation, TBK_TRACE_CALLED);
  return item->inner;
}

static void note_content(size_t row, tbk_content_place_t place) {
  static const unsigned bits[] = {[TBK_CONTENT_PLAIN] = TBK_TRACE_CALLED,
                                  [TBK_CONTENT_REDUCTION] = TBK_TRACE_IN_REDUCTION,
                                  [TBK_CONTENT_SCAN] = TBK_TRACE_IN_SCAN};
  note(CALL_OPERATORS + OPERATOR_COUNT + row, bits[place]);
}

static const char* name_of(const tbk_kernel_t* kernel) {
  const size_t operation = ((const kernel_face_t*)kernel)->operation;
  return operation < OPERATOR_COUNT ? operators[operation] + strlen("op:") : "";
}

static tbk_status_t on_generic_launch(tbk_instance_t* self, int32_t device,
                                      const tbk_kernel_t* kernel, const void* arguments,
                                      tbk_stream_t* stream, tbk_error_t* error) {
  if (!is_paused) tbk_content_of(name_of(kernel), arguments, note_content);
  return on_launch(self, device, kernel, arguments, stream, error);
}

static tbk_status_t on_generic_prepare(tbk_instance_t* self, int32_t device,
                                       const tbk_kernel_t* kernel, const void* arguments,
                                       tbk_plan_t** out_plan, uint64_t* out_workspace_bytes,
                                       tbk_error_t* error) {
  if (!is_paused) tbk_content_of(name_of(kernel), arguments, note_content);
  return on_prepare(self, device, kernel, arguments, out_plan, out_workspace_bytes, error);
}

static size_t operation_named(const char* name) {
  size_t found = 0;
  while (found < OPERATOR_COUNT && strcmp(operators[found] + strlen("op:"), name) != 0)
    found++;
  return found;
}

static void make_face(kernel_face_t* item, const tbk_kernel_t* kernel, const char* name) {
  tbk_kernel_t* face = &item->face;
  memset(face, 0, sizeof *face);
  copy_known(face, sizeof *face, kernel);
  item->inner = kernel;
  item->operation = operation_named(name);
  const bool is_generic = strncmp(name, "tbk::", strlen("tbk::")) == 0;
  if (TBK_HAS(kernel, tbk_kernel_t, launch))
    face->launch = is_generic ? on_generic_launch : on_launch;
  if (TBK_HAS(kernel, tbk_kernel_t, prepare))
    face->prepare = is_generic ? on_generic_prepare : on_prepare;
  if (!TBK_HAS(kernel, tbk_kernel_t, launch_plan) || !TBK_HAS(kernel, tbk_kernel_t, plan_destroy))
    return; /* what is missing stays missing */
  if (plan_owner.launch_plan == NULL) plan_owner = *face;
  if (plan_owner.launch_plan == face->launch_plan &&
      plan_owner.plan_destroy == face->plan_destroy) {
    face->launch_plan = on_launch_plan;
    face->plan_destroy = on_plan_destroy;
  }
}

/* Kernels of two operators may be one; a test that compares them must see that. */
static const tbk_kernel_t* face_of(const tbk_kernel_t* kernel, const char* name) {
  for (size_t i = 0; i < faces.count; i++) {
    if (faces.items[i].inner == kernel) return &faces.items[i].face;
  }
  if (faces.count == FACE_LIMIT) return kernel;
  make_face(&faces.items[faces.count], kernel, name);
  return &faces.items[faces.count++].face;
}

static const tbk_kernel_t* kernel_face(const tbk_kernel_t* kernel, const char* name) {
  if (kernel == NULL || name == NULL || kernel->struct_size < sizeof(size_t)) return kernel;
  pthread_mutex_lock(&faces.lock);
  const tbk_kernel_t* face = face_of(kernel, name);
  pthread_mutex_unlock(&faces.lock);
  return face;
}

/* ------------------------------------------------------------------------------------ tables -- */

/* Copies as much of a struct as both sides know, and says so in its size. */
static void copy_known(void* ours, size_t our_size, const void* theirs) {
  size_t size = tbk_table_size(theirs);
  if (size > our_size) size = our_size;
  memcpy(ours, theirs, size);
  memcpy(ours, &size, sizeof size);
}

/* A table that may not be used is left as it is: tests say what is wrong with it. */
const tbk_backend_t* tbk_trace_wrap(const tbk_backend_t* backend) {
  memset(&inner, 0, sizeof inner);
  memset(&outer, 0, sizeof outer);
  memset(&plan_owner, 0, sizeof plan_owner);
  faces.count = 0;
  opened = 0;
  copy_known(&inner, sizeof inner, backend);
  copy_known(&outer, sizeof outer, backend);
  wrap_core();
#define X(name, type, needs) \
  if (tbk_table_usable(backend, #name)) wrap_##name();
  TBK_TABLE_MAP(X)
#undef X
  return &outer;
}
