// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#include <c10/util/Exception.h>
#include <c10/util/hash.h>
#include <generic/complex_parts.h>
#include <generic/formula.h>

#include <limits>
#include <mutex>
#include <unordered_map>

namespace tbk::generic {
namespace {

bool is_result_bool(DtypeRule rule) {
  return rule == DtypeRule::kCompare || rule == DtypeRule::kPredicate;
}

struct Limits {
  double least, greatest, largest;
};

template <class Integer>
Limits limits_of_integer() {
  using Of = std::numeric_limits<Integer>;
  // As a constant of INT64 the greatest one does not go through a double: see `extreme`.
  return {static_cast<double>(Of::min()), static_cast<double>(Of::max()),
          static_cast<double>(Of::max())};
}

Limits limits_of(at::ScalarType dtype) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  switch (dtype) {
    case at::kBool:
      return {0, 1, 1};
    case at::kByte:
      return limits_of_integer<uint8_t>();
    case at::kChar:
      return limits_of_integer<int8_t>();
    case at::kShort:
      return limits_of_integer<int16_t>();
    case at::kInt:
      return limits_of_integer<int32_t>();
    case at::kHalf:
      return {-kInfinity, kInfinity, 65504};
    case at::kBFloat16:
      return {-kInfinity, kInfinity, 0x1.fep127};
    case at::kFloat:
      return {-kInfinity, kInfinity, std::numeric_limits<float>::max()};
    default:
      return {-kInfinity, kInfinity, std::numeric_limits<double>::max()};
  }
}

/// Builds one program. What is computed in is `computed_`; of complex numbers `imaginary` parts are there, too.
class FormulaWriter {
 public:
  FormulaWriter(const Row& row, const Types& types)
      : row_(row), types_(types), computed_(part_computed_in(types.common)) {}

  const Program* write(const Formula& formula) {
    declare();
    store(computed(formula.nodes, formula.count).back());
    return builder_.intern();
  }
  const Program* write(const ComplexFormula& formula) {
    declare();
    const Values values = computed(formula.nodes, formula.count);
    store(values[static_cast<size_t>(formula.real)]);
    if (formula.imaginary >= 0)
      builder_.result(
          builder_.cast(values[static_cast<size_t>(formula.imaginary)], part_dtype(types_.out)));
    return builder_.intern();
  }

 private:
  using Values = c10::SmallVector<Value, 16>;

  Values computed(const Node* nodes, uint16_t count) {
    Values values;
    for (uint16_t i = 0; i < count; i++)
      values.push_back(node(nodes[i], values));
    return values;
  }

  /// Casts to what the operator gives, then to what is written: of complex numbers the real part.
  void store(Value result) {
    if (!is_result_bool(row_.rule)) result = builder_.cast(result, part_dtype(types_.common));
    builder_.result(builder_.cast(result, part_dtype(types_.out)));
    const bool lacks_imaginary = !is_pair(types_.common) || is_result_bool(row_.rule);
    if (is_pair(types_.out) && lacks_imaginary)
      builder_.result(builder_.cast(builder_.constant(0, computed_in(part_dtype(types_.out))),
                                    part_dtype(types_.out)));
  }

  void declare() {
    for (int i = 0; i < 4 && row_.tensors[i] >= 0; i++)
      if (types_.tensors[i] != at::ScalarType::Undefined) declare_loaded(i);
    for (int i = 0; i < 4 && row_.tensors[i] >= 0; i++)
      if (types_.tensors[i] == at::ScalarType::Undefined)
        tensors_[i] = number(imaginary_tensors_[i]);
    for (int i = 0; i < 4 && row_.numbers[i] >= 0; i++)
      numbers_[i] = number(imaginary_numbers_[i]);
  }

  void declare_loaded(int tensor) {
    const at::ScalarType dtype = types_.tensors[tensor];
    const Value loaded = builder_.input(part_dtype(dtype));
    if (!is_promoting(tensor)) {
      tensors_[tensor] = builder_.cast(loaded, at::kBool);
      return;
    }
    tensors_[tensor] = settled(loaded, tensor);
    if (is_pair(dtype))
      imaginary_tensors_[tensor] = settled(builder_.input(part_dtype(dtype)), tensor);
    else if (is_pair(types_.common))
      imaginary_tensors_[tensor] = literal(0);
  }

  bool is_promoting(int tensor) const {
    return (row_.promoting_tensors >> tensor & 1) != 0;
  }

  Value settled(Value loaded, int tensor) {
    if ((types_.unrounded >> tensor & 1) == 0)
      loaded = builder_.cast(loaded, part_dtype(types_.common));
    return builder_.cast(loaded, computed_);
  }

  Value number(Value& imaginary) {
    const Value real = builder_.cast(builder_.number(number_dtype(computed_)), computed_);
    if (is_pair(types_.common)) imaginary = builder_.number(computed_);
    return real;
  }

  Value literal(double value) {
    return builder_.constant(value, computed_);
  }

  Value extreme(bool is_least) {
    if (computed_ == at::kLong) {
      // The greatest is no double; it is what the least is not.
      const Value least = literal(static_cast<double>(std::numeric_limits<int64_t>::min()));
      return is_least ? least : builder_.apply(TBK_OPCODE_NOT, {least});
    }
    const Limits limits = limits_of(part_dtype(types_.common));
    return literal(is_least ? limits.least : limits.greatest);
  }

  Value node(const Node& node, const c10::SmallVectorImpl<Value>& values) {
    const auto operand = [&](int i) { return values[static_cast<size_t>(node.operands[i])]; };
    switch (node.kind) {
      case NodeKind::kTensor:
        return tensors_[node.index];
      case NodeKind::kNumber:
        return numbers_[node.index];
      case NodeKind::kTensorImaginary:
        return imaginary_tensors_[node.index];
      case NodeKind::kNumberImaginary:
        return imaginary_numbers_[node.index];
      case NodeKind::kLiteral:
        return literal(node.literal);
      case NodeKind::kTruth:
        return builder_.cast(operand(0), at::kBool);
      case NodeKind::kCompute:
        return builder_.cast(operand(0), computed_);
      case NodeKind::kRounded:
        return builder_.cast(builder_.cast(operand(0), part_dtype(types_.common)), computed_);
      case NodeKind::kLeast:
        return extreme(true);
      case NodeKind::kGreatest:
        return extreme(false);
      case NodeKind::kLargest:
        return literal(limits_of(part_dtype(types_.common)).largest);
      case NodeKind::kOpcode:
        break;
    }
    c10::SmallVector<Value, 3> operands;
    for (int i = 0; i < 3 && node.operands[i] >= 0; i++)
      operands.push_back(operand(i));
    return builder_.apply(node.index, operands);
  }

  const Row& row_;
  const Types& types_;
  const at::ScalarType computed_;
  ProgramBuilder builder_;
  Value tensors_[4] = {}, numbers_[4] = {}, imaginary_tensors_[4] = {}, imaginary_numbers_[4] = {};
};

struct FormulaKey {
  const Row* row;
  Types types;
  bool operator==(const FormulaKey&) const = default;
};

struct FormulaKeyHash {
  size_t operator()(const FormulaKey& key) const {
    size_t hash = std::hash<const Row*>()(key.row);
    for (const at::ScalarType each : key.types.tensors)
      hash = c10::hash_combine(hash, static_cast<size_t>(each));
    return c10::hash_combine(hash, (static_cast<size_t>(key.types.common) << 16) |
                                       (static_cast<size_t>(key.types.out) << 8) |
                                       key.types.unrounded);
  }
};

struct FormulaPrograms {
  std::mutex lock;
  std::unordered_map<FormulaKey, const Program*, FormulaKeyHash> of;
};

FormulaPrograms& formula_programs() {
  static auto* instance = new FormulaPrograms;
  return *instance;
}

}  // namespace

bool has_formula(const Row& row, at::ScalarType common) {
  if (is_pair(common)) return row.complex != nullptr;
  return formula_of(row, computed_in(common)) != nullptr;
}

const Formula* formula_of(const Row& row, at::ScalarType computed) {
  switch (computed) {
    case at::kBool:
      return row.truth;
    case at::kInt:
    case at::kLong:
      return row.integer;
    case at::kFloat:
    case at::kDouble:
      return row.real;
    default:
      return nullptr;
  }
}

const Program* program_of(const Row& row, const Types& types) {
  if (!has_formula(row, types.common)) return nullptr;
  std::lock_guard<std::mutex> guard(formula_programs().lock);
  const Program*& program = formula_programs().of[{&row, types}];
  if (program == nullptr)
    program = is_pair(types.common)
                  ? FormulaWriter(row, types).write(*row.complex)
                  : FormulaWriter(row, types).write(*formula_of(row, computed_in(types.common)));
  return program;
}

}  // namespace tbk::generic
