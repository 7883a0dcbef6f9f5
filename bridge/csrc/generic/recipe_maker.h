// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <generic/complex_parts.h>
#include <generic/program.h>

#include <vector>

namespace tbk::generic {

/// Builds the parts of one reduction side by side: what the makers of recipes are made of. One thread.
class RecipeMaker {
 protected:
  /// Computes in `dtype`; results are cast to `out`, or to what its parts are of.
  RecipeMaker(at::ScalarType dtype, at::ScalarType out) : out_(part_dtype(out)), dtype_(dtype) {}

  /// Declares numbers up to `index`, and returns that one as finish reads it.
  Value number(int index) {
    while (static_cast<int>(numbers_.size()) <= index) {
      numbers_.push_back(finish_.number(dtype_));
      map_numbers_.push_back(map_.number(dtype_));
      combine_.number(dtype_);
    }
    return numbers_[static_cast<size_t>(index)];
  }

  /// Declares a state; `value` is that of one element.
  void state(Value value, uint64_t identity) {
    map_.result(value);
    dtypes_.push_back(map_.dtype_of(value));
    identity_.push_back(identity);
  }
  /// Makes the states of both sides of combine, after all are declared.
  void open() {
    for (c10::SmallVector<Value, 4>* side : {&a_, &b_})
      for (const at::ScalarType dtype : dtypes_)
        side->push_back(combine_.parameter(dtype));
    for (const at::ScalarType dtype : dtypes_)
      end_.push_back(finish_.parameter(dtype));
  }
  Value pick(Value condition, Value yes, Value no) {
    return combine_.apply(TBK_OPCODE_SELECT, {condition, yes, no});
  }
  void result(Value value) {
    finish_.result(finish_.cast(value, out_));
  }
  const Reduction* intern() {
    return intern_reduction(map_.intern(), combine_.intern(), finish_.intern(), identity_, true);
  }

  /// One state, which one opcode makes of two; finish is left to the caller.
  void fold(uint16_t opcode, Value value, double identity) {
    state(value, bits_in(map_.dtype_of(value), identity));
    open();
    combine_.result(combine_.apply(opcode, {a_[0], b_[0]}));
  }
  const Reduction* folded(uint16_t opcode, Value value, double identity) {
    fold(opcode, value, identity);
    result(end_[0]);
    return intern();
  }

  at::ScalarType out_, dtype_;
  ProgramBuilder map_, combine_, finish_;
  std::vector<uint64_t> identity_;
  c10::SmallVector<at::ScalarType, 4> dtypes_;
  c10::SmallVector<Value, 4> a_, b_, end_, numbers_, map_numbers_;
};

}  // namespace tbk::generic
