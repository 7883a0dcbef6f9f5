/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * main.c: tbk-litmus runs programs drawn at random on a library and judges what they see.
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "alone.h"
#include "clock.h"
#include "duration.h"
#include "publish.h"
#include "report.h"
#include "standard_files.h"
#include "text.h"
#include "torch.h"

enum { EXIT_PASS, EXIT_FOUND, EXIT_USAGE, EXIT_NOTHING, EXIT_LIBRARY, EXIT_DEVICE, EXIT_SUITE };
enum { EXIT_INTERRUPTION = 7, EXIT_UNWRITTEN = 8 };
#define UNWRITTEN "could not be written"

typedef struct choices {
  hunt_subject_t subject;
  double seconds, shrink_s;
  uint64_t programs;
  uint64_t first;
  uint64_t processes; /* 0: as many as there is time for, or one for a number of programs */
  bool coverage;
  bool counts;
  bool each; /* also what each process had */
  const char* output;
  alone_place_t alone;
  char options[HUNT_OPTIONS];
} choices_t;

static const char usage[] =
    "usage: tbk-litmus LIB [options]\n"
    "       tbk-litmus --torch-device NAME | --torch-library LIB [options]\n"
    "  --torch-device NAME   through PyTorch: a device that it knows\n"
    "  --torch-library LIB   through PyTorch: a library, by way of the bridge\n"
    "  --torch-import MODULE imported first; may be repeated\n"
    "  --torch-gate FILE     a library that holds a stream shut (tbk/gate.h)\n"
    "  --python FILE         that PyTorch is installed for (python3)\n"
    "  --seconds TIME        stop after TIME, as 90, 90s, 2m or 1h (60s)\n"
    "  --programs N          stop after N programs\n"
    "  --processes N         at most so many, one after the other, each with a part of the time\n"
    "                        (512), or of the programs (1)\n"
    "  --seed N              of all programs (1)\n"
    "  --first N             begin with program N of the seed's\n"
    "  --count               go on after findings, and say how many there were\n"
    "  --coverage            also write in how many programs each pair of edges is\n"
    "  --each-process        also write what each process saw of each kind of edges\n"
    "  --backend-option K=V  for the library; may be repeated\n"
    "  --call-timeout TIME   no call takes longer (20s)\n"
    "  --open-timeout TIME   loading and opening take no longer (60s)\n"
    "  --shrink-time TIME    make a finding smaller for at most TIME (20s;\n"
    "                        1m through PyTorch)\n"
    "  --output FILE         where results go as JSON lines (litmus.jsonl)\n"
    "  --reproducer FILE     where a finding goes as a C file (litmus.c), or as one in Python\n"
    "                        (litmus.py)\n"
    "  --include DIR         of headers: a C file is built and tried with them; may be repeated\n"
    "  --kinds               print the kinds of edges, and what each needs, and do no more\n"
    "  --sure                answer lines of programs, and what each process saw of a kind, by "
    "how\n"
    "                        sure they are together, and do no more\n"
    "  --help                print this, and do no more\n";

static void interrupt(int number) {
  (void)number;
  hunt_interrupted = 1;
}

static _Noreturn void stop(int code, const char* format, const char* word) {
  char clean[600];
  tbk_text_for_terminal(clean, sizeof clean, word);
  fprintf(stderr, "tbk-litmus: ");
  fprintf(stderr, format, clean);
  fputc('\n', stderr);
  exit(code);
}

static double seconds_of(const char* text) {
  double value = 0;
  if (!tbk_duration_read(text, &value))
    stop(EXIT_USAGE, "'%s' is no time such as 90, 90s, 2m or 1h", text);
  return value;
}

static uint64_t count(const char* text) {
  char* end;
  errno = 0;
  uint64_t value = strtoull(text, &end, 0);
  if (*text < '0' || *text > '9' || *end != '\0') stop(EXIT_USAGE, "'%s' is no whole number", text);
  if (errno) stop(EXIT_USAGE, "'%s' is more than 2^64 - 1", text);
  return value;
}

static uint64_t count_processes(const char* text) {
  const uint64_t value = count(text);
  if (value < 1 || value > MOST_PROCESSES)
    stop(EXIT_USAGE, "'%s' processes: there are 1 to 512 of them", text);
  return value;
}

static void add_option(choices_t* choices, const char* text) {
  size_t used = strlen(choices->options);
  int more = snprintf(choices->options + used, sizeof choices->options - used, "%s%s",
                      used == 0 ? "" : ",", text);
  if ((size_t)more >= sizeof choices->options - used)
    stop(EXIT_USAGE, "'%s': too many options for the library", text);
  choices->subject.options = choices->options;
}

static void add_import(choices_t* choices, const char* module) {
  if (choices->subject.import_count == HUNT_IMPORTS)
    stop(EXIT_USAGE, "'%s': too many modules to import", module);
  choices->subject.imports[choices->subject.import_count++] = module;
}

/* A library for tbk.h, or a device or a library for PyTorch, but one of them. */
static void choose_subject(hunt_subject_t* subject, int count, char** words) {
  const int chosen = count + (subject->device != NULL) + subject->torch;
  const bool alone = (subject->import_count > 0 || subject->gate != NULL) && count == 1;
  if (chosen != 1 || alone) {
    fputs(usage, stderr);
    exit(EXIT_USAGE);
  }
  if (count == 1) subject->library = words[0];
  subject->torch = count == 0;
  if (subject->library != NULL && strlen(subject->library) >= HUNT_PATH)
    stop(EXIT_LIBRARY, "%s: the name is too long", subject->library);
}

/* Through PyTorch all is one process's: starting it takes seconds. A number of programs is what ends in
   the same way again, so it is divided only where that is asked for. */
static void choose_processes(choices_t* choices) {
  const bool is_one = choices->subject.torch || choices->programs > 0;
  if (choices->processes > 1 && choices->subject.torch)
    stop(EXIT_USAGE, "%s goes with a library: PyTorch runs in one process", "--processes");
  if (choices->processes == 0) choices->processes = is_one ? 1 : MOST_PROCESSES;
}

static void choose(choices_t* choices, int argc, char** argv) {
  enum {
    SECONDS = 1,
    PROGRAMS,
    PROCESSES,
    SEED,
    FIRST,
    COUNT,
    COVERAGE,
    EACH,
    OPTION,
    CALL,
    OPEN,
    SHRINK,
    OUTPUT,
    REPRODUCER,
    INCLUDE,
    KINDS,
    SURE,
    DEVICE,
    LIBRARY,
    IMPORT,
    GATE,
    PYTHON,
    HELP
  };
  static const struct option known[] = {{"seconds", 1, NULL, SECONDS},
                                        {"programs", 1, NULL, PROGRAMS},
                                        {"processes", 1, NULL, PROCESSES},
                                        {"seed", 1, NULL, SEED},
                                        {"first", 1, NULL, FIRST},
                                        {"count", 0, NULL, COUNT},
                                        {"coverage", 0, NULL, COVERAGE},
                                        {"each-process", 0, NULL, EACH},
                                        {"backend-option", 1, NULL, OPTION},
                                        {"call-timeout", 1, NULL, CALL},
                                        {"open-timeout", 1, NULL, OPEN},
                                        {"shrink-time", 1, NULL, SHRINK},
                                        {"output", 1, NULL, OUTPUT},
                                        {"reproducer", 1, NULL, REPRODUCER},
                                        {"include", 1, NULL, INCLUDE},
                                        {"kinds", 0, NULL, KINDS},
                                        {"sure", 0, NULL, SURE},
                                        {"torch-device", 1, NULL, DEVICE},
                                        {"torch-library", 1, NULL, LIBRARY},
                                        {"torch-import", 1, NULL, IMPORT},
                                        {"torch-gate", 1, NULL, GATE},
                                        {"python", 1, NULL, PYTHON},
                                        {"help", 0, NULL, HELP},
                                        {0}};
  for (int found; (found = getopt_long(argc, argv, "", known, NULL)) != -1;) {
    switch (found) {
      case SECONDS:
        choices->seconds = seconds_of(optarg);
        break;
      case PROGRAMS:
        choices->programs = count(optarg);
        break;
      case PROCESSES:
        choices->processes = count_processes(optarg);
        break;
      case SEED:
        choices->subject.seed = count(optarg);
        break;
      case FIRST:
        choices->first = count(optarg);
        break;
      case COUNT:
        choices->counts = true;
        break;
      case COVERAGE:
        choices->coverage = true;
        break;
      case EACH:
        choices->each = true;
        break;
      case OPTION:
        add_option(choices, optarg);
        break;
      case CALL:
        choices->subject.call_timeout_s = seconds_of(optarg);
        break;
      case OPEN:
        choices->subject.open_timeout_s = seconds_of(optarg);
        break;
      case SHRINK:
        choices->shrink_s = seconds_of(optarg);
        break;
      case OUTPUT:
        choices->output = optarg;
        break;
      case KINDS:
        report_kinds(stdout);
        exit(EXIT_PASS);
      case SURE:
        if (!answer_sure(stdin, stdout))
          stop(EXIT_USAGE, "%s: a line is none of whole numbers, the programs and pairs", "--sure");
        exit(EXIT_PASS);
      case REPRODUCER:
        choices->alone.path = optarg;
        break;
      case INCLUDE:
        if (!alone_include(&choices->alone, optarg))
          stop(EXIT_USAGE, "'%s': too many folders of headers", optarg);
        break;
      case DEVICE:
        choices->subject.device = optarg;
        break;
      case LIBRARY:
        choices->subject.library = optarg;
        choices->subject.torch = true;
        break;
      case IMPORT:
        add_import(choices, optarg);
        break;
      case GATE:
        choices->subject.gate = optarg;
        break;
      case PYTHON:
        choices->subject.python = optarg;
        break;
      case HELP:
        fputs(usage, stdout);
        exit(EXIT_PASS);
      default:
        fputs(usage, stderr);
        exit(EXIT_USAGE);
    }
  }
  choose_subject(&choices->subject, argc - optind, argv + optind);
  if (choices->shrink_s == 0) choices->shrink_s = choices->subject.torch ? 60 : 20;
  if (choices->alone.path == NULL)
    choices->alone.path = choices->subject.torch ? "litmus.py" : "litmus.c";
  choices->alone.tries = choices->shrink_s >= ALONE_LEAST_S;
  choose_processes(choices);
  const uint64_t most = UINT64_MAX - choices->first;
  if (most == 0) stop(EXIT_USAGE, "%s: the last program is 2^64 - 2", "--first");
  if (choices->programs == 0 || choices->programs > most) choices->programs = most;
}

static _Noreturn void stop_unwritten(const char* path, const char* why) {
  char said[600];
  snprintf(said, sizeof said, "%.500s: %s", path, why);
  stop(EXIT_UNWRITTEN, "%s", said);
}

/* Returns whether the file of the finding was written; else the reason says so. */
static bool found(const choices_t* choices, hunt_shared_t* shared, FILE* output,
                  finding_t* finding) {
  finding->index = shared->index;
  finding->is_control = shared->is_control != 0;
  shrink(&choices->subject, &shared->program, &shared->result, choices->shrink_s, &finding->shrunk);
  finding_explain(finding);
  const bool written = alone_write(&choices->subject, &shared->offers, &choices->alone, finding);
  report_finding(output, &choices->subject, finding);
  if (!written)
    snprintf(shared->reason, sizeof shared->reason, "%.400s: " UNWRITTEN, choices->alone.path);
  return written;
}

static int code_of(hunt_state_t state) {
  switch (state) {
    case HUNT_OVER:
      return EXIT_PASS;
    case HUNT_FOUND:
      return EXIT_FOUND;
    case HUNT_BAD_LIBRARY:
      return EXIT_LIBRARY;
    case HUNT_NO_DEVICE:
      return EXIT_DEVICE;
    case HUNT_NOTHING_TO_ORDER:
      return EXIT_NOTHING;
    default:
      return EXIT_INTERRUPTION;
  }
}

static const char* reason_of(const hunt_shared_t* shared, int code) {
  if (shared->state == HUNT_NOTHING_TO_ORDER || code == EXIT_UNWRITTEN) return shared->reason;
  if (code == EXIT_NOTHING && shared->stats.programs > 0)
    return "no program found memory to run in";
  if (code == EXIT_NOTHING) return "the time was over before a program was run";
  if (shared->state == HUNT_INTERRUPTED) return "interrupted";
  return shared->state == HUNT_BAD_LIBRARY || shared->state == HUNT_NO_DEVICE ? shared->reason : "";
}

/* A run in which no program said anything is no pass. */
static int code_of_run(const hunt_shared_t* shared, hunt_state_t state) {
  bool said_nothing = shared->stats.programs == shared->stats.no_room;
  return state == HUNT_OVER && said_nothing ? EXIT_NOTHING : code_of(state);
}

/* Where nothing was run, the last run's results stay. A finding that is not in both files is printed. */
static void publish(const choices_t* choices, publishing_t* results, bool ran,
                    const finding_t* finding, int code) {
  if (!ran) return publish_nothing(results);
  const bool written = publish_end(results);
  if (finding != NULL && (code == EXIT_UNWRITTEN || !written)) report_print(stdout, finding);
  if (!written) stop_unwritten(choices->output, UNWRITTEN);
  if (finding == NULL) alone_remove(choices->alone.path);
}

static int run(const choices_t* choices) {
  static finding_t finding;
  static processes_t processes;
  static publishing_t results;
  if (!publish_begin(&results, choices->output)) stop_unwritten(choices->output, strerror(errno));
  FILE* output = results.file;
  hunt_shared_t* shared = hunt_share();
  uint64_t started = tbk_now_ns();
  const hunt_range_t range = {.first = choices->first,
                              .last = choices->first + choices->programs,
                              .until_ns = started + (uint64_t)(choices->seconds * 1e9),
                              .counts = choices->counts,
                              .coverage = choices->coverage};
  report_header(output, &choices->subject);
  hunt_state_t state =
      processes_hunt(&choices->subject, &range, choices->processes, shared, &processes);
  double seconds = (double)(tbk_now_ns() - started) / 1e9;
  const bool shown = state == HUNT_FOUND && !choices->counts;
  const bool written = !shown || found(choices, shared, output, &finding);
  int code = written ? code_of_run(shared, state) : EXIT_UNWRITTEN;
  const bool ran = shown || shared->stats.programs > shared->stats.no_room;
  if (ran) report_edges(output, shared, &processes, shown ? &finding : NULL, choices->each);
  if (ran && choices->coverage) report_coverage(output, shared);
  const char* reason = reason_of(shared, code);
  report_footer(output, &choices->subject, shared, &processes, seconds, code, reason);
  publish(choices, &results, ran, shown ? &finding : NULL, code);
  if (reason[0] != '\0') stop(code, "%s", reason);
  return code;
}

int main(int argc, char** argv) {
  if (argc == 3 && !strcmp(argv[1], HUNT_WORKER)) hunt_serve(atoi(argv[2]));
  static choices_t choices = {.seconds = 60, .output = "litmus.jsonl"};
  choices.subject =
      (hunt_subject_t){.python = "python3", .seed = 1, .call_timeout_s = 20, .open_timeout_s = 60};
  tbk_standard_files_open();
  choose(&choices, argc, argv);
  const struct sigaction action = {.sa_handler = interrupt};
  (void)signal(SIGCHLD, SIG_DFL); /* where it is ignored, no end of a process is told */
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
  sigaction(SIGHUP, &action, NULL);
  sigaction(SIGQUIT, &action, NULL);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  if (choices.subject.torch && !torch_serve(&choices.subject))
    stop(EXIT_SUITE, "%s: it cannot be started", choices.subject.python);
  int code = run(&choices);
  torch_end();
  return code;
}
