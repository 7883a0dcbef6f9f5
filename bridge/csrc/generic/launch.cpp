// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#include <aten/kernels.h>
#include <generic/complex_parts.h>
#include <generic/gathered.h>
#include <generic/launch.h>
#include <runtime/backend.h>

#include <limits>

namespace tbk::generic {
namespace {

constinit Kernel pointwise_kernel(TBK_NAME_pointwise, TBK_VERSION_pointwise);
constinit Kernel reduce_kernel(TBK_NAME_reduce, TBK_VERSION_reduce);

bool is_offered(Kernel& kernel, c10::DeviceIndex device) {
  Backend::get().ensure_open(device);
  return kernel.find(device) != nullptr;
}

template <class Arguments>
bool start(Kernel& kernel, Arguments arguments, const Gathered& what) {
  c10::SmallVector<const tbk_operand_set_t*, 1> pointers;
  for (const tbk_operand_set_t& set : what.sets)
    pointers.push_back(&set);
  arguments.struct_size = sizeof arguments;
  arguments.index_bits = what.index_bits;
  arguments.sets = pointers.data();
  arguments.set_count = pointers.size();
  return launch_by_key(kernel, what.device, &arguments, what.tensors, what.key);
}

bool knows(c10::DeviceIndex device, uint64_t dtypes) {
  return (dtypes & ~Backend::get().device(device).properties.dtypes) == 0;
}

}  // namespace

bool launch_pointwise(const Program& program, const Gathered& what) {
  if (!knows(what.device, program.dtypes)) return false;
  tbk_args_pointwise_t arguments = {};
  arguments.program = &program.view;
  return start(pointwise_kernel, arguments, what);
}

bool launch_reduce(const Reduction& reduction, const Gathered& what) {
  if (!knows(what.device, reduction.dtypes())) return false;
  tbk_args_reduce_t arguments = {};
  arguments.reduction = &reduction.view;
  return start(reduce_kernel, arguments, what);
}

bool fits_32(const tbk_tensor_t& tensor) {
  constexpr int64_t most = std::numeric_limits<int32_t>::max();
  int64_t last = tensor.offset, count = 1;
  for (int32_t d = 0; d < tensor.rank; d++) {
    if (__builtin_mul_overflow(count, tensor.sizes[d], &count)) return false;
    last += tensor.sizes[d] > 0 ? (tensor.sizes[d] - 1) * tensor.strides[d] : 0;
  }
  return last <= most && count <= most;
}

int64_t index_bits_of(c10::ArrayRef<const tbk_tensor_t*> tensors) {
  const auto fits = [](const tbk_tensor_t* tensor) { return fits_32(*tensor); };
  return std::all_of(tensors.begin(), tensors.end(), fits) ? 32 : 64;
}

bool offers_pointwise(c10::DeviceIndex device) {
  return is_offered(pointwise_kernel, device);
}
bool offers_reduce(c10::DeviceIndex device) {
  return is_offered(reduce_kernel, device);
}

Launch::Item& Launch::add(c10::SmallVectorImpl<Item>& to, tbk_tensor_t description,
                          c10::IntArrayRef strides) {
  Item& item = to.emplace_back();
  item.description = description;
  item.strides.append(strides.begin(), strides.end());
  item.is_indexed = false;
  return item;
}

void Launch::add_parts(c10::SmallVectorImpl<Item>& to, const tbk_tensor_t& description,
                       c10::IntArrayRef strides) {
  if (!is_pair(static_cast<at::ScalarType>(description.dtype))) {
    add(to, description, strides);
    return;
  }
  for (const int64_t part : {0, 1})
    for (int64_t& stride : add(to, part_of(description, part), strides).strides)
      stride *= 2;
}

void Launch::output(const at::TensorBase& tensor, c10::IntArrayRef strides) {
  add_parts(outputs_, describe(tensor), strides);
}
void Launch::input(const at::TensorBase& tensor, c10::IntArrayRef strides) {
  add_parts(inputs_, describe_input(tensor), strides);
}
void Launch::output_from(int64_t first, const at::TensorBase& tensor, c10::IntArrayRef strides) {
  add(outputs_, describe(tensor), strides).description.offset += first;
}
void Launch::input_from(int64_t first, const at::TensorBase& tensor, c10::IntArrayRef strides) {
  add(inputs_, describe_input(tensor), strides).description.offset += first;
}
void Launch::outer_input(const at::TensorBase& tensor, c10::IntArrayRef strides) {
  add_parts(inputs_, describe_input(tensor), strides);
}

void Launch::indexed_input(const at::TensorBase& tensor) {
  Item& item = add(inputs_, describe_input(tensor), tensor.strides());
  item.own_sizes.append(tensor.sizes().begin(), tensor.sizes().end());
  item.is_indexed = true;
}

/// Whether each operand steps from `dimension` to the next as through one.
bool Launch::can_merge(size_t dimension) const {
  const int64_t next = all_sizes_[dimension + 1];
  const auto fits = [&](const Item& item) {
    if (item.is_indexed || dimension + 1 >= item.strides.size()) return true;
    return item.strides[dimension] == item.strides[dimension + 1] * next;
  };
  return std::all_of(outputs_.begin(), outputs_.end(), fits) &&
         std::all_of(inputs_.begin(), inputs_.end(), fits);
}

void Launch::drop(size_t dimension) {
  all_sizes_.erase(all_sizes_.begin() + static_cast<ptrdiff_t>(dimension));
  for (c10::SmallVectorImpl<Item>* items : {static_cast<c10::SmallVectorImpl<Item>*>(&outputs_),
                                            static_cast<c10::SmallVectorImpl<Item>*>(&inputs_)})
    for (Item& item : *items)
      if (!item.is_indexed && dimension < item.strides.size())
        item.strides.erase(item.strides.begin() + static_cast<ptrdiff_t>(dimension));
}

/// Makes the dimensions from `first` as few as their strides allow; the order of the elements stays.
void Launch::merge(size_t first, size_t count, Numbers& sizes) {
  if (keeps_dimensions_) return;
  size_t end = first + count;
  for (size_t d = end; d-- > first;) {
    const bool is_single = all_sizes_[d] == 1;
    const bool is_joined = !is_single && d + 1 < end && can_merge(d);
    if (!is_single && !is_joined) continue;
    if (is_joined) all_sizes_[d + 1] *= all_sizes_[d];
    drop(d);
    end--;
  }
  sizes.assign(all_sizes_.begin() + static_cast<ptrdiff_t>(first),
               all_sizes_.begin() + static_cast<ptrdiff_t>(end));
}

void Launch::point(c10::SmallVectorImpl<Item>& items,
                   c10::SmallVectorImpl<const tbk_tensor_t*>& into) {
  for (Item& item : items) {
    item.description.rank = static_cast<int32_t>(item.strides.size());
    item.description.sizes = item.is_indexed ? item.own_sizes.data() : all_sizes_.data();
    item.description.strides = item.strides.data();
    into.push_back(&item.description);
  }
}

int64_t Launch::index_bits() const {
  const auto fits = [](const Item& item) { return fits_32(item.description); };
  int64_t count = 1;
  for (const int64_t size : all_sizes_)
    if (__builtin_mul_overflow(count, size, &count) || count > std::numeric_limits<int32_t>::max())
      return 64;
  return std::all_of(outputs_.begin(), outputs_.end(), fits) &&
                 std::all_of(inputs_.begin(), inputs_.end(), fits)
             ? 32
             : 64;
}

bool Launch::knows(uint64_t dtypes) const {
  return generic::knows(device_, dtypes) && all_sizes_.size() <= TBK_PROGRAM_MOST_RANK;
}

/// What a plan depends on, besides the tensors: the program, what goes, how wide indices are. Numbers
/// have no part in it.
template <class Arguments>
bool Launch::run(Kernel& kernel, const void* identity, Arguments arguments,
                 c10::ArrayRef<Launch*> sets) {
  c10::SmallVector<const tbk_tensor_t*, 8> tensors;
  for (Launch* set : sets) {
    set->point(set->outputs_, tensors);
    set->point(set->inputs_, tensors);
  }
  c10::SmallVector<tbk_operand_set_t, 1> described;
  Numbers others = {static_cast<int64_t>(reinterpret_cast<uintptr_t>(identity))};
  int64_t index_bits = 32;
  const auto* first = tensors.begin();
  for (const Launch* set : sets) {
    described.push_back({sizeof(tbk_operand_set_t), first, first + set->outputs_.size(),
                         set->numbers_.data(), set->inner_.data(), set->inner_.size()});
    first += set->outputs_.size() + set->inputs_.size();
    others.push_back(static_cast<int64_t>(set->inner_.size()));
    others.append(set->inner_.begin(), set->inner_.end());
    index_bits = std::max(index_bits, set->index_bits());
  }
  others.push_back(index_bits);
  const auto key = [&] { return make_plan_key(tensors, others); };
  return start(kernel, arguments, {sets[0]->device_, tensors, described, index_bits, key});
}

bool Launch::pointwise(const Program& program, c10::ArrayRef<Launch*> sets) {
  for (Launch* set : sets) {
    set->merge(0, set->sizes_.size(), set->sizes_);
    if (!set->knows(program.dtypes)) return false;
  }
  tbk_args_pointwise_t arguments = {};
  arguments.program = &program.view;
  return run(pointwise_kernel, &program, arguments, sets);
}

bool Launch::reduce(const Reduction& reduction, c10::ArrayRef<Launch*> sets) {
  for (Launch* set : sets) {
    const size_t outer = set->sizes_.size();
    set->merge(outer, set->inner_.size(), set->inner_);
    set->merge(0, outer, set->sizes_);
    if (!set->knows(reduction.dtypes())) return false;
  }
  tbk_args_reduce_t arguments = {};
  arguments.reduction = &reduction.view;
  return run(reduce_kernel, &reduction, arguments, sets);
}

}  // namespace tbk::generic
