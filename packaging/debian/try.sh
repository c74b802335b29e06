#!/bin/sh
# Tries a package of Debian in a clean system, as piuparts does: install, use, upgrade, upgrade while it measures and while it
# tunes, removal while something is tuned, purge. Nothing may stay but what the user made.
# usage, as root: try.sh PACKAGE.deb SUITE.tar|SUITE      (a suite is fetched by mmdebstrap)
# Exits with 3 if something that it needs is missing.
set -eu

if [ "${3:-}" != inside ]; then
  for needed in unshare dpkg-deb mmdebstrap chroot; do
    command -v "$needed" >/dev/null || { echo "NOT RUN: $needed is not installed" >&2; exit 3; }
  done
  [ "$(id -u)" = 0 ] || { echo "NOT RUN: not root" >&2; exit 3; }
  # The system is fetched before the network is gone.
  fetched=$(mktemp -d /tmp/punctual-suite.XXXXXX)
  trap 'rm -rf "$fetched"' EXIT
  case $2 in
    *.tar) ln -s "$(realpath "$2")" "$fetched/suite.tar" ;;
    *) mmdebstrap --quiet --variant=minbase "$2" "$fetched/suite.tar" ;;
  esac
  unshare --mount --pid --fork --net --uts --propagation private "$0" "$(realpath "$1")" "$fetched/suite.tar" inside
  exit
fi

package=$1 suite=$2
work=$(mktemp -d /tmp/punctual-try.XXXXXX)
root=$work/root
trap 'umount -R "$root" 2>/dev/null || true; rm -rf "$work"' EXIT
mkdir "$root"
tar -xf "$suite" -C "$root"
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount -t sysfs -o ro sysfs "$root/sys"
mount --bind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/run"
# Settings of the kernel that are changed below are files of this system alone.
for setting in compact_unevictable_allowed:1 compaction_proactiveness:20; do
  echo "${setting#*:}" >"$work/${setting%:*}"
  mount --bind "$work/${setting%:*}" "$root/proc/sys/vm/${setting%:*}"
done
cp "$package" "$root/tmp/punctual.deb"

# The same package with a higher version.
dpkg-deb -R "$package" "$work/newer"
sed -i 's/^Version: .*/&+1/' "$work/newer/DEBIAN/control"
dpkg-deb --root-owner-group -Zgzip -b "$work/newer" "$root/tmp/newer.deb" >/dev/null

within() { PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/srv LC_ALL=C chroot "$root" "$@"; }
setting() { cat "$work/compaction_proactiveness"; }
fail() { echo "FAILED: $*" >&2; exit 1; }
say() { echo "ok: $*"; }
is_tuned() { [ "$(setting)" = 0 ] || fail "$1: the setting is $(setting), not 0"; }
is_as_it_was() { [ "$(setting)" = 20 ] || fail "$1: the setting is $(setting), not 20"; }
# Waits for a condition, as long as it takes a busy machine.
await() {
  tries=600
  until eval "$2"; do
    tries=$((tries - 1))
    [ "$tries" -gt 0 ] || fail "never: $1"
    sleep 0.2
  done
}
files() { within find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /run -o -path /tmp -o -path /var/lib/dpkg -o -path /var/log \
  -o -path /var/cache \) -prune -o -print | LC_ALL=C sort; }
tune="punctual tune --yes --brief --only mem.compact --until-reboot"

files >"$work/before"
within dpkg -i /tmp/punctual.deb >"$work/dpkg.log" 2>&1 || { cat "$work/dpkg.log"; fail install; }
start=$(date +%s%N)
within punctual --version
say "it starts, $((($(date +%s%N) - start) / 1000000)) ms with chroot"
within sh -c 'cd /srv && punctual check --brief --duration 2s --load none --no-explain --out first.punctual' || [ $? -ge 2 ] || fail check
within rm -f /srv/first.punctual /srv/first.html
say "check answers"
within dpkg -i /tmp/newer.deb >"$work/dpkg.log" 2>&1 || fail "upgrade"
say "upgrade"

# Not by `within`: a signal must reach the program itself.
env PATH=/usr/sbin:/usr/bin:/sbin:/bin chroot "$root" punctual measure --brief --duration 1h --policy other --cpus 0 --out /srv/long.punctual &
measuring=$!
await "a measurement has begun" '[ -s "$root/srv/long.punctual" ]'
within dpkg -i --force-downgrade /tmp/punctual.deb >"$work/dpkg.log" 2>&1 || fail "downgrade while it measures"
kill -0 "$measuring" || fail "the upgrade ended a measurement"
kill -TERM "$measuring"
wait "$measuring" || [ $? -ge 2 ] || fail "the measurement did not end in order"
within punctual report --brief /srv/long.punctual >/dev/null || [ $? -ge 2 ] || fail "the recording is damaged"
within rm -f /srv/long.punctual /srv/long.html
say "upgrade while it measures: the recording is whole"

within $tune --for sh -c 'while [ ! -e /tmp/enough ]; do sleep 0.1; done' &
tuning=$!
await "tune --for has tuned" '[ "$(setting)" = 0 ]'
within dpkg -i /tmp/newer.deb >"$work/dpkg.log" 2>&1 || fail "upgrade while tune --for runs"
is_tuned "upgrade while tune --for runs: put back too early"
touch "$root/tmp/enough"
wait "$tuning" || true
is_as_it_was "after tune --for"
say "upgrade while tune --for runs: kept until its command ended, then put back"

within $tune >"$work/tune.log" 2>&1 || { cat "$work/tune.log"; fail "tune"; }
is_tuned "tune"
within dpkg -i --force-downgrade /tmp/punctual.deb >"$work/dpkg.log" 2>&1 || fail "upgrade while tuned"
is_tuned "upgrade while tuned: put back too early"
within dpkg -r punctual >"$work/dpkg.log" 2>&1 || { cat "$work/dpkg.log"; fail "removal while tuned"; }
is_as_it_was "removal while tuned"
say "removal while tuned: put back"
within dpkg -P punctual >"$work/dpkg.log" 2>&1 || fail "purge"
files >"$work/after"
diff "$work/before" "$work/after" >"$work/left" || { cat "$work/left"; fail "files stay"; }
say "purge: nothing stays"
