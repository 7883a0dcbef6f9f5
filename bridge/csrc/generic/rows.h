// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// What contracts/spec/operators says of an operator, as tables that a generator writes. Nothing here
// has a dtype yet: programs are made of these for the dtypes that a call brings.
#pragma once

#include <cstdint>

namespace tbk::generic {

/// One step of a formula. Nodes stand in order: each names earlier ones.
enum class NodeKind : uint8_t {
  kTensor,   ///< Tensor argument `index` of the row, cast to the dtype that is computed in.
  kNumber,   ///< Number argument `index` of the row, cast to the dtype that is computed in.
  kLiteral,  ///< `literal`, in the dtype that is computed in.
  kOpcode,   ///< TBK_OPCODE_... `index` of `operands`.
  kTruth,    ///< Operand 0 as a BOOL.
  kCompute,  ///< Operand 0, a BOOL, cast to the dtype that is computed in.
};

struct Node {
  NodeKind kind;
  uint8_t index;
  int16_t operands[3];  ///< -1 where there is none.
  double literal;
};

struct Formula {
  const Node* nodes;
  uint16_t count;  ///< 0: not for this kind of number; the last node is the result.
};

/// How the dtypes of a call follow from those of its operands.
enum class DtypeRule : uint8_t {
  kPromote,         ///< Computed and returned in PyTorch's result_type of tensors and numbers.
  kPromoteToFloat,  ///< The same; integers and truth values become the default dtype.
  kCompare,         ///< Computed in the result_type, returned as BOOL.
  kSelf,            ///< Computed and returned in the dtype of the first tensor.
  kPredicate,       ///< Computed in the dtype of the first tensor, returned as BOOL.
};

/// Which of the forms of an operator an overload is.
enum class Form : uint8_t { kFunction, kInPlace, kOut };

struct Row {
  const char* overload;  ///< As PyTorch names it: "add.Tensor".
  Form form;
  DtypeRule rule;
  /// Where the arguments of the schema go: tensors and numbers of the formula, in their order, as
  /// positions in the schema; -1 ends.
  int8_t tensors[4];
  int8_t numbers[4];
  /// For truth values, integers and real numbers; what is computed in decides.
  Formula truth, integer, real;
};

/// All rows, sorted by overload.
extern const Row kPointwiseRows[];
extern const int kPointwiseRowCount;

}  // namespace tbk::generic
