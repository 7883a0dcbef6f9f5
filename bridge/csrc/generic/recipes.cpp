// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#include <generic/complex_recipes.h>
#include <generic/recipe_maker.h>
#include <generic/recipes.h>

#include <array>
#include <limits>
#include <map>
#include <mutex>

namespace tbk::generic {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Builds the reductions of real numbers, of integers and of truth values.
class Maker : public RecipeMaker {
 public:
  Maker(at::ScalarType in, at::ScalarType as, at::ScalarType out) : RecipeMaker(work(as), out) {
    loaded_ = map_.cast(map_.cast(load(in, as), as), dtype_);
  }

  /// Returns NULL where `recipe` has no meaning for the dtypes.
  const Reduction* make(Recipe recipe);
  /// The one of two inputs.
  const Reduction* dot(at::ScalarType in, at::ScalarType as);

 private:
  /// Truth values count and compare as integers.
  static at::ScalarType work(at::ScalarType as) {
    const at::ScalarType computed = computed_in(as);
    return computed == at::kBool ? at::kInt : computed;
  }
  /// Of a complex number the real part stays; it is true where one of its parts is.
  Value load(at::ScalarType in, at::ScalarType as) {
    if (!is_pair(in)) return map_.input(in);
    const Value real = map_.input(part_dtype(in)), imaginary = map_.input(part_dtype(in));
    if (as != at::kBool) return real;
    return map_.apply(TBK_OPCODE_OR, {map_.cast(real, as), map_.cast(imaginary, as)});
  }
  bool is_real() const {
    return dtype_ == at::kFloat || dtype_ == at::kDouble;
  }

  Value one() {
    return map_.constant(1, dtype_);
  }
  Value magnitude() {
    return map_.apply(TBK_OPCODE_ABS, {loaded_});
  }
  uint64_t extreme_bits(bool is_least) const {
    if (is_real()) return bits_in(dtype_, is_least ? -kInfinity : kInfinity);
    const bool is_wide = dtype_ == at::kLong;
    const int64_t least =
        is_wide ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int32_t>::min();
    return bits_in(dtype_, is_least ? least : -(least + 1));
  }

  const Reduction* sum();
  const Reduction* nan_sum();
  const Reduction* mean();
  const Reduction* count();
  const Reduction* truth(uint16_t opcode, bool identity);
  const Reduction* extreme(bool is_max);
  const Reduction* finite_extreme();
  const Reduction* both_extremes();
  const Reduction* indexed(bool is_max, bool has_value);
  const Reduction* deviations(Recipe recipe);
  const Reduction* logarithm_of_exponentials();
  const Reduction* exponentials(bool is_log);
  const Reduction* scale();
  const Reduction* power();
  const Reduction* root_of_squares();

  Value loaded_ = 0;
};

const Reduction* Maker::sum() {
  return folded(TBK_OPCODE_ADD, loaded_, 0);
}

const Reduction* Maker::nan_sum() {
  if (!is_real()) return sum();
  const Value is_nan = map_.apply(TBK_OPCODE_ISNAN, {loaded_});
  const Value zero = map_.constant(0, dtype_);
  return folded(TBK_OPCODE_ADD, map_.apply(TBK_OPCODE_SELECT, {is_nan, zero, loaded_}), 0);
}

const Reduction* Maker::mean() {
  const Value count = number(0);
  fold(TBK_OPCODE_ADD, loaded_, 0);
  result(finish_.apply(TBK_OPCODE_DIV, {end_[0], count}));
  return intern();
}

const Reduction* Maker::count() {
  const Value is_set = map_.cast(loaded_, at::kBool);
  return folded(TBK_OPCODE_ADD, map_.cast(is_set, at::kLong), 0);
}

const Reduction* Maker::truth(uint16_t opcode, bool identity) {
  return folded(opcode, map_.cast(loaded_, at::kBool), identity);
}

const Reduction* Maker::extreme(bool is_max) {
  state(loaded_, extreme_bits(is_max));
  open();
  combine_.result(combine_.apply(is_max ? TBK_OPCODE_MAX : TBK_OPCODE_MIN, {a_[0], b_[0]}));
  result(end_[0]);
  return intern();
}

const Reduction* Maker::finite_extreme() {
  if (!is_real()) return nullptr;
  fold(TBK_OPCODE_MAX, loaded_, -kInfinity);
  const Value size = finish_.apply(TBK_OPCODE_ABS, {end_[0]});
  const Value is_infinite =
      finish_.apply(TBK_OPCODE_EQ, {size, finish_.constant(kInfinity, dtype_)});
  result(finish_.apply(TBK_OPCODE_SELECT, {is_infinite, finish_.constant(0, dtype_), end_[0]}));
  return intern();
}

const Reduction* Maker::both_extremes() {
  state(loaded_, extreme_bits(false));
  state(loaded_, extreme_bits(true));
  open();
  combine_.result(combine_.apply(TBK_OPCODE_MIN, {a_[0], b_[0]}));
  combine_.result(combine_.apply(TBK_OPCODE_MAX, {a_[1], b_[1]}));
  result(end_[0]);
  result(end_[1]);
  return intern();
}

/// An index of -1 stands for no element yet. The earlier of equals stays, in whatever order they come.
const Reduction* Maker::indexed(bool is_max, bool has_value) {
  state(loaded_, extreme_bits(is_max));
  state(map_.linear_index(), bits_in(at::kLong, int64_t{-1}));
  open();
  const auto op = [&](uint16_t opcode, Value x, Value y) { return combine_.apply(opcode, {x, y}); };
  Value is_better = op(is_max ? TBK_OPCODE_GT : TBK_OPCODE_LT, b_[0], a_[0]);
  Value is_equal = op(TBK_OPCODE_EQ, a_[0], b_[0]);
  if (is_real()) {
    const Value a_nan = combine_.apply(TBK_OPCODE_ISNAN, {a_[0]});
    const Value b_nan = combine_.apply(TBK_OPCODE_ISNAN, {b_[0]});
    const Value a_is_number = combine_.apply(TBK_OPCODE_NOT, {a_nan});
    is_better = op(TBK_OPCODE_OR, is_better, op(TBK_OPCODE_AND, b_nan, a_is_number));
    is_equal = op(TBK_OPCODE_OR, is_equal, op(TBK_OPCODE_AND, a_nan, b_nan));
  }
  const Value zero = combine_.constant(0, at::kLong);
  const Value is_first = op(TBK_OPCODE_LT, b_[1], a_[1]);
  is_better = op(TBK_OPCODE_OR, is_better, op(TBK_OPCODE_AND, is_equal, is_first));
  is_better = op(TBK_OPCODE_OR, is_better, op(TBK_OPCODE_LT, a_[1], zero));
  is_better = op(TBK_OPCODE_AND, is_better, op(TBK_OPCODE_GE, b_[1], zero));
  combine_.result(pick(is_better, b_[0], a_[0]));
  combine_.result(pick(is_better, b_[1], a_[1]));
  if (has_value) result(end_[0]);
  finish_.result(end_[1]);
  return intern();
}

/// Mean, squared deviations and count of two parts give those of both (Chan, Golub and LeVeque).
const Reduction* Maker::deviations(Recipe recipe) {
  if (!is_real()) return nullptr;
  const Value divisor = number(0);
  state(loaded_, 0);
  state(map_.apply(TBK_OPCODE_SUB, {loaded_, loaded_}), 0);  // NaN of an infinity
  state(map_.constant(1, at::kLong), 0);
  open();
  const auto op = [&](uint16_t opcode, Value x, Value y) { return combine_.apply(opcode, {x, y}); };
  const Value count = op(TBK_OPCODE_ADD, a_[2], b_[2]);
  const Value zero = combine_.constant(0, at::kLong);
  const Value a_is_empty = op(TBK_OPCODE_EQ, a_[2], zero),
              b_is_empty = op(TBK_OPCODE_EQ, b_[2], zero);
  const Value difference = op(TBK_OPCODE_SUB, b_[0], a_[0]);
  const Value share =
      op(TBK_OPCODE_DIV, combine_.cast(b_[2], dtype_), combine_.cast(count, dtype_));
  const Value mean = op(TBK_OPCODE_ADD, a_[0], op(TBK_OPCODE_MUL, difference, share));
  const Value square = op(TBK_OPCODE_MUL, difference, difference);
  const Value weight = op(TBK_OPCODE_MUL, combine_.cast(a_[2], dtype_), share);
  const Value squares =
      op(TBK_OPCODE_ADD, op(TBK_OPCODE_ADD, a_[1], b_[1]), op(TBK_OPCODE_MUL, square, weight));
  combine_.result(pick(b_is_empty, a_[0], pick(a_is_empty, b_[0], mean)));
  // Of an infinity there is no deviation.
  const Value nothing = op(TBK_OPCODE_SUB, mean, mean);
  const Value both = op(TBK_OPCODE_ADD, squares, nothing);
  combine_.result(pick(b_is_empty, a_[1], pick(a_is_empty, b_[1], both)));
  combine_.result(count);
  const Value spread = finish_.apply(TBK_OPCODE_DIV, {end_[1], divisor});
  const bool is_root = recipe == Recipe::kStd || recipe == Recipe::kStdMean;
  result(is_root ? finish_.apply(TBK_OPCODE_SQRT, {spread}) : spread);
  if (recipe == Recipe::kVarMean || recipe == Recipe::kStdMean) {
    // Of nothing there is no mean.
    const Value is_empty = finish_.apply(TBK_OPCODE_EQ, {end_[2], finish_.constant(0, at::kLong)});
    const Value nan = finish_.constant(std::numeric_limits<double>::quiet_NaN(), dtype_);
    result(finish_.apply(TBK_OPCODE_SELECT, {is_empty, nan, end_[0]}));
  }
  return intern();
}

/// The greatest, and the sum of exponentials of the differences from it. An infinity less itself would
/// be NaN: what is equal to the greatest keeps its sum.
const Reduction* Maker::logarithm_of_exponentials() {
  if (!is_real()) return nullptr;
  state(loaded_, bits_in(dtype_, -kInfinity));
  state(one(), bits_in(dtype_, 0.0));
  open();
  const Value most = combine_.apply(TBK_OPCODE_MAX, {a_[0], b_[0]});
  const auto scaled = [&](const c10::SmallVector<Value, 4>& side) {
    const Value less = combine_.apply(TBK_OPCODE_SUB, {side[0], most});
    const Value sum =
        combine_.apply(TBK_OPCODE_MUL, {side[1], combine_.apply(TBK_OPCODE_EXP, {less})});
    return pick(combine_.apply(TBK_OPCODE_EQ, {side[0], most}), side[1], sum);
  };
  combine_.result(most);
  combine_.result(combine_.apply(TBK_OPCODE_ADD, {scaled(a_), scaled(b_)}));
  result(finish_.apply(TBK_OPCODE_ADD, {end_[0], finish_.apply(TBK_OPCODE_LOG, {end_[1]})}));
  return intern();
}

const Reduction* Maker::exponentials(bool is_log) {
  if (!is_real()) return nullptr;
  const Value less = map_.apply(TBK_OPCODE_SUB, {loaded_, map_.input(dtype_)});
  fold(TBK_OPCODE_ADD, map_.apply(TBK_OPCODE_EXP, {less}), 0);
  result(is_log ? finish_.apply(TBK_OPCODE_LOG, {end_[0]}) : end_[0]);
  return intern();
}

const Reduction* Maker::scale() {
  if (!is_real()) return nullptr;
  const Value divisor = number(0), epsilon = number(1);
  const Value less = map_.apply(TBK_OPCODE_SUB, {loaded_, map_.input(dtype_)});
  fold(TBK_OPCODE_ADD, map_.apply(TBK_OPCODE_MUL, {less, less}), 0);
  const Value variance = finish_.apply(TBK_OPCODE_DIV, {end_[0], divisor});
  const Value root =
      finish_.apply(TBK_OPCODE_SQRT, {finish_.apply(TBK_OPCODE_ADD, {variance, epsilon})});
  result(finish_.apply(TBK_OPCODE_DIV, {finish_.constant(1, dtype_), root}));
  return intern();
}

const Reduction* Maker::power() {
  if (!is_real()) return nullptr;
  const Value order = number(0);
  const Value size = magnitude();
  fold(TBK_OPCODE_ADD, map_.apply(TBK_OPCODE_POW, {size, map_numbers_[0]}), 0);
  const Value inverse = finish_.apply(TBK_OPCODE_DIV, {finish_.constant(1, dtype_), order});
  result(finish_.apply(TBK_OPCODE_POW, {end_[0], inverse}));
  return intern();
}

const Reduction* Maker::root_of_squares() {
  if (!is_real()) return nullptr;
  fold(TBK_OPCODE_ADD, map_.apply(TBK_OPCODE_MUL, {loaded_, loaded_}), 0);
  result(finish_.apply(TBK_OPCODE_SQRT, {end_[0]}));
  return intern();
}

const Reduction* Maker::dot(at::ScalarType in, at::ScalarType as) {
  const Value other = map_.cast(map_.cast(map_.input(in), as), dtype_);
  return folded(TBK_OPCODE_ADD, map_.apply(TBK_OPCODE_MUL, {loaded_, other}), 0);
}

const Reduction* Maker::make(Recipe recipe) {
  switch (recipe) {
    case Recipe::kSum:
      return sum();
    case Recipe::kNanSum:
      return nan_sum();
    case Recipe::kProd:
      return folded(TBK_OPCODE_MUL, loaded_, 1);
    case Recipe::kMean:
      return is_real() ? mean() : nullptr;
    case Recipe::kAny:
      return truth(TBK_OPCODE_OR, false);
    case Recipe::kAll:
      return truth(TBK_OPCODE_AND, true);
    case Recipe::kCount:
      return count();
    case Recipe::kMax:
    case Recipe::kMin:
      return extreme(recipe == Recipe::kMax);
    case Recipe::kMaxFinite:
      return finite_extreme();
    case Recipe::kMinMax:
      return both_extremes();
    case Recipe::kMaxIndex:
    case Recipe::kMinIndex:
      return indexed(recipe == Recipe::kMaxIndex, true);
    case Recipe::kArgMax:
    case Recipe::kArgMin:
      return indexed(recipe == Recipe::kArgMax, false);
    case Recipe::kVar:
    case Recipe::kStd:
    case Recipe::kVarMean:
    case Recipe::kStdMean:
      return deviations(recipe);
    case Recipe::kScale:
      return scale();
    case Recipe::kLogSumExp:
      return logarithm_of_exponentials();
    case Recipe::kSumExp:
    case Recipe::kLogOfSum:
      return exponentials(recipe == Recipe::kLogOfSum);
    case Recipe::kNorm1:
      return folded(TBK_OPCODE_ADD, magnitude(), 0);
    case Recipe::kNorm2:
      return root_of_squares();
    case Recipe::kNormMost:
      return folded(TBK_OPCODE_MAX, magnitude(), 0);
    case Recipe::kNormLeast:
      return folded(TBK_OPCODE_MIN, magnitude(), kInfinity);
    case Recipe::kNormP:
      return power();
    case Recipe::kDot:
      break;
  }
  return nullptr;
}

using RecipeKey = std::array<int, 4>;

struct MadeRecipes {
  std::mutex lock;
  std::map<RecipeKey, const Reduction*> of;
};

MadeRecipes& made_recipes() {
  static auto* instance = new MadeRecipes;
  return *instance;
}

bool is_of_truth(Recipe recipe) {
  return recipe == Recipe::kAny || recipe == Recipe::kAll || recipe == Recipe::kCount;
}

const Reduction* make(Recipe recipe, at::ScalarType in, at::ScalarType as, at::ScalarType out) {
  if (is_pair(as)) return make_of_pairs(recipe, in, as, out);
  Maker maker(in, as, out);
  return recipe == Recipe::kDot ? maker.dot(in, as) : maker.make(recipe);
}

}  // namespace

const Reduction* reduction_of(Recipe recipe, at::ScalarType in, at::ScalarType as,
                              at::ScalarType out) {
  if (is_pair(as) && is_of_truth(recipe)) as = at::kBool;
  for (const at::ScalarType dtype : {part_dtype(in), part_dtype(as)})
    if (computed_in(dtype) == at::ScalarType::Undefined) return nullptr;
  const RecipeKey key = {static_cast<int>(recipe), static_cast<int>(in), static_cast<int>(as),
                         static_cast<int>(out)};
  std::lock_guard<std::mutex> guard(made_recipes().lock);
  const auto found = made_recipes().of.find(key);
  if (found != made_recipes().of.end()) return found->second;
  const Reduction* reduction = make(recipe, in, as, out);
  made_recipes().of[key] = reduction;
  return reduction;
}

}  // namespace tbk::generic
