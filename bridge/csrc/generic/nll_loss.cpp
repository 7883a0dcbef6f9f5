// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// nll_loss and nll_loss2d, forward and backward: programs, a gather or a scatter by class, and sums. A
// target that is ignored reads class 0, and counts nothing.
#include <ATen/core/Reduction.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/nll_loss2d_backward_ops.h>
#include <ATen/ops/nll_loss2d_forward_ops.h>
#include <ATen/ops/nll_loss_backward_ops.h>
#include <ATen/ops/nll_loss_forward_ops.h>
#include <aten/empty.h>
#include <generic/index.h>
#include <torch/library.h>

#include <algorithm>
#include <string_view>
#include <tuple>

namespace tbk::generic {
namespace {

using Maybe = std::optional<at::Tensor>;
using Two = std::tuple<at::Tensor, at::Tensor>;
using TwoReferences = std::tuple<at::Tensor&, at::Tensor&>;

/// Writes a program whose first input is the target, and whose number 0 is what is ignored.
class Terms {
 public:
  Terms(ProgramBuilder& builder, at::ScalarType target, at::ScalarType dtype)
      : b(builder), dtype_(dtype), target_(b.cast(b.input(target), at::kLong)) {
    is_ignored_ = b.apply(TBK_OPCODE_EQ, {target_, b.number(at::kLong)});
  }
  Value target() const {
    return target_;
  }
  Value input() {
    return b.cast(b.input(dtype_), computed_in(dtype_));
  }
  Value unless_ignored(Value value) {
    const Value none = b.constant(0, b.dtype_of(value));
    return b.apply(TBK_OPCODE_SELECT, {is_ignored_, none, value});
  }

 private:
  ProgramBuilder& b;
  at::ScalarType dtype_;
  Value target_, is_ignored_;
};

const Program* class_program(at::ScalarType target) {
  return program_by_key({Formulas::kNllClass, target, at::kLong, 0}, [&](ProgramBuilder& b) {
    Terms terms(b, target, at::kLong);
    b.result(terms.unless_ignored(terms.target()));
  });
}

const Program* weight_program(at::ScalarType target, at::ScalarType dtype, bool has_weight) {
  return program_by_key({Formulas::kNllWeight, target, dtype, has_weight}, [&](ProgramBuilder& b) {
    Terms terms(b, target, dtype);
    b.result(terms.unless_ignored(has_weight ? terms.input() : b.constant(1, computed_in(dtype))));
  });
}

const Program* loss_program(at::ScalarType target, at::ScalarType dtype, bool has_weight) {
  return program_by_key({Formulas::kNllLoss, target, dtype, has_weight}, [&](ProgramBuilder& b) {
    Terms terms(b, target, dtype);
    Value loss = b.apply(TBK_OPCODE_NEG, {terms.input()});
    if (has_weight) loss = b.apply(TBK_OPCODE_MUL, {loss, terms.input()});
    b.result(terms.unless_ignored(loss));
  });
}

const Program* quotient_program(at::ScalarType in, at::ScalarType out) {
  return program_by_key({Formulas::kNllMean, in, out, 0}, [&](ProgramBuilder& b) {
    const Value sum = b.input(in), weights = b.input(in);
    b.result(b.cast(b.apply(TBK_OPCODE_DIV, {sum, weights}), out));
  });
}

enum NllForm { kNllWeighted = 1, kNllOverWeights = 2 };

const Program* gradient_program(at::ScalarType target, at::ScalarType dtype, int form) {
  return program_by_key({Formulas::kNllGradient, target, dtype, form}, [&](ProgramBuilder& b) {
    Terms terms(b, target, dtype);
    Value gradient = b.apply(TBK_OPCODE_NEG, {terms.input()});
    if (form & kNllWeighted) gradient = b.apply(TBK_OPCODE_MUL, {gradient, terms.input()});
    if (form & kNllOverWeights) gradient = b.apply(TBK_OPCODE_DIV, {gradient, terms.input()});
    b.result(b.cast(terms.unless_ignored(gradient), dtype));
  });
}

/// One call: what both passes need to know of it.
class Loss {
 public:
  Loss(const char* operation, const at::Tensor& self, const at::Tensor& target, const Maybe& weight,
       int64_t reduction, int64_t ignored)
      : operation_(operation),
        is_2d_(std::string_view(operation).find("2d") != std::string_view::npos),
        self_(self),
        target_(target),
        weight_(weight.has_value() ? *weight : at::Tensor()),
        reduction_(reduction),
        ignored_(static_cast<double>(ignored)) {}

  /// What PyTorch raises for is not served. `others` are of the dtype of `self`.
  bool is_served(std::initializer_list<const at::Tensor*> others) const {
    return is_open(Route::composed) && are_plain({&self_, &target_}) &&
           (target_.scalar_type() == at::kLong || target_.scalar_type() == at::kByte) &&
           at::isFloatingType(dtype()) && has_shapes() &&
           (!has_weight() ||
            (fits(weight_) && weight_.dim() == 1 && weight_.numel() == self_.size(class_dim()))) &&
           std::all_of(others.begin(), others.end(),
                       [&](const at::Tensor* other) { return fits(*other); }) &&
           offers_index(device()) && offers_pointwise(device()) && offers_reduce(device());
  }
  bool is_apart_from(const at::Tensor& out) const {
    return is_apart(out, {&self_, &target_}) && (!has_weight() || is_apart(out, {&weight_}));
  }
  /// Returns whether there is a loss for each target, and not one of all.
  bool is_each() const {
    return reduction_ == at::Reduction::None && self_.dim() > 1;
  }
  c10::IntArrayRef result_sizes() const {
    return is_each() ? target_.sizes() : c10::IntArrayRef();
  }
  bool forward(const at::Tensor& out, const at::Tensor& total) const;
  bool backward(const at::Tensor& gradient, const at::Tensor& total, const at::Tensor& out) const;

 private:
  at::ScalarType dtype() const {
    return self_.scalar_type();
  }
  c10::DeviceIndex device() const {
    return self_.device().index();
  }
  bool has_weight() const {
    return weight_.defined();
  }
  int64_t class_dim() const {
    return self_.dim() == 1 ? 0 : 1;
  }
  bool fits(const at::Tensor& tensor) const {
    return are_plain({&self_, &tensor}) && tensor.scalar_type() == dtype();
  }
  bool has_shapes() const {
    const bool is_rank = is_2d_ ? self_.dim() == 4 : self_.dim() == 1 || self_.dim() == 2;
    if (!is_rank || target_.dim() != self_.dim() - 1) return false;
    for (int64_t d = 0; d < target_.dim(); d++)
      if (target_.size(d) != self_.size(d < class_dim() ? d : d + 1)) return false;
    return true;
  }
  at::Tensor temporary(at::ScalarType dtype) const {
    return empty_on(device(), target_.sizes(), dtype);
  }
  /// Whether `program` was run, for each target. The first input is the target.
  bool run(const Program& program, const at::Tensor& out,
           std::initializer_list<const at::Tensor*> more) const {
    c10::SmallVector<const at::Tensor*, 4> inputs = {&target_};
    for (const at::Tensor* each : more)
      if (each->defined()) inputs.push_back(each);
    return out.numel() == 0 || run_program(program, out, inputs, {ignored_});
  }
  static Shaped exactly(const at::Tensor& tensor) {
    return Shaped(tensor, tensor.sizes(), tensor.strides());
  }
  /// The class of each target; not defined where the backend refuses.
  at::Tensor classes() const {
    at::Tensor result = temporary(at::kLong);
    return run(*class_program(target_.scalar_type()), result, {}) ? result : at::Tensor();
  }
  Placement by_class(const at::Tensor& classes) const {
    Placement placement(operation_, target_.sizes());
    for (int64_t d = 0; d < self_.dim(); d++)
      if (d == class_dim())
        placement.by(classes, classes.strides());
      else
        placement.along(d < class_dim() ? d : d - 1);
    return placement;
  }
  /// Gives the weight of each target's class, where there are weights.
  bool pick_weights(const at::Tensor& classes, at::Tensor& picked) const {
    if (!has_weight()) return true;
    picked = temporary(dtype());
    Placement placement(operation_, target_.sizes());
    placement.by(classes, classes.strides());
    return placement.run(TBK_INDEX_GATHER, Shaped(weight_), exactly(picked));
  }
  bool sum(const at::Tensor& of, const at::Tensor& into) const {
    const Reduced reduced(of, std::bitset<64>().set());
    const Reduction* reduction =
        reduction_of(Recipe::kSum, of.scalar_type(), of.scalar_type(), into.scalar_type());
    return reduction != nullptr && run_reduction(*reduction, reduced, {&into}, {&of});
  }
  bool finish(const at::Tensor& losses, const at::Tensor& weights, const at::Tensor& out,
              const at::Tensor& total) const;

  const char* operation_;
  const bool is_2d_;
  const at::Tensor& self_;
  const at::Tensor& target_;
  at::Tensor weight_;
  int64_t reduction_;
  double ignored_;
};

bool Loss::finish(const at::Tensor& losses, const at::Tensor& weights, const at::Tensor& out,
                  const at::Tensor& total) const {
  if (!sum(weights, total)) return false;
  if (reduction_ != at::Reduction::Mean) return sum(losses, out);
  const at::ScalarType inner = losses.scalar_type();
  const at::Tensor above = empty_on(device(), {}, inner), below = empty_on(device(), {}, inner);
  return sum(losses, above) && sum(weights, below) &&
         run_program(*quotient_program(inner, dtype()), out, {&above, &below});
}

bool Loss::forward(const at::Tensor& out, const at::Tensor& total) const {
  const Composition whole;
  const at::ScalarType target = target_.scalar_type();
  const at::Tensor at_class = classes(), picked = temporary(dtype());
  at::Tensor picked_weights;
  if (!at_class.defined() ||
      !by_class(at_class).run(TBK_INDEX_GATHER, exactly(self_), exactly(picked)) ||
      !pick_weights(at_class, picked_weights))
    return false;
  const at::Tensor losses = temporary(computed_in(dtype()));
  if (!run(*loss_program(target, dtype(), has_weight()), losses, {&picked, &picked_weights}))
    return false;
  if (is_each()) {
    total.zero_();
    out.copy_(losses);
    return true;
  }
  const at::Tensor weights = temporary(computed_in(dtype()));
  return run(*weight_program(target, dtype(), has_weight()), weights, {&picked_weights}) &&
         finish(losses, weights, out, total);
}

bool Loss::backward(const at::Tensor& gradient, const at::Tensor& total,
                    const at::Tensor& out) const {
  const Composition whole;
  const at::Tensor at_class = classes(), values = temporary(dtype());
  at::Tensor picked_weights;
  if (!at_class.defined() || !pick_weights(at_class, picked_weights)) return false;
  const bool is_mean = reduction_ == at::Reduction::Mean;
  const int form = (has_weight() ? kNllWeighted : 0) | (is_mean ? kNllOverWeights : 0);
  const at::Tensor each = is_each() ? gradient : gradient.reshape({});
  const at::Tensor by = is_mean ? total.reshape({}) : at::Tensor();
  if (!run(*gradient_program(target_.scalar_type(), dtype(), form), values,
           {&each, &picked_weights, &by}))
    return false;
  out.zero_();
  return by_class(at_class).run(TBK_INDEX_WRITE, exactly(out), exactly(values));
}

bool forward_into(const Loss& loss, at::Tensor& out, at::Tensor& total) {
  if (!loss.is_served({&out, &total}) || !loss.is_apart_from(out) || !loss.is_apart_from(total) ||
      !is_apart(out, {&total}))
    return false;
  at::native::resize_output(out, loss.result_sizes());
  at::native::resize_output(total, {});
  return loss.forward(out, total);
}

bool backward_into(const Loss& loss, const at::Tensor& gradient, const at::Tensor& self,
                   const at::Tensor& total, at::Tensor& out) {
  if (!loss.is_served({&gradient, &total, &out}) || !loss.is_apart_from(out) ||
      !is_apart(out, {&gradient, &total}) || total.numel() != 1 ||
      (loss.is_each() ? gradient.sizes() != loss.result_sizes()
                      : gradient.dim() > 1 || gradient.numel() != 1))
    return false;
  at::native::resize_output(out, self.sizes());
  return out.numel() == 0 || loss.backward(gradient, total, out);
}

template <class Op>
TwoReferences forward_out(const at::Tensor& self, const at::Tensor& target, const Maybe& weight,
                          int64_t reduction, c10::SymInt ignored, at::Tensor& out,
                          at::Tensor& total) {
  const Loss loss(Op::name, self, target, weight, reduction, ignored.expect_int());
  if (forward_into(loss, out, total)) {
    count_served<Op>(Route::composed, out);
    return {out, total};
  }
  return at::native::call_fallback_fn_symint<&cpu_fallback, Op>::call(
      self, target, weight, reduction, ignored, out, total);
}

template <class Op>
at::Tensor& backward_out(const at::Tensor& gradient, const at::Tensor& self,
                         const at::Tensor& target, const Maybe& weight, int64_t reduction,
                         c10::SymInt ignored, const at::Tensor& total, at::Tensor& out) {
  const Loss loss(Op::name, self, target, weight, reduction, ignored.expect_int());
  if (backward_into(loss, gradient, self, total, out)) {
    count_served<Op>(Route::composed, out);
    return out;
  }
  return at::native::call_fallback_fn_symint<&cpu_fallback, Op>::call(
      gradient, self, target, weight, reduction, ignored, total, out);
}

/// These two have no shape function in PyTorch.
Two forward_2d(const at::Tensor& self, const at::Tensor& target, const Maybe& weight,
               int64_t reduction, c10::SymInt ignored) {
  using Op = at::_ops::nll_loss2d_forward;
  if (are_plain({&self})) {
    const Loss loss(Op::name, self, target, weight, reduction, ignored.expect_int());
    const auto fresh = [&] { return empty_on(self.device().index(), {0}, self.scalar_type()); };
    at::Tensor out = fresh(), total = fresh();
    if (forward_into(loss, out, total)) {
      count_served<Op>(Route::composed, out);
      return {out, total};
    }
  }
  return at::native::call_fallback_fn_symint<&cpu_fallback, Op>::call(self, target, weight,
                                                                      reduction, ignored);
}

at::Tensor backward_2d(const at::Tensor& gradient, const at::Tensor& self, const at::Tensor& target,
                       const Maybe& weight, int64_t reduction, c10::SymInt ignored,
                       const at::Tensor& total) {
  using Op = at::_ops::nll_loss2d_backward;
  if (are_plain({&self})) {
    const Loss loss(Op::name, self, target, weight, reduction, ignored.expect_int());
    at::Tensor out = empty_on(self.device().index(), {0}, self.scalar_type());
    if (backward_into(loss, gradient, self, total, out)) {
      count_served<Op>(Route::composed, out);
      return out;
    }
  }
  return at::native::call_fallback_fn_symint<&cpu_fallback, Op>::call(
      gradient, self, target, weight, reduction, ignored, total);
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("nll_loss_forward.output", forward_out<at::_ops::nll_loss_forward_output>);
  m.impl("nll_loss_backward.grad_input", backward_out<at::_ops::nll_loss_backward_grad_input>);
  m.impl("nll_loss2d_forward", forward_2d);
  m.impl("nll_loss2d_forward.output", forward_out<at::_ops::nll_loss2d_forward_output>);
  m.impl("nll_loss2d_backward", backward_2d);
  m.impl("nll_loss2d_backward.grad_input", backward_out<at::_ops::nll_loss2d_backward_grad_input>);
}

}  // namespace tbk::generic
