// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// embedding_bag, forward and backward: rows are looked up, and summed, or compared, by the bag that they are of. What is
// padding is of one bag more, which is dropped. Nothing is read.
#include <ATen/ops/_embedding_bag_backward_ops.h>
#include <ATen/ops/_embedding_bag_forward_only_ops.h>
#include <ATen/ops/_embedding_bag_ops.h>
#include <ATen/ops/_embedding_bag_per_sample_weights_backward_ops.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/zeros.h>
#include <generic/by_others.h>
#include <generic/repeat.h>
#include <generic/scan.h>
#include <torch/library.h>

#include <limits>
#include <tuple>

namespace tbk::generic {
namespace {

using Maybe = std::optional<at::Tensor>;
using Four = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor>;
enum Mode : int64_t { kSum = 0, kMean = 1, kMax = 2 };

/// Returns of which bag each index is. PyTorch raises where the offsets do not begin at 0, or end beyond all: an index
/// is out of range then.
at::Tensor bag_of_each(const at::Tensor& offsets, int64_t count) {
  return places_of(offsets, at::kLong, count);
}

/// The bags of one call; that of padding is the last.
struct Bags {
  Bags(const at::Tensor& indices_, const at::Tensor& of_each_, int64_t count_, int64_t padding)
      : indices(indices_), count(count_), of_each(of_each_), counted(of_each_) {
    if (padding >= 0) counted = of_each.masked_fill(indices.eq(padding), count);
  }

  /// Returns how many indices each bag has.
  at::Tensor sizes() const {
    const at::Tensor one = at::ones_like(counted);
    return at::zeros({count + 1}, one.options()).index_add_(0, counted, one).narrow(0, 0, count);
  }
  at::Tensor summed(const at::Tensor& rows) const {
    return at::zeros({count + 1, rows.size(1)}, rows.options())
        .index_add_(0, counted, rows)
        .narrow(0, 0, count);
  }
  /// Returns rows in which NaN is the least, but in the first row of a bag: PyTorch keeps it only there.
  at::Tensor comparable(const at::Tensor& rows) const {
    const int64_t none = indices.numel();
    const at::Tensor place = at::arange(none, counted.options());
    const at::Tensor first = at::full({count + 1}, none, counted.options())
                                 .index_reduce_(0, counted, place, "amin")
                                 .index_select(0, counted);
    const at::Tensor is_later = place.ne(first).unsqueeze(1);
    return rows.masked_fill(rows.isnan().logical_and(is_later),
                            -std::numeric_limits<double>::infinity());
  }
  at::Tensor greatest(const at::Tensor& rows) const {
    return at::zeros({count + 1, rows.size(1)}, rows.options())
        .index_reduce_(0, counted, rows, "amax", /*include_self=*/false)
        .narrow(0, 0, count);
  }
  /// Returns the index of the first row that is the greatest, in each column; 0 of no row.
  at::Tensor which(const at::Tensor& rows, const at::Tensor& most) const {
    const int64_t none = indices.numel();
    const at::Tensor place = at::arange(none, counted.options()).unsqueeze(1);
    const at::Tensor known = most.index_select(0, counted.clamp_max(count - 1));
    const at::Tensor is_it = rows.eq(known).logical_or(rows.isnan());
    const at::Tensor found = place.where(is_it, at::full({}, none, counted.options()));
    const at::Tensor first = at::full({count + 1, rows.size(1)}, none, counted.options())
                                 .index_reduce_(0, counted, found, "amin")
                                 .narrow(0, 0, count);
    const at::Tensor is_some = first.lt(none);
    const at::Tensor kept = first.clamp_max(none - 1).view(-1);
    return indices.to(at::kLong).index_select(0, kept).view(first.sizes()).mul(is_some);
  }

  const at::Tensor& indices;
  const int64_t count;
  const at::Tensor& of_each;
  at::Tensor counted;
};

bool may_be_bags(const at::Tensor& weight, const at::Tensor& indices, const at::Tensor& offsets,
                 const Maybe& factors) {
  return may_be_made({&weight, &indices, &offsets}) && are_real({&weight}) && weight.dim() == 2 &&
         indices.dim() == 1 && offsets.dim() == 1 && weight.numel() > 0 && indices.numel() > 0 &&
         offsets.numel() > 0 && has_indices(indices) &&
         indices.scalar_type() == offsets.scalar_type() && offers_scan(weight.device().index()) &&
         (!is_there(factors) ||
          (are_plain({&weight, &*factors}) && are_real({&weight, &*factors}) &&
           factors->sizes() == indices.sizes()));
}

/// Returns the row of each index, as it is summed: half precision in FLOAT32.
at::Tensor looked_up(const at::Tensor& weight, const at::Tensor& indices, const Maybe& factors) {
  const at::Tensor rows = weight.index_select(0, indices).to(computed_in(weight.scalar_type()));
  return is_there(factors) ? rows.mul(factors->unsqueeze(1)) : rows;
}

Four bagged(const at::Tensor& weight, const at::Tensor& indices, const at::Tensor& offsets,
            int64_t mode, const Maybe& factors, bool has_last, int64_t padding) {
  const int64_t count = offsets.numel() - (has_last ? 1 : 0);
  const at::Tensor of_each = bag_of_each(offsets.narrow(0, 0, count), indices.numel());
  const Bags bags(indices, of_each, count, padding);
  const at::Tensor each = looked_up(weight, indices, factors), sizes = bags.sizes();
  const at::Tensor rows = mode == kMax ? bags.comparable(each) : each;
  at::Tensor out = mode == kMax ? bags.greatest(rows) : bags.summed(rows);
  const at::Tensor which = mode == kMax ? bags.which(rows, out) : sizes;
  if (mode == kMean) out = out.div(sizes.clamp_min(1).unsqueeze(1));
  const auto as_indices = [&](const at::Tensor& tensor) {
    return tensor.to(offsets.scalar_type());
  };
  return {out.to(weight.scalar_type()).contiguous(), as_indices(of_each),
          as_indices(sizes).contiguous(), as_indices(which).contiguous()};
}

template <class Op>
Four embedding_bag(const at::Tensor& weight, const at::Tensor& indices, const at::Tensor& offsets,
                   bool by_frequency, int64_t mode, bool sparse, const Maybe& factors,
                   bool has_last, int64_t padding) {
  const bool is_fit = mode == kSum || (mode <= kMax && !is_there(factors));
  if (!may_be_bags(weight, indices, offsets, factors) || !is_fit ||
      (has_last && offsets.numel() < 2) || padding >= weight.size(0))
    return on_host<Op>(weight, indices, offsets, by_frequency, mode, sparse, factors, has_last,
                       padding);
  return made_like<Op>(
      weight, [&] { return bagged(weight, indices, offsets, mode, factors, has_last, padding); });
}

/// Returns what each index adds to the gradient of its row; half precision is summed in FLOAT32.
at::Tensor given_to_rows(const at::Tensor& gradient, const Bags& bags, const at::Tensor& sizes,
                         int64_t mode, const Maybe& factors, int64_t padding) {
  at::Tensor given = gradient.to(computed_in(gradient.scalar_type()));
  if (mode == kMean) given = given.div(sizes.clamp_min(1).unsqueeze(1));
  given = given.index_select(0, bags.of_each);
  if (is_there(factors)) given = given.mul(factors->unsqueeze(1));
  return padding >= 0 ? given.masked_fill(bags.indices.eq(padding).unsqueeze(1), 0) : given;
}

at::Tensor gradient_of_rows(const at::Tensor& given, const at::Tensor& indices, int64_t rows) {
  return at::zeros({rows, given.size(1)}, given.options()).index_add_(0, indices, given);
}

/// Only what was the greatest of its bag has one.
at::Tensor gradient_of_greatest(const at::Tensor& gradient, const at::Tensor& sizes,
                                const at::Tensor& which, int64_t rows) {
  const at::Tensor given = gradient.to(computed_in(gradient.scalar_type()));
  const at::Tensor kept = given.masked_fill(sizes.eq(0).unsqueeze(1), 0);
  return at::zeros({rows, given.size(1)}, given.options())
      .scatter_add_(0, which.to(at::kLong), kept);
}

/// By frequency PyTorch's CPU divides by how often another word occurs: that is left to it.
at::Tensor embedding_bag_backward(const at::Tensor& gradient, const at::Tensor& indices,
                                  const at::Tensor& offsets, const at::Tensor& of_each,
                                  const at::Tensor& sizes, const at::Tensor& which, int64_t rows,
                                  bool by_frequency, int64_t mode, bool sparse,
                                  const Maybe& factors, int64_t padding) {
  using Op = at::_ops::_embedding_bag_backward;
  if (sparse || by_frequency || !may_be_bags(gradient, indices, offsets, factors) ||
      !are_plain({&gradient, &of_each, &sizes, &which}) || of_each.sizes() != indices.sizes() ||
      sizes.numel() != gradient.size(0))
    return on_host<Op>(gradient, indices, offsets, of_each, sizes, which, rows, by_frequency, mode,
                       sparse, factors, padding);
  return made<Op>([&] {
    if (mode == kMax)
      return gradient_of_greatest(gradient, sizes, which, rows).to(gradient.scalar_type());
    const Bags bags(indices, of_each, gradient.size(0), padding);
    const at::Tensor given = given_to_rows(gradient, bags, sizes, mode, factors, padding);
    return gradient_of_rows(given, indices, rows).to(gradient.scalar_type());
  });
}

at::Tensor factors_backward(const at::Tensor& gradient, const at::Tensor& weight,
                            const at::Tensor& indices, const at::Tensor& offsets,
                            const at::Tensor& of_each, int64_t mode, int64_t padding) {
  using Op = at::_ops::_embedding_bag_per_sample_weights_backward;
  if (mode != kSum || !may_be_bags(weight, indices, offsets, {}) ||
      !are_plain({&weight, &gradient, &of_each}) || !are_real({&weight, &gradient}) ||
      gradient.dim() != 2 || of_each.sizes() != indices.sizes())
    return on_host<Op>(gradient, weight, indices, offsets, of_each, mode, padding);
  return made<Op>([&] {
    const at::Tensor rows = looked_up(weight, indices, {});
    const at::Tensor sums = rows.mul(gradient.index_select(0, of_each)).sum(1);
    const at::Tensor kept = padding >= 0 ? sums.masked_fill(indices.eq(padding), 0) : sums;
    return kept.to(gradient.scalar_type());
  });
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_embedding_bag", embedding_bag<at::_ops::_embedding_bag>);
  m.impl("_embedding_bag_forward_only", embedding_bag<at::_ops::_embedding_bag_forward_only>);
  m.impl("_embedding_bag_backward", embedding_bag_backward);
  m.impl("_embedding_bag_per_sample_weights_backward", factors_backward);
}

}  // namespace tbk::generic
