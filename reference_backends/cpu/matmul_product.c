/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * matmul_product.c: the product of two matrices. What BLAS reads and writes where it lies is left there; the
 * rest goes through tiles, which are in what is computed in.
 */
#include <limits.h>

#include "matmul.h"

/* A tile of b is packed once for each tile of rows, so that packing costs little beside the product. */
enum { ROWS_MOST = 256, COLUMNS_MOST = 512, DEPTH_MOST = 512, ODD_MOST = 16 };

/* ---------------------------------------------------------------------------------- plan ------- */

/* Rows that lie `*out_stride` elements apart, each without gaps. */
static bool has_rows(const cpu_product_t* p, int64_t row, int64_t column, int64_t rows,
                     int64_t columns, int64_t* out_stride) {
  *out_stride = columns > 0 ? columns : 1;
  if (columns > 1 && column != p->bytes) return false;
  if (rows > 1 && row / p->bytes < *out_stride) return false;
  if (rows > 1) *out_stride = row / p->bytes;
  return *out_stride <= INT_MAX;
}

/* A matrix where it lies, its rows or its columns without gaps. */
static bool has_tile(const cpu_product_t* p, const cpu_plane_t* plane, int64_t rows,
                     int64_t columns, cpu_tile_t* out_tile) {
  int64_t stride;
  *out_tile = (cpu_tile_t){plane->data, 0, 1};
  if (p->dtype != p->computed || p->dtype == TBK_INT64) return false;
  if (has_rows(p, plane->row, plane->column, rows, columns, &stride)) {
    out_tile->row = stride;
    return true;
  }
  if (!has_rows(p, plane->column, plane->row, columns, rows, &stride)) return false;
  out_tile->row = 1;
  out_tile->column = stride;
  return true;
}

static bool writes_rows(const cpu_product_t* p) {
  int64_t stride;
  return p->dtype == p->computed && p->dtype != TBK_INT64 &&
         has_rows(p, p->out.row, p->out.column, p->m, p->n, &stride);
}

static void turn(cpu_plane_t* plane) {
  const int64_t row = plane->row;
  plane->row = plane->column;
  plane->column = row;
}

/* The same product of transposed matrices, so that rows of `out` are what lies without gaps. */
static void transpose(cpu_product_t* p) {
  const cpu_plane_t a = p->a;
  const int64_t m = p->m;
  p->a = p->b, p->b = a;
  p->m = p->n, p->n = m;
  p->is_turned = true;
  turn(&p->a);
  turn(&p->b);
  turn(&p->c);
  turn(&p->out);
}

/* Whether columns of the output lie without gaps, or more so than rows. */
static bool has_columns(const cpu_product_t* p) {
  if (p->n == 1) return false;
  if (p->m == 1) return p->out.column != p->bytes;
  return cpu_stride_size(p->out.row) < cpu_stride_size(p->out.column);
}

static void choose_tiles(cpu_product_t* p, int64_t rows, int64_t columns, int64_t depth) {
  p->rows = cpu_smaller(p->m, rows);
  p->columns = cpu_smaller(p->n, columns);
  p->depth = cpu_smaller(p->k, depth);
}

void cpu_product_plan(cpu_product_t* p) {
  cpu_tile_t tile;
  if (has_columns(p)) transpose(p);
  p->packs_a = !has_tile(p, &p->a, p->m, p->k, &tile);
  p->packs_b = !has_tile(p, &p->b, p->k, p->n, &tile);
  p->packs_out = !writes_rows(p) || p->m > INT_MAX || p->n > INT_MAX || p->k > INT_MAX;
  if (p->packs_a || p->packs_b || p->packs_out)
    choose_tiles(p, ROWS_MOST, COLUMNS_MOST, DEPTH_MOST);
  else
    choose_tiles(p, p->m, p->n, p->k);
}

/* ---------------------------------------------------------------------------------- tiles ------ */

/* Bytes of a tile, of rows or columns without gaps. */
static int64_t tile_bytes(const cpu_product_t* p, bool is_packed, int64_t rows, int64_t columns) {
  return is_packed ? cpu_tile_lanes(rows) * cpu_tile_lanes(columns) * tbk_dtype_bytes(p->computed)
                   : 0;
}

uint64_t cpu_product_bytes(const cpu_product_t* p) {
  return (uint64_t)(tile_bytes(p, p->packs_a, p->rows, p->depth) +
                    tile_bytes(p, p->packs_b, p->depth, p->columns) +
                    tile_bytes(p, p->packs_out, p->rows, p->columns));
}

static void place_tiles(cpu_product_t* p, char* workspace) {
  p->a_tile = workspace;
  p->b_tile = p->a_tile + tile_bytes(p, p->packs_a, p->rows, p->depth);
  p->out_tile = p->b_tile + tile_bytes(p, p->packs_b, p->depth, p->columns);
}

/* ------------------------------------------------------------------------------- products ------ */

static cpu_plane_t part_of(cpu_plane_t plane, int64_t row, int64_t column) {
  if (plane.data) plane.data += row * plane.row + column * plane.column;
  return plane;
}

static cpu_tile_t read_tile(const cpu_product_t* p, const cpu_plane_t* plane, bool is_packed,
                            char* to, int64_t rows, int64_t columns) {
  cpu_tile_t tile;
  if (is_packed) return cpu_tile_load(*plane, rows, columns, p->dtype, p->computed, to);
  has_tile(p, plane, rows, columns, &tile);
  return tile;
}

static bool is_same(const cpu_plane_t* one, const cpu_plane_t* other) {
  return one->data == other->data && one->row == other->row && one->column == other->column;
}

/* What the products are added to. */
static cpu_tile_t begin(const cpu_product_t* p, cpu_plane_t c, cpu_plane_t out, int64_t rows,
                        int64_t columns) {
  const int64_t stride = rows > 1 ? out.row / p->bytes : columns;
  if (p->packs_out && p->has_c)
    return cpu_tile_load_rows(c, rows, columns, p->dtype, p->computed, p->out_tile);
  if (p->packs_out) return (cpu_tile_t){p->out_tile, cpu_tile_lanes(columns), 1};
  const cpu_tile_t tile = {out.data, stride, 1};
  for (int64_t i = 0; p->has_c && !is_same(&c, &out) && i < rows; i++)
    cpu_row_load(out.data + i * out.row, c.data + i * c.row, c.column, columns, p->bytes);
  return tile;
}

static void compute_tile(const cpu_product_t* p, int64_t i, int64_t j) {
  const int64_t m = cpu_smaller(p->rows, p->m - i), n = cpu_smaller(p->columns, p->n - j);
  const cpu_plane_t out = part_of(p->out, i, j), c = part_of(p->c, i, j);
  cpu_tile_product_t one = {.computed = p->computed, .m = m, .n = n, .alpha = p->alpha};
  one.out = begin(p, c, out, m, n);
  one.beta = p->has_c ? p->beta : (cpu_number_t){.kind = p->alpha.kind};
  int64_t q = 0;
  do {
    const cpu_plane_t a = part_of(p->a, i, q), b = part_of(p->b, q, j);
    one.k = cpu_smaller(p->depth, p->k - q);
    if (one.k > 0) one.a = read_tile(p, &a, p->packs_a, p->a_tile, m, one.k);
    if (one.k > 0) one.b = read_tile(p, &b, p->packs_b, p->b_tile, one.k, n);
    cpu_tile_multiply(&one);
    one.beta = (cpu_number_t){.kind = p->alpha.kind, .integer = 1, .real = 1};
    q += p->depth;
  } while (q < p->k);
  if (p->packs_out) cpu_tile_store(one.out, out, m, n, p->dtype, p->computed);
}

static bool is_aligned(const cpu_product_t* p) {
  const uintptr_t all =
      (uintptr_t)p->a.data | (uintptr_t)p->b.data | (uintptr_t)p->out.data | (uintptr_t)p->c.data;
  return all % (uintptr_t)p->bytes == 0;
}

static void compute_tiles(const cpu_product_t* p) {
  for (int64_t j = 0; j < p->n; j += p->columns)
    for (int64_t i = 0; i < p->m; i += p->rows)
      compute_tile(p, i, j);
}

/* What no allocator hands out, elements that are not aligned, is packed in tiles that need no workspace. */
void cpu_product_compute(const cpu_product_t* product, char* workspace) {
  cpu_product_t p = *product;
  _Alignas(64) char odd[3 * ODD_MOST * ODD_MOST * 8];
  if (!is_aligned(&p)) {
    p.packs_a = p.packs_b = p.packs_out = true;
    choose_tiles(&p, ODD_MOST, ODD_MOST, ODD_MOST);
    workspace = odd;
  }
  place_tiles(&p, workspace);
  compute_tiles(&p);
}
