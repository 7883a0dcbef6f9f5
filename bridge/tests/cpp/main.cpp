// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// bridge-self-test                         all tests, each in a process of its own
// bridge-self-test NAME [LIBRARY [OPTIONS]]  those of that name, here where LIBRARY is given too
// LIBRARY is a path, or the name of a reference backend that was built with this.
#include "check.h"

#include <runtime/backend.h>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>

namespace tbk::test {
namespace {

std::atomic<int> checks{0}, failures{0};

std::vector<Test>& tests() {
  static std::vector<Test> all;
  return all;
}

std::string path_of(const std::string& library) {
  if (library.find('/') != std::string::npos) return library;
  const auto folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  return folder.parent_path() / "lib" / ("libtbk_" + library + ".so");
}

int run_here(const Test& test) {
  try {
    Backend::load(path_of(test.library), test.options);
    test.run();
  } catch (const std::exception& error) {
    check(false, "no exception", __FILE__, __LINE__, error.what());
  }
  // A test that has checked nothing has shown nothing.
  if (checks == 0) std::fprintf(stderr, "%s: nothing was checked\n", test.name);
  return failures == 0 && checks > 0 ? 0 : 1;
}

/// PyTorch keeps threads, so that a process which has run a test is not forked: this one has run none.
bool passes(const Test& test) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    execl("/proc/self/exe", "bridge-self-test", test.name, test.library, test.options, nullptr);
    _exit(127);
  }
  int status = -1;
  if (child < 0 || waitpid(child, &status, 0) != child) return false;
  const bool passed = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  std::printf("%s %s on %s %s\n", passed ? "pass" : "FAIL", test.name, test.library, test.options);
  if (WIFSIGNALED(status)) std::printf("     signal %d\n", WTERMSIG(status));
  return passed;
}

bool is_benchmark(const Test& test) {
  return std::strncmp(test.name, "bench_", 6) == 0;
}

}  // namespace

Registration::Registration(std::vector<Test> registered) {
  tests().insert(tests().end(), registered.begin(), registered.end());
}

std::vector<Test> on_both(const std::vector<Test>& tests) {
  std::vector<Test> all;
  for (const Test& test : tests)
    for (const char* library : {"template", "cpu"})
      all.push_back({test.name, library, "", test.run});
  return all;
}

bool check(bool holds, const char* what, const char* file, int line, const std::string& seen) {
  checks++;
  if (holds) return true;
  // Many threads may see the same fault many times.
  if (failures++ < 20)
    std::fprintf(stderr, "%s:%d: %s does not hold%s%s\n", file, line, what,
                 seen.empty() ? "" : ": ", seen.c_str());
  return false;
}

}  // namespace tbk::test

int main(int count, char** arguments) {
  using namespace tbk::test;
  int run = 0, failed = 0;
  for (const Test& test : tests()) {
    if (count > 1 ? std::strcmp(arguments[1], test.name) != 0 : is_benchmark(test)) continue;
    if (count > 2)
      return run_here({test.name, arguments[2], count > 3 ? arguments[3] : "", test.run});
    run++;
    if (!passes(test)) failed++;
  }
  std::printf("%d passed, %d failed\n", run - failed, failed);
  return run == 0 || failed > 0;
}
