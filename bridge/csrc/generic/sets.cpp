// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#include <aten/kernels.h>
#include <generic/launch.h>
#include <generic/pointwise.h>
#include <generic/sets.h>
#include <runtime/backend.h>

#include <algorithm>
#include <utility>

namespace tbk::generic {
namespace {

// Operands step from place to place, or not at all.
constexpr int64_t kStep = 1, kStay = 0;
constexpr size_t kTensorsOfMost = 4;
// Stands first in the keys of lists, where others have a dtype.
constexpr int64_t kIsList = -1;

}  // namespace

bool lie_alike(c10::ArrayRef<const at::Tensor*> tensors, at::ScalarType dtype, at::Device device) {
  const at::Tensor& first = *tensors[0];
  for (const at::Tensor* each : tensors)
    if (!is_plain(*each) || each->scalar_type() != dtype || each->device() != device ||
        each->sizes() != first.sizes() || each->strides() != first.strides())
      return false;
  return first.is_non_overlapping_and_dense();
}

Sets::Sets(c10::DeviceIndex device, size_t count)
    : device_(device),
      is_flat_(Backend::get().device(device).flat_address()),
      all_(std::exchange(spare(), {})) {
  all_.sets.reserve(count);
  all_.tensors.reserve(count * kTensorsOfMost);
  all_.extents.reserve(count * kTensorsOfMost);
}

Sets::~Sets() {
  all_.sets.clear();
  all_.tensors.clear();
  all_.numbers.clear();
  all_.extents.clear();
  all_.pointers.clear();
  all_.described.clear();
  spare() = std::move(all_);
}

Sets::Buffers& Sets::spare() {
  thread_local Buffers buffers;
  return buffers;
}

/// Sizes are pointed at when all sets are there.
void Sets::describe_as(tbk_tensor_t description, int64_t count, const int64_t& step) {
  description.rank = count == 1 ? 0 : 1;
  description.sizes = &count;
  description.strides = &step;
  if (!fits_32(description)) index_bits_ = 64;
  all_.tensors.push_back(description);
}

void Sets::output(const at::Tensor& tensor, int64_t count) {
  describe_as(describe(tensor), count, kStep);
  note(tensor, /*is_written=*/true);
  all_.sets.back().outputs++;
}

void Sets::input(const at::Tensor& tensor, int64_t count, const int64_t& step) {
  describe_as(describe_input(tensor), count, step);
  all_.sets.back().inputs++;
}

void Sets::add(Tensors outputs, Tensors inputs, Tensors shared, c10::ArrayRef<uint64_t> numbers) {
  const int64_t count = outputs[0]->numel();
  all_.sets.push_back({count, 0, 0, static_cast<uint32_t>(shared.size()),
                       static_cast<uint32_t>(numbers.size()), /*is_reduction=*/false});
  for (const at::Tensor* each : outputs)
    output(*each, count);
  for (const at::Tensor* each : inputs) {
    input(*each, count, kStep);
    const bool is_output = std::any_of(outputs.begin(), outputs.end(),
                                       [&](const at::Tensor* out) { return out->is_same(*each); });
    if (!is_output) note(*each, /*is_written=*/false);
  }
  for (const at::Tensor* each : shared) {
    input(*each, count, kStay);
    note(*each, /*is_written=*/false);
  }
  all_.numbers.insert(all_.numbers.end(), numbers.begin(), numbers.end());
}

void Sets::add_reduction(const at::Tensor& out, const at::Tensor& in) {
  all_.sets.push_back({in.numel(), 0, 0, 0, 0, /*is_reduction=*/true});
  output(out, 1);
  input(in, in.numel(), kStep);
  note(in, /*is_written=*/false);
}

void Sets::note(const at::Tensor& tensor, bool is_written) {
  const tbk_tensor_t& description = all_.tensors.back();
  const auto item = static_cast<int64_t>(tensor.element_size());
  const uintptr_t base = is_flat_ ? 0 : description.memory;
  // Two storages may share memory where addresses are flat.
  const auto shift = static_cast<int64_t>(is_flat_ ? description.memory : 0);
  const int64_t first = shift + description.offset * item;
  all_.extents.push_back({base, first, first + tensor.numel() * item, is_written});
}

bool Sets::are_apart() {
  const auto is_before = [](const Extent& a, const Extent& b) {
    return a.base != b.base ? a.base < b.base : a.first < b.first;
  };
  if (!std::is_sorted(all_.extents.begin(), all_.extents.end(), is_before))
    std::sort(all_.extents.begin(), all_.extents.end(), is_before);
  Extent all = {}, written = {};  // how far those before reach, and those that are written
  for (const Extent& each : all_.extents) {
    if (each.base != all.base) all = written = {each.base, each.first, each.first, false};
    if (each.first < written.end || (each.is_written && each.first < all.end)) return false;
    all.end = std::max(all.end, each.end);
    if (each.is_written) written.end = each.end;
  }
  return true;
}

/// Dtypes are those of the program, ranks and strides follow from what is said here.
PlanKey Sets::key(const void* identity) const {
  PlanKey key = {kIsList, static_cast<int64_t>(reinterpret_cast<uintptr_t>(identity)), index_bits_};
  key.reserve(key.size() + 2 * all_.sets.size() + all_.tensors.size());
  const tbk_tensor_t* tensor = all_.tensors.data();
  for (const Set& set : all_.sets) {
    key.push_back(set.count);
    key.push_back(static_cast<int64_t>(set.shared) << 32 | (set.outputs + set.inputs));
    for (const tbk_tensor_t* end = tensor + set.outputs + set.inputs; tensor < end; tensor++)
      key.push_back(static_cast<int64_t>(tensor->storage_bytes));
  }
  return key;
}

template <class Code>
bool Sets::run(bool (*start)(const Code& code, const Gathered& what), const Code& code) {
  if (all_.sets.empty()) return true;
  if (!are_apart()) return false;
  std::vector<const tbk_tensor_t*>& tensors = all_.pointers;
  std::vector<tbk_operand_set_t>& described = all_.described;
  tensors.reserve(all_.tensors.size());
  described.reserve(all_.sets.size());
  tbk_tensor_t* tensor = all_.tensors.data();
  const uint64_t* numbers = all_.numbers.data();
  for (const Set& set : all_.sets) {
    const auto* first = tensors.data() + tensors.size();
    const bool is_inner = set.is_reduction && set.count != 1;
    for (const tbk_tensor_t* end = tensor + set.outputs + set.inputs; tensor < end; tensor++) {
      tensor->sizes = &set.count;
      tensors.push_back(tensor);
    }
    described.push_back({sizeof(tbk_operand_set_t), first, first + set.outputs, numbers, &set.count,
                         is_inner ? uint64_t{1} : uint64_t{0}});
    numbers += set.numbers;
  }
  const auto key_of_all = [&] { return key(&code); };
  return start(code, {device_, tensors, described, index_bits_, key_of_all});
}

bool Sets::pointwise(const Program& program) {
  return run(launch_pointwise, program);
}

bool Sets::reduce(const Reduction& reduction) {
  return run(launch_reduce, reduction);
}

}  // namespace tbk::generic
