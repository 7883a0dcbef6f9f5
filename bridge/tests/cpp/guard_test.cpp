// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// The guard and the hooks as PyTorch's C++ calls them: what Python has no way to pass on.
#include "check.h"

#include <runtime/backend.h>
#include <runtime/current.h>

#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/StreamGuard.h>
#include <c10/util/Exception.h>

#include <functional>
#include <thread>

namespace tbk::test {
namespace {

const c10::impl::DeviceGuardImplInterface& guard() {
  return *c10::impl::getDeviceGuardImpl(c10::kPrivateUse1);
}

const at::PrivateUse1HooksInterface& hooks() {
  return at::detail::getPrivateUse1Hooks();
}

c10::Device device_of(c10::DeviceIndex index) {
  return c10::Device(c10::kPrivateUse1, index);
}

bool is_refused(const std::function<void()>& call) {
  try {
    call();
  } catch (const c10::Error&) {
    return true;
  }
  return false;
}

bool any_open() {
  Backend& backend = Backend::get();
  bool any = false;
  for (int index = 0; index < backend.device_count(); index++)
    any = any || backend.is_open(index) || hooks().hasPrimaryContext(c10::DeviceIndex(index));
  return any;
}

void the_current_device_is_checked_and_opens_nothing() {
  TBK_CHECK(guard().type() == c10::kPrivateUse1);
  TBK_CHECK_EQUAL(int(guard().deviceCount()), Backend::get().device_count());
  TBK_CHECK(guard().exchangeDevice(device_of(1)) == device_of(0));
  TBK_CHECK(guard().getDevice() == device_of(1));
  for (c10::Device wrong : {device_of(100), c10::Device(c10::kCPU, 0)}) {
    TBK_CHECK(is_refused([&] { guard().setDevice(wrong); }));
    TBK_CHECK(is_refused([&] { guard().exchangeDevice(wrong); }));
    TBK_CHECK(is_refused([&] { guard().getStream(wrong); }));
    TBK_CHECK(is_refused([&] { guard().getDeviceCapability(wrong); }));
    TBK_CHECK(is_refused([&] { guard().getNewStream(wrong, 0); }));
    TBK_CHECK_EQUAL(int(current_device()), 1);
  }
  TBK_CHECK(is_refused([] { guard().synchronizeDevice(100); }));
  for (c10::DeviceIndex index : {c10::DeviceIndex{-1}, c10::DeviceIndex{100}})
    guard().uncheckedSetDevice(device_of(index));
  TBK_CHECK_EQUAL(int(current_device()), 1);
  guard().uncheckedSetDevice(device_of(0));
  TBK_CHECK_EQUAL(int(current_device()), 0);
  TBK_CHECK(!any_open());
}

void hooks_agree_with_the_guard() {
  TBK_CHECK(hooks().isBuilt() && hooks().isAvailable());
  TBK_CHECK(hooks().deviceCount() == guard().deviceCount());
  hooks().init();
  hooks().setCurrentDevice(1);
  TBK_CHECK(guard().getDevice() == device_of(1) && hooks().getCurrentDevice() == 1);
  TBK_CHECK(hooks().exchangeDevice(0) == 1 && hooks().maybeExchangeDevice(-1) == 0);
  TBK_CHECK_EQUAL(int(current_device()), 0);
  TBK_CHECK(is_refused([] { hooks().setCurrentDevice(100); }));
  TBK_CHECK(is_refused([] { hooks().getNewGenerator(100); }));
  TBK_CHECK(is_refused([] { hooks().getDefaultGenerator(100); }));
  TBK_CHECK(hooks().getDefaultGenerator(-1).device() == device_of(0));
  TBK_CHECK(hooks().getNewGenerator(1).device() == device_of(1));
  int on_stack = 0;
  TBK_CHECK(!hooks().isPinnedPtr(&on_stack) && !hooks().isPinnedPtr(nullptr));
  TBK_CHECK(is_refused([&] { hooks().getDeviceFromPtr(&on_stack); }));
  TBK_CHECK(!hooks().hasPrimaryContext(-1) && !hooks().hasPrimaryContext(100));
  TBK_CHECK(!any_open());
}

void streams_of_a_closed_device_are_only_numbers() {
  c10::Stream stream = guard().getStream(device_of(-1));
  TBK_CHECK(stream == guard().getDefaultStream(device_of(0)) && stream.id() == 0);
  TBK_CHECK(guard().queryStream(stream) && guard().exchangeStream(stream) == stream);
  guard().synchronizeStream(stream);
  guard().synchronizeDevice(-1);
  TBK_CHECK(!any_open());
  guard().getNewStream(device_of(1), 0);
  TBK_CHECK(hooks().hasPrimaryContext(1) && !hooks().hasPrimaryContext(0));
}

void guards_restore_what_was_current() {
  c10::Stream stream = guard().getStreamFromGlobalPool(device_of(1), true);
  TBK_CHECK(stream.device() == device_of(1) && stream.id() != 0);
  {
    c10::StreamGuard outer(stream);
    TBK_CHECK(current_device() == 1 && guard().getStream(device_of(1)) == stream);
    c10::DeviceGuard inner(device_of(0));
    TBK_CHECK_EQUAL(int(current_device()), 0);
    std::thread([] { TBK_CHECK_EQUAL(int(current_device()), 0); }).join();
  }
  TBK_CHECK_EQUAL(int(current_device()), 0);
  TBK_CHECK_EQUAL(guard().getStream(device_of(1)).id(), 0);
}

void events_are_made_by_the_first_record() {
  c10::Stream stream = guard().getNewStream(device_of(1), 0);
  void* event = nullptr;
  guard().block(event, stream);
  guard().synchronizeEvent(event);
  guard().destroyEvent(event, 1);
  TBK_CHECK(guard().queryEvent(event));
  TBK_CHECK(is_refused([&] { guard().record(&event, stream, -1, c10::EventFlag::INVALID); }));
  TBK_CHECK(event == nullptr);
  guard().record(&event, stream, -1, c10::EventFlag::BACKEND_DEFAULT);
  TBK_CHECK(event != nullptr);
  c10::Stream other = guard().getNewStream(device_of(0), 0);
  TBK_CHECK(is_refused([&] { guard().record(&event, other, 1, c10::EventFlag::BACKEND_DEFAULT); }));
  guard().block(event, other);
  guard().synchronizeEvent(event);
  TBK_CHECK(guard().queryEvent(event));
  TBK_CHECK(guard().elapsedTime(event, event, 1) == 0);
  TBK_CHECK_EQUAL(int(current_device()), 0);
  std::thread([event] { guard().destroyEvent(event, 1); }).join();
}

const Registration registration(on_both({
    {"the_current_device_is_checked_and_opens_nothing", "", "",
     the_current_device_is_checked_and_opens_nothing},
    {"hooks_agree_with_the_guard", "", "", hooks_agree_with_the_guard},
    {"streams_of_a_closed_device_are_only_numbers", "", "",
     streams_of_a_closed_device_are_only_numbers},
    {"guards_restore_what_was_current", "", "", guards_restore_what_was_current},
    {"events_are_made_by_the_first_record", "", "", events_are_made_by_the_first_record},
}));

}  // namespace
}  // namespace tbk::test
