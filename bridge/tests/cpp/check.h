// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace tbk::test {

/// A test runs in a process of its own, where `library` has been loaded with `options`: a process has
/// one backend.
struct Test {
  const char* name;
  const char* library;  // "cpu" is libtbk_cpu.so
  const char* options;
  void (*run)();
};

/// A test, or a benchmark (which runs only when it is named), becomes known with a static object.
struct Registration {
  explicit Registration(std::vector<Test> tests);
};

/// Each of `tests` on the template and on the cpu reference, without options.
std::vector<Test> on_both(const std::vector<Test>& tests);

/// Note that something was checked, and what did not hold. Any thread.
bool check(bool holds, const char* what, const char* file, int line, const std::string& seen = "");

/// Of integers, also of different signs.
template <typename A, typename B>
bool check_equal(const A& a, const B& b, const char* what, const char* file, int line) {
  return check(std::cmp_equal(a, b), what, file, line,
               std::to_string(a) + " and " + std::to_string(b));
}

}  // namespace tbk::test

#define TBK_CHECK(...) ::tbk::test::check((__VA_ARGS__), #__VA_ARGS__, __FILE__, __LINE__)
/// `seen` is printed where `condition` does not hold.
#define TBK_CHECK_SEEN(condition, seen) \
  ::tbk::test::check((condition), #condition, __FILE__, __LINE__, (seen))
#define TBK_CHECK_EQUAL(a, b) ::tbk::test::check_equal((a), (b), #a " == " #b, __FILE__, __LINE__)
