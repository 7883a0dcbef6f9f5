/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * mutants_kernel.c: finding, launching and planning kernels, whatever they compute.
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

/* KRN-003: one row less than there is, or one element more. */
static bool pointwise(const char* name) {
  return strcmp(name, "mm") != 0 && strcmp(name, "sum.dim_IntList") != 0;
}
static bool drop_last(arguments_copy_t* copy, const char* name, const void* arguments) {
  if (!pointwise(name) || !arguments_copy(copy, name, arguments)) return false;
  for (int i = 0; i < copy->count; ++i) {
    if (copy->tensors[i].rank == 0 || copy->sizes[i][0] <= 1) return false;
    copy->sizes[i][0] -= 1;
  }
  return true;
}
LAUNCH(launch_drops_last_row) {
  arguments_copy_t copy;
  if (drop_last(&copy, KERNEL_NAME, arguments)) arguments = &copy.as;
  return LAUNCH_INNER;
}
LAUNCH(large_launch_drops_last_row) {
  arguments_copy_t copy;
  if (arguments_copy(&copy, KERNEL_NAME, arguments) &&
      tensor_elements(arguments_output(&copy)) >= 1000 && drop_last(&copy, KERNEL_NAME, arguments))
    arguments = &copy.as;
  return LAUNCH_INNER;
}
static void spoil_element(tbk_instance_t* self, int32_t device, const tbk_tensor_t* tensor,
                          int64_t element, tbk_stream_t* stream) {
  const uint64_t size = dtype_bytes(tensor->dtype);
  const uint64_t at = (uint64_t)(tensor->offset + element) * size;
  if (size > 0)
    ignore(INNER(self, core)->fill(self, device, tensor->memory, at, 0x3c, size, stream, NULL));
}
LAUNCH(launch_writes_one_element_more) {
  arguments_copy_t copy;
  tbk_status_t status = LAUNCH_INNER;
  if (status == TBK_OK && arguments_copy(&copy, KERNEL_NAME, arguments)) {
    const tbk_tensor_t* out = arguments_output(&copy);
    spoil_element(self, device, out, (int64_t)tensor_elements(out), stream);
  }
  return status;
}

LAUNCH(launch_spoils_first_input) {
  arguments_copy_t copy;
  tbk_status_t status = LAUNCH_INNER;
  if (status == TBK_OK && arguments_copy(&copy, KERNEL_NAME, arguments) && copy.count > 1 &&
      tensor_elements(&copy.tensors[0]) > 0 &&
      copy.tensors[0].memory != arguments_output(&copy)->memory)
    spoil_element(self, device, &copy.tensors[0], 0, stream);
  return status;
}
LAUNCH(mm_spoils_second_input) {
  arguments_copy_t copy;
  tbk_status_t status = LAUNCH_INNER;
  if (status == TBK_OK && arguments_copy(&copy, KERNEL_NAME, arguments) &&
      tensor_elements(&copy.tensors[1]) > 0)
    spoil_element(self, device, &copy.tensors[1], 0, stream);
  return status;
}

LAUNCH(launch_ignores_strides) {
  arguments_copy_t copy;
  if (arguments_copy(&copy, KERNEL_NAME, arguments) && copy.count > 1) {
    tensor_make_contiguous(&copy, 0);
    arguments = &copy.as;
  }
  return LAUNCH_INNER;
}
LAUNCH(launch_of_rank_0_is_lost) {
  arguments_copy_t copy;
  if (arguments_copy(&copy, KERNEL_NAME, arguments) && arguments_output(&copy)->rank == 0)
    return TBK_OK;
  return LAUNCH_INNER;
}
LAUNCH(launch_of_nothing_fails) {
  arguments_copy_t copy;
  if (arguments_copy(&copy, KERNEL_NAME, arguments) &&
      tensor_elements(arguments_output(&copy)) == 0)
    return wrap_fail(error, TBK_FAILED, "a grid of no blocks");
  return LAUNCH_INNER;
}

/* Clears the output before it reads the inputs. */
static bool same_place(const tbk_tensor_t* a, const tbk_tensor_t* b) {
  return a->memory == b->memory && a->offset == b->offset;
}
static void clear_output(tbk_instance_t* self, int32_t device, const tbk_tensor_t* out,
                         tbk_stream_t* stream) {
  const uint64_t size = dtype_bytes(out->dtype), bytes = tensor_elements(out) * size;
  if (bytes > 0 && tensor_contiguous(out))
    ignore(INNER(self, core)
               ->fill(self, device, out->memory, (uint64_t)out->offset * size, 0, bytes, stream,
                      NULL));
}
LAUNCH(launch_clears_output_first) {
  arguments_copy_t copy;
  if (arguments_copy(&copy, KERNEL_NAME, arguments) && copy.count > 1)
    clear_output(self, device, arguments_output(&copy), stream);
  return LAUNCH_INNER;
}
LAUNCH(add_clears_output_that_is_other) {
  arguments_copy_t copy;
  if (arguments_copy(&copy, KERNEL_NAME, arguments) &&
      same_place(&copy.tensors[1], arguments_output(&copy)))
    clear_output(self, device, arguments_output(&copy), stream);
  return LAUNCH_INNER;
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
LAUNCH(launch_refuses_with_invalid) {
  tbk_status_t status = LAUNCH_INNER;
  return status == TBK_UNSUPPORTED ? TBK_INVALID : status;
}

PREPARE(prepare_wants_handles) {
  arguments_copy_t copy;
  if (arguments_copy(&copy, KERNEL_NAME, arguments)) {
    for (int i = 0; i < copy.count; ++i) {
      if (copy.tensors[i].memory == 0) return wrap_fail(error, TBK_INVALID, "0 is no memory");
    }
  }
  return PREPARE_INNER;
}
PREPARE(prepare_clears_output) {
  arguments_copy_t copy;
  if (arguments_copy(&copy, KERNEL_NAME, arguments) && arguments_output(&copy)->memory != 0)
    clear_output(self, device, arguments_output(&copy), NULL);
  return PREPARE_INNER;
}

PREPARE(prepare_asks_for_nothing) {
  tbk_status_t status = PREPARE_INNER;
  if (status == TBK_OK) *out_workspace_bytes = 0;
  return status;
}
LAUNCH_PLAN(plan_wants_workspace) {
  if (workspace == 0) return wrap_fail(error, TBK_INVALID, "no workspace");
  return LAUNCH_PLAN_INNER;
}
PREPARE(prepare_asks_and_remembers) {
  tbk_status_t status = PREPARE_INNER;
  if (status != TBK_OK) return status;
  if (*out_workspace_bytes == 0) *out_workspace_bytes = 64;
  atomic_store(&wrap_of(self)->value, *out_workspace_bytes);
  return status;
}
LAUNCH_PLAN(plan_writes_behind_workspace) {
  tbk_status_t status = LAUNCH_PLAN_INNER;
  if (status == TBK_OK && workspace != 0)
    ignore(INNER(self, core)
               ->fill(self, device, workspace,
                      workspace_offset + atomic_load(&wrap_of(self)->value), 0x3c, 1, stream,
                      NULL));
  return status;
}

LAUNCH_PLAN(second_plan_launch_is_lost) {
  return wrap_every(wrap_of(self), 2) ? TBK_OK : LAUNCH_PLAN_INNER;
}
LAUNCH_PLAN(second_plan_launch_is_refused) {
  if (wrap_every(wrap_of(self), 2)) return wrap_fail(error, TBK_UNSUPPORTED, "a plan is for once");
  return LAUNCH_PLAN_INNER;
}
LAUNCH_PLAN(plan_launch_is_refused) {
  return wrap_fail(error, TBK_UNSUPPORTED, "it was never meant so");
}
/* The handles of the first launch stay with the plan. */
static char prepared_name[48];
static arguments_copy_t first_arguments;
PREPARE(prepare_names_kernel) {
  strcpy(prepared_name, KERNEL_NAME);
  first_arguments.count = 0;
  return PREPARE_INNER;
}
LAUNCH_PLAN(plan_keeps_first_handles) {
  arguments_copy_t copy;
  if (first_arguments.count == 0) {
    if (!arguments_copy(&first_arguments, prepared_name, arguments)) first_arguments.count = 0;
  } else if (arguments_copy(&copy, prepared_name, arguments)) {
    for (int i = 0; i < copy.count; ++i)
      copy.tensors[i].memory = first_arguments.tensors[i].memory;
    arguments = &copy.as;
    return LAUNCH_PLAN_INNER;
  }
  return LAUNCH_PLAN_INNER;
}

/* KRN-017: what a plan has still to run goes with it. */
static struct {
  const tbk_plan_t* plan;
  arguments_copy_t copy;
  tbk_memory_t workspace;
  uint64_t workspace_offset;
  tbk_stream_t* stream;
  int32_t device;
} late_plan;

static void run_late_plan(tbk_instance_t* self) {
  const tbk_plan_t* plan = late_plan.plan;
  late_plan.plan = NULL;
  if (plan != NULL)
    ignore(wrap_of(self)->inner_launch_plan(self, late_plan.device, plan, &late_plan.copy.as,
                                            late_plan.workspace, late_plan.workspace_offset,
                                            late_plan.stream, NULL));
}
LAUNCH_PLAN(plan_launches_late) {
  run_late_plan(self);
  if (stream == NULL || !arguments_copy(&late_plan.copy, prepared_name, arguments))
    return LAUNCH_PLAN_INNER;
  late_plan.workspace = workspace;
  late_plan.workspace_offset = workspace_offset;
  late_plan.stream = stream;
  late_plan.device = device;
  late_plan.plan = plan;
  return TBK_OK;
}
PLAN_DESTROY(plan_destroy_drops_work) {
  if (late_plan.plan == plan) late_plan.plan = NULL;
  PLAN_DESTROY_INNER;
}
STREAM_SYNCHRONIZE(synchronize_launches_plan) {
  run_late_plan(self);
  return STREAM_SYNCHRONIZE_INNER;
}
STREAM_QUERY(query_launches_plan) {
  run_late_plan(self);
  return STREAM_QUERY_INNER;
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
PLAN_DESTROY(plan_destroy_null_crashes) {
  if (plan == NULL) abort();
  PLAN_DESTROY_INNER;
}

#define KERNEL(name, clause, operation, narrow, note, ...) \
  { name, clause, MUTANT, operation, narrow, note, {__VA_ARGS__}, 0, 0, 0, 0 }
#define LAUNCHING(function, clause, operation, narrow, note) \
  ROW(function, clause, operation, narrow, launching.launch, note)

extern const mutant_t mutants_kernel[];
const mutant_t mutants_kernel[] = {
    LAUNCHING(launch_accepts_short, "KRN-001", ABI, BROAD, "OK for a struct cut short"),
    LAUNCHING(launch_short_is_unsupported, "KRN-001", RETURN, BROAD, "UNSUPPORTED instead"),
    ROW(prepare_accepts_short, "KRN-001", ABI, NARROW, launching.prepare, "OK, and no plan"),
    LAUNCHING(launch_drops_last_row, "KRN-003", EXTENT, BROAD, "the last row is not computed"),
    LAUNCHING(large_launch_drops_last_row, "KRN-003", EXTENT, NARROW, "from 1000 elements on"),
    LAUNCHING(launch_writes_one_element_more, "KRN-003", EXTENT, BROAD, "the element behind"),
    LAUNCHING(launch_spoils_first_input, "KRN-004", VALUE, BROAD, "writes into its first input"),
    KERNEL_ROW(mm_spoils_second_input, "KRN-004", VALUE, NARROW, "mm", launch,
               "mm writes into mat2"),
    LAUNCHING(launch_ignores_strides, "KRN-005", VALUE, BROAD, "the first input is contiguous"),
    LAUNCHING(launch_of_rank_0_is_lost, "KRN-005", VALUE, NARROW, "rank 0 has no effect"),
    LAUNCHING(launch_of_nothing_fails, "KRN-005", RETURN, NARROW, "FAILED without elements"),
    LAUNCHING(launch_clears_output_first, "KRN-006", VALUE, BROAD, "clears the output first"),
    KERNEL_ROW(add_clears_output_that_is_other, "KRN-006", VALUE, NARROW, "add.Tensor", launch,
               "add clears an output that is `other`"),
    KERNEL("launch_reads_arguments_late", "KRN-007", LIFETIME, BROAD,
           "reads the arguments when somebody waits",
           PATCH(launching.launch, launch_reads_arguments_late),
           PATCH(stream.stream_synchronize, synchronize_launches),
           PATCH(stream.stream_query, query_launches), PATCH(event.event_record, record_launches)),
    LAUNCHING(launch_refuses_without_reason, "KRN-008", ERROR, BROAD, "no message"),
    LAUNCHING(launch_refuses_after_effect, "KRN-008", STATE, BROAD, "a byte was written"),
    LAUNCHING(launch_refuses_with_invalid, "KRN-008", RETURN, BROAD, "INVALID instead"),
    ROW(prepare_wants_handles, "KRN-009", RETURN, BROAD, launching.prepare, "INVALID for 0"),
    ROW(prepare_clears_output, "KRN-009", STATE, NARROW, launching.prepare, "writes to the device"),
    KERNEL("plan_wants_more_than_it_says", "KRN-010", VALUE, BROAD, "asks for nothing, needs some",
           PATCH(launching.prepare, prepare_asks_for_nothing),
           PATCH(launching.launch_plan, plan_wants_workspace)),
    KERNEL("plan_writes_behind_workspace", "KRN-010", EXTENT, NARROW, "the byte behind it",
           PATCH(launching.prepare, prepare_asks_and_remembers),
           PATCH(launching.launch_plan, plan_writes_behind_workspace)),
    ROW(second_plan_launch_is_lost, "KRN-013", COUNT, BROAD, launching.launch_plan,
        "every second has no effect"),
    KERNEL("plan_keeps_first_handles", "KRN-013", STATE, NARROW,
           "later launches go where the first went", PATCH(launching.prepare, prepare_names_kernel),
           PATCH(launching.launch_plan, plan_keeps_first_handles)),
    ROW(plan_launch_is_refused, "KRN-014", RETURN, BROAD, launching.launch_plan, "UNSUPPORTED"),
    ROW(second_plan_launch_is_refused, "KRN-014", COUNT, NARROW, launching.launch_plan,
        "every second is UNSUPPORTED"),
    KERNEL("plan_destroy_drops_work", "KRN-017", LIFETIME, BROAD, "pending work goes with the plan",
           PATCH(launching.prepare, prepare_names_kernel),
           PATCH(launching.launch_plan, plan_launches_late),
           PATCH(launching.plan_destroy, plan_destroy_drops_work),
           PATCH(stream.stream_synchronize, synchronize_launches_plan),
           PATCH(stream.stream_query, query_launches_plan)),
    ROW(find_opens_device, "KRN-019", STATE, BROAD, kernel.kernel_find, "opens the device"),
    ROW(find_any_name, "KRN-020", RETURN, BROAD, kernel.kernel_find, "add.Tensor for any name"),
    ROW(find_any_version, "KRN-020", RETURN, BROAD, kernel.kernel_find, "version 1 for any"),
    ROW(find_version_0, "KRN-020", RETURN, NARROW, kernel.kernel_find, "version 1 for 0"),
    ROW(find_base_name, "KRN-020", RETURN, NARROW, kernel.kernel_find, "add.Tensor for add"),
    {"find_gives_another_each_time",
     "KRN-021",
     MUTANT,
     DETERMINISM,
     BROAD,
     "a fresh one each time",
     {PATCH(kernel.kernel_find, find_gives_another_each_time)},
     0,
     0,
     0,
     0},
    LAUNCHING(launch_refuses_float32, "KRN-023", RETURN, BROAD, "contiguous FLOAT32 is refused"),
    LAUNCHING(launch_refuses_float32_on_second_device, "KRN-023", RETURN, NARROW, "on device 1"),
    LAUNCHING(launch_refuses_later_arguments, "KRN-024", ABI, BROAD, "INVALID for a larger struct"),
    ROW(prepare_refuses_later_arguments, "KRN-024", ABI, NARROW, launching.prepare,
        "UNSUPPORTED for a larger struct"),
    ROW(find_without_launch, "KRN-025", ABI, NARROW, kernel.kernel_find, "mm has no launch"),
    ROW(find_without_launch_plan, "KRN-025", ABI, BROAD, kernel.kernel_find,
        "prepare without launch_plan"),
    ROW(find_without_plan_destroy, "KRN-025", ABI, NARROW, kernel.kernel_find,
        "prepare without plan_destroy"),
    ROW(plan_destroy_null_crashes, "KRN-026", LIFETIME, BROAD, launching.plan_destroy, "aborts"),
    {0}};
