// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#include <generic/complex_recipes.h>
#include <generic/recipe_maker.h>

#include <limits>

namespace tbk::generic {
namespace {

/// Builds the reductions of complex numbers, whose states are real.
class PairMaker : public RecipeMaker {
 public:
  PairMaker(at::ScalarType in, at::ScalarType as, at::ScalarType out)
      : RecipeMaker(part_dtype(as), out) {
    loaded_.real = part(in);
    loaded_.imaginary = is_pair(in) ? part(in) : map_.constant(0, dtype_);
  }

  const Reduction* make(Recipe recipe);

 private:
  Value part(at::ScalarType in) {
    return map_.cast(map_.input(part_dtype(in)), dtype_);
  }
  /// Declares both states of a number, of which `identity` is the real part for no element.
  void open_pair(double identity) {
    state(loaded_.real, bits_in(dtype_, identity));
    state(loaded_.imaginary, bits_in(dtype_, 0.0));
    open();
  }
  Pair left() const {
    return {a_[0], a_[1]};
  }
  Pair right() const {
    return {b_[0], b_[1]};
  }
  void combined(Pair value) {
    combine_.result(value.real);
    combine_.result(value.imaginary);
  }
  const Reduction* finished(Pair value) {
    result(value.real);
    result(value.imaginary);
    return intern();
  }
  Value magnitude() {
    return size_of(map_, loaded_);
  }
  Value squared_size(ProgramBuilder& b, Pair value) {
    return b.apply(TBK_OPCODE_ADD, {b.apply(TBK_OPCODE_MUL, {value.real, value.real}),
                                    b.apply(TBK_OPCODE_MUL, {value.imaginary, value.imaginary})});
  }
  Value nothing(ProgramBuilder& b, Pair value);

  const Reduction* sum();
  const Reduction* product();
  const Reduction* mean();
  const Reduction* deviations(Recipe recipe);
  void combine_deviations();
  const Reduction* root_of_squares();
  const Reduction* power();

  Pair loaded_{};
};

const Reduction* PairMaker::sum() {
  open_pair(0);
  combined(plus(combine_, left(), right()));
  return finished({end_[0], end_[1]});
}

const Reduction* PairMaker::product() {
  open_pair(1);
  combined(times(combine_, left(), right()));
  return finished({end_[0], end_[1]});
}

/// PyTorch divides by a complex number, whose imaginary part is 0: beside an infinity that makes NaN.
const Reduction* PairMaker::mean() {
  const Value count = number(0), zero = finish_.constant(0, dtype_);
  open_pair(0);
  combined(plus(combine_, left(), right()));
  const auto op = [&](uint16_t opcode, Value x, Value y) { return finish_.apply(opcode, {x, y}); };
  const Value real = op(TBK_OPCODE_ADD, end_[0], op(TBK_OPCODE_MUL, end_[1], zero));
  const Value imaginary = op(TBK_OPCODE_SUB, end_[1], op(TBK_OPCODE_MUL, end_[0], zero));
  return finished({op(TBK_OPCODE_DIV, real, count), op(TBK_OPCODE_DIV, imaginary, count)});
}

/// Returns 0, and NaN where a part is an infinity or NaN: of these there is no deviation.
Value PairMaker::nothing(ProgramBuilder& b, Pair value) {
  return b.apply(TBK_OPCODE_ADD, {b.apply(TBK_OPCODE_SUB, {value.real, value.real}),
                                  b.apply(TBK_OPCODE_SUB, {value.imaginary, value.imaginary})});
}

/// As of real numbers, with squares of sizes: the states are the mean's parts, the sum of squares and the count.
void PairMaker::combine_deviations() {
  const auto op = [&](uint16_t opcode, Value x, Value y) { return combine_.apply(opcode, {x, y}); };
  const Value count = op(TBK_OPCODE_ADD, a_[3], b_[3]), none = combine_.constant(0, at::kLong);
  const Value a_is_empty = op(TBK_OPCODE_EQ, a_[3], none),
              b_is_empty = op(TBK_OPCODE_EQ, b_[3], none);
  const Value share =
      op(TBK_OPCODE_DIV, combine_.cast(b_[3], dtype_), combine_.cast(count, dtype_));
  const Pair difference = {op(TBK_OPCODE_SUB, b_[0], a_[0]), op(TBK_OPCODE_SUB, b_[1], a_[1])};
  const Pair step = {op(TBK_OPCODE_MUL, difference.real, share),
                     op(TBK_OPCODE_MUL, difference.imaginary, share)};
  const Pair mean = plus(combine_, left(), step);
  const Value weight = op(TBK_OPCODE_MUL, combine_.cast(a_[3], dtype_), share);
  const Value between = op(TBK_OPCODE_MUL, squared_size(combine_, difference), weight);
  const Value squares = op(TBK_OPCODE_ADD, op(TBK_OPCODE_ADD, a_[2], b_[2]), between);
  const auto either = [&](size_t state, Value of_both) {
    combine_.result(pick(b_is_empty, a_[state], pick(a_is_empty, b_[state], of_both)));
  };
  either(0, mean.real);
  either(1, mean.imaginary);
  either(2, op(TBK_OPCODE_ADD, squares, nothing(combine_, mean)));
  combine_.result(count);
}

const Reduction* PairMaker::deviations(Recipe recipe) {
  const Value divisor = number(0);
  state(loaded_.real, 0);
  state(loaded_.imaginary, 0);
  state(nothing(map_, loaded_), 0);
  state(map_.constant(1, at::kLong), 0);
  open();
  combine_deviations();
  const Value spread = finish_.apply(TBK_OPCODE_DIV, {end_[2], divisor});
  const bool is_root = recipe == Recipe::kStd || recipe == Recipe::kStdMean;
  result(is_root ? finish_.apply(TBK_OPCODE_SQRT, {spread}) : spread);
  if (recipe == Recipe::kVar || recipe == Recipe::kStd) return intern();
  // Of nothing there is no mean.
  const Value is_empty = finish_.apply(TBK_OPCODE_EQ, {end_[3], finish_.constant(0, at::kLong)});
  const Value nan = finish_.constant(std::numeric_limits<double>::quiet_NaN(), dtype_);
  return finished({finish_.select(is_empty, nan, end_[0]), finish_.select(is_empty, nan, end_[1])});
}

const Reduction* PairMaker::root_of_squares() {
  const Value size = magnitude();
  fold(TBK_OPCODE_ADD, map_.apply(TBK_OPCODE_MUL, {size, size}), 0);
  result(finish_.apply(TBK_OPCODE_SQRT, {end_[0]}));
  return intern();
}

const Reduction* PairMaker::power() {
  const Value order = number(0), size = magnitude();
  fold(TBK_OPCODE_ADD, map_.apply(TBK_OPCODE_POW, {size, map_numbers_[0]}), 0);
  const Value inverse = finish_.apply(TBK_OPCODE_DIV, {finish_.constant(1, dtype_), order});
  result(finish_.apply(TBK_OPCODE_POW, {end_[0], inverse}));
  return intern();
}

const Reduction* PairMaker::make(Recipe recipe) {
  switch (recipe) {
    case Recipe::kSum:
      return sum();
    case Recipe::kProd:
      return product();
    case Recipe::kMean:
      return mean();
    case Recipe::kVar:
    case Recipe::kStd:
    case Recipe::kVarMean:
    case Recipe::kStdMean:
      return deviations(recipe);
    case Recipe::kNorm1:
      return folded(TBK_OPCODE_ADD, magnitude(), 0);
    case Recipe::kNorm2:
      return root_of_squares();
    case Recipe::kNormP:
      return power();
    default:
      return nullptr;
  }
}

}  // namespace

const Reduction* make_of_pairs(Recipe recipe, at::ScalarType in, at::ScalarType as,
                               at::ScalarType out) {
  return PairMaker(in, as, out).make(recipe);
}

}  // namespace tbk::generic
