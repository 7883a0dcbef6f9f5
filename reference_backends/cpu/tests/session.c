/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * session.c: what the tests of the generic kernels are made of.
 */
#include "session.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

const char* session_library;

uint64_t session_draw(uint64_t* state) {
  uint64_t value = *state += UINT64_C(0x9e3779b97f4a7c15);
  value = (value ^ (value >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  value = (value ^ (value >> 27)) * UINT64_C(0x94d049bb133111eb);
  return value ^ (value >> 31);
}

session_t session_open(const char* options) {
  typedef tbk_status_t (*entry_fn)(const tbk_host_t*, const tbk_backend_t**, tbk_error_t*);
  const tbk_host_t host = {
      .struct_size = sizeof host, .abi_version = TBK_ABI_VERSION, .options = options};
  session_t session = {0};
  void* library = dlopen(session_library, RTLD_NOW | RTLD_LOCAL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(library);
  entry_fn entry = (entry_fn)dlsym(library, TBK_ENTRY_SYMBOL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(entry);
  CU_ASSERT_EQUAL_FATAL(entry(&host, &session.backend, NULL), TBK_OK);
  session.self = session.backend->instance;
  CU_ASSERT_EQUAL_FATAL(session.backend->core->device_open(session.self, 0, NULL), TBK_OK);
  CU_ASSERT_EQUAL_FATAL(
      session.backend->stream->stream_create(session.self, 0, 0, &session.stream, NULL), TBK_OK);
  return session;
}

void session_close(session_t* session) {
  session->backend->stream->stream_destroy(session->self, session->stream);
  CU_ASSERT_EQUAL(session->backend->core->device_close(session->self, 0, NULL), TBK_OK);
  session->backend->core->destroy(session->self);
}

int64_t session_count(const session_tensor_t* tensor) {
  int64_t count = 1;
  for (int32_t d = 0; d < tensor->tensor.rank; d++)
    count *= tensor->sizes[d];
  return count;
}

session_tensor_t session_tensor(session_t* session, int32_t dtype, int32_t rank,
                                const int64_t* sizes, const int64_t* strides, uint64_t seed) {
  session_tensor_t made = {.tensor = {.struct_size = sizeof made.tensor, .dtype = dtype}};
  made.tensor.rank = rank;
  made.element_bytes = tbk_dtype_bytes(dtype);
  made.contiguous = true;
  int64_t step = 1, low = 0, high = 0;
  for (int32_t d = rank - 1; d >= 0; d--) {
    made.sizes[d] = sizes[d];
    made.strides[d] = strides ? strides[d] : step;
    made.contiguous = made.contiguous && made.strides[d] == step;
    step *= sizes[d];
    int64_t reach = sizes[d] ? (sizes[d] - 1) * made.strides[d] : 0;
    *(reach < 0 ? &low : &high) += reach;
  }
  made.tensor.offset = -low;
  made.bytes = (uint64_t)(high - low + 1) * (uint64_t)tbk_dtype_bytes(dtype);
  made.tensor.storage_bytes = made.bytes;
  made.host = calloc(1, made.bytes + 8);
  for (uint64_t i = 0; seed && i < made.bytes; i++)
    ((uint8_t*)made.host)[i] = (uint8_t)session_draw(&seed);
  CU_ASSERT_EQUAL_FATAL(
      session->backend->core->memory_alloc(session->self, 0, made.bytes, &made.tensor.memory, NULL),
      TBK_OK);
  session_upload(session, &made);
  return made;
}

void session_free(session_t* session, session_tensor_t* tensor) {
  CU_ASSERT_EQUAL(
      session->backend->core->memory_free(session->self, 0, tensor->tensor.memory, NULL), TBK_OK);
  free(tensor->host);
}

void session_upload(session_t* session, const session_tensor_t* tensor) {
  CU_ASSERT_EQUAL(session->backend->core->upload(session->self, 0, tensor->tensor.memory, 0,
                                                 tensor->host, tensor->bytes, NULL, NULL),
                  TBK_OK);
}

void session_download(session_t* session, session_tensor_t* tensor) {
  CU_ASSERT_EQUAL(
      session->backend->core->download(session->self, 0, tensor->host, tensor->tensor.memory, 0,
                                       tensor->bytes, NULL, NULL),
      TBK_OK);
}

void* session_element(const session_tensor_t* tensor, int64_t number) {
  int64_t at = tensor->tensor.offset;
  if (tensor->contiguous) return (char*)tensor->host + number * tensor->element_bytes;
  for (int32_t d = tensor->tensor.rank - 1; d >= 0; d--) {
    at += number % tensor->sizes[d] * tensor->strides[d];
    number /= tensor->sizes[d];
  }
  return (char*)tensor->host + at * tensor->element_bytes;
}

tbk_program_t* session_program(const char* text) {
  tbk_program_t* program = NULL;
  tbk_error_t error = {{0}};
  if (tbk_program_parse(text, &program, &error) != TBK_OK) {
    printf("%s\n%s\n", error.message, text);
    CU_FAIL_FATAL("a program of a test is not well formed");
  }
  return program;
}

/* Tensors are where they are: what the set has is pointers to them. */
static const tbk_tensor_t** point_at(session_tensor_t* const* tensors, const tbk_tensor_t** at) {
  for (size_t i = 0; tensors && tensors[i]; i++) {
    tensors[i]->tensor.sizes = tensors[i]->sizes;
    tensors[i]->tensor.strides = tensors[i]->strides;
    at[i] = &tensors[i]->tensor;
  }
  return at;
}

static void download_all(session_t* session, session_tensor_t* const* outputs) {
  for (size_t i = 0; outputs[i]; i++)
    session_download(session, outputs[i]);
}

static tbk_status_t launch(session_t* session, const char* name, const void* arguments,
                           session_tensor_t* const* outputs, bool again) {
  const tbk_kernel_t* kernel =
      session->backend->kernel->kernel_find(session->self, 0, name, TBK_VERSION_pointwise);
  CU_ASSERT_PTR_NOT_NULL_FATAL(kernel);
  tbk_error_t error = {{0}};
  tbk_status_t status = kernel->launch(session->self, 0, kernel, arguments, NULL, &error);
  if (status == TBK_OK) download_all(session, outputs);
  if (status != TBK_OK || !again) return status;
  tbk_plan_t* plan = NULL;
  uint64_t workspace = 0;
  CU_ASSERT_EQUAL(kernel->prepare(session->self, 0, kernel, arguments, &plan, &workspace, &error),
                  TBK_OK);
  CU_ASSERT_EQUAL(
      kernel->launch_plan(session->self, 0, plan, arguments, 0, 0, session->stream, &error),
      TBK_OK);
  CU_ASSERT_EQUAL(
      session->backend->stream->stream_synchronize(session->self, session->stream, NULL), TBK_OK);
  kernel->plan_destroy(session->self, plan);
  return TBK_OK;
}

tbk_status_t session_named(session_t* session, const char* name, const void* arguments,
                           session_tensor_t* output) {
  const tbk_kernel_t* kernel = session->backend->kernel->kernel_find(session->self, 0, name, 1);
  CU_ASSERT_PTR_NOT_NULL_FATAL(kernel);
  const tbk_status_t status = kernel->launch(session->self, 0, kernel, arguments, NULL, NULL);
  session_download(session, output);
  return status;
}

const tbk_tensor_t* session_point(session_tensor_t* tensor) {
  tensor->tensor.sizes = tensor->sizes;
  tensor->tensor.strides = tensor->strides;
  return &tensor->tensor;
}

static void compare_again(session_t* session, session_tensor_t* const* outputs) {
  for (size_t i = 0; outputs[i]; i++) {
    void* first = malloc(outputs[i]->bytes);
    memcpy(first, outputs[i]->host, outputs[i]->bytes);
    session_download(session, outputs[i]);
    CU_ASSERT_EQUAL(memcmp(first, outputs[i]->host, outputs[i]->bytes), 0);
    free(first);
  }
}

static tbk_status_t pointwise(session_t* session, const tbk_program_t* program,
                              session_tensor_t* const* outputs, session_tensor_t* const* inputs,
                              const uint64_t* numbers, bool again) {
  const tbk_tensor_t *out[SESSION_TENSORS], *in[SESSION_TENSORS];
  const tbk_operand_set_t set = {.struct_size = sizeof set,
                                 .outputs = point_at(outputs, out),
                                 .inputs = point_at(inputs, in),
                                 .numbers = numbers};
  const tbk_operand_set_t* sets[] = {&set};
  const tbk_args_pointwise_t arguments = {sizeof arguments, program, sets, 1, 64};
  tbk_status_t status = launch(session, TBK_NAME_pointwise, &arguments, outputs, again);
  if (status == TBK_OK && again) compare_again(session, outputs);
  return status;
}

tbk_status_t session_pointwise(session_t* session, const tbk_program_t* program,
                               session_tensor_t* const* outputs, session_tensor_t* const* inputs,
                               const uint64_t* numbers) {
  return pointwise(session, program, outputs, inputs, numbers, true);
}

tbk_status_t session_pointwise_once(session_t* session, const tbk_program_t* program,
                                    session_tensor_t* const* outputs,
                                    session_tensor_t* const* inputs, const uint64_t* numbers) {
  return pointwise(session, program, outputs, inputs, numbers, false);
}

tbk_status_t session_reduce(session_t* session, const tbk_reduction_t* reduction,
                            session_tensor_t* const* outputs, session_tensor_t* const* inputs,
                            const uint64_t* numbers, int32_t inner_rank,
                            const int64_t* inner_sizes) {
  const tbk_tensor_t *out[SESSION_TENSORS], *in[SESSION_TENSORS];
  const tbk_operand_set_t set = {.struct_size = sizeof set,
                                 .outputs = point_at(outputs, out),
                                 .inputs = point_at(inputs, in),
                                 .numbers = numbers,
                                 .inner_sizes = inner_sizes,
                                 .inner_rank = (uint64_t)inner_rank};
  const tbk_operand_set_t* sets[] = {&set};
  const tbk_args_reduce_t arguments = {sizeof arguments, reduction, sets, 1, 64};
  tbk_status_t status = launch(session, TBK_NAME_reduce, &arguments, outputs, true);
  if (status == TBK_OK) compare_again(session, outputs);
  return status;
}
