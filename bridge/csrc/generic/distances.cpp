// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// Distances of all rows of one tensor from all of another: a reduction that holds nothing but its result, and one
// more for their gradient.
#include <ATen/ExpandUtils.h>
#include <ATen/ops/_cdist_backward_ops.h>
#include <ATen/ops/_cdist_forward_ops.h>
#include <ATen/ops/_pdist_backward_ops.h>
#include <ATen/ops/_pdist_forward_ops.h>
#include <ATen/ops/nonzero_static.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <aten/empty.h>
#include <generic/by_others.h>
#include <generic/made_once.h>
#include <generic/scan.h>
#include <torch/library.h>

#include <cmath>

namespace tbk::generic {
namespace {

/// Which norm of the difference of two rows: of some orders the arithmetic is another.
/// kMostKnown passes over what is no number.
enum class Order : uint8_t {
  kCount,
  kFirst,
  kBelowOne,
  kBelowTwo,
  kSecond,
  kAny,
  kMost,
  kMostKnown
};
constexpr size_t kOrderCount = 8;

Order order_of(double p) {
  if (p == 0) return Order::kCount;
  if (p < 1) return Order::kBelowOne;
  if (p == 1) return Order::kFirst;
  if (p < 2) return Order::kBelowTwo;
  if (p == 2) return Order::kSecond;
  return std::isinf(p) ? Order::kMost : Order::kAny;
}

/// Writes programs of one order. All of them declare one number: the exponent.
class Metric {
 public:
  Metric(ProgramBuilder& b, Order order, at::ScalarType real)
      : b_(b), order_(order), real_(real), exponent_(b.number(real)) {}

  /// Returns what one difference adds.
  Value term(Value difference) {
    const Value size = b_.apply(TBK_OPCODE_ABS, {difference});
    switch (order_) {
      case Order::kCount: {
        const Value is_some = op(TBK_OPCODE_NE, size, number(0));
        const Value one = b_.select(is_some, number(1), number(0));
        return b_.select(b_.apply(TBK_OPCODE_ISNAN, {size}), size, one);
      }
      case Order::kFirst:
      case Order::kMost:
        return size;
      case Order::kMostKnown:
        return b_.select(b_.apply(TBK_OPCODE_ISNAN, {size}), number(0), size);
      case Order::kSecond:
        return op(TBK_OPCODE_MUL, difference, difference);
      default:
        return op(TBK_OPCODE_POW, size, exponent_);
    }
  }
  Value sum(Value one, Value other) {
    return op(is_greatest() ? TBK_OPCODE_MAX : TBK_OPCODE_ADD, one, other);
  }
  /// The distance, of all that was added.
  Value distance(Value all) {
    if (order_ == Order::kSecond) return b_.apply(TBK_OPCODE_SQRT, {all});
    const bool is_power =
        order_ == Order::kBelowOne || order_ == Order::kBelowTwo || order_ == Order::kAny;
    if (!is_power) return all;
    return op(TBK_OPCODE_POW, all, op(TBK_OPCODE_DIV, number(1), exponent_));
  }
  /// Returns how the distance grows with one difference, times its gradient.
  Value slope(Value difference, Value gradient, Value distance) {
    const Value zero = number(0), size = b_.apply(TBK_OPCODE_ABS, {difference});
    const Value is_none = op(TBK_OPCODE_EQ, difference, zero);
    const Value with_sign = op(TBK_OPCODE_MUL, gradient, sign(difference));
    if (order_ == Order::kCount) return zero;
    if (order_ == Order::kFirst) return with_sign;
    if (is_greatest()) return op(TBK_OPCODE_MUL, with_sign, is_most(size, distance));
    const Value is_same = op(TBK_OPCODE_EQ, distance, zero);
    return b_.select(order_ == Order::kBelowOne ? op(TBK_OPCODE_OR, is_same, is_none) : is_same,
                     zero, op(TBK_OPCODE_MUL, with_sign, share(size, distance)));
  }

 private:
  bool is_greatest() const {
    return order_ == Order::kMost || order_ == Order::kMostKnown;
  }
  Value op(uint16_t opcode, Value x, Value y) {
    return b_.apply(opcode, {x, y});
  }
  Value number(double value) {
    return b_.constant(value, real_);
  }
  /// -1, 0 or 1; NaN of NaN.
  Value sign(Value of) {
    const Value one = op(TBK_OPCODE_COPYSIGN, number(1), of);
    const Value size = b_.apply(TBK_OPCODE_ABS, {of});
    return b_.select(op(TBK_OPCODE_GT, size, number(0)), one, of);
  }
  /// 1 or 0, as PyTorch's CPU finds it: NaN where both are infinite.
  Value is_most(Value size, Value distance) {
    const Value rest = b_.apply(TBK_OPCODE_ABS, {op(TBK_OPCODE_SUB, size, distance)});
    const Value is_less = op(TBK_OPCODE_MIN, b_.apply(TBK_OPCODE_CEIL, {rest}), number(1));
    return op(TBK_OPCODE_SUB, number(1), is_less);
  }
  Value share(Value size, Value distance) {
    const Value part = op(TBK_OPCODE_DIV, size, distance);
    if (order_ == Order::kSecond) return part;
    return op(TBK_OPCODE_POW, part, op(TBK_OPCODE_SUB, exponent_, number(1)));
  }

  ProgramBuilder& b_;
  const Order order_;
  const at::ScalarType real_;
  const Value exponent_;
};

using OfOrders = std::array<OfDtypes<Reduction>, kOrderCount>;

const Program* formula_of(Order order, at::ScalarType real,
                          c10::function_ref<void(ProgramBuilder&, Metric&)> write) {
  ProgramBuilder b;
  Metric metric(b, order, real);
  write(b, metric);
  return b.intern();
}

/// Makes of what `map` gives for one difference what `order` says.
const Reduction* summed(Order order, at::ScalarType real, const Program* map) {
  const Program* combine = formula_of(order, real, [&](ProgramBuilder& b, Metric& metric) {
    const Value one = b.parameter(real), other = b.parameter(real);
    b.result(metric.sum(one, other));
  });
  const Program* finish = formula_of(order, real, [&](ProgramBuilder& b, Metric& metric) {
    b.result(metric.distance(b.parameter(real)));
  });
  return intern_reduction(map, combine, finish, {0}, true);
}

const Reduction* distances_of(Order order, at::ScalarType real) {
  static OfOrders of_orders;
  return made_once(of_orders[static_cast<size_t>(order)], real, [&] {
    const Program* map = formula_of(order, real, [&](ProgramBuilder& b, Metric& metric) {
      const Value one = b.input(real), other = b.input(real);
      b.result(metric.term(b.apply(TBK_OPCODE_SUB, {one, other})));
    });
    return summed(order, real, map);
  });
}

const Reduction* slopes_of(Order order, at::ScalarType real) {
  static OfOrders of_orders;
  return made_once(of_orders[static_cast<size_t>(order)], real, [&] {
    const Program* map = formula_of(order, real, [&](ProgramBuilder& b, Metric& metric) {
      const Value one = b.input(real), other = b.input(real), gradient = b.input(real),
                  distance = b.input(real);
      b.result(metric.slope(b.apply(TBK_OPCODE_SUB, {one, other}), gradient, distance));
    });
    return summed(Order::kFirst, real, map);  // which is the sum itself
  });
}

/// All rows of `one` beside all of `other`, batches broadcast.
class Pairs {
 public:
  Pairs(const at::Tensor& one, const at::Tensor& other, double p, Order order)
      : batch_(at::infer_size_dimvector(one.sizes().slice(0, outer(one)),
                                        other.sizes().slice(0, outer(other)))),
        one_(beside(one, one.size(-2))),
        other_(beside(other, other.size(-2))),
        p_(p),
        order_(order) {}

  /// Of sizes [batch, rows of one, rows of the other]; not defined where the backend refuses.
  at::Tensor distances() const {
    const int64_t rows = one_.size(-2), others = other_.size(-2), length = one_.size(-1);
    at::Tensor out = fresh(rows, others);
    const at::DimVector all = sizes(rows, others, length);
    return run(*distances_of(order_, dtype()), out,
               {one_.unsqueeze(-2).expand(all), other_.unsqueeze(-3).expand(all)});
  }
  /// Of sizes [batch, rows of one, length]; `gradient` and `distances` are of those of distances().
  at::Tensor gradient(const at::Tensor& gradient, const at::Tensor& distances) const {
    const int64_t rows = one_.size(-2), others = other_.size(-2), length = one_.size(-1);
    at::Tensor out = fresh(rows, length);
    const at::DimVector all = sizes(rows, length, others);
    return run(*slopes_of(order_, dtype()), out,
               {one_.unsqueeze(-1).expand(all), other_.mT().unsqueeze(-3).expand(all),
                gradient.unsqueeze(-2).expand(all), distances.unsqueeze(-2).expand(all)});
  }

 private:
  static size_t outer(const at::Tensor& tensor) {
    return static_cast<size_t>(tensor.dim() - 2);
  }
  at::DimVector sizes(int64_t first, int64_t second, std::optional<int64_t> third = {}) const {
    at::DimVector result(batch_);
    result.push_back(first);
    result.push_back(second);
    if (third.has_value()) result.push_back(*third);
    return result;
  }
  at::Tensor beside(const at::Tensor& tensor, int64_t rows) const {
    return tensor.expand(sizes(rows, tensor.size(-1)));
  }
  at::ScalarType dtype() const {
    return one_.scalar_type();
  }
  at::Tensor fresh(int64_t rows, int64_t columns) const {
    return empty_on(one_.device().index(), sizes(rows, columns), dtype());
  }
  /// Reduces the last dimension of all inputs.
  at::Tensor run(const Reduction& reduction, at::Tensor out,
                 std::initializer_list<at::Tensor> inputs) const {
    if (out.numel() == 0) return out;
    const std::array<int64_t, 1> inner = {inputs.begin()->size(-1)};
    Launch launch(out.device().index(), out.sizes(), inner);
    launch.output(out, out.strides());
    for (const at::Tensor& each : inputs)
      launch.input(each, each.strides());
    launch.number(bits_in(dtype(), p_));
    return launch.reduce(reduction) ? out : at::Tensor();
  }

  const at::DimVector batch_;
  const at::Tensor one_, other_;
  const double p_;
  const Order order_;
};

/// PyTorch's CPU passes over what is no number in the distances of two tensors, not in those of one.
Order order_of_two(double p) {
  return std::isinf(p) ? Order::kMostKnown : order_of(p);
}

/// Returns whether PyTorch's CPU has a kernel for it: it raises for half precision.
bool may_be_paired(const at::Tensor& one, const at::Tensor& other, double p) {
  if (!may_be_made({&one, &other}) || !are_real({&one, &other}) ||
      at::isReducedFloatingType(one.scalar_type()) || one.dim() < 2 || other.dim() < 2 ||
      one.size(-1) != other.size(-1) || !(p >= 0))
    return false;
  const auto batch = [](const at::Tensor& of) {
    return of.sizes().slice(0, static_cast<size_t>(of.dim() - 2));
  };
  return at::are_expandable(batch(one), batch(other));
}

at::Tensor cdist(const at::Tensor& one, const at::Tensor& other, double p,
                 std::optional<int64_t> mode) {
  using Op = at::_ops::_cdist_forward;
  if (may_be_paired(one, other, p) && mode.value_or(0) >= 0 && mode.value_or(0) <= 2) {
    const at::Tensor out = Pairs(one, other, p, order_of_two(p)).distances();
    if (count_composed<Op>(out.defined(), one)) return out;
  }
  return at::native::call_fallback_fn_symint<&cpu_fallback, Op>::call(one, other, p, mode);
}

at::Tensor cdist_backward(const at::Tensor& gradient, const at::Tensor& one,
                          const at::Tensor& other, double p, const at::Tensor& distances) {
  using Op = at::_ops::_cdist_backward;
  if (may_be_paired(one, other, p) && are_plain({&one, &gradient, &distances}) &&
      are_real({&one, &gradient, &distances}) && gradient.sizes() == distances.sizes() &&
      one.numel() > 0 && other.numel() > 0) {
    const at::Tensor out = Pairs(one, other, p, order_of_two(p)).gradient(gradient, distances);
    if (count_composed<Op>(out.defined(), one)) return out;
  }
  return on_host<Op>(gradient, one, other, p, distances);
}

/// The places above the diagonal of a matrix, one row after the other; nothing is read.
at::Tensor places_above(const at::Tensor& self) {
  const int64_t rows = self.size(0);
  const at::Tensor above = at::ones({rows, rows}, self.options().dtype(at::kBool)).triu(1);
  return at::nonzero_static(above.view(-1), rows * (rows - 1) / 2).select(1, 0);
}

bool may_be_paired(const at::Tensor& self, double p) {
  return may_be_paired(self, self, p) && self.dim() == 2 && self.size(0) > 1 && self.size(1) > 0 &&
         self.is_contiguous() && offers_scan(self.device().index());
}

at::Tensor pdist(const at::Tensor& self, double p) {
  using Op = at::_ops::_pdist_forward;
  if (may_be_paired(self, p)) {
    const Composition whole;
    const at::Tensor all = Pairs(self, self, p, order_of(p)).distances();
    if (count_composed<Op>(all.defined(), self))
      return all.view(-1).index_select(0, places_above(self));
  }
  return on_host<Op>(self, p);
}

at::Tensor pdist_backward(const at::Tensor& gradient, const at::Tensor& self, double p,
                          const at::Tensor& distances) {
  using Op = at::_ops::_pdist_backward;
  if (may_be_paired(self, p) && are_plain({&self, &gradient, &distances}) &&
      are_real({&self, &gradient, &distances}) && gradient.sizes() == distances.sizes() &&
      distances.numel() == self.size(0) * (self.size(0) - 1) / 2) {
    const Composition whole;
    const int64_t rows = self.size(0);
    const at::Tensor places = places_above(self);
    const auto of_all = [&](const at::Tensor& pairs) {
      const at::Tensor above =
          at::zeros({rows * rows}, self.options()).index_copy_(0, places, pairs).view({rows, rows});
      return above.add(above.mT());
    };
    const at::Tensor out =
        Pairs(self, self, p, order_of(p)).gradient(of_all(gradient), of_all(distances));
    if (count_composed<Op>(out.defined(), self)) return out;
  }
  return on_host<Op>(gradient, self, p, distances);
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_cdist_forward", cdist);
  m.impl("_cdist_backward", cdist_backward);
  m.impl("_pdist_forward", pdist);
  m.impl("_pdist_backward", pdist_backward);
}

}  // namespace tbk::generic
