/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * anti_kernel.c: backends that obey every clause and are odd in what they compute.
 */
#include <stdlib.h>
#include <string.h>

#include "arguments.h"
#include "calls.h"

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

extern const mutant_t mutants_anti_kernel[];
const mutant_t mutants_anti_kernel[] = {
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
