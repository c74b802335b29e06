#!/bin/sh
# Tries the packages of the C library: builds the C programs of its test and of its example with the static and with the shared
# library, by Debian's compiler for the packages' architecture, and runs them, emulated by QEMU if this machine has another.
# usage: try-library.sh FOLDER ARCHITECTURE      (the folder has the packages libpunctual-rt0 and libpunctual-rt-dev)
# Exits with 3 if something that it needs is missing.
set -eu

missing() { echo "NOT RUN: $*" >&2; exit 3; }
sources=$(realpath "$(dirname "$0")/../..")
folder=$1 arch=$2
case $arch in
  amd64) gnu=x86_64-linux-gnu qemu=qemu-x86_64-static ;;
  arm64) gnu=aarch64-linux-gnu qemu=qemu-aarch64-static ;;
  armhf) gnu=arm-linux-gnueabihf qemu=qemu-arm-static ;;
  riscv64) gnu=riscv64-linux-gnu qemu=qemu-riscv64-static ;;
  *) missing "unknown architecture $arch" ;;
esac
work=$(mktemp -d /tmp/punctual-try.XXXXXX)
trap 'rm -rf "$work"' EXIT
lib=$work/usr/lib/$gnu
if [ "$(dpkg --print-architecture)" = "$arch" ]; then
  emulated() { LD_LIBRARY_PATH=$lib "$@"; }
else
  emulated() { "$qemu" -L "/usr/$gnu" -E LD_LIBRARY_PATH="$lib" "$@"; }
  command -v "$qemu" >/dev/null || missing "$qemu is not installed"
fi
for needed in dpkg-deb pkg-config "$gnu-gcc" "$gnu-readelf"; do
  command -v "$needed" >/dev/null || missing "$needed is not installed"
done
for package in libpunctual-rt0 libpunctual-rt-dev; do
  dpkg-deb -x "$folder/${package}"_*_"$arch.deb" "$work"
done

export PKG_CONFIG_LIBDIR="$lib/pkgconfig"
for library in punctual_rt punctual_rt-static; do
  flags=$(pkg-config --define-variable=libdir="$lib" --define-variable=includedir="$work/usr/include" --cflags --libs $library)
  for program in crates/punctual-capi/tests/c/drive.c:'all good' examples/c/hello_periodic.c:activations; do
    source=${program%%:*} expected=${program#*:}
    # shellcheck disable=SC2086
    "$gnu-gcc" -std=c11 -D_DEFAULT_SOURCE -pthread -o "$work/program" "$sources/$source" $flags
    needs=no
    "$gnu-readelf" -d "$work/program" | grep -q 'NEEDED.*libpunctual_rt.so.0' && needs=yes
    case $library:$needs in
      punctual_rt:yes | punctual_rt-static:no) ;;
      *) echo "FAILED: $source with $library: needs the shared library: $needs"; exit 1 ;;
    esac
    emulated "$work/program" >"$work/said" 2>&1 || { cat "$work/said"; echo "FAILED: $source with $library"; exit 1; }
    grep -q "$expected" "$work/said" || { cat "$work/said"; echo "FAILED: $source with $library says no '$expected'"; exit 1; }
    echo "ok: $arch: $source with $library"
  done
done
