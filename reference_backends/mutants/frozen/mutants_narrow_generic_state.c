/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * narrow_generic_state.c: generic kernels that are right alone and wrong after, or beside, something else:
 * another stream, device, thread, program, plan or error.
 */
#include <string.h>

#include "generic_copy.h"
#include "narrow.h"

/* ------------------------------------------------------------------------- streams, devices ---- */

/* What streams share is taken: what is launched on another one meanwhile is lost. */
static bool is_taken(wrap_t* wrap, tbk_instance_t* self, tbk_stream_t* stream) {
  tbk_stream_t* before = (tbk_stream_t*)atomic_load(&wrap->value);
  if (stream != NULL && before != NULL && before != stream && stream_pending(self, before))
    return true;
  if (stream != NULL) atomic_store(&wrap->value, (uintptr_t)stream);
  return false;
}
STREAM_DESTROY(taken_is_forgotten) {
  uint64_t expected = (uintptr_t)stream;
  atomic_compare_exchange_strong(&wrap_of(self)->value, &expected, 0);
  STREAM_DESTROY_INNER;
}
LAUNCH(reductions_share_their_buffer) {
  return is_taken(wrap_of(self), self, stream) ? TBK_OK : LAUNCH_INNER;
}
LAUNCH(products_share_their_workspace) {
  return is_taken(wrap_of(self), self, stream) ? TBK_OK : LAUNCH_INNER;
}

LAUNCH(sorts_go_ahead) {
  GO_AHEAD(LAUNCH_INNER);
}
UPLOAD(upload_goes_before_sorts) {
  go_first(self, stream);
  return UPLOAD_INNER;
}

/* On the host's call alone the scan is left to a stream that is held. */
LAUNCH(scans_without_a_stream_are_late) {
  if (stream == NULL) stream = side_held(wrap_of(self), device);
  return LAUNCH_INNER;
}

enum { SEEN = 1024 };
/* By content; `other` is what a narrower key forgets. */
typedef struct seen {
  uint64_t key, other;
} seen_t;
static seen_t seen[SEEN];

/* Returns what stood beside the key when it was seen first. */
static uint64_t first_of(uint64_t key, uint64_t other) {
  seen_t* at = &seen[key % SEEN];
  if (at->key != key) *at = (seen_t){.key = key, .other = other};
  return at->other;
}
LAUNCH(programs_of_the_first_device_do_nothing_on_others) {
  GENERIC_UNLESS(
      first_of(tbk_program_hash(c->as.pointwise.program), (uint64_t)device) != (uint64_t)device,
      TBK_OK);
}

/* -------------------------------------------------------------------------------------- threads -- */

static atomic_int inside;
static uint64_t shared_numbers[TBK_PROGRAM_MOST_NUMBERS];

/* Numbers lie in one place for all threads until the launch is made. */
LAUNCH(numbers_of_two_threads_are_shared) {
  generic_copy_t* c = generic_copy_of(KERNEL_NAME, arguments);
  if (c == NULL || c->set_count != 1 || c->number_count == 0) return LAUNCH_INNER;
  if (atomic_fetch_add(&inside, 1) == 0)
    memcpy(shared_numbers, c->numbers[0], c->number_count * sizeof(uint64_t));
  wrap_sleep_ms(1);
  memcpy(c->numbers[0], shared_numbers, c->number_count * sizeof(uint64_t));
  arguments = &c->as;
  const tbk_status_t status = LAUNCH_INNER;
  atomic_fetch_sub(&inside, 1);
  return status;
}
/* One sort at a time; who comes meanwhile is refused. */
LAUNCH(second_thread_is_refused_a_sort) {
  const bool first = atomic_fetch_add(&inside, 1) == 0;
  if (first) wrap_sleep_ms(1);
  const tbk_status_t status = first ? LAUNCH_INNER : wrap_fail(error, TBK_UNSUPPORTED, "busy");
  atomic_fetch_sub(&inside, 1);
  return status;
}

/* ---------------------------------------------------------------------------- what is cached ---- */

static uint64_t mixed(uint64_t hash, uint64_t more) {
  return (hash ^ more) * UINT64_C(0x9e3779b97f4a7c15) + (hash >> 29);
}
/* Of instructions without the values of constants. */
static uint64_t key_without_constants(const tbk_program_t* p) {
  uint64_t key = mixed(p->instruction_count, p->input_count);
  for (size_t n = 0; n < p->instruction_count; n++) {
    const tbk_instruction_t* i = &p->instructions[n];
    key = mixed(key, (uint64_t)i->opcode << 32 | (uint64_t)i->dtype << 16 | i->slot);
    for (uint32_t k = 0; k < i->operand_count; k++)
      key = mixed(key, p->operands[i->operand_first + k]);
  }
  return key;
}
static uint64_t constants_of(const tbk_program_t* p) {
  uint64_t key = 0;
  for (size_t n = 0; n < p->instruction_count; n++)
    key = mixed(key, p->instructions[n].immediate);
  return key;
}
/* What was compiled for other constants is found, and was thrown away. */
LAUNCH(programs_of_other_constants_are_lost) {
  GENERIC_UNLESS(
      first_of(key_without_constants(c->as.pointwise.program),
               constants_of(c->as.pointwise.program)) != constants_of(c->as.pointwise.program),
      TBK_OK);
}
static uint64_t identity_seen[SEEN][TBK_REDUCTION_MOST_STATES];
static const uint64_t* first_identity(const tbk_reduction_t* r) {
  const uint64_t key = mixed(mixed(tbk_program_hash(r->map), tbk_program_hash(r->combine)),
                             tbk_program_hash(r->finish));
  uint64_t* identity = identity_seen[key % SEEN];
  if (first_of(key, 0) == 0) {
    memcpy(identity, r->identity, r->map->result_count * sizeof *identity);
    seen[key % SEEN].other = 1;
  }
  return identity;
}
LAUNCH(reductions_of_other_identities_are_one) {
  GENERIC_CHANGED(c->reduction.identity = first_identity(&c->reduction));
}

/* ----------------------------------------------------------------------------------------- plans -- */

/* Plans by sizes alone: what else the first of that size had stays. */
static uint64_t sizes_of(const generic_copy_t* c, int first, int last) {
  uint64_t key = 1;
  for (int k = first; k <= last; k++)
    for (int32_t d = 0; d < c->views[k].tensor.rank; d++)
      key = mixed(key, (uint64_t)c->views[k].sizes[d] << 8 | (uint64_t)c->views[k].tensor.dtype);
  return key;
}
static void take_first_flags(generic_copy_t* c) {
  c->as.sort.flags = first_of(sizes_of(c, SORT_INPUT, SORT_INPUT), c->as.sort.flags);
}
#define PREPARE_CHANGED(change)                                  \
  do {                                                           \
    generic_copy_t* c = generic_copy_of(KERNEL_NAME, arguments); \
    if (c == NULL) return PREPARE_INNER;                         \
    change;                                                      \
    arguments = &c->as;                                          \
    return PREPARE_INNER;                                        \
  } while (0)
#define PLAN_CHANGED(name, change)                        \
  do {                                                    \
    generic_copy_t* c = generic_copy_of(name, arguments); \
    if (c == NULL) return LAUNCH_PLAN_INNER;              \
    change;                                               \
    arguments = &c->as;                                   \
    return LAUNCH_PLAN_INNER;                             \
  } while (0)
PREPARE(sort_is_prepared_by_size) {
  PREPARE_CHANGED(take_first_flags(c));
}
LAUNCH_PLAN(sort_of_plans_by_size) {
  PLAN_CHANGED(TBK_NAME_sort, take_first_flags(c));
}
static void take_first_c(generic_copy_t* c) {
  const uint64_t has = c->as.matmul.c != NULL ? 2 : 1;
  if (first_of(sizes_of(c, MATMUL_A, MATMUL_B), has) == 1) c->as.matmul.c = NULL;
}
PREPARE(product_is_prepared_by_size) {
  PREPARE_CHANGED(take_first_c(c));
}
LAUNCH_PLAN(product_of_plans_by_size) {
  PLAN_CHANGED(TBK_NAME_matmul, take_first_c(c));
}
/* Two inputs of the same sizes, of which the first plan had the first transposed or not. */
static void take_first_strides(generic_copy_t* c) {
  static int64_t strides[SEEN][GENERIC_RANK];
  if (c->set_count != 1 || c->inputs == 0) return;
  generic_view_t* in = generic_operand(c, 0, c->outputs);
  uint64_t key = mixed(tbk_program_hash(c->as.pointwise.program), (uint64_t)in->tensor.rank);
  for (int32_t d = 0; d < in->tensor.rank; d++)
    key = mixed(key, (uint64_t)in->sizes[d]);
  if (first_of(key, 0) == 0) {
    memcpy(strides[key % SEEN], in->strides, sizeof in->strides);
    seen[key % SEEN].other = 1;
  }
  memcpy(in->strides, strides[key % SEEN], sizeof in->strides);
}
PREPARE(program_is_prepared_by_size) {
  PREPARE_CHANGED(take_first_strides(c));
}
LAUNCH_PLAN(program_of_plans_by_size) {
  PLAN_CHANGED(TBK_NAME_pointwise, take_first_strides(c));
}

/* ---------------------------------------------------------------------------------------- errors -- */

/* What comes after a refusal finds it not yet cleared, and does nothing. */
LAUNCH(launch_after_a_refusal_is_lost) {
  wrap_t* wrap = wrap_of(self);
  if (once(&wrap->flag)) return TBK_OK;
  const tbk_status_t status = LAUNCH_INNER;
  if (status == TBK_INVALID) atomic_store(&wrap->flag, 1);
  return status;
}

#define PLANS(name, kernel, operation, note, prepared, launched)                                 \
  {                                                                                              \
    name, "PRG-081", MUTANT, operation, NARROW, note,                                            \
        {PATCH(launching.prepare, prepared), PATCH(launching.launch_plan, launched)}, kernel, 0, \
        0, 0                                                                                     \
  }
#define SHARED(function, clause, kernel, note)                                                  \
  {                                                                                             \
#function, clause, MUTANT, STATE, NARROW, note,                                             \
        {PATCH(launching.launch, function), PATCH(stream.stream_destroy, taken_is_forgotten) }, \
         kernel, 0, 0, 0                                                                        \
  }

extern const mutant_t mutants_narrow_generic_state[];
const mutant_t mutants_narrow_generic_state[] = {
    SHARED(reductions_share_their_buffer, "PRG-080", TBK_NAME_reduce,
           "lost while one is pending on another stream"),
    SHARED(products_share_their_workspace, "PRG-080", TBK_NAME_matmul,
           "lost while one is pending on another stream"),
    {"sorts_go_ahead",
     "PRG-083",
     MUTANT,
     ORDER,
     NARROW,
     "of an upload on their stream",
     {PATCH(launching.launch, sorts_go_ahead), PATCH(core.upload, upload_goes_before_sorts)},
     TBK_NAME_sort,
     0,
     notes_install,
     0},
    KERNEL(scans_without_a_stream_are_late, "CPY-006", ORDER, TBK_NAME_scan, launch,
           "not complete on return"),
    KERNEL(programs_of_the_first_device_do_nothing_on_others, "PRG-080", STATE, TBK_NAME_pointwise,
           launch, "found in a cache that all devices share"),
    KERNEL(numbers_of_two_threads_are_shared, "PRG-080", THREAD, TBK_NAME_pointwise, launch,
           "where both launch at once"),
    KERNEL(second_thread_is_refused_a_sort, "PRG-080", THREAD, TBK_NAME_sort, launch,
           "where both launch at once"),
    KERNEL(programs_of_other_constants_are_lost, "PRG-081", STATE, TBK_NAME_pointwise, launch,
           "found in a cache that forgets immediates"),
    KERNEL(reductions_of_other_identities_are_one, "PRG-081", STATE, TBK_NAME_reduce, launch,
           "found in a cache that forgets identities"),
    PLANS("sorts_are_planned_by_size", TBK_NAME_sort, STATE, "with the flags of the first plan",
          sort_is_prepared_by_size, sort_of_plans_by_size),
    PLANS("products_are_planned_by_size", TBK_NAME_matmul, STATE,
          "without c where the first plan had none", product_is_prepared_by_size,
          product_of_plans_by_size),
    PLANS("programs_are_planned_by_size", TBK_NAME_pointwise, STATE,
          "with the strides of the first plan", program_is_prepared_by_size,
          program_of_plans_by_size),
    KERNEL(launch_after_a_refusal_is_lost, "PRG-082", STATE, TBK_NAME_pointwise, launch,
           "once, after INVALID"),
    {0}};
