// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#include <runtime/backend.h>
#include <runtime/error.h>
#include <runtime/stream.h>
#include <runtime/text.h>

#include <c10/util/Exception.h>
#include <c10/util/StringUtil.h>

namespace tbk {
namespace {

struct StatusText {
  const char* name;
  const char* text;
};

constexpr StatusText status_texts[] = {
#define TBK_STATUS_TEXT(name, value, text) {#name, text},
    TBK_STATUS_MAP(TBK_STATUS_TEXT)
#undef TBK_STATUS_TEXT
};

/// "acme:1: ", or "acme: " for what is of no device.
std::string subject(int device) {
  const Backend* backend = Backend::get_or_null();
  std::string text = backend != nullptr ? backend->name() : "backend";
  if (device >= 0) text += c10::str(":", device);
  return text + ": ";
}

/// What may have failed, where work enqueued earlier can have.
std::string suspects(tbk_status_t status, int device) {
  if ((status != TBK_FAILED && status != TBK_DEVICE_LOST) || device < 0) return "";
  std::string operations = noted_operations(static_cast<c10::DeviceIndex>(device));
  if (operations.empty()) return "";
  return " (enqueued since the device was last known to be well: " + operations + ")";
}

}  // namespace

std::string describe_status(tbk_status_t status, const tbk_error_t& error) {
  std::string message = printable(error.message, sizeof error.message);
  if (status < 0 || status >= TBK_STATUS_COUNT)
    return c10::str("status ", status, ", which tbk.h does not know", message.empty() ? "" : ": ",
                    message);
  const StatusText& known = status_texts[status];
  return c10::str(known.name, ": ", message.empty() ? known.text : message.c_str());
}

void raise_status(tbk_status_t status, const tbk_error_t& error, const char* call, int device) {
  std::string text = c10::str(subject(device), call, ": ", describe_status(status, error),
                              suspects(status, device));
  c10::SourceLocation here{__func__, __FILE__, static_cast<uint32_t>(__LINE__)};
  switch (status) {
    case TBK_INVALID:
      throw c10::ValueError(here, text);
    case TBK_UNSUPPORTED:
      throw c10::NotImplementedError(here, text);
    case TBK_OUT_OF_MEMORY:
      throw c10::OutOfMemoryError(here, text);
    case TBK_FAILED:
    case TBK_DEVICE_LOST:
      throw c10::AcceleratorError(here, status, text);
    default:
      throw c10::Error(here, text);
  }
}

}  // namespace tbk
