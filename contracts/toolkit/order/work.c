/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "work.h"

#include "operation.h"

#include <string.h>

/* Words that are ordinary numbers in every dtype: a kernel may change the payload of a NaN. */
static uint32_t plain_word(bench_t* bench) {
  bench->random = bench->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return ((uint32_t)(bench->random >> 32) & 0xBF7FFFFFu) | 0x20000000u;
}

static void plain_bytes(bench_t* bench, uint8_t* bytes, uint64_t size_bytes) {
  for (uint64_t i = 0; i + 4 <= size_bytes; i += 4) {
    uint32_t word = plain_word(bench);
    memcpy(bytes + i, &word, 4);
  }
}

static uint8_t* host_memory(const bench_t* bench) {
  return bench->uses_pinned ? bench->pinned : bench->host;
}

static uint8_t* host_cell(bench_t* bench, uint8_t* base) {
  SUITE_REQUIRE(bench->host_used < bench->cells);
  return base + bench->host_used++ * bench->cell_bytes;
}

/* ------------------------------------------------------------------------------- the copies -- */

static bool always(tbk_fixture_t* fx, bench_t* bench) {
  (void)bench;
  return fx->core != NULL;
}

static tbk_status_t upload_enqueue(tbk_fixture_t* fx, work_t* work, tbk_stream_t* stream) {
  return fx->core->upload(fx->self, fx->device, work->bench->memory, work->target, work->host,
                          work->bench->cell_bytes, stream, &fx->error);
}

static tbk_status_t download_enqueue(tbk_fixture_t* fx, work_t* work, tbk_stream_t* stream) {
  return fx->core->download(fx->self, fx->device, work->host, work->bench->memory, work->source,
                            work->bench->cell_bytes, stream, &fx->error);
}

static tbk_status_t copy_enqueue(tbk_fixture_t* fx, work_t* work, tbk_stream_t* stream) {
  tbk_memory_t memory = work->bench->memory;
  return fx->core->copy(fx->self, fx->device, memory, work->target, memory, work->source,
                        work->bench->cell_bytes, stream, &fx->error);
}

static bool peer_offered(tbk_fixture_t* fx, bench_t* bench) {
  (void)bench;
  return fx->peer != NULL;
}

static tbk_status_t peer_enqueue(tbk_fixture_t* fx, work_t* work, tbk_stream_t* stream) {
  tbk_memory_t memory = work->bench->memory;
  return fx->peer->peer_copy(fx->self, fx->device, memory, work->target, fx->device, memory,
                             work->source, work->bench->cell_bytes, stream, &fx->error);
}

static void upload_prepare(tbk_fixture_t* fx, bench_t* bench, work_t* work) {
  (void)fx;
  plain_bytes(bench, work->host, bench->cell_bytes);
  work->expected = work->host;
}

/* ------------------------------------------------------------------- fills and random words -- */

static bool fill_offered(tbk_fixture_t* fx, bench_t* bench) {
  (void)bench;
  return TBK_HAS(fx->core, tbk_core_t, fill);
}

static void fill_prepare(tbk_fixture_t* fx, bench_t* bench, work_t* work) {
  (void)fx;
  bench->next_byte = (uint8_t)(bench->next_byte % 90 + 1);
  work->byte = (uint8_t)(0x20 + bench->next_byte);
  memset(work->host, work->byte, bench->cell_bytes);
  work->expected = work->host;
}

static tbk_status_t fill_enqueue(tbk_fixture_t* fx, work_t* work, tbk_stream_t* stream) {
  return fx->core->fill(fx->self, fx->device, work->bench->memory, work->target, work->byte,
                        work->bench->cell_bytes, stream, &fx->error);
}

/* Random words may be NaNs, so they are left out where kernels copy floating-point numbers. */
static bool random_offered(tbk_fixture_t* fx, bench_t* bench) {
  return fx->random != NULL && bench->dtype == TBK_INT32;
}

static tbk_status_t random_enqueue(tbk_fixture_t* fx, work_t* work, tbk_stream_t* stream) {
  return fx->random->random_bits(fx->self, fx->device, &work->generator, work->bench->memory,
                                 work->target, work->bench->cell_bytes / 4, stream, &fx->error);
}

static void random_prepare(tbk_fixture_t* fx, bench_t* bench, work_t* work) {
  work->generator = (tbk_generator_t){.seed = fx_random(fx), .offset = 4 * (fx_random(fx) & 0xFF)};
  REQUIRE_OK(random_enqueue(fx, work, NULL));
  REQUIRE_OK(fx->core->download(fx->self, fx->device, work->host, bench->memory, work->target,
                                bench->cell_bytes, NULL, &fx->error));
  work->expected = work->host;
}

/* --------------------------------------------------------------------------------- kernels -- */

static const tbk_tensor_t* tensor_of(const bench_t* bench, uint64_t cell, cell_tensor_t* out) {
  out->size = (int64_t)(bench->cell_bytes / 4);
  out->stride = 1;
  out->tensor = (tbk_tensor_t){.struct_size = sizeof out->tensor,
                               .memory = bench->memory,
                               .storage_bytes = bench->cells * bench->cell_bytes,
                               .offset = (int64_t)(cell / 4),
                               .dtype = bench->dtype,
                               .rank = 1,
                               .sizes = &out->size,
                               .strides = &out->stride};
  return &out->tensor;
}

static tbk_status_t kernel_fill_enqueue(tbk_fixture_t* fx, work_t* work, tbk_stream_t* stream) {
  bench_t* bench = work->bench;
  tbk_args_fill__Scalar_t* arguments = &work->arguments.of.fill;
  *arguments = (tbk_args_fill__Scalar_t){.struct_size = sizeof *arguments};
  arguments->self = tensor_of(bench, work->target, &work->arguments.target);
  arguments->value.kind = TBK_SCALAR_INT;
  arguments->value.integer = work->number;
  return bench->fill_kernel->launch(fx->self, fx->device, bench->fill_kernel, arguments, stream,
                                    &fx->error);
}

static void kernel_fill_prepare(tbk_fixture_t* fx, bench_t* bench, work_t* work) {
  (void)fx;
  work->number = 1 + (plain_word(bench) & 0xFFFFFF); /* exact in float32 as well */
  float real = (float)work->number;
  int32_t integer = (int32_t)work->number;
  const void* word = bench->dtype == TBK_FLOAT32 ? (const void*)&real : (const void*)&integer;
  for (uint64_t i = 0; i + 4 <= bench->cell_bytes; i += 4)
    memcpy(work->host + i, word, 4);
  work->expected = work->host;
}

static const tbk_args_copy__t* copy_arguments(work_t* work) {
  tbk_args_copy__t* arguments = &work->arguments.of.copy;
  *arguments = (tbk_args_copy__t){.struct_size = sizeof *arguments};
  arguments->self = tensor_of(work->bench, work->target, &work->arguments.target);
  arguments->src = tensor_of(work->bench, work->source, &work->arguments.source);
  return arguments;
}

static tbk_status_t kernel_copy_enqueue(tbk_fixture_t* fx, work_t* work, tbk_stream_t* stream) {
  const tbk_kernel_t* kernel = work->bench->copy_kernel;
  return kernel->launch(fx->self, fx->device, kernel, copy_arguments(work), stream, &fx->error);
}

static void plan_prepare(tbk_fixture_t* fx, bench_t* bench, work_t* work) {
  if (bench->workspace_bytes > 0) work->workspace = fx_alloc(fx, bench->workspace_bytes);
}

static tbk_status_t plan_enqueue(tbk_fixture_t* fx, work_t* work, tbk_stream_t* stream) {
  const bench_t* bench = work->bench;
  return bench->copy_kernel->launch_plan(fx->self, fx->device, bench->plan, copy_arguments(work),
                                         work->workspace, 0, stream, &fx->error);
}

static const tbk_kernel_t* kernel_of(tbk_fixture_t* fx, const bench_t* bench, const char* name) {
  if (fx->kernel == NULL || bench->dtype < 0) return NULL;
  return fx->kernel->kernel_find(fx->self, fx->device, name, 1);
}

/* A kernel may refuse any arguments, so it is tried once on those that the test will use. */
static bool tried(tbk_fixture_t* fx, tbk_status_t status) {
  CHECK_SAID(status == TBK_OK || status == TBK_UNSUPPORTED, "OK, or UNSUPPORTED",
             "%s from a kernel: %s", tbk_status_name(status), fx->error.message);
  return status == TBK_OK;
}

static bool kernel_fill_offered(tbk_fixture_t* fx, bench_t* bench) {
  bench->fill_kernel = kernel_of(fx, bench, TBK_NAME_fill__Scalar);
  work_t trial = {.bench = bench}, other = {.bench = bench, .target = bench->cell_bytes};
  return bench->fill_kernel != NULL && tried(fx, kernel_fill_enqueue(fx, &trial, NULL)) &&
         tried(fx, kernel_fill_enqueue(fx, &other, NULL));
}

static bool kernel_copy_offered(tbk_fixture_t* fx, bench_t* bench) {
  bench->copy_kernel = kernel_of(fx, bench, TBK_NAME_copy_);
  work_t trial = {.bench = bench, .source = bench->cell_bytes};
  work_t other = {.bench = bench, .target = bench->cell_bytes};
  return bench->copy_kernel != NULL && tried(fx, kernel_copy_enqueue(fx, &trial, NULL)) &&
         tried(fx, kernel_copy_enqueue(fx, &other, NULL));
}

static bool plan_offered(tbk_fixture_t* fx, bench_t* bench) {
  const tbk_kernel_t* kernel = bench->copy_kernel;
  if (!operation_has_plans(kernel)) return false;
  work_t trial = {.bench = bench, .source = bench->cell_bytes};
  return tried(fx, kernel->prepare(fx->self, fx->device, kernel, copy_arguments(&trial),
                                   &bench->plan, &bench->workspace_bytes, &fx->error));
}

/* ------------------------------------------------------------------------------- callbacks -- */

static bool callback_offered(tbk_fixture_t* fx, bench_t* bench) {
  (void)bench;
  return fx->callback != NULL;
}

static void callback_prepare(tbk_fixture_t* fx, bench_t* bench, work_t* work) {
  uint8_t* value = host_cell(bench, bench->expected);
  (void)fx;
  plain_bytes(bench, value, bench->cell_bytes);
  memset(work->host, 0, bench->cell_bytes);
  work->host_source = value;
  work->expected = value;
}

static void callback_copies(void* argument) {
  work_t* work = argument;
  memcpy(work->host, work->host_source, work->bench->cell_bytes);
}

static tbk_status_t callback_enqueue(tbk_fixture_t* fx, work_t* work, tbk_stream_t* stream) {
  return fx->callback->callback_enqueue(fx->self, stream, callback_copies, work, &fx->error);
}

/* ------------------------------------------------------------------------------- the table -- */

/* clang-format off */
static const work_kind_t work_kinds[WORK_KINDS] = {
    {"upload",      WORK_WRITES,                  always,              upload_prepare,      upload_enqueue},
    {"download",    WORK_READS | WORK_TO_HOST,    always,              NULL,                download_enqueue},
    {"copy",        WORK_READS | WORK_WRITES,     always,              NULL,                copy_enqueue},
    {"fill",        WORK_WRITES,                  fill_offered,        fill_prepare,        fill_enqueue},
    {"kernel fill", WORK_WRITES,                  kernel_fill_offered, kernel_fill_prepare, kernel_fill_enqueue},
    {"kernel copy", WORK_READS | WORK_WRITES,     kernel_copy_offered, NULL,                kernel_copy_enqueue},
    {"plan",        WORK_READS | WORK_WRITES,     plan_offered,        plan_prepare,        plan_enqueue},
    {"peer copy",   WORK_READS | WORK_WRITES,     peer_offered,        NULL,                peer_enqueue},
    {"random",      WORK_WRITES,                  random_offered,      random_prepare,      random_enqueue},
    {"callback",    WORK_TO_HOST | WORK_ON_HOST,  callback_offered,    callback_prepare,    callback_enqueue},
};
/* clang-format on */

/* ------------------------------------------------------------------------------- the bench -- */

static int32_t kernel_dtype(const tbk_fixture_t* fx) {
  if (fx_has_dtype(fx, TBK_INT32)) return TBK_INT32;
  if (fx_has_dtype(fx, TBK_FLOAT32)) return TBK_FLOAT32;
  return fx->kernel == NULL ? TBK_INT32 : -1;
}

/* Two cells at least: those on which kernels are tried. */
static uint64_t used_bytes(const bench_t* bench) {
  return (bench->cells_used > 2 ? bench->cells_used : 2) * bench->cell_bytes;
}

void bench_begin(tbk_fixture_t* fx, bench_t* bench, uint64_t cell_bytes, uint32_t cells) {
  *bench = (bench_t){.cell_bytes = fx_round(fx, cell_bytes), .cells = cells};
  uint64_t all_bytes = bench->cell_bytes * cells;
  bench->random = fx_random(fx);
  bench->memory = fx_alloc(fx, all_bytes);
  bench->before = fx_zeros(fx, all_bytes);
  bench->after = fx_zeros(fx, all_bytes);
  bench->host = fx_zeros(fx, all_bytes);
  bench->expected = fx_zeros(fx, all_bytes);
  bench->dtype = kernel_dtype(fx);
  plain_bytes(bench, bench->before, all_bytes);
  bench_upload(fx, bench);
  for (size_t i = 0; i < WORK_KINDS; ++i) {
    if (work_kinds[i].offered(fx, bench)) bench->kinds[bench->kind_count++] = &work_kinds[i];
  }
}

void bench_end(tbk_fixture_t* fx, bench_t* bench) {
  if (bench->plan != NULL) bench->copy_kernel->plan_destroy(fx->self, bench->plan);
  bench->plan = NULL;
  if (bench->pinned != NULL) fx->pinned->pinned_free(fx->self, bench->pinned);
  bench->pinned = NULL;
}

void bench_unpin(bench_t* bench) {
  bench->uses_pinned = false;
}

bool bench_pin(tbk_fixture_t* fx, bench_t* bench) {
  if (bench->uses_pinned || fx->pinned == NULL) return false;
  if (bench->pinned == NULL) {
    void* memory = NULL;
    const uint64_t size_bytes = bench->cell_bytes * bench->cells;
    if (fx->pinned->pinned_alloc(fx->self, fx->device, size_bytes, &memory, NULL) != TBK_OK)
      return false;
    bench->pinned = memory;
  }
  bench->uses_pinned = true;
  return true;
}

void bench_reset(tbk_fixture_t* fx, bench_t* bench) {
  (void)fx;
  memset(bench->after, 0xA5, used_bytes(bench));
  bench->cells_used = 0;
  bench->host_used = 0;
  bench->next_byte = 0;
}

void bench_upload(tbk_fixture_t* fx, bench_t* bench) {
  fx_upload(fx, bench->memory, bench->before, used_bytes(bench));
}

void bench_download(tbk_fixture_t* fx, bench_t* bench) {
  fx_download(fx, bench->after, bench->memory, used_bytes(bench));
}

uint64_t bench_cell(bench_t* bench) {
  SUITE_REQUIRE(bench->cells_used < bench->cells);
  return bench->cells_used++ * bench->cell_bytes;
}

const work_kind_t* bench_kind(const bench_t* bench, const char* name) {
  for (size_t i = 0; i < bench->kind_count; ++i) {
    if (strcmp(bench->kinds[i]->name, name) == 0) return bench->kinds[i];
  }
  return NULL;
}

/* -------------------------------------------------------------------------------- the work -- */

static void work_begin(bench_t* bench, work_t* work, const work_kind_t* kind) {
  *work = (work_t){.kind = kind, .bench = bench};
  work->host = host_cell(bench, host_memory(bench));
}

void work_write(tbk_fixture_t* fx, bench_t* bench, work_t* work, const work_kind_t* kind,
                uint64_t cell) {
  work_begin(bench, work, kind);
  work->target = cell;
  if (kind->flags & WORK_READS) {
    work->source = bench_cell(bench);
    work->expected = bench->before + work->source;
  }
  if (kind->prepare != NULL) kind->prepare(fx, bench, work);
}

void work_read(tbk_fixture_t* fx, bench_t* bench, work_t* work, const work_kind_t* kind,
               uint64_t cell) {
  work_begin(bench, work, kind);
  work->source = cell;
  work->expected = bench->before + cell;
  memset(work->host, 0, bench->cell_bytes);
  if (!(kind->flags & WORK_TO_HOST)) work->target = bench_cell(bench);
  if (kind->prepare != NULL) kind->prepare(fx, bench, work);
}

void work_chain(tbk_fixture_t* fx, bench_t* bench, work_t* work, const work_kind_t* kind,
                const work_t* first) {
  (void)fx;
  work_begin(bench, work, kind);
  memset(work->host, 0, bench->cell_bytes);
  work->host_source = first->host;
  work->expected = first->expected;
}

tbk_status_t work_enqueue(tbk_fixture_t* fx, work_t* work, tbk_stream_t* stream) {
  return work->kind->enqueue(fx, work, stream);
}

const uint8_t* work_result(const work_t* work) {
  return work->kind->flags & WORK_TO_HOST ? work->host : work->bench->after + work->target;
}
