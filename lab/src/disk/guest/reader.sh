# What is in force, read without the product: one line each, "path:value".
show() { grep -H '' "$@" 2>/dev/null; }
show /proc/cmdline /sys/devices/system/cpu/isolated /sys/devices/system/cpu/nohz_full /proc/irq/default_smp_affinity
show /proc/irq/*/effective_affinity_list /sys/devices/virtual/workqueue/cpumask /sys/devices/virtual/workqueue/*/cpumask
# Only a write tells whether the kernel lets anybody move an interrupt; what stands there is written, so nothing moves.
for file in /proc/irq/*/smp_affinity; do
  mask=$(cat "$file")
  (echo "$mask" >"$file") 2>/dev/null || echo "$file:fixed"
done
show /proc/[0-9]*/task/[0-9]*/stat
grep -H '^Cpus_allowed_list' /proc/[0-9]*/task/[0-9]*/status 2>/dev/null
sysctl -a 2>/dev/null | sed 's/^\([^ ]*\) = /sysctl \1:/'
grep -hs '^[a-z].*=' /etc/sysctl.d/*punctual* | sed 's/ *= */:/; s/^/wanted /'
dmesg | sed 's/^/log:/'
true
