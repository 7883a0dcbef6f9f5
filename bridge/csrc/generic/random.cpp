// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// Random numbers as programs. Element i, in the order of the tensor's indices, is made of block i of
// the generator's: equal seeds and offsets give equal numbers in whatever layout, on every backend.
#include <ATen/core/Generator.h>
#include <ATen/native/CPUFallback.h>
#include <ATen/ops/bernoulli_ops.h>
#include <ATen/ops/exponential_ops.h>
#include <ATen/ops/normal_ops.h>
#include <ATen/ops/random_ops.h>
#include <ATen/ops/uniform_ops.h>
#include <aten/fallback.h>
#include <aten/operands.h>
#include <aten/routes.h>
#include <generic/complex_parts.h>
#include <generic/composition.h>
#include <runtime/generator.h>
#include <torch/library.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace tbk::generic {
namespace {

using MaybeGenerator = std::optional<at::Generator>;
constexpr uint64_t kBlock = 4;  // words

/// What each element is made of: words of its own block.
class Words {
 public:
  explicit Words(ProgramBuilder& b)
      : b_(b), seed_(b.number(at::kLong)), first_(b.number(at::kLong)), index_(b.linear_index()) {}

  /// Returns word 0 to 3, from 0 to 2^32 - 1.
  Value word(uint16_t number) {
    return b_.random_word(number, seed_, first_, index_);
  }
  /// Returns `bits` random ones, of two words where they are more than 32: at most 63.
  Value bits(int64_t bits, uint16_t first_word) {
    const Value high = word(first_word);
    if (bits <= 32) return shifted(TBK_OPCODE_SHR, high, 32 - bits);
    const Value low =
        shifted(TBK_OPCODE_SHR, word(static_cast<uint16_t>(first_word + 1)), 64 - bits);
    return b_.apply(TBK_OPCODE_OR, {shifted(TBK_OPCODE_SHL, high, bits - 32), low});
  }

 private:
  Value shifted(uint16_t opcode, Value value, int64_t by) {
    if (by == 0) return value;
    return b_.apply(opcode, {value, b_.constant(static_cast<double>(by), at::kLong)});
  }

  ProgramBuilder& b_;
  Value seed_, first_, index_;
};

/// Digits of the fractions that a real dtype holds exactly below 1.
int64_t digits_of(at::ScalarType dtype) {
  switch (dtype) {
    case at::kDouble:
      return 53;
    case at::kFloat:
      return 24;
    case at::kHalf:
      return 11;
    default:
      return 8;  // bfloat16
  }
}

bool is_real(at::ScalarType dtype) {
  return dtype == at::kDouble || dtype == at::kFloat || dtype == at::kHalf ||
         dtype == at::kBFloat16;
}

/// Returns a fraction in `computed` of that many digits: from 0 to below 1; with `is_above_0` from half
/// a step to half a step below 1, which takes one digit more.
Value fraction(ProgramBuilder& b, Value bits, int64_t digits, at::ScalarType computed,
               bool is_above_0) {
  const Value step = b.constant(std::ldexp(1.0, static_cast<int>(-digits)), computed);
  const Value least = b.apply(TBK_OPCODE_MUL, {b.cast(bits, computed), step});
  if (!is_above_0) return least;
  return b.apply(TBK_OPCODE_ADD,
                 {least, b.constant(std::ldexp(1.0, static_cast<int>(-digits - 1)), computed)});
}

const Program* uniform_program(at::ScalarType dtype) {
  return program_by_key({Formulas::kUniform, dtype, dtype, 0}, [&](ProgramBuilder& b) {
    const at::ScalarType computed = computed_in(dtype);
    const int64_t digits = digits_of(dtype);
    const Value part = fraction(b, Words(b).bits(digits, 0), digits, computed, false);
    const Value from = b.number(computed), to = b.number(computed);
    const Value width = b.apply(TBK_OPCODE_SUB, {to, from});
    const Value exact = b.apply(TBK_OPCODE_ADD, {from, b.apply(TBK_OPCODE_MUL, {part, width})});
    const Value rounded = b.cast(b.cast(exact, dtype), computed);
    const Value is_over = b.apply(TBK_OPCODE_GE, {rounded, to});  // `to` is never drawn
    b.result(b.cast(b.apply(TBK_OPCODE_SELECT, {is_over, from, exact}), dtype));
  });
}

/// Box and Muller's, one of the two: the other would be another element's.
const Program* normal_program(at::ScalarType dtype) {
  return program_by_key({Formulas::kNormal, dtype, dtype, 0}, [&](ProgramBuilder& b) {
    const at::ScalarType computed = computed_in(dtype);
    const int64_t digits = digits_of(computed) - 1;
    Words words(b);
    const Value radius = fraction(b, words.bits(digits, 0), digits, computed, true);
    const Value turn = fraction(b, words.bits(digits, 2), digits, computed, false);
    const Value log = b.apply(TBK_OPCODE_LOG, {radius});
    const Value length =
        b.apply(TBK_OPCODE_SQRT, {b.apply(TBK_OPCODE_MUL, {log, b.constant(-2.0, computed)})});
    const Value angle = b.apply(TBK_OPCODE_MUL, {turn, b.constant(2 * std::acos(-1.0), computed)});
    const Value drawn = b.apply(TBK_OPCODE_MUL, {length, b.apply(TBK_OPCODE_COS, {angle})});
    const Value mean = b.number(computed), deviation = b.number(computed);
    b.result(b.cast(b.apply(TBK_OPCODE_ADD, {b.apply(TBK_OPCODE_MUL, {drawn, deviation}), mean}),
                    dtype));
  });
}

const Program* exponential_program(at::ScalarType dtype) {
  return program_by_key({Formulas::kExponential, dtype, dtype, 0}, [&](ProgramBuilder& b) {
    const at::ScalarType computed = computed_in(dtype);
    const int64_t digits = digits_of(computed) - 1;
    const Value part = fraction(b, Words(b).bits(digits, 0), digits, computed, true);
    const Value drawn = b.apply(TBK_OPCODE_NEG, {b.apply(TBK_OPCODE_LOG, {part})});
    b.result(b.cast(b.apply(TBK_OPCODE_DIV, {drawn, b.number(computed)}), dtype));
  });
}

/// The number is the chance in steps of 2^-32: all words are below it where that is 1.
const Program* bernoulli_program(at::ScalarType dtype) {
  return program_by_key({Formulas::kBernoulli, dtype, dtype, 0}, [&](ProgramBuilder& b) {
    const Value word = Words(b).word(0);
    b.result(b.cast(b.apply(TBK_OPCODE_LT, {word, b.number(at::kLong)}), dtype));
  });
}

/// 63 bits, of which a range is what is left when they are divided by it.
const Program* integer_program(at::ScalarType dtype) {
  return program_by_key({Formulas::kInteger, dtype, dtype, 0}, [&](ProgramBuilder& b) {
    const Value bits = Words(b).bits(63, 0);
    const Value range = b.number(at::kLong), from = b.number(at::kLong);
    const Value drawn = b.apply(TBK_OPCODE_REM_TRUNC, {bits, range});
    b.result(b.cast(b.apply(TBK_OPCODE_ADD, {drawn, from}), dtype));
  });
}

/// Whether no two elements share memory: each dimension steps over all that the smaller ones reach.
/// PyTorch's own question is not answered for slices.
bool is_apart_in_itself(const at::Tensor& self) {
  c10::SmallVector<std::pair<int64_t, int64_t>, 8> steps;
  for (int64_t d = 0; d < self.dim(); d++)
    if (self.size(d) > 1) steps.emplace_back(self.stride(d), self.size(d));
  std::sort(steps.begin(), steps.end());
  int64_t reach = 0;  // in elements, of the smaller ones
  for (const auto& [stride, size] : steps) {
    if (stride <= reach) return false;
    reach += stride * (size - 1);
  }
  return true;
}

/// Whether programs may write it: what PyTorch raises for is not.
bool is_drawn(const at::Tensor& self) {
  return is_open(Route::generic) && is_ours(self) && self.layout() == at::kStrided &&
         !self.is_neg() && !self.is_conj() && !self.is_nested() && !self.is_complex() &&
         is_apart_in_itself(self) && offers_pointwise(self.device().index());
}

/// Draws all of `self`. Returns false, with nothing done, where the backend refuses. `numbers` are
/// behind those of the generator.
bool draw(const Program& program, const at::Tensor& self, const MaybeGenerator& generator,
          std::initializer_list<uint64_t> numbers) {
  const c10::DeviceIndex device = self.device().index();
  const auto count = static_cast<uint64_t>(self.numel());
  const tbk_generator_t state = take_random(generator, device, count * kBlock);
  if (count == 0) return true;
  Launch launch(device, self.sizes());
  launch.output(self, self.strides());
  launch.number(state.seed);
  launch.number(state.offset / kBlock);
  for (const uint64_t number : numbers)
    launch.number(number);
  return launch.pointwise(program);
}

/// Of a complex number both parts are drawn.
at::Tensor& uniform(at::Tensor& self, double from, double to, MaybeGenerator generator) {
  using Op = at::_ops::uniform_;
  const at::Tensor drawn = as_reals(self);
  const at::ScalarType dtype = drawn.scalar_type(), computed = computed_in(dtype);
  const double most = dtype == at::kHalf ? 65504 : std::numeric_limits<float>::max();
  const bool is_fit = is_real(dtype) && from <= to && std::abs(from) <= most &&
                      std::abs(to) <= most && to - from <= most;
  if (count_generic<Op>(is_fit && is_drawn(drawn) &&
                            draw(*uniform_program(dtype), drawn, generator,
                                 {bits_in(computed, from), bits_in(computed, to)}),
                        self))
    return self;
  return at::native::call_fallback_fn<&cpu_fallback, Op>::call(self, from, to, generator);
}

/// Of a complex number each part has the mean, and half the variance.
at::Tensor& normal(at::Tensor& self, double mean, double deviation, MaybeGenerator generator) {
  using Op = at::_ops::normal_;
  const at::Tensor drawn = as_reals(self);
  const at::ScalarType dtype = drawn.scalar_type(), computed = computed_in(dtype);
  const double spread = is_pair(self.scalar_type()) ? deviation / std::sqrt(2.0) : deviation;
  if (count_generic<Op>(is_real(dtype) && deviation >= 0 && is_drawn(drawn) &&
                            draw(*normal_program(dtype), drawn, generator,
                                 {bits_in(computed, mean), bits_in(computed, spread)}),
                        self))
    return self;
  return at::native::call_fallback_fn<&cpu_fallback, Op>::call(self, mean, deviation, generator);
}

at::Tensor& exponential(at::Tensor& self, double rate, MaybeGenerator generator) {
  using Op = at::_ops::exponential_;
  const at::ScalarType dtype = self.scalar_type();
  if (count_generic<Op>(is_real(dtype) && rate > 0 && std::isfinite(rate) && is_drawn(self) &&
                            draw(*exponential_program(dtype), self, generator,
                                 {bits_in(computed_in(dtype), rate)}),
                        self))
    return self;
  return at::native::call_fallback_fn<&cpu_fallback, Op>::call(self, rate, generator);
}

at::Tensor& bernoulli(at::Tensor& self, double chance, MaybeGenerator generator) {
  using Op = at::_ops::bernoulli__float;
  const bool is_fit =
      chance >= 0 && chance <= 1 && computed_in(self.scalar_type()) != at::ScalarType::Undefined;
  const int64_t steps = is_fit ? std::llround(std::ldexp(chance, 32)) : 0;
  if (count_generic<Op>(is_fit && is_drawn(self) &&
                            draw(*bernoulli_program(self.scalar_type()), self, generator,
                                 {bits_in(at::kLong, steps)}),
                        self))
    return self;
  return at::native::call_fallback_fn<&cpu_fallback, Op>::call(self, chance, generator);
}

/// Returns the greatest whole number up to which a dtype holds all; 0 for those that hold none.
int64_t greatest_of(at::ScalarType dtype) {
  switch (dtype) {
    case at::kBool:
      return 1;
    case at::kByte:
      return std::numeric_limits<uint8_t>::max();
    case at::kChar:
      return std::numeric_limits<int8_t>::max();
    case at::kShort:
      return std::numeric_limits<int16_t>::max();
    case at::kInt:
      return std::numeric_limits<int32_t>::max();
    case at::kLong:
      return std::numeric_limits<int64_t>::max();
    default:
      return is_real(dtype) ? INT64_C(1) << digits_of(dtype) : 0;
  }
}

int64_t least_of(at::ScalarType dtype) {
  const int64_t greatest = greatest_of(dtype);
  if (dtype == at::kBool || dtype == at::kByte) return 0;
  return is_real(dtype) ? -greatest : -greatest - 1;
}

/// Draws whole numbers from `from` to below `to`. What PyTorch warns of, or raises for, is refused.
bool draw_integers(at::Tensor& self, int64_t from, int64_t to, const MaybeGenerator& generator) {
  const at::ScalarType dtype = self.scalar_type();
  int64_t range = 0;
  return greatest_of(dtype) != 0 && from < to && !__builtin_sub_overflow(to, from, &range) &&
         from >= least_of(dtype) && to - 1 <= greatest_of(dtype) && is_drawn(self) &&
         draw(*integer_program(dtype), self, generator,
              {bits_in(at::kLong, range), bits_in(at::kLong, from)});
}

at::Tensor& random_between(at::Tensor& self, int64_t from, std::optional<int64_t> to,
                           MaybeGenerator generator) {
  using Op = at::_ops::random__from;
  if (count_generic<Op>(to.has_value() && draw_integers(self, from, *to, generator), self))
    return self;
  return at::native::call_fallback_fn<&cpu_fallback, Op>::call(self, from, to, generator);
}

at::Tensor& random_below(at::Tensor& self, int64_t to, MaybeGenerator generator) {
  using Op = at::_ops::random__to;
  if (count_generic<Op>(draw_integers(self, 0, to, generator), self)) return self;
  return at::native::call_fallback_fn<&cpu_fallback, Op>::call(self, to, generator);
}

/// Up to the greatest; of INT64 PyTorch leaves that out, which is what a range can say.
at::Tensor& random_all(at::Tensor& self, MaybeGenerator generator) {
  using Op = at::_ops::random_;
  const int64_t greatest = greatest_of(self.scalar_type());
  const int64_t to = greatest == std::numeric_limits<int64_t>::max() ? greatest : greatest + 1;
  if (count_generic<Op>(draw_integers(self, 0, to, generator), self)) return self;
  return at::native::call_fallback_fn<&cpu_fallback, Op>::call(self, generator);
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("uniform_", uniform);
  m.impl("normal_", normal);
  m.impl("exponential_", exponential);
  m.impl("bernoulli_.float", bernoulli);
  m.impl("random_.from", random_between);
  m.impl("random_.to", random_below);
  m.impl("random_", random_all);
}

}  // namespace tbk::generic
