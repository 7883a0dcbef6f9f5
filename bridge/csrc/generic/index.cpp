// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ATen/Context.h>
#include <ATen/native/Resize.h>
#include <aten/copy.h>
#include <aten/copy_layout.h>
#include <aten/empty.h>
#include <aten/operands.h>
#include <generic/index.h>

#include <algorithm>
#include <utility>

namespace tbk::generic {
namespace {

constinit Kernel index_kernel(TBK_NAME_index, TBK_VERSION_index);

tbk_tensor_t described(const Shaped& operand, bool is_written) {
  tbk_tensor_t result = is_written ? describe(operand.tensor) : describe_input(operand.tensor);
  result.rank = static_cast<int32_t>(operand.sizes.size());
  result.sizes = operand.sizes.data();
  result.strides = operand.strides.data();
  return result;
}

/// A complex tensor as one of real numbers, two of them along a dimension more.
Shaped as_pairs(const Shaped& operand) {
  Shaped result = operand;
  for (int64_t& stride : result.strides)
    stride *= 2;
  result.sizes.push_back(2);
  result.strides.push_back(1);
  return result;
}

void describe_pairs(tbk_tensor_t& description) {
  const auto dtype = static_cast<at::ScalarType>(description.dtype);
  description.dtype = static_cast<int32_t>(c10::toRealValueType(dtype));
  description.offset *= 2;
}

/// Whether dimensions from the narrowest stride on each step over all that the narrower ones reach. Strides of
/// 0, and others that PyTorch calls too hard, do not.
bool has_each_element_once(const at::Tensor& tensor) {
  c10::SmallVector<std::pair<int64_t, int64_t>, 6> dimensions;
  for (int64_t d = 0; d < tensor.dim(); d++)
    if (tensor.size(d) > 1) dimensions.emplace_back(tensor.stride(d), tensor.size(d));
  std::sort(dimensions.begin(), dimensions.end());
  int64_t reached = 0;
  for (const auto& [stride, size] : dimensions) {
    if (stride <= reached) return false;
    reached += stride * (size - 1);
  }
  return true;
}

}  // namespace

at::DimVector standing(size_t rank) {
  at::DimVector strides;
  strides.resize(rank, 0);
  return strides;
}

bool offers_index(c10::DeviceIndex device) {
  Backend::get().ensure_open(device);
  return index_kernel.find(device) != nullptr;
}

Shaped::Shaped(const at::TensorBase& of)
    : tensor(of),
      sizes(of.sizes().begin(), of.sizes().end()),
      strides(of.strides().begin(), of.strides().end()) {
  if (!sizes.empty()) return;
  sizes.push_back(1);
  strides.push_back(1);
}

Shaped::Shaped(const at::TensorBase& of, c10::IntArrayRef its_sizes, c10::IntArrayRef its_strides)
    : tensor(of),
      sizes(its_sizes.begin(), its_sizes.end()),
      strides(its_strides.begin(), its_strides.end()) {}

void Placement::by(const at::TensorBase& index, c10::IntArrayRef strides) {
  places_.push_back(TBK_INDEX_BY(indices_.size()));
  indices_.emplace_back(index, space_, strides);
}

void Placement::along(int64_t dimension) {
  places_.push_back(TBK_INDEX_ALONG(dimension));
}

void Placement::by_one_of(int64_t rank, int64_t dim, const at::TensorBase& index,
                          c10::IntArrayRef strides) {
  for (int64_t d = 0; d < rank; d++)
    if (d == dim)
      by(index, strides);
    else
      along(d);
}

Shaped Placement::everywhere(const at::TensorBase& number) const {
  return Shaped(number, space_, standing(space_.size()));
}

/// The arguments of one launch, and what they point to. Neither copied nor moved.
struct Placement::Operands {
  Operands(const Placement& placement, int64_t mode, const Shaped& its_table,
           const Shaped& its_values)
      : is_complex(at::isComplexType(its_table.tensor.scalar_type())),
        table_shape(is_complex ? as_pairs(its_table) : its_table),
        values_shape(is_complex ? as_pairs(its_values) : its_values),
        index_shapes(placement.indices_),
        places(placement.places_) {
    // What is written comes first: a lazy clone gets memory of its own then.
    const bool is_gather = mode == TBK_INDEX_GATHER;
    if (is_gather) values = described(values_shape, true);
    table = described(table_shape, !is_gather);
    if (!is_gather) values = described(values_shape, false);
    if (is_complex) add_pairs();
    for (const Shaped& each : index_shapes)
      indices.push_back(described(each, false));
    tensors = {&table, &values};
    for (const tbk_tensor_t& each : indices)
      tensors.push_back(&each);
  }
  Operands(const Operands&) = delete;
  Operands& operator=(const Operands&) = delete;

  void add_pairs() {
    describe_pairs(table);
    describe_pairs(values);
    places.push_back(TBK_INDEX_ALONG(values.rank - 1));
    for (Shaped& each : index_shapes) {
      each.sizes.push_back(2);
      each.strides.push_back(0);
    }
  }

  bool is_complex;
  Shaped table_shape, values_shape;
  c10::SmallVector<Shaped, 2> index_shapes;
  at::DimVector places;
  tbk_tensor_t table, values;
  c10::SmallVector<tbk_tensor_t, 2> indices;
  c10::SmallVector<const tbk_tensor_t*, 6> tensors;
};

bool Placement::run(int64_t mode, const Shaped& table, const Shaped& values) const {
  for (const int64_t size : space_)
    if (size == 0) return true;
  if (table.tensor.numel() == 0) return false;  // every index is bad
  const bool is_complex = at::isComplexType(table.tensor.scalar_type());
  const size_t most = TBK_PROGRAM_MOST_RANK - (is_complex ? 1 : 0);
  if (space_.size() > most || table.sizes.size() > most || indices_.size() > most ||
      (is_complex && (flags_ & TBK_INDEX_FLAT) != 0) || (is_complex && mode > TBK_INDEX_ADD))
    return false;
  return launch_on_device(mode, table, values);
}

bool Placement::launch_on_device(int64_t mode, const Shaped& table, const Shaped& values) const {
  const c10::DeviceIndex device = table.tensor.device().index();
  if (!offers_index(device)) return false;
  Operands operands(*this, mode, table, values);
  // The two halves of a complex number come from one place.
  const bool is_ordered =
      mode != TBK_INDEX_GATHER && (at::globalContext().deterministicAlgorithms() ||
                                   (mode == TBK_INDEX_WRITE && operands.is_complex));
  Stream& stream = current_stream(device);
  const int64_t no_dimension = 0;
  const uint64_t word_bytes = BadIndex::word_bytes(stream);
  const tbk_tensor_t report = {sizeof report, is_silent_ ? 0 : stream.bad_index.word(stream),
                               word_bytes,    0,
                               TBK_INT32,     0,
                               &no_dimension, &no_dimension};
  tbk_args_index_t arguments = {};
  arguments.struct_size = sizeof arguments;
  arguments.mode = mode;
  arguments.flags = flags_ | (is_ordered ? TBK_INDEX_ORDERED : 0);
  arguments.bounds = TBK_BOUNDS_ZERO;
  arguments.index_bits = index_bits_of(operands.tensors);
  arguments.table = &operands.table;
  arguments.values = &operands.values;
  arguments.indices = operands.tensors.data() + 2;
  arguments.index_count = operands.indices.size();
  arguments.places = operands.places.data();
  arguments.report = is_silent_ ? nullptr : &report;
  c10::SmallVector<int64_t, 12> others = {mode, static_cast<int64_t>(arguments.flags),
                                          arguments.index_bits, is_silent_};
  others.append(operands.places.begin(), operands.places.end());
  if (!launch(index_kernel, device, &arguments, operands.tensors, others)) return false;
  if (is_silent_) return true;
  stream.bad_index.note(operation_);
  if (stream.handle == nullptr) stream.bad_index.raise_if_any(stream);
  return true;
}

bool are_plain(std::initializer_list<const at::TensorBase*> tensors) {
  const at::TensorBase& first = **tensors.begin();
  return std::all_of(tensors.begin(), tensors.end(), [&](const at::TensorBase* tensor) {
    return is_ours(*tensor) && tensor->device() == first.device() &&
           tensor->layout() == at::kStrided && !tensor->is_neg() && !tensor->is_conj() &&
           !tensor->is_nested();
  });
}

bool has_indices(const at::TensorBase& tensor) {
  return tensor.scalar_type() == at::kLong || tensor.scalar_type() == at::kInt;
}

bool is_apart(const at::Tensor& out, std::initializer_list<const at::Tensor*> inputs) {
  if (out.numel() == 0) return true;
  return has_each_element_once(out) &&
         std::none_of(inputs.begin(), inputs.end(), [&](const at::Tensor* input) {
           return input->numel() > 0 && may_overlap(out, *input);
         });
}

void start_from(const at::Tensor& self, const at::Tensor& out) {
  if (out.is_same(self)) return;
  const Composition part;  // a copy is of another route
  at::native::resize_output(out, self.sizes());
  copy_tensor(out, self, /*non_blocking=*/false);
}

std::optional<int64_t> wrapped(int64_t dim, const at::TensorBase& self) {
  const int64_t rank = std::max<int64_t>(self.dim(), 1);
  if (dim < -rank || dim >= rank) return std::nullopt;
  return dim < 0 ? dim + rank : dim;
}

at::Tensor number_of(const at::Scalar& value, c10::DeviceIndex device, at::ScalarType dtype) {
  // A number beyond a small type becomes an infinity where one element is filled; PyTorch refuses it here.
  if (at::isReducedFloatingType(dtype)) at::empty({2}, at::dtype(dtype)).fill_(value);
  at::Tensor number = empty_on(device, {}, dtype);
  const Composition part;  // a fill is of another route
  return number.fill_(value);
}

at::Tensor number_for(const at::Tensor& self, const at::Tensor& value) {
  const at::ScalarType from = value.scalar_type(), to = self.scalar_type();
  const bool is_within = at::promoteTypes(from, to) == to &&
                         !(to == at::kHalf && at::isIntegralType(from, /*includeBool=*/false));
  if (is_ours(value) && is_within) return value.to(to);
  return number_of(value.item(), self.device().index(), to);
}

}  // namespace tbk::generic
