#!/bin/sh
# Tries the roles with real Ansible over real sshd, on two stand-ins for machines: each is an sshd in a name space of its own,
# where two settings of the kernel, the journal and /usr/local/bin are its own. Nothing outside changes.
# usage, as root: run.sh PROGRAM        (a program of punctual that runs on this machine)
# Exits with 3 if something that it needs is missing.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
if [ "${2:-}" != inside ]; then
  program=$(realpath "$1")
  for needed in ansible-playbook ansible-galaxy /usr/sbin/sshd ssh ssh-keygen unshare ip; do
    command -v "$needed" >/dev/null || { echo "NOT RUN: $needed is not installed" >&2; exit 3; }
  done
  [ "$(id -u)" = 0 ] || { echo "NOT RUN: not root" >&2; exit 3; }
  exec unshare --net --mount --propagation private "$0" "$program" inside
fi

program=$1
work=$(mktemp -d /tmp/punctual-ansible.XXXXXX)
servers=
end() {
  for pid in $servers; do kill "$pid" 2>/dev/null || true; done
  rm -rf "$work"
}
trap end EXIT
ip link set lo up

ssh-keygen -q -t ed25519 -N '' -f "$work/key"
ssh-keygen -q -t ed25519 -N '' -f "$work/server"

# Starts a machine: its name, its port.
machine() {
  mkdir -p "$work/$1/results"
  echo 1 >"$work/$1/compact_unevictable_allowed"
  echo 20 >"$work/$1/compaction_proactiveness"
  cat >"$work/$1/sshd_config" <<CONFIG
ListenAddress 127.0.0.1:$2
HostKey $work/server
AuthorizedKeysFile $work/key.pub
PermitRootLogin yes
StrictModes no
UsePAM no
PidFile none
SetEnv PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
Subsystem sftp internal-sftp
CONFIG
  unshare --mount --propagation private sh -eu -c '
    home=$1
    for setting in compact_unevictable_allowed compaction_proactiveness; do
      mount --bind "$home/$setting" "/proc/sys/vm/$setting"
    done
    for folder in /run /usr/local/bin /var/lib; do mount -t tmpfs -o mode=755 none "$folder"; done
    mkdir /run/sshd
    exec /usr/sbin/sshd -D -e -f "$home/sshd_config"
  ' sh "$work/$1" 2>"$work/$1/sshd.log" &
  servers="$servers $!"
}
machine good 2201
machine bad 2202

cat >"$work/hosts" <<HOSTS
[all:vars]
ansible_host=127.0.0.1
ansible_user=root
ansible_ssh_private_key_file=$work/key
ansible_python_interpreter=/usr/bin/python3
punctual_from={"$(uname -m)": "$program"}
punctual_tune_words=["--only", "mem.compact", "--until-reboot"]
punctual_collect=$work/collected
punctual_confirm_within=30m

[machines]
good ansible_port=2201 punctual_results=$work/good/results punctual_accept=[0,3]
bad ansible_port=2202 punctual_results=$work/bad/results punctual_accept=[0,3]

[machines:vars]
punctual_check_words=["--duration", "3s", "--load", "none", "--no-explain", "--period", "500ms", "--budget", "{{ '400ms' if inventory_hostname == 'good' else '1ns' }}"]
HOSTS

cat >"$work/play.yml" <<'PLAY'
- hosts: all
  serial: 1
  roles:
    - { role: punctual.machines.install, tags: install }
    - punctual.machines.audit
    - punctual.machines.tune
    - punctual.machines.collect
PLAY

cd "$work"
export ANSIBLE_HOST_KEY_CHECKING=False ANSIBLE_COLLECTIONS_PATH="$work/collections" ANSIBLE_NOCOLOR=1 ANSIBLE_HOME="$work/home"
export ANSIBLE_LOCAL_TEMP="$work/tmp" ANSIBLE_REMOTE_TMP="$work/far" ANSIBLE_SSH_CONTROL_PATH_DIR="$work/cp" ANSIBLE_GATHERING=smart
# Pipelining saves half of the connections' time.
export ANSIBLE_PIPELINING=True
ansible-galaxy collection build --output-path "$work" "$here/.." >/dev/null
ansible-galaxy collection install --collections-path "$work/collections" "$work"/punctual-machines-*.tar.gz >/dev/null

# Runs the play; its output goes into a file, and a failure is for the caller to judge.
play() {
  name=$1
  shift
  ansible-playbook -i hosts "$@" play.yml >"$work/$name.log" 2>&1 || true
}
# A line of the summary must hold these words.
recap() {
  grep -E "^$2 +:.*$3" "$work/$1.log" >/dev/null || { tail -60 "$work/$1.log"; echo "$1: $2 has no $3" >&2; exit 1; }
}
setting() {
  [ "$(cat "$work/$1/compaction_proactiveness")" = "$2" ] ||
    { echo "$1: compaction_proactiveness is not $2" >&2; exit 1; }
}

play installation --limit good --tags install
recap installation good 'changed=1 .*failed=0'
play preview --check --limit good
recap preview good 'failed=0'
recap preview good 'changed=[1-9]'
setting good 20

play first
recap first good 'failed=0'
recap first bad 'failed=1'
setting good 0
setting bad 20
grep -q 'The need was not held after mem.compact' "$work/first.log"
ls "$work"/collected/good/*.punctual >/dev/null

play second --limit good
recap second good 'changed=[01] .*failed=0'
setting good 0
echo "ansible: install, audit, tune and collect work; the machine that failed on purpose is as it was"
