/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Generic kernels beside one another: pending on two streams, on two devices, launched by threads at once, after
 * a refusal, and after launches and plans that differ in one thing. Each sample of each kernel is a case.
 */
#include <string.h>

#include "actor.h"
#include "behind.h"
#include "book.h"
#include "generic_sample.h"
#include "operation.h"
#include "range.h"
#include "room.h"
#include "sweep.h"

/* By their place in generic_samples. */
SWEEP_DIMENSION(kernel_axis, "kernel", {"pointwise", 0}, {"reduce", 1}, {"scan", 2}, {"index", 3},
                {"sort", 4}, {"matmul", 5}, {"convolution", 6});

static const generic_sample_t* sample_of(const sweep_case_t* one) {
  return &generic_samples[sweep_get(one, &kernel_axis)];
}

static bool is_offered(const tbk_fixture_t* fx, const sweep_case_t* one) {
  return generic_sample_offered(fx, sample_of(one));
}

/* The space of a test that does this for each kernel. */
#define EACH_KERNEL(space, function)                                \
  static void function##_of(tbk_fixture_t* fx, sweep_case_t* one) { \
    function(fx, sample_of(one));                                   \
  }                                                                 \
  static const sweep_space_t space = {{&kernel_axis}, is_offered, function##_of, 0}

/* Where no kernel is offered, that there is no other remains to be seen. */
static void run_each(tbk_fixture_t* fx, const sweep_space_t* space) {
  SUITE_REQUIRE(kernel_axis.count == generic_sample_count);
  sweep_run(fx, space);
  CHECK(generic_kernel(fx, "tbk::none", 1) == NULL);
}

static bool holds(tbk_fixture_t* fx, const generic_sample_t* sample, void* job) {
  return sample->check(fx, job, TBK_HERE(sample->name));
}

/* ---------------------------------------------------------------------------- order of a stream -- */

typedef struct pending {
  const generic_sample_t* sample;
  void* jobs[2];
  tbk_stream_t* streams[2];
  int32_t devices[2];
} pending_t;

/* The input lies on the device only once the stream has come to its upload. */
static void upload_and_launch(tbk_fixture_t* fx, void* argument) {
  pending_t* it = argument;
  const tensor_t* input = it->sample->input(it->jobs[0]);
  CHECK_OK(fx->core->upload(fx->self, fx->device, input->memory, 0, input->model,
                            input->block_bytes, it->streams[0], &fx->error));
  CHECK_OK(generic_sample_launch(fx, it->sample, it->jobs[0], it->streams[0]));
}

static void check_order(tbk_fixture_t* fx, const generic_sample_t* sample) {
  pending_t it = {.sample = sample, .streams = {fx_stream(fx)}};
  void* warm = generic_sample_make(fx, sample, 0);
  it.jobs[0] = generic_sample_make(fx, sample, 0);
  CHECK_OK(generic_sample_launch(fx, sample, warm, NULL)); /* compiled before a stream is held */
  const tensor_t* input = sample->input(it.jobs[0]);
  fx_upload(fx, input->memory, fx_zeros(fx, input->block_bytes), input->block_bytes);
  behind_gate(fx, it.streams[0], upload_and_launch, &it);
  holds(fx, sample, it.jobs[0]);
}

EACH_KERNEL(order_space, check_order);

static void a_launch_comes_after_what_its_stream_holds(tbk_fixture_t* fx) {
  run_each(fx, &order_space);
}

/* --------------------------------------------------------------------------------- two streams -- */

static void launch_both(tbk_fixture_t* fx, void* argument) {
  pending_t* it = argument;
  for (int k = 0; k < 2; ++k) {
    fx_use_device(fx, it->devices[k]);
    CHECK_OK(generic_sample_launch(fx, it->sample, it->jobs[k], it->streams[k]));
  }
}

static void check_two_streams(tbk_fixture_t* fx, const generic_sample_t* sample) {
  pending_t it = {.sample = sample,
                  .streams = {fx_stream(fx), fx_stream(fx)},
                  .devices = {fx->device, fx->device}};
  for (int k = 0; k < 2; ++k)
    it.jobs[k] = generic_sample_make(fx, sample, 0);
  CHECK_OK(generic_sample_launch(fx, sample, generic_sample_make(fx, sample, 0), NULL));
  behind_gate(fx, it.streams[0], launch_both, &it);
  fx_synchronize(fx, it.streams[1]);
  for (int k = 0; k < 2; ++k)
    holds(fx, sample, it.jobs[k]);
}

EACH_KERNEL(two_streams_space, check_two_streams);

static void a_launch_beside_one_that_is_pending_is_whole(tbk_fixture_t* fx) {
  run_each(fx, &two_streams_space);
}

/* --------------------------------------------------------------------------------- two devices -- */

static void check_form(tbk_fixture_t* fx, const generic_sample_t* sample, int form) {
  const size_t mark = room_mark(fx);
  void* job = generic_sample_make(fx, sample, form);
  CHECK_OK(generic_sample_launch(fx, sample, job, NULL));
  holds(fx, sample, job);
  room_release(fx, mark);
}

/* On the first device, on the second, and on the first again. */
static void check_devices(tbk_fixture_t* fx, const generic_sample_t* sample) {
  const int32_t first = fx->device;
  check_form(fx, sample, 0);
  fx_use_device(fx, fx_second_device(fx));
  if (generic_sample_offered(fx, sample)) check_form(fx, sample, 0);
  fx_use_device(fx, first);
  check_form(fx, sample, 0);
}
EACH_KERNEL(devices_space, check_devices);

static void each_device_computes_what_the_other_did(tbk_fixture_t* fx) {
  run_each(fx, &devices_space);
}

/* ------------------------------------------------------------------------------------- threads -- */

enum { WORKERS = 4, TURNS = 12 };

typedef struct work {
  const generic_sample_t* sample;
  void* job;
} work_t;

static void launch_again_and_again(actor_t* actor) {
  const work_t* work = actor->argument;
  for (int turn = 0; turn < TURNS; ++turn) {
    tbk_fixture_t* fx = &actor->fx;
    CHECK_OK(generic_sample_launch(fx, work->sample, work->job, NULL));
    actor_step(actor);
  }
}

static void check_threads(tbk_fixture_t* fx, const generic_sample_t* sample) {
  actor_t* actors = (actor_t*)(void*)fx_zeros(fx, WORKERS * sizeof *actors);
  work_t works[WORKERS];
  for (int k = 0; k < WORKERS; ++k)
    works[k] = (work_t){sample, generic_sample_make(fx, sample, 0)};
  for (int k = 0; k < WORKERS; ++k)
    actor_start(fx, &actors[k], launch_again_and_again, &works[k]);
  for (int k = 0; k < WORKERS; ++k)
    actor_join(fx, &actors[k]);
  for (int k = 0; k < WORKERS; ++k)
    holds(fx, sample, works[k].job);
}

EACH_KERNEL(threads_space, check_threads);

static void threads_launch_at_the_same_time(tbk_fixture_t* fx) {
  run_each(fx, &threads_space);
}

/* Downloads without a stream are ordered after nothing, and see what is complete. */
static void check_complete(tbk_fixture_t* fx, const generic_sample_t* sample) {
  check_form(fx, sample, 0);
}
EACH_KERNEL(complete_space, check_complete);

static void a_launch_without_a_stream_is_complete_on_return(tbk_fixture_t* fx) {
  run_each(fx, &complete_space);
}

/* ----------------------------------------------------------------------------------- one thing -- */

/* There and back, so that each comes before and after each that it may be taken for. */
static void check_turns(tbk_fixture_t* fx, const generic_sample_t* sample) {
  for (int form = 0; form < sample->forms; ++form)
    check_form(fx, sample, form);
  for (int form = sample->forms - 1; form >= 0; --form)
    check_form(fx, sample, form);
}

EACH_KERNEL(turns_space, check_turns);

static void launches_that_differ_are_not_taken_for_each_other(tbk_fixture_t* fx) {
  run_each(fx, &turns_space);
}

enum { FORMS = 16 };

/* A block with the workspace in it, at one form after another further behind its beginning. */
static void place_workspace(tbk_fixture_t* fx, generic_plan_t* plan, int form, block_t* out) {
  static const uint64_t leads[] = {65536, 0, (1 << 20) + 1};
  const uint64_t alignment = fx->properties.memory_alignment, lead = leads[form % 3];
  plan->workspace_offset = (lead + alignment - 1) / alignment * alignment;
  if (!room_fits(fx, plan->workspace_offset + plan->workspace_bytes)) {
    fx_note_once(fx, "a workspace far behind the beginning of its block does not fit the device");
    plan->workspace_offset = 0;
  }
  block_make(fx, out, plan->workspace_offset + plan->workspace_bytes);
  plan->workspace = out->memory;
}

static void launch_planned(tbk_fixture_t* fx, const generic_sample_t* sample, int form,
                           generic_plan_t* plan) {
  const size_t mark = room_mark(fx);
  const generic_call_t call = sample->call(generic_sample_make(fx, sample, form));
  block_t block = {0};
  if (plan->workspace_bytes != 0) place_workspace(fx, plan, form, &block);
  call.describe(call.job);
  CHECK_OK(generic_launch_plan(fx, &call, plan));
  holds(fx, sample, call.job);
  block.size = plan->workspace_offset; /* what lies before it is nobody's */
  BLOCK_CHECK(fx, &block);
  room_release(fx, mark);
}

/*
 * All plans are made before the first is launched, on operands like those that they were made for: a device
 * may have no room for all. Those that are refused are left out.
 */
static void check_plans(tbk_fixture_t* fx, const generic_sample_t* sample) {
  generic_plan_t plans[FORMS] = {{0}};
  const tbk_kernel_t* kernel = generic_kernel(fx, sample->name, sample->version);
  SUITE_REQUIRE(sample->forms <= FORMS);
  if (!operation_has_plans(kernel)) return;
  for (int form = 0; form < sample->forms; ++form) {
    const size_t mark = room_mark(fx);
    const generic_call_t call = sample->call(generic_sample_make(fx, sample, form));
    const tbk_status_t status = generic_prepare(fx, &call, &plans[form]);
    CHECK(status == TBK_OK || status == TBK_UNSUPPORTED);
    room_release(fx, mark);
  }
  for (int form = sample->forms - 1; form >= 0; --form)
    if (plans[form].plan != NULL) launch_planned(fx, sample, form, &plans[form]);
  for (int form = 0; form < sample->forms; ++form)
    if (plans[form].plan != NULL) kernel->plan_destroy(fx->self, plans[form].plan);
}

EACH_KERNEL(plans_space, check_plans);

static void plans_that_differ_are_not_taken_for_each_other(tbk_fixture_t* fx) {
  run_each(fx, &plans_space);
}

/* -------------------------------------------------------------------------------------- errors -- */

static void check_after_refusal(tbk_fixture_t* fx, const generic_sample_t* sample) {
  void* job = generic_sample_make(fx, sample, 0);
  const generic_call_t call = sample->call(job);
  for (int turn = 0; turn < 3; ++turn) {
    call.describe(job);
    *(size_t*)call.wire = sizeof(size_t); /* the size of the struct comes first */
    CHECK_STATUS(TBK_INVALID, generic_launch(fx, &call, NULL));
  }
  CHECK_OK(generic_sample_launch(fx, sample, job, NULL));
  holds(fx, sample, job);
}

EACH_KERNEL(after_refusal_space, check_after_refusal);

static void a_launch_after_a_refusal_is_whole(tbk_fixture_t* fx) {
  run_each(fx, &after_refusal_space);
}

typedef struct odd_call {
  const generic_sample_t* sample;
  void* job;
} odd_call_t;

static bool is_refused(tbk_fixture_t* fx, void* argument) {
  const odd_call_t* call = argument;
  return CHECK_SAID(generic_sample_launch(fx, call->sample, call->job, NULL) != TBK_OK, "a refusal",
                    "OK for operands of two dtypes, of %s", call->sample->name);
}

/* An operand of another dtype than the rest, which is seen when all else has been looked at. */
static void check_heap_after_refusals(tbk_fixture_t* fx, const generic_sample_t* sample) {
  void* job = generic_sample_make(fx, sample, 0);
  odd_call_t call = {sample, job};
  const number_type_t* kept = sample->input(job)->type;
  sample->input(job)->type = number_type(TBK_FLOAT64);
  (void)is_refused(fx, &call); /* what is set up once */
  BOOK_CHECK_HEAP(fx, is_refused, &call, 200, sample->name);
  sample->input(job)->type = kept;
  CHECK_OK(generic_sample_launch(fx, sample, job, NULL));
  holds(fx, sample, job);
}

EACH_KERNEL(heap_space, check_heap_after_refusals);

static void launches_that_are_refused_leave_nothing(tbk_fixture_t* fx) {
  run_each(fx, &heap_space);
}

/* --------------------------------------------------------------------------------- later hosts -- */

/* The arguments as a later host has them: its struct goes on, and what lies there is nothing that is known. */
static generic_call_t lengthen(tbk_fixture_t* fx, const generic_call_t* call, size_t more) {
  generic_call_t longer = *call;
  const size_t own = *(const size_t*)call->wire;
  longer.wire_bytes = own + more;
  longer.wire = fx_zeros(fx, longer.wire_bytes);
  memset(longer.wire, 0xdd, longer.wire_bytes);
  memcpy(longer.wire, call->wire, own);
  *(size_t*)longer.wire = longer.wire_bytes;
  return longer;
}

static tbk_status_t prepare(tbk_fixture_t* fx, const generic_call_t* call, generic_plan_t* out) {
  memset(out, 0, sizeof *out);
  return call->kernel->prepare(fx->self, fx->device, call->kernel, call->wire, &out->plan,
                               &out->workspace_bytes, &fx->error);
}

/* Planned for a struct of either length, and launched with one that is longer. */
static void check_later_plan(tbk_fixture_t* fx, const generic_sample_t* sample, size_t more) {
  generic_plan_t plain, plan;
  const generic_call_t call = sample->call(generic_sample_make(fx, sample, 0));
  call.describe(call.job);
  call.blank(call.job);
  const generic_call_t planned = lengthen(fx, &call, more);
  const tbk_status_t status = prepare(fx, &call, &plain);
  CHECK_EQUAL(status, prepare(fx, &planned, &plan));
  call.kernel->plan_destroy(fx->self, plain.plan);
  if (plan.plan == NULL) return;
  if (room_fits(fx, plan.workspace_bytes)) {
    if (plan.workspace_bytes != 0) plan.workspace = fx_alloc(fx, plan.workspace_bytes);
    call.describe(call.job);
    const generic_call_t longer = lengthen(fx, &call, more);
    CHECK_OK(generic_launch_plan(fx, &longer, &plan));
    holds(fx, sample, call.job);
  }
  call.kernel->plan_destroy(fx->self, plan.plan);
}

/* By one member, and by many. */
static void check_later_host(tbk_fixture_t* fx, const generic_sample_t* sample) {
  static const size_t more[] = {sizeof(void*), 256};
  for (size_t i = 0; i < sizeof more / sizeof *more; ++i) {
    const size_t mark = room_mark(fx);
    const generic_call_t call = sample->call(generic_sample_make(fx, sample, 0));
    call.describe(call.job);
    const generic_call_t longer = lengthen(fx, &call, more[i]);
    CHECK_OK(generic_launch(fx, &longer, NULL));
    holds(fx, sample, call.job);
    if (operation_has_plans(call.kernel)) check_later_plan(fx, sample, more[i]);
    room_release(fx, mark);
  }
}

EACH_KERNEL(later_space, check_later_host);

static void arguments_of_a_later_host_are_accepted(tbk_fixture_t* fx) {
  run_each(fx, &later_space);
}

static const tbk_case_t cases[] = {
    TBK_CASE("PRG-080", "generic dtype:INT64 dtype:BOOL stream", 0,
             a_launch_beside_one_that_is_pending_is_whole),
    TBK_CASE("PRG-080", "generic dtype:INT64 dtype:BOOL two_devices", 0,
             each_device_computes_what_the_other_did),
    TBK_CASE("PRG-080", "generic dtype:INT64 dtype:BOOL", 0, threads_launch_at_the_same_time),
    TBK_CASE("CPY-006", "generic dtype:INT64 dtype:BOOL", 0,
             a_launch_without_a_stream_is_complete_on_return),
    TBK_CASE("PRG-081", "generic dtype:INT64 dtype:BOOL", 0,
             launches_that_differ_are_not_taken_for_each_other),
    TBK_CASE("PRG-081", "generic dtype:INT64 dtype:BOOL", 0,
             plans_that_differ_are_not_taken_for_each_other),
    TBK_CASE("PRG-082", "generic dtype:INT64 dtype:BOOL", 0, a_launch_after_a_refusal_is_whole),
    TBK_CASE("ERR-001", "generic dtype:INT64 dtype:BOOL", 0,
             launches_that_are_refused_leave_nothing),
    TBK_CASE("KRN-024", "generic dtype:INT64 dtype:BOOL", 0,
             arguments_of_a_later_host_are_accepted),
    TBK_CASE("PRG-083", "generic dtype:INT64 dtype:BOOL stream", 0,
             a_launch_comes_after_what_its_stream_holds),
};
TBK_SUITE(program_beside);
