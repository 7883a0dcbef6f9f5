// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// Operands, numbers and states of programs that are handed over wrong.
#include <c10/core/ScalarType.h>
#include <routes_sets.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace tbk::routes {
namespace {

template <class Real, class Bits>
bool make_other_real(uint64_t& bits) {
  Real value;
  auto narrow = static_cast<Bits>(bits);
  std::memcpy(&value, &narrow, sizeof value);
  if (!std::isfinite(value)) return false;
  value = value * Real(1.5) + Real(0.25);
  std::memcpy(&narrow, &value, sizeof value);
  bits = narrow;
  return true;
}

template <class A>
bool hold_first(A& a, Scratch& scratch) {
  return each_set(a, scratch, [&](tbk_operand_set_t&, const tbk_tensor_t** inputs) {
    return count_inputs(a) > 0 && hold_still(inputs[0], 0, inputs[0]->rank - 1, scratch);
  });
}

template <class A>
bool hold_last(A& a, Scratch& scratch) {
  return each_set(a, scratch, [&](tbk_operand_set_t&, const tbk_tensor_t** inputs) {
    const size_t count = count_inputs(a);
    const auto last = count > 1 ? count - 1 : 0;
    return last > 0 && hold_still(inputs[last], 0, inputs[last]->rank - 1, scratch);
  });
}

template <class A>
bool turn_first(A& a, Scratch& scratch) {
  return each_set(a, scratch, [&](tbk_operand_set_t&, const tbk_tensor_t** inputs) {
    return count_inputs(a) > 0 && exchange(inputs[0], 0, 1, scratch);
  });
}

/// An input that is broadcast is read as one that lies closely packed, as far as that goes.
template <class A>
bool pack_broadcast(A& a, Scratch& scratch) {
  return each_set(a, scratch, [&](tbk_operand_set_t&, const tbk_tensor_t** inputs) {
    bool changed = false;
    for (size_t i = 0; i < count_inputs(a); i++) {
      const tbk_tensor_t* before = inputs[i];
      int64_t* strides = own_strides(inputs[i], scratch);
      for (int32_t d = 0; d < before->rank; d++)
        if (strides[d] == 0) strides[d] = 1;
      const bool counts = !std::equal(strides, strides + before->rank, before->strides);
      if (counts && is_inside(*inputs[i]))
        changed = true;
      else
        inputs[i] = before;
    }
    return changed;
  });
}

bool are_alike(const tbk_tensor_t& one, const tbk_tensor_t& other) {
  return one.dtype == other.dtype && one.rank == other.rank &&
         std::equal(one.sizes, one.sizes + one.rank, other.sizes) && one.memory != other.memory;
}

template <class A>
bool exchange_inputs(A& a, Scratch& scratch) {
  if (first_program(a).input_count < 2 ||
      first_program(a).inputs[0].kind != first_program(a).inputs[1].kind)
    return false;
  return each_set(a, scratch, [](tbk_operand_set_t&, const tbk_tensor_t** inputs) {
    if (!are_alike(*inputs[0], *inputs[1])) return false;
    std::swap(inputs[0], inputs[1]);
    return true;
  });
}

/// Returns whether a result of the program depends on number `slot`.
bool is_read(const tbk_program_t& program, size_t slot) {
  std::vector<bool> counts(program.instruction_count, false);
  for (size_t i = 0; i < program.result_count; i++)
    counts[program.results[i]] = true;
  bool found = false;
  for (size_t i = program.instruction_count; i-- > 0;) {
    const tbk_instruction_t& step = program.instructions[i];
    if (!counts[i]) continue;
    found = found || (step.opcode == TBK_OPCODE_NUMBER && step.slot == slot);
    for (uint32_t k = 0; k < step.operand_count; k++)
      counts[program.operands[step.operand_first + k]] = true;
  }
  return found;
}

template <class A, size_t place>
bool change_number(A& a, Scratch& scratch) {
  const size_t count = first_program(a).number_count;
  const bool counts = each_program(a, scratch, [&](tbk_program_t& program) {
    each_step(program, scratch, [](tbk_instruction_t&, uint32_t*) { return false; });
    return is_read(program, place);
  });
  return counts && each_set(a, scratch, [&](tbk_operand_set_t& set, const tbk_tensor_t**) {
           uint64_t* numbers = scratch.copy(set.numbers, count);
           set.numbers = numbers;
           return make_other(numbers[place], first_program(a).numbers[place]);
         });
}

template <class A>
bool lose_last_set(A& a, Scratch&) {
  if (a.set_count < 2) return false;
  a.set_count--;
  return true;
}

template <class A>
bool share_numbers(A& a, Scratch& scratch) {
  const size_t count = first_program(a).number_count;
  return each_set(a, scratch, [&](tbk_operand_set_t& set, const tbk_tensor_t**) {
    const uint64_t* first = a.sets[0]->numbers;
    const bool differs = !std::equal(first, first + count, set.numbers);
    set.numbers = first;
    return differs;
  });
}

bool change_identity(Reduce& a, Scratch& scratch) {
  tbk_reduction_t* reduction = scratch.copy(*a.reduction);
  const tbk_program_t& map = *reduction->map;
  uint64_t* identity = scratch.copy(reduction->identity, map.result_count);
  for (size_t i = 0; i < map.result_count; i++)
    if (!make_other(identity[i], map.instructions[map.results[i]].dtype)) identity[i] = 0;
  reduction->identity = identity;
  a.reduction = reduction;
  return true;
}

bool lose_last_of_inner(Reduce& a, Scratch& scratch) {
  return each_set(a, scratch, [&](tbk_operand_set_t& set, const tbk_tensor_t** inputs) {
    if (set.inner_rank == 0 || set.inner_sizes[set.inner_rank - 1] < 2) return false;
    int64_t* sizes = scratch.copy(set.inner_sizes, set.inner_rank);
    sizes[set.inner_rank - 1]--;
    set.inner_sizes = sizes;
    for (size_t i = 0; i < a.reduction->map->input_count; i++)
      if (a.reduction->map->inputs[i].kind == TBK_INPUT_ALIGNED)
        shorten(inputs[i], inputs[i]->rank - 1, scratch);
    return true;
  });
}

bool turn_scan(Scan& a, Scratch&) {
  a.flags ^= TBK_SCAN_REVERSE;
  return true;
}

template <class A>
constexpr Fault table[] = {
    {"the first input is one element", name_of<A>, on<A, hold_first<A>>},
    {"the first input is turned", name_of<A>, on<A, turn_first<A>>},
    {"the last input is one element", name_of<A>, on<A, hold_last<A>>},
    {"what is broadcast is packed", name_of<A>, on<A, pack_broadcast<A>>},
    {"two inputs are exchanged", name_of<A>, on<A, exchange_inputs<A>>},
    {"the last set is lost", name_of<A>, on<A, lose_last_set<A>>},
    {"number 0 is another", name_of<A>, on<A, change_number<A, 0>>},
    {"number 1 is another", name_of<A>, on<A, change_number<A, 1>>},
    {"number 2 is another", name_of<A>, on<A, change_number<A, 2>>},
    {"number 3 is another", name_of<A>, on<A, change_number<A, 3>>},
    {"number 4 is another", name_of<A>, on<A, change_number<A, 4>>},
    {"number 5 is another", name_of<A>, on<A, change_number<A, 5>>},
    {"number 6 is another", name_of<A>, on<A, change_number<A, 6>>},
    {"number 7 is another", name_of<A>, on<A, change_number<A, 7>>},
};

constexpr Fault state_table[] = {
    {"all sets have the numbers of the first", TBK_NAME_pointwise,
     on<Pointwise, share_numbers<Pointwise>>},
    {"the identity is another", TBK_NAME_reduce, on<Reduce, change_identity>},
    {"the last of what goes is lost", TBK_NAME_reduce, on<Reduce, lose_last_of_inner>},
    {"the first input is one element", TBK_NAME_scan, on<Scan, hold_first<Scan>>},
    {"the direction is the other", TBK_NAME_scan, on<Scan, turn_scan>},
};

}  // namespace

bool make_other(uint64_t& bits, int32_t dtype) {
  switch (static_cast<c10::ScalarType>(dtype)) {
    case c10::ScalarType::Float:
      return make_other_real<float, uint32_t>(bits);
    case c10::ScalarType::Double:
      return make_other_real<double, uint64_t>(bits);
    case c10::ScalarType::Bool:
      bits ^= 1;
      return true;
    case c10::ScalarType::Int:
      bits = bits == 1 ? 2 : static_cast<uint32_t>(bits - 1);
      return true;
    case c10::ScalarType::Long:
      bits = bits == 1 ? 2 : bits - 1;
      return true;
    default:
      return false;
  }
}

Faults pointwise_operand_faults() {
  return all_of(table<Pointwise>);
}

Faults reduce_operand_faults() {
  return all_of(table<Reduce>);
}

Faults state_faults() {
  return all_of(state_table);
}

}  // namespace tbk::routes
