/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "case.h"

#define SUITES(X)             \
  X(library)                  \
  X(device)                   \
  X(device_open)              \
  X(memory)                   \
  X(memory_free)              \
  X(memory_refusal)           \
  X(copy)                     \
  X(copy_refusal)             \
  X(copy_order)               \
  X(copy_thread)              \
  X(stream)                   \
  X(event)                    \
  X(callback)                 \
  X(callback_pending)         \
  X(pinned)                   \
  X(peer)                     \
  X(async_memory)             \
  X(async_free)               \
  X(kernel)                   \
  X(kernel_plan)              \
  X(kernel_values)            \
  X(kernel_shapes)            \
  X(kernel_convert)           \
  X(kernel_order)             \
  X(kernel_place)             \
  X(kernel_plan_order)        \
  X(kernel_refusal)           \
  X(random)                   \
  X(random_words)             \
  X(error)                    \
  X(fault)                    \
  X(fault_after)              \
  X(thread)                   \
  X(thread_relay)             \
  X(thread_stream)            \
  X(thread_wait)              \
  X(fork)                     \
  X(teardown)                 \
  X(teardown_closed)          \
  X(teardown_exit)            \
  X(capability)               \
  X(sweep_transfer)           \
  X(sweep_extent)             \
  X(sweep_far)                \
  X(sweep_kernel)             \
  X(sweep_operand)            \
  X(sweep_order)              \
  X(sweep_queue)              \
  X(sweep_lost)               \
  X(sweep_memory)             \
  X(sweep_hole)               \
  X(sweep_freed)              \
  X(sweep_held_free)          \
  X(sweep_account)            \
  X(sweep_books)              \
  X(sweep_exchange)           \
  X(sweep_instances)          \
  X(sweep_options)            \
  X(sweep_whole)              \
  X(sweep_race)               \
  X(sweep_time)               \
  X(sweep_random)             \
  X(sweep_peer)               \
  X(sweep_meeting)            \
  X(sweep_reopened)           \
  X(sweep_call)               \
  X(sweep_refusal)            \
  X(sweep_state)              \
  X(sweep_source)             \
  X(sweep_find)               \
  X(sweep_objects)            \
  X(program)                  \
  X(program_opcode)           \
  X(program_reduce)           \
  X(program_refusal)          \
  X(program_index)            \
  X(program_index_edge)       \
  X(program_scan)             \
  X(program_sort)             \
  X(program_sort_edge)        \
  X(program_convolution)      \
  X(program_convolution_edge) \
  X(program_matmul)           \
  X(program_matmul_edge)      \
  X(program_beside)           \
  X(program_layout)

#define DECLARE(name) extern const tbk_suite_t tbk_suite_##name;
SUITES(DECLARE)

#define ENTRY(name) &tbk_suite_##name,
const tbk_suite_t* const tbk_suites[] = {SUITES(ENTRY) NULL};
