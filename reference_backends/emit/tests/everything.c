/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "everything.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tbk/dtypes.h>

enum { TEXT_BYTES = 8192 };

typedef struct visitor {
  everything_fn visit;
  void* closure;
  int count;
  bool failed;
  char text[TEXT_BYTES]; /* of the program that is being written */
  size_t length;
  int values, results;
  int result_values[TBK_PROGRAM_MOST_RESULTS];
} visitor_t;

typedef struct row {
  const char *name, *takes, *gives;
  int operands;
} row_t;

static const row_t rows[] = {
#define ROW(name, number, operands, takes, gives, bound, meaning) {#name, #takes, #gives, operands},
    TBK_OPCODE_MAP(ROW)
#undef ROW
};

static const char* const computed[] = {"INT32", "INT64", "FLOAT32", "FLOAT64", "BOOL"};
static const char* const all[] = {"BOOL",  "UINT8",   "INT8",    "INT16",    "INT32",
                                  "INT64", "FLOAT16", "FLOAT32", "BFLOAT16", "FLOAT64"};
enum { ALL = sizeof all / sizeof *all };
static const uint16_t moved[ALL] = {TBK_BOOL,  TBK_UINT8,   TBK_INT8,    TBK_INT16,    TBK_INT32,
                                    TBK_INT64, TBK_FLOAT16, TBK_FLOAT32, TBK_BFLOAT16, TBK_FLOAT64};

static void fail(visitor_t* v, const char* what) {
  printf("%s\n%s\n", what, v->text);
  v->failed = true;
}

/* ----------------------------------------------------------------------------------- launches --- */

static tbk_program_t* parse(visitor_t* v, const char* text) {
  tbk_program_t* program = NULL;
  tbk_error_t error = {""};
  if (tbk_program_parse(text, &program, &error) != TBK_OK) fail(v, error.message);
  return program;
}

static void launch(visitor_t* v, const emit_generic_t* generic, const void* arguments) {
  const emit_limits_t limits = {false, EMIT_WORDS};
  emit_launch_t* launches;
  size_t count;
  tbk_error_t error = {""};
  tbk_status_t status =
      emit_generic_launches(generic, arguments, &limits, &launches, &count, &error);
  if (status != TBK_OK) {
    fail(v, error.message);
    return;
  }
  v->visit(generic, arguments, launches, v->closure);
  v->count++;
  free(launches);
}

/* Tensors for the results, then for the inputs of up to two programs; dimensions that do not fold. */
typedef struct operands {
  tbk_tensor_t tensors[EMIT_POINTERS];
  const tbk_tensor_t* pointers[EMIT_POINTERS];
  int count;
  tbk_operand_set_t set;
  const tbk_operand_set_t* sets[1];
  uint64_t numbers[TBK_PROGRAM_MOST_NUMBERS];
} operands_t;

static const int64_t sizes[] = {3, 300, 5, 1, 1, 1, 1, 1}, strides[] = {4000, 7, 1, 0, 0, 0, 0, 0};

static void add_tensor(operands_t* o, uint16_t dtype, int32_t rank) {
  o->tensors[o->count] = (tbk_tensor_t){.struct_size = sizeof(tbk_tensor_t),
                                        .storage_bytes = 1 << 20,
                                        .dtype = dtype,
                                        .rank = rank,
                                        .sizes = sizes,
                                        .strides = strides};
  o->pointers[o->count] = &o->tensors[o->count];
  o->count++;
}

static void add_outputs(operands_t* o, const tbk_program_t* program, int32_t rank) {
  for (size_t k = 0; k < program->result_count; k++)
    add_tensor(o, program->instructions[program->results[k]].dtype, rank);
}

static void add_inputs(operands_t* o, const tbk_program_t* program, int32_t rank) {
  for (size_t k = 0; k < program->input_count; k++)
    add_tensor(o, program->inputs[k].dtype,
               program->inputs[k].kind == TBK_INPUT_INDEXED ? program->inputs[k].rank : rank);
}

static void set_operands(operands_t* o, size_t result_count) {
  o->set = (tbk_operand_set_t){.struct_size = sizeof o->set,
                               .outputs = o->pointers,
                               .inputs = o->pointers + result_count,
                               .numbers = o->numbers};
  o->sets[0] = &o->set;
}

static void pointwise(visitor_t* v, const char* text, int32_t rank, int64_t index_bits) {
  operands_t o = {.count = 0};
  tbk_program_t* program = parse(v, text);
  if (program == NULL) return;
  add_outputs(&o, program, rank);
  add_inputs(&o, program, rank);
  set_operands(&o, program->result_count);
  const tbk_args_pointwise_t arguments = {sizeof arguments, program, o.sets, 1, index_bits};
  launch(v, &emit_pointwise, &arguments);
  free(program);
}

/* ----------------------------------------------------------------------------------- programs --- */

static void say(visitor_t* v, const char* format, const char* first, const char* second) {
  const int length =
      snprintf(v->text + v->length, TEXT_BYTES - v->length, format, v->values, first, second);
  v->length += (size_t)length;
}

/* Value 0 to 2 are inputs of one dtype, and value 3 a BOOL. */
static void begin(visitor_t* v, const char* dtype) {
  v->results = 0;
  snprintf(v->text, TEXT_BYTES, "program 1\ninput 0 %s\ninput 1 %s\ninput 2 %s\n", dtype, dtype,
           dtype);
  v->length = strlen(v->text);
  for (v->values = 0; v->values < 3; v->values++)
    v->length += (size_t)snprintf(v->text + v->length, TEXT_BYTES - v->length,
                                  "v%d = LOAD %s slot %d\n", v->values, dtype, v->values);
  say(v, "v%d = CAST BOOL v0%s%s\n", "", "");
  v->values++;
}

static void end(visitor_t* v, int32_t rank) {
  if (v->results == 0) return;
  for (int k = 0; k < v->results; k++)
    v->length += (size_t)snprintf(v->text + v->length, TEXT_BYTES - v->length, "result %d v%d\n", k,
                                  v->result_values[k]);
  pointwise(v, v->text, rank, rank == 1 ? 32 : 64);
}

/* The value that was written last is a result; a program that is full is ended, and another begun. */
static void keep(visitor_t* v, const char* dtype) {
  v->result_values[v->results++] = v->values++;
  if (v->results < TBK_PROGRAM_MOST_RESULTS) return;
  end(v, 1);
  begin(v, dtype);
}

static bool takes(const row_t* row, const char* dtype) {
  const bool is_integer = dtype[0] == 'I', is_real = dtype[0] == 'F', is_bool = dtype[0] == 'B';
  switch (row->takes[0]) {
    case 'I':
      return strcmp(row->takes, "I") == 0 && is_integer;
    case 'F':
      return is_real;
    case 'N':
      return strcmp(row->takes, "N") == 0 && !is_bool;
    case 'L':
      return is_integer || is_bool;
    default:
      return strcmp(row->takes, "V") == 0;
  }
}

static void every_opcode(visitor_t* v, const char* dtype) {
  static const char* const operands[] = {"", " v0", " v0 v1", " v0 v1 v2"};
  begin(v, dtype);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const row_t* row = &rows[i];
    if (strcmp(row->gives, "OWN") == 0 || !takes(row, dtype)) continue;
    const char* given = strcmp(row->gives, "SAME") == 0 ? dtype : row->gives;
    char call[64];
    snprintf(call, sizeof call, "%s %s%s", row->name, given, operands[row->operands]);
    say(v, "v%d = %s%s\n", call, "");
    keep(v, dtype);
  }
  end(v, 2);
}

static void every_cast(visitor_t* v, const char* from) {
  begin(v, from);
  for (int to = 0; to < ALL; to++) {
    say(v, "v%d = CAST %s v0%s\n", all[to], "");
    keep(v, from);
  }
  say(v, "v%d = SELECT %s v3 v1 v2%s\n", from, "");
  keep(v, from);
  end(v, 3);
}

static void every_bitcast(visitor_t* v) {
  static const char* const pairs[][2] = {
      {"INT32", "FLOAT32"}, {"FLOAT32", "INT32"}, {"INT64", "FLOAT64"}, {"FLOAT64", "INT64"}};
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
    begin(v, pairs[i][0]);
    say(v, "v%d = BITCAST %s v0%s\n", pairs[i][1], "");
    keep(v, pairs[i][0]);
    end(v, 1);
  }
}

static const char sources[] =
    "program 1\ninput 0 FLOAT16 indexed 2\ninput 1 BOOL indexed 1\ninput 2 INT64\n"
    "number 0 BOOL\nnumber 1 INT64\nnumber 2 FLOAT32\nnumber 3 FLOAT64\n"
    "v0 = COORDINATE INT64 slot 1\nv1 = LINEAR_INDEX INT64\nv2 = LOAD INT64 slot 2\n"
    "v3 = LOAD FLOAT16 slot 0 clamp v0 v2\nv4 = LOAD FLOAT16 slot 0 zero v1 v0\n"
    "v5 = LOAD BOOL slot 1 trusted v0\nv6 = NUMBER BOOL slot 0\nv7 = NUMBER INT64 slot 1\n"
    "v8 = NUMBER FLOAT32 slot 2\nv9 = NUMBER FLOAT64 slot 3\nv10 = PHILOX INT64 slot 3 v7 v1 v2\n"
    "v11 = CONSTANT BFLOAT16 bits 0x3f80\nv12 = CONSTANT INT8 bits 0xff\n"
    "result 0 v3\nresult 1 v4\nresult 2 v5\nresult 3 v6\nresult 4 v8\nresult 5 v9\nresult 6 v10\n"
    "result 7 v12\n";

/* The same as running ones: of few elements, and of many. */
static void scans(visitor_t* v, const tbk_reduction_t* reduction) {
  for (int32_t rank = 2; rank <= 3; rank++)
    for (uint64_t flags = 0; flags <= TBK_SCAN_REVERSE; flags++) {
      operands_t o = {.count = 0};
      add_outputs(&o, reduction->finish, rank);
      add_inputs(&o, reduction->map, rank);
      add_inputs(&o, reduction->finish, rank);
      set_operands(&o, reduction->finish->result_count);
      const tbk_args_scan_t arguments = {.struct_size = sizeof arguments,
                                         .reduction = reduction,
                                         .sets = o.sets,
                                         .set_count = 1,
                                         .flags = flags,
                                         .index_bits = 32};
      launch(v, &emit_scan, &arguments);
    }
}

/* The greatest and where it is, of few elements and of many, in any order and in this one. */
static void reduction(visitor_t* v, size_t inner_rank, uint64_t flags) {
  static const uint64_t identity[] = {0xff800000, 0};
  operands_t o = {.count = 0};
  tbk_program_t* map = parse(v,
                             "program 1\ninput 0 BFLOAT16\nv0 = LOAD BFLOAT16 slot 0\n"
                             "v1 = CAST FLOAT32 v0\nv2 = LINEAR_INDEX INT64\n"
                             "result 0 v1\nresult 1 v2\n");
  tbk_program_t* combine =
      parse(v,
            "program 1\nparameter 0 FLOAT32\nparameter 1 INT64\nparameter 2 FLOAT32\n"
            "parameter 3 INT64\nv0 = PARAMETER FLOAT32 slot 0\nv1 = PARAMETER INT64 slot 1\n"
            "v2 = PARAMETER FLOAT32 slot 2\nv3 = PARAMETER INT64 slot 3\nv4 = GT BOOL v2 v0\n"
            "v5 = SELECT FLOAT32 v4 v2 v0\nv6 = SELECT INT64 v4 v3 v1\nresult 0 v5\n"
            "result 1 v6\n");
  tbk_program_t* finish =
      parse(v,
            "program 1\ninput 0 INT64\nparameter 0 FLOAT32\nparameter 1 INT64\n"
            "v0 = PARAMETER FLOAT32 slot 0\nv1 = PARAMETER INT64 slot 1\n"
            "v2 = LOAD INT64 slot 0\nv3 = ADD INT64 v1 v2\nresult 0 v0\nresult 1 v3\n");
  if (map != NULL && combine != NULL && finish != NULL) {
    const tbk_reduction_t one = {sizeof one, map, combine, finish, identity, flags};
    const int32_t outer = inner_rank == 1 ? 2 : 1;
    add_outputs(&o, finish, outer);
    add_inputs(&o, map, 3);
    add_inputs(&o, finish, outer);
    set_operands(&o, finish->result_count);
    o.set.inner_sizes = sizes + outer;
    o.set.inner_rank = inner_rank;
    const tbk_args_reduce_t arguments = {.struct_size = sizeof arguments,
                                         .reduction = &one,
                                         .sets = o.sets,
                                         .set_count = 1,
                                         .index_bits = 32};
    launch(v, &emit_reduce, &arguments);
    if (inner_rank == 1) scans(v, &one);
  }
  free(map);
  free(combine);
  free(finish);
}

/* Elements of each dtype, by indices of both. */
static void every_index(visitor_t* v, uint16_t dtype) {
  static const int64_t places[] = {TBK_INDEX_BY(0), TBK_INDEX_BY(1), TBK_INDEX_ALONG(0)};
  static const int64_t table_sizes[] = {4, 5, 6}, table_strides[] = {30, 6, 1};
  static const int64_t space_sizes[] = {6, 3}, space_strides[] = {3, 1};
  tbk_tensor_t views[4];
  for (int i = 0; i < 4; i++)
    views[i] = (tbk_tensor_t){.struct_size = sizeof *views,
                              .dtype = i < 2    ? dtype
                                       : i == 2 ? TBK_INT32
                                                : TBK_INT64,
                              .rank = i == 0 ? 3 : 2,
                              .sizes = i == 0 ? table_sizes : space_sizes,
                              .strides = i == 0 ? table_strides : space_strides};
  const tbk_tensor_t* const indices[] = {&views[2], &views[3]};
  const tbk_args_index_t arguments = {.struct_size = sizeof arguments,
                                      .mode = TBK_INDEX_ADD,
                                      .bounds = TBK_BOUNDS_ZERO,
                                      .index_bits = 64,
                                      .table = &views[0],
                                      .values = &views[1],
                                      .indices = indices,
                                      .index_count = 2,
                                      .places = places};
  launch(v, &emit_index, &arguments);
}

static void every_sort(visitor_t* v, uint16_t dtype) {
  operands_t o = {.count = 0};
  add_tensor(&o, dtype, 2);
  add_tensor(&o, TBK_INT64, 2);
  const tbk_args_sort_t arguments = {.struct_size = sizeof arguments,
                                     .input = o.pointers[0],
                                     .values = o.pointers[0],
                                     .indices = o.pointers[1],
                                     .index_bits = 64};
  launch(v, &emit_sort, &arguments);
}

/* Matrices of each dtype, in a batch, with something to add. */
static void every_matmul(visitor_t* v, uint16_t dtype) {
  static const int64_t matrices[][3] = {{2, 3, 5}, {2, 3, 4}, {2, 4, 5}, {2, 3, 5}};
  static const int64_t apart[] = {100, 10, 1};
  const tbk_scalar_t one = {
      .kind = tbk_dtype_kind(dtype) == TBK_KIND_INTEGER ? TBK_SCALAR_INT : TBK_SCALAR_DOUBLE,
      .integer = 1,
      .real = 1};
  tbk_tensor_t views[4];
  for (int i = 0; i < 4; i++)
    views[i] = (tbk_tensor_t){.struct_size = sizeof *views,
                              .dtype = dtype,
                              .rank = 3,
                              .sizes = matrices[i],
                              .strides = apart};
  const tbk_args_matmul_t arguments = {.struct_size = sizeof arguments,
                                       .a = &views[1],
                                       .b = &views[2],
                                       .c = &views[3],
                                       .out = &views[0],
                                       .alpha = one,
                                       .beta = one,
                                       .index_bits = 64};
  launch(v, &emit_matmul, &arguments);
}

/* A plane with a bias, of each dtype that is summed. */
static void every_convolution(visitor_t* v, uint16_t dtype) {
  static const int64_t shapes[3][4] = {{2, 4, 5, 6}, {6, 2, 3, 2}, {2, 6, 3, 5}}, channels[] = {6};
  static const int64_t steps[3][4] = {{120, 30, 6, 1}, {12, 6, 2, 1}, {90, 15, 5, 1}};
  static const int64_t ones[] = {1, 1}, none[] = {0, 0};
  tbk_tensor_t views[4];
  for (int i = 0; i < 4; i++)
    views[i] = (tbk_tensor_t){.struct_size = sizeof *views,
                              .dtype = dtype,
                              .rank = i < 3 ? 4 : 1,
                              .sizes = i < 3 ? shapes[i] : channels,
                              .strides = i < 3 ? steps[i] : ones};
  const tbk_args_convolution_t arguments = {.struct_size = sizeof arguments,
                                            .mode = TBK_CONVOLUTION_OUTPUT,
                                            .input = &views[0],
                                            .weight = &views[1],
                                            .output = &views[2],
                                            .bias = &views[3],
                                            .stride = ones,
                                            .padding = none,
                                            .dilation = ones,
                                            .groups = 2,
                                            .index_bits = 64};
  launch(v, &emit_convolution, &arguments);
}

int everything(everything_fn visit, void* closure) {
  visitor_t v = {.visit = visit, .closure = closure};
  for (size_t i = 0; i < sizeof computed / sizeof *computed; i++)
    every_opcode(&v, computed[i]);
  for (int i = 0; i < ALL; i++)
    every_cast(&v, all[i]);
  every_bitcast(&v);
  for (int i = 0; i < ALL; i++)
    every_index(&v, moved[i]);
  for (int i = 0; i < ALL; i++)
    every_sort(&v, moved[i]);
  for (int i = 0; i < ALL; i++)
    if (moved[i] != TBK_BOOL) every_matmul(&v, moved[i]);
  for (int i = 0; i < ALL; i++)
    if (moved[i] != TBK_BOOL) every_convolution(&v, moved[i]);
  pointwise(&v, sources, 3, 32);
  for (uint64_t flags = 0; flags <= TBK_REDUCTION_COMMUTATIVE; flags++)
    for (size_t inner_rank = 1; inner_rank <= 2; inner_rank++)
      reduction(&v, inner_rank, flags);
  return v.failed ? 0 : v.count;
}
