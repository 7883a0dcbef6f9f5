// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#include <c10/util/Exception.h>
#include <generic/program.h>
#include <tbk/program.h>

#include <bit>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace tbk::generic {
namespace {

/// The columns "gives" of TBK_OPCODE_MAP.
enum class Gives : uint8_t { OWN, SAME, BOOL, INT64 };

Gives what_gives(uint16_t opcode) {
  switch (opcode) {
#define TBK_CASE(name, number, operands, takes, gives, bound, meaning) \
  case number:                                                         \
    return Gives::gives;
    TBK_OPCODE_MAP(TBK_CASE)
#undef TBK_CASE
    default:
      TORCH_INTERNAL_ASSERT(false, "no opcode ", opcode);
  }
}

uint16_t number_of_dtype(at::ScalarType dtype) {
  return static_cast<uint16_t>(dtype);
}

template <class Item>
void append(std::string& bytes, const std::vector<Item>& items) {
  const uint64_t count = items.size();
  bytes.append(reinterpret_cast<const char*>(&count), sizeof count);
  bytes.append(reinterpret_cast<const char*>(items.data()), count * sizeof(Item));
}

std::string content_of(const Program& program) {
  std::string bytes;
  append(bytes, program.inputs);
  append(bytes, program.numbers);
  append(bytes, program.parameters);
  append(bytes, program.instructions);
  append(bytes, program.operands);
  append(bytes, program.results);
  return bytes;
}

void point_into(Program& program) {
  program.view = {
      sizeof program.view,         TBK_PROGRAM_VERSION,       program.inputs.data(),
      program.inputs.size(),       program.numbers.data(),    program.numbers.size(),
      program.parameters.data(),   program.parameters.size(), program.instructions.data(),
      program.instructions.size(), program.operands.data(),   program.operands.size(),
      program.results.data(),      program.results.size()};
  program.dtypes = 0;
  for (const tbk_instruction_t& each : program.instructions)
    program.dtypes |= UINT64_C(1) << each.dtype;
}

/// Never destroyed: plans and backends keep what they made of what is in there.
template <class Item>
struct Interned {
  std::mutex lock;
  std::map<std::string, std::unique_ptr<Item>> of;
};

Interned<Program>& programs() {
  static auto* instance = new Interned<Program>;
  return *instance;
}

Interned<Reduction>& reductions() {
  static auto* instance = new Interned<Reduction>;
  return *instance;
}

}  // namespace

Value ProgramBuilder::add(tbk_instruction_t instruction, c10::ArrayRef<Value> operands) {
  instruction.operand_count = static_cast<uint32_t>(operands.size());
  for (size_t i = 0; i < program_.instructions.size(); i++) {
    const tbk_instruction_t& there = program_.instructions[i];
    if (there.opcode == instruction.opcode && there.dtype == instruction.dtype &&
        there.slot == instruction.slot && there.bounds == instruction.bounds &&
        there.immediate == instruction.immediate &&
        operands.equals(c10::ArrayRef<Value>(program_.operands.data() + there.operand_first,
                                             there.operand_count)))
      return static_cast<Value>(i);
  }
  if (!operands.empty()) {
    instruction.operand_first = static_cast<uint32_t>(program_.operands.size());
    program_.operands.insert(program_.operands.end(), operands.begin(), operands.end());
  }
  program_.instructions.push_back(instruction);
  return static_cast<Value>(program_.instructions.size() - 1);
}

Value ProgramBuilder::input(at::ScalarType dtype) {
  const auto slot = static_cast<uint16_t>(program_.inputs.size());
  program_.inputs.push_back({number_of_dtype(dtype), TBK_INPUT_ALIGNED, 0, 0});
  return add({TBK_OPCODE_LOAD, number_of_dtype(dtype), slot, 0, 0, 0, 0});
}

Value ProgramBuilder::number(at::ScalarType dtype) {
  const auto slot = static_cast<uint16_t>(program_.numbers.size());
  program_.numbers.push_back(number_of_dtype(dtype));
  return add({TBK_OPCODE_NUMBER, number_of_dtype(dtype), slot, 0, 0, 0, 0});
}

Value ProgramBuilder::parameter(at::ScalarType dtype) {
  const auto slot = static_cast<uint16_t>(program_.parameters.size());
  program_.parameters.push_back(number_of_dtype(dtype));
  return add({TBK_OPCODE_PARAMETER, number_of_dtype(dtype), slot, 0, 0, 0, 0});
}

Value ProgramBuilder::constant(double value, at::ScalarType dtype) {
  return add({TBK_OPCODE_CONSTANT, number_of_dtype(dtype), 0, 0, 0, 0, bits_in(dtype, value)});
}

Value ProgramBuilder::infinity(at::ScalarType dtype, bool is_negative) {
  const double size = std::numeric_limits<double>::infinity();
  return constant(is_negative ? -size : size, dtype);
}

Value ProgramBuilder::linear_index() {
  return add({TBK_OPCODE_LINEAR_INDEX, number_of_dtype(at::kLong), 0, 0, 0, 0, 0});
}

Value ProgramBuilder::coordinate(uint16_t dimension) {
  return add({TBK_OPCODE_COORDINATE, number_of_dtype(at::kLong), dimension, 0, 0, 0, 0});
}

uint16_t ProgramBuilder::indexed_input(at::ScalarType dtype, uint16_t rank) {
  program_.inputs.push_back({number_of_dtype(dtype), TBK_INPUT_INDEXED, rank, 0});
  return static_cast<uint16_t>(program_.inputs.size() - 1);
}

Value ProgramBuilder::load(uint16_t slot, c10::ArrayRef<Value> indices, uint16_t bounds) {
  const uint16_t dtype = program_.inputs[slot].dtype;
  return add({TBK_OPCODE_LOAD, dtype, slot, bounds, 0, 0, 0}, indices);
}

Value ProgramBuilder::random_word(uint16_t word, Value seed, Value first, Value number) {
  return add({TBK_OPCODE_PHILOX, number_of_dtype(at::kLong), word, 0, 0, 0, 0},
             {seed, first, number});
}

Value ProgramBuilder::cast(Value value, at::ScalarType dtype) {
  if (dtype_of(value) == dtype) return value;
  return add({TBK_OPCODE_CAST, number_of_dtype(dtype), 0, 0, 0, 0, 0}, value);
}

Value ProgramBuilder::apply(uint16_t opcode, c10::ArrayRef<Value> operands) {
  const Gives gives = what_gives(opcode);
  TORCH_INTERNAL_ASSERT(gives != Gives::OWN, "the dtype of opcode ", opcode, " does not follow");
  at::ScalarType dtype = dtype_of(operands.back());
  if (gives == Gives::BOOL) dtype = at::kBool;
  if (gives == Gives::INT64) dtype = at::kLong;
  return add({opcode, number_of_dtype(dtype), 0, 0, 0, 0, 0}, operands);
}

void ProgramBuilder::result(Value value) {
  program_.results.push_back(value);
}

at::ScalarType ProgramBuilder::dtype_of(Value value) const {
  return static_cast<at::ScalarType>(program_.instructions[value].dtype);
}

const Program* ProgramBuilder::intern() {
  const std::string content = content_of(program_);
  std::lock_guard<std::mutex> guard(programs().lock);
  std::unique_ptr<Program>& place = programs().of[content];
  if (place == nullptr) {
    place = std::make_unique<Program>(std::move(program_));
    point_into(*place);
    tbk_error_t error;
    TORCH_INTERNAL_ASSERT(tbk_program_check(&place->view, &error) == TBK_OK, error.message);
  }
  return place.get();
}

at::ScalarType computed_in(at::ScalarType dtype) {
  switch (dtype) {
    case at::kBool:
    case at::kInt:
    case at::kLong:
    case at::kFloat:
    case at::kDouble:
      return dtype;
    case at::kHalf:
    case at::kBFloat16:
      return at::kFloat;
    case at::kByte:
    case at::kChar:
    case at::kShort:
      return at::kInt;
    default:
      return at::ScalarType::Undefined;
  }
}

uint64_t bits_in(at::ScalarType dtype, double value) {
  if (dtype == at::kFloat) return std::bit_cast<uint32_t>(static_cast<float>(value));
  if (dtype == at::kDouble) return std::bit_cast<uint64_t>(value);
  if (dtype == at::kBool) return value != 0;
  return bits_in(dtype, static_cast<int64_t>(value));
}

uint64_t bits_in(at::ScalarType dtype, int64_t value) {
  if (dtype == at::kFloat) return std::bit_cast<uint32_t>(static_cast<float>(value));
  if (dtype == at::kDouble) return std::bit_cast<uint64_t>(static_cast<double>(value));
  if (dtype == at::kBool) return value != 0;
  return dtype == at::kInt ? static_cast<uint32_t>(value) : static_cast<uint64_t>(value);
}

const Reduction* intern_reduction(const Program* map, const Program* combine, const Program* finish,
                                  std::vector<uint64_t> identity, bool is_commutative) {
  const void* parts[] = {map, combine, finish};
  std::string content(reinterpret_cast<const char*>(parts), sizeof parts);
  append(content, identity);
  content.push_back(is_commutative ? 'c' : 'o');
  std::lock_guard<std::mutex> guard(reductions().lock);
  std::unique_ptr<Reduction>& place = reductions().of[content];
  if (place == nullptr) {
    place = std::make_unique<Reduction>();
    place->map = map;
    place->combine = combine;
    place->finish = finish;
    place->identity = std::move(identity);
    const uint64_t flags = is_commutative ? TBK_REDUCTION_COMMUTATIVE : 0;
    place->view = {sizeof place->view,     &map->view, &combine->view, &finish->view,
                   place->identity.data(), flags};
    tbk_error_t error;
    TORCH_INTERNAL_ASSERT(tbk_reduction_check(&place->view, &error) == TBK_OK, error.message);
  }
  return place.get();
}

uint64_t program_count() {
  const auto count = [](auto& all) {
    std::lock_guard<std::mutex> guard(all.lock);
    return all.of.size();
  };
  return count(programs()) + count(reductions());
}

}  // namespace tbk::generic
