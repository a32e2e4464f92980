# SPDX-License-Identifier: Apache-2.0
# What development needs of this machine: packages of Debian, and Python's in .venv. Read by ./dev, whose folder is the current one and
# which has say().

# libdnnl-dev's CMake files ask for OpenCL, which it merely recommends.
packages=(
  build-essential cmake ninja-build ccache git python3 python3-venv xz-utils
  libprotobuf-dev protobuf-compiler libdnnl-dev ocl-icd-opencl-dev libjpeg-dev libpng-dev libwebp-dev zlib1g-dev libxxhash-dev
  libssl-dev
  nlohmann-json3-dev libcli11-dev libfmt-dev libgtest-dev libgmock-dev python3-dev
)
test_packages=(libonnx-testdata chromium clang-format-14 abigail-tools lintian)
sanitizer_packages=(clang-14 libclang-rt-14-dev)
# What release builds link with, and the sources of what they hold (packaging/README.md).
release_packages=(lld nasm libspdlog-dev dpkg-dev abigail-tools)
package_packages=(lintian dpkg-dev file)
aarch64_packages=(g++-12-aarch64-linux-gnu gcc-12-aarch64-linux-gnu qemu-user-static mmdebstrap)
lint_packages=(clang-format-14 clang-tidy-14)

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

missing_packages() {
  local name
  for name in "$@"; do
    dpkg-query -W -f='${Status}' "$name" 2>/dev/null | grep -q 'ok installed' || echo "$name"
  done
}

install_packages() {
  local missing
  mapfile -t missing < <(missing_packages "$@")
  [ "${#missing[@]}" = 0 ] && return 0
  say "installing ${missing[*]}"
  as_root env DEBIAN_FRONTEND=noninteractive apt-get update -q &&
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}" && return 0
  echo "error: these Debian packages could not be installed: ${missing[*]}" >&2
  return 1
}

# Test tools are welcome, not needed: a test whose tool is absent skips and says so.
install_test_tools() {
  install_packages "${test_packages[@]}" || echo "warning: some test tools could not be installed" >&2
  install_python_packages
  install_other_onnxruntimes
}

install_python_packages() {
  local stamp=.venv/requirements.txt
  cmp -s tools/requirements.txt "$stamp" && return 0
  say "creating .venv"
  local python=/usr/bin/python3
  [ -x "$python" ] || python=python3
  if "$python" -m venv .venv && .venv/bin/pip install -q --disable-pip-version-check -r tools/requirements.txt &&
    .venv/bin/pip install -q --disable-pip-version-check --no-deps --upgrade --target .venv/polygraphy-0.49.26 polygraphy==0.49.26; then
    cp tools/requirements.txt "$stamp"
  else
    echo "warning: .venv is incomplete; tests against ONNX Runtime will skip" >&2
  fi
}

# The oldest that the execution provider takes, and the newest, apart from .venv's own.
install_other_onnxruntimes() {
  install_onnxruntime 1.24.4 .venv/onnxruntime-1.24
  install_onnxruntime 1.32.0 .venv/onnxruntime-1.32
}

install_onnxruntime() {  # version, folder
  local wanted=onnxruntime==$1 folder=$2
  [ -x .venv/bin/pip ] || return 0
  [ "$(cat "$folder/stamp" 2>/dev/null)" != "$wanted" ] || return 0
  rm -rf "$folder.partial"
  if .venv/bin/pip install -q --disable-pip-version-check --no-deps --target "$folder.partial" "$wanted"; then
    echo "$wanted" >"$folder.partial/stamp"
    rm -rf "$folder"
    mv "$folder.partial" "$folder"
  else
    rm -rf "$folder.partial"
    echo "warning: $wanted could not be installed; tests of the execution provider in it will skip where it is absent" >&2
  fi
}

# What tests of an integration alone need, apart from .venv's own packages: Triton's server and client; Ray.
install_apart() {  # name, of .venv/NAME and tools/NAME_requirements.txt; what it is
  local wanted=tools/$1_requirements.txt folder=.venv/$1
  local stamp=$folder/requirements.txt
  [ -x .venv/bin/pip ] || return 0
  cmp -s "$wanted" "$stamp" && return 0
  say "installing $2 for the tests"
  rm -rf "$folder.partial"
  if .venv/bin/pip install -q --disable-pip-version-check --no-deps --target "$folder.partial" -r "$wanted"; then
    cp "$wanted" "$folder.partial/requirements.txt"
    rm -rf "$folder"
    mv "$folder.partial" "$folder"
  else
    rm -rf "$folder.partial"
    if [ -e "$stamp" ]; then
      echo "warning: $2 stays the one of an earlier $wanted" >&2
    else
      echo "warning: $2 is absent; tests in it will skip" >&2
    fi
  fi
}
