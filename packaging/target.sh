# shellcheck shell=bash
# What differs between the architectures that releases are made for: x86_64, by this machine's compiler, and aarch64, by Debian's cross compiler
# (cmake/aarch64.cmake). Folders below build/ of what is made for elsewhere end with its name. Sourced.

# shellcheck disable=SC2034  # whoever sources this reads some of them
set_target() {  # architecture
  arch=$1
  case "$arch" in
    x86_64) of_target='' target_debian=amd64 target_tools='' target_gcc=gcc target_gxx=g++ target_loader=/lib64/ld-linux-x86-64.so.2 ;;
    aarch64)
      of_target=-aarch64 target_debian=arm64 target_tools=aarch64-linux-gnu-
      target_gcc=${target_tools}gcc-12 target_gxx=${target_tools}g++-12 target_loader=/usr/aarch64-linux-gnu/lib/ld-linux-aarch64.so.1
      ;;
    *)
      echo "error: no release is made for $arch; there are x86_64 and aarch64" >&2
      exit 3
      ;;
  esac
}

# The flags of ./dev release and ./dev wheel --release: [--strict] [--arch ARCH]. Leaves those of packaging/dependencies.py in `dependency_flags`.
read_release_flags() {
  dependency_flags=()
  set_target x86_64
  while [ $# != 0 ]; do
    case "$1" in
      --strict) dependency_flags+=(--strict) ;;
      --arch)
        set_target "${2:-nothing}"
        shift
        ;;
      *)
        echo "error: $1 is no flag of a release" >&2
        exit 3
        ;;
    esac
    shift
  done
  [ -z "$of_target" ] || dependency_flags+=(--arch "$arch")
}
