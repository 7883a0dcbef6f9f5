/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * recipe.c: a struct of arguments becomes what phase one takes.
 */
#include <string.h>

#include "operation.h"

/* What a letter takes of the struct: 8 bytes that are the value, or a pointer to it; or a number or a list, whole. */
typedef enum member { NOTHING, VALUE, POINTER, NEEDED, NUMBER, LIST } member_t;

static const size_t member_bytes[] = {
    [NOTHING] = 0,
    [VALUE] = sizeof(int64_t),
    [POINTER] = sizeof(void*),
    [NEEDED] = sizeof(void*),
    [NUMBER] = sizeof(tbk_scalar_t),
    [LIST] = sizeof(tbk_int_list_t),
};

tbk_status_t npu_refuse(const npu_call_t* call, const char* reason) {
  return npu_fail(call->error, TBK_UNSUPPORTED, "aclnn%s: %s", npu_aclnn_row(call->function)->name,
                  reason);
}

static tbk_status_t push(npu_call_t* call, aclnn_word_t word) {
  call->words[call->word_count++] = word;
  return TBK_OK;
}

static tbk_status_t keep(npu_call_t* call, const void* handle, acl_result (*destroy)(const void*)) {
  if (handle == NULL) return npu_refuse(call, "an operand that cannot be described");
  call->descriptors[call->descriptor_count++] = (npu_descriptor_t){destroy, handle};
  return push(call, (aclnn_word_t){.p = (void*)(uintptr_t)handle});
}

/* Each adds the argument for a value of the struct, which may be NULL. */
static tbk_status_t add_tensor(npu_call_t* call, const void* value) {
  (void)value;
  const int at = call->next_view++;
  if (call->absent[at]) return push(call, (aclnn_word_t){.p = NULL});
  const emit_view_t own = npu_view(call, at);
  return keep(call, npu_describe_view(&own), npu_nn()->destroy_tensor);
}

/* A list takes its members over; those of one that was not made are destroyed. */
static tbk_status_t add_list(npu_call_t* call, const void* value) {
  const acl_tensor* items[ACLNN_TENSORS] = {NULL};
  const size_t count = ((const tbk_tensor_list_t*)value)->count;
  size_t made = 0;
  for (bool well = true; made < count && well; made += well) {
    const emit_view_t own = npu_view(call, call->next_view + (int)made);
    items[made] = npu_describe_view(&own);
    well = items[made] != NULL;
  }
  call->next_view += (int)count;
  const acl_list* list = made == count ? npu_nn()->create_list(items, count) : NULL;
  for (size_t i = 0; i < made && list == NULL; i++)
    (void)npu_nn()->destroy_tensor(items[i]);
  return keep(call, list, npu_nn()->destroy_list);
}

/* As Ascend/op-plugin makes them (O op_api_common.cpp:972). */
static tbk_status_t add_number(npu_call_t* call, const void* value) {
  static const int dtypes[] = {[TBK_SCALAR_INT] = ACL_INT64,
                               [TBK_SCALAR_DOUBLE] = ACL_FLOAT64,
                               [TBK_SCALAR_BOOL] = ACL_BOOL,
                               [TBK_SCALAR_COMPLEX] = ACL_COMPLEX128};
  if (value == NULL) return push(call, (aclnn_word_t){.p = NULL});
  tbk_scalar_t scalar = *(const tbk_scalar_t*)value;
  double real[2] = {scalar.real, scalar.imaginary};
  bool boolean = scalar.integer != 0;
  void* own = scalar.kind == TBK_SCALAR_INT    ? (void*)&scalar.integer
              : scalar.kind == TBK_SCALAR_BOOL ? (void*)&boolean
                                               : (void*)real;
  return keep(call, npu_nn()->create_scalar(own, dtypes[scalar.kind]), npu_nn()->destroy_scalar);
}

static tbk_status_t add_whole_number(npu_call_t* call, const void* value) {
  const tbk_scalar_t scalar = {.kind = TBK_SCALAR_INT, .integer = *(const int64_t*)value};
  return add_number(call, &scalar);
}

/* An integer of any width, as the emitter stored it. */
static int64_t integer_of(const emit_job_t* job) {
  const bool is_signed = job->operands[0].dtype != TBK_UINT8;
  const unsigned unused = 64 - 8 * (unsigned)job->scalar_bytes;
  uint64_t bits = 0;
  memcpy(&bits, job->scalar, job->scalar_bytes); /* little-endian */
  return is_signed ? (int64_t)(bits << unused) >> unused : (int64_t)bits;
}

/* The operator converts numbers, but what an integer dtype cannot hold is converted here, as C does. */
static tbk_status_t add_converted(npu_call_t* call, const void* value) {
  const tbk_scalar_t* given = value;
  const bool whole = given->kind == TBK_SCALAR_INT || given->kind == TBK_SCALAR_BOOL;
  tbk_scalar_t scalar = {.kind = TBK_SCALAR_DOUBLE,
                         .real = whole ? (double)given->integer : given->real,
                         .imaginary = given->kind == TBK_SCALAR_COMPLEX ? given->imaginary : 0};
  switch (call->job.operands[0].dtype) {
    case TBK_COMPLEX64:
    case TBK_COMPLEX128:
      scalar.kind = TBK_SCALAR_COMPLEX;
      break;
    case TBK_FLOAT16:
    case TBK_BFLOAT16:
    case TBK_FLOAT32:
    case TBK_FLOAT64:
      break;
    default:
      scalar.kind = call->job.operands[0].dtype == TBK_BOOL ? TBK_SCALAR_BOOL : TBK_SCALAR_INT;
      scalar.integer = integer_of(&call->job);
  }
  return add_number(call, &scalar);
}

static tbk_status_t add_ints(npu_call_t* call, const void* value) {
  const tbk_int_list_t* list = value;
  return keep(call, npu_nn()->create_ints(list->items, list->count), npu_nn()->destroy_ints);
}

/* Dimensions are of the first tensor. */
static tbk_status_t add_dims(npu_call_t* call, const void* value) {
  int64_t dims[EMIT_MAX_RANK] = {0};
  const tbk_int_list_t* list = value;
  const int32_t rank = call->views[0].rank;
  const bool named = list != NULL && list->count > 0;
  const size_t count = named && rank > 0 ? list->count : (size_t)rank;
  if (count > EMIT_MAX_RANK) return npu_refuse(call, "more than 8 dimensions");
  for (size_t i = 0; i < count; i++) {
    dims[i] = named ? list->items[i] : (int64_t)i;
    if (dims[i] < 0) dims[i] += rank;
  }
  return add_ints(call, &(tbk_int_list_t){dims, count});
}

static tbk_status_t add_dim(npu_call_t* call, const void* value) {
  const tbk_int_list_t one = {value, 1};
  return add_dims(call, value != NULL ? &one : NULL);
}

/* Whole and real numbers and texts, which are 8 bytes of a word; and zeros of all classes. */
static tbk_status_t add_word(npu_call_t* call, const void* value) {
  aclnn_word_t word = {.i = 0};
  if (value != NULL) memcpy(&word, value, sizeof word);
  return push(call, word);
}

static tbk_status_t add_real(npu_call_t* call, const void* value) {
  static const double absent = -1;
  return add_word(call, value != NULL ? value : &absent);
}

static tbk_status_t add_truth(npu_call_t* call, const void* value) {
  return push(call, (aclnn_word_t){.b = value != NULL && *(const int64_t*)value != 0});
}

static tbk_status_t add_false(npu_call_t* call, const void* value) {
  if (*(const int64_t*)value != 0) return npu_refuse(call, "an option that it has not");
  return add_truth(call, value);
}

static tbk_status_t add_correction(npu_call_t* call, const void* value) {
  const tbk_scalar_t* scalar = value;
  const bool is_real = scalar != NULL && scalar->kind == TBK_SCALAR_DOUBLE;
  if (is_real) return push(call, (aclnn_word_t){.i = (int64_t)scalar->real});
  return push(call, (aclnn_word_t){.i = scalar != NULL ? scalar->integer : 1});
}

static tbk_status_t add_rounding(npu_call_t* call, const void* value) {
  enum { TRUE_QUOTIENT, TRUNC, FLOOR };
  const int named = value != NULL && strcmp(value, "trunc") == 0 ? TRUNC : FLOOR;
  return push(call, (aclnn_word_t){.n = value != NULL ? named : TRUE_QUOTIENT});
}

static tbk_status_t add_approximation(npu_call_t* call, const void* value) {
  return push(call, (aclnn_word_t){.i = value != NULL && strcmp(value, "tanh") == 0});
}

static tbk_status_t add_dtype(npu_call_t* call, const void* value) {
  int output = 0;
  (void)value;
  while (!call->written[output] || call->absent[output])
    output++;
  return push(call, (aclnn_word_t){.n = npu_acl_dtype(call->views[output].dtype)});
}

static tbk_status_t exchange(npu_call_t* call, const void* value) {
  aclnn_word_t* last = &call->words[call->word_count - 1];
  const aclnn_word_t word = last[0];
  (void)value;
  last[0] = last[-1];
  last[-1] = word;
  return TBK_OK;
}

static tbk_status_t refuse_it(npu_call_t* call, const void* value) {
  return value == NULL ? TBK_OK : npu_refuse(call, "an option that it has not");
}

typedef struct letter {
  char letter;
  member_t member;
  int arguments;                                            /* so many it gives */
  tbk_status_t (*add)(npu_call_t* call, const void* value); /* NULL: left out */
} letter_t;

static const letter_t* letter_of(char letter) {
  static const letter_t letters[] = {
      {'t', NEEDED, 1, add_tensor},
      {'q', POINTER, 1, add_tensor},
      {'o', POINTER, 1, add_tensor},
      {'T', LIST, 1, add_list},
      {'O', LIST, 1, add_list},
      {'s', NUMBER, 1, add_number},
      {'S', POINTER, 1, add_number},
      {'v', NUMBER, 1, add_converted},
      {'J', VALUE, 1, add_whole_number},
      {'l', LIST, 1, add_ints},
      {'k', LIST, 1, add_dims},
      {'L', POINTER, 1, add_dims},
      {'A', NOTHING, 1, add_dims},
      {'I', VALUE, 1, add_dim},
      {'X', POINTER, 1, add_dim},
      {'i', VALUE, 1, add_word},
      {'x', NEEDED, 1, add_word},
      {'0', NOTHING, 1, add_word},
      {'F', NOTHING, 1, add_word},
      {'c', NOTHING, 1, add_word},
      {'d', VALUE, 1, add_word},
      {'e', POINTER, 1, add_real},
      {'b', VALUE, 1, add_truth},
      {'B', POINTER, 1, add_truth},
      {'z', VALUE, 1, add_false},
      {'C', POINTER, 1, add_correction},
      {'m', POINTER, 1, add_rounding},
      {'g', POINTER, 1, add_approximation},
      {'Z', VALUE, 1, add_word},
      {'y', VALUE, 1, add_dtype},
      {'%', NOTHING, 0, exchange},
      {'N', POINTER, 0, refuse_it},
      {'-', VALUE, 0, NULL},
  };
  const letter_t* row = letters;
  while (row->letter != letter)
    row++;
  return row;
}

static const char* recipe_of(const npu_row_t* row) {
  return row->recipe != NULL ? row->recipe : npu_aclnn_row(npu_function_of(row))->arguments;
}

bool npu_recipe_fits(const npu_row_t* row) {
  size_t bytes = sizeof(size_t), count = 0;
  for (const char* at = recipe_of(row); *at != '\0'; at++) {
    bytes += member_bytes[letter_of(*at)->member];
    count += (size_t)letter_of(*at)->arguments;
  }
  return bytes == row->arguments_bytes &&
         count == strlen(npu_aclnn_row(npu_function_of(row))->arguments);
}

/* --------------------------------------------------------------------------------- of the struct -- */

/* Where the value of a member is; NULL where it is absent, or a call has no struct. */
static const void* value_of(const npu_call_t* call, const letter_t* letter, size_t offset) {
  const char* member = call->arguments + offset;
  const void* pointer = NULL;
  if (call->arguments == NULL || letter->member == NOTHING) return NULL;
  if (letter->member != POINTER && letter->member != NEEDED) return member;
  memcpy(&pointer, member, sizeof pointer);
  return pointer;
}

static tbk_status_t read_tensor(npu_call_t* call, const tbk_tensor_t* tensor, bool written) {
  if (call->view_count == ACLNN_TENSORS) return npu_refuse(call, "too many tensors");
  emit_view_t* view = &call->views[call->view_count];
  call->written[call->view_count] = written;
  call->absent[call->view_count++] = tensor == NULL;
  return tensor != NULL ? emit_describe(tensor, false, view, call->error) : TBK_OK;
}

static tbk_status_t read_list(npu_call_t* call, const tbk_tensor_list_t* list, bool written) {
  tbk_status_t status = TBK_OK;
  for (size_t i = 0; i < list->count && status == TBK_OK; i++)
    status = list->items[i] != NULL ? read_tensor(call, list->items[i], written)
                                    : npu_refuse(call, "a list with an absent tensor");
  return status;
}

/* The first tensor is there, in all recipes. */
static tbk_status_t check_views(const npu_call_t* call, uint32_t dtypes) {
  const int complex = 1 << TBK_COMPLEX64 | 1 << TBK_COMPLEX128;
  for (int i = 0; i < call->view_count; i++)
    if (!call->absent[i] && (1 << call->views[i].dtype & complex) != 0)
      return npu_refuse(call, "complex numbers");
  if (call->view_count > 0 && (dtypes >> call->views[0].dtype & 1) == 0)
    return npu_refuse(call, "not for this dtype");
  return TBK_OK;
}

tbk_status_t npu_read(npu_call_t* call, const npu_row_t* row) {
  size_t offset = sizeof(size_t);
  tbk_status_t status = TBK_OK;
  call->function = npu_function_of(row);
  call->recipe = recipe_of(row);
  for (const char* at = call->recipe; *at != '\0' && status == TBK_OK; at++) {
    const letter_t* letter = letter_of(*at);
    const void* value = value_of(call, letter, offset);
    const bool written = *at == 'o' || *at == 'O';
    if (letter->member == NEEDED && value == NULL)
      status = npu_refuse(call, "an absent argument");
    else if (letter->add == add_tensor)
      status = read_tensor(call, value, written);
    else if (letter->add == add_list)
      status = read_list(call, value, written);
    offset += member_bytes[letter->member];
  }
  return status == TBK_OK && row->checked == NULL ? check_views(call, row->dtypes) : status;
}

tbk_status_t npu_build(npu_call_t* call) {
  size_t offset = sizeof(size_t);
  tbk_status_t status = TBK_OK;
  for (const char* at = call->recipe; *at != '\0' && status == TBK_OK; at++) {
    const letter_t* letter = letter_of(*at);
    if (letter->add != NULL) status = letter->add(call, value_of(call, letter, offset));
    offset += member_bytes[letter->member];
  }
  return status;
}

void npu_release(npu_call_t* call) {
  while (call->descriptor_count > 0) {
    const npu_descriptor_t* one = &call->descriptors[--call->descriptor_count];
    (void)one->destroy(one->handle);
  }
}
