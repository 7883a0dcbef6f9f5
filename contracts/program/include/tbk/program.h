/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * program.h: what hosts and backends alike need of programs: whether one is well formed, its text, and
 * its bytes; and of calls of the generic kernels. The library tbk::program; it knows no device.
 *
 * Threads: any, each call by itself. No function keeps what it is given.
 */
#ifndef TBK_PROGRAM_H
#define TBK_PROGRAM_H

#include <stdbool.h>
#include <tbk/tbk_convolution.h>
#include <tbk/tbk_index.h>
#include <tbk/tbk_matmul.h>
#include <tbk/tbk_scan.h>
#include <tbk/tbk_sort.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Returns OK where the program is well formed: within the limits, of known opcodes and dtypes, each
 * operand an earlier value of the dtype that the opcode takes, each slot declared, all unused members 0.
 * Reads nothing beyond the counts that it has found to be within the limits.
 * Errors: INVALID; the message names the first instruction that is wrong, and what is wrong with it.
 */
tbk_status_t tbk_program_check(const tbk_program_t* program, tbk_error_t* error);
/* The same for a reduction: its three programs, and that their states agree. */
tbk_status_t tbk_reduction_check(const tbk_reduction_t* reduction, tbk_error_t* error);
/*
 * Returns OK where the sets of a launch are as the program says: there, dtypes, ranks and sizes, bits
 * of numbers, and index_bits wide enough. Handles and the extent of storages are not looked at, so that
 * `prepare` can call it.
 * Requires: a program that has been checked.
 * Errors: INVALID; the message names the set and the tensor.
 */
tbk_status_t tbk_pointwise_check(const tbk_args_pointwise_t* arguments, tbk_error_t* error);
tbk_status_t tbk_reduce_check(const tbk_args_reduce_t* arguments, tbk_error_t* error);
/*
 * Returns OK where a call of tbk::index is well formed: modes and flags that there are, one dtype, each index
 * of the space's sizes and named, the space within the table where it names dimensions, and index_bits
 * wide enough. Handles and the extent of storages are not looked at, nor what the indices are.
 * Errors: INVALID; the message names the tensor.
 */
tbk_status_t tbk_index_check(const tbk_args_index_t* arguments, tbk_error_t* error);
/*
 * Returns OK where a call of tbk::sort is well formed: one dtype, a dimension to sort, values and indices of the
 * same sizes, no longer than a segment, and index_bits wide enough. Handles and the extent of storages are not
 * looked at.
 * Errors: INVALID; the message names the tensor.
 */
tbk_status_t tbk_sort_check(const tbk_args_sort_t* arguments, tbk_error_t* error);
/*
 * The same as tbk_reduce_check, for tbk::scan. Requires: a reduction that has been checked.
 */
tbk_status_t tbk_scan_check(const tbk_args_scan_t* arguments, tbk_error_t* error);
/*
 * Returns OK where a call of tbk::matmul is well formed: one dtype that it has, matrices whose sizes fit in one
 * batch, scalars of the dtype's kind, and index_bits wide enough. Handles and the extent of storages are not
 * looked at.
 * Errors: INVALID; the message names the tensor.
 */
tbk_status_t tbk_matmul_check(const tbk_args_matmul_t* arguments, tbk_error_t* error);
/*
 * Returns OK where a call of tbk::convolution is well formed: a mode that there is, one dtype, channels and groups
 * that come to each other, a bias for each channel, and index_bits wide enough. Handles and the extent of
 * storages are not looked at.
 * Errors: INVALID; the message names the tensor or the dimension.
 */
tbk_status_t tbk_convolution_check(const tbk_args_convolution_t* arguments, tbk_error_t* error);

/*
 * Returns a hash of the content: equal programs have equal ones, in every process and on every machine.
 * Where operands lie in their array is no content. Requires: a checked program.
 */
uint64_t tbk_program_hash(const tbk_program_t* program);
uint64_t tbk_reduction_hash(const tbk_reduction_t* reduction);
/* Returns whether two have the same content. Requires: checked programs. */
bool tbk_program_equal(const tbk_program_t* one, const tbk_program_t* other);
bool tbk_reduction_equal(const tbk_reduction_t* one, const tbk_reduction_t* other);

/* Returns a copy in one block, which refers to nothing else and which free() gives back; NULL where
 * there is no memory. Requires: what has been checked. */
tbk_program_t* tbk_program_copy(const tbk_program_t* program);
tbk_reduction_t* tbk_reduction_copy(const tbk_reduction_t* reduction);

/* Returns the name of an opcode in texts, such as "ADD"; NULL where there is no such opcode. */
const char* tbk_opcode_name(uint16_t opcode);

/*
 * Writes the text of a program, one line each for inputs, numbers, parameters, instructions and results,
 * with a terminating NUL, as far as `capacity` goes; returns the length of all of it.
 * Requires: a checked program.
 */
size_t tbk_program_print(const tbk_program_t* program, char* out, size_t capacity);
/*
 * Makes a program of text or bytes, in one block that free() gives back; *out_program is NULL on error.
 * What it makes has been checked.
 * Errors: INVALID, the message says in which line or at which byte; OUT_OF_MEMORY.
 */
tbk_status_t tbk_program_parse(const char* text, tbk_program_t** out_program, tbk_error_t* error);
tbk_status_t tbk_program_read(const void* bytes, size_t size_bytes, tbk_program_t** out_program,
                              tbk_error_t* error);
/* Writes the bytes of a checked program, little-endian, as far as `capacity` goes; returns how many
 * there are. */
size_t tbk_program_write(const tbk_program_t* program, void* out, size_t capacity);

#ifdef __cplusplus
}
#endif

#endif /* TBK_PROGRAM_H */
