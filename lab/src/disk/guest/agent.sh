#!/bin/bash
# Runs what the host asks for over a virtual serial port, one command at a time, and frames what comes of it.
# Question: RUN id seconds base64(command). Answer: lines "O base64" and "E base64", then "END id code".
until [ -e /dev/virtio-ports/lab ]; do sleep 0.1; done
exec 3<>/dev/virtio-ports/lab
work=$(mktemp -d /run/lab-agent.XXXXXX)
printf 'UP %s\n' "$(cat /proc/sys/kernel/random/boot_id)" >&3
while read -r word id seconds command <&3; do
  [ "$word" = RUN ] || continue
  printf '%s' "$command" | base64 -d >"$work/command"
  timeout -k 5 "$seconds" bash "$work/command" </dev/null >"$work/out" 2>"$work/err" 3>&-
  code=$?
  { base64 "$work/out" | sed 's/^/O /'; base64 "$work/err" | sed 's/^/E /'; printf 'END %s %s\n' "$id" "$code"; } >&3
done
