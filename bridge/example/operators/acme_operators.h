/* The argument structs of acme.yml, made by `tbk operators`; do not edit. */
#ifndef ACME_OPERATORS_H
#define ACME_OPERATORS_H

#include <tbk/tbk_arguments.h>

#ifdef __cplusplus
extern "C" {
#endif

/* clang-format off */

/* swish(Tensor x, float beta=1.0) -> Tensor */
#define TBK_NAME_acme__swish "acme::swish"
#define TBK_VERSION_acme__swish 1u
typedef struct tbk_args_acme__swish {
  size_t struct_size;
  const tbk_tensor_t* x;
  double beta;
  const tbk_tensor_t* out; /* output */
} tbk_args_acme__swish_t;

/* swish_backward(Tensor grad, Tensor x, float beta) -> Tensor */
#define TBK_NAME_acme__swish_backward "acme::swish_backward"
#define TBK_VERSION_acme__swish_backward 1u
typedef struct tbk_args_acme__swish_backward {
  size_t struct_size;
  const tbk_tensor_t* grad;
  const tbk_tensor_t* x;
  double beta;
  const tbk_tensor_t* out; /* output */
} tbk_args_acme__swish_backward_t;

/* row_norms(Tensor x) -> Tensor */
#define TBK_NAME_acme__row_norms "acme::row_norms"
#define TBK_VERSION_acme__row_norms 1u
typedef struct tbk_args_acme__row_norms {
  size_t struct_size;
  const tbk_tensor_t* x;
  const tbk_tensor_t* out; /* output */
} tbk_args_acme__row_norms_t;

/* scale_(Tensor(a!) x, float by) -> () */
#define TBK_NAME_acme__scale_ "acme::scale_"
#define TBK_VERSION_acme__scale_ 1u
typedef struct tbk_args_acme__scale_ {
  size_t struct_size;
  const tbk_tensor_t* x; /* output */
  double by;
} tbk_args_acme__scale__t;

/* clang-format on */

#ifdef __cplusplus
}
#endif

#endif /* ACME_OPERATORS_H */
