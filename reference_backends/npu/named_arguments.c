/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * named_arguments.c: recipes: a struct of arguments becomes what phase one takes.
 */
#include <string.h>

#include "named.h"

static size_t member_bytes(char letter) {
  if (strchr("AF0c%", letter) != NULL) return 0;
  if (letter == 's') return sizeof(tbk_scalar_t);
  if (strchr("TOlk", letter) != NULL) return sizeof(tbk_int_list_t);
  return sizeof(int64_t);
}

/* The letter of aclnn.h that an argument of a recipe is. */
static const char* arguments_of(char letter) {
  static const char* const classes[][2] = {
      {"tqToO", "t"}, {"sSJ", "s"}, {"lkLIXA", "l"}, {"ix0Cg", "i"}, {"bBFz", "b"},
      {"de", "d"},    {"my", "n"},  {"Z", "z"},      {"c", "c"},     {"w", "ii"},
  };
  for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
    if (strchr(classes[i][0], letter) != NULL) return classes[i][1];
  return "";
}

static const char* recipe_of(const npu_named_t* row) {
  return row->recipe != NULL ? row->recipe : npu_aclnn_row(npu_function_of(row))->arguments;
}

bool npu_named_fits(const npu_named_t* row) {
  size_t bytes = sizeof(size_t), count = 0;
  for (const char* letter = recipe_of(row); *letter != '\0'; letter++) {
    bytes += member_bytes(*letter);
    count += strlen(arguments_of(*letter));
  }
  return bytes == row->arguments_bytes &&
         count == strlen(npu_aclnn_row(npu_function_of(row))->arguments);
}

static bool refuse(npu_named_call_t* call, const char* reason) {
  call->status = npu_fail(call->error, TBK_UNSUPPORTED, "aclnn%s: %s",
                          npu_aclnn_row(npu_function_of(call->row))->name, reason);
  return false;
}

static bool read_tensor(npu_named_call_t* call, const tbk_tensor_t* tensor, bool written) {
  if (call->view_count == ACLNN_TENSORS) return refuse(call, "too many tensors");
  emit_view_t* view = &call->views[call->view_count];
  call->written[call->view_count] = written;
  call->absent[call->view_count++] = tensor == NULL;
  if (tensor != NULL) call->status = emit_describe(tensor, false, view, call->error);
  return call->status == TBK_OK;
}

static bool read_list(npu_named_call_t* call, const tbk_tensor_list_t* list, bool written) {
  bool fits = true;
  for (size_t i = 0; i < list->count && fits; i++)
    fits = list->items[i] != NULL ? read_tensor(call, list->items[i], written)
                                  : refuse(call, "a list with an absent tensor");
  return fits;
}

static bool read_member(npu_named_call_t* call, char letter, const char* member) {
  const tbk_tensor_t* tensor = NULL;
  if (strchr("tqo", letter) != NULL) {
    memcpy(&tensor, member, sizeof(void*));
    if (tensor == NULL && letter == 't') return refuse(call, "an absent tensor");
    return read_tensor(call, tensor, letter == 'o');
  }
  if (letter != 'T' && letter != 'O') return true;
  return read_list(call, (const tbk_tensor_list_t*)(const void*)member, letter == 'O');
}

static bool check_views(npu_named_call_t* call) {
  const int complex = 1 << TBK_COMPLEX64 | 1 << TBK_COMPLEX128;
  bool first = true;
  for (int i = 0; i < call->view_count; i++) {
    if (call->absent[i]) continue;
    if ((1 << call->views[i].dtype & complex) != 0) return refuse(call, "complex numbers");
    if (first && (call->row->dtypes >> call->views[i].dtype & 1) == 0)
      return refuse(call, "not for this dtype");
    first = false;
  }
  return true;
}

bool npu_named_read(npu_named_call_t* call) {
  const char* member = call->arguments + sizeof(size_t);
  for (const char* letter = recipe_of(call->row); *letter != '\0'; letter++) {
    if (!read_member(call, *letter, member)) return false;
    member += member_bytes(*letter);
  }
  return check_views(call);
}

/* --------------------------------------------------------------------------------------- to aclnn -- */

static bool keep(npu_named_call_t* call, const void* handle, acl_result (*destroy)(const void*)) {
  if (handle == NULL) {
    call->status =
        npu_fail(call->error, TBK_UNSUPPORTED, "aclnn%s: an operand that cannot be described",
                 npu_aclnn_row(npu_function_of(call->row))->name);
    return false;
  }
  call->handles[call->handle_count++] = (npu_named_handle_t){destroy, handle};
  call->words[call->word_count++].p = (void*)(uintptr_t)handle;
  return true;
}

static acl_result destroy_tensor(const void* handle) {
  return npu_nn()->destroy_tensor(handle);
}

static acl_result destroy_scalar(const void* handle) {
  return npu_nn()->destroy_scalar(handle);
}

static acl_result destroy_ints(const void* handle) {
  return npu_nn()->destroy_ints(handle);
}

static acl_result destroy_list(const void* handle) {
  return npu_nn()->destroy_list(handle);
}

/* A list takes its members over; those of one that was not made are destroyed. */
static bool add_list(npu_named_call_t* call, size_t count, int* view) {
  const acl_tensor* items[ACLNN_TENSORS] = {NULL};
  size_t made = 0;
  while (made < count && (items[made] = npu_describe_view(&call->views[*view + (int)made])) != NULL)
    made++;
  *view += (int)count;
  const acl_list* list = made == count ? npu_nn()->create_list(items, count) : NULL;
  for (size_t i = 0; i < made && list == NULL; i++)
    (void)destroy_tensor(items[i]);
  return keep(call, list, destroy_list);
}

static bool add_tensor(npu_named_call_t* call, int* view) {
  const int at = (*view)++;
  if (!call->absent[at]) return keep(call, npu_describe_view(&call->views[at]), destroy_tensor);
  call->words[call->word_count++].p = NULL;
  return true;
}

/* As Ascend/op-plugin makes them (O op_api_common.cpp:972). */
static bool add_scalar(npu_named_call_t* call, const tbk_scalar_t* scalar) {
  double real[2] = {scalar->real, scalar->imaginary};
  int64_t integer = scalar->integer;
  bool boolean = scalar->integer != 0;
  void* value = scalar->kind == TBK_SCALAR_INT    ? (void*)&integer
                : scalar->kind == TBK_SCALAR_BOOL ? (void*)&boolean
                                                  : (void*)real;
  static const int dtypes[] = {[TBK_SCALAR_INT] = ACL_INT64,
                               [TBK_SCALAR_DOUBLE] = ACL_FLOAT64,
                               [TBK_SCALAR_BOOL] = ACL_BOOL,
                               [TBK_SCALAR_COMPLEX] = ACL_COMPLEX128};
  return keep(call, npu_nn()->create_scalar(value, dtypes[scalar->kind]), destroy_scalar);
}

static bool add_ints(npu_named_call_t* call, const int64_t* items, size_t count) {
  return keep(call, npu_nn()->create_ints(items, count), destroy_ints);
}

/* Dimensions are of the first tensor. */
static bool add_dims(npu_named_call_t* call, const tbk_int_list_t* list) {
  int64_t dims[EMIT_MAX_RANK] = {0};
  const int32_t rank = call->views[0].rank;
  const bool named = list != NULL && list->count > 0;
  const size_t count = named && rank > 0 ? list->count : (size_t)rank;
  if (count > EMIT_MAX_RANK) return refuse(call, "more than 8 dimensions");
  for (size_t i = 0; i < count; i++) {
    dims[i] = named ? list->items[i] : (int64_t)i;
    if (dims[i] < 0) dims[i] += rank;
  }
  return add_ints(call, dims, count);
}

static int rounding_of(const char* text) {
  enum { TRUE_QUOTIENT, TRUNC, FLOOR };
  if (text == NULL) return TRUE_QUOTIENT;
  return strcmp(text, "trunc") == 0 ? TRUNC : FLOOR;
}

static int64_t correction_of(const tbk_scalar_t* scalar) {
  if (scalar == NULL) return 1;
  return scalar->kind == TBK_SCALAR_DOUBLE ? (int64_t)scalar->real : scalar->integer;
}

static int dtype_of_output(const npu_named_call_t* call) {
  for (int i = 0; i < call->view_count; i++)
    if (call->written[i] && !call->absent[i]) return npu_acl_dtype(call->views[i].dtype);
  return -1;
}

static void swap_last(npu_named_call_t* call) {
  aclnn_word_t* last = &call->words[call->word_count - 1];
  const aclnn_word_t word = last[0];
  last[0] = last[-1];
  last[-1] = word;
}

/* Letters whose argument has a descriptor, or none. */
static bool add_described(npu_named_call_t* call, char letter, const char* member, int* view) {
  int64_t whole;
  const void* pointer;
  memcpy(&whole, member, sizeof whole);
  memcpy(&pointer, member, sizeof pointer);
  const tbk_int_list_t* list = (const tbk_int_list_t*)(const void*)member;
  const tbk_int_list_t one = {letter == 'X' ? pointer : &whole, 1};
  const tbk_scalar_t integer = {.kind = TBK_SCALAR_INT, .integer = whole};
  switch (letter) {
    case 'T':
    case 'O':
      return add_list(call, list->count, view);
    case 's':
      return add_scalar(call, (const tbk_scalar_t*)(const void*)member);
    case 'S':
      if (pointer != NULL) return add_scalar(call, pointer);
      call->words[call->word_count++].p = NULL;
      return true;
    case 'J':
      return add_scalar(call, &integer);
    case 'l':
      return add_ints(call, list->items, list->count);
    case 'k':
      return add_dims(call, list);
    case 'L':
      return add_dims(call, pointer);
    case 'I':
    case 'X':
      return add_dims(call, one.items != NULL ? &one : NULL);
    case 'A':
      return add_dims(call, NULL);
    default:
      return add_tensor(call, view);
  }
}

/* Letters whose argument is a value; 8 bytes of the struct may be what it is made of. */
static bool add_value(npu_named_call_t* call, char letter, const char* member) {
  aclnn_word_t* word = &call->words[call->word_count];
  int64_t whole = 0;
  double real = 0;
  const void* pointer = NULL;
  if (member_bytes(letter) > 0) {
    memcpy(&whole, member, sizeof whole);
    memcpy(&real, member, sizeof real);
    memcpy(&pointer, member, sizeof pointer);
  }
  call->word_count += (int)strlen(arguments_of(letter));
  switch (letter) {
    case 'x':
      if (pointer == NULL) return refuse(call, "over all elements");
      word->i = *(const int64_t*)pointer;
      return true;
    case 'i':
      word->i = whole;
      return true;
    case '0':
      word->i = 0;
      return true;
    case 'C':
      word->i = correction_of(pointer);
      return true;
    case 'g':
      word->i = pointer != NULL && strcmp(pointer, "tanh") == 0;
      return true;
    case 'b':
      word->b = whole != 0;
      return true;
    case 'B':
      word->b = pointer != NULL && *(const int64_t*)pointer != 0;
      return true;
    case 'F':
      word->b = false;
      return true;
    case 'z':
      word->b = false;
      return whole == 0 || refuse(call, "an option that it has not");
    case 'N':
      return pointer == NULL || refuse(call, "an option that it has not");
    case 'd':
      word->d = real;
      return true;
    case 'e':
      word->d = pointer != NULL ? *(const double*)pointer : -1;
      return true;
    case 'm':
      word->n = rounding_of(pointer);
      return true;
    case 'y':
      word->n = dtype_of_output(call);
      return true;
    case 'Z':
      word->p = (void*)(uintptr_t)pointer;
      return true;
    case 'c':
      word->c = ACL_KEEP_DTYPE;
      return true;
    case '%':
      swap_last(call);
      return true;
    default: /* left out */
      return true;
  }
}

bool npu_named_build(npu_named_call_t* call) {
  const char* member = call->arguments + sizeof(size_t);
  int view = 0;
  for (const char* letter = recipe_of(call->row); *letter != '\0'; letter++) {
    const bool described = strchr("tqToOsSJlkLIXA", *letter) != NULL;
    const bool added =
        described ? add_described(call, *letter, member, &view) : add_value(call, *letter, member);
    if (!added) return false;
    member += member_bytes(*letter);
  }
  return true;
}

void npu_named_release(npu_named_call_t* call) {
  while (call->handle_count > 0) {
    const npu_named_handle_t* one = &call->handles[--call->handle_count];
    (void)one->destroy(one->handle);
  }
}
