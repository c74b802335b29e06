#!/bin/sh
# What `try.sh` does within a clean system: from nothing to the first answer, upgrades while it measures and while it tunes,
# removal while something is tuned, purge. Nothing may stay but what the user made.
# Reads /try/punctual.deb and /try/newer.deb, which is the same package with a higher version.
set -eu
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/srv LC_ALL=C
cd /srv

value=/proc/sys/vm/compaction_proactiveness
was=$(cat $value)
fail() { echo "FAILED: $*"; exit 1; }
say() { echo "ok: $*"; }
ms() { echo $(($(date +%s%N) / 1000000)); }
install() { dpkg -i "$@" >/try/dpkg.log 2>&1; }
is_tuned() { [ "$(cat $value)" = 0 ] || fail "$1: the setting is $(cat $value), not 0"; }
is_as_it_was() { [ "$(cat $value)" = "$was" ] || fail "$1: the setting is $(cat $value), not $was"; }
# Waits for a condition, as long as it takes a busy machine.
await() {
  tries=600
  until eval "$2"; do
    tries=$((tries - 1))
    [ "$tries" -gt 0 ] || fail "never: $1"
    sleep 0.2
  done
}
files() {
  find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /run -o -path /tmp -o -path /try -o -path /var/lib/dpkg \
    -o -path /var/log -o -path /var/cache \) -prune -o -print | sort
}
tune="punctual tune --yes --brief --only mem.compact --until-reboot"

files >/try/before
start=$(ms)
install /try/punctual.deb || { cat /try/dpkg.log; fail install; }
installed=$(ms)
punctual check || [ $? -ge 2 ] || fail check
answered=$(ms)
say "installed in $((installed - start)) ms; the first answer after $((answered - start)) ms"
rm -f punctual-*.punctual punctual-*.html
start=$(ms)
for _ in 1 2 3 4 5 6 7 8 9 10; do punctual --version >/dev/null; done
say "it starts and ends in $((($(ms) - start) / 10)) ms, by ten starts"
install /try/newer.deb || fail upgrade
say "upgrade"

punctual measure --brief --duration 1h --policy other --cpus 0 --out long.punctual &
measuring=$!
await "a measurement has begun" '[ -s long.punctual ]'
install --force-downgrade /try/punctual.deb || fail "downgrade while it measures"
kill -0 "$measuring" || fail "the upgrade ended a measurement"
kill -TERM "$measuring"
wait "$measuring" || [ $? -ge 2 ] || fail "the measurement did not end in order"
punctual report --brief long.punctual >/dev/null || [ $? -ge 2 ] || fail "the recording is damaged"
rm -f long.punctual long.html
say "upgrade while it measures: the recording is whole"

# A plan needs two CPUs, and a guest has begun with one.
second=/sys/devices/system/cpu/cpu1/online
[ ! -e $second ] || [ "$(cat $second)" = 1 ] || echo 1 >$second || fail "a second CPU"

$tune --for sh -c 'while [ ! -e /try/enough ]; do sleep 0.1; done' &
tuning=$!
await "tune --for has tuned" '[ "$(cat $value)" = 0 ]'
install /try/newer.deb || fail "upgrade while tune --for runs"
is_tuned "upgrade while tune --for runs: put back too early"
touch /try/enough
wait "$tuning" || true
is_as_it_was "after tune --for"
say "upgrade while tune --for runs: kept until its command ended, then put back"

$tune >/try/tune.log 2>&1 || { cat /try/tune.log; fail tune; }
is_tuned tune
install --force-downgrade /try/punctual.deb || fail "upgrade while tuned"
is_tuned "upgrade while tuned: put back too early"
dpkg -r punctual >/try/dpkg.log 2>&1 || { cat /try/dpkg.log; fail "removal while tuned"; }
is_as_it_was "removal while tuned"
say "removal while tuned: put back"
dpkg -P punctual >/try/dpkg.log 2>&1 || fail purge
files >/try/after
diff /try/before /try/after || fail "files stay"
say "purge: nothing stays"
