// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// multi_margin_loss and multilabel_margin_loss, forward and backward: how far each class comes too near to the right one.
#include <ATen/core/Reduction.h>
#include <ATen/ops/multi_margin_loss_backward_ops.h>
#include <ATen/ops/multi_margin_loss_ops.h>
#include <ATen/ops/multilabel_margin_loss_backward_ops.h>
#include <ATen/ops/multilabel_margin_loss_forward_ops.h>
#include <ATen/ops/zeros_like.h>
#include <generic/by_others.h>
#include <generic/scan.h>
#include <torch/library.h>

#include <tuple>

namespace tbk::generic {
namespace {

using Maybe = std::optional<at::Tensor>;
using Two = std::tuple<at::Tensor, at::Tensor>;

/// Samples in rows, classes in columns; one sample may be without a dimension of its own.
at::Tensor in_rows(const at::Tensor& tensor, const at::Tensor& self) {
  return self.dim() < 2 ? tensor.reshape({1, -1}) : tensor.reshape({self.size(0), -1});
}

at::Tensor reduced(const at::Tensor& losses, int64_t reduction, bool is_one) {
  if (reduction == at::Reduction::Mean) return losses.mean();
  if (reduction == at::Reduction::Sum) return losses.sum();
  return is_one ? losses.squeeze(0) : losses;
}

/// Keeps what `counts`; what does not may be an infinity, or no number.
at::Tensor kept_where(const at::Tensor& counts, const at::Tensor& values) {
  return values.masked_fill(counts.logical_not(), 0);
}

/// Returns what each sample counts in the gradient, in a column.
at::Tensor share_of(const at::Tensor& gradient, int64_t reduction, const at::Tensor& rows) {
  const double divisor = reduction == at::Reduction::Mean ? static_cast<double>(rows.size(0)) : 1;
  return gradient.reshape({-1, 1}).div(divisor * static_cast<double>(rows.size(1)));
}

bool may_be_scored(const at::Tensor& self, const at::Tensor& target) {
  return may_be_made({&self, &target}) && are_real({&self}) &&
         !at::isReducedFloatingType(self.scalar_type()) && target.scalar_type() == at::kLong &&
         self.dim() <= 2 && self.numel() > 0;
}

/// One call of multi_margin_loss.
struct MultiMargin {
  const at::Tensor& self;
  const at::Tensor& target;
  const at::Scalar& p;
  const at::Scalar& margin;
  const Maybe& weight;

  bool is_served() const {
    if (!may_be_scored(self, target) || p.isComplex() || margin.isComplex() ||
        !(p.toDouble() == 1 || p.toDouble() == 2))
      return false;
    const int64_t samples = self.dim() < 2 ? 1 : self.size(0);
    return target.numel() == samples && target.dim() <= 1 &&
           (!is_there(weight) || (are_plain({&self, &*weight}) && are_real({&self, &*weight}) &&
                                  weight->dim() == 1 && weight->numel() == self.numel() / samples));
  }
  at::Tensor classes() const {
    return target.reshape({-1, 1});
  }
  /// Returns how far each class is within the margin; the right one is not.
  at::Tensor excess(const at::Tensor& rows) const {
    const at::Tensor right = rows.gather(1, classes());
    const at::Tensor distance = right.neg().add(margin).add(rows).scatter(1, classes(), 0);
    return kept_where(distance.gt(0), distance);
  }
  at::Tensor weighed(const at::Tensor& of_rows) const {
    return is_there(weight) ? of_rows.mul(weight->index_select(0, target.view(-1)).view({-1, 1}))
                            : of_rows;
  }
  at::Tensor loss(int64_t reduction) const {
    const at::Tensor rows = in_rows(self, self), near = excess(rows);
    const at::Tensor terms = weighed(p.toDouble() == 1 ? near : near.mul(near));
    const at::Tensor sums = kept_where(near.gt(0), terms).sum(1);
    return reduced(sums.div(static_cast<double>(rows.size(1))), reduction, target.dim() == 0);
  }
  at::Tensor slope(const at::Tensor& gradient, int64_t reduction) const {
    const at::Tensor rows = in_rows(self, self), near = excess(rows);
    const at::Tensor steep = p.toDouble() == 1 ? near.gt(0).to(rows.scalar_type()) : near.mul(2);
    const at::Tensor others =
        kept_where(near.gt(0), weighed(steep).mul(share_of(gradient, reduction, rows)));
    return others.scatter(1, classes(), others.sum(1, /*keepdim=*/true).neg()).view(self.sizes());
  }
};

at::Tensor multi_margin_loss(const at::Tensor& self, const at::Tensor& target, const at::Scalar& p,
                             const at::Scalar& margin, const Maybe& weight, int64_t reduction) {
  using Op = at::_ops::multi_margin_loss;
  const MultiMargin call = {self, target, p, margin, weight};
  if (!call.is_served()) return on_host<Op>(self, target, p, margin, weight, reduction);
  return made<Op>([&] { return call.loss(reduction); });
}

at::Tensor multi_margin_loss_backward(const at::Tensor& gradient, const at::Tensor& self,
                                      const at::Tensor& target, const at::Scalar& p,
                                      const at::Scalar& margin, const Maybe& weight,
                                      int64_t reduction) {
  using Op = at::_ops::multi_margin_loss_backward;
  const MultiMargin call = {self, target, p, margin, weight};
  if (!call.is_served() || !are_plain({&self, &gradient}) || !are_real({&self, &gradient}))
    return on_host<Op>(gradient, self, target, p, margin, weight, reduction);
  return made<Op>([&] { return call.slope(gradient, reduction); });
}

/// One call of multilabel_margin_loss: the right classes of a sample stand before the first -1.
struct MultiLabel {
  const at::Tensor& self;
  const at::Tensor& target;

  bool is_served() const {
    return may_be_scored(self, target) && target.sizes() == self.sizes() &&
           self.numel() <= kMostPairs / in_rows(self, self).size(1) &&
           offers_scan(self.device().index());
  }
};

/// What both passes of multilabel_margin_loss begin with.
struct Labels {
  explicit Labels(const MultiLabel& call)
      : self(call.self),
        rows(in_rows(call.self, call.self)),
        classes(in_rows(call.target, call.self).clamp_min(0)),
        is_label(in_rows(call.target, call.self).lt(0).cumsum(1).eq(0)),
        is_right(
            at::zeros_like(rows).scatter_add(1, classes, is_label.to(rows.scalar_type())).gt(0)) {}

  /// Returns of each label and each class how far they are within the margin.
  at::Tensor excess() const {
    const at::Tensor right = rows.gather(1, classes).unsqueeze(2);
    const at::Tensor counts =
        is_label.unsqueeze(2).logical_and(is_right.logical_not().unsqueeze(1));
    const at::Tensor distance = right.neg().add(1).add(rows.unsqueeze(1));
    return kept_where(counts.logical_and(distance.gt(0)), distance);
  }
  at::Tensor loss(int64_t reduction) const {
    const at::Tensor sums = excess().sum(at::IntArrayRef({1, 2}));
    return reduced(sums.div(static_cast<double>(rows.size(1))), reduction, self.dim() < 2);
  }
  at::Tensor slope(const at::Tensor& gradient, int64_t reduction) const {
    const at::Tensor steep = excess().gt(0).to(rows.scalar_type());
    const at::Tensor of_labels = steep.sum(2).neg();
    const at::Tensor sums = steep.sum(1).scatter_add(1, classes, of_labels);
    return sums.mul(share_of(gradient, reduction, rows)).view(self.sizes());
  }

  const at::Tensor& self;
  const at::Tensor rows, classes, is_label, is_right;
};

Two multilabel_margin_loss(const at::Tensor& self, const at::Tensor& target, int64_t reduction) {
  using Op = at::_ops::multilabel_margin_loss_forward;
  const MultiLabel call = {self, target};
  if (!call.is_served()) return on_host<Op>(self, target, reduction);
  return made_like<Op>(self, [&] {
    const Labels labels(call);
    return Two(labels.loss(reduction), labels.is_right.to(self.scalar_type()).view(target.sizes()));
  });
}

at::Tensor multilabel_margin_loss_backward(const at::Tensor& gradient, const at::Tensor& self,
                                           const at::Tensor& target, int64_t reduction,
                                           const at::Tensor& is_target) {
  using Op = at::_ops::multilabel_margin_loss_backward;
  const MultiLabel call = {self, target};
  if (!call.is_served() || !are_plain({&self, &gradient}) || !are_real({&self, &gradient}))
    return on_host<Op>(gradient, self, target, reduction, is_target);
  return made<Op>([&] { return Labels(call).slope(gradient, reduction); });
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("multi_margin_loss", multi_margin_loss);
  m.impl("multi_margin_loss_backward", multi_margin_loss_backward);
  m.impl("multilabel_margin_loss_forward", multilabel_margin_loss);
  m.impl("multilabel_margin_loss_backward", multilabel_margin_loss_backward);
}

}  // namespace tbk::generic
