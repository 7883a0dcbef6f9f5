# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
# Sourced by the other scripts: where things are, and how to get what is missing.
set -euo pipefail

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
BUILD=$ROOT/build
VENV=$ROOT/.venv
JOBS=$(nproc)
export PIP_DISABLE_PIP_VERSION_CHECK=1
# Steps share the cores. Threads of OpenMP's that wait for work by spinning take them from each other:
# four tenths of what the bridge's tests take.
export OMP_WAIT_POLICY=passive
# Thousands of processes of Python start here: each would compile the same modules again.
unset PYTHONDONTWRITEBYTECODE
cd "$ROOT"

say() { printf '\n== %s\n' "$*"; }

# not_run REASON: ends a step that this machine cannot run. It is neither passed nor failed; the last
# lines name it. A file says so, since no exit code is free: a step may end with whatever its tools do.
not_run() {
  echo "not run: $*"
  echo "$*" >"$NOT_RUN"
  exit 0
}

has_opencl_device() { "$VENV/bin/python" "$ROOT/ci/opencl_device.py" 2>/dev/null; }

as_root() {
  if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi
}

# need_packages NAME...: Debian packages that are not installed yet are installed.
need_packages() {
  local missing=()
  command -v dpkg-query >/dev/null || { echo "not Debian: please install $*" >&2; return; }
  for name in "$@"; do
    dpkg-query -W -f '${Status}' "$name" 2>/dev/null | grep -q 'ok installed' || missing+=("$name")
  done
  [ ${#missing[@]} -eq 0 ] && return
  say "installing Debian packages: ${missing[*]}"
  as_root apt-get update -qq
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    "${missing[@]}" >/dev/null
}

# pip_install WHAT...: into .venv. Python compiles what it imports; compiling all takes pip longer than all else it does.
pip_install() { "$VENV/bin/pip" install --quiet --no-compile "$@"; }

# need_venv [EXTRA]: the Python package, editable, with its dependencies, in .venv. What it needs
# compiled, build_tree builds.
need_venv() {
  local what=.${1:+[$1]} stamp=$VENV/.installed${1:+-$1}
  [ -e "$stamp" ] && [ ! pyproject.toml -nt "$stamp" ] && return
  say "installing the Python package into .venv"
  [ -x "$VENV/bin/python" ] || python3 -m venv "$VENV"
  pip_install 'scikit-build-core>=1.0'
  pip_install --no-build-isolation -Cwheel.cmake=false --editable "$what"
  touch "$stamp"
}

# need_torch: PyTorch in .venv, for the bridge, which is built wherever PyTorch is.
TORCH=2.13.0
need_torch() {
  local stamp=$VENV/.installed-torch-$TORCH
  [ -e "$stamp" ] && return
  say "installing PyTorch $TORCH into .venv"
  [ -x "$VENV/bin/python" ] || python3 -m venv "$VENV"
  pip_install "torch==$TORCH" numpy
  touch "$stamp"
}

# [BUILD_TARGETS="NAME..."] build_tree FOLDER [CMAKE OPTION...]
build_tree() {
  local folder=$1
  shift
  cmake -S . -B "$folder" -G Ninja "$@" >/dev/null
  cmake --build "$folder" --parallel "$JOBS" --target ${BUILD_TARGETS:-all} -- --quiet
}

# build_c TARGET...: of the C parts, without the bridge where the folder is new: no PyTorch is needed.
build_c() {
  [ -e "$BUILD/build.ninja" ] || cmake -S . -B "$BUILD" -G Ninja -DTBK_BRIDGE=OFF >/dev/null
  cmake --build "$BUILD" --parallel "$JOBS" --target "$@" -- --quiet
}

# lint_c [OPTION...]: clang-tidy on what is C, with the checks of .clang-tidy.
lint_c() {
  git ls-files '*.c' | grep -v '/outside_project/' |
    xargs -P "$JOBS" -n 8 clang-tidy --quiet -p "$BUILD" "$@" 2>/dev/null
}

# lint_bridge [OPTION...]: on what is C++. Of each file, nearly all that is looked at is PyTorch's headers.
lint_bridge() {
  cmake -S . -B build-lint -G Ninja -DTBK_BRIDGE=ON -DTBK_BRIDGE_UNITY=OFF \
    -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON >/dev/null
  git ls-files 'bridge/*.cpp' |
    xargs -P "$JOBS" -n 1 clang-tidy --quiet -p build-lint "$@" 2>/dev/null
}

# bridge_tests BUILD BACKEND [ARGUMENT...]: the tests of the bridge on one backend. A process holds one
# backend, so each has a process of its own.
bridge_tests() {
  TBK_BUILD=$1 "$VENV/bin/pytest" bridge/tests/python --tbk-backend "$1/lib/libtbk_$2.so" "${@:3}"
}

# sanitized_bridge_tests BACKEND [ARGUMENT...]: the same in build-asan. ASan must be the first library of
# the process, and libstdc++ there when it looks for what it wraps. Python and PyTorch keep what they
# allocate until the process ends, so leaks are not looked for.
sanitized_bridge_tests() {
  build_tree "$ROOT/build-asan" -DCMAKE_BUILD_TYPE=Debug -DTBK_SANITIZE=ON -DTBK_BRIDGE=ON
  LD_PRELOAD="$(g++ -print-file-name=libasan.so) $(g++ -print-file-name=libstdc++.so)" \
    ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 \
    bridge_tests "$ROOT/build-asan" "$@"
}

BUILD_PACKAGES=(ccache cmake ninja-build gcc g++ libc6-dev pkg-config libcunit1-dev libjansson-dev
  nettle-dev libopenblas-serial-dev python3 python3-venv)
BRIDGE_PACKAGES=(python3-dev)
OPENCL_PACKAGES=(pocl-opencl-icd ocl-icd-libopencl1)
SIGN_PACKAGES=(minisign openssh-client)
CHECK_PACKAGES=(clang-format clang-tidy "${SIGN_PACKAGES[@]}" "${OPENCL_PACKAGES[@]}")

# areas_without FOLDER NAME...: the areas that a folder of the spec describes, but for those, as options.
areas_without() {
  grep -l 'kind: checked' "$1"/*.yml | xargs -n 1 basename -s .yml |
    grep -vxF "$(printf '%s\n' "${@:2}")" | sed 's/^/--only=/'
}
torch_areas() { areas_without contracts/spec/torch operator; }

# wheel NAME VERSION: prints the folder in which that wheel lies, which is installed once.
wheel() {
  local folder=$BUILD/wheels/$1-$2
  if [ ! -d "$folder" ]; then
    rm -rf "$folder.aside"
    "$VENV/bin/pip" install --quiet --no-deps --target "$folder.aside" "$1==$2" >&2 || return 1
    mv "$folder.aside" "$folder"
  fi
  echo "$folder"
}

# compile_kernels ARCHITECTURE...: every kernel of cuda, compiled by the real NVRTC, and assembled by ptxas, by the
# code of the backend and without a device: 53 s and 18 s of one core for 98 kernels and four architectures. A word of
# either is a failure.
NVRTC=12.8.93
compile_kernels() {
  local nvrtc nvcc ptx=$BUILD/ptx said
  build_c tbk-cuda-compile
  nvrtc=$(wheel nvidia-cuda-nvrtc-cu12 "$NVRTC") || not_run "no wheel of NVRTC $NVRTC"
  nvcc=$(wheel nvidia-cuda-nvcc-cu12 "$NVRTC") || not_run "no wheel of ptxas $NVRTC"
  rm -rf "$ptx"
  mkdir -p "$ptx"
  TBK_CUDA_NVRTC=$nvrtc/nvidia/cuda_nvrtc/lib/libnvrtc.so.12 \
    "$BUILD/bin/tbk-cuda-compile" --ptx "$ptx" "$@"
  said=$(cd "$ptx" && find . -name '*.ptx' -printf '%f\n' | xargs -P "$JOBS" -I FILE sh -c \
    '"$1" --gpu-name "${2%%-*}" --warning-as-error --output-file /dev/null "$2" 2>&1 || echo "$2: $?"' \
    - "$nvcc/nvidia/cuda_nvcc/bin/ptxas" FILE)
  echo "ptxas: $(find "$ptx" -name '*.ptx' | wc -l) assembled${said:+, and it said:
$said}"
  [ -z "$said" ]
}
