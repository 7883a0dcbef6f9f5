// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// What contracts/spec/operators says of an operator, as tables that a generator writes. Nothing here
// has a dtype yet: programs are made of these for the dtypes that a call brings.
#pragma once

#include <cstdint>

namespace tbk::generic {

/// One step of a formula. Nodes stand in order: each names earlier ones.
enum class NodeKind : uint8_t {
  kTensor,           ///< Tensor argument `index` of the row, cast to the dtype that is computed in.
  kNumber,           ///< Number argument `index` of the row, cast to the dtype that is computed in.
  kTensorImaginary,  ///< The imaginary part of kTensor, which is the real one then. 0 of one that has none.
  kNumberImaginary,  ///< The same of kNumber.
  kLiteral,          ///< `literal`, in the dtype that is computed in.
  kOpcode,           ///< TBK_OPCODE_... `index` of `operands`.
  kTruth,            ///< Operand 0 as a BOOL.
  kCompute,          ///< Operand 0, a BOOL, cast to the dtype that is computed in.
  kRounded,   ///< Operand 0 as the dtype of the call holds it, in the dtype that is computed in.
  kLeast,     ///< The least number: -infinity, or the least of the integers of the result.
  kGreatest,  ///< The greatest.
  kLargest,   ///< The largest number of the result that is finite.
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

/// Of complex numbers, in nodes that compute with their parts.
struct ComplexFormula {
  const Node* nodes;
  uint16_t count;
  int16_t real, imaginary;  ///< Places of the result's parts; -1: it is real, or a BOOL.
};

/// How the dtypes of a call follow from those of its operands.
enum class DtypeRule : uint8_t {
  kPromote,         ///< Computed and returned in PyTorch's result_type of tensors and numbers.
  kPromoteToFloat,  ///< The same; integers and truth values become the default dtype.
  kCompare,         ///< Computed in the result_type, returned as BOOL.
  kSelf,            ///< Computed and returned in the dtype of the first tensor that takes part.
  kPredicate,       ///< Computed in the dtype of the first tensor, returned as BOOL.
  kSame,            ///< As kSelf; where the tensors have more than one dtype, not for this row.
};

/// Which of the forms of an operator an overload is.
enum class Form : uint8_t { kFunction, kInPlace, kOut };

/// What has to hold of one argument, by its position in the schema. Truth values are integers.
enum class Is : uint8_t {
  kAbsent,
  kPresent,
  kInteger,
  kText,
  kNotNegative,
  kPositive,
  kNotNegativeFinite
};
struct Condition {
  int8_t argument;
  Is is;
  int64_t integer;
  const char* text;
};

/// kDividesIntegers: PyTorch's CPU raises where an integer is divided by zero. kExactNumbers: a single
/// number is not rounded to half precision before it is computed with. kRefusesTruth: PyTorch raises where
/// a tensor or number that takes part is a truth value. kRefusesHalf: PyTorch's CPU raises for what is
/// computed in half precision. kRefusesIntegerRatio: PyTorch raises where all tensors but the first are integers
/// or truth values. kSameOutput: PyTorch raises for an output of another dtype than the result.
/// kContiguousReal: a new tensor of real numbers, made of complex ones, has contiguous strides.
/// kSecondFirst: PyTorch's kernel reads the second of two tensors first, whose strides count more then.
/// kFirstRounded: of exact numbers all but the first tensor, as PyTorch's CPU divides.
enum : uint16_t {
  kDividesIntegers = 1,
  kExactNumbers = 2,
  kRefusesTruth = 4,
  kRefusesHalf = 8,
  kRefusesIntegerRatio = 16,
  kSameOutput = 32,
  kContiguousReal = 64,
  kSecondFirst = 128,
  kFirstRounded = 256,
};

/// What a call of an overload comes to. Of several rows of one overload the first stands for a call
/// whose conditions hold. An operator in place writes the first argument of its schema, one with an
/// output the last.
struct Row {
  const char* overload;  ///< As PyTorch names it: "add.Tensor".
  Form form;
  DtypeRule rule;
  /// Where the arguments of the schema go: tensors and numbers of the formula, in their order, as
  /// positions in the schema; -1 ends.
  int8_t tensors[4];
  int8_t numbers[4];
  uint8_t promoting;          ///< Bit i: numbers[i] takes part in the result_type.
  uint8_t promoting_tensors;  ///< Bit i: tensors[i] does; else it is a truth value.
  uint8_t checked;            ///< Bit i: numbers[i] is of no higher kind than the result.
  uint16_t flags;
  const Condition* conditions;
  uint8_t condition_count;
  /// For truth values, integers and real numbers; what is computed in decides. NULL: not for these.
  const Formula* truth;
  const Formula* integer;
  const Formula* real;
  const ComplexFormula* complex;  ///< The same for complex numbers.
};

/// All rows, sorted by overload.
extern const Row kPointwiseRows[];
extern const int kPointwiseRowCount;

}  // namespace tbk::generic
