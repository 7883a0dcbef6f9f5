// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// One kernel for all reductions of a table.
#include <ATen/MemoryOverlap.h>
#include <ATen/core/op_registration/op_registration.h>
#include <ATen/native/Resize.h>
#include <aten/empty.h>
#include <aten/fallback.h>
#include <aten/operands.h>
#include <aten/routes.h>
#include <generic/complex_parts.h>
#include <generic/reduce.h>
#include <torch/library.h>

#include <cmath>
#include <string_view>

namespace tbk::generic {
namespace {

using Stack = torch::jit::Stack;

/// What dtype elements are cast to before anything is computed, and what is returned.
enum class Dtypes : uint8_t {
  kWide,   ///< The argument dtype; else the element's, integers as INT64. Computed in that.
  kReal,   ///< The argument dtype; else the element's, a real one. Computed in that.
  kFloat,  ///< The same; integers as the default dtype.
  kSame,   ///< The element's.
  kTruth,  ///< BOOL, but UINT8 of UINT8.
  kPlace,  ///< INT64, computed in the element's; where there are two results the first is the element's.
};

/// What an argument of dimensions says when it is an empty list.
enum class Empty : uint8_t { kAll, kRefused };

constexpr int kNone = -1;

struct ReduceRow {
  const char* overload;
  Recipe recipe;
  Dtypes dtypes;
  int8_t outputs;  ///< Of the result; in the schema they come last where `is_out`.
  bool is_out;
  int8_t dim, keepdim, dtype, number;  ///< Positions in the schema.
  Empty empty;
};

constexpr ReduceRow kReduceRows[] = {
    {"sum.IntList_out", Recipe::kSum, Dtypes::kWide, 1, true, 1, 2, 3, kNone, Empty::kAll},
    {"nansum", Recipe::kNanSum, Dtypes::kWide, 1, false, 1, 2, 3, kNone, Empty::kAll},
    {"nansum.out", Recipe::kNanSum, Dtypes::kWide, 1, true, 1, 2, 3, kNone, Empty::kAll},
    {"mean.out", Recipe::kMean, Dtypes::kReal, 1, true, 1, 2, 3, kNone, Empty::kAll},
    {"prod", Recipe::kProd, Dtypes::kWide, 1, false, kNone, kNone, 1, kNone, Empty::kAll},
    {"prod.int_out", Recipe::kProd, Dtypes::kWide, 1, true, 1, 2, 3, kNone, Empty::kAll},
    {"any.out", Recipe::kAny, Dtypes::kTruth, 1, true, 1, 2, kNone, kNone, Empty::kRefused},
    {"any.dims", Recipe::kAny, Dtypes::kTruth, 1, false, 1, 2, kNone, kNone, Empty::kRefused},
    {"any.dims_out", Recipe::kAny, Dtypes::kTruth, 1, true, 1, 2, kNone, kNone, Empty::kRefused},
    {"any.all_out", Recipe::kAny, Dtypes::kTruth, 1, true, kNone, kNone, kNone, kNone, Empty::kAll},
    {"all.out", Recipe::kAll, Dtypes::kTruth, 1, true, 1, 2, kNone, kNone, Empty::kRefused},
    {"all.dims", Recipe::kAll, Dtypes::kTruth, 1, false, 1, 2, kNone, kNone, Empty::kRefused},
    {"all.dims_out", Recipe::kAll, Dtypes::kTruth, 1, true, 1, 2, kNone, kNone, Empty::kRefused},
    {"all.all_out", Recipe::kAll, Dtypes::kTruth, 1, true, kNone, kNone, kNone, kNone, Empty::kAll},
    {"count_nonzero.dim_IntList", Recipe::kCount, Dtypes::kPlace, 1, false, 1, kNone, kNone, kNone,
     Empty::kAll},
    {"amax.out", Recipe::kMax, Dtypes::kSame, 1, true, 1, 2, kNone, kNone, Empty::kAll},
    {"amin.out", Recipe::kMin, Dtypes::kSame, 1, true, 1, 2, kNone, kNone, Empty::kAll},
    {"aminmax.out", Recipe::kMinMax, Dtypes::kSame, 2, true, 1, 2, kNone, kNone, Empty::kAll},
    {"max", Recipe::kMax, Dtypes::kSame, 1, false, kNone, kNone, kNone, kNone, Empty::kAll},
    {"max.unary_out", Recipe::kMax, Dtypes::kSame, 1, true, kNone, kNone, kNone, kNone,
     Empty::kAll},
    {"min", Recipe::kMin, Dtypes::kSame, 1, false, kNone, kNone, kNone, kNone, Empty::kAll},
    {"min.unary_out", Recipe::kMin, Dtypes::kSame, 1, true, kNone, kNone, kNone, kNone,
     Empty::kAll},
    {"max.dim_max", Recipe::kMaxIndex, Dtypes::kPlace, 2, true, 1, 2, kNone, kNone, Empty::kAll},
    {"min.dim_min", Recipe::kMinIndex, Dtypes::kPlace, 2, true, 1, 2, kNone, kNone, Empty::kAll},
    {"argmax.out", Recipe::kArgMax, Dtypes::kPlace, 1, true, 1, 2, kNone, kNone, Empty::kAll},
    {"argmin.out", Recipe::kArgMin, Dtypes::kPlace, 1, true, 1, 2, kNone, kNone, Empty::kAll},
    {"var.correction", Recipe::kVar, Dtypes::kReal, 1, false, 1, 3, kNone, 2, Empty::kAll},
    {"var.correction_out", Recipe::kVar, Dtypes::kReal, 1, true, 1, 3, kNone, 2, Empty::kAll},
    {"std.correction", Recipe::kStd, Dtypes::kReal, 1, false, 1, 3, kNone, 2, Empty::kAll},
    {"std.correction_out", Recipe::kStd, Dtypes::kReal, 1, true, 1, 3, kNone, 2, Empty::kAll},
    {"var_mean.correction", Recipe::kVarMean, Dtypes::kReal, 2, false, 1, 3, kNone, 2, Empty::kAll},
    {"std_mean.correction", Recipe::kStdMean, Dtypes::kReal, 2, false, 1, 3, kNone, 2, Empty::kAll},
    {"logsumexp.out", Recipe::kLogSumExp, Dtypes::kFloat, 1, true, 1, 2, kNone, kNone,
     Empty::kRefused},
    {"norm.out", Recipe::kNormP, Dtypes::kReal, 1, true, 2, 3, kNone, 1, Empty::kAll},
    {"norm.dtype_out", Recipe::kNormP, Dtypes::kReal, 1, true, 2, 3, 4, 1, Empty::kAll},
    {"linalg_vector_norm.out", Recipe::kNormP, Dtypes::kReal, 1, true, 2, 3, 4, 1, Empty::kAll},
};

/// Overloads that have kernels by hand, which come here when they are done.
constexpr std::string_view kReducedByHand[] = {"sum.IntList_out"};

bool is_norm(Recipe recipe) {
  return recipe == Recipe::kNormP;
}

bool is_deviation(Recipe recipe) {
  return recipe == Recipe::kVar || recipe == Recipe::kStd || recipe == Recipe::kVarMean ||
         recipe == Recipe::kStdMean;
}

/// PyTorch raises where there is nothing to choose from.
bool needs_elements(Recipe recipe) {
  switch (recipe) {
    case Recipe::kMax:
    case Recipe::kMin:
    case Recipe::kMinMax:
    case Recipe::kMaxIndex:
    case Recipe::kMinIndex:
    case Recipe::kArgMax:
    case Recipe::kArgMin:
    case Recipe::kNormMost:
    case Recipe::kNormLeast:
    case Recipe::kNormP:
      return true;
    default:
      return false;
  }
}

Recipe norm_of(double order) {
  if (order == 0) return Recipe::kCount;
  if (order == 1) return Recipe::kNorm1;
  if (order == 2) return Recipe::kNorm2;
  if (std::isinf(order)) return order > 0 ? Recipe::kNormMost : Recipe::kNormLeast;
  return Recipe::kNormP;
}

/// One call that a row may serve. What it refuses it has not touched, but for an output's size.
class ReduceCall {
 public:
  ReduceCall(const ReduceRow& row, const c10::OperatorHandle& op, Stack* stack)
      : row_(row), recipe_(row.recipe), stack_(stack), count_(op.schema().arguments().size()) {}

  bool run() {
    if (!gather() || !offers_reduce(device()) || !settle_dtypes() || !settle_mask()) return false;
    const Reduced reduced(self_, mask_);
    if (!settle_numbers(reduced.count()) || (reduced.count() == 0 && needs_elements(recipe_)) ||
        !is_open(route()))
      return false;
    if (is_of_extreme_size_) take_sizes();
    reduction_ = reduction_of(recipe_, self_.scalar_type(), as_, outs_[0]);
    return reduction_ != nullptr && make_outputs(reduced) && launch(reduced);
  }
  c10::DeviceIndex device() const {
    return self_.device().index();
  }
  Route route() const {
    const bool is_composed = is_of_extreme_size_ || has_exponentials();
    return is_composed ? Route::composed : Route::generic;
  }
  at::ScalarType result_dtype() const {
    return outs_[0];
  }

 private:
  /// Returns whether this is done in more than one launch, because that takes a third of the time, see decision 238.
  bool has_exponentials() const {
    return recipe_ == Recipe::kLogSumExp && is_open(Route::composed) && offers_pointwise(device());
  }

  const c10::IValue& argument(size_t position) const {
    return torch::jit::peek(*stack_, position, count_);
  }
  const c10::IValue& argument(int8_t position) const {
    return argument(static_cast<size_t>(position));
  }

  bool gather() {
    const c10::IValue& value = argument(size_t{0});
    if (!value.isTensor() || !is_ours(value.toTensor())) return false;
    self_ = value.toTensor();
    if (self_.layout() != at::kStrided || self_.is_neg() || self_.is_conj() || self_.is_nested() ||
        self_.dim() > 64)
      return false;
    keepdim_ = row_.keepdim != kNone && argument(row_.keepdim).toBool();
    if (row_.is_out)
      for (int8_t i = 0; i < row_.outputs; i++)
        outputs_.push_back(argument(count_ - static_cast<size_t>(row_.outputs - i)).toTensor());
    return true;
  }

  bool settle_dtypes() {
    const at::ScalarType own = self_.scalar_type();
    as_ = own;
    if (row_.dtype != kNone && !argument(row_.dtype).isNone())
      as_ = argument(row_.dtype).toScalarType();
    else if (at::isIntegralType(own, /*includeBool=*/true))
      as_ = of_integer();
    if (!is_computed()) return false;
    outs_.assign(static_cast<size_t>(row_.outputs), as_);
    if (is_norm(recipe_) || is_deviation(recipe_)) outs_[0] = part_dtype(as_);
    if (row_.dtypes == Dtypes::kTruth) outs_[0] = own == at::kByte ? own : at::kBool;
    if (row_.dtypes == Dtypes::kPlace) outs_.back() = at::kLong;
    for (size_t i = 0; i < outputs_.size(); i++)
      if (!is_output(outputs_[i], outs_[i])) return false;
    return true;
  }

  /// Returns whether the row has a meaning for the dtype that is computed in.
  bool is_computed() const {
    if (row_.dtypes == Dtypes::kReal && is_pair(as_))
      return !is_norm(recipe_) || self_.is_complex();  // PyTorch raises
    const bool is_real = row_.dtypes == Dtypes::kReal || row_.dtypes == Dtypes::kFloat;
    return !is_real || at::isFloatingType(as_);
  }

  at::ScalarType of_integer() const {
    if (row_.dtypes == Dtypes::kWide) return at::kLong;
    return row_.dtypes == Dtypes::kFloat ? at::get_default_dtype_as_scalartype()
                                         : self_.scalar_type();
  }

  bool is_output(const at::Tensor& out, at::ScalarType dtype) const {
    return is_ours(out) && out.device() == self_.device() && out.scalar_type() == dtype &&
           !out.is_alias_of(self_) && !out.is_neg() && !out.is_conj() &&
           at::has_internal_overlap(out) == at::MemOverlap::No;
  }

  bool settle_mask() {
    const int64_t rank = self_.dim();
    at::DimVector dims;
    if (row_.dim != kNone && argument(row_.dim).isIntList()) {
      const c10::List<int64_t> list = argument(row_.dim).toIntList();
      dims.assign(list.begin(), list.end());
      if (dims.empty() && row_.empty == Empty::kRefused && rank > 0) return false;
    } else if (row_.dim != kNone && argument(row_.dim).isInt()) {
      dims.push_back(argument(row_.dim).toInt());
    }
    if (dims.empty()) {
      for (int64_t d = 0; d < rank; d++)
        mask_.set(static_cast<size_t>(d));
      return true;
    }
    for (int64_t dim : dims)
      if (!add_to_mask(dim, rank)) return false;
    return true;
  }

  /// PyTorch raises for the others.
  bool add_to_mask(int64_t dim, int64_t rank) {
    const int64_t most = std::max<int64_t>(rank, 1);
    if (dim < -most || dim >= most) return false;
    const auto place = static_cast<size_t>(dim < 0 ? dim + most : dim);
    if (mask_.test(place)) return false;
    mask_.set(place);
    return true;
  }

  bool settle_numbers(int64_t elements) {
    double number = static_cast<double>(elements);
    if (is_deviation(recipe_)) {
      const c10::IValue& correction = argument(row_.number);
      number -= correction.isNone() ? 1.0 : correction.toScalar().toDouble();
      if (number <= 0) return false;  // PyTorch warns
    } else if (is_norm(recipe_)) {
      const c10::IValue& order = argument(row_.number);
      if (!order.isNone() && order.toScalar().isComplex()) return false;
      number = order.isNone() ? 2.0 : order.toScalar().toDouble();
      // Of one number that is its size, which no power can make infinite.
      recipe_ = elements == 1 && number != 0 ? Recipe::kNorm1 : norm_of(number);
      is_of_extreme_size_ = is_pair(as_) && std::isinf(number);
      if (elements == 0 && number < 0) return false;
    }
    const bool has_number =
        recipe_ == Recipe::kMean || recipe_ == Recipe::kNormP || is_deviation(recipe_);
    if (has_number) number_ = number;
    return true;
  }

  /// Gradients ask which elements have that size, and have it from abs: no other formula may stand for it here.
  void take_sizes() {
    const Composition part;
    self_ = self_.to(as_).abs();
    as_ = self_.scalar_type();
  }

  bool make_outputs(const Reduced& reduced) {
    const at::DimVector sizes = reduced.sizes(keepdim_);
    for (at::Tensor& out : outputs_)
      at::native::resize_output(out, sizes);
    for (size_t i = outputs_.size(); i < outs_.size(); i++)
      outputs_.push_back(empty_on(device(), sizes, outs_[i]));
    return true;
  }

  bool launch(const Reduced& reduced) {
    if (outputs_[0].numel() > 0 && !compute(reduced)) return false;
    if (row_.dtype != kNone) warn_of_lost_parts(self_.scalar_type(), as_);
    torch::jit::drop(*stack_, count_);
    for (at::Tensor& out : outputs_)
      torch::jit::push(*stack_, std::move(out));
    return true;
  }

  bool compute(const Reduced& reduced) {
    return has_exponentials() ? logsumexp_into(self_, as_, reduced, outputs_[0])
                              : launch_on_device(reduced);
  }

  bool launch_on_device(const Reduced& reduced) {
    Launch launch(device(), reduced.outer(), reduced.inner());
    for (const at::Tensor& out : outputs_)
      launch.output(out, reduced.result_strides(out, keepdim_));
    launch.input(self_, reduced.strides(self_));
    if (number_.has_value()) launch.number(bits_in(computed_in(part_dtype(as_)), *number_));
    return launch.reduce(*reduction_);
  }

  const ReduceRow& row_;
  Recipe recipe_;
  Stack* stack_;
  const size_t count_;
  at::Tensor self_;
  bool keepdim_ = false;
  std::bitset<64> mask_;
  at::ScalarType as_ = at::ScalarType::Undefined;
  c10::SmallVector<at::ScalarType, 2> outs_;
  c10::SmallVector<at::Tensor, 2> outputs_;
  std::optional<double> number_;
  bool is_of_extreme_size_ = false;  ///< Of complex numbers.
  const Reduction* reduction_ = nullptr;
};

class Reduce final : public c10::OperatorKernel {
 public:
  explicit Reduce(const ReduceRow& row)
      // Not `+`: within PyTorch 2.14's headers, gcc 12 warns of its own move of the sum.
      : row_(row), counter_(counter_of(std::string("aten::").append(row.overload))) {}

  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet, Stack* stack) {
    run(op, stack);
  }
  void run(const c10::OperatorHandle& op, Stack* stack) {
    ReduceCall call(row_, op, stack);
    if (call.run()) return count_call(counter_, call.route(), call.device(), call.result_dtype());
    cpu_fallback(op, stack);
  }

 private:
  const ReduceRow& row_;
  OperatorCounter& counter_;
};

bool is_by_hand(std::string_view overload) {
  return std::find(std::begin(kReducedByHand), std::end(kReducedByHand), overload) !=
         std::end(kReducedByHand);
}

}  // namespace

Reduced::Reduced(const at::Tensor& self, std::bitset<64> mask)
    : sizes_(self.sizes().begin(), self.sizes().end()), mask_(mask) {
  for (size_t d = 0; d < sizes_.size(); d++)
    (mask_.test(d) ? inner_ : outer_).push_back(sizes_[d]);
  for (const int64_t size : inner_)
    count_ *= size;
}

at::DimVector Reduced::sizes(bool keepdim) const {
  at::DimVector result;
  for (size_t d = 0; d < sizes_.size(); d++)
    if (!mask_.test(d))
      result.push_back(sizes_[d]);
    else if (keepdim)
      result.push_back(1);
  return result;
}

at::DimVector Reduced::strides(const at::Tensor& tensor) const {
  at::DimVector result, inner;
  for (size_t d = 0; d < sizes_.size(); d++)
    (mask_.test(d) ? inner : result).push_back(tensor.strides()[d]);
  result.append(inner.begin(), inner.end());
  return result;
}

at::DimVector Reduced::result_strides(const at::Tensor& tensor, bool keepdim) const {
  if (!keepdim) return at::DimVector(tensor.strides().begin(), tensor.strides().end());
  at::DimVector result;
  for (size_t d = 0; d < sizes_.size(); d++)
    if (!mask_.test(d)) result.push_back(tensor.strides()[d]);
  return result;
}

void reduce_or_fallback(const c10::OperatorHandle& op, Stack* stack) {
  static auto* sum = new Reduce(kReduceRows[0]);
  TORCH_INTERNAL_ASSERT(op.operator_name().overload_name == "IntList_out", op.operator_name(),
                        " is not said to have a kernel by hand");
  sum->run(op, stack);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  for (const ReduceRow& row : kReduceRows)
    if (!is_by_hand(row.overload))
      m.impl(row.overload, torch::CppFunction::makeFromBoxedFunctor(std::make_unique<Reduce>(row)));
}

}  // namespace tbk::generic
