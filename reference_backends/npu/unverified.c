/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * unverified.c: what this backend relies on and no page of the documentation says. It was never run on a real
 * device; each run says so.
 */
#include <stdio.h>
#include <string.h>

#include "operation.h"

/* X(where, sentence) */
#define UNVERIFIED(X)                                                                              \
  X("context.c", "A thread that had no context keeps the device's: there is no way back to none.") \
  X("context.c", "aclrtGetCurrentContext still succeeds where that context's device was reset.")   \
  X("library.c", "aclFinalize may be called at the process's end, where no device is open.")       \
  X("memory.c", "Copies take addresses and sizes of any alignment; older pages ask for 64 bytes.") \
  X("memory.c", "aclrtMemcpy between device addresses, and aclrtMemset, are complete on return.")  \
  X("bounce.c",                                                                                    \
    "A host function sees what copies before it on its stream put into pinned memory.")            \
  X("pinned.c", "aclrtMallocHost gives multiples of 64, which every device may copy.")             \
  X("pinned.c", "aclrtMemcpy and aclrtMemcpyAsync reach other devices with kind 3 (D2D).")         \
  X("backend.c", "500xxx, 507xxx and 107022 mean that the device is lost, but for four of them.")  \
  X("event.c", "aclrtEventGetTimestamp counts microseconds on every product.")                     \
  X("callback.c", "After an error of aclrtProcessReport, later callbacks still come.")             \
  X("operation.c", "A storage may be described up to the last element that a view reaches.")       \
  X("operation.c", "161002, 561002 and 561003 of phase one are about the operands alone.")         \
  X("recipe.c", "aclDestroyTensorList destroys the tensors of the list too.")                      \
  X("aclnn.def",                                                                                   \
    "Functions take what Ascend/op-plugin gives them, in the types of PyTorch's schema.")          \
  X("recipe.c", "Operators give what PyTorch's do, with its conversions of scalars and dtypes.")

enum { LINE = 240 };

static void tell(const tbk_instance_t* self, const char* what, const char* text) {
  driver_log(&self->host, TBK_LOG_INFO, TBK_LOG_UNVERIFIED "%s%s", what, text);
}

static void tell_functions(const tbk_instance_t* self, char* line) {
  if (line[0] != '\0') tell(self, "acl.h: of these the prototype alone is known: ", line);
  line[0] = '\0';
}

/* Those whose pages were not read, in lines that are shown whole. */
static void add(const tbk_instance_t* self, char line[LINE], const char* page, const char* symbol) {
  if (page[0] == 'D') return;
  if (strlen(line) + strlen(symbol) + sizeof ", " > LINE) tell_functions(self, line);
  const size_t length = strlen(line);
  snprintf(line + length, LINE - length, "%s%s", length > 0 ? ", " : "", symbol);
}

void npu_tell_unverified(const tbk_instance_t* self) {
  char line[LINE] = "";
  if (self->host.log == NULL) return;
#define TELL(where, sentence) tell(self, where ": ", sentence);
  UNVERIFIED(TELL)
#undef TELL
#define ADD(member, symbol, need, page, result, parameters) add(self, line, page, symbol);
  ACL_RUNTIME_MAP(ADD)
  ACL_HANDLE_MAP(ADD)
#undef ADD
  for (int i = 0; i < ACLNN_FUNCTIONS; i++) {
    char symbol[80];
    snprintf(symbol, sizeof symbol, "aclnn%s", npu_aclnn_row((aclnn_function_t)i)->name);
    add(self, line, npu_aclnn_row((aclnn_function_t)i)->page, symbol);
  }
  tell_functions(self, line);
}
