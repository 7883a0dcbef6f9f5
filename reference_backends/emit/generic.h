/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * generic.h: what the files that write kernels from programs share.
 */
#ifndef EMIT_INSIDE_GENERIC_H
#define EMIT_INSIDE_GENERIC_H

#include <emit/generic.h>
#include <stdio.h>

/* How the elements of a pointer are found. */
typedef enum emit_access {
  EMIT_OUTER,  /* strides for the outer space */
  EMIT_BOTH,   /* strides for the outer space, then for the inner one */
  EMIT_INDEXED /* sizes, then strides, of each of its own dimensions */
} emit_access_t;

/* The pointers of a kernel, as the programs declare them. */
typedef struct emit_pointers {
  int32_t count;
  struct {
    uint16_t dtype;
    uint16_t rank; /* of an indexed one */
    emit_access_t access;
  } of[EMIT_POINTERS];
} emit_pointers_t;

/* Where the words of a launch stand. The one that is always 0 hides constants from compilers: HIDDEN. */
typedef struct emit_layout {
  int32_t sizes, inner_sizes, strides[EMIT_POINTERS], offsets, numbers, count;
} emit_layout_t;
enum { EMIT_WORD_COUNT = 0, EMIT_WORD_INNER = 1, EMIT_WORD_ZERO = 2, EMIT_WORD_SIZES = 3 };

void emit_add_pointer(emit_pointers_t* pointers, uint16_t dtype, uint16_t rank,
                      emit_access_t access);
void emit_add_inputs(emit_pointers_t* pointers, const tbk_program_t* program,
                     emit_access_t aligned);
void emit_lay_out(const emit_pointers_t* pointers, const emit_class_t* class, size_t number_count,
                  emit_layout_t* out);

/* launch.c: makes a launch of tensors, in the order of the pointers, and of a space. `has_coordinates` keeps
 * the dimensions as they are. */
typedef struct emit_space {
  const tbk_tensor_t* const* tensors;
  const int64_t *sizes, *inner_sizes;
  int32_t rank, inner_rank;
  int32_t output_count, most_words;
  bool has_coordinates, is_reduction, is_bound;
  int64_t index_bits;
  const uint64_t* numbers;
  size_t number_count;
  uint64_t hash; /* of the content */
} emit_space_t;
tbk_status_t emit_make_launch(const emit_pointers_t* pointers, const emit_space_t* space,
                              emit_launch_t* out, tbk_error_t* error);

/* Where a program stands in a kernel: what its values are called, and what it may name. */
typedef struct emit_scope {
  const emit_pointers_t* pointers;
  const emit_layout_t* layout;
  const emit_class_t* class;
  int32_t first_input;       /* the pointer that is its input 0 */
  char letter;               /* value 3 is "v3" */
  const char* linear;        /* the position, as source */
  const char* inner_letter;  /* of coordinates behind the outer ones; NULL where there are none */
  const char* parameters[2]; /* letters of the first and the second state: parameter 1 is "s1" */
  size_t state_count;
} emit_scope_t;

/* write.c: the values that results are made of, a line each, and the offsets of what is loaded. */
void emit_write_values(FILE* out, const tbk_program_t* program, const emit_scope_t* scope);
/* The type in which values of a dtype are held, and in which they are stored. */
const char* emit_value_type(uint16_t dtype);
const char* emit_stored_type(uint16_t dtype);
/* What is called of an element to have its value, and of a value to store it; "" for nothing. */
const char* emit_load_name(uint16_t dtype);
const char* emit_store_name(uint16_t dtype);
/* What ends the names of functions on values of a dtype: "i32", "f64". */
const char* emit_suffix(uint16_t dtype);
/* index.inc, sort.inc, matmul.inc and convolution.inc, which stand behind what they have to know. */
extern const char emit_index_kernel[];
extern const char emit_sort_kernel[];
extern const char emit_matmul_kernel[];
extern const char emit_convolution_kernel[];
/* Bits as a literal of a dtype. */
void emit_write_literal(FILE* out, uint16_t dtype, uint64_t bits);
/* Splits a position into coordinates: "o0", "o1", ... of the sizes that begin at a word. */
void emit_write_split(FILE* out, char letter, const char* position, int32_t rank, int32_t sizes);
/* The offset of a pointer that is found by coordinates alone: "a<pointer>". */
void emit_write_offset(FILE* out, const emit_scope_t* scope, int32_t pointer);
/* Stores the results at the outputs. */
void emit_write_stores(FILE* out, const tbk_program_t* program, const emit_scope_t* scope);
/* What stands before the kernel: its parameters. */
void emit_write_head(FILE* out, const emit_pointers_t* pointers, const emit_layout_t* layout,
                     const emit_class_t* class);

bool emit_program_has(const tbk_program_t* program, uint16_t opcode);
bool emit_program_has_double(const tbk_program_t* program);

#endif /* EMIT_INSIDE_GENERIC_H */
