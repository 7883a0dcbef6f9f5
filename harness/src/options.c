/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * options.c: argp does the work; what is here turns words into values and refuses the rest.
 */
#include "options.h"

#include "duration.h"
#include "shard.h"

#include <argp.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>

#include "version.h"

const char* argp_program_version = "tbk-run " TBK_VERSION;

enum {
  KEY_ONLY = 'o',
  KEY_BACKEND_OPTION = 'b',
  KEY_JOBS = 'j',
  KEY_QUIET = 'q',
  KEY_SHARD = 256,
  KEY_TIMINGS,
  KEY_PHASES,
  KEY_RESUME,
  KEY_REPEAT,
  KEY_SHUFFLE,
  KEY_SEED,
  KEY_OUTPUT,
  KEY_LIST,
  KEY_ISOLATION,
  KEY_TIMEOUT,
  KEY_OPEN_TIMEOUT,
  KEY_REQUIRE,
  KEY_MEMORY_LIMIT,
  KEY_MOST_HANGS,
  KEY_TORCH_DEVICE,
  KEY_TORCH_IMPORT,
  KEY_TORCH_LIBRARY,
  KEY_PYTHON,
  KEY_FACTS,
  KEY_BUDGET,
  KEY_FAILING_BUDGET,
  KEY_TIER,
  KEY_CASE,
  KEY_CHECK_OPTIONS
};

static const struct argp_option table[] = {
    {"only", KEY_ONLY, "SEL", 0,
     "run what SEL names: an area, a clause, a prefix of either, a profile, or a test's id", 0},
    {"backend-option", KEY_BACKEND_OPTION, "K=V", 0, "hand K=V to the library", 0},
    {"jobs", KEY_JOBS, "N", 0, "test processes at a time (default: cores, and four more in C)", 0},
    {"tier", KEY_TIER, "quick|thorough", 0,
     "seconds, at every change, or a minute or two: sweeps and long repeats as well (default: "
     "quick)",
     0},
    {"case", KEY_CASE, "LINE", 0, "of a sweep, run the case of this line alone", 0},
    {"shard", KEY_SHARD, "I/N", 0, "run the I-th of N parts", 0},
    {"timings", KEY_TIMINGS, "FILE", 0,
     "old results, by which the parts of --shard take about the same time", 0},
    {"phases", KEY_PHASES, "FILE", OPTION_HIDDEN, "add a line to FILE where a phase begins", 0},
    {"resume", KEY_RESUME, NULL, 0, "go on where the result file ends", 0},
    {"repeat", KEY_REPEAT, "N", 0, "run each test N times; differing verdicts are unstable", 0},
    {"shuffle", KEY_SHUFFLE, "SEED", 0, "run in another order", 0},
    {"seed", KEY_SEED, "N", 0, "seed of the inputs (default: 1)", 0},
    {"output", KEY_OUTPUT, "FILE", 0, "result file (default: tbk-results.jsonl)", 0},
    {"list", KEY_LIST, NULL, 0, "print the tests selected, and run none", 0},
    {"check-options", KEY_CHECK_OPTIONS, NULL, OPTION_HIDDEN, "read the options, and do nothing",
     0},
    {"isolation", KEY_ISOLATION, "auto|fork|batch", 0,
     "one process a test, or many tests in one (default: as long as the device takes to open)", 0},
    {"timeout", KEY_TIMEOUT, "TIME", 0,
     "deadline of one test, as 90s or 2m (default: 30s, of the torch layer 60s)", 0},
    {"open-timeout", KEY_OPEN_TIMEOUT, "TIME", 0, "deadline of opening the device (default: 60s)",
     0},
    {"require", KEY_REQUIRE, "WORD", 0, "a capability whose absence is a failure", 0},
    {"memory-limit", KEY_MEMORY_LIMIT, "BYTES", 0,
     "resident memory of a test process, with K, M or G (default: half of it all, at most 8G)", 0},
    {"most-hangs", KEY_MOST_HANGS, "N", 0,
     "tests that may hang for a whole deadline before later ones get less time (default: 4)", 0},
    {"budget", KEY_BUDGET, "TIME", 0,
     "begin no test after TIME; the most telling ones come first, the others are left out", 0},
    {"failing-budget", KEY_FAILING_BUDGET, "TIME", 0,
     "the budget once a test has failed, where that is less: what fails is then looked into", 0},
    {"torch-device", KEY_TORCH_DEVICE, "NAME", 0,
     "judge a device that PyTorch knows by this name, by the contracts of the torch layer", 1},
    {"torch-import", KEY_TORCH_IMPORT, "MODULE", 0, "import it first, so that PyTorch knows it", 1},
    {"torch-library", KEY_TORCH_LIBRARY, "LIB", 0, "judge LIB as PyTorch sees it by the bridge", 1},
    {"python", KEY_PYTHON, "PY", 0, "the interpreter that has PyTorch (default: python3)", 1},
    {"facts", KEY_FACTS, "FILE", 0,
     "what the device declares to have, JSON or TOML: binding, instead of what is probed", 1},
    {"quiet", KEY_QUIET, NULL, 0, "print the verdict line only", 0},
    {0}};

static void add_word(tbk_words_t* words, const char* word) {
  const char** grown = realloc(words->items, (words->count + 1) * sizeof *grown);
  if (grown == NULL) abort();
  grown[words->count++] = word;
  words->items = grown;
}

/* A whole number in [least, most], or a usage error. */
static uint64_t number(struct argp_state* state, const char* name, const char* text, uint64_t least,
                       uint64_t most) {
  char* end = NULL;
  errno = 0;
  unsigned long long value = strtoull(text, &end, 0);
  if (errno != 0 || end == text || *end != '\0' || *text == '-' || value < least || value > most)
    argp_error(state, "%s: '%s' is not a number from %llu to %llu", name, text,
               (unsigned long long)least, (unsigned long long)most);
  return value;
}

static uint64_t seconds(struct argp_state* state, const char* name, const char* text) {
  double value = 0;
  if (!tbk_duration_read(text, &value))
    argp_error(state, "%s: '%s' is not a time such as 90, 90s, 2m or 1h", name, text);
  return (uint64_t)(value * 1e9);
}

static uint64_t bytes(struct argp_state* state, const char* text) {
  static const char suffixes[] = "KMG";
  char* end = NULL;
  errno = 0;
  unsigned long long value = strtoull(text, &end, 10);
  const char* suffix = *end != '\0' ? strchr(suffixes, *end) : NULL;
  unsigned shift = suffix != NULL ? 10u * (unsigned)(suffix - suffixes + 1) : 0;
  if (suffix != NULL) end++;
  if (errno != 0 || *text == '-' || *end != '\0' || value == 0 || value > UINT64_MAX >> shift)
    argp_error(state, "--memory-limit: '%s' is not a size", text);
  return (uint64_t)value << shift;
}

enum { MOST_SHARDS = 1000000 };

static void shard(struct argp_state* state, tbk_options_t* options, const char* text) {
  char* slash = NULL;
  char* end = NULL;
  errno = 0;
  unsigned long long index = strtoull(text, &slash, 10), count = 0;
  if (slash != text && *slash == '/' && isdigit((unsigned char)slash[1]))
    count = strtoull(slash + 1, &end, 10);
  if (errno != 0 || !isdigit((unsigned char)*text) || end == NULL || *end != '\0' || index < 1 ||
      index > count || count > MOST_SHARDS)
    argp_error(state, "--shard: '%s' is not I/N with 1 <= I <= N <= %d", text, MOST_SHARDS);
  options->is_sharded = true;
  options->shard_index = (uint32_t)index;
  options->shard_count = (uint32_t)count;
}

/* The division of shards hangs on it: one that can't be read must not become another division. */
static void read_timings(struct argp_state* state, tbk_options_t* options) {
  static tbk_timings_t timings;
  char reason[256];
  if (options->timings_path == NULL) return;
  if (!options->is_sharded) argp_error(state, "--timings goes with --shard");
  if (!tbk_timings_read(&timings, options->timings_path, reason, sizeof reason))
    argp_error(state, "--timings: %s: %s", options->timings_path, reason);
  options->timings = &timings;
}

static void isolation(struct argp_state* state, tbk_options_t* options, const char* text) {
  static const char* const names[] = {"auto", "fork", "batch"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strcmp(text, names[i]) == 0) {
      options->isolation = (tbk_isolation_t)i;
      return;
    }
  argp_error(state, "--isolation: '%s' is not auto, fork or batch", text);
}

const char* tbk_tier_name(tbk_tier_t tier) {
  return tier == TBK_TIER_THOROUGH ? "thorough" : "quick";
}

static void tier(struct argp_state* state, tbk_options_t* options, const char* text) {
  options->tier = strcmp(text, "thorough") == 0 ? TBK_TIER_THOROUGH : TBK_TIER_QUICK;
  if (strcmp(text, tbk_tier_name(options->tier)) != 0)
    argp_error(state, "--tier: '%s' is not quick or thorough", text);
}

static void library(struct argp_state* state, tbk_options_t* options, const char* text) {
  if (options->library != NULL)
    argp_error(state, "one library at a time, not '%s' and '%s'", options->library, text);
  options->library = text;
}

/* False: the key is none of the torch layer. */
static bool parse_torch(int key, char* text, struct argp_state* state, tbk_options_t* options) {
  options->torch |= key == KEY_TORCH_DEVICE || key == KEY_TORCH_LIBRARY;
  switch (key) {
    case KEY_TORCH_DEVICE:
      options->torch_device = text;
      return true;
    case KEY_TORCH_IMPORT:
      add_word(&options->torch_imports, text);
      return true;
    case KEY_TORCH_LIBRARY:
      library(state, options, text);
      return true;
    case KEY_PYTHON:
      options->python = text;
      return true;
    case KEY_FACTS:
      options->declared = text;
      return true;
    default:
      return false;
  }
}

static void check_subject(struct argp_state* state, const tbk_options_t* options, bool positional) {
  const bool torch_only = options->torch_imports.count > 0 || options->declared != NULL;
  if (positional && options->torch)
    argp_error(state, "'%s' is judged by the contracts in C; --torch-library is for the others",
               options->library);
  if (!options->torch && options->library == NULL) argp_error(state, "which library? (see --help)");
  if (!options->torch && torch_only)
    argp_error(state, "--torch-import and --facts go with --torch-device or --torch-library");
}

static error_t parse(int key, char* text, struct argp_state* state) {
  static bool positional;
  tbk_options_t* options = state->input;
  if (parse_torch(key, text, state, options)) return 0;
  switch (key) {
    case KEY_ONLY:
      add_word(&options->only, text);
      break;
    case KEY_BACKEND_OPTION:
      if (strchr(text, '=') == NULL)
        argp_error(state, "--backend-option: '%s' is not key=value", text);
      add_word(&options->backend_options, text);
      break;
    case KEY_JOBS:
      options->jobs = (uint32_t)number(state, "--jobs", text, 1, 1024);
      break;
    case KEY_SHARD:
      shard(state, options, text);
      break;
    case KEY_TIMINGS:
      options->timings_path = text;
      break;
    case KEY_PHASES:
      options->phases = text;
      break;
    case KEY_RESUME:
      options->resume = true;
      break;
    case KEY_REPEAT:
      options->repeat = (uint32_t)number(state, "--repeat", text, 1, 100000000);
      break;
    case KEY_SHUFFLE:
      options->shuffle = true;
      options->shuffle_seed = number(state, "--shuffle", text, 0, INT64_MAX);
      break;
    case KEY_SEED:
      options->seed = number(state, "--seed", text, 0, INT64_MAX);
      break;
    case KEY_OUTPUT:
      options->output = text;
      break;
    case KEY_LIST:
      options->list = true;
      break;
    case KEY_CHECK_OPTIONS:
      options->check_options = true;
      break;
    case KEY_ISOLATION:
      isolation(state, options, text);
      break;
    case KEY_CASE:
      options->sweep_case = text;
      break;
    case KEY_TIER:
      tier(state, options, text);
      break;
    case KEY_TIMEOUT:
      options->timeout_ns = seconds(state, "--timeout", text);
      break;
    case KEY_OPEN_TIMEOUT:
      options->open_timeout_ns = seconds(state, "--open-timeout", text);
      break;
    case KEY_REQUIRE:
      add_word(&options->require, text);
      break;
    case KEY_MEMORY_LIMIT:
      options->memory_limit = bytes(state, text);
      break;
    case KEY_MOST_HANGS:
      options->most_hangs = (uint32_t)number(state, "--most-hangs", text, 1, 1000000000);
      break;
    case KEY_QUIET:
      options->quiet = true;
      break;
    case KEY_BUDGET:
      options->budget_ns = seconds(state, "--budget", text);
      break;
    case KEY_FAILING_BUDGET:
      options->failing_budget_ns = seconds(state, "--failing-budget", text);
      break;
    case ARGP_KEY_ARG:
      positional = true;
      library(state, options, text);
      break;
    case ARGP_KEY_END:
      check_subject(state, options, positional);
      read_timings(state, options);
      break;
    default:
      return ARGP_ERR_UNKNOWN;
  }
  return 0;
}

static uint64_t default_memory_limit(void) {
  struct sysinfo info;
  const uint64_t most = UINT64_C(8) << 30;
  if (sysinfo(&info) != 0) return most;
  uint64_t half = (uint64_t)info.totalram * info.mem_unit / 2;
  return half < most ? half : most;
}

static char* join(const tbk_words_t* words) {
  size_t size = 1;
  if (words->count == 0) return NULL;
  for (size_t i = 0; i < words->count; i++)
    size += strlen(words->items[i]) + 1;
  char* text = calloc(1, size);
  if (text == NULL) abort();
  for (size_t i = 0; i < words->count; i++) {
    if (i > 0) strcat(text, ",");
    strcat(text, words->items[i]);
  }
  return text;
}

/* dlopen searches for a name without a slash; a user who names a file means that file. */
static char* absolute(const char* library_name) {
  char* path = realpath(library_name, NULL);
  if (path == NULL && (path = strdup(library_name)) == NULL) abort();
  return path;
}

const char* tbk_options_subject(const tbk_options_t* options) {
  return options->torch_device != NULL ? options->torch_device : options->library;
}

static void set_defaults(tbk_options_t* options) {
  const uint64_t second = UINT64_C(1000000000);
  const char* python = getenv("TBK_PYTHON");
  if (options->timeout_ns == 0) options->timeout_ns = (options->torch ? 60 : 30) * second;
  options->load_timeout_ns = options->timeout_ns;
  uint64_t tenth = options->budget_ns / 10 > second ? options->budget_ns / 10 : second;
  if (options->budget_ns != 0 && tenth < options->timeout_ns) {
    options->timeout_ns = tenth; /* no test shall use up what others need */
    options->cut_by_budget = true;
  }
  if (options->python == NULL) options->python = python != NULL ? python : "python3";
  options->backend_option_text = join(&options->backend_options);
  if (options->library != NULL) options->path = absolute(options->library);
}

void tbk_options_parse(tbk_options_t* options, int argc, char** argv) {
  static const struct argp argp = {table,
                                   parse,
                                   "LIB\n--torch-device=NAME\n--torch-library=LIB",
                                   "Judge the accelerator backend LIB, or a device of PyTorch, "
                                   "by the contract tests.\v"
                                   "Exit codes: 0 pass, 1 findings, 2 bad usage, 3 nothing "
                                   "selected, 4 bad library, 5 no device, "
                                   "6 suite error, 7 interrupted, 8 results could not be written.",
                                   NULL,
                                   NULL,
                                   NULL};
  *options = (tbk_options_t){.output = "tbk-results.jsonl",
                             .shard_index = 1,
                             .shard_count = 1,
                             .repeat = 1,
                             .seed = 1,
                             .open_timeout_ns = UINT64_C(60000000000),
                             .most_hangs = 4,
                             .memory_limit = default_memory_limit(),
                             .argc = argc};
  /* argp sorts the words; what is recorded is what was typed. */
  options->argv = calloc((size_t)argc + 1, sizeof *options->argv);
  if (options->argv == NULL) abort();
  memcpy(options->argv, argv, (size_t)argc * sizeof *argv);
  argp_err_exit_status = TBK_EXIT_USAGE;
  if (argp_parse(&argp, argc, argv, 0, NULL, options) != 0) exit(TBK_EXIT_USAGE);
  set_defaults(options);
}
