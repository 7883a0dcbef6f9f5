/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * operators.h: prototypes of some operators, for tests that call them as programs do; see aclnn.def.
 */
#ifndef SIM_TESTS_OPERATORS_H
#define SIM_TESTS_OPERATORS_H

#include "../../acl.h"

/* X(member, name, page, what of phase one comes before the two out parameters) */
#define ACL_OPERATOR_MAP(X)                                                                      \
  X(fill, "InplaceFillScalar", "O FillKernel:25", acl_tensor* self, const acl_scalar* value)     \
  X(zero, "InplaceZero", "O Zeros", acl_tensor* self)                                            \
  X(copy, "InplaceCopy", "T CopyKernelOpApi:41", acl_tensor* self, const acl_tensor* source)     \
  X(add, "Add", "O AddKernel:54", const acl_tensor* self, const acl_tensor* other,               \
    const acl_scalar* alpha, acl_tensor* out)                                                    \
  X(mul, "Mul", "O MulKernel:41", const acl_tensor* self, const acl_tensor* other,               \
    acl_tensor* out)                                                                             \
  X(where, "SWhere", "O WhereKernel:77", const acl_tensor* condition, const acl_tensor* self,    \
    const acl_tensor* other, acl_tensor* out)                                                    \
  X(sum, "ReduceSum", "O SumKernel", const acl_tensor* self, const acl_ints* dims, bool keepdim, \
    int dtype, acl_tensor* out)                                                                  \
  X(mm, "Mm", "O Mm:53", const acl_tensor* self, const acl_tensor* mat2, acl_tensor* out,        \
    int8_t cube_math_type)

typedef struct operators {
#define ACL_PHASES(member, name, page, ...)                                                      \
  struct {                                                                                       \
    acl_result (*plan)(__VA_ARGS__, uint64_t* out_workspace_bytes, acl_executor** out_executor); \
    acl_issue issue;                                                                             \
  } member;
  ACL_OPERATOR_MAP(ACL_PHASES)
#undef ACL_PHASES
} operators_t;

#endif /* SIM_TESTS_OPERATORS_H */
