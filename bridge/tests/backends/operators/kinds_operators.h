/* The argument structs of kinds.yml, made by `tbk operators`; do not edit. */
#ifndef KINDS_OPERATORS_H
#define KINDS_OPERATORS_H

#include <tbk/tbk_arguments.h>

#ifdef __cplusplus
extern "C" {
#endif

/* clang-format off */

/* total(Tensor x, Tensor? y, Tensor[] list, int i, int? j, float f, float? g, bool b, Scalar s, Scalar? t, int[] ints, float[] floats, bool[2] bools, str text, ScalarType dtype, ScalarType? other, *, int last=0) -> (Tensor sum, Tensor none) */
#define TBK_NAME_kinds__total "kinds::total"
#define TBK_VERSION_kinds__total 3u
typedef struct tbk_args_kinds__total {
  size_t struct_size;
  const tbk_tensor_t* x;
  const tbk_tensor_t* y;
  tbk_tensor_list_t list;
  int64_t i;
  const int64_t* j;
  double f;
  const double* g;
  int64_t b;
  tbk_scalar_t s;
  const tbk_scalar_t* t;
  tbk_int_list_t ints;
  tbk_double_list_t floats;
  tbk_bool_list_t bools;
  const char* text;
  int64_t dtype;
  const int64_t* other;
  int64_t last;
  const tbk_tensor_t* sum; /* output */
  const tbk_tensor_t* none; /* output */
} tbk_args_kinds__total_t;

/* clang-format on */

#ifdef __cplusplus
}
#endif

#endif /* KINDS_OPERATORS_H */
