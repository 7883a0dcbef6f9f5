// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// What operators have in common that are made of others, called one after the other on the device.
#pragma once

#include <aten/optional.h>
#include <generic/index.h>
#include <generic/program.h>

#include <utility>

namespace tbk::generic {

/// Compositions that compare all pairs of elements do so up to so many.
constexpr int64_t kMostPairs = INT64_C(1) << 24;

/// Returns whether operators that a composition is made of take `dtype`. Complex numbers are moved and added by some.
inline bool is_composed_of(at::ScalarType dtype) {
  return computed_in(dtype) != at::ScalarType::Undefined || at::isComplexType(dtype);
}

/// Returns whether other operators may stand for a call: dense tensors of one device that takes programs,
/// reductions and indices, and of dtypes that these take.
inline bool may_be_made(std::initializer_list<const at::TensorBase*> tensors) {
  if (!is_open(Route::composed) || !are_plain(tensors)) return false;
  for (const at::TensorBase* each : tensors)
    if (!is_composed_of(each->scalar_type())) return false;
  const c10::DeviceIndex device = (*tensors.begin())->device().index();
  return offers_pointwise(device) && offers_reduce(device) && offers_index(device);
}
inline bool are_real(std::initializer_list<const at::TensorBase*> tensors) {
  for (const at::TensorBase* each : tensors)
    if (!at::isFloatingType(each->scalar_type()) ||
        each->scalar_type() != (*tensors.begin())->scalar_type())
      return false;
  return true;
}

/// Returns what `make` makes as one composition, counted for `Op`.
template <class Op, class Make>
at::Tensor made(Make make) {
  const Composition whole;
  at::Tensor result = make();
  count_served<Op>(Route::composed, result);
  return result;
}
/// Returns several tensors that `make` makes, counted for the device and dtype of `like`.
template <class Op, class Make>
auto made_like(const at::Tensor& like, Make make) {
  const Composition whole;
  auto results = make();
  count_served<Op>(Route::composed, like);
  return results;
}
/// Writes it to `out`, which has its sizes.
template <class Op, class Make>
at::Tensor& made_into(at::Tensor& out, Make make) {
  const Composition whole;
  out.copy_(make());
  count_served<Op>(Route::composed, out);
  return out;
}

}  // namespace tbk::generic
