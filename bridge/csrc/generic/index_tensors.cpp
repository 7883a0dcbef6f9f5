// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// Indexing by a list of tensors, read and written.
#include <ATen/ExpandUtils.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/_index_put_impl_ops.h>
#include <ATen/ops/aminmax.h>
#include <ATen/ops/index_compositeexplicitautogradnonfunctional_dispatch.h>
#include <ATen/ops/index_ops.h>
#include <aten/operands.h>
#include <aten/optional.h>
#include <generic/index.h>
#include <generic/mask.h>
#include <torch/library.h>

namespace tbk::generic {
namespace {

using IndexList = c10::List<std::optional<at::Tensor>>;

bool fits_mask(const at::Tensor& mask, const at::Tensor& self, int64_t first) {
  return mask.dim() > 0 && first + mask.dim() <= self.dim() &&
         mask.sizes() ==
             self.sizes().slice(static_cast<size_t>(first), static_cast<size_t>(mask.dim()));
}

/// Of the host's indices it is known at once whether one is bad: PyTorch raises for it.
bool is_within(const at::Tensor& index, int64_t size) {
  if (!index.is_cpu() || index.numel() == 0) return true;
  const auto [least, most] = at::aminmax(index);
  return least.item<int64_t>() >= -size && most.item<int64_t>() < size;
}

/// The same indices as tensors of places on the device: a mask becomes one for each of its dimensions,
/// whose length the host reads. Nothing where PyTorch raises or warns.
std::optional<IndexList> wrapped_places(const at::Tensor& self, const IndexList& indices) {
  IndexList places;
  bool has_any = false;
  for (const std::optional<at::Tensor>& index : indices) {
    const auto dim = static_cast<int64_t>(places.size());
    if (dim >= self.dim()) return std::nullopt;
    if (!is_there(index)) {
      places.push_back(std::nullopt);
      continue;
    }
    has_any = true;
    if (!index->is_cpu() && index->device() != self.device()) return std::nullopt;
    if (index->scalar_type() == at::kBool && fits_mask(*index, self, dim)) {
      const at::Tensor found = index->nonzero().to(self.device());
      for (int64_t d = 0; d < index->dim(); d++)
        places.push_back(found.select(1, d));
    } else if (has_indices(*index) && is_within(*index, self.size(dim))) {
      places.push_back(index->to(self.device()));
    } else {
      return std::nullopt;
    }
  }
  return has_any ? std::optional<IndexList>(std::move(places)) : std::nullopt;
}

/// What a list of places, without masks, makes of the dimensions of a table: those between the first and the
/// last that are found by indices become the indices' own, where they are neighbours; else these stand in front.
class Indexed {
 public:
  Indexed(const at::Tensor& self, const IndexList& places) : rank_(self.dim()) {
    for (size_t d = 0; d < static_cast<size_t>(rank_); d++)
      indices_.push_back(d < places.size() && is_there(places[d]) ? *places.get(d) : at::Tensor());
    find_shared();
    if (!is_possible_) return;
    for (int64_t d = 0; d < rank_; d++) {
      if (static_cast<size_t>(d) == front_)
        sizes_.insert(sizes_.end(), shared_.begin(), shared_.end());
      if (!indices_[static_cast<size_t>(d)].defined()) sizes_.push_back(self.size(d));
    }
  }

  /// Returns whether the indices broadcast to one shape.
  bool is_possible() const {
    return is_possible_;
  }
  c10::IntArrayRef sizes() const {
    return sizes_;
  }
  Placement placement(const char* operation) const {
    Placement placement(operation, sizes_, TBK_INDEX_NEGATIVE);
    int64_t next = 0;
    for (size_t d = 0; d < indices_.size(); d++) {
      if (d == front_) next += static_cast<int64_t>(shared_.size());
      if (indices_[d].defined())
        placement.by(indices_[d], strides_of(indices_[d]));
      else
        placement.along(next++);
    }
    return placement;
  }
  bool is_apart_from(const at::Tensor& out) const {
    return std::all_of(indices_.begin(), indices_.end(), [&](const at::Tensor& index) {
      return !index.defined() || is_apart(out, {&index});
    });
  }

 private:
  /// The shape of all indices together, and before which dimension it stands.
  void find_shared() {
    size_t first = indices_.size(), last = 0, count = 0;
    for (size_t d = 0; d < indices_.size(); d++) {
      if (!indices_[d].defined()) continue;
      if (count++ == 0) first = d;
      last = d;
      is_possible_ = is_possible_ && broadcast(indices_[d].sizes());
    }
    front_ = count == last - first + 1 ? first : 0;
  }

  bool broadcast(c10::IntArrayRef sizes) {
    at::DimVector wide(sizes.begin(), sizes.end()), narrow = shared_;
    if (wide.size() < narrow.size()) std::swap(wide, narrow);
    const size_t more = wide.size() - narrow.size();
    for (size_t d = 0; d < narrow.size(); d++) {
      int64_t& size = wide[more + d];
      if (size != narrow[d] && size != 1 && narrow[d] != 1) return false;
      if (size == 1) size = narrow[d];
    }
    shared_ = wide;
    return true;
  }

  at::DimVector strides_of(const at::Tensor& index) const {
    at::DimVector strides = standing(sizes_.size());
    // All dimensions before the first index stay.
    const size_t before = front_ + shared_.size() - static_cast<size_t>(index.dim());
    for (int64_t d = 0; d < index.dim(); d++)
      if (index.size(d) > 1) strides[before + static_cast<size_t>(d)] = index.stride(d);
    return strides;
  }
  const int64_t rank_;
  c10::SmallVector<at::Tensor, 4>
      indices_;  ///< Of each dimension; not defined where there is none.
  at::DimVector shared_, sizes_;
  size_t front_ = 0;
  bool is_possible_ = true;
};

Shaped exactly(const at::Tensor& tensor) {
  return Shaped(tensor, tensor.sizes(), tensor.strides());
}

bool index_into(const at::Tensor& self, const IndexList& indices, at::Tensor& out) {
  if (!is_open(Route::generic) || !are_plain({&self, &out}) ||
      self.scalar_type() != out.scalar_type() || !offers_index(self.device().index()))
    return false;
  const std::optional<IndexList> places = wrapped_places(self, indices);
  if (!places.has_value()) return false;
  const Indexed indexed(self, *places);
  if (!indexed.is_possible() || !is_apart(out, {&self}) || !indexed.is_apart_from(out))
    return false;
  at::native::resize_output(out, indexed.sizes());
  return indexed.placement("aten::index.Tensor").run(TBK_INDEX_GATHER, exactly(self), exactly(out));
}

at::Tensor& index_out(const at::Tensor& self, const IndexList& indices, at::Tensor& out) {
  return served_or_on_host<at::_ops::index_Tensor_out>(index_into(self, indices, out),
                                                       Route::generic, out, self, indices, out);
}

/// PyTorch lays out the result, and comes to index_out. It would make places of masks twice.
at::Tensor index(const at::Tensor& self, const IndexList& indices) {
  if (is_open(Route::generic) && are_plain({&self}) && offers_index(self.device().index()))
    if (const std::optional<IndexList> places = wrapped_places(self, indices))
      return at::compositeexplicitautogradnonfunctional::index(self, *places);
  return on_host<at::_ops::index_Tensor>(self, indices);
}

/// `values` on the device, where they are a number of the host.
at::Tensor settled(const at::Tensor& values, const at::Tensor& self) {
  const bool is_number = is_host_number(values) && values.scalar_type() == self.scalar_type();
  const Composition part;  // a fill is of another route
  return is_number ? number_on(self.device().index(), values, self.scalar_type()) : values;
}

/// The one mask that says all of a call which writes one number, over all dimensions; not defined where the
/// call is another.
at::Tensor lone_mask(const at::Tensor& self, const IndexList& indices, const at::Tensor& values) {
  at::Tensor mask;
  int64_t before = 0;
  for (const std::optional<at::Tensor>& index : indices) {
    if (!is_there(index)) {
      before += mask.defined() ? 0 : 1;
      continue;
    }
    if (mask.defined() || index->scalar_type() != at::kBool || !fits_mask(*index, self, before) ||
        (!index->is_cpu() && index->device() != self.device()))
      return at::Tensor();
    mask = *index;
  }
  if (!mask.defined() || values.numel() != 1) return at::Tensor();
  const int64_t behind = self.dim() - before - mask.dim();
  at::DimVector sizes;
  sizes.resize(static_cast<size_t>(before), 1);
  sizes.append(mask.sizes().begin(), mask.sizes().end());
  sizes.resize(sizes.size() + static_cast<size_t>(behind), 1);
  return mask.to(self.device()).reshape(sizes);
}

bool put_places(at::Tensor& self, const IndexList& indices, const at::Tensor& values,
                bool accumulate) {
  const std::optional<IndexList> places = wrapped_places(self, indices);
  if (!places.has_value()) return false;
  const Indexed indexed(self, *places);
  if (!indexed.is_possible() || !at::is_expandable_to(values.sizes(), indexed.sizes()) ||
      !is_apart(self, {&values}) || !indexed.is_apart_from(self))
    return false;
  const int64_t mode = accumulate ? TBK_INDEX_ADD : TBK_INDEX_WRITE;
  return indexed.placement("aten::_index_put_impl_")
      .run(mode, exactly(self), exactly(values.expand(indexed.sizes())));
}

bool put_into(at::Tensor& self, const IndexList& indices, const at::Tensor& given,
              bool accumulate) {
  if (!is_open(Route::generic) || !are_plain({&self}) || !offers_index(self.device().index()))
    return false;
  const at::Tensor values = settled(given, self);
  if (!are_plain({&self, &values}) || values.scalar_type() != self.scalar_type()) return false;
  const at::Tensor mask = accumulate ? at::Tensor() : lone_mask(self, indices, values);
  if (mask.defined() && fill_where(self, mask, values.reshape({}))) return true;
  return put_places(self, indices, values, accumulate);
}

at::Tensor& index_put_impl(at::Tensor& self, const IndexList& indices, const at::Tensor& values,
                           bool accumulate, bool unsafe) {
  using Op = at::_ops::_index_put_impl_;
  return served_or_on_host<Op>(put_into(self, indices, values, accumulate), Route::generic, self,
                               self, indices, values, accumulate, unsafe);
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("index.Tensor", index);
  m.impl("index.Tensor_out", index_out);
  m.impl("_index_put_impl_", index_put_impl);
}

}  // namespace tbk::generic
