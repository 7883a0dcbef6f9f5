// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// What the three kernels of programs have in common: programs, and sets of operands.
#pragma once

#include <routes.h>

namespace tbk::routes {

using Pointwise = tbk_args_pointwise_t;
using Reduce = tbk_args_reduce_t;
using Scan = tbk_args_scan_t;

/// The kernel that takes arguments of this type.
template <class A>
inline constexpr const char* name_of = nullptr;
template <>
inline constexpr const char* name_of<Pointwise> = TBK_NAME_pointwise;
template <>
inline constexpr const char* name_of<Reduce> = TBK_NAME_reduce;
template <>
inline constexpr const char* name_of<Scan> = TBK_NAME_scan;

/// Returns the program whose numbers and results a launch is made for.
inline const tbk_program_t& first_program(const Pointwise& a) {
  return *a.program;
}
template <class A>
const tbk_program_t& first_program(const A& a) {
  return *a.reduction->map;
}

inline size_t count_inputs(const Pointwise& a) {
  return a.program->input_count;
}
template <class A>
size_t count_inputs(const A& a) {
  return a.reduction->map->input_count + a.reduction->finish->input_count;
}

/// Calls `change` with a copy of each set, and of its list of inputs. Returns whether one was changed.
template <class A, class Each>
bool each_set(A& a, Scratch& scratch, Each change) {
  const tbk_operand_set_t** sets = scratch.copy(a.sets, a.set_count);
  bool changed = false;
  for (size_t i = 0; i < a.set_count; i++) {
    tbk_operand_set_t* set = scratch.copy(*sets[i]);
    const tbk_tensor_t** inputs = scratch.copy(set->inputs, count_inputs(a));
    set->inputs = inputs;
    sets[i] = set;
    changed = change(*set, inputs) || changed;
  }
  a.sets = sets;
  return changed;
}

/// Calls `change` with a copy of each program. Returns whether one was changed.
template <class Each>
bool each_program(Pointwise& a, Scratch& scratch, Each change) {
  tbk_program_t* own = scratch.copy(*a.program);
  a.program = own;
  return change(*own);
}
template <class A, class Each>
bool each_program(A& a, Scratch& scratch, Each change) {
  tbk_reduction_t* reduction = scratch.copy(*a.reduction);
  bool changed = false;
  for (const tbk_program_t** one : {&reduction->map, &reduction->combine, &reduction->finish}) {
    tbk_program_t* own = scratch.copy(**one);
    *one = own;
    changed = change(*own) || changed;
  }
  a.reduction = reduction;
  return changed;
}

/// Makes a load that trusts its indices one that does not, as what is changed may be an index.
inline void distrust(tbk_instruction_t& step) {
  if (step.opcode == TBK_OPCODE_LOAD && step.operand_count > 0 && step.bounds == TBK_BOUNDS_TRUSTED)
    step.bounds = TBK_BOUNDS_CLAMP;
}

/// Calls `change` with a copy of each instruction, and of the list of operands. Returns whether one
/// was changed.
template <class Each>
bool each_step(tbk_program_t& program, Scratch& scratch, Each change) {
  tbk_instruction_t* steps = scratch.copy(program.instructions, program.instruction_count);
  uint32_t* operands = scratch.copy(program.operands, program.operand_count);
  program.instructions = steps;
  program.operands = operands;
  bool changed = false;
  for (size_t i = 0; i < program.instruction_count; i++) {
    distrust(steps[i]);
    changed = change(steps[i], operands) || changed;
  }
  return changed;
}

/// Makes number or constant `bits` another one; of what counts something, never 0. Returns false where there is none.
bool make_other(uint64_t& bits, int32_t dtype);

}  // namespace tbk::routes
