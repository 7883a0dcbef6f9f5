# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""A checkout in small: one header, three areas, two tests files, mutants. Nothing disagrees."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest
from yaml import safe_load

TOOLS = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TOOLS), str(TOOLS.parent / "python")]

from check_spec import accept, write_lock  # noqa: E402
from generate_areas import TARGET as AREAS_TARGET  # noqa: E402
from generate_areas import render as render_areas  # noqa: E402
from generate_capability_words import TARGET as CAPABILITY_WORDS  # noqa: E402
from generate_capability_words import render as render_capability_words  # noqa: E402
from generate_clauses import render as render_clauses  # noqa: E402
from generate_named import TARGET as NAMED_TARGET  # noqa: E402
from generate_named import render as render_named  # noqa: E402
from generate_operators import render as render_operators  # noqa: E402
from generate_overloads import TARGET as OVERLOADS_TARGET  # noqa: E402
from generate_overloads import render as render_overloads  # noqa: E402
from generate_pairs import TARGET as PAIRS_TARGET  # noqa: E402
from generate_pairs import render as render_pairs  # noqa: E402
from generate_rows import TARGET as ROWS_TARGET  # noqa: E402
from generate_rows import render as render_rows  # noqa: E402
from generate_spec import render as render_spec  # noqa: E402
from generate_spec import stated_lines  # noqa: E402
from generate_tables import render as render_tables  # noqa: E402
from generate_trace import render as render_trace  # noqa: E402
from generate_words import render as render_words  # noqa: E402
from spec_world import LOCK, load_world  # noqa: E402
from tbk_contracts import clause_files  # noqa: E402
from tbk_contracts.pairs import load_pairs  # noqa: E402

HEADER = """\
/* A header. */
#define TBK_DTYPE_MAP(X) \\
  X(FLOAT32, 6, 4)
#include <tbk/core.h>
#include <tbk/backend.h>
"""
CORE = """\
enum { TBK_DEVICE_FLAT_ADDRESS = 1 << 0 };

typedef struct tbk_core {
  size_t struct_size;

  /**
   * Allocate.
   * Requires:  out != NULL; else INVALID (checked).                                   [MEM-001]
   * Requires:  the size is meant (undefined).                                         [MEM-002]
   * Ensures:   the memory is there.                                                   [MEM-003]
   * Ordering:  none.
   * Threads:   any thread.                                                            [THR-001]
   * Ownership: the caller owns it.                                                    [MEM-004]
   * Errors:    none.
   * On error:  none.
   * Since:     0
   */
  tbk_status_t (*memory_alloc)(tbk_instance_t* self, tbk_error_t* error) TBK_MUST_CHECK;

  /**
   * Free.
   * Requires:  none.
   * Ensures:   none.
   * Ordering:  none.
   * Threads:   any thread.                                                            [THR-001]
   * Ownership: none.
   * Errors:    none.
   * On error:  none.
   * Since:     0
   */
  void (*memory_free)(tbk_instance_t* self);
} tbk_core_t;
"""
BACKEND = """\
typedef struct tbk_backend {
  size_t struct_size;
  const char* name;
  const tbk_core_t* core;
  tbk_instance_t* instance;
  const tbk_stream_ops_t* stream;
  const tbk_event_ops_t* event; /* needs stream */
} tbk_backend_t;
"""
PROFILES = """\
- name: all
  text: all that there is
  areas: all
  operators: all
  dtypes: all
"""
PAIRS = """\
kinds:
  - kind: refuses_abroad
    area: threads
    what: fails on another thread than the first
    clause: THR-001
    of: [states]
"""
AREAS = """\
MEM: memory
THR: thread
"""

MEMORY = """\
- id: MEM-001
  level: must
  kind: checked
  layer: [c]
  profile: core
  needs: null
  source: ["ABI: an answer is cheaper than a crash"]
- id: MEM-002
  level: must
  kind: undefined
  reason: "nobody can tell"
  layer: [c]
  profile: core
  needs: null
  source: ["ABI: nobody can tell"]
- id: MEM-003
  level: must
  kind: checked
  layer: [c, torch]
  profile: core
  needs: flat_address
  source: ["c10/core/Allocator.h: allocate"]
- id: MEM-004
  level: must
  kind: untestable
  reason: "an obligation of the caller"
  layer: [c]
  profile: core
  needs: null
  source: ["ABI: one owner"]
"""
THREAD = """\
- id: THR-001
  level: must
  kind: checked
  layer: [c]
  profile: core
  needs: null
  source: ["PyTorch: it has threads"]
- id: THR-002
  of: program
  text: "a thread that ends takes nothing with it."
  level: should
  kind: checked
  layer: [c]
  profile: core
  needs: "stream !op:mm dtype:FLOAT32"
  source: ["ABI: nothing is kept by thread"]
- id: THR-101
  of: program
  text: "a thread may have any name."
  level: must
  kind: checked
  layer: [c]
  profile: core
  needs: null
  source: ["ABI: names are the system's"]
"""
TORCH = """\
- id: MEM-501
  of: torch.empty
  text: "memory lies on the current device."
  level: must
  kind: checked
  layer: [torch]
  profile: torch
  needs: null
  source: ["c10/core/Allocator.h: DataPtr"]
"""
MEMORY_TEST = """\
/* TBK_CASE("MEM-999", NULL, 0, in_a_comment) */
static void it_refuses_null(tbk_fixture_t* fx) { CHECK(fx); }
static void it_gives_memory(tbk_fixture_t* fx) { CHECK(fx); }

static const tbk_case_t cases[] = {
    TBK_CASE("MEM-001", NULL, 0, it_refuses_null),
    TBK_CASE("MEM-003", "flat_address !stream", TBK_CASE_FRESH | TBK_CASE_RAW,
             it_gives_memory),
};
TBK_SUITE(memory);
"""
THREAD_TEST = """\
static void threads_may_call(tbk_fixture_t* fx) { CHECK(fx); }
static void threads_may_end(tbk_fixture_t* fx) { CHECK(fx); }
static void threads_may_have_names(tbk_fixture_t* fx) { CHECK(fx); }

static const tbk_case_t cases[] = {
    TBK_CASE("THR-001", NULL, 0, threads_may_call),
    TBK_CASE("THR-002", "op:mm", 0, threads_may_end),
    TBK_CASE("THR-101", NULL, 0, threads_may_have_names),
};
TBK_SUITE(thread);
"""
NEEDS = """\
#define TBK_NEED_PROPERTIES(X) X(two_devices)
"""
SUITES = """\
#define SUITES(X) \\
  X(memory)       \\
  X(thread)

#define DECLARE(name) extern const tbk_suite_t tbk_suite_##name;
"""
OPERATORS = """\
operators:
  - schema: "mm(Tensor self, Tensor mat2) -> Tensor"
    version: 1
    rules: "rank 2"
"""
MUTANTS = [
    {"name": "null_crashes", "clause": "MEM-001", "kind": "mutant", "narrow": False},
    {"name": "null_crashes_later", "clause": "MEM-001", "kind": "mutant", "narrow": True},
    {"name": "null_crashes_twice", "clause": "MEM-001", "kind": "mutant", "narrow": False},
    {"name": "memory_is_gone", "clause": "MEM-003", "kind": "mutant", "narrow": False},
    {"name": "memory_goes", "clause": "MEM-003", "kind": "mutant", "narrow": True},
    {"name": "memory_went", "clause": "MEM-003", "kind": "mutant", "narrow": False},
    {"name": "one_thread_only", "clause": "THR-001", "kind": "mutant", "narrow": False},
    {"name": "two_threads_only", "clause": "THR-001", "kind": "mutant", "narrow": True},
    {"name": "one_at_a_time", "clause": "THR-001", "kind": "mutant", "narrow": False},
    {"name": "no_long_name", "clause": "THR-101", "kind": "mutant", "narrow": False},
    {"name": "slow", "clause": "", "kind": "anti", "narrow": False},
    {"name": "memory_alloc/refuses_abroad/THR-001", "clause": "THR-001", "kind": "pair"},
    {"name": "memory_free/refuses_abroad/THR-001", "clause": "THR-001", "kind": "pair"},
]
CAPABILITY = """\
WORDS: dict[str, object] = {"stream": 1, "event": 2, **{f"dtype:{name}": 3 for name in DTYPES}}
"""
CASE = """\
DTYPES = ("float32", "bool")
"""
TORCH_TEST = '''\
"""No cuda is meant here."""
NEEDS = "stream"
TABLE = {1: "MEM-501"}

@clause("MEM-501", needs=NEEDS + " !event dtype:bool")
def test_it_is_there(device): ...

def _test(kind):
    @clause(TABLE.get(kind, "MEM-003"))
    def test(device): ...
'''
TORCH_MUTANTS = """\
@mutant("nowhere", "MEM-501", "is elsewhere", narrow=True)
def _(): ...

native("not_there", "MEM-003 MEM-501", "is not there")
backend("not_there", "MEM-501", "is not there")
"""
FAMILY = """\
family: pointwise
rows:
  - of: [neg]
    rule: self
    number: "-self"
    class: exact
"""
SCHEMAS = """\
neg:
  function: 'neg(Tensor self) -> Tensor'
  in_place: 'neg_(Tensor(a!) self) -> Tensor(a!)'
"""
FILES = {
    "contracts/python/tbk_contracts/torch/capability.py": CAPABILITY,
    "contracts/python/tbk_contracts/torch/case.py": CASE,
    "contracts/python/tbk_contracts/torch/test_memory.py": TORCH_TEST,
    "bridge/tests/mutants/tbk_torch_mutants/memory.py": TORCH_MUTANTS,
    "contracts/include/tbk/tbk.h": HEADER,
    "contracts/include/tbk/core.h": CORE,
    "contracts/include/tbk/backend.h": BACKEND,
    "contracts/spec/areas.yml": AREAS,
    "contracts/spec/pairs.yml": PAIRS,
    "contracts/spec/profiles.yml": PROFILES,
    "contracts/spec/memory.yml": MEMORY,
    "contracts/spec/thread.yml": THREAD,
    "contracts/spec/torch/memory.yml": TORCH,
    "contracts/spec/operators.yml": OPERATORS,
    "contracts/spec/operators/pointwise.yml": FAMILY,
    "contracts/spec/operators/schemas.yml": SCHEMAS,
    "contracts/tests/memory/memory_test.c": MEMORY_TEST,
    "contracts/tests/error/thread_test.c": THREAD_TEST,
    "contracts/toolkit/run/needs.h": NEEDS,
    "contracts/tests/suites.c": SUITES,
    "reference_backends/template/template.c": "/* prose */\nint main(void);\n",
    "reference_backends/cpu/cpu.c": "int x;\n",
    "mutants.jsonl": "".join(json.dumps(mutant) + "\n" for mutant in MUTANTS),
}


@pytest.fixture(scope="session")
def accepted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small checkout, accepted and with its generated files; no test changes it."""
    root = tmp_path_factory.mktemp("accepted")
    for name, text in FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    contracts = root / "contracts"
    stated = stated_lines(contracts)
    for path in clause_files(contracts):
        path.write_text(render_spec(path.read_text(), stated))
    shutil.copy(TOOLS.parent / "spec" / "schema.json", contracts / "spec" / "schema.json")
    world = load_world(root, None)
    write_lock(contracts / LOCK, accept(world))
    generated = contracts / "tests" / "generated" / "clauses.c"
    generated.parent.mkdir()
    generated.write_text(render_clauses(world.clauses))
    areas = root / AREAS_TARGET
    areas.parent.mkdir(parents=True)
    areas.write_text(render_areas(world.areas))
    (root / CAPABILITY_WORDS).write_text(render_capability_words(CAPABILITY))
    tables = contracts / "include" / "tbk" / "tables.h"
    tables.write_text(render_tables(world.interface))
    pairs = root / PAIRS_TARGET
    pairs.parent.mkdir(parents=True)
    pairs.write_text(render_pairs(load_pairs(contracts)))
    trace = contracts / "toolkit" / "generated" / "trace_calls.h"
    trace.parent.mkdir(parents=True)
    trace.write_text(render_trace(world.interface))
    (generated.parent / "words.h").write_text(render_words(world.interface))
    operators = contracts / "include" / "tbk" / "tbk_operators.h"
    operators.write_text(render_operators(safe_load(OPERATORS)["operators"]))
    shutil.copy(TOOLS.parent / "include" / "tbk" / "tbk_opcodes.h", operators.parent)
    schemas = [str(entry["schema"]) for entry in safe_load(OPERATORS)["operators"]]
    overloads = contracts / "spec" / "operators" / "overloads.txt"
    overloads.write_text("".join(f"1 {one}\n" for one in [*schemas, "neg(Tensor self) -> Tensor"]))
    (contracts / OVERLOADS_TARGET).write_text(render_overloads(contracts))
    rows = root / ROWS_TARGET
    rows.parent.mkdir(parents=True)
    rows.write_text(render_rows(root))
    named = root / NAMED_TARGET
    named.parent.mkdir(parents=True)
    named.write_text(render_named(root))
    return root


@pytest.fixture
def checkout(accepted: Path, tmp_path: Path) -> Path:
    """Returns a copy of the small checkout, to be changed."""
    shutil.copytree(accepted, tmp_path, dirs_exist_ok=True)
    return tmp_path
