// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <c10/core/ScalarType.h>
#include <c10/util/ArrayRef.h>
#include <c10/util/SmallVector.h>
#include <tbk/tbk_program.h>

#include <cstdint>
#include <vector>

namespace tbk::generic {

/// Names a value of a program that is being built: the number of its instruction.
using Value = uint32_t;

/// Holds a program for ever: its address is its identity, for plans and for backends that keep what
/// they made of one.
struct Program {
  tbk_program_t view;
  uint64_t dtypes;  ///< Those that it loads, computes with and stores, as bits.

  std::vector<tbk_program_input_t> inputs;
  std::vector<uint16_t> numbers, parameters;
  std::vector<tbk_instruction_t> instructions;
  std::vector<uint32_t> operands, results;
};

/// Builds a program instruction by instruction. Equal instructions become one. One thread; built on
/// the stack, interned, gone.
class ProgramBuilder {
 public:
  /// Declares the next input, number or parameter, and returns a value that reads it. A number is
  /// of BOOL, INT64, FLOAT32 or FLOAT64.
  Value input(at::ScalarType dtype);
  Value number(at::ScalarType dtype);
  Value parameter(at::ScalarType dtype);
  /// Returns `value` as a constant of `dtype`, which is one of those that are computed with.
  Value constant(double value, at::ScalarType dtype);
  Value infinity(at::ScalarType dtype, bool is_negative);
  /// Returns the position in the space, an INT64.
  Value linear_index();
  /// Returns the position along a dimension of the space, an INT64. Its launch keeps dimensions.
  Value coordinate(uint16_t dimension);
  /// Declares the next input as one that `load` reads, of `rank` dimensions; returns its slot.
  uint16_t indexed_input(at::ScalarType dtype, uint16_t rank);
  /// Returns the element of such an input at `indices`, an INT64 for each of its dimensions; `bounds` is
  /// one of TBK_BOUNDS_...
  Value load(uint16_t slot, c10::ArrayRef<Value> indices, uint16_t bounds);
  /// Returns a random word of 32 bits as an INT64: `word` (0 to 3) of the block `first` + `number` of
  /// `seed`'s; all INT64.
  Value random_word(uint16_t word, Value seed, Value first, Value number);
  /// Returns `value` as `dtype`: itself where it is that already.
  Value cast(Value value, at::ScalarType dtype);
  /// Returns what `opcode` makes of `operands`. They are of the dtypes that it takes.
  Value apply(uint16_t opcode, c10::ArrayRef<Value> operands);
  Value apply(uint16_t opcode, std::initializer_list<Value> operands) {
    return apply(opcode, c10::ArrayRef<Value>(operands.begin(), operands.size()));
  }
  /// Returns `yes` where `condition` holds, a BOOL, and `no` elsewhere; both are computed.
  Value select(Value condition, Value yes, Value no) {
    return apply(TBK_OPCODE_SELECT, {condition, yes, no});
  }
  void result(Value value);

  at::ScalarType dtype_of(Value value) const;
  /// Returns the one program of this content. The builder is used up. Any thread.
  const Program* intern();

 private:
  Value add(tbk_instruction_t instruction, c10::ArrayRef<Value> operands = {});

  Program program_{};
};

/// Returns the dtype in which values of `dtype` are computed with: half precision in FLOAT32, narrow
/// integers in INT32. Undefined where none will do.
at::ScalarType computed_in(at::ScalarType dtype);

/// Returns the bits of `value` in `dtype`, zero-extended, as numbers and constants have them.
uint64_t bits_in(at::ScalarType dtype, double value);
uint64_t bits_in(at::ScalarType dtype, int64_t value);

/// Holds a reduction for ever, as Program does.
struct Reduction {
  tbk_reduction_t view;
  const Program* map;
  const Program* combine;
  const Program* finish;
  std::vector<uint64_t> identity;

  uint64_t dtypes() const {
    return map->dtypes | combine->dtypes | finish->dtypes;
  }
};

/// Returns the one reduction of these parts. Any thread.
const Reduction* intern_reduction(const Program* map, const Program* combine, const Program* finish,
                                  std::vector<uint64_t> identity, bool is_commutative);

/// Returns how many programs and reductions there are; none ever goes. Any thread.
uint64_t program_count();

}  // namespace tbk::generic
