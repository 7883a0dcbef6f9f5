/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * generic_call.h: the calls that jobs of all generic kernels make: a launch, on a stream or not, or by a plan
 * that was made for operands without memory.
 */
#ifndef TBK_CONTRACTS_GENERIC_CALL_H
#define TBK_CONTRACTS_GENERIC_CALL_H

#include "fixture.h"
#include "tensor.h"

typedef enum job_how {
  JOB_NULL = 0, /* launched without a stream */
  JOB_STREAM,   /* on a stream */
  JOB_PLAN,     /* by a plan, where the kernel makes plans; made for operands without memory */
  JOB_TWICE     /* by a plan that was launched before, with other numbers, where `again` is given */
} job_how_t;

/* What a kind of jobs lends. */
typedef struct generic_call {
  const tbk_kernel_t* kernel;
  void* job;
  job_how_t how;
  void*
      wire; /* all that goes to the backend, arguments first: overwritten once a call has returned */
  size_t wire_bytes;
  void (*describe)(void* job); /* writes the wire afresh */
  void (*blank)(void* job);    /* takes memory, and values of numbers, out of it */
  /* A launch of the plan before the one that counts: changes the wire; then makes operands ready again. */
  void (*vary)(void* job);
  void (*again)(tbk_fixture_t* fx, void* job);
  bool
      plan_refused; /* a plan was asked for; prepare refused, as it may, and the kernel was launched */
  bool is_planned; /* a plan was launched */
  /* No plan was made of operands without memory, and one where they have some. */
  bool is_blank_refused;
} generic_call_t;

/* Returns the kernel of this name; NULL where it is not offered. */
const tbk_kernel_t* generic_kernel(const tbk_fixture_t* fx, const char* name, uint32_t version);
/* Calls the kernel's launch with the wire as it is. */
tbk_status_t generic_launch(tbk_fixture_t* fx, const generic_call_t* call, tbk_stream_t* stream);
/* Returns whether the device does not declare dtype or rank of one of these operands; NULL is none. */
#define GENERIC_LACKS(fx, ...)                                    \
  generic_lacks((fx), (const tbk_tensor_t* const[]){__VA_ARGS__}, \
                sizeof((const tbk_tensor_t* const[]){__VA_ARGS__}) / sizeof(tbk_tensor_t*))
bool generic_lacks(const tbk_fixture_t* fx, const tbk_tensor_t* const operands[], size_t count);
/* CHECKs that what does not fit is refused: as INVALID, or for what the device lacks. */
#define CHECK_NO_FIT(lacks, call) generic_check_no_fit(fx, (lacks), (call), TBK_HERE(#call))
bool generic_check_no_fit(tbk_fixture_t* fx, bool lacks, tbk_status_t seen, tbk_here_t here);
/* Describes the job and runs it to its end as `how` says. */
tbk_status_t generic_run(tbk_fixture_t* fx, generic_call_t* call);

/* Returns the clause that a status other than OK breaks; `of_forms`: that no form is refused. NULL: the test's. */
const char* generic_clause_of(const generic_call_t* call, tbk_status_t status,
                              const char* of_forms);

/* For a job that is tried once more, to say what is wrong: false where the device refuses; no answer of it ends
 * the test, and no call is noted as the test's. Uploads a block. */
bool generic_put_back(tbk_fixture_t* fx, const tensor_t* operand, const uint8_t* content);
/* Describes the job, launches it in the plainest way, and downloads the block of what is written. */
bool generic_try_again(tbk_fixture_t* fx, const generic_call_t* call, const tensor_t* written,
                       uint8_t* seen);

/* For plans that a test makes and launches itself. The plan is the caller's where the status is OK. */
typedef struct generic_plan {
  tbk_plan_t* plan;
  tbk_memory_t workspace;
  uint64_t workspace_bytes;
  uint64_t workspace_offset; /* 0 from generic_prepare */
} generic_plan_t;
tbk_status_t generic_prepare(tbk_fixture_t* fx, const generic_call_t* call, generic_plan_t* out);
tbk_status_t generic_launch_plan(tbk_fixture_t* fx, const generic_call_t* call,
                                 const generic_plan_t* plan);

#endif /* TBK_CONTRACTS_GENERIC_CALL_H */
