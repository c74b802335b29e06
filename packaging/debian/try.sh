#!/bin/sh
# Tries a package of Debian in a clean system, as piuparts does; `story.sh` is what happens there. The system has neither a
# toolchain nor a network. It is a chroot here or, if the image of a kernel is named, an emulated guest of that kernel. Its clock
# counts instructions, 1 000 000 000 a second, so that its times are those of a slow machine, however busy this one is. A guest
# boots with one CPU, and `story.sh` starts a second one for what needs two. Times are taken with one, because with two the clock
# runs ahead: where a CPU spins until the other one has answered, QEMU lets it spin until a timer is due. In a chroot, the
# programs of another architecture are emulated one by one.
# usage, as root: try.sh PACKAGE.deb SUITE.tar|SUITE [KERNEL]
# A suite is fetched by mmdebstrap. For a guest of another architecture, debootstrap unpacks the suite and configures nothing of
# it, because no program of that architecture has to run here then: a package needs no more than a shell and dpkg.
# Exits with 3 if something that it needs is missing.
set -eu

missing() { echo "NOT RUN: $*" >&2; exit 3; }
here=$(dirname "$(realpath "$0")")
for needed in unshare dpkg-deb chroot ip; do
  command -v "$needed" >/dev/null || missing "$needed is not installed"
done
[ "$(id -u)" = 0 ] || missing "not root"
package=$1 suite=$2 kernel=${3:-}
arch=$(dpkg-deb --field "$package" Architecture)
case $arch in
  amd64) qemu=qemu-system-x86_64 machine=q35 processor=max console=ttyS0 ;;
  arm64) qemu=qemu-system-aarch64 machine=virt processor=max,pauth-impdef=on console=ttyAMA0 ;;
  armhf) qemu=qemu-system-arm machine=virt,highmem=off processor=cortex-a15 console=ttyAMA0 ;;
  riscv64) qemu=qemu-system-riscv64 machine=virt processor=rv64 console=ttyS0 ;;
  *) [ -z "$kernel" ] || missing "no guests of $arch" ;;
esac
if [ -n "$kernel" ]; then
  for needed in cpio "$qemu"; do
    command -v "$needed" >/dev/null || missing "$needed is not installed"
  done
fi

work=$(mktemp -d /tmp/punctual-try.XXXXXX)
root=$work/root
trap 'rm -rf "$work"' EXIT
mkdir "$root"
case $suite in
  *.tar) ;;
  *)
    if [ -n "$kernel" ] && [ "$arch" != "$(dpkg --print-architecture)" ]; then
      command -v debootstrap >/dev/null || missing "debootstrap is not installed"
      debootstrap --foreign --variant=minbase --arch="$arch" "$suite" "$root" >"$work/unpacked" ||
        { tail "$work/unpacked"; exit 1; }
      # What configuring base-passwd and base-files would make. In a container, debootstrap makes /proc a link to itself.
      for file in passwd group; do
        cp "$root/usr/share/base-passwd/$file.master" "$root/etc/$file"
      done
      rm -rf "$root/debootstrap" "$root/proc" "$root"/var/cache/apt/archives/*.deb
      mkdir "$root/proc" "$root/srv"
      suite=
    else
      command -v mmdebstrap >/dev/null || missing "mmdebstrap is not installed"
      mmdebstrap --quiet --variant=minbase --architectures="$arch" "$suite" "$work/suite.tar"
      suite=$work/suite.tar
    fi
    ;;
esac
[ -z "$suite" ] || tar -xf "$suite" -C "$root"
[ -n "$kernel" ] || chroot "$root" /bin/true 2>/dev/null ||
  missing "the kernel does not start programs for $arch: install qemu-user-static, which has the kernel start them"
mkdir "$root/try"
cp "$package" "$root/try/punctual.deb"
cp "$here/story.sh" "$root/try"
dpkg-deb -R "$package" "$work/newer"
sed -i 's/^Version: .*/&+1/' "$work/newer/DEBIAN/control"
dpkg-deb --root-owner-group -Zgzip -b "$work/newer" "$root/try/newer.deb" >/dev/null

if [ -z "$kernel" ]; then
  # Settings of the kernel that the story changes are files of this system alone.
  for setting in compact_unevictable_allowed:1 compaction_proactiveness:20; do
    echo "${setting#*:}" >"$work/${setting%:*}"
  done
  # shellcheck disable=SC2016
  unshare --mount --pid --fork --net --uts --propagation private sh -ec '
    mount --bind "$1/root" "$1/root"
    mount -t proc proc "$1/root/proc"
    mount -t sysfs -o ro sysfs "$1/root/sys"
    mount --rbind /dev "$1/root/dev"
    mount -t tmpfs tmpfs "$1/root/run"
    ip link set lo up
    for setting in compact_unevictable_allowed compaction_proactiveness; do
      mount --bind "$1/$setting" "$1/root/proc/sys/vm/$setting"
    done
    chroot "$1/root" sh /try/story.sh' sh "$work"
  exit
fi

# The system is the guest's memory, so that neither a disk nor a driver for one takes part.
cat >"$root/init" <<'INIT'
#!/bin/sh
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
mount -t proc proc /proc
mount -t devtmpfs dev /dev
mount -t sysfs sysfs /sys
mkdir -p /dev/shm
mount -t tmpfs shm /dev/shm
mount -t tmpfs run /run
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mount -t debugfs debugfs /sys/kernel/debug
mount -t tracefs tracefs /sys/kernel/tracing
dmesg -n 1
# The loopback interface up.
echo 0x9 >/sys/class/net/lo/flags
uname -rvm
sh /try/story.sh </dev/null
echo "story: ended with $?"
echo o >/proc/sysrq-trigger
sleep 60
INIT
chmod +x "$root/init"
(cd "$root" && find . | cpio --quiet -o -H newc) >"$work/initrd"
rm -rf "$root" "$work/suite.tar"
$qemu -machine "$machine" -cpu "$processor" -smp 2 -m 1536 -nodefaults -nographic -no-reboot -serial stdio \
  -accel tcg,thread=single -icount shift=0,sleep=off -kernel "$kernel" -initrd "$work/initrd" \
  -append "console=$console rdinit=/init panic=-1 quiet maxcpus=1 tsc=reliable" | tee "$work/console"
grep -q '^story: ended with 0' "$work/console"
