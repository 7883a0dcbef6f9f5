/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * alone.c: the file of a finding is run as its reader would run it, in processes of its own. What was
 * found after other programs may rest on what they left behind, and then it need not show alone.
 */
#include "alone.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "python_settings.h"

/* How a process ends that became no other: as no file of a finding does. */
enum { NOT_RUN = 127 };
enum { RUNS = 3, WORDS = 12, OUTPUT = 1 << 16, TOLD = 40, LOOK_NS = 2000000 };

typedef struct ended {
  int status; /* as of waitpid */
  bool in_time;
  char output[OUTPUT]; /* its end */
} ended_t;

bool alone_include(alone_place_t* place, const char* folder) {
  if (place->include_count == ALONE_INCLUDES) return false;
  place->includes[place->include_count++] = folder;
  return true;
}

static _Noreturn void become(const char* const* words, int output) {
  (void)setsid();
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  (void)dup2(open("/dev/null", O_RDONLY | O_CLOEXEC), STDIN_FILENO);
  (void)dup2(output, STDOUT_FILENO);
  (void)dup2(output, STDERR_FILENO);
  (void)close_range(STDERR_FILENO + 1, ~0U, 0);
  tbk_python_settings_drop();
  (void)execvp(words[0], (char* const*)(uintptr_t)words);
  _exit(NOT_RUN);
}

static void read_end(int file, char out[OUTPUT]) {
  const off_t size = lseek(file, 0, SEEK_END), most = OUTPUT - 1;
  const ssize_t got = pread(file, out, (size_t)most, size > most ? size - most : 0);
  out[got > 0 ? got : 0] = '\0';
}

static bool wait_for(pid_t pid, double seconds, int* out_status) {
  const uint64_t until = tbk_now_ns() + (uint64_t)(seconds * 1e9);
  bool in_time = true;
  while (waitpid(pid, out_status, WNOHANG) != pid) {
    const struct timespec pause = {0, LOOK_NS};
    nanosleep(&pause, NULL);
    if (!hunt_interrupted && tbk_now_ns() < until) continue;
    in_time = false;
    kill(pid, SIGKILL);
  }
  kill(-pid, SIGKILL); /* whatever it started */
  return in_time;
}

/* Returns false where no process could be started. */
static bool run_words(const char* const* words, double seconds, ended_t* out_ended) {
  const int output = memfd_create("tbk-litmus", MFD_CLOEXEC);
  if (output < 0) return false;
  fflush(NULL);
  const pid_t pid = fork();
  if (pid == 0) become(words, output);
  if (pid > 0) {
    out_ended->in_time = wait_for(pid, seconds, &out_ended->status);
    read_end(output, out_ended->output);
  }
  close(output);
  return pid > 0;
}

/* An error of a call is told by tbk_alone.h as "CALL answers STATUS", by Python as an exception. */
static bool tells_refusal(const hunt_subject_t* subject, const litmus_result_t* result,
                          const char* output) {
  char told[TOLD + 1];
  if (!subject->torch) return strstr(output, " answers ") != NULL;
  snprintf(told, sizeof told, "%.*s", TOLD, result->message);
  return strstr(output, told) != NULL;
}

/* An end of another kind is none of this fault's: the library may not have been loaded at all. */
static bool is_shown(const hunt_subject_t* subject, const litmus_result_t* result,
                     const ended_t* ended) {
  if (!ended->in_time) return false;
  if (result->outcome == LITMUS_CRASHED) return WIFSIGNALED(ended->status);
  if (!WIFEXITED(ended->status) || WEXITSTATUS(ended->status) != 1) return false;
  if (result->outcome == LITMUS_REFUSED) return tells_refusal(subject, result, ended->output);
  if (subject->torch) return strstr(ended->output, "\nAssertionError") != NULL;
  return strstr(ended->output, " answers ") == NULL;
}

static bool build(const alone_place_t* place, const char* binary, double seconds, ended_t* ended) {
  char folders[ALONE_INCLUDES][HUNT_PATH];
  const char* words[WORDS] = {"cc", place->path};
  unsigned at = 2;
  for (unsigned i = 0; i < place->include_count; i++) {
    snprintf(folders[i], sizeof folders[i], "-I%s", place->includes[i]);
    words[at++] = folders[i];
  }
  const char* const rest[] = {"-o", binary, "-ldl", "-lpthread"};
  memcpy(&words[at], rest, sizeof rest);
  return run_words(words, seconds, ended) && ended->in_time && WIFEXITED(ended->status) &&
         WEXITSTATUS(ended->status) == 0;
}

/* Runs the file as it stands, `most` times; once where that does not show it, unless `all`, or does not
   end. Adds to *ran_ns what the runs took, without building it. */
static alone_t try_file(const hunt_subject_t* subject, const alone_place_t* place,
                        const litmus_result_t* result, unsigned most, bool all, uint64_t* ran_ns) {
  static ended_t ended;
  alone_t found = {0, 0};
  char binary[HUNT_PATH];
  const double seconds = subject->open_timeout_s + subject->call_timeout_s;
  const char* here =
      strchr(place->path, '/') == NULL ? "./" : ""; /* else it is looked for in PATH */
  const int length = snprintf(binary, sizeof binary, "%s%s.tried", here, place->path);
  if (length < 0 || (size_t)length >= sizeof binary) return found;
  if (!subject->torch && !build(place, binary, seconds, &ended)) return found;
  const char* const c[] = {binary, subject->library, subject->options, NULL};
  const char* const python[] = {subject->python, place->path, NULL};
  while (found.runs < most) {
    const uint64_t began_ns = tbk_now_ns();
    if (!run_words(subject->torch ? python : c, seconds, &ended)) break;
    *ran_ns += tbk_now_ns() - began_ns;
    if (hunt_interrupted) break;
    found.runs++;
    found.shown += is_shown(subject, result, &ended);
    if (!ended.in_time || (found.shown == 0 && !all)) break;
  }
  if (!subject->torch) unlink(binary);
  return found;
}

void alone_remove(const char* path) {
  struct stat of;
  if (lstat(path, &of) == 0 && S_ISREG(of.st_mode)) unlink(path);
}

static bool write_file(const hunt_subject_t* subject, const litmus_offers_t* offers,
                       const char* path, const finding_t* finding) {
  FILE* file = fopen(path, "we");
  if (file == NULL) return false;
  if (subject->torch)
    reproduce_torch(file, subject, offers, finding);
  else
    reproduce(file, subject, finding);
  const bool failed = ferror(file) != 0;
  if (fclose(file) == 0 && !failed) return true;
  alone_remove(path);
  return false;
}

/* A program that hangs cannot be told from one that is slow to start. */
static bool can_be_tried(const hunt_subject_t* subject, const alone_place_t* place,
                         const litmus_result_t* result) {
  const bool ends = result->outcome != LITMUS_HUNG && result->outcome != LITMUS_STUCK;
  return place->tries && ends && (subject->torch || place->include_count > 0);
}

static bool takes_memory(const litmus_program_t* p) {
  for (uint32_t i = 0; i < p->count; i++)
    if (p->calls[i].op == LITMUS_ASYNC_ALLOC) return true;
  return false;
}

/* What a fresh process lacks, the simplest first: nothing, memory that was used, calls before these. */
enum { USED_MEMORY = 1, ROUNDS = 2, WAYS = 4 };

static bool is_other_way(const shrunk_t* shrunk, unsigned way) {
  if (way & USED_MEMORY && !takes_memory(&shrunk->program)) return false;
  return !(way & ROUNDS && shrunk->repeats > 1);
}

static bool write_way(const hunt_subject_t* subject, const litmus_offers_t* offers,
                      const char* path, finding_t* finding, unsigned way) {
  finding->uses_memory_first = way & USED_MEMORY;
  finding->has_rounds = way & ROUNDS || finding->shrunk.repeats > 1;
  return write_file(subject, offers, path, finding);
}

static bool write_python(const hunt_subject_t* subject, const litmus_offers_t* offers,
                         const alone_place_t* place, finding_t* finding) {
  const litmus_result_t* result = &finding->shrunk.result;
  uint64_t ran_ns = 0;
  for (unsigned way = 0; way < WAYS && finding->alone.shown == 0; way++) {
    if (hunt_interrupted || !is_other_way(&finding->shrunk, way)) continue;
    if (!write_way(subject, offers, place->path, finding, way)) return false;
    finding->alone = try_file(subject, place, result, RUNS, false, &ran_ns);
  }
  if (finding->alone.shown > 0) return true;
  if (!write_way(subject, offers, place->path, finding, 0)) return false;
  finding->alone = try_file(subject, place, result, RUNS - 1, true, &ran_ns);
  finding->alone.runs++; /* the first one, which did not show it */
  if (hunt_interrupted) finding->alone = (alone_t){0, 0};
  return true;
}

/* A C file makes its calls in rounds. Where threads or a seed decide, more of them show it more often. */
enum { ROUNDS_A_REPEAT = 4, MORE = 16, STEPS = 3 };
#define MOST_RUN_S 10.0

static bool write_c(const hunt_subject_t* subject, const char* path, finding_t* finding,
                    unsigned factor) {
  const unsigned repeats = finding->shrunk.repeats;
  const unsigned rounds = repeats > 1 ? ROUNDS_A_REPEAT * repeats : ALONE_ROUNDS;
  finding->rounds = factor * rounds;
  return write_file(subject, NULL, path, finding);
}

/* Where a run with more rounds would take too long, there are no more of them. */
static bool try_c(const hunt_subject_t* subject, const alone_place_t* place, finding_t* finding) {
  unsigned factor = 1, best = 1;
  double took_s = 0;
  for (int step = 0; step < STEPS && finding->alone.shown < RUNS; step++, factor *= MORE) {
    if (hunt_interrupted || took_s * MORE > MOST_RUN_S) break;
    if (step > 0 && !write_c(subject, place->path, finding, factor)) return false;
    uint64_t ran_ns = 0;
    const alone_t tried =
        try_file(subject, place, &finding->shrunk.result, RUNS, step == 0, &ran_ns);
    if (tried.runs == 0) break;
    took_s = (double)ran_ns / 1e9 / tried.runs;
    if (step > 0 && tried.shown <= finding->alone.shown) continue;
    finding->alone = tried;
    best = factor;
  }
  return write_c(subject, place->path, finding, best);
}

bool alone_write(const hunt_subject_t* subject, const litmus_offers_t* offers,
                 const alone_place_t* place, finding_t* finding) {
  finding->alone = (alone_t){0, 0};
  if (!subject->torch && !write_c(subject, place->path, finding, 1)) return false;
  if (subject->torch && !write_way(subject, offers, place->path, finding, 0)) return false;
  if (!can_be_tried(subject, place, &finding->shrunk.result)) return true;
  return subject->torch ? write_python(subject, offers, place, finding)
                        : try_c(subject, place, finding);
}
