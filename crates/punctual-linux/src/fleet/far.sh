# Runs a command on a host in a folder of its own, sends what it wrote back, and removes the folder. A POSIX shell, mktemp,
# head and tar suffice, as busybox has them.
# $1: number of bytes of a program on standard input, or 0; $2: program; then its words.
# Standard input stays open as long as somebody waits for the result. When it ends, the command is ended.
set -u
umask 077
size=$1 program=$2
shift 2
home=$(mktemp -d "${TMPDIR:-/tmp}/punctual-fleet.XXXXXX") || exit 1
trap 'rm -rf "$home"' EXIT
mkdir "$home/work" && cd "$home/work" || exit 1
exec 3<&0
if [ "$size" -gt 0 ]; then
  program=$home/punctual
  head -c "$size" <&3 >"$program" && chmod 700 "$program" || exit 1
fi
"$program" "$@" >output.txt </dev/null 3<&- &
job=$!
(
  while read -r _; do :; done
  kill "$job"
  sleep 20
  kill -9 "$job"
) <&3 3<&- >/dev/null 2>&1 &
guard=$!
trap 'kill "$job"' HUP INT TERM
# Writing when nobody reads any more must not end this shell before it has removed the folder.
trap '' PIPE
wait "$job"
code=$?
# A signal to this shell ends the wait, but not the command.
while kill -0 "$job" 2>/dev/null; do
  wait "$job"
  code=$?
done
kill "$guard" 2>/dev/null
printf '\npunctual-fleet/1 %s\n' "$code"
tar -cf - .
