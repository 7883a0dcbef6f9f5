// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// bincount, histc and histogram: each element finds its bin, and adds 1, or its weight, there. The host reads where
// the bins begin and end, where that depends on the data.
#include <ATen/ops/aminmax.h>
#include <ATen/ops/bincount_ops.h>
#include <ATen/ops/bucketize.h>
#include <ATen/ops/histc_ops.h>
#include <ATen/ops/histogram_ops.h>
#include <ATen/ops/linspace.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <generic/by_others.h>
#include <generic/dtypes.h>
#include <generic/outputs.h>
#include <torch/library.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

namespace tbk::generic {
namespace {

using Maybe = std::optional<at::Tensor>;
using Two = std::tuple<at::Tensor, at::Tensor>;
using TwoOutputs = std::tuple<at::Tensor&, at::Tensor&>;
using MaybeRange = std::optional<at::ArrayRef<double>>;

/// Waits for the device.
template <class Number>
std::pair<Number, Number> read_extremes(const at::Tensor& self) {
  const auto [least, most] = at::aminmax(self);
  const at::Tensor both = at::stack({least, most}).cpu();
  return {both[0].item<Number>(), both[1].item<Number>()};
}

/// PyTorch sums weights in FLOAT64 unless they are FLOAT32.
at::Tensor summands(const at::Tensor& bins, const Maybe& weights) {
  if (!is_there(weights)) return at::ones_like(bins);
  return weights->scalar_type() == at::kFloat ? *weights : weights->to(at::kDouble);
}

bool may_be_bins(const at::Tensor& self, const Maybe& weights) {
  return may_be_made({&self}) && self.dim() == 1 &&
         at::isIntegralType(self.scalar_type(), /*includeBool=*/false) &&
         (!is_there(weights) ||
          (are_plain({&self, &*weights}) && !weights->is_complex() &&
           weights->sizes() == self.sizes() &&
           (weights->scalar_type() == at::kFloat || has_double(self.device().index()))));
}

at::Tensor bincount(const at::Tensor& self, const Maybe& weights, int64_t least) {
  using Op = at::_ops::bincount;
  if (!may_be_bins(self, weights) || least < 0) return on_host<Op>(self, weights, least);
  const Composition whole;
  const at::Tensor bins = self.to(at::kLong);
  at::Tensor sums = at::zeros({least}, bins.options());
  if (self.numel() > 0) {
    const auto [first, last] = read_extremes<int64_t>(bins);
    if (first < 0 || last == std::numeric_limits<int64_t>::max())
      return on_host<Op>(self, weights, least);
    const at::Tensor source = summands(bins, weights);
    sums = at::zeros({std::max(last + 1, least)}, source.options()).index_add_(0, bins, source);
  }
  count_served<Op>(Route::composed, sums);
  return sums;
}

struct Range {
  double first, last;
};

/// Returns where bins begin and end: `around` a single value. Nothing where PyTorch raises.
std::optional<Range> range_between(double first, double last, double around) {
  if (first == last) first -= around, last += around;
  const bool is_fit = std::isfinite(first) && std::isfinite(last) && first < last;
  return is_fit ? std::optional(Range{first, last}) : std::nullopt;
}
std::optional<Range> range_of_data(const at::Tensor& self, double around, Range if_none) {
  if (self.numel() == 0) return if_none;
  const auto [first, last] = read_extremes<double>(self);
  return range_between(first, last, around);
}

bool may_be_counted(const at::Tensor& self, const Maybe& weight) {
  const at::Tensor& other = is_there(weight) ? *weight : self;
  return may_be_made({&self, &other}) && are_real({&self, &other}) &&
         !at::isReducedFloatingType(self.scalar_type()) && other.sizes() == self.sizes();
}

/// Sums `weights` by bin. What is beyond the edges, or no number, is in none.
at::Tensor summed(const at::Tensor& bin, const at::Tensor& is_inside, const at::Tensor& weights,
                  int64_t bins) {
  const at::Tensor kept = bin.where(is_inside, at::zeros({}, bin.options())).view(-1);
  const at::Tensor counted = weights.where(is_inside, at::zeros({}, weights.options())).view(-1);
  return at::zeros({bins}, weights.options()).index_add_(0, kept, counted);
}

at::Tensor line_of(const at::Tensor& self) {
  return self.reshape({-1});
}

at::Tensor bins_of_range(const at::Tensor& line, int64_t bins, const Range& range) {
  const at::Tensor is_inside = line.ge(range.first).logical_and(line.le(range.last));
  const at::Tensor width = at::zeros({}, line.options()).add(range.last).sub(range.first);
  const at::Tensor place = line.sub(range.first).mul(bins).div(width);
  const at::Tensor inner = place.where(is_inside, at::zeros({}, line.options()));
  const at::Tensor bin = inner.to(at::kLong).clamp_max(bins - 1);
  return summed(bin, is_inside, at::ones_like(line), bins);
}

/// Not defined where the CPU is to.
at::Tensor counted_in_range(const at::Tensor& self, int64_t bins, const at::Scalar& min,
                            const at::Scalar& max) {
  if (!may_be_counted(self, {}) || bins < 1 || min.isComplex() || max.isComplex()) return {};
  const Composition whole;
  const double first = min.toDouble(), last = max.toDouble();
  const auto range =
      first == last ? range_of_data(self, 1, {-1, 1}) : range_between(first, last, 1);
  return range.has_value() ? bins_of_range(line_of(self), bins, *range) : at::Tensor();
}

at::Tensor histc(const at::Tensor& self, int64_t bins, const at::Scalar& min,
                 const at::Scalar& max) {
  using Op = at::_ops::histc;
  at::Tensor counts = counted_in_range(self, bins, min, max);
  if (!counts.defined()) return on_host<Op>(self, bins, min, max);
  count_served<Op>(Route::composed, counts);
  return counts;
}

at::Tensor& histc_out(const at::Tensor& self, int64_t bins, const at::Scalar& min,
                      const at::Scalar& max, at::Tensor& out) {
  using Op = at::_ops::histc_out;
  const at::Tensor counts = may_be_written(out, self, self.scalar_type())
                                ? counted_in_range(self, bins, min, max)
                                : at::Tensor();
  if (!counts.defined()) return on_host<Op>(self, bins, min, max, out);
  count_served<Op>(Route::composed, counts);
  return write_to(out, counts);
}

/// The last bin has its end, too.
Two counted_between(const at::Tensor& self, const at::Tensor& edges, const Maybe& weight,
                    bool is_density) {
  const at::Tensor line = line_of(self);
  const int64_t bins = edges.numel() - 1;
  const at::Tensor bin = at::bucketize(line, edges, /*out_int32=*/false, /*right=*/true).sub(1);
  const at::Tensor is_inside = line.ge(edges[0]).logical_and(line.le(edges[-1]));
  const at::Tensor weights = is_there(weight) ? line_of(*weight) : at::ones_like(line);
  const at::Tensor sums = summed(bin.clamp_max(bins - 1), is_inside, weights, bins);
  if (!is_density) return {sums, edges};
  const at::Tensor widths = edges.slice(0, 1).sub(edges.slice(0, 0, -1));
  return {sums.div(sums.sum()).div(widths), edges};
}

bool may_be_compared(const at::Tensor& self, int64_t edges) {
  return edges > 1 && self.numel() <= kMostPairs / edges;
}

/// Counts and edges; nothing where the CPU is to.
using Histogram = std::optional<Two>;

Histogram by_edges(const at::Tensor& self, const at::Tensor& bins, const Maybe& weight,
                   bool is_density) {
  if (!may_be_counted(self, weight) || !are_plain({&self, &bins}) || !are_real({&self, &bins}) ||
      bins.dim() != 1 || !may_be_compared(self, bins.numel()))
    return std::nullopt;
  const Composition whole;
  return counted_between(self, bins.clone(), weight, is_density);
}

Histogram by_range(const at::Tensor& self, int64_t bins, const MaybeRange& range,
                   const Maybe& weight, bool is_density) {
  const bool is_told = range.has_value();
  if (!may_be_counted(self, weight) || bins < 1 || !may_be_compared(self, bins + 1) ||
      (is_told && range->size() != 2))
    return std::nullopt;
  const Composition whole;
  const auto ends =
      is_told ? range_between((*range)[0], (*range)[1], 0.5) : range_of_data(self, 0.5, {0, 1});
  if (!ends.has_value()) return std::nullopt;
  const at::Tensor edges = at::linspace(ends->first, ends->last, bins + 1, self.options());
  return counted_between(self, edges, weight, is_density);
}

template <class Op, class... Arguments>
Two given(const Histogram& made, const Arguments&... arguments) {
  if (!made.has_value()) return on_host<Op>(arguments...);
  count_served<Op>(Route::composed, std::get<0>(*made));
  return *made;
}

template <class Op, class... Arguments>
TwoOutputs written(const Histogram& made, at::Tensor& counts, at::Tensor& edges,
                   const Arguments&... arguments) {
  if (!made.has_value()) return on_host<Op>(arguments..., counts, edges);
  count_served<Op>(Route::composed, std::get<0>(*made));
  return {write_to(counts, std::get<0>(*made)), write_to(edges, std::get<1>(*made))};
}

bool may_write_histogram(const at::Tensor& self, const at::Tensor& counts,
                         const at::Tensor& edges) {
  return may_be_written(counts, self, self.scalar_type()) &&
         may_be_written(edges, self, self.scalar_type());
}

Two histogram_of_edges(const at::Tensor& self, const at::Tensor& bins, const Maybe& weight,
                       bool is_density) {
  return given<at::_ops::histogram_bins_tensor>(by_edges(self, bins, weight, is_density), self,
                                                bins, weight, is_density);
}

TwoOutputs histogram_of_edges_out(const at::Tensor& self, const at::Tensor& bins,
                                  const Maybe& weight, bool is_density, at::Tensor& counts,
                                  at::Tensor& edges) {
  const Histogram made = may_write_histogram(self, counts, edges)
                             ? by_edges(self, bins, weight, is_density)
                             : std::nullopt;
  return written<at::_ops::histogram_bins_tensor_out>(made, counts, edges, self, bins, weight,
                                                      is_density);
}

Two histogram(const at::Tensor& self, int64_t bins, MaybeRange range, const Maybe& weight,
              bool is_density) {
  return given<at::_ops::histogram_bin_ct>(by_range(self, bins, range, weight, is_density), self,
                                           bins, range, weight, is_density);
}

TwoOutputs histogram_out(const at::Tensor& self, int64_t bins, MaybeRange range,
                         const Maybe& weight, bool is_density, at::Tensor& counts,
                         at::Tensor& edges) {
  const Histogram made = may_write_histogram(self, counts, edges)
                             ? by_range(self, bins, range, weight, is_density)
                             : std::nullopt;
  return written<at::_ops::histogram_bin_ct_out>(made, counts, edges, self, bins, range, weight,
                                                 is_density);
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("bincount", bincount);
  m.impl("histc", histc);
  m.impl("histc.out", histc_out);
  m.impl("histogram.bin_ct", histogram);
  m.impl("histogram.bin_ct_out", histogram_out);
  m.impl("histogram.bins_tensor", histogram_of_edges);
  m.impl("histogram.bins_tensor_out", histogram_of_edges_out);
}

}  // namespace tbk::generic
