// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ATen/ExpandUtils.h>
#include <aten/empty.h>
#include <generic/composition.h>

#include <map>
#include <mutex>

namespace tbk::generic {
namespace {

struct MadePrograms {
  std::mutex lock;
  std::map<ProgramKey, const Program*> of;
};

MadePrograms& made_programs() {
  static auto* instance = new MadePrograms;
  return *instance;
}

}  // namespace

const Program* program_by_key(const ProgramKey& key,
                              c10::function_ref<void(ProgramBuilder&)> write) {
  std::lock_guard<std::mutex> guard(made_programs().lock);
  const Program*& program = made_programs().of[key];
  if (program == nullptr) {
    ProgramBuilder builder;
    write(builder);
    program = builder.intern();
  }
  return program;
}

bool run_reduction(const Reduction& reduction, const Reduced& reduced,
                   c10::ArrayRef<const at::Tensor*> outputs,
                   c10::ArrayRef<const at::Tensor*> inputs, c10::ArrayRef<double> numbers) {
  Launch launch(outputs[0]->device().index(), reduced.outer(), reduced.inner());
  for (const at::Tensor* out : outputs)
    launch.output(*out, reduced.result_strides(*out, /*keepdim=*/true));
  for (const at::Tensor* in : inputs)
    launch.input(*in, reduced.strides(*in));
  const auto number = [&](size_t i) {
    return static_cast<at::ScalarType>(reduction.finish->numbers[i]);
  };
  for (size_t i = 0; i < numbers.size(); i++)
    launch.number(bits_in(number(i), numbers[i]));
  return launch.reduce(reduction);
}

bool run_program(const Program& program, const at::Tensor& out,
                 c10::ArrayRef<const at::Tensor*> inputs, c10::ArrayRef<double> numbers) {
  Launch launch(out.device().index(), out.sizes());
  launch.output(out, out.strides());
  for (const at::Tensor* in : inputs)
    launch.input(*in, in->expand(out.sizes()).strides());
  for (size_t i = 0; i < numbers.size(); i++)
    launch.number(bits_in(static_cast<at::ScalarType>(program.numbers[i]), numbers[i]));
  return launch.pointwise(program);
}

at::Tensor empty_as(const at::Tensor& like, c10::IntArrayRef sizes) {
  const c10::DeviceIndex device = like.device().index();
  const at::ScalarType dtype = like.scalar_type();
  switch (like.suggest_memory_format()) {
    case at::MemoryFormat::ChannelsLast:
      return empty_strided_on(device, sizes, c10::get_channels_last_strides_2d(sizes), dtype);
    case at::MemoryFormat::ChannelsLast3d:
      return empty_strided_on(device, sizes, c10::get_channels_last_strides_3d(sizes), dtype);
    default:
      return empty_on(device, sizes, dtype);
  }
}

OperatorCounter& counter_of_operator(const char* name, const char* overload) {
  return counter_of(*overload == '\0' ? std::string(name) : std::string(name) + "." + overload);
}

}  // namespace tbk::generic
