/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * tbk_index.h: the arguments of the generic kernel that moves elements to and from places that tensors
 * of indices name. A backend that offers "tbk::index" serves gather, scatter with and without a
 * reduction, take, put, index_select, index_add, index_copy, indexing by tensors, embeddings and what is
 * like them.
 *
 * A call runs over a space, which has the sizes of `values`. At each of its places p there is one element
 * of `values`, and one of `table`, found by `places`:
 *
 *   gather:  values[p] = table[f(p)]
 *   else:    table[f(p)] = values[p], or what `mode` makes of table[f(p)] and values[p]
 *
 * The host has made one shape of all: indices are expanded to the space by strides of 0, and a dimension of the
 * table without an index of its own names a dimension of the space. The host has promoted too: values and
 * table have one dtype, any but complex ones. A complex tensor is given as one of real numbers with one
 * more dimension.
 */
#ifndef TBK_TBK_INDEX_H
#define TBK_TBK_INDEX_H

#include <tbk/tbk_program.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What is done at each place. ADD to MAX are those of <tbk/tbk_opcodes.h>; of BOOL they are OR, AND, AND,
 * OR. A sum or product of numbers narrower than FLOAT32 may be computed in FLOAT32 and rounded once. */
enum {
  TBK_INDEX_GATHER = 0, /* reads the table, writes values */
  TBK_INDEX_WRITE = 1,  /* the others write the table, and read values */
  TBK_INDEX_ADD = 2,
  TBK_INDEX_MUL = 3,
  TBK_INDEX_MIN = 4,
  TBK_INDEX_MAX = 5
};

/* Flags. */
enum {
  /* An index from -n to -1, of a dimension of n, counts from its end. Else it is a bad one. */
  TBK_INDEX_NEGATIVE = 1,
  /* Of several places that are one in the table: WRITE keeps the last in the space, the last dimension counting
   * first; the other modes go on from what stood there, in this order, so that the same call gives the
   * same bits. Else WRITE keeps any one of them, whole, and the others take any order. */
  TBK_INDEX_ORDERED = 2,
  /* The one index is a position in the whole table, the last dimension counting first; `places` is not
   * read. */
  TBK_INDEX_FLAT = 4
};

/* Of `places`: dimension d of the table is found by index k, or is where the space is in dimension d. */
#define TBK_INDEX_BY(k) (-1 - (int64_t)(k))
#define TBK_INDEX_ALONG(d) ((int64_t)(d))

/*
 * tbk::index. No element that is written is one of another place of the same tensor: the tensor that is written
 * has no stride of 0 and no overlap. What is read lies in nothing that is written; but in a gather an
 * index may be `values` exactly, where it has that dtype.
 *
 * A bad index is one outside of its dimension. With TBK_BOUNDS_TRUSTED what it does is open: the host knows
 * that there is none. With TBK_BOUNDS_ZERO its place is left out: the table is not touched there, and a
 * gather gives 0. Then `report`, where it is not NULL, is made 1 + the number of an index that was bad
 * at some place; where none was it stays as it is, so that a host may keep one for many calls and look
 * when it synchronises. TBK_BOUNDS_CLAMP is no policy of this kernel.
 */
#define TBK_NAME_index "tbk::index"
#define TBK_VERSION_index 1u
typedef struct tbk_args_index {
  size_t struct_size;
  int64_t mode;               /* TBK_INDEX_GATHER ... */
  uint64_t flags;             /* TBK_INDEX_NEGATIVE ... */
  int64_t bounds;             /* TBK_BOUNDS_TRUSTED or TBK_BOUNDS_ZERO */
  int64_t index_bits;         /* 32 where every position and element offset fits into it, else 64 */
  const tbk_tensor_t* table;  /* rank 0 to TBK_PROGRAM_MOST_RANK */
  const tbk_tensor_t* values; /* the same; strides of 0 where they are read */
  const tbk_tensor_t* const*
      indices;           /* INT32 or INT64 each, of the sizes of the space; NULL for none */
  size_t index_count;    /* at most TBK_PROGRAM_MOST_RANK */
  const int64_t* places; /* of each dimension of the table; each index is named at least once */
  const tbk_tensor_t* report; /* INT32 of rank 0, or NULL; NULL with TBK_BOUNDS_TRUSTED */
} tbk_args_index_t;

#ifdef __cplusplus
}
#endif

#endif /* TBK_TBK_INDEX_H */
