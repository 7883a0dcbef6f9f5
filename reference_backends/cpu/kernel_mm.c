/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * kernel_mm.c: mm, as a product of tbk::matmul, or four of the parts of complex numbers. An output that is an input goes
 * through the workspace.
 */
#include "matmul.h"

enum { OUT, A, B, ALIGNMENT = 64 };

/* The same elements, row by row at `data`. */
static cpu_view_t packed(const cpu_view_t* view, char* data) {
  cpu_view_t result = *view;
  result.data = data;
  result.strides[0] = view->sizes[1] * view->element_bytes;
  result.strides[1] = view->element_bytes;
  return result;
}

static uint64_t packed_bytes(const cpu_view_t* view) {
  const uint64_t bytes = (uint64_t)(view->count * view->element_bytes);
  return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* `from` has rows without gaps. Elements of 16 bytes are two words. */
static void unpack(const cpu_view_t* to, const cpu_view_t* from) {
  const int64_t bytes = to->element_bytes;
  for (int64_t i = 0; i < to->sizes[0]; i++) {
    char* row = to->data + i * to->strides[0];
    const char* source = from->data + i * from->strides[0];
    if (cpu_is_word(bytes))
      cpu_row_store(row, source, to->strides[1], to->sizes[1], bytes);
    else
      for (int64_t half = 0; half < 2; half++)
        cpu_row_copy(row + half * 8, to->strides[1], source + half * 8, bytes, to->sizes[1], 8);
  }
}

/* --------------------------------------------------------------------------------- products -- */

static cpu_plane_t plane(const cpu_view_t* view) {
  return (cpu_plane_t){view->data, view->strides[0], view->strides[1]};
}

/* out = sign * a * b, and what stands in `out` already where it `adds`. */
static cpu_product_t product_of(const cpu_view_t* out, const cpu_view_t* a, const cpu_view_t* b,
                                int sign, bool adds) {
  const tbk_kind_t kind = tbk_dtype_kind(out->dtype);
  cpu_product_t p = {.dtype = out->dtype,
                     .computed = cpu_summed_in(out->dtype),
                     .bytes = out->element_bytes,
                     .m = out->sizes[0],
                     .n = out->sizes[1],
                     .k = a->sizes[1],
                     .a = plane(a),
                     .b = plane(b),
                     .out = plane(out),
                     .alpha = {.kind = kind, .integer = sign, .real = sign}};
  p.has_c = adds;
  if (adds) p.c = p.out;
  p.beta = (cpu_number_t){.kind = kind, .integer = adds, .real = adds};
  cpu_product_plan(&p);
  return p;
}

static bool is_complex(const cpu_view_t* view) {
  return tbk_dtype_kind(view->dtype) == TBK_KIND_COMPLEX;
}

/* The real (0) or imaginary (1) parts. */
static cpu_view_t part(const cpu_view_t* view, int which) {
  cpu_view_t result = *view;
  result.dtype = view->dtype == TBK_COMPLEX64 ? TBK_FLOAT32 : TBK_FLOAT64;
  result.element_bytes /= 2;
  if (view->data) result.data += which * result.element_bytes;
  return result;
}

/* A complex product is four of its parts. */
static const struct {
  int out, a, b, sign;
  bool adds;
} parts[] = {{0, 0, 0, 1, false}, {0, 1, 1, -1, true}, {1, 0, 1, 1, false}, {1, 1, 0, 1, true}};
enum { PARTS = sizeof parts / sizeof *parts };

static cpu_product_t product_of_parts(const cpu_view_t* out, const cpu_view_t* a,
                                      const cpu_view_t* b, int i) {
  const cpu_view_t out_part = part(out, parts[i].out);
  const cpu_view_t a_part = part(a, parts[i].a), b_part = part(b, parts[i].b);
  return product_of(&out_part, &a_part, &b_part, parts[i].sign, parts[i].adds);
}

static void multiply(const cpu_view_t* out, const cpu_view_t* a, const cpu_view_t* b,
                     char* workspace) {
  const int products = is_complex(out) ? PARTS : 1;
  for (int i = 0; i < products; i++) {
    const cpu_product_t p =
        is_complex(out) ? product_of_parts(out, a, b, i) : product_of(out, a, b, 1, false);
    cpu_product_compute(&p, workspace);
  }
}

static void compute(const cpu_job_t* job) {
  cpu_view_t out = job->operands[OUT];
  if (out.count == 0) return;
  char* workspace = job->workspace;
  if (workspace) workspace += -(uintptr_t)workspace % ALIGNMENT;
  if (job->pack) {
    out = packed(&job->operands[OUT], workspace);
    workspace += packed_bytes(&out);
  }
  multiply(&out, &job->operands[A], &job->operands[B], workspace);
  if (job->pack) unpack(&job->operands[OUT], &out);
}

/* Returns whether the output is this input; without memory, whether it could be. */
static bool may_be(const cpu_view_t* out, const cpu_view_t* in, bool resolved) {
  if (resolved) return out->data == in->data && out->data;
  return out->sizes[0] == in->sizes[0] && out->sizes[1] == in->sizes[1];
}

static uint64_t workspace_bytes(const cpu_job_t* job, bool pack) {
  const cpu_view_t *a = &job->operands[A], *b = &job->operands[B];
  cpu_view_t out = job->operands[OUT];
  const uint64_t before = pack ? packed_bytes(&out) : 0;
  if (pack) out = packed(&out, NULL);
  uint64_t most = 0;
  for (int i = 0; i < (is_complex(&out) ? PARTS : 1); i++) {
    const cpu_product_t p =
        is_complex(&out) ? product_of_parts(&out, a, b, i) : product_of(&out, a, b, 1, false);
    const uint64_t bytes = cpu_product_bytes(&p);
    if (bytes > most) most = bytes;
  }
  return before + most > 0 ? before + most + ALIGNMENT : 0;
}

/* Without memory: what it takes at most. */
static void plan_workspace(cpu_job_t* job, bool resolved) {
  const cpu_view_t* out = &job->operands[OUT];
  job->pack = may_be(out, &job->operands[A], resolved) || may_be(out, &job->operands[B], resolved);
  job->workspace_bytes = workspace_bytes(job, job->pack);
  if (resolved) return;
  const uint64_t unpacked = workspace_bytes(job, false);
  if (unpacked > job->workspace_bytes) job->workspace_bytes = unpacked;
}

tbk_status_t cpu_build_mm(vdev_arena_t* arena, const void* arguments, cpu_job_t* job,
                          tbk_error_t* error) {
  const tbk_args_mm_t* args = arguments;
  job->compute = compute;
  tbk_status_t status = cpu_add_output(arena, args->out, job, error);
  if (status == TBK_OK) status = cpu_add_operand(arena, args->self, job, error);
  if (status == TBK_OK) status = cpu_add_operand(arena, args->mat2, job, error);
  if (status != TBK_OK) return status;
  const cpu_view_t *c = &job->operands[OUT], *a = &job->operands[A], *b = &job->operands[B];
  if (c->rank != 2 || a->rank != 2 || b->rank != 2 || a->sizes[1] != b->sizes[0] ||
      c->sizes[0] != a->sizes[0] || c->sizes[1] != b->sizes[1])
    return cpu_fail(TBK_UNSUPPORTED, error, "not two matrices and their product");
  status = cpu_want_dtype(a, c->dtype, error);
  if (status == TBK_OK) status = cpu_want_dtype(b, c->dtype, error);
  if (status == TBK_OK) plan_workspace(job, arena != NULL);
  return status;
}
