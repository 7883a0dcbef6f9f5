// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// Steps of optimizers: one program for each, in one launch for all parameters.
#include <ATen/core/op_registration/op_registration.h>
#include <aten/fallback.h>
#include <aten/operands.h>
#include <aten/routes.h>
#include <generic/composition.h>
#include <generic/fused_step.h>
#include <generic/host_number.h>
#include <generic/launch.h>
#include <generic/pointwise.h>
#include <generic/sets.h>
#include <torch/library.h>

#include <cmath>

namespace tbk::generic {
namespace {

using Stack = torch::jit::Stack;

/// Lists: parameters, gradients, averages of gradients and of squares, and the greatest of these.
/// Numbers: the rate, and of each average the logarithm of its decay, the decay and 1 less it; decay of
/// weights, epsilon.
void write_adam(Step& step) {
  const Value steps = step.shared();
  const SharedOperands shared(step);
  const Value log1 = step.number(), fresh1 = step.number();
  const Value log2 = step.number(), keep2 = step.number(), fresh2 = step.number();
  const Value decay = step.number(), epsilon = step.number();
  Value gradient = step.gradient(shared.scale);
  if (step.has(kDecoupled))
    step[0] = step.sub(step[0], step.mul(step.mul(shared.rate, decay), step[0]));
  else if (step.has(kDecays))
    gradient = step.add(gradient, step.mul(decay, step[0]));
  step[2] = step.add(step[2], step.mul(fresh1, step.sub(gradient, step[2])));
  step[3] = step.add(step.mul(keep2, step[3]), step.mul(fresh2, step.mul(gradient, gradient)));
  if (step.has(kGreatestKept)) step[4] = step.max(step[4], step[3]);
  const Value square = step[step.has(kGreatestKept) ? 4 : 3];
  const Value root = step.sqrt(step.correction(log2, steps));
  const Value size = step.div(shared.rate, step.correction(log1, steps));
  const Value divisor = step.add(step.div(step.sqrt(square), root), epsilon);
  step[0] = step.sub(step[0], step.div(step.mul(size, step[2]), divisor));
  step.finish(shared.found_inf);
}

/// Lists: parameters, gradients, sums of squares. Numbers: the rate, its decay, decay of weights, epsilon.
void write_adagrad(Step& step) {
  const Value steps = step.shared();
  const SharedOperands shared(step);
  const Value rate_decay = step.number(), decay = step.number(), epsilon = step.number();
  Value gradient = step.gradient(shared.scale);
  const Value past = step.mul(step.sub(steps, step.constant(1)), rate_decay);
  const Value rate = step.div(shared.rate, step.add(step.constant(1), past));
  if (step.has(kDecays)) gradient = step.add(gradient, step.mul(decay, step[0]));
  step[2] = step.add(step[2], step.mul(gradient, gradient));
  const Value divisor = step.add(step.sqrt(step[2]), epsilon);
  step[0] = step.sub(step[0], step.div(step.mul(rate, gradient), divisor));
  step.finish(shared.found_inf);
}

/// Lists: parameters, gradients, momenta. Numbers: the rate, decay of weights, momentum, 1 less dampening.
void write_sgd(Step& step) {
  const SharedOperands shared(step);
  const Value decay = step.number(), momentum = step.number(), fresh = step.number();
  Value gradient = step.gradient(shared.scale);
  if (step.has(kDecays)) gradient = step.add(gradient, step.mul(decay, step[0]));
  if (step.has(kMomentum)) {
    const bool is_first = step.has(kFirstStep);
    step[2] =
        is_first ? gradient : step.add(step.mul(momentum, step[2]), step.mul(fresh, gradient));
    gradient = step.has(kNesterov) ? step.add(gradient, step.mul(momentum, step[2])) : step[2];
  }
  step[0] = step.sub(step[0], step.mul(shared.rate, gradient));
  step.finish(shared.found_inf);
}

/// The arguments of a call, by their names.
class Arguments {
 public:
  Arguments(const c10::OperatorHandle& op, const Stack& stack)
      : schema_(op.schema().arguments()), stack_(stack) {}

  const c10::IValue& of(const char* name) const {
    for (size_t i = 0; i < schema_.size(); i++)
      if (schema_[i].name() == name) return torch::jit::peek(stack_, i, schema_.size());
    TORCH_INTERNAL_ASSERT(false, "no argument ", name);
  }
  double number(const char* name) const {
    return of(name).toDouble();
  }
  bool is_set(const char* name) const {
    return of(name).toBool();
  }
  at::Tensor tensor(const char* name) const {
    return of(name).isTensor() ? of(name).toTensor() : at::Tensor();
  }

 private:
  const std::vector<c10::Argument>& schema_;
  const Stack& stack_;
};

std::vector<double> numbers_of_adam(const Arguments& of) {
  const double beta1 = of.number("beta1"), beta2 = of.number("beta2");
  return {std::log(beta1),           1 - beta1,       std::log(beta2), beta2, 1 - beta2,
          of.number("weight_decay"), of.number("eps")};
}
std::vector<double> numbers_of_adagrad(const Arguments& of) {
  return {of.number("lr_decay"), of.number("weight_decay"), of.number("eps")};
}
std::vector<double> numbers_of_sgd(const Arguments& of) {
  return {of.number("weight_decay"), of.number("momentum"), 1 - of.number("dampening")};
}

int form_of_adam(const Arguments& of) {
  return of.is_set("amsgrad") ? kGreatestKept : 0;
}
int form_of_adamw(const Arguments& of) {
  return form_of_adam(of) | (of.number("weight_decay") != 0 ? kDecoupled : 0);
}
int form_of_adagrad(const Arguments&) {
  return 0;
}
int form_of_sgd(const Arguments& of) {
  return (of.number("momentum") != 0 ? kMomentum : 0) | (of.is_set("nesterov") ? kNesterov : 0) |
         (of.is_set("is_first_step") ? kFirstStep : 0);
}

/// Says how the arguments of an optimizer come to its program.
struct Optimizer {
  const char* name;
  Formulas of;
  void (*write)(Step& step);
  /// Lists of tensors, the last one only in a form with `last`, if that is not 0.
  std::vector<const char*> lists;
  int last;
  bool has_steps;
  std::vector<double> (*numbers)(const Arguments& of);
  int (*form)(const Arguments& of);
};

const std::vector<const char*> kAdamLists = {"self", "grads", "exp_avgs", "exp_avg_sqs",
                                             "max_exp_avg_sqs"};
const Optimizer kOptimizers[] = {
    {"_fused_adam_", Formulas::kFusedAdam, write_adam, kAdamLists, kGreatestKept, true,
     numbers_of_adam, form_of_adam},
    {"_fused_adamw_", Formulas::kFusedAdam, write_adam, kAdamLists, kGreatestKept, true,
     numbers_of_adam, form_of_adamw},
    {"_fused_adagrad_",
     Formulas::kFusedAdagrad,
     write_adagrad,
     {"self", "grads", "state_sums"},
     0,
     true,
     numbers_of_adagrad,
     form_of_adagrad},
    {"_fused_sgd_",
     Formulas::kFusedSgd,
     write_sgd,
     {"self", "grads", "momentum_buffer_list"},
     kMomentum,
     false,
     numbers_of_sgd,
     form_of_sgd},
};

/// One step of all parameters. What it refuses it has not touched.
class FusedCall {
 public:
  FusedCall(const Optimizer& optimizer, const Arguments& arguments)
      : optimizer_(optimizer), arguments_(arguments) {}

  bool run() {
    if (!gather_lists() || !offers_pointwise(device_.index()) || !gather_shared()) return false;
    Sets sets(device_.index(), lists_[0].size());
    for (size_t i = 0; i < lists_[0].size(); i++)
      if (!add(sets, i)) return false;
    return sets.pointwise(*program());
  }
  c10::DeviceIndex device() const {
    return device_.index();
  }
  at::ScalarType dtype() const {
    return dtype_;
  }

 private:
  bool gather_lists() {
    form_ = optimizer_.form(arguments_);
    if (arguments_.is_set("maximize")) form_ |= kMaximize;
    const bool is_decoupled = (form_ & kDecoupled) != 0;
    if (!is_decoupled && arguments_.number("weight_decay") != 0) form_ |= kDecays;
    for (const char* name : optimizer_.lists) {
      const bool is_last = name == optimizer_.lists.back() && optimizer_.last != 0;
      if (is_last && (form_ & optimizer_.last) == 0) continue;
      lists_.push_back(arguments_.of(name).toListRef());
    }
    if (optimizer_.has_steps) steps_ = arguments_.of("state_steps").toListRef();
    for (const List& list : lists_)
      if (list.size() != lists_[0].size()) return false;
    if (lists_[0].empty() || (optimizer_.has_steps && steps_.size() != lists_[0].size()))
      return false;
    const at::Tensor& first = lists_[0][0].toTensor();
    dtype_ = first.scalar_type();
    device_ = first.device();
    return is_ours(first) && at::isFloatingType(dtype_);
  }

  bool is_shared(const at::Tensor& tensor) const {
    return is_plain(tensor) && tensor.device() == device_ && tensor.numel() == 1 &&
           tensor.scalar_type() == at::kFloat;
  }
  bool share(const char* name, int flag) {
    const at::Tensor tensor = arguments_.tensor(name);
    if (!tensor.defined()) return true;
    form_ |= flag;
    shared_.push_back(tensor);
    return is_shared(tensor);
  }
  bool gather_shared() {
    if (!share("grad_scale", kScaled) || !share("found_inf", kMaySkip)) return false;
    const at::Tensor rate = arguments_.tensor("lr");
    if (is_ours(rate)) {
      if (!share("lr", kRateOnDevice)) return false;
    } else if (!rate.defined()) {
      take(arguments_.number("lr"));
    } else if (is_host_number(rate) && at::isFloatingType(rate.scalar_type())) {
      take(value_of(rate).toDouble());
    } else {
      return false;
    }
    for (const double number : optimizer_.numbers(arguments_))
      take(number);
    return true;
  }

  void take(double number) {
    numbers_.push_back(bits_in(computed_in(dtype_), number));
  }

  bool add(Sets& sets, size_t element) const {
    c10::SmallVector<const at::Tensor*, 5> tensors, written, shared;
    for (size_t i = 0; i < lists_.size(); i++) {
      tensors.push_back(&lists_[i][element].toTensor());
      if (i != 1 || (form_ & kScaled) != 0) written.push_back(tensors.back());
    }
    if (!lie_alike(tensors, dtype_, device_)) return false;
    if (optimizer_.has_steps) {
      shared.push_back(&steps_[element].toTensor());
      if (!is_shared(*shared.back())) return false;
    }
    for (const at::Tensor& each : shared_)
      shared.push_back(&each);
    if (tensors[0]->numel() == 0) return true;
    sets.add(written, tensors, shared, numbers_);
    return true;
  }

  const Program* program() const {
    return program_by_key({optimizer_.of, dtype_, dtype_, form_}, [&](ProgramBuilder& builder) {
      Step step(builder, dtype_, form_, static_cast<int>(lists_.size()));
      optimizer_.write(step);
    });
  }

  const Optimizer& optimizer_;
  const Arguments& arguments_;
  int form_ = 0;
  at::ScalarType dtype_ = at::ScalarType::Undefined;
  at::Device device_ = at::kCPU;
  using List = c10::ArrayRef<c10::IValue>;  // borrows the stack
  c10::SmallVector<List, 5> lists_;
  List steps_;
  std::vector<at::Tensor> shared_;
  std::vector<uint64_t> numbers_;
};

class Fused final : public c10::OperatorKernel {
 public:
  Fused(const Optimizer& optimizer, const std::string& name)
      : optimizer_(optimizer), counter_(counter_of("aten::" + name)) {}

  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet, Stack* stack) {
    if (is_open(Route::generic)) {
      const Arguments arguments(op, *stack);
      FusedCall call(optimizer_, arguments);
      if (call.run()) {
        torch::jit::drop(*stack, op.schema().arguments().size());
        return count_call(counter_, Route::generic, call.device(), call.dtype());
      }
    }
    cpu_fallback(op, stack);
  }

 private:
  const Optimizer& optimizer_;
  OperatorCounter& counter_;
};

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  for (const Optimizer& optimizer : kOptimizers)
    for (const char* overload : {"", ".tensor_lr"}) {
      const std::string name = std::string(optimizer.name) + overload;
      m.impl(name.c_str(),
             torch::CppFunction::makeFromBoxedFunctor(std::make_unique<Fused>(optimizer, name)));
    }
}

}  // namespace tbk::generic
