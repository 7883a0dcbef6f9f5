/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * shim_driver.h: the driver of npu, for the shim: the runtime, both phases of each operator by hand, and of some
 * of those by name: all of these are called by the same few lines.
 */
#ifndef SIM_SHIM_DRIVER_H
#define SIM_SHIM_DRIVER_H

#include "../operators.h"

#define SHIM_NAME "NPU"
#define SHIM_BEHIND "libtbk_npu_simulator.so"
#define SHIM_MARKER tbk_npu_simulator
#define SHIM_OF_RUNTIME(member, symbol, need, page, result, parameters) \
  SHIM_ROW(member, symbol, #result, #parameters)
#define SHIM_OF_PHASES(member, name, page, ...)                                              \
  SHIM_ROW(plan_##member, ACL_PHASE_ONE_SYMBOL(name), "acl_result",                          \
           "(" #__VA_ARGS__ ", uint64_t* out_workspace_bytes, acl_executor** out_executor)") \
  SHIM_ROW(issue_##member, ACL_PHASE_TWO_SYMBOL(name), "acl_result",                         \
           "(void* workspace, uint64_t workspace_bytes, acl_executor* executor, acl_stream " \
           "stream)")
/* X(member, name, what of phase one comes before the two out parameters) */
#define SHIM_NAMED_MAP(X)                                      \
  X(exp, "Exp", page, const acl_tensor* self, acl_tensor* out) \
  X(cat, "Cat", page, const acl_list* tensors, int64_t dim, acl_tensor* out)
#define SHIM_MAP                   \
  ACL_RUNTIME_MAP(SHIM_OF_RUNTIME) \
  ACL_HANDLE_MAP(SHIM_OF_RUNTIME)  \
  ACL_OPERATOR_MAP(SHIM_OF_PHASES) \
  SHIM_NAMED_MAP(SHIM_OF_PHASES)

#endif /* SIM_SHIM_DRIVER_H */
