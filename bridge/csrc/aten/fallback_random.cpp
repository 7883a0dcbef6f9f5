// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/ones_like.h>
#include <aten/fallback_random.h>
#include <runtime/generator.h>
#include <torch/library.h>

namespace tbk {
namespace {

/// SplitMix64: successive outputs of a counter, well mixed.
uint64_t next_word(uint64_t& state) {
  uint64_t word = state += UINT64_C(0x9e3779b97f4a7c15);
  word = (word ^ (word >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  word = (word ^ (word >> 27)) * UINT64_C(0x94d049bb133111eb);
  return word ^ (word >> 31);
}

/// All words of the engine's state are set: its own seeding takes in 32 bits and no more, so that two
/// of some ten thousand calls would draw the same numbers.
at::mt19937 engine_of(tbk_generator_t generator) {
  uint64_t state = generator.seed;
  state = next_word(state) ^ generator.offset;
  at::mt19937_data_pod data{};
  data.seed_ = generator.seed;
  data.left_ = 1;
  data.seeded_ = true;
  for (uint32_t& word : data.state_)
    word = static_cast<uint32_t>(next_word(state) >> 32);
  at::mt19937 engine;
  engine.set_data(data);
  return engine;
}

/// Has no Generator argument, and its CPU kernel draws from the CPU's generator.
std::tuple<at::Tensor, at::Tensor> native_dropout(const at::Tensor& input, double p,
                                                  std::optional<bool> train) {
  TORCH_CHECK(p >= 0 && p <= 1, "dropout probability has to be between 0 and 1, but got ", p);
  if (input.numel() == 0 || !train.value_or(true))
    return {input.clone(), at::ones_like(input, input.options().dtype(at::kBool))};
  at::Tensor mask = at::empty_like(input, input.options().dtype(at::kBool));
  mask.bernoulli_(1 - p);
  const double scale = p == 1 ? 0.0 : 1.0 / (1.0 - p);
  return {input.mul(mask).mul_(scale), mask};
}

}  // namespace

at::Generator host_generator(const std::optional<at::Generator>& generator,
                             c10::DeviceIndex device) {
  const tbk_generator_t state = take_random(generator, device, 4);
  at::Generator host = at::make_generator<at::CPUGeneratorImpl>();
  host.get<at::CPUGeneratorImpl>()->set_engine(engine_of(state));
  return host;
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("native_dropout", native_dropout);
}

}  // namespace tbk
