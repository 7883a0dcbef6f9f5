// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ATen/EmptyTensor.h>
#include <c10/core/GeneratorImpl.h>
#include <runtime/backend.h>
#include <runtime/generator.h>

#include <array>
#include <cstring>
#include <mutex>

namespace tbk {
namespace {

/// PyTorch locks mutex_ around the calls that change it. What PyTorch's base class refuses with a
/// clear error stays refused: states for graphs, of which there are none.
class DeviceGenerator final : public c10::GeneratorImpl {
 public:
  explicit DeviceGenerator(c10::DeviceIndex device)
      : GeneratorImpl(c10::Device(c10::kPrivateUse1, device),
                      c10::DispatchKeySet(c10::DispatchKey::PrivateUse1)) {}

  void set_current_seed(uint64_t seed) override {
    state_ = {seed, 0};
  }
  uint64_t current_seed() const override {
    return state_.seed;
  }
  uint64_t seed() override {
    set_current_seed(c10::detail::getNonDeterministicRandom());
    return state_.seed;
  }
  void set_offset(uint64_t offset) override {
    check_offset(offset);
    state_.offset = offset;
  }
  uint64_t get_offset() const override {
    return state_.offset;
  }

  void set_state(const c10::TensorImpl& state) override {
    const bool fits = state.layout() == c10::kStrided && state.device().is_cpu() &&
                      state.dtype() == at::kByte && state.is_contiguous() &&
                      state.numel() == sizeof state_;
    TORCH_CHECK(fits, "the state of a generator of ", device_, " is a contiguous CPU tensor of ",
                sizeof state_, " uint8, as get_state() gives it");
    tbk_generator_t wanted;
    std::memcpy(&wanted, state.data(), sizeof wanted);
    check_offset(wanted.offset);
    state_ = wanted;
  }
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override {
    const at::TensorBase state = at::detail::empty_cpu({sizeof state_}, at::kByte);
    std::memcpy(state.mutable_data_ptr(), &state_, sizeof state_);
    return state.getIntrusivePtr();
  }

  /// The state to take `words` from; the next caller's begins behind them. mutex_ is held.
  tbk_generator_t take(uint64_t words) {
    const tbk_generator_t taken = state_;
    state_.offset += (words + 3) & ~UINT64_C(3);
    return taken;
  }

 private:
  DeviceGenerator* clone_impl() const override {
    auto copy = c10::make_intrusive<DeviceGenerator>(device_.index());
    copy->state_ = state_;
    return copy.release();
  }

  static void check_offset(uint64_t offset) {
    TORCH_CHECK(offset % 4 == 0, "the offset of a generator is a multiple of 4, not ", offset);
  }

  tbk_generator_t state_{c10::default_rng_seed_val, 0};
};

struct DefaultGenerators {
  std::mutex mutex;
  std::array<at::Generator, max_devices> generators;
  std::optional<uint64_t> seed;  // of those that are made later

  /// Never destroyed: Python may ask for it when static objects have gone.
  static DefaultGenerators& get() {
    static auto& defaults = *new DefaultGenerators();
    return defaults;
  }
};

void set_seed(at::Generator& generator, uint64_t seed) {
  std::lock_guard lock(generator.mutex());
  generator.set_current_seed(seed);
}

}  // namespace

at::Generator make_generator(c10::DeviceIndex device) {
  Backend::get().device(device);  // raises where there is none
  return at::make_generator<DeviceGenerator>(device);
}

const at::Generator& default_generator(c10::DeviceIndex device) {
  DefaultGenerators& defaults = DefaultGenerators::get();
  Backend::get().device(device);
  std::lock_guard lock(defaults.mutex);
  at::Generator& generator = defaults.generators[static_cast<size_t>(device)];
  if (!generator.defined()) {
    generator = make_generator(device);
    if (defaults.seed.has_value()) set_seed(generator, *defaults.seed);
  }
  return generator;
}

void seed_default_generators(uint64_t seed) {
  DefaultGenerators& defaults = DefaultGenerators::get();
  std::lock_guard lock(defaults.mutex);
  defaults.seed = seed;
  for (at::Generator& generator : defaults.generators)
    if (generator.defined()) set_seed(generator, seed);
}

tbk_generator_t take_random(const std::optional<at::Generator>& generator, c10::DeviceIndex device,
                            uint64_t words) {
  const at::Generator& source =
      generator.has_value() && generator->defined() ? *generator : default_generator(device);
  const c10::Device wanted(c10::kPrivateUse1, device);
  TORCH_CHECK(source.device() == wanted, "Expected a generator of ", wanted, ", not of ",
              source.device());
  auto* ours = source.get<DeviceGenerator>();
  std::lock_guard lock(ours->mutex_);
  return ours->take(words);
}

}  // namespace tbk
