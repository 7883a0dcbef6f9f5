// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// One call of a row of kPointwiseRows: its operands and dtypes are found, and it is launched.
#include <ATen/MemoryOverlap.h>
#include <ATen/TensorIterator.h>
#include <ATen/native/TypeProperties.h>
#include <aten/empty.h>
#include <aten/operands.h>
#include <generic/complex_parts.h>
#include <generic/formula.h>
#include <generic/host_number.h>
#include <generic/launch.h>
#include <generic/pointwise.h>
#include <generic/pointwise_call.h>

#include <algorithm>

namespace tbk::generic {
namespace {

using Stack = torch::jit::Stack;

/// One call that a row may serve.
class PointwiseCall {
 public:
  PointwiseCall(const Row& row, const c10::OperatorHandle& op, Stack* stack)
      : row_(row), stack_(stack), count_(op.schema().arguments().size()) {}

  std::optional<Served> run() {
    if (!gather() || !offers_pointwise(device_) || !settle_types()) return std::nullopt;
    build();
    if (!launch()) return std::nullopt;
    return Served{device_, types_.out};
  }

 private:
  const c10::IValue& argument(int position) const {
    return torch::jit::peek(*stack_, static_cast<size_t>(position), count_);
  }
  bool is_promoting(size_t i) const {
    return (row_.promoting_tensors >> i & 1) != 0;
  }

  bool gather() {
    for (uint8_t i = 0; i < row_.condition_count; i++)
      if (!holds(row_.conditions[i], argument(row_.conditions[i].argument))) return false;
    return gather_tensors() && gather_numbers() && gather_written();
  }

  bool gather_tensors() {
    bool has_device = false;
    for (int i = 0; i < 4 && row_.tensors[i] >= 0; i++) {
      const c10::IValue& value = argument(row_.tensors[i]);
      if (!value.isTensor() || !is_plain(value.toTensor())) return false;
      const at::Tensor& tensor = value.toTensor();
      if (is_ours(tensor)) {
        if (has_device && tensor.device().index() != device_) return false;
        device_ = tensor.device().index();
        has_device = true;
      } else if (!is_host_number(tensor) || tensor.scalar_type() == at::kUInt64) {
        return false;
      }
      tensors_.push_back(tensor);
    }
    return has_device;
  }

  bool gather_numbers() {
    for (int i = 0; i < 4 && row_.numbers[i] >= 0; i++) {
      const c10::IValue& value = argument(row_.numbers[i]);
      if (row_.complex == nullptr ? !is_real(value) : !is_number(value)) return false;
      numbers_.push_back(value.toScalar());
      if ((row_.promoting >> i & 1) != 0) wrapped_.push_back(wrapped_number(numbers_.back()));
    }
    return true;
  }

  bool gather_written() {
    if (row_.form == Form::kFunction) return true;
    const int position = row_.form == Form::kInPlace ? 0 : static_cast<int>(count_) - 1;
    const c10::IValue& value = argument(position);
    if (!value.isTensor() || !is_plain(value.toTensor())) return false;
    written_ = value.toTensor();
    // Some operators of PyTorch's write to expanded tensors, and warn.
    return is_ours(written_) && written_.device().index() == device_ &&
           at::has_internal_overlap(written_) != at::MemOverlap::Yes;
  }

  /// Returns what operands are cast to; Undefined where that is no dtype of ours.
  at::ScalarType common_dtype() const {
    if (has_own_dtype() || row_.rule == DtypeRule::kPredicate)
      return tensors_[first_promoting()].scalar_type();
    at::native::ResultTypeState state;
    for (size_t i = 0; i < tensors_.size(); i++)
      if (is_promoting(i)) state = at::native::update_result_type_state(tensors_[i], state);
    for (const at::Tensor& number : wrapped_)
      state = at::native::update_result_type_state(number, state);
    const at::ScalarType common = at::native::result_type(state);
    const bool is_float = row_.rule == DtypeRule::kPromoteToFloat;
    return is_float && at::isIntegralType(common, /*includeBool=*/true)
               ? at::typeMetaToScalarType(at::get_default_dtype())
               : common;
  }

  bool has_own_dtype() const {
    return row_.rule == DtypeRule::kSelf || row_.rule == DtypeRule::kSame;
  }

  /// Returns whether programs load and store these dtypes: PyTorch also casts to and from unsigned ones.
  bool are_of_programs() const {
    if (part_computed_in(types_.out) == at::ScalarType::Undefined) return false;
    return std::all_of(tensors_.begin(), tensors_.end(), [](const at::Tensor& tensor) {
      const at::ScalarType dtype = tensor.scalar_type();
      return !is_ours(tensor) || part_computed_in(dtype) != at::ScalarType::Undefined;
    });
  }

  /// Returns whether the row is for operands of these dtypes; PyTorch raises for some others.
  bool takes_dtypes() const {
    const bool refuses_truth = (row_.flags & kRefusesTruth) != 0;
    const bool refuses_half = (row_.flags & kRefusesHalf) != 0;
    if (!takes_output() || (refuses_half && at::isReducedFloatingType(types_.common))) return false;
    if ((row_.flags & kRefusesIntegerRatio) != 0 && has_integer_ratio()) return false;
    for (size_t i = 0; i < tensors_.size(); i++) {
      const at::ScalarType dtype = tensors_[i].scalar_type();
      if (!is_promoting(i)) {
        if (dtype != at::kBool || !is_ours(tensors_[i])) return false;
        continue;
      }
      if (refuses_truth && dtype == at::kBool) return false;
      if (has_own_dtype() && dtype != types_.common) return false;
    }
    for (const at::Tensor& number : wrapped_)
      if (refuses_truth && number.scalar_type() == at::kBool) return false;
    return true;
  }

  /// Returns whether PyTorch writes a result of that dtype there.
  bool takes_output() const {
    if (has_real_result()) return types_.out == new_dtype();
    switch (row_.rule) {
      case DtypeRule::kPredicate:
        return types_.out == at::kBool;
      case DtypeRule::kCompare:
        return true;
      case DtypeRule::kSelf:
      case DtypeRule::kSame:
        return types_.out == types_.common;
      default:
        return has_condition() || (row_.flags & kSameOutput) != 0
                   ? types_.out == types_.common
                   : at::canCast(types_.common, types_.out);
    }
  }
  bool has_integer_ratio() const {
    return std::all_of(tensors_.begin() + 1, tensors_.end(), [](const at::Tensor& tensor) {
      return at::isIntegralType(tensor.scalar_type(), /*includeBool=*/true);
    });
  }
  bool has_condition() const {
    for (size_t i = 0; i < tensors_.size(); i++)
      if (!is_promoting(i)) return true;
    return false;
  }

  size_t first_promoting() const {
    size_t i = 0;
    while (i + 1 < tensors_.size() && !is_promoting(i))
      i++;
    return i;
  }

  bool settle_types() {
    types_.common = common_dtype();
    types_.out = written_.defined() ? written_.scalar_type() : new_dtype();
    types_.unrounded = 0;
    for (size_t i = 0; i < 4; i++) {
      const bool is_loaded = i < tensors_.size() && is_ours(tensors_[i]);
      types_.tensors[i] = is_loaded ? tensors_[i].scalar_type() : at::ScalarType::Undefined;
      if (is_loaded && is_exact(i) && tensors_[i].numel() == 1 && is_promoting(i))
        types_.unrounded = static_cast<uint8_t>(types_.unrounded | 1U << i);
    }
    if (!are_of_programs() || !takes_dtypes()) return false;
    const at::ScalarType computed = computed_in(types_.common);
    if (!has_formula(row_, types_.common)) return false;
    const bool divides = (row_.flags & kDividesIntegers) != 0;
    if (divides && (computed == at::kInt || computed == at::kLong) && !divides_by_none())
      return false;
    return are_numbers_in_range();
  }

  /// Returns whether a number that takes part in the dtype is not rounded to it. An integer is cut to it always.
  bool are_numbers_exact() const {
    return (row_.flags & kExactNumbers) != 0 &&
           !at::isIntegralType(types_.common, /*includeBool=*/true);
  }
  /// Returns the same of a tensor that is one number.
  bool is_exact(size_t tensor) const {
    return are_numbers_exact() && (tensor > 0 || (row_.flags & kFirstRounded) == 0);
  }

  /// Returns whether no divisor is zero, for which PyTorch raises. Of a tensor of the device that is one read.
  bool divides_by_none() const {
    std::optional<at::Scalar> divisor;
    if (tensors_.size() == 2 && is_host_number(tensors_[1])) divisor = value_of(tensors_[1]);
    if (tensors_.size() == 1 && row_.numbers[0] > row_.tensors[0]) divisor = numbers_[0];
    if (divisor.has_value())
      return bits_of(*divisor, types_.common, computed_in(types_.common), /*is_exact=*/false) != 0;
    if (!offers_reduce(device_)) return false;
    const Composition whole;
    return tensors_.back().to(types_.common).all().item<bool>();
  }

  at::ScalarType new_dtype() const {
    if (is_truth()) return at::kBool;
    return has_real_result() ? part_dtype(types_.common) : types_.common;
  }
  bool is_truth() const {
    return row_.rule == DtypeRule::kCompare || row_.rule == DtypeRule::kPredicate;
  }
  /// Returns whether the row makes real numbers of complex ones, which PyTorch casts to nothing else.
  bool has_real_result() const {
    return is_pair(types_.common) && row_.complex != nullptr && row_.complex->imaginary < 0 &&
           !is_truth();
  }

  /// PyTorch raises for the others, or computes what no dtype of ours holds.
  bool are_numbers_in_range() const {
    for (size_t i = 0; i < numbers_.size(); i++)
      if (!takes_number(row_, i, numbers_[i], types_.common)) return false;
    return true;
  }

  /// PyTorch itself finds the sizes, strides and memory format of the result, and what is wrong with
  /// sizes, overlaps and devices: what its own kernels do for every device. Numbers are of no size.
  void build() {
    if (!written_.defined() && has_real_result() && (row_.flags & kContiguousReal) != 0)
      written_ = empty_on(device_, tensors_[0].sizes(), types_.out);
    at::TensorIteratorConfig config;
    config.check_all_same_dtype(false).add_output(written_);
    for (size_t i = 0; i < tensors_.size(); i++)
      if (const at::Tensor& tensor = tensors_[place(i)]; is_ours(tensor))
        config.add_const_input(tensor);
    if (!written_.defined()) config.declare_static_dtype(types_.out);
    iterator_.build(config);
  }

  /// Returns which tensor the iterator has as its input `i`.
  size_t place(size_t i) const {
    return (row_.flags & kSecondFirst) != 0 ? tensors_.size() - 1 - i : i;
  }

  bool launch() {
    const at::Tensor out = iterator_.output();
    if (iterator_.numel() > 0 && !launch_on(out)) return false;
    torch::jit::drop(*stack_, count_);
    torch::jit::push(*stack_, written_.defined() ? written_ : out);
    return true;
  }

  bool launch_on(const at::Tensor& out) {
    const Program* program = program_of(row_, types_);
    const at::DimVector sizes(iterator_.shape().rbegin(), iterator_.shape().rend());
    Launch launch(device_, sizes);
    launch.output(out, strides(0, out));
    for (size_t i = 0; i < tensors_.size(); i++)
      if (is_ours(tensors_[i])) launch.input(tensors_[i], strides(operand_of(i), tensors_[i]));
    for (size_t i = 0; i < tensors_.size(); i++)
      if (!is_ours(tensors_[i])) add_number(launch, value_of(tensors_[i]), is_exact(i));
    for (size_t i = 0; i < numbers_.size(); i++) {
      const bool is_rounded = (row_.promoting >> i & 1) != 0 && !are_numbers_exact();
      add_number(launch, numbers_[i], !is_rounded);
    }
    return launch.pointwise(*program);
  }

  /// Returns which operand of the iterator a tensor is; numbers are none, the output is the first.
  int operand_of(size_t tensor) const {
    int operand = 1;
    for (size_t i = 0; place(i) != tensor; i++)
      operand += is_ours(tensors_[place(i)]) ? 1 : 0;
    return operand;
  }

  void add_number(Launch& launch, const at::Scalar& number, bool is_exact) const {
    if (!is_pair(types_.common))
      return launch.number(bits_of(number, types_.common, computed_in(types_.common), is_exact));
    const at::ScalarType computed = part_computed_in(types_.common);
    const c10::complex<double> value = number.toComplexDouble();
    launch.number(bits_in(computed, value.real()));
    launch.number(bits_in(computed, value.imag()));
  }

  /// In elements, the last dimension last; the iterator has bytes, the last dimension first.
  at::DimVector strides(int operand, const at::Tensor& tensor) const {
    const c10::IntArrayRef bytes = iterator_.strides(operand);
    at::DimVector result(bytes.rbegin(), bytes.rend());
    for (int64_t& stride : result)
      stride /= static_cast<int64_t>(tensor.element_size());
    return result;
  }

  const Row& row_;
  Stack* stack_;
  const size_t count_;
  c10::DeviceIndex device_ = 0;
  c10::SmallVector<at::Tensor, 4> tensors_, wrapped_;
  c10::SmallVector<at::Scalar, 4> numbers_;
  at::Tensor written_;
  Types types_{};
  at::TensorIterator iterator_;
};

}  // namespace

std::optional<Served> serve(const Row& row, const c10::OperatorHandle& op, Stack* stack) {
  return PointwiseCall(row, op, stack).run();
}

}  // namespace tbk::generic
