/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * matmul_tile.c: tiles of numbers that are computed with: made of elements, multiplied, and rounded again.
 */
#include "generic/loops/loops.h"
#include "matmul.h"

enum { ROW_MOST = 512 }; /* elements that are converted at a time */

int64_t cpu_tile_lanes(int64_t count) {
  return (int64_t)cpu_whole_lanes((size_t)count);
}

/* ------------------------------------------------------------------------------- elements ------ */

static cpu_loop_t cast(int32_t from, int32_t to) {
  return cpu_loop_find(TBK_OPCODE_CAST, (uint16_t)from, (uint16_t)to, 0);
}

/* One row of a tile, which has room for whole lanes. */
static void load_row(char* to, const char* from, int64_t stride, int64_t count, int32_t dtype,
                     int32_t computed) {
  const int64_t bytes = tbk_dtype_bytes(dtype), wide = tbk_dtype_bytes(computed);
  if (dtype == computed) {
    cpu_row_load(to, from, stride, count, bytes);
    return;
  }
  const cpu_loop_t convert = cast(dtype, computed);
  _Alignas(64) char raw[ROW_MOST * 8] = {0};
  for (int64_t done = 0; done < count; done += ROW_MOST) {
    const int64_t part = cpu_smaller(count - done, ROW_MOST);
    const void* const in[] = {raw};
    cpu_row_load(raw, from + done * stride, stride, part, bytes);
    convert(to + done * wide, in, (size_t)cpu_tile_lanes(part));
  }
}

static void store_row(char* to, const char* from, int64_t stride, int64_t count, int32_t dtype,
                      int32_t computed) {
  const int64_t bytes = tbk_dtype_bytes(dtype), wide = tbk_dtype_bytes(computed);
  if (dtype == computed) {
    cpu_row_store(to, from, stride, count, bytes);
    return;
  }
  const cpu_loop_t convert = cast(computed, dtype);
  _Alignas(64) char raw[ROW_MOST * 8];
  for (int64_t done = 0; done < count; done += ROW_MOST) {
    const int64_t part = cpu_smaller(count - done, ROW_MOST);
    const void* const in[] = {from + done * wide};
    convert(raw, in, (size_t)cpu_tile_lanes(part));
    cpu_row_store(to + done * stride, raw, stride, part, bytes);
  }
}

cpu_tile_t cpu_tile_load_rows(cpu_plane_t from, int64_t rows, int64_t columns, int32_t dtype,
                              int32_t computed, char* data) {
  const int64_t pitch = cpu_tile_lanes(columns), wide = tbk_dtype_bytes(computed);
  for (int64_t i = 0; i < rows; i++)
    load_row(data + i * pitch * wide, from.data + i * from.row, from.column, columns, dtype,
             computed);
  return (cpu_tile_t){data, pitch, 1};
}

cpu_tile_t cpu_tile_load(cpu_plane_t from, int64_t rows, int64_t columns, int32_t dtype,
                         int32_t computed, char* data) {
  const bool by_loop = computed == TBK_INT64; /* which wants rows */
  if (by_loop || columns == 1 || cpu_stride_size(from.row) >= cpu_stride_size(from.column))
    return cpu_tile_load_rows(from, rows, columns, dtype, computed, data);
  const cpu_plane_t turned = {from.data, from.column, from.row};
  cpu_tile_t tile = cpu_tile_load_rows(turned, columns, rows, dtype, computed, data);
  return (cpu_tile_t){data, tile.column, tile.row};
}

void cpu_tile_store(cpu_tile_t from, cpu_plane_t to, int64_t rows, int64_t columns, int32_t dtype,
                    int32_t computed) {
  const int64_t wide = tbk_dtype_bytes(computed);
  for (int64_t i = 0; i < rows; i++)
    store_row(to.data + i * to.row, from.data + i * from.row * wide, to.column, columns, dtype,
              computed);
}

/* ------------------------------------------------------------------------------- products ------ */

static double real_of(cpu_number_t number) {
  return number.real;
}

static int64_t integer_of(cpu_number_t number) {
  return number.integer;
}

/* Without BLAS, and of integers: row by row, so that the compiler makes vectors of the innermost loop. */
#define MULTIPLY(name, T, part)                                                          \
  static void multiply_##name(const cpu_tile_product_t* p) {                             \
    typedef T number;                                                                    \
    const number alpha = (number)part##_of(p->alpha), beta = (number)part##_of(p->beta); \
    const number *a = (const void*)p->a.data, *b = (const void*)p->b.data;               \
    for (int64_t i = 0; i < p->m; i++) {                                                 \
      number* out = (number*)(void*)p->out.data + i * p->out.row;                        \
      for (int64_t j = 0; j < p->n; j++)                                                 \
        out[j] = beta == 0 ? 0 : beta * out[j];                                          \
      for (int64_t q = 0; q < p->k; q++) {                                               \
        const number factor = alpha * a[i * p->a.row + q * p->a.column];                 \
        const number* row = b + q * p->b.row;                                            \
        for (int64_t j = 0; j < p->n; j++)                                               \
          out[j] += factor * row[j * p->b.column];                                       \
      }                                                                                  \
    }                                                                                    \
  }
MULTIPLY(float, float, real)
MULTIPLY(double, double, real)
MULTIPLY(integer, uint64_t, integer)

static cpu_matrix_t matrix(cpu_tile_t tile) {
  const bool transposed = tile.column != 1;
  return (cpu_matrix_t){tile.data, (int32_t)(transposed ? tile.column : tile.row), transposed};
}

void cpu_tile_multiply(const cpu_tile_product_t* p) {
  if (p->computed == TBK_INT64)
    multiply_integer(p);
  else if (p->k > 0 &&
           cpu_blas_gemm(p->computed, (int32_t)p->m, (int32_t)p->n, (int32_t)p->k, p->alpha.real,
                         matrix(p->a), matrix(p->b), p->beta.real, matrix(p->out)))
    return;
  else if (p->computed == TBK_FLOAT32)
    multiply_float(p);
  else
    multiply_double(p);
}
