// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ATen/ops/empty_like.h>
#include <aten/copy.h>
#include <generic/index_write.h>
#include <generic/made_once.h>

#include <limits>

namespace tbk::generic {
namespace {

/// What leaves every number as it is.
at::Scalar identity_of(int64_t mode, at::ScalarType dtype) {
  if (mode == TBK_INDEX_ADD) return 0;
  if (mode == TBK_INDEX_MUL) return 1;
  const bool is_least = mode == TBK_INDEX_MAX;
  if (at::isFloatingType(dtype)) {
    const double infinity = std::numeric_limits<double>::infinity();
    return is_least ? -infinity : infinity;
  }
  if (dtype == at::kBool) return !is_least;
  if (dtype == at::kByte) return is_least ? 0 : 255;
  const auto bits = static_cast<int64_t>(8 * c10::elementSize(dtype));
  const int64_t least = std::numeric_limits<int64_t>::min() >> (64 - bits);
  return is_least ? least : -(least + 1);
}

/// How many elements are combined at each place of `result`, at least one.
at::Tensor counts(const Writing& writing, const at::Tensor& result, bool include_self) {
  at::Tensor counts = at::empty_like(result);
  counts.fill_(include_self ? 1 : 0);
  const at::Tensor one = number_of(1, result.device().index(), result.scalar_type());
  const Placement& placement = writing.placement;
  if (!placement.run(TBK_INDEX_ADD, Shaped(counts), placement.everywhere(one))) return at::Tensor();
  return include_self ? counts : counts.clamp_min_(1);
}

/// Divides; integers towards the least.
const Program* quotient(at::ScalarType dtype) {
  static OfDtypes<Program> made;
  return made_once(made, dtype, [&] {
    ProgramBuilder b;
    const at::ScalarType inner = computed_in(dtype);
    const Value sum = b.cast(b.input(dtype), inner), count = b.cast(b.input(dtype), inner);
    const uint16_t opcode = at::isFloatingType(dtype) ? TBK_OPCODE_DIV : TBK_OPCODE_DIV_FLOOR;
    b.result(b.cast(b.apply(opcode, {sum, count}), dtype));
    return b.intern();
  });
}

bool divide(const Writing& writing, const at::Tensor& result, bool include_self) {
  const at::Tensor by = counts(writing, result, include_self);
  return by.defined() && (result.numel() == 0 ||
                          run_program(*quotient(result.scalar_type()), result, {&result, &by}));
}

bool compose(const Writing& writing, const at::Tensor& result, Reducing how, bool include_self) {
  const Placement& placement = writing.placement;
  const at::ScalarType dtype = result.scalar_type();
  if (!include_self) {
    const at::Tensor number =
        number_of(identity_of(how.mode, dtype), result.device().index(), dtype);
    if (!placement.run(TBK_INDEX_WRITE, Shaped(result), placement.everywhere(number))) return false;
  }
  return placement.run(how.mode, Shaped(result), writing.source) &&
         (!how.is_mean || divide(writing, result, include_self));
}

}  // namespace

bool may_write(const at::Tensor& self, const at::Tensor& index, const at::Tensor& source,
               const at::Tensor& out) {
  return are_plain({&self, &index, &source, &out}) && has_indices(index) &&
         self.scalar_type() == source.scalar_type() && self.scalar_type() == out.scalar_type() &&
         is_apart(out, {&index, &source}) && (out.is_same(self) || is_apart(out, {&self})) &&
         offers_index(self.device().index());
}

bool can_combine(int64_t mode, at::ScalarType dtype) {
  if (mode == TBK_INDEX_WRITE) return true;
  if (at::isComplexType(dtype)) return mode == TBK_INDEX_ADD;
  return computed_in(dtype) != at::ScalarType::Undefined;
}

bool write(const Writing& writing, int64_t mode) {
  if (!can_combine(mode, writing.self.scalar_type())) return false;
  start_from(writing.self, writing.out);
  return writing.placement.run(mode, Shaped(writing.out), writing.source);
}

std::optional<Reducing> reducing_of(std::string_view name) {
  if (name == "sum") return Reducing{TBK_INDEX_ADD, false};
  if (name == "prod") return Reducing{TBK_INDEX_MUL, false};
  if (name == "mean") return Reducing{TBK_INDEX_ADD, true};
  if (name == "amax") return Reducing{TBK_INDEX_MAX, false};
  if (name == "amin") return Reducing{TBK_INDEX_MIN, false};
  return std::nullopt;
}

Route route_of_reduced(Reducing how, bool include_self) {
  return include_self && !how.is_mean ? Route::generic : Route::composed;
}

bool write_reduced(const Writing& writing, Reducing how, bool include_self) {
  const Route route = route_of_reduced(how, include_self);
  if (route == Route::generic) return is_open(route) && write(writing, how.mode);
  const at::ScalarType dtype = writing.self.scalar_type();
  if (!is_open(route) || at::isComplexType(dtype) || !can_combine(how.mode, dtype) ||
      (how.is_mean && (dtype == at::kBool || !offers_pointwise(writing.self.device().index()))))
    return false;
  const Composition whole;
  // A launch that is refused behind others must leave nothing of theirs.
  const bool is_in_place = writing.out.is_same(writing.self);
  const at::Tensor result = is_in_place ? writing.self.clone() : writing.out;
  start_from(is_in_place ? result : writing.self, result);
  if (!compose(writing, result, how, include_self)) return false;
  if (is_in_place) copy_tensor(writing.out, result, /*non_blocking=*/false);
  return true;
}

}  // namespace tbk::generic
