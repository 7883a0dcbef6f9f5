// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#include <c10/util/Exception.h>
#include <c10/util/hash.h>
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

/// Builds one program. What is computed in is `computed_`.
class Writer {
 public:
  Writer(const Row& row, const Types& types)
      : row_(row), types_(types), computed_(computed_in(types.common)) {}

  const Program* write(const Formula& formula) {
    declare();
    c10::SmallVector<Value, 16> values;
    for (uint16_t i = 0; i < formula.count; i++)
      values.push_back(node(formula.nodes[i], values));
    Value result = values.back();
    if (!is_result_bool(row_.rule)) result = builder_.cast(result, types_.common);
    builder_.result(builder_.cast(result, types_.out));
    return builder_.intern();
  }

 private:
  void declare() {
    for (int i = 0; i < 4 && row_.tensors[i] >= 0; i++)
      if (types_.tensors[i] != at::ScalarType::Undefined) {
        const Value loaded = builder_.input(types_.tensors[i]);
        tensors_[i] = is_promoting(i) ? settled(loaded, i) : builder_.cast(loaded, at::kBool);
      }
    for (int i = 0; i < 4 && row_.tensors[i] >= 0; i++)
      if (types_.tensors[i] == at::ScalarType::Undefined) tensors_[i] = number();
    for (int i = 0; i < 4 && row_.numbers[i] >= 0; i++)
      numbers_[i] = number();
  }

  bool is_promoting(int tensor) const {
    return (row_.promoting_tensors >> tensor & 1) != 0;
  }

  Value settled(Value loaded, int tensor) {
    if ((types_.unrounded >> tensor & 1) == 0) loaded = builder_.cast(loaded, types_.common);
    return builder_.cast(loaded, computed_);
  }

  Value number() {
    return builder_.cast(builder_.number(number_dtype(computed_)), computed_);
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
    const Limits limits = limits_of(types_.common);
    return literal(is_least ? limits.least : limits.greatest);
  }

  Value node(const Node& node, const c10::SmallVectorImpl<Value>& values) {
    const auto operand = [&](int i) { return values[static_cast<size_t>(node.operands[i])]; };
    switch (node.kind) {
      case NodeKind::kTensor:
        return tensors_[node.index];
      case NodeKind::kNumber:
        return numbers_[node.index];
      case NodeKind::kLiteral:
        return literal(node.literal);
      case NodeKind::kTruth:
        return builder_.cast(operand(0), at::kBool);
      case NodeKind::kCompute:
        return builder_.cast(operand(0), computed_);
      case NodeKind::kRounded:
        return builder_.cast(builder_.cast(operand(0), types_.common), computed_);
      case NodeKind::kLeast:
        return extreme(true);
      case NodeKind::kGreatest:
        return extreme(false);
      case NodeKind::kLargest:
        return literal(limits_of(types_.common).largest);
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
  Value tensors_[4] = {}, numbers_[4] = {};
};

struct Key {
  const Row* row;
  Types types;
  bool operator==(const Key&) const = default;
};

struct KeyHash {
  size_t operator()(const Key& key) const {
    size_t hash = std::hash<const Row*>()(key.row);
    for (const at::ScalarType each : key.types.tensors)
      hash = c10::hash_combine(hash, static_cast<size_t>(each));
    return c10::hash_combine(hash, (static_cast<size_t>(key.types.common) << 16) |
                                       (static_cast<size_t>(key.types.out) << 8) |
                                       key.types.unrounded);
  }
};

struct Programs {
  std::mutex lock;
  std::unordered_map<Key, const Program*, KeyHash> of;
};

Programs& programs() {
  static auto* instance = new Programs;
  return *instance;
}

}  // namespace

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
  const Formula* formula = formula_of(row, computed_in(types.common));
  if (formula == nullptr) return nullptr;
  std::lock_guard<std::mutex> guard(programs().lock);
  const Program*& program = programs().of[{&row, types}];
  if (program == nullptr) program = Writer(row, types).write(*formula);
  return program;
}

}  // namespace tbk::generic
