// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// grid_sampler of two and three dimensions: one program; for the gradient of the grid one reduction over channels, and
// for that of the image a scatter for each element that a place is made of.
#include <ATen/ops/grid_sampler_2d_backward_ops.h>
#include <ATen/ops/grid_sampler_2d_ops.h>
#include <ATen/ops/grid_sampler_3d_backward_ops.h>
#include <ATen/ops/grid_sampler_3d_ops.h>
#include <aten/empty.h>
#include <generic/by_others.h>
#include <generic/lattice.h>
#include <generic/made_once.h>
#include <torch/library.h>

#include <algorithm>
#include <array>
#include <tuple>

namespace tbk::generic {
namespace {

using Two = std::tuple<at::Tensor, at::Tensor>;
using GridMask = std::array<bool, 2>;
using Taps = LatticeBuilder::Taps;
template <class Interned>
using OfLattices = std::array<OfDtypes<Interned>, Lattice::kFormCount>;

/// The taps along each dimension of the image, the last first, as the last dimension of a grid has them. Declares
/// the coordinates as inputs and the sizes as numbers.
c10::SmallVector<Taps, 3> taps_of(ProgramBuilder& b, const Lattice& lattice, at::ScalarType real) {
  c10::SmallVector<Taps, 3> taps;
  for (int64_t d = 0; d < lattice.rank; d++) {
    const Value coordinate = b.input(real), size = b.number(at::kLong);
    taps.push_back(LatticeBuilder(b, lattice, real, size).taps(coordinate));
  }
  return taps;
}

/// Visits each element that a place is made of: which tap it is along each dimension, the last first.
template <class Visit>
void for_each_element(const Lattice& lattice, Visit visit) {
  int64_t count = 1;
  for (int64_t d = 0; d < lattice.rank; d++)
    count *= lattice.tap_count();
  for (int64_t i = 0; i < count; i++) {
    std::array<size_t, 3> which{};
    for (int64_t d = 0, rest = i; d < lattice.rank; d++, rest /= lattice.tap_count())
      which[static_cast<size_t>(d)] = static_cast<size_t>(rest % lattice.tap_count());
    visit(which);
  }
}

/// The element of `image` at one tap of each dimension; 0 outside.
Value loaded(ProgramBuilder& b, uint16_t image, c10::ArrayRef<Taps> taps,
             const std::array<size_t, 3>& which, Value sample, Value channel) {
  c10::SmallVector<Value, 5> indices = {sample, channel};
  for (size_t d = taps.size(); d-- > 0;)
    indices.push_back(taps[d][which[d]].index);
  return b.load(image, indices, TBK_BOUNDS_ZERO);
}

/// The product of what the taps count; of dimension `steep` how that grows.
Value weight_of(ProgramBuilder& b, c10::ArrayRef<Taps> taps, const std::array<size_t, 3>& which,
                std::optional<size_t> steep = std::nullopt) {
  std::optional<Value> product;
  for (size_t d = 0; d < taps.size(); d++) {
    const LatticeBuilder::Tap& tap = taps[d][which[d]];
    const Value factor = steep == d ? tap.slope : tap.weight;
    product = product.has_value() ? b.apply(TBK_OPCODE_MUL, {*product, factor}) : factor;
  }
  return *product;
}

void add_to(ProgramBuilder& b, std::optional<Value>& sum, Value value) {
  sum = sum.has_value() ? b.apply(TBK_OPCODE_ADD, {*sum, value}) : value;
}

const Program* sample_program(const Lattice& lattice, at::ScalarType real) {
  static OfLattices<Program> made;
  return made_once(made[lattice.form()], real, [&] {
    ProgramBuilder b;
    const auto taps = taps_of(b, lattice, real);
    const uint16_t image = b.indexed_input(real, static_cast<uint16_t>(lattice.rank + 2));
    const Value sample = b.coordinate(0), channel = b.coordinate(1);
    std::optional<Value> sum;
    for_each_element(lattice, [&](const std::array<size_t, 3>& which) {
      const Value value = loaded(b, image, taps, which, sample, channel);
      add_to(b, sum, b.apply(TBK_OPCODE_MUL, {value, weight_of(b, taps, which)}));
    });
    b.result(*sum);
    return b.intern();
  });
}

/// Of the element that numbers choose: its place in the image as one dimension, -1 outside, and what it counts.
const Program* element_program(const Lattice& lattice, at::ScalarType real) {
  static OfLattices<Program> made;
  return made_once(made[lattice.form()], real, [&] {
    ProgramBuilder b;
    c10::SmallVector<Value, 3> places;
    std::optional<Value> weight, is_inside, index;
    for (int64_t d = 0; d < lattice.rank; d++) {
      const Value coordinate = b.input(real), size = b.number(at::kLong),
                  stride = b.number(at::kLong), chosen = b.number(at::kLong);
      const Taps taps = LatticeBuilder(b, lattice, real, size).taps(coordinate);
      Value place = taps[0].index, counts = taps[0].weight;
      for (size_t i = 1; i < taps.size(); i++) {
        const Value number = b.constant(static_cast<double>(i), at::kLong);
        const Value is_it = b.apply(TBK_OPCODE_EQ, {chosen, number});
        place = b.apply(TBK_OPCODE_SELECT, {is_it, taps[i].index, place});
        counts = b.apply(TBK_OPCODE_SELECT, {is_it, taps[i].weight, counts});
      }
      const Value is_here = b.apply(TBK_OPCODE_GE, {place, b.constant(0, at::kLong)});
      is_inside = d == 0 ? is_here : b.apply(TBK_OPCODE_AND, {*is_inside, is_here});
      weight = d == 0 ? counts : b.apply(TBK_OPCODE_MUL, {*weight, counts});
      add_to(b, index, b.apply(TBK_OPCODE_MUL, {place, stride}));
    }
    b.result(b.apply(TBK_OPCODE_SELECT, {*is_inside, *index, b.constant(-1, at::kLong)}));
    b.result(*weight);
    return b.intern();
  });
}

/// Returns how the result of one channel grows with each coordinate, times its gradient.
const Program* slopes_program(const Lattice& lattice, at::ScalarType real) {
  ProgramBuilder b;
  const auto taps = taps_of(b, lattice, real);
  const Value gradient = b.input(real);
  const uint16_t image = b.indexed_input(real, static_cast<uint16_t>(lattice.rank + 2));
  const Value sample = b.coordinate(0),
              channel = b.coordinate(static_cast<uint16_t>(lattice.rank + 1));
  std::array<std::optional<Value>, 3> sums;
  for_each_element(lattice, [&](const std::array<size_t, 3>& which) {
    const Value value = loaded(b, image, taps, which, sample, channel);
    for (size_t d = 0; d < taps.size(); d++)
      add_to(b, sums[d], b.apply(TBK_OPCODE_MUL, {value, weight_of(b, taps, which, d)}));
  });
  for (size_t d = 0; d < taps.size(); d++)
    b.result(b.apply(TBK_OPCODE_MUL, {*sums[d], gradient}));
  return b.intern();
}

/// Adds states, or gives the last one, with the numbers that a map has.
const Program* sums_program(const Lattice& lattice, at::ScalarType real, bool is_last) {
  ProgramBuilder b;
  c10::SmallVector<Value, 3> state;
  for (int64_t d = 0; d < lattice.rank; d++) {
    b.number(at::kLong);
    state.push_back(b.parameter(real));
  }
  if (!is_last)
    for (Value& sum : state)
      sum = b.apply(TBK_OPCODE_ADD, {sum, b.parameter(real)});
  for (const Value sum : state)
    b.result(sum);
  return b.intern();
}

/// The channels are the inner space.
const Reduction* slopes_of(const Lattice& lattice, at::ScalarType real) {
  static OfLattices<Reduction> made;
  return made_once(made[lattice.form()], real, [&] {
    return intern_reduction(slopes_program(lattice, real), sums_program(lattice, real, false),
                            sums_program(lattice, real, true),
                            std::vector<uint64_t>(static_cast<size_t>(lattice.rank), 0), true);
  });
}

/// One call.
class Grid {
 public:
  Grid(const at::Tensor& image, const at::Tensor& grid, const Lattice& lattice)
      : image_(image), grid_(grid), lattice_(lattice) {}

  /// PyTorch raises for what is not. Half precision rounds coordinates on its CPU, which chooses elements.
  bool is_served() const {
    const int64_t rank = lattice_.rank;
    if (!may_be_made({&image_, &grid_}) || !are_real({&image_, &grid_}) || !lattice_.is_known() ||
        at::isReducedFloatingType(image_.scalar_type()) || image_.dim() != rank + 2 ||
        grid_.dim() != rank + 2 || grid_.size(-1) != rank || grid_.size(0) != image_.size(0))
      return false;
    const auto sizes = spatial();
    return image_.numel() > 0 && grid_.numel() > 0 &&
           *std::max_element(sizes.begin(), sizes.end()) <= kMostPlaces;
  }
  bool takes(const at::Tensor& gradient) const {
    return are_plain({&image_, &gradient}) && are_real({&image_, &gradient}) &&
           gradient.sizes() == c10::IntArrayRef(result_sizes());
  }

  /// Each is not defined where the backend refuses.
  at::Tensor sample() const;
  at::Tensor grid_gradient(const at::Tensor& gradient) const;
  at::Tensor image_gradient(const at::Tensor& gradient) const;

 private:
  /// Beyond this a place as a FLOAT32 is not exact any more.
  static constexpr int64_t kMostPlaces = INT64_C(1) << 22;

  c10::IntArrayRef spatial() const {
    return image_.sizes().slice(2);
  }
  at::DimVector result_sizes() const {
    at::DimVector sizes = {image_.size(0), image_.size(1)};
    sizes.append(grid_.sizes().begin() + 1, grid_.sizes().end() - 1);
    return sizes;
  }
  at::Tensor fresh(c10::IntArrayRef sizes, at::ScalarType dtype) const {
    return empty_on(image_.device().index(), sizes, dtype);
  }
  /// Returns the size of the dimension that coordinate `d` is of, or of all dimensions behind it.
  int64_t size_of(int64_t d) const {
    return image_.size(-1 - d);
  }
  bool place_element(const std::array<size_t, 3>& which, const at::Tensor& index,
                     const at::Tensor& weight) const;

  const at::Tensor& image_;
  const at::Tensor& grid_;
  const Lattice lattice_;
};

at::Tensor Grid::sample() const {
  at::Tensor out = fresh(result_sizes(), image_.scalar_type());
  Launch launch(out.device().index(), out.sizes());
  launch.keep_dimensions();
  launch.output(out, out.strides());
  for (int64_t d = 0; d < lattice_.rank; d++) {
    const at::Tensor coordinate = grid_.select(-1, d).unsqueeze(1).expand(out.sizes());
    launch.input(coordinate, coordinate.strides());
    launch.number(bits_in(at::kLong, size_of(d)));
  }
  launch.indexed_input(image_);
  return launch.pointwise(*sample_program(lattice_, image_.scalar_type())) ? out : at::Tensor();
}

at::Tensor Grid::grid_gradient(const at::Tensor& gradient) const {
  at::Tensor out = fresh(grid_.sizes(), grid_.scalar_type());
  const c10::IntArrayRef outer = grid_.sizes().slice(0, static_cast<size_t>(lattice_.rank) + 1);
  const std::array<int64_t, 1> inner = {image_.size(1)};
  Launch launch(out.device().index(), outer, inner);
  launch.keep_dimensions();
  for (int64_t d = 0; d < lattice_.rank; d++)
    launch.output(out.select(-1, d), out.select(-1, d).strides());
  for (int64_t d = 0; d < lattice_.rank; d++) {
    at::DimVector strides(grid_.strides().begin(), grid_.strides().end() - 1);
    strides.push_back(0);
    launch.input(grid_.select(-1, d), strides);
    launch.number(bits_in(at::kLong, size_of(d)));
  }
  launch.input(gradient, gradient.movedim(1, -1).strides());
  launch.indexed_input(image_);
  return launch.reduce(*slopes_of(lattice_, image_.scalar_type())) ? out : at::Tensor();
}

bool Grid::place_element(const std::array<size_t, 3>& which, const at::Tensor& index,
                         const at::Tensor& weight) const {
  Launch launch(index.device().index(), index.sizes());
  launch.output(index, index.strides());
  launch.output(weight, weight.strides());
  for (int64_t d = 0, stride = 1; d < lattice_.rank; stride *= size_of(d), d++) {
    const at::Tensor coordinate = grid_.select(-1, d);
    launch.input(coordinate, coordinate.strides());
    for (const int64_t number :
         {size_of(d), stride, static_cast<int64_t>(which[static_cast<size_t>(d)])})
      launch.number(bits_in(at::kLong, number));
  }
  return launch.pointwise(*element_program(lattice_, image_.scalar_type()));
}

at::Tensor Grid::image_gradient(const at::Tensor& gradient) const {
  const at::ScalarType real = image_.scalar_type();
  at::Tensor out = fresh(image_.sizes(), real).zero_();
  const c10::IntArrayRef places = grid_.sizes().slice(0, static_cast<size_t>(lattice_.rank) + 1);
  const at::Tensor index = fresh(places, at::kLong), weight = fresh(places, real);
  const at::Tensor lines = out.flatten(2), given = gradient.flatten(2);
  bool is_done = true;
  for_each_element(lattice_, [&](const std::array<size_t, 3>& which) {
    if (!is_done || !place_element(which, index, weight)) return void(is_done = false);
    const at::Tensor share = given.mul(weight.flatten(1).unsqueeze(1));
    Placement placement("aten::grid_sampler", share.sizes());
    placement.along(0);
    placement.along(1);
    placement.by(index, {share.size(2), 0, 1});
    placement.leave_out();
    is_done = placement.run(TBK_INDEX_ADD, Shaped(lines), Shaped(share));
  });
  return is_done ? out : at::Tensor();
}

template <class Op, int64_t kRank>
at::Tensor sample(const at::Tensor& image, const at::Tensor& places, int64_t mode, int64_t padding,
                  bool aligns_corners) {
  const Grid grid(image, places, {mode, padding, aligns_corners, kRank});
  const at::Tensor out = grid.is_served() ? grid.sample() : at::Tensor();
  if (!out.defined()) return on_host<Op>(image, places, mode, padding, aligns_corners);
  count_served<Op>(Route::composed, out);
  return out;
}

template <class Op, int64_t kRank>
Two backward(const at::Tensor& gradient, const at::Tensor& image, const at::Tensor& places,
             int64_t mode, int64_t padding, bool aligns_corners, GridMask wanted) {
  const Grid grid(image, places, {mode, padding, aligns_corners, kRank});
  if (grid.is_served() && grid.takes(gradient)) {
    const Composition whole;
    const at::Tensor of_grid = grid.grid_gradient(gradient),
                     of_image = wanted[0] ? grid.image_gradient(gradient) : at::Tensor();
    if (of_grid.defined() && (of_image.defined() || !wanted[0])) {
      count_served<Op>(Route::composed, image);
      return {of_image, of_grid};
    }
  }
  return on_host<Op>(gradient, image, places, mode, padding, aligns_corners, wanted);
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  using namespace at::_ops;
  m.impl("grid_sampler_2d", sample<grid_sampler_2d, 2>);
  m.impl("grid_sampler_3d", sample<grid_sampler_3d, 3>);
  m.impl("grid_sampler_2d_backward", backward<grid_sampler_2d_backward, 2>);
  m.impl("grid_sampler_3d_backward", backward<grid_sampler_3d_backward, 3>);
}

}  // namespace tbk::generic
