/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * session.h: the cpu backend, opened as a host opens it, and launches of programs given as texts.
 */
#ifndef TBK_CPU_SESSION_H
#define TBK_CPU_SESSION_H

#include <CUnit/CUnit.h>
#include <tbk/dtypes.h>
#include <tbk/program.h>
#include <tbk/tables.h>

enum { SESSION_RANK = 9, SESSION_TENSORS = 12 };

/* A tensor and its memory, which both sides keep. */
typedef struct session_tensor {
  tbk_tensor_t tensor;
  int64_t sizes[SESSION_RANK], strides[SESSION_RANK];
  int64_t element_bytes;
  bool contiguous;
  uint64_t bytes;
  void* host;
} session_tensor_t;

typedef struct session {
  const tbk_backend_t* backend;
  tbk_instance_t* self;
  tbk_stream_t* stream;
} session_t;

extern const char* session_library; /* the backend's file */

/* Opens device 0; ends the test where that fails. */
session_t session_open(const char* options);
void session_close(session_t* session);

/*
 * Makes a tensor of `dtype` with `rank` sizes; strides are of a contiguous one where NULL. Its memory is
 * as long as the strides reach, and filled with bytes drawn from `seed`, or zeros where it is 0.
 */
session_tensor_t session_tensor(session_t* session, int32_t dtype, int32_t rank,
                                const int64_t* sizes, const int64_t* strides, uint64_t seed);
void session_free(session_t* session, session_tensor_t* tensor);
void session_upload(session_t* session, const session_tensor_t* tensor);
void session_download(session_t* session, session_tensor_t* tensor);
/* Returns where the element with this number lies in the host's copy. */
void* session_element(const session_tensor_t* tensor, int64_t number);
int64_t session_count(const session_tensor_t* tensor);

tbk_program_t* session_program(const char* text);
/* Launches, once at once and once on the stream by a plan: both give the same, which is downloaded.
 * Lists end with NULL. */
tbk_status_t session_pointwise(session_t* session, const tbk_program_t* program,
                               session_tensor_t* const* outputs, session_tensor_t* const* inputs,
                               const uint64_t* numbers);
/* Launches at once, and no second time: for outputs that are inputs. */
tbk_status_t session_pointwise_once(session_t* session, const tbk_program_t* program,
                                    session_tensor_t* const* outputs,
                                    session_tensor_t* const* inputs, const uint64_t* numbers);
tbk_status_t session_reduce(session_t* session, const tbk_reduction_t* reduction,
                            session_tensor_t* const* outputs, session_tensor_t* const* inputs,
                            const uint64_t* numbers, int32_t inner_rank,
                            const int64_t* inner_sizes);

/* Launches a kernel that has a name and version 1, at once; its output is downloaded. */
tbk_status_t session_named(session_t* session, const char* name, const void* arguments,
                           session_tensor_t* output);
/* Returns the descriptor of a tensor, which stays where it is meanwhile. */
const tbk_tensor_t* session_point(session_tensor_t* tensor);

/* Returns the next of a row of numbers that look drawn by chance. */
uint64_t session_draw(uint64_t* state);

extern const CU_TestInfo cpu_pointwise_tests[], cpu_fuse_tests[], cpu_reduce_tests[],
    cpu_reduce_state_tests[], cpu_scan_tests[], cpu_opcode_tests[], cpu_cast_tests[],
    cpu_matmul_tests[];
extern const CU_TestInfo cpu_convolution_tests[], cpu_convolution_case_tests[], cpu_table_tests[],
    cpu_named_tests[], cpu_named_sum_tests[];

#endif /* TBK_CPU_SESSION_H */
