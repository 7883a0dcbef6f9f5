// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Python's own functions. Weak, because nothing else here needs a Python: then they are NULL.
extern "C" {
[[gnu::weak]] int Py_IsInitialized();
[[gnu::weak]] int PyGILState_Check();
struct _ts;
[[gnu::weak]] struct _ts* PyEval_SaveThread();
[[gnu::weak]] void PyEval_RestoreThread(struct _ts* thread);
}

namespace tbk {

/// Lets other Python threads run until it is destroyed, where this thread has the GIL; else
/// nothing. For waits and slow calls that PyTorch may enter with the GIL held (torch.Event.record
/// and wait): what is waited for may be a host callback that needs it. Made before any lock is
/// taken.
class WithoutGil {
 public:
  WithoutGil() {
    bool held = Py_IsInitialized != nullptr && Py_IsInitialized() != 0 && PyGILState_Check() != 0;
    if (held) thread_ = PyEval_SaveThread();
  }
  ~WithoutGil() {
    if (thread_ != nullptr) PyEval_RestoreThread(thread_);
  }
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  struct _ts* thread_ = nullptr;
};

}  // namespace tbk
