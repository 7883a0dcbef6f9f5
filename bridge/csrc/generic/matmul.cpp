// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ATen/ExpandUtils.h>
#include <ATen/MemoryOverlap.h>
#include <ATen/native/Resize.h>
#include <aten/operands.h>
#include <generic/complex_products.h>
#include <generic/host_number.h>
#include <generic/launch.h>
#include <generic/matmul.h>
#include <tbk/tbk_matmul.h>

namespace tbk::generic {
namespace {

constinit Kernel matmul_kernel(TBK_NAME_matmul, TBK_VERSION_matmul);

/// The sizes of the result, of operands whose own fit each other.
at::DimVector sizes_of(const Product& product) {
  const c10::IntArrayRef first = product.first.sizes(), second = product.second.sizes();
  at::DimVector sizes(first.begin(), first.end() - 1);
  if (second.size() > 1) sizes.push_back(second.back());
  return sizes;
}

/// A tensor as the kernel sees it: with a dimension of 1 where a vector has none.
class Matrix {
 public:
  Matrix(const tbk_tensor_t& tensor, bool is_row, bool is_column)
      : tensor_(tensor),
        sizes_(tensor.sizes, tensor.sizes + tensor.rank),
        strides_(tensor.strides, tensor.strides + tensor.rank) {
    if (is_column) insert(sizes_.size());
    if (is_row) insert(sizes_.size() - 1);
    tensor_.rank = static_cast<int32_t>(sizes_.size());
    tensor_.sizes = sizes_.data();
    tensor_.strides = strides_.data();
  }
  Matrix(const Matrix&) = delete;
  Matrix& operator=(const Matrix&) = delete;

  const tbk_tensor_t* operator*() const {
    return &tensor_;
  }

 private:
  void insert(size_t place) {
    sizes_.insert(sizes_.begin() + static_cast<ptrdiff_t>(place), 1);
    strides_.insert(strides_.begin() + static_cast<ptrdiff_t>(place), 1);
  }

  tbk_tensor_t tensor_;
  c10::SmallVector<int64_t, 4> sizes_, strides_;
};

/// What PyTorch's CPU multiplies, and the kernel too.
bool is_multiplied(at::ScalarType dtype) {
  switch (dtype) {
    case at::kHalf:
    case at::kBFloat16:
    case at::kFloat:
    case at::kDouble:
    case at::kByte:
    case at::kChar:
    case at::kShort:
    case at::kInt:
    case at::kLong:
      return true;
    default:
      return false;
  }
}

bool is_added(const Product& product) {
  return product.summand != nullptr && !product.beta.equal(0);
}

/// PyTorch looks at the summand's sizes also where it is not read; where it is the result, it has its size.
bool takes_summand(const Product& product, const at::Tensor& out, c10::IntArrayRef sizes) {
  if (product.summand == nullptr) return true;
  const at::Tensor& summand = *product.summand;
  if (!is_plain_beside(summand, out) || !at::is_expandable_to(summand.sizes(), sizes)) return false;
  return summand.is_same(out) ? summand.sizes() == sizes : is_apart_from(summand, out);
}

/// PyTorch raises for numbers of a higher kind, and for those that do not fit.
bool takes_number(const at::Scalar& number, at::ScalarType dtype) {
  return fits(number, dtype, /*is_checked=*/at::isIntegralType(dtype, /*includeBool=*/false));
}

bool is_product_served(const Product& product, const at::Tensor& out, c10::IntArrayRef sizes) {
  if (!is_open(Route::generic) || !is_ours(out) || !is_plain_beside(out, out)) return false;
  const at::ScalarType dtype = out.scalar_type();
  return offers_matmul(out.device().index(), dtype) && is_plain_beside(product.first, out) &&
         is_plain_beside(product.second, out) && is_apart_from(product.first, out) &&
         is_apart_from(product.second, out) && takes_summand(product, out, sizes) &&
         takes_number(product.alpha, dtype) && takes_number(product.beta, dtype) &&
         at::has_internal_overlap(out) == at::MemOverlap::No;
}

tbk_scalar_t scalar_in(at::ScalarType dtype, const at::Scalar& number) {
  if (at::isIntegralType(dtype, /*includeBool=*/false))
    return {TBK_SCALAR_INT, number.to<int64_t>(), 0, 0};
  return {TBK_SCALAR_DOUBLE, 0, number.to<double>(), 0};
}

bool launch_product(const Product& product, const at::Tensor& out) {
  const bool is_row = product.first.dim() == 1, is_column = product.second.dim() == 1;
  const c10::DeviceIndex device = out.device().index();
  const at::ScalarType dtype = out.scalar_type();
  const Matrix result(describe(out), is_row, is_column);  // first: a lazy clone gets its own memory
  const Matrix a(describe_input(product.first), is_row, false);
  const Matrix b(describe_input(product.second), false, is_column);
  std::optional<Operand> summand;
  std::optional<Matrix> c;
  if (is_added(product)) {
    summand.emplace(*product.summand, device, dtype, out.sizes());
    c.emplace(***summand, is_row, is_column);
  }
  c10::SmallVector<const tbk_tensor_t*, 4> tensors = {*result, *a, *b};
  if (c.has_value()) tensors.push_back(**c);
  const tbk_args_matmul_t arguments = {sizeof arguments,
                                       *a,
                                       *b,
                                       c.has_value() ? **c : nullptr,
                                       *result,
                                       scalar_in(dtype, product.alpha),
                                       scalar_in(dtype, product.beta),
                                       index_bits_of(tensors)};
  return launch(matmul_kernel, device, &arguments, tensors, arguments.index_bits);
}

}  // namespace

bool offers_matmul(c10::DeviceIndex device, at::ScalarType dtype) {
  const at::ScalarType part = part_dtype(dtype);
  return is_multiplied(part) && offers(matmul_kernel, device, part);
}

bool multiply(const Product& product, const at::Tensor& out) {
  const at::DimVector sizes = sizes_of(product);
  if (is_pair(out.scalar_type())) return multiply_pairs(product, out, sizes);
  if (!is_product_served(product, out, sizes)) return false;
  at::native::resize_output(out, sizes);
  return out.numel() == 0 || launch_product(product, out);
}

}  // namespace tbk::generic
