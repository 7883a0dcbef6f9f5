/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * mutants_kernel.c: finding and launching kernels, whatever they compute.
 */
#include <stdlib.h>
#include <string.h>

#include "arguments.h"
#include "calls.h"

static bool too_short(const tbk_kernel_t* kernel, const void* arguments) {
  return *(const size_t*)arguments < arguments_size(KERNEL_NAME);
}
LAUNCH(launch_accepts_short) {
  return too_short(kernel, arguments) ? TBK_OK : LAUNCH_INNER;
}
LAUNCH(launch_short_is_unsupported) {
  return too_short(kernel, arguments) ? TBK_UNSUPPORTED : LAUNCH_INNER;
}
PREPARE(prepare_accepts_short) {
  if (!too_short(kernel, arguments)) return PREPARE_INNER;
  *out_workspace_bytes = 0;
  return TBK_OK;
}

/* KRN-007: looks at the arguments when somebody waits, not when it is called. */
static struct {
  const tbk_kernel_t* kernel;
  const void* arguments;
  tbk_stream_t* stream;
  int32_t device;
} late_launch;

static void run_late_launch(tbk_instance_t* self) {
  const tbk_kernel_t* kernel = late_launch.kernel;
  late_launch.kernel = NULL;
  if (kernel != NULL)
    ignore(KERNEL_INNER->launch(self, late_launch.device, KERNEL_INNER, late_launch.arguments,
                                late_launch.stream, NULL));
}
LAUNCH(launch_reads_arguments_late) {
  run_late_launch(self);
  if (stream == NULL || arguments == NULL || too_short(kernel, arguments)) return LAUNCH_INNER;
  late_launch.kernel = kernel;
  late_launch.arguments = arguments;
  late_launch.stream = stream;
  late_launch.device = device;
  return TBK_OK;
}
/* Of the arguments it keeps a copy, but not of what the copy points to. */
LAUNCH(launch_reads_shapes_late) {
  static arguments_copy_t copy;
  run_late_launch(self);
  if (stream == NULL || !arguments_copy(&copy, KERNEL_NAME, arguments)) return LAUNCH_INNER;
  arguments_borrow_shapes(&copy, KERNEL_NAME, arguments);
  arguments = &copy.as;
  return launch_reads_arguments_late(self, device, kernel, arguments, stream, error);
}
/* A ring has room for sixteen copies; the next launch does without one. */
LAUNCH(seventeenth_launch_reads_arguments_late) {
  run_late_launch(self);
  if (!wrap_every(wrap_of(self), 17)) return LAUNCH_INNER;
  return launch_reads_arguments_late(self, device, kernel, arguments, stream, error);
}
STREAM_SYNCHRONIZE(synchronize_launches) {
  run_late_launch(self);
  return STREAM_SYNCHRONIZE_INNER;
}
STREAM_QUERY(query_launches) {
  run_late_launch(self);
  return STREAM_QUERY_INNER;
}
EVENT_RECORD(record_launches) {
  run_late_launch(self);
  return EVENT_RECORD_INNER;
}

LAUNCH(launch_refuses_without_reason) {
  tbk_status_t status = LAUNCH_INNER;
  if (status == TBK_UNSUPPORTED && error != NULL) error->message[0] = '\0';
  return status;
}
LAUNCH(launch_refuses_after_effect) {
  arguments_copy_t copy;
  tbk_status_t status = LAUNCH_INNER;
  if (status == TBK_UNSUPPORTED && arguments_copy(&copy, KERNEL_NAME, arguments)) {
    const tbk_tensor_t* out = arguments_output(&copy);
    ignore(INNER(self, core)->fill(self, device, out->memory, 0, 0x3c, 1, NULL, NULL));
  }
  return status;
}
LAUNCH(launch_on_stream_refuses_after_effect) {
  arguments_copy_t copy;
  tbk_status_t status = LAUNCH_INNER;
  if (status == TBK_UNSUPPORTED && stream != NULL &&
      arguments_copy(&copy, KERNEL_NAME, arguments)) {
    const tbk_tensor_t* out = arguments_output(&copy);
    ignore(INNER(self, core)->fill(self, device, out->memory, 0, 0x3c, 8, stream, NULL));
  }
  return status;
}
LAUNCH(launch_refuses_with_invalid) {
  tbk_status_t status = LAUNCH_INNER;
  return status == TBK_UNSUPPORTED ? TBK_INVALID : status;
}

KERNEL_FIND(find_opens_device) {
  const tbk_kernel_t* kernel = KERNEL_FIND_INNER;
  if (kernel == NULL && INNER(self, core)->device_open(self, device, NULL) == TBK_OK)
    kernel = KERNEL_FIND_INNER;
  return kernel;
}
KERNEL_FIND(find_any_name) {
  const tbk_kernel_t* kernel = KERNEL_FIND_INNER;
  name = "add.Tensor";
  return kernel == NULL && version == TBK_VERSION_add_Tensor ? KERNEL_FIND_INNER : kernel;
}
KERNEL_FIND(find_any_version) {
  version = 1;
  return KERNEL_FIND_INNER;
}
KERNEL_FIND(find_version_0) {
  if (version == 0) version = 1;
  return KERNEL_FIND_INNER;
}
KERNEL_FIND(find_base_name) {
  if (strcmp(name, "add") == 0 || strcmp(name, "mul") == 0)
    name = name[0] == 'a' ? "add.Tensor" : "mul.Tensor";
  return KERNEL_FIND_INNER;
}
KERNEL_FIND(find_gives_another_each_time) {
  const tbk_kernel_t* kernel = wrap_kernel_find(self, device, name, version);
  kernel_copy_t* fresh = kernel == NULL ? NULL : malloc(sizeof *fresh);
  if (fresh == NULL) return kernel;
  memcpy(fresh, kernel, sizeof *fresh);
  return &fresh->table;
}
/* One table for all that is found. */
KERNEL_FIND(find_overwrites_the_last) {
  static kernel_copy_t last;
  const tbk_kernel_t* kernel = wrap_kernel_find(self, device, name, version);
  if (kernel == NULL) return NULL;
  memcpy(&last, kernel, sizeof last);
  return &last.table;
}
KERNEL_FIND(sixteenth_find_gives_another) {
  return wrap_every(wrap_of(self), 16) ? find_gives_another_each_time(self, device, name, version)
                                       : wrap_kernel_find(self, device, name, version);
}
/* KRN-023 and on. */
static bool plain_float32(const tbk_kernel_t* kernel, const void* arguments) {
  arguments_copy_t copy;
  if (!arguments_copy(&copy, KERNEL_NAME, arguments)) return false;
  const tbk_tensor_t* out = arguments_output(&copy);
  return out->dtype == TBK_FLOAT32 && tensor_contiguous(out) && tensor_elements(out) > 0;
}
LAUNCH(launch_refuses_float32) {
  if (plain_float32(kernel, arguments)) return wrap_fail(error, TBK_UNSUPPORTED, "no FLOAT32");
  return LAUNCH_INNER;
}
LAUNCH(launch_refuses_float32_on_second_device) {
  if (device == 1 && plain_float32(kernel, arguments))
    return wrap_fail(error, TBK_UNSUPPORTED, "no FLOAT32 here");
  return LAUNCH_INNER;
}
LAUNCH(launch_refuses_later_arguments) {
  if (*(const size_t*)arguments > arguments_size(KERNEL_NAME))
    return wrap_fail(error, TBK_INVALID, "a struct of another size");
  return LAUNCH_INNER;
}
PREPARE(prepare_refuses_later_arguments) {
  if (*(const size_t*)arguments > arguments_size(KERNEL_NAME))
    return wrap_fail(error, TBK_UNSUPPORTED, "a struct of another size");
  return PREPARE_INNER;
}
/* Takes the word behind its own part for a member: where the output begins. */
LAUNCH(launch_reads_behind_arguments) {
  arguments_copy_t copy;
  uint64_t behind = 0;
  const size_t size = arguments_size(KERNEL_NAME);
  if (arguments_copy(&copy, KERNEL_NAME, arguments) &&
      *(const size_t*)arguments >= size + sizeof behind) {
    memcpy(&behind, (const char*)arguments + size, sizeof behind);
    arguments_output(&copy)->offset += behind != 0;
    arguments = &copy.as;
  }
  return LAUNCH_INNER;
}
static const tbk_kernel_t* find_changed(tbk_instance_t* self, int32_t device, const char* name,
                                        uint32_t version, void (*change)(tbk_kernel_t* table)) {
  const tbk_kernel_t* kernel = wrap_kernel_find(self, device, name, version);
  if (kernel != NULL) change(&((kernel_copy_t*)(uintptr_t)kernel)->table);
  return kernel;
}
static void drop_launch(tbk_kernel_t* table) {
  table->launch = NULL;
}
static void drop_launch_plan(tbk_kernel_t* table) {
  table->launch_plan = NULL;
}
static void drop_plan_destroy(tbk_kernel_t* table) {
  table->plan_destroy = NULL;
}
KERNEL_FIND(find_without_launch) {
  if (strcmp(name, "mm") != 0) return KERNEL_FIND_INNER;
  return find_changed(self, device, name, version, drop_launch);
}
KERNEL_FIND(find_without_launch_plan) {
  return find_changed(self, device, name, version, drop_launch_plan);
}
KERNEL_FIND(find_without_plan_destroy) {
  return find_changed(self, device, name, version, drop_plan_destroy);
}

#define LAUNCHING(function, clause, operation, narrow, note) \
  ROW(function, clause, operation, narrow, launching.launch, note)
#define LATE(function, narrow, note)                                                               \
  {                                                                                                \
#function, "KRN-007", MUTANT, LIFETIME, narrow, note,                                          \
        {PATCH(launching.launch, function),                                                        \
         PATCH(stream.stream_synchronize, synchronize_launches),                                   \
         PATCH(stream.stream_query, query_launches), PATCH(event.event_record, record_launches) }, \
         0, 0, 0, 0                                                                                \
  }

extern const mutant_t mutants_kernel[];
const mutant_t mutants_kernel[] = {
    LAUNCHING(launch_accepts_short, "KRN-001", ABI, BROAD, "OK for a struct cut short"),
    LAUNCHING(launch_short_is_unsupported, "KRN-001", RETURN, BROAD, "UNSUPPORTED instead"),
    ROW(prepare_accepts_short, "KRN-001", ABI, NARROW, launching.prepare, "OK, and no plan"),
    LATE(launch_reads_arguments_late, BROAD, "reads the arguments when somebody waits"),
    LATE(launch_reads_shapes_late, BROAD, "reads sizes and strides when somebody waits"),
    LATE(seventeenth_launch_reads_arguments_late, NARROW, "every seventeenth does"),
    LAUNCHING(launch_refuses_without_reason, "KRN-008", ERROR, BROAD, "no message"),
    LAUNCHING(launch_refuses_after_effect, "KRN-008", STATE, BROAD, "a byte was written"),
    LAUNCHING(launch_refuses_with_invalid, "KRN-008", RETURN, BROAD, "INVALID instead"),
    LAUNCHING(launch_on_stream_refuses_after_effect, "KRN-008", ORDER, NARROW,
              "8 bytes were written on the stream"),
    ROW(find_opens_device, "KRN-019", STATE, BROAD, kernel.kernel_find, "opens the device"),
    ROW(find_any_name, "KRN-020", RETURN, BROAD, kernel.kernel_find, "add.Tensor for any name"),
    ROW(find_any_version, "KRN-020", RETURN, BROAD, kernel.kernel_find, "version 1 for any"),
    ROW(find_version_0, "KRN-020", RETURN, NARROW, kernel.kernel_find, "version 1 for 0"),
    ROW(find_base_name, "KRN-020", RETURN, NARROW, kernel.kernel_find, "add.Tensor for add"),
    ROW(find_gives_another_each_time, "KRN-021", DETERMINISM, BROAD, kernel.kernel_find,
        "a fresh one each time"),
    ROW(find_overwrites_the_last, "KRN-021", LIFETIME, BROAD, kernel.kernel_find,
        "what was found last is overwritten"),
    ROW(sixteenth_find_gives_another, "KRN-021", COUNT, NARROW, kernel.kernel_find,
        "a fresh one at every sixteenth call"),
    LAUNCHING(launch_refuses_float32, "KRN-023", RETURN, BROAD, "contiguous FLOAT32 is refused"),
    LAUNCHING(launch_refuses_float32_on_second_device, "KRN-023", RETURN, NARROW, "on device 1"),
    LAUNCHING(launch_refuses_later_arguments, "KRN-024", ABI, BROAD, "INVALID for a larger struct"),
    ROW(prepare_refuses_later_arguments, "KRN-024", ABI, NARROW, launching.prepare,
        "UNSUPPORTED for a larger struct"),
    LAUNCHING(launch_reads_behind_arguments, "KRN-024", EXTENT, BROAD,
              "the word behind its own part counts"),
    ROW(find_without_launch, "KRN-025", ABI, NARROW, kernel.kernel_find, "mm has no launch"),
    ROW(find_without_launch_plan, "KRN-025", ABI, BROAD, kernel.kernel_find,
        "prepare without launch_plan"),
    ROW(find_without_plan_destroy, "KRN-025", ABI, NARROW, kernel.kernel_find,
        "prepare without plan_destroy"),
    {0}};
