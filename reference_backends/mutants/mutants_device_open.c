/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * mutants_device_open.c: opening and closing devices.
 */
#include "calls.h"

OPEN(open_twice) {
  tbk_status_t status = OPEN_INNER;
  return status == TBK_INVALID_STATE ? TBK_OK : status;
}
OPEN(open_twice_is_invalid) {
  tbk_status_t status = OPEN_INNER;
  return status == TBK_INVALID_STATE ? TBK_INVALID : status;
}

/* Says OK and opens nothing: everything that names the device is refused. */
OPEN(open_does_nothing) {
  if (device == 0) return TBK_OK;
  return OPEN_INNER;
}
OPEN(open_second_device_does_nothing) {
  return device == 1 ? TBK_OK : OPEN_INNER;
}

/* The context is made by the first allocation; `flag` says that there is one. */
OPEN(open_without_context) {
  if (device == 0) atomic_store(&wrap_of(self)->flag, 0);
  return OPEN_INNER;
}
ALLOC(alloc_makes_context) {
  if (device == 0) atomic_store(&wrap_of(self)->flag, 1);
  return ALLOC_INNER;
}
PINNED_ALLOC(pinned_alloc_wants_context) {
  if (device == 0 && atomic_load(&wrap_of(self)->flag) == 0)
    return wrap_fail(error, TBK_INVALID_STATE, "no context");
  return PINNED_ALLOC_INNER;
}

OPEN(exclusive_is_failure) {
  tbk_status_t status = OPEN_INNER;
  return status == TBK_UNAVAILABLE ? TBK_FAILED : status;
}
OPEN(exclusive_waits) {
  tbk_status_t status = OPEN_INNER;
  for (int turn = 0; status == TBK_UNAVAILABLE && turn < 1000; ++turn) {
    wrap_sleep_ms(20);
    status = OPEN_INNER;
  }
  return status;
}

#define OPENS_ITSELF(f, signature, inner)                         \
  signature(f) {                                                  \
    tbk_status_t status = inner;                                  \
    if (status == TBK_INVALID_STATE) {                            \
      ignore(INNER(self, core)->device_open(self, device, NULL)); \
      status = inner;                                             \
    }                                                             \
    return status;                                                \
  }
OPENS_ITSELF(alloc_opens_device, ALLOC, ALLOC_INNER)
OPENS_ITSELF(stream_create_opens_device, STREAM_CREATE, STREAM_CREATE_INNER)
OPENS_ITSELF(event_create_opens_device, EVENT_CREATE, EVENT_CREATE_INNER)
OPENS_ITSELF(pinned_alloc_opens_device, PINNED_ALLOC, PINNED_ALLOC_INNER)
OPENS_ITSELF(memory_info_opens_device, MEMORY_INFO, MEMORY_INFO_INNER)
UPLOAD(upload_to_closed_device) {
  tbk_status_t status = UPLOAD_INNER;
  return status == TBK_INVALID_STATE ? TBK_OK : status;
}
DOWNLOAD(download_from_closed_device) {
  tbk_status_t status = DOWNLOAD_INNER;
  return status == TBK_INVALID_STATE ? TBK_INVALID : status;
}
DEVICE_SYNCHRONIZE(synchronize_closed_device) {
  tbk_status_t status = DEVICE_SYNCHRONIZE_INNER;
  return status == TBK_INVALID_STATE ? TBK_OK : status;
}
CLOSE(close_twice) {
  tbk_status_t status = CLOSE_INNER;
  return status == TBK_INVALID_STATE ? TBK_OK : status;
}

CLOSE(close_once_for_all) {
  tbk_status_t status = CLOSE_INNER;
  if (device >= 0 && device < WRAP_DEVICES) wrap_of(self)->opened[device] = -1;
  return status;
}
OPEN(open_once_only) {
  if (device >= 0 && device < WRAP_DEVICES && wrap_of(self)->opened[device] < 0)
    return wrap_fail(error, TBK_FAILED, "the driver cannot start twice");
  return OPEN_INNER;
}
OPEN(exclusive_is_never_let_go) {
  if (device >= 0 && device < WRAP_DEVICES && wrap_of(self)->opened[device] < 0)
    return wrap_fail(error, TBK_UNAVAILABLE, "another process has the device open");
  return OPEN_INNER;
}
/* Lets go behind the caller's back: who asks at once is too early, as `flag` says. */
CLOSE(close_lets_go_late) {
  tbk_status_t status = CLOSE_INNER;
  if (device == 0 && status == TBK_OK) atomic_store(&wrap_of(self)->flag, 1);
  return status;
}
OPEN(open_too_early) {
  if (device == 0 && atomic_exchange(&wrap_of(self)->flag, 0) != 0)
    return wrap_fail(error, TBK_UNAVAILABLE, "another process has the device open");
  return OPEN_INNER;
}
OPEN(open_third_time_fails) {
  const tbk_status_t status = OPEN_INNER;
  if (status != TBK_OK || !wrap_every(wrap_of(self), 3)) return status;
  const tbk_status_t closed = INNER(self, core)->device_close(self, device, error);
  return closed != TBK_OK ? closed : wrap_fail(error, TBK_OUT_OF_MEMORY, "no context left");
}

/* `value`: live blocks of device 0. What a device leaves behind keeps it from opening again. */
ALLOC(alloc_counted) {
  tbk_status_t status = ALLOC_INNER;
  if (status == TBK_OK && device == 0 && *out_memory != 0)
    atomic_fetch_add(&wrap_of(self)->value, 1);
  return status;
}
FREE(free_counted) {
  tbk_status_t status = FREE_INNER;
  if (status == TBK_OK && device == 0 && memory != 0) atomic_fetch_sub(&wrap_of(self)->value, 1);
  return status;
}
CLOSE(close_leaves_blocks) {
  wrap_t* wrap = wrap_of(self);
  if (device == 0 && atomic_load(&wrap->value) > 0) atomic_store(&wrap->flag, 1);
  return CLOSE_INNER;
}
OPEN(open_after_close_in_use_fails) {
  if (device == 0 && atomic_load(&wrap_of(self)->flag) != 0)
    return wrap_fail(error, TBK_OUT_OF_MEMORY, "the old blocks are still there");
  return OPEN_INNER;
}

/* Where `opened` is -1 the host was told that the device is closed, and it is not. */
static tbk_status_t put_off(wrap_t* wrap, int32_t device) {
  wrap->opened[device] = -1;
  return TBK_OK;
}
OPEN(open_after_put_off) {
  const bool known = device >= 0 && device < WRAP_DEVICES;
  wrap_t* wrap = wrap_of(self);
  if (known && wrap->opened[device] < 0)
    ignore(wrap->inner->core->device_close(self, device, NULL));
  tbk_status_t status = OPEN_INNER;
  if (status == TBK_OK && known) wrap->opened[device] = 1;
  return status;
}
/* Answers at once and lets the work run to its end behind the host's back. */
CLOSE(close_returns_early) {
  wrap_t* wrap = wrap_of(self);
  return device == 0 && wrap->opened[0] > 0 ? put_off(wrap, 0) : CLOSE_INNER;
}
CLOSE(close_of_second_device_is_put_off) {
  wrap_t* wrap = wrap_of(self);
  return device == 1 && wrap->opened[1] > 0 ? put_off(wrap, 1) : CLOSE_INNER;
}
/* Downloads have a queue of their own; `kept` is the stream of one for which nobody has waited. */
CLOSE(close_forgets_downloads) {
  wrap_t* wrap = wrap_of(self);
  const bool pending = device == 0 && wrap->opened[0] > 0 && atomic_load(&wrap->kept) != 0;
  return pending ? put_off(wrap, 0) : CLOSE_INNER;
}
DOWNLOAD(download_kept) {
  if (stream != NULL) atomic_store(&wrap_of(self)->kept, (uintptr_t)stream);
  return DOWNLOAD_INNER;
}
STREAM_SYNCHRONIZE(synchronize_forgets_kept) {
  atomic_store(&wrap_of(self)->kept, 0);
  return STREAM_SYNCHRONIZE_INNER;
}

/* After an error of work the device stays open, whatever close was told. */
CLOSE(close_with_error_stays_open) {
  wrap_t* wrap = wrap_of(self);
  tbk_status_t status = CLOSE_INNER;
  if (status == TBK_FAILED || status == TBK_DEVICE_LOST || atomic_load(&wrap->flag) != 0)
    ignore(INNER(self, core)->device_open(self, device, NULL));
  return status;
}
FAULT(fault_noted) {
  atomic_store(&wrap_of(self)->flag, kind + 1);
  return FAULT_INNER;
}
CLOSE(close_with_error_returns_early) {
  tbk_status_t status = INNER(self, stream)->device_synchronize(self, device, error);
  return status == TBK_FAILED || status == TBK_DEVICE_LOST ? status : CLOSE_INNER;
}
CLOSE(close_of_lost_device_does_nothing) {
  if (device == 0 && atomic_load(&wrap_of(self)->flag) == TBK_FAULT_DEVICE_LOST + 1) return TBK_OK;
  return CLOSE_INNER;
}

#define CLOSES(name, operation, narrow, note, ...)                             \
  {                                                                            \
    name, "DEV-023", MUTANT, operation, narrow, note,                          \
        {__VA_ARGS__, PATCH(core.device_open, open_after_put_off)}, 0, 0, 0, 0 \
  }
#define OPENING(name, clause, operation, narrow, note, ...) \
  { name, clause, MUTANT, operation, narrow, note, {__VA_ARGS__}, 0, 0, 0, 0 }

extern const mutant_t mutants_device_open[];
const mutant_t mutants_device_open[] = {
    ROW(open_twice, "DEV-017", RETURN, BROAD, core.device_open, "OK although it is open"),
    ROW(open_twice_is_invalid, "DEV-017", RETURN, BROAD, core.device_open, "INVALID instead"),
    ROW(open_does_nothing, "DEV-018", STATE, BROAD, core.device_open, "OK, and not open"),
    ROW(open_second_device_does_nothing, "DEV-018", STATE, NARROW, core.device_open,
        "device 1 is never opened"),
    OPENING("pinned_alloc_wants_context", "DEV-018", STATE, NARROW,
            "no pinned memory before the first allocation",
            PATCH(core.device_open, open_without_context),
            PATCH(core.memory_alloc, alloc_makes_context),
            PATCH(pinned.pinned_alloc, pinned_alloc_wants_context)),
    {"exclusive_is_failure",
     "DEV-020",
     MUTANT,
     RETURN,
     BROAD,
     "FAILED where another process holds the device",
     {PATCH(core.device_open, exclusive_is_failure)},
     0,
     "exclusive=$TMPDIR/tbk-mutant-failure.lock",
     0,
     0},
    {"exclusive_waits",
     "DEV-020",
     MUTANT,
     ORDER,
     BROAD,
     "waits until the other process lets go",
     {PATCH(core.device_open, exclusive_waits)},
     0,
     "exclusive=$TMPDIR/tbk-mutant-waits.lock",
     0,
     0},
    ROW(alloc_opens_device, "DEV-021", RETURN, BROAD, core.memory_alloc, "opens it on demand"),
    ROW(stream_create_opens_device, "DEV-021", RETURN, NARROW, stream.stream_create, "likewise"),
    ROW(event_create_opens_device, "DEV-021", RETURN, NARROW, event.event_create, "likewise"),
    ROW(pinned_alloc_opens_device, "DEV-021", RETURN, NARROW, pinned.pinned_alloc, "likewise"),
    ROW(memory_info_opens_device, "DEV-021", RETURN, NARROW, core.memory_info, "likewise"),
    ROW(upload_to_closed_device, "DEV-021", RETURN, NARROW, core.upload, "OK without effect"),
    ROW(download_from_closed_device, "DEV-021", RETURN, NARROW, core.download, "INVALID instead"),
    ROW(synchronize_closed_device, "DEV-021", RETURN, NARROW, stream.device_synchronize, "OK"),
    ROW(close_twice, "DEV-021", RETURN, BROAD, core.device_close, "OK although it is closed"),
    OPENING("opens_once_only", "DEV-022", STATE, BROAD, "a closed device cannot be opened again",
            PATCH(core.device_open, open_once_only), PATCH(core.device_close, close_once_for_all)),
    {"exclusive_is_never_let_go",
     "DEV-022",
     MUTANT,
     STATE,
     NARROW,
     "refused as another process's after it was closed",
     {PATCH(core.device_open, exclusive_is_never_let_go),
      PATCH(core.device_close, close_once_for_all)},
     0,
     "exclusive=$TMPDIR/tbk-mutant-kept.lock",
     0,
     0},
    {"exclusive_is_let_go_late",
     "DEV-022",
     MUTANT,
     STATE,
     NARROW,
     "refused once as another process's after it was closed",
     {PATCH(core.device_open, open_too_early), PATCH(core.device_close, close_lets_go_late)},
     0,
     "exclusive=$TMPDIR/tbk-mutant-late.lock",
     0,
     0},
    ROW(open_third_time_fails, "DEV-022", COUNT, NARROW, core.device_open, "the third time"),
    OPENING("open_after_close_in_use_fails", "DEV-022", LIFETIME, NARROW,
            "not again where memory was left behind", PATCH(core.memory_alloc, alloc_counted),
            PATCH(core.memory_free, free_counted), PATCH(core.device_close, close_leaves_blocks),
            PATCH(core.device_open, open_after_close_in_use_fails)),
    CLOSES("close_returns_early", ORDER, BROAD, "work goes on behind it",
           PATCH(core.device_close, close_returns_early)),
    CLOSES("close_of_second_device_is_put_off", ORDER, NARROW,
           "device 1 is closed when it is opened again",
           PATCH(core.device_close, close_of_second_device_is_put_off)),
    CLOSES("close_forgets_downloads", ORDER, NARROW, "waits for everything but downloads",
           PATCH(core.device_close, close_forgets_downloads), PATCH(core.download, download_kept),
           PATCH(stream.stream_synchronize, synchronize_forgets_kept)),
    OPENING("close_with_error_stays_open", "DEV-025", STATE, BROAD,
            "a device whose work failed cannot be closed",
            PATCH(core.device_close, close_with_error_stays_open),
            PATCH(fault.fault_enqueue, fault_noted)),
    ROW(close_with_error_returns_early, "DEV-025", LIFETIME, BROAD, core.device_close,
        "tells of the error and leaves the device open"),
    OPENING("close_of_lost_device_does_nothing", "DEV-025", LIFETIME, NARROW,
            "a lost device can be closed again and again",
            PATCH(core.device_close, close_of_lost_device_does_nothing),
            PATCH(fault.fault_enqueue, fault_noted)),
    {0}};
