// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// Programs that compute something else.
#include <c10/core/ScalarType.h>
#include <routes_sets.h>

#include <utility>

namespace tbk::routes {
namespace {

template <uint16_t opcode, uint16_t instead>
bool replace(tbk_instruction_t& step, uint32_t*) {
  if (step.opcode != opcode) return false;
  step.opcode = instead;
  return true;
}

/// A position in the space is 0.
template <uint16_t opcode>
bool make_zero(tbk_instruction_t& step, uint32_t*) {
  if (step.opcode != opcode) return false;
  step.opcode = TBK_OPCODE_CONSTANT;
  step.slot = 0;
  return true;
}

template <bool answer>
bool decide(tbk_instruction_t& step, uint32_t* operands) {
  if (step.opcode != TBK_OPCODE_SELECT) return false;
  uint32_t* chosen = operands + step.operand_first;
  chosen[answer ? 2 : 1] = chosen[answer ? 1 : 2];
  return true;
}

bool change_constant(tbk_instruction_t& step, uint32_t*) {
  return step.opcode == TBK_OPCODE_CONSTANT && make_other(step.immediate, step.dtype);
}

/// Another word of the same block.
bool change_word(tbk_instruction_t& step, uint32_t*) {
  if (step.opcode != TBK_OPCODE_PHILOX) return false;
  step.slot ^= 1;
  return true;
}

template <class A, bool (*change)(tbk_instruction_t&, uint32_t*)>
bool rewrite(A& a, Scratch& scratch) {
  return each_program(a, scratch,
                      [&](tbk_program_t& program) { return each_step(program, scratch, change); });
}

/// Copies a program step by step, with steps of its own between them.
class Rewriter {
 public:
  explicit Rewriter(const tbk_program_t& program) : program_(program) {}

  /// Computes with values as if they had come in a narrower dtype.
  bool round_loads(c10::ScalarType narrow) {
    bool changed = false;
    for (size_t i = 0; i < program_.instruction_count; i++) {
      const tbk_instruction_t& step = program_.instructions[i];
      uint32_t value = add(step);
      const auto dtype = static_cast<c10::ScalarType>(step.dtype);
      if (step.opcode == TBK_OPCODE_LOAD &&
          (dtype == c10::ScalarType::Float || dtype == c10::ScalarType::Double)) {
        value = add_cast(add_cast(value, narrow), dtype);
        changed = true;
      }
      names_.push_back(value);
    }
    return changed;
  }

  void write(tbk_program_t& to, Scratch& scratch) const {
    to.instructions = scratch.copy(steps_.data(), steps_.size());
    to.instruction_count = steps_.size();
    to.operands = scratch.copy(operands_.data(), operands_.size());
    to.operand_count = operands_.size();
    uint32_t* results = scratch.copy(program_.results, program_.result_count);
    for (size_t i = 0; i < program_.result_count; i++)
      results[i] = names_[results[i]];
    to.results = results;
  }

 private:
  uint32_t add(tbk_instruction_t step) {
    const uint32_t* given = program_.operands + step.operand_first;
    step.operand_first = step.operand_count == 0 ? 0 : static_cast<uint32_t>(operands_.size());
    for (uint32_t k = 0; k < step.operand_count; k++)
      operands_.push_back(names_[given[k]]);
    steps_.push_back(step);
    return static_cast<uint32_t>(steps_.size() - 1);
  }
  uint32_t add_cast(uint32_t value, c10::ScalarType dtype) {
    const auto place = static_cast<uint32_t>(operands_.size());
    operands_.push_back(value);
    steps_.push_back({TBK_OPCODE_CAST, static_cast<uint16_t>(dtype), 0, 0, place, 1, 0});
    return static_cast<uint32_t>(steps_.size() - 1);
  }

  const tbk_program_t program_;
  std::vector<tbk_instruction_t> steps_;
  std::vector<uint32_t> operands_, names_;
};

template <class A>
bool round_loads(A& a, Scratch& scratch) {
  return each_program(a, scratch, [&](tbk_program_t& program) {
    Rewriter rewriter(program);
    const bool changed = rewriter.round_loads(c10::ScalarType::Half);
    rewriter.write(program, scratch);
    return changed;
  });
}

template <class A, uint16_t opcode, uint16_t instead>
constexpr Change instead_of = on<A, rewrite<A, replace<opcode, instead>>>;

template <class A>
constexpr Fault table[] = {
    {"ADD is SUB", name_of<A>, instead_of<A, TBK_OPCODE_ADD, TBK_OPCODE_SUB>},
    {"SUB is ADD", name_of<A>, instead_of<A, TBK_OPCODE_SUB, TBK_OPCODE_ADD>},
    {"MUL is ADD", name_of<A>, instead_of<A, TBK_OPCODE_MUL, TBK_OPCODE_ADD>},
    {"MAX is MIN", name_of<A>, instead_of<A, TBK_OPCODE_MAX, TBK_OPCODE_MIN>},
    {"ISNAN is SIGNBIT", name_of<A>, instead_of<A, TBK_OPCODE_ISNAN, TBK_OPCODE_SIGNBIT>},
    {"EQ is NE", name_of<A>, instead_of<A, TBK_OPCODE_EQ, TBK_OPCODE_NE>},
    {"LT is GE", name_of<A>, instead_of<A, TBK_OPCODE_LT, TBK_OPCODE_GE>},
    {"EXP is EXPM1", name_of<A>, instead_of<A, TBK_OPCODE_EXP, TBK_OPCODE_EXPM1>},
    {"conditions hold", name_of<A>, on<A, rewrite<A, decide<true>>>},
    {"conditions fail", name_of<A>, on<A, rewrite<A, decide<false>>>},
    {"constants are others", name_of<A>, on<A, rewrite<A, change_constant>>},
    {"positions are 0", name_of<A>, on<A, rewrite<A, make_zero<TBK_OPCODE_LINEAR_INDEX>>>},
    {"operands are rounded to half precision", name_of<A>, on<A, round_loads<A>>},
};

/// Of what no running reduction has.
template <class A>
constexpr Fault more_table[] = {
    {"DIV is MUL", name_of<A>, instead_of<A, TBK_OPCODE_DIV, TBK_OPCODE_MUL>},
    {"MIN is MAX", name_of<A>, instead_of<A, TBK_OPCODE_MIN, TBK_OPCODE_MAX>},
    {"GT is LE", name_of<A>, instead_of<A, TBK_OPCODE_GT, TBK_OPCODE_LE>},
    {"SQRT is ABS", name_of<A>, instead_of<A, TBK_OPCODE_SQRT, TBK_OPCODE_ABS>},
    {"coordinates are 0", name_of<A>, on<A, rewrite<A, make_zero<TBK_OPCODE_COORDINATE>>>},
};

constexpr Fault random_table[] = {
    {"random words are others", TBK_NAME_pointwise, on<Pointwise, rewrite<Pointwise, change_word>>},
};

}  // namespace

Faults pointwise_faults() {
  return all_of(table<Pointwise>);
}

Faults more_pointwise_faults() {
  return all_of(more_table<Pointwise>);
}

Faults reduce_faults() {
  return all_of(table<Reduce>);
}

Faults more_reduce_faults() {
  return all_of(more_table<Reduce>);
}

Faults scan_faults() {
  return all_of(table<Scan>);
}

Faults random_faults() {
  return all_of(random_table);
}

}  // namespace tbk::routes
