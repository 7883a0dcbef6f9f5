/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * matmul.h: the product of two matrices, in tiles where BLAS cannot have them whole.
 */
#ifndef TBK_CPU_MATMUL_H
#define TBK_CPU_MATMUL_H

#include "kernel.h"

/* A matrix of a batch. Strides are in bytes. */
typedef struct cpu_plane {
  char* data; /* NULL where nothing was resolved, or there is none */
  int64_t row, column;
} cpu_plane_t;

/* out = alpha * a * b + beta * c, with m x n elements of sums over k. */
typedef struct cpu_product {
  int32_t dtype, computed; /* of the elements, and what is computed in */
  int64_t bytes;           /* of an element of `dtype` */
  int64_t m, n, k;
  cpu_plane_t a, b, c, out;
  bool has_c,
      is_turned; /* turned: a and b, and m and n, have changed places, and all are transposed */
  cpu_number_t alpha, beta;
  /* What is packed goes through a tile, else it is used where it lies. */
  bool packs_a, packs_b, packs_out;
  int64_t rows, columns, depth; /* of a tile: at most so many of m, n, k */
  char *a_tile, *b_tile, *out_tile;
} cpu_product_t;

/* Decides what is packed, and the sizes of tiles, by shapes alone. */
void cpu_product_plan(cpu_product_t* product);
/* Returns how many bytes the tiles take. */
uint64_t cpu_product_bytes(const cpu_product_t* product);
/* Computes it. `workspace` has so many bytes, and lies at a multiple of 64. */
void cpu_product_compute(const cpu_product_t* product, char* workspace);

/* Sizes of strides and of parts. */
static inline int64_t cpu_smaller(int64_t one, int64_t other) {
  return one < other ? one : other;
}
static inline int64_t cpu_stride_size(int64_t stride) {
  return stride < 0 ? -stride : stride;
}

/* matmul_tile.c: a matrix of what is computed in. Strides are in elements. */
typedef struct cpu_tile {
  char* data;
  int64_t row, column;
} cpu_tile_t;
typedef struct cpu_tile_product {
  int32_t computed;
  int64_t m, n, k;
  cpu_tile_t a, b, out; /* out: a column stride of 1 */
  cpu_number_t alpha, beta;
} cpu_tile_product_t;
/* Multiplies by BLAS where there is one for it, else by a loop. A beta of 0 does not read `out`. */
void cpu_tile_multiply(const cpu_tile_product_t* product);
/* Returns how many elements a row has room for. */
int64_t cpu_tile_lanes(int64_t count);
/* Makes a tile at `data` of a part of a matrix; its rows or, for BLAS, its columns lie without gaps, as those of
 * the matrix do. */
cpu_tile_t cpu_tile_load(cpu_plane_t from, int64_t rows, int64_t columns, int32_t dtype,
                         int32_t computed, char* data);
/* The same, and row by row. */
cpu_tile_t cpu_tile_load_rows(cpu_plane_t from, int64_t rows, int64_t columns, int32_t dtype,
                              int32_t computed, char* data);
/* Rounds a tile of rows without gaps to the elements of a matrix. */
void cpu_tile_store(cpu_tile_t from, cpu_plane_t to, int64_t rows, int64_t columns, int32_t dtype,
                    int32_t computed);

#endif /* TBK_CPU_MATMUL_H */
