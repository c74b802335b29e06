function __fish_punctual_knobs
	set -l head (commandline -ct | string replace -r '^--[^=]*=' '' | string match -r '^.*,')
	punctual __knobs 2>/dev/null | string replace -r '^' -- "$head"
end

# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_punctual_global_optspecs
    string join \n color= lang= h/help V/version
end

function __fish_punctual_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_punctual_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_punctual_using_subcommand
    set -l cmd (__fish_punctual_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c punctual -n "__fish_punctual_needs_command" -l color -d 'When to colour: auto is on a terminal, unless NO_COLOR is set' -r -f -a "auto\t''
always\t''
never\t''"
complete -c punctual -n "__fish_punctual_needs_command" -l lang -d 'Language of what people read; formats for programs are English [default: the locale\'s, or en]' -r -f -a "en\t''
zh\t'Chinese, in simplified characters'"
complete -c punctual -n "__fish_punctual_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c punctual -n "__fish_punctual_needs_command" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_needs_command" -f -a "init" -d 'Write a project file that states the need once, from four questions or from options'
complete -c punctual -n "__fish_punctual_needs_command" -f -a "check" -d 'The main job: audit, measure under load, and say whether the need is held'
complete -c punctual -n "__fish_punctual_needs_command" -f -a "lint" -d 'Say how the kernel treats each word of a command line'
complete -c punctual -n "__fish_punctual_needs_command" -f -a "status" -d 'Show what was changed, and whether it is configured, booted and in force'
complete -c punctual -n "__fish_punctual_needs_command" -f -a "revert" -d 'Put back exactly what was there'
complete -c punctual -n "__fish_punctual_needs_command" -f -a "measure" -d 'Measure latency in a stated scenario, into a recording'
complete -c punctual -n "__fish_punctual_needs_command" -f -a "merge" -d 'Merge several runs of one scenario into one recording'
complete -c punctual -n "__fish_punctual_needs_command" -f -a "explain" -d 'Rank what made activations late in a recording'
complete -c punctual -n "__fish_punctual_needs_command" -f -a "inspect" -d 'Observe a running program: its periodic threads, what is in their cycles, how they are set up'
complete -c punctual -n "__fish_punctual_needs_command" -f -a "watch" -d 'Measure for months while other work runs, into a folder of bounded size'
complete -c punctual -n "__fish_punctual_needs_command" -f -a "export" -d 'Write a recording, or another program\'s result, in another program\'s format'
complete -c punctual -n "__fish_punctual_needs_command" -f -a "report" -d 'Show the report of a recording, or of another program\'s result'
complete -c punctual -n "__fish_punctual_needs_command" -f -a "compare" -d 'Compare recordings with a first one: better or worse, and how certain that is'
complete -c punctual -n "__fish_punctual_needs_command" -f -a "trend" -d 'Find where a series of runs shifted or drifts, and what else changed there'
complete -c punctual -n "__fish_punctual_needs_command" -f -a "campaign" -d 'Run an experiment that is described in a file: measure its cells in turn, with reboots if necessary, and put all results on one page with published numbers'
complete -c punctual -n "__fish_punctual_needs_command" -f -a "share" -d 'Write a result, with what the machine looks like, into one masked file that can be shown to anybody'
complete -c punctual -n "__fish_punctual_needs_command" -f -a "snapshot" -d 'Write this machine into one readable file, to be audited elsewhere or shown in a bug report'
complete -c punctual -n "__fish_punctual_needs_command" -f -a "fleet" -d 'Many machines: run a command on all of them, pack their results, and find out what the bad machines share'
complete -c punctual -n "__fish_punctual_needs_command" -f -a "torture" -d 'Try to break the kernel\'s promises about registers, locks, memory and timers'
complete -c punctual -n "__fish_punctual_needs_command" -f -a "lab" -d 'Measure kernels in emulated machines, where time counts instructions and this machine has no influence on the numbers'
complete -c punctual -n "__fish_punctual_needs_command" -f -a "man" -d 'Install man pages where `man` finds them'
complete -c punctual -n "__fish_punctual_needs_command" -f -a "completions" -d 'Install completions where bash, zsh and fish look for them'
complete -c punctual -n "__fish_punctual_needs_command" -f -a "audit" -d 'List what on this machine stands in the way of real time'
complete -c punctual -n "__fish_punctual_needs_command" -f -a "tune" -d 'Plan what to change on this machine, and change it: journalled, read back, reversible'
complete -c punctual -n "__fish_punctual_needs_command" -f -a "optimize" -d 'Try knobs one at a time, measure each, and tell which help here; everything is put back'
complete -c punctual -n "__fish_punctual_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c punctual -n "__fish_punctual_using_subcommand init" -l profile -d 'Kind of work, which fills in what is not given' -r -f -a "ethercat\t'EtherCAT master with distributed clocks'
robotics\t'Robot arm commanded over Ethernet at 1 kHz'
ros2\t'Controller manager of ros2_control'
plc\t'Soft PLC with cyclic tasks'
audio\t'64 frames at 48 kHz on a desktop, beside other programs'
telecom\t'Radio or packet processing that polls'
cnc\t'Machine tool: servo thread of 1 ms'"
complete -c punctual -n "__fish_punctual_using_subcommand init" -l period -d 'Time between releases, for example 1ms' -r
complete -c punctual -n "__fish_punctual_using_subcommand init" -l budget -d 'Largest latency you can live with, for example 50us' -r
complete -c punctual -n "__fish_punctual_using_subcommand init" -l cpus -d 'CPUs for the real-time work, for example 2-3' -r
complete -c punctual -n "__fish_punctual_using_subcommand init" -l out -d 'File to write' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand init" -l color -d 'When to colour: auto is on a terminal, unless NO_COLOR is set' -r -f -a "auto\t''
always\t''
never\t''"
complete -c punctual -n "__fish_punctual_using_subcommand init" -l lang -d 'Language of what people read; formats for programs are English [default: the locale\'s, or en]' -r -f -a "en\t''
zh\t'Chinese, in simplified characters'"
complete -c punctual -n "__fish_punctual_using_subcommand init" -s y -l yes -d 'Ask no questions; values that are not given are left to the profile'
complete -c punctual -n "__fish_punctual_using_subcommand init" -s q -l quiet -d 'Print no messages but errors'
complete -c punctual -n "__fish_punctual_using_subcommand init" -l replace -d 'Replace the file if it exists'
complete -c punctual -n "__fish_punctual_using_subcommand init" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c punctual -n "__fish_punctual_using_subcommand check" -l profile -d 'Kind of work the machine is for: a preset, a profile of the project file, or just periodic, poll or audio' -r -f -a "ethercat\t'EtherCAT master with distributed clocks'
robotics\t'Robot arm commanded over Ethernet at 1 kHz'
ros2\t'Controller manager of ros2_control'
plc\t'Soft PLC with cyclic tasks'
audio\t'64 frames at 48 kHz on a desktop, beside other programs'
telecom\t'Radio or packet processing that polls'
cnc\t'Machine tool: servo thread of 1 ms'
periodic\t'A loop that blocks until its next release'
poll\t'A thread that polls and never gives up its CPU'"
complete -c punctual -n "__fish_punctual_using_subcommand check" -l config -d 'Project file that states the need [default: punctual.toml in this folder, if it is there]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand check" -l period -d 'Time between releases, for example 1ms or 250us [default: the profile\'s, or 1ms]' -r
complete -c punctual -n "__fish_punctual_using_subcommand check" -l budget -d 'Largest latency you can live with [default: the profile\'s, or 50us]' -r
complete -c punctual -n "__fish_punctual_using_subcommand check" -l cpus -d 'CPUs to check, for example 2-3 [default: the isolated ones, or all but the first core]' -r
complete -c punctual -n "__fish_punctual_using_subcommand check" -l priority -d 'SCHED_FIFO priority, 1 to 95 [default: the profile\'s, or 90]' -r
complete -c punctual -n "__fish_punctual_using_subcommand check" -l duration -d 'How long to measure; looking for causes takes a quarter of it in addition [default: 30s]' -r
complete -c punctual -n "__fish_punctual_using_subcommand check" -l load -d 'Load phases in turn, loads of a phase joined by +; `none` for no load [default: the profile\'s, or idle:1,cpu+memory+io-write+switch+net:2]' -r
complete -c punctual -n "__fish_punctual_using_subcommand check" -l wait-quiet -d 'Wait up to this time until other programs are idle before an idle phase is measured' -r
complete -c punctual -n "__fish_punctual_using_subcommand check" -l out -d 'Recording to write; the HTML report is written next to it [default: punctual-DATE-TIME.punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand check" -l junit -d 'Write JUnit XML to this file, for CI: one case for each CPU' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand check" -l fail-on -d 'Exit with 2 when a finding is at least this bad' -r -f -a "fail\t'Findings that are high or fatal'
warn\t'Findings that are medium, too'"
complete -c punctual -n "__fish_punctual_using_subcommand check" -l color -d 'When to colour: auto is on a terminal, unless NO_COLOR is set' -r -f -a "auto\t''
always\t''
never\t''"
complete -c punctual -n "__fish_punctual_using_subcommand check" -l lang -d 'Language of what people read; formats for programs are English [default: the locale\'s, or en]' -r -f -a "en\t''
zh\t'Chinese, in simplified characters'"
complete -c punctual -n "__fish_punctual_using_subcommand check" -l why-not -d 'Do not measure: say which functions of punctual work here, and what to install or to grant for those that do not'
complete -c punctual -n "__fish_punctual_using_subcommand check" -l no-explain -d 'Do not look for causes in a second, traced pass'
complete -c punctual -n "__fish_punctual_using_subcommand check" -l full -d 'Print the whole report, with the answer last'
complete -c punctual -n "__fish_punctual_using_subcommand check" -s q -l brief -l quiet -d 'Print one line and no progress, for scripts and CI logs'
complete -c punctual -n "__fish_punctual_using_subcommand check" -l json -d 'Print one JSON document instead of text'
complete -c punctual -n "__fish_punctual_using_subcommand check" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c punctual -n "__fish_punctual_using_subcommand lint" -l cmdline -d 'Command line to judge, or - to read it from standard input [default: that of this machine]' -r
complete -c punctual -n "__fish_punctual_using_subcommand lint" -l kernel -d 'Version of the kernel that reads the line, for example 6.12 [default: this machine\'s]' -r
complete -c punctual -n "__fish_punctual_using_subcommand lint" -l flavour -d 'Kind of the kernel that reads the line [default: this machine\'s]' -r -f -a "stock\t'Neither PREEMPT_RT nor Xenomai'
rt\t'PREEMPT_RT'
cobalt\t'Xenomai 3'
evl\t'Xenomai 4'"
complete -c punctual -n "__fish_punctual_using_subcommand lint" -l arch -d 'Architecture of the kernel that reads the line [default: this machine\'s]' -r -f -a "x86_64\t'64-bit x86'
aarch64\t'64-bit ARM'
arm\t'32-bit ARM'
riscv64\t'64-bit RISC-V'"
complete -c punctual -n "__fish_punctual_using_subcommand lint" -l cpus -d 'Number of CPUs of the machine that boots with the line [default: that of this machine, or unknown for the line of another machine]' -r
complete -c punctual -n "__fish_punctual_using_subcommand lint" -l machine -d 'Take a captured machine instead of this one: a file written by punctual snapshot' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand lint" -l root -d 'Take an unpacked system instead of this machine: the folder of a disk image, an initramfs or a sos report' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand lint" -l file -d 'Judge the line in a file that contains only the line (cmdline.txt), or in a boot loader\'s file (default/grub, extlinux.conf)' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand lint" -l image -d 'Judge for the kernel in this boot image (vmlinuz): the list of the parameters that it accepts is read from the image' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand lint" -l fail-on -d 'Exit with 2 when a word is at least this bad' -r -f -a "fail\t'Words that are harmful, unknown or have a value that is refused'
warn\t'Also words that have no effect, have another value than was written, or do something else than commonly believed'"
complete -c punctual -n "__fish_punctual_using_subcommand lint" -l color -d 'When to colour: auto is on a terminal, unless NO_COLOR is set' -r -f -a "auto\t''
always\t''
never\t''"
complete -c punctual -n "__fish_punctual_using_subcommand lint" -l lang -d 'Language of what people read; formats for programs are English [default: the locale\'s, or en]' -r -f -a "en\t''
zh\t'Chinese, in simplified characters'"
complete -c punctual -n "__fish_punctual_using_subcommand lint" -l json -d 'Print one JSON document'
complete -c punctual -n "__fish_punctual_using_subcommand lint" -l sarif -d 'Print SARIF, for code-review tools'
complete -c punctual -n "__fish_punctual_using_subcommand lint" -s q -l brief -l quiet -d 'Print one line and no progress, for scripts and CI logs'
complete -c punctual -n "__fish_punctual_using_subcommand lint" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c punctual -n "__fish_punctual_using_subcommand status" -l color -d 'When to colour: auto is on a terminal, unless NO_COLOR is set' -r -f -a "auto\t''
always\t''
never\t''"
complete -c punctual -n "__fish_punctual_using_subcommand status" -l lang -d 'Language of what people read; formats for programs are English [default: the locale\'s, or en]' -r -f -a "en\t''
zh\t'Chinese, in simplified characters'"
complete -c punctual -n "__fish_punctual_using_subcommand status" -l confirm -d 'Keep what was applied, and make the new boot entry the default'
complete -c punctual -n "__fish_punctual_using_subcommand status" -l adopt-untried -d 'Make the new command line the default although this boot loader cannot try it first'
complete -c punctual -n "__fish_punctual_using_subcommand status" -l json -d 'Print one JSON document'
complete -c punctual -n "__fish_punctual_using_subcommand status" -s q -l brief -l quiet -d 'Print one line and no progress, for scripts and CI logs'
complete -c punctual -n "__fish_punctual_using_subcommand status" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c punctual -n "__fish_punctual_using_subcommand revert" -l to -d 'Put back all transactions after transaction N, which is kept [default: everything]' -r
complete -c punctual -n "__fish_punctual_using_subcommand revert" -l color -d 'When to colour: auto is on a terminal, unless NO_COLOR is set' -r -f -a "auto\t''
always\t''
never\t''"
complete -c punctual -n "__fish_punctual_using_subcommand revert" -l lang -d 'Language of what people read; formats for programs are English [default: the locale\'s, or en]' -r -f -a "en\t''
zh\t'Chinese, in simplified characters'"
complete -c punctual -n "__fish_punctual_using_subcommand revert" -l leave-conflicts -d 'Leave settings that another program or person has changed since as they are, and forget them'
complete -c punctual -n "__fish_punctual_using_subcommand revert" -s q -l brief -l quiet -d 'Print one line and no progress, for scripts and CI logs'
complete -c punctual -n "__fish_punctual_using_subcommand revert" -l json -d 'Print one JSON document'
complete -c punctual -n "__fish_punctual_using_subcommand revert" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c punctual -n "__fish_punctual_using_subcommand measure" -l profile -d 'Kind of work the machine is for: a preset, a profile of the project file, or just periodic, poll or audio' -r -f -a "ethercat\t'EtherCAT master with distributed clocks'
robotics\t'Robot arm commanded over Ethernet at 1 kHz'
ros2\t'Controller manager of ros2_control'
plc\t'Soft PLC with cyclic tasks'
audio\t'64 frames at 48 kHz on a desktop, beside other programs'
telecom\t'Radio or packet processing that polls'
cnc\t'Machine tool: servo thread of 1 ms'
periodic\t'A loop that blocks until its next release'
poll\t'A thread that polls and never gives up its CPU'"
complete -c punctual -n "__fish_punctual_using_subcommand measure" -l config -d 'Project file that states the need [default: punctual.toml in this folder, if it is there]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand measure" -l cpus -d 'CPUs to measure; leave one out for punctual\'s own helper threads, or the run is not trusted [default: every CPU this process may use]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure" -l period -d 'Time between releases: one for all, or by CPU as in 0=1ms,1=500us [default: 1ms; 50ms with nanosleep]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure" -l policy -d 'Scheduling policy' -r -f -a "fifo\t'SCHED_FIFO'
rr\t'SCHED_RR'
deadline\t'SCHED_DEADLINE: threads are not pinned'
other\t'SCHED_OTHER'"
complete -c punctual -n "__fish_punctual_using_subcommand measure" -l priority -d 'Priority for fifo and rr, 1 to 95 [default: the profile\'s, or 90]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure" -l runtime -d 'Run time per period for deadline [default: a fifth of the shortest period]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure" -l mechanism -d 'How the threads wait; on EVL absolute, on Cobalt absolute or timerfd (a timer file of its own)' -r -f -a "absolute\t'clock_nanosleep until the release itself'
relative\t'clock_nanosleep for the time left'
timerfd\t'timerfd and read'
futex\t'futex with a time-out'
hybrid\t'Sleep until shortly before the release, then poll the clock'
spin\t'Poll the clock; leaves one CPU free'
nanosleep\t'Sleep for one period from the current time, as the published suite classic-2002 does'
rpmsg\t'Send a message to another processor through --endpoint and wait for its answer'
shm\t'Write a number to memory shared with another processor, and poll for its answer'"
complete -c punctual -n "__fish_punctual_using_subcommand measure" -l endpoint -d 'With rpmsg and shm: device file or memory of the other side, such as /dev/rpmsg0, or PATH@OFFSET in bytes for memory' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure" -l clock -d 'The clock that sets the times of the releases and measures the latency: realtime, tai, aux:0 to aux:7, or a PTP device such as /dev/ptp0' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure" -l kernel -d 'The kernel that wakes the threads: Linux, or a real-time core beside it; two of them, as in linux,evl, are measured in turn, half of the duration each, and compared; --out then names a folder' -r -f -a "linux\t'Linux, in-band'
evl\t'The EVL core of Xenomai 4, out-of-band'
cobalt\t'The Cobalt core of Xenomai 3, out-of-band'"
complete -c punctual -n "__fish_punctual_using_subcommand measure" -l context -d 'With one real-time core: what reads the clock after a release' -r -f -a "user\t'A thread of this program'
kernel\t'A task in the kernel, measured by the core\'s driver (latmus, timerbench)'
irq\t'The handler of the timer, measured by the core\'s driver'"
complete -c punctual -n "__fish_punctual_using_subcommand measure" -l gravity -d 'With a real-time core: by how much its timers fire early, to compensate for the time from the timer to the thread' -r -f -a "leave\t'Leave the gravity as it is'
tune\t'Let the core\'s driver find the gravity, which takes up to 80 s; lasts until the next boot'
reset\t'Restore the value that the kernel was built with'"
complete -c punctual -n "__fish_punctual_using_subcommand measure" -l rounds -d 'With two kernels: number of rounds; each kernel is measured once in each round' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure" -l phase -d 'Phase of the releases on the clock' -r -f -a "auto\t'Same instant on all CPUs, as far from the tick as possible'
aligned\t'Same instant on all CPUs, at multiples of the period'
staggered\t'Spread evenly over the period, CPU by CPU'
random\t'At random'"
complete -c punctual -n "__fish_punctual_using_subcommand measure" -l seed -d 'Seed of --phase random' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure" -l warm-up -d 'Warm-up before statistics begin: a time, or a number of activations' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure" -l duration -d 'How long to measure [default: 30s]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure" -l activations -d 'Measure this number of activations of each thread instead' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure" -l budget -d 'Largest latency you can live with: activations beyond it are counted' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure" -l limit -d 'Stop at the first activation later than this, and exit with 2' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure" -l dma-latency -d 'Hold /dev/cpu_dma_latency at this number of microseconds during the run; it is not touched otherwise' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure" -l load -d 'Load phases in turn, each with an optional weight: idle:1,cpu+memory:2 [default: the profile\'s, or none]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure" -l load-cpus -d 'CPUs the loads run on [default: every CPU that is not isolated]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure" -l load-dir -d 'Directory for the files of I/O loads [default: the folder of the recording]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand measure" -l suite -d 'Run a published suite instead of a scenario of your own' -r -f -a "classic-2002\t'Idle, copy, read, write, /proc and graphics; 50 ms sleeps, 1000 samples each, the first two dropped'"
complete -c punctual -n "__fish_punctual_using_subcommand measure" -l explain-threshold -d 'Activations with more latency than this are late [default: the latency that 99.9 % of the run so far did not exceed]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure" -l windows -d 'Keep what the kernel did around late activations, but for at most this number of them' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure" -l trace-buffer -d 'Size of the kernel\'s trace buffer for each measured CPU, as in 16M [default: 32M, less if memory is short]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure" -l explain-engine -d 'How to look for causes: by the kernel\'s trace, alone or together with the kernel\'s noise tracer, or by a BPF program if this build has it' -r -f -a "tracefs\t'The kernel\'s trace'
bpf\t'A program in the kernel'
timerlat\t'The kernel\'s trace and its osnoise tracer, as a second opinion; needs a kernel with both tracers, from 6.2 on'"
complete -c punctual -n "__fish_punctual_using_subcommand measure" -l resume -d 'Continue this recording, in the same boot and with its own scenario: append the part that was left to measure, or as much as --duration or --activations say' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand measure" -l wait-quiet -d 'Wait up to this time until other programs are idle before an idle phase is measured' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure" -l out -d 'Recording to write [default: punctual-DATE-TIME.punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand measure" -l html -d 'Also write an HTML report to this file' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand measure" -l color -d 'When to colour: auto is on a terminal, unless NO_COLOR is set' -r -f -a "auto\t''
always\t''
never\t''"
complete -c punctual -n "__fish_punctual_using_subcommand measure" -l lang -d 'Language of what people read; formats for programs are English [default: the locale\'s, or en]' -r -f -a "en\t''
zh\t'Chinese, in simplified characters'"
complete -c punctual -n "__fish_punctual_using_subcommand measure" -l list-loads -d 'List the available loads'
complete -c punctual -n "__fish_punctual_using_subcommand measure" -l explain -d 'Look for causes of late activations during the run; punctual explain shows them'
complete -c punctual -n "__fish_punctual_using_subcommand measure" -l full -d 'Print the whole report, with the answer last'
complete -c punctual -n "__fish_punctual_using_subcommand measure" -s q -l brief -l quiet -d 'Print one line and no progress, for scripts and CI logs'
complete -c punctual -n "__fish_punctual_using_subcommand measure" -l json -d 'Print one JSON document instead of text'
complete -c punctual -n "__fish_punctual_using_subcommand measure" -l live -d 'Show the running measurement on the terminal, with keys to pause the view, reset it, mark a moment, quit'
complete -c punctual -n "__fish_punctual_using_subcommand measure" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c punctual -n "__fish_punctual_using_subcommand merge" -s o -l out -d 'Recording to write' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand merge" -l color -d 'When to colour: auto is on a terminal, unless NO_COLOR is set' -r -f -a "auto\t''
always\t''
never\t''"
complete -c punctual -n "__fish_punctual_using_subcommand merge" -l lang -d 'Language of what people read; formats for programs are English [default: the locale\'s, or en]' -r -f -a "en\t''
zh\t'Chinese, in simplified characters'"
complete -c punctual -n "__fish_punctual_using_subcommand merge" -l json -d 'Print one JSON document: the report of the merged recording'
complete -c punctual -n "__fish_punctual_using_subcommand merge" -s q -l brief -l quiet -d 'Print one line and no progress, for scripts and CI logs'
complete -c punctual -n "__fish_punctual_using_subcommand merge" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c punctual -n "__fish_punctual_using_subcommand explain" -l day -d 'For the folder of a watch, show this day: its number, or its date in UTC as in 2026-11-22' -r
complete -c punctual -n "__fish_punctual_using_subcommand explain" -l html -d 'Write an HTML page with charts of the worst activations to this file' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand explain" -l perfetto -d 'Write a trace for the Perfetto viewer to this file' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand explain" -l top -d 'Number of causes to show; with --full all' -r
complete -c punctual -n "__fish_punctual_using_subcommand explain" -l spike -d 'Show one late activation part by part; 1 is the worst' -r
complete -c punctual -n "__fish_punctual_using_subcommand explain" -l color -d 'When to colour: auto is on a terminal, unless NO_COLOR is set' -r -f -a "auto\t''
always\t''
never\t''"
complete -c punctual -n "__fish_punctual_using_subcommand explain" -l lang -d 'Language of what people read; formats for programs are English [default: the locale\'s, or en]' -r -f -a "en\t''
zh\t'Chinese, in simplified characters'"
complete -c punctual -n "__fish_punctual_using_subcommand explain" -l full -d 'Print everything: all causes with the knobs that affect them, more of the worst activations, and the method; with --json all windows, some megabytes for a long recording'
complete -c punctual -n "__fish_punctual_using_subcommand explain" -s q -l brief -l quiet -d 'Print one line and no progress, for scripts and CI logs'
complete -c punctual -n "__fish_punctual_using_subcommand explain" -l json -d 'Print one JSON document'
complete -c punctual -n "__fish_punctual_using_subcommand explain" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c punctual -n "__fish_punctual_using_subcommand inspect" -l thread -d 'Report only this thread, given by its id or its name' -r
complete -c punctual -n "__fish_punctual_using_subcommand inspect" -l duration -d 'How long to observe; a COMMAND that still runs after this time is ended' -r
complete -c punctual -n "__fish_punctual_using_subcommand inspect" -l budget -d 'Largest latency you can live with; releases above it are counted' -r
complete -c punctual -n "__fish_punctual_using_subcommand inspect" -l fail-on -d 'Exit with 2 if a cycle has one of these: alloc, fault, syscall, lock, late=TIME; with 3 if this could not be observed' -r
complete -c punctual -n "__fish_punctual_using_subcommand inspect" -l junit -d 'Write JUnit XML to this file, for CI: one case for each condition of --fail-on in each thread' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand inspect" -l sarif -d 'Write SARIF 2.1.0 to this file, for code-review tools: the operations in the cycles, with their source lines' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand inspect" -l html -d 'Write an HTML page with all results, and pictures of late cycles' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand inspect" -l cycles -d 'Write a line for each cycle to this file as comma-separated values: when it was released, when the thread woke and when it waited again' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand inspect" -l cost -d 'Largest share of one CPU that the observation may use; if it uses more after its first seconds, it observes less, and says what it gives up' -r
complete -c punctual -n "__fish_punctual_using_subcommand inspect" -l engine -d 'Use only this engine, and fail if it cannot be used; without this option, the first one that can be used' -r -f -a "bpf\t'A program in the kernel, in builds that have it; needs BTF, CAP_BPF and CAP_PERFMON'
tracefs\t'The kernel\'s trace; needs root'"
complete -c punctual -n "__fish_punctual_using_subcommand inspect" -l color -d 'When to colour: auto is on a terminal, unless NO_COLOR is set' -r -f -a "auto\t''
always\t''
never\t''"
complete -c punctual -n "__fish_punctual_using_subcommand inspect" -l lang -d 'Language of what people read; formats for programs are English [default: the locale\'s, or en]' -r -f -a "en\t''
zh\t'Chinese, in simplified characters'"
complete -c punctual -n "__fish_punctual_using_subcommand inspect" -l children -d 'Also observe the processes that PROGRAM has started or will start; those of a COMMAND are always observed'
complete -c punctual -n "__fish_punctual_using_subcommand inspect" -l live -d 'Show the results so far while the program is observed, on the whole terminal'
complete -c punctual -n "__fish_punctual_using_subcommand inspect" -l no-causes -d 'Do not look for the causes of late cycles, and so do not record what else runs on the CPUs of the program'
complete -c punctual -n "__fish_punctual_using_subcommand inspect" -l no-allocations -d 'Do not probe the allocator of the program. Such a probe is a breakpoint in the program\'s memory at malloc and similar functions, and is removed if it takes more than a hundredth of the time'
complete -c punctual -n "__fish_punctual_using_subcommand inspect" -l no-trace -d 'Do not use the kernel\'s trace, only counters'
complete -c punctual -n "__fish_punctual_using_subcommand inspect" -l dry-run -d 'Say what would be observed and how, and do nothing'
complete -c punctual -n "__fish_punctual_using_subcommand inspect" -s q -l brief -l quiet -d 'Print one line and no progress, for scripts and CI logs'
complete -c punctual -n "__fish_punctual_using_subcommand inspect" -l json -d 'Print one JSON document instead of text'
complete -c punctual -n "__fish_punctual_using_subcommand inspect" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c punctual -n "__fish_punctual_using_subcommand watch" -l thread -d 'Watch only this thread of PROGRAM, given by its id or its name' -r
complete -c punctual -n "__fish_punctual_using_subcommand watch" -l profile -d 'Kind of work the machine is for: a preset, a profile of the project file, or just periodic, poll or audio' -r -f -a "ethercat\t'EtherCAT master with distributed clocks'
robotics\t'Robot arm commanded over Ethernet at 1 kHz'
ros2\t'Controller manager of ros2_control'
plc\t'Soft PLC with cyclic tasks'
audio\t'64 frames at 48 kHz on a desktop, beside other programs'
telecom\t'Radio or packet processing that polls'
cnc\t'Machine tool: servo thread of 1 ms'
periodic\t'A loop that blocks until its next release'
poll\t'A thread that polls and never gives up its CPU'"
complete -c punctual -n "__fish_punctual_using_subcommand watch" -l config -d 'Project file that states the need [default: punctual.toml in this folder, if it is there]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand watch" -l cpus -d 'CPUs to watch, for example 2-3 [default: the isolated ones, or all but the first core]' -r
complete -c punctual -n "__fish_punctual_using_subcommand watch" -l period -d 'Time between releases; the watch makes it longer if it would cost too much [default: the profile\'s, or 1ms]' -r
complete -c punctual -n "__fish_punctual_using_subcommand watch" -l budget -d 'Largest latency you can live with: activations beyond it are counted, and cause the actions of --on-late' -r
complete -c punctual -n "__fish_punctual_using_subcommand watch" -l priority -d 'SCHED_FIFO priority, 1 to 95: choose that of the work whose latency you want to know [default: the profile\'s, or 90]' -r
complete -c punctual -n "__fish_punctual_using_subcommand watch" -l store -d 'Folder for the results [default: /var/lib/punctual-watch as root, else ~/.local/state/punctual/watch]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand watch" -l keep -d 'Largest size of the folder for the results; when it is full, the oldest days lose detail' -r
complete -c punctual -n "__fish_punctual_using_subcommand watch" -l cost -d 'Largest share of one CPU, for each watched CPU or thread, that the watch may use; if it would use more, it measures less, and says what it gives up' -r
complete -c punctual -n "__fish_punctual_using_subcommand watch" -l on-late -d 'What to do after an activation beyond the budget: a command, or snapshot, stop, or signal=NAME,PID; may be given several times, and is done at most once in ten seconds' -r
complete -c punctual -n "__fish_punctual_using_subcommand watch" -l metrics -d 'Where Prometheus finds the metrics: a loopback address as in 127.0.0.1:9464, unix:PATH, or file:PATH' -r
complete -c punctual -n "__fish_punctual_using_subcommand watch" -l duration -d 'How long to watch [default: until it is ended]' -r
complete -c punctual -n "__fish_punctual_using_subcommand watch" -l color -d 'When to colour: auto is on a terminal, unless NO_COLOR is set' -r -f -a "auto\t''
always\t''
never\t''"
complete -c punctual -n "__fish_punctual_using_subcommand watch" -l lang -d 'Language of what people read; formats for programs are English [default: the locale\'s, or en]' -r -f -a "en\t''
zh\t'Chinese, in simplified characters'"
complete -c punctual -n "__fish_punctual_using_subcommand watch" -l wait -d 'If PROGRAM does not run yet, wait for it; --install implies this'
complete -c punctual -n "__fish_punctual_using_subcommand watch" -l no-trace -d 'Do not record what the kernel does on the watched CPUs, so that late activations have no causes'
complete -c punctual -n "__fish_punctual_using_subcommand watch" -l install -d 'Write a systemd unit that watches with these options from now on, also after each boot, and start it'
complete -c punctual -n "__fish_punctual_using_subcommand watch" -l uninstall -d 'End the watch that --install began, and remove its unit; the folder with the results is kept'
complete -c punctual -n "__fish_punctual_using_subcommand watch" -l dry-run -d 'With --install or --uninstall, say what would be written and do nothing'
complete -c punctual -n "__fish_punctual_using_subcommand watch" -s q -l quiet -d 'Print no messages but errors'
complete -c punctual -n "__fish_punctual_using_subcommand watch" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c punctual -n "__fish_punctual_using_subcommand export" -l format -d 'Format to write' -r -f -a "cyclictest\t'The histogram of cyclictest -h, for plotting scripts'
rt-tests-json\t'The JSON of rt-tests, for KernelCI and OpenShift'
gnuplot\t'Columns for gnuplot, with a heading'
csv\t'One line for each cell, for spreadsheets and data frames'
hdr\t'HdrHistogram log, version 2'
prometheus\t'Metrics for the textfile collector of Prometheus; a file is replaced in one step'
influx\t'Line protocol of InfluxDB, for Telegraf and VictoriaMetrics as well'
ktap\t'KTAP, version 1, as tests of the kernel print'
lava\t'Test cases as LAVA collects them'
junit\t'JUnit XML, for CI'
parquet\t'Parquet, one table for all runs of a fleet, over time; needs --out'"
complete -c punctual -n "__fish_punctual_using_subcommand export" -s o -l out -d 'File to write [default: standard output]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand export" -l budget -d 'Largest latency you can live with, for formats that say whether a run passed [default: the recording\'s]' -r
complete -c punctual -n "__fish_punctual_using_subcommand export" -l run -d 'Name of the run in the table of --format parquet [default: the file\'s name]' -r
complete -c punctual -n "__fish_punctual_using_subcommand export" -l machine-name -d 'Name of the machine in the table of --format parquet [default: its name or model, if the file states it]' -r
complete -c punctual -n "__fish_punctual_using_subcommand export" -l from -d 'Read the file in this format, without recognising it: cyclictest, rt-tests-json, rt-tests-pairs, xenomai, latmus, rtla, jitterdebugger, jitterdebugger-raw, oslat, queuelat, hwlatdetect, rteval, stress-ng, rt-app, hdr, hgrm, boards, timestamps, periods or latencies' -r
complete -c punctual -n "__fish_punctual_using_subcommand export" -l unit -d 'Unit of the numbers, if the file does not state it: ns, us, ms or s' -r
complete -c punctual -n "__fish_punctual_using_subcommand export" -l period -d 'Time between releases, if the file does not state it' -r
complete -c punctual -n "__fish_punctual_using_subcommand export" -l color -d 'When to colour: auto is on a terminal, unless NO_COLOR is set' -r -f -a "auto\t''
always\t''
never\t''"
complete -c punctual -n "__fish_punctual_using_subcommand export" -l lang -d 'Language of what people read; formats for programs are English [default: the locale\'s, or en]' -r -f -a "en\t''
zh\t'Chinese, in simplified characters'"
complete -c punctual -n "__fish_punctual_using_subcommand export" -s q -l quiet -d 'Print no messages but errors'
complete -c punctual -n "__fish_punctual_using_subcommand export" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c punctual -n "__fish_punctual_using_subcommand report" -l from -d 'Read the file in this format, without recognising it: cyclictest, rt-tests-json, rt-tests-pairs, xenomai, latmus, rtla, jitterdebugger, jitterdebugger-raw, oslat, queuelat, hwlatdetect, rteval, stress-ng, rt-app, hdr, hgrm, boards, timestamps, periods or latencies' -r
complete -c punctual -n "__fish_punctual_using_subcommand report" -l unit -d 'Unit of the numbers, if the file does not state it: ns, us, ms or s' -r
complete -c punctual -n "__fish_punctual_using_subcommand report" -l period -d 'Time between releases, if the file does not state it' -r
complete -c punctual -n "__fish_punctual_using_subcommand report" -l html -d 'Write an HTML report to this file' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand report" -l between -d 'Report only what happened between two times: of the run as in +1h30m, or of the day as in 2026-11-22T10:00 (UTC, or with an offset as in +01:00)' -r
complete -c punctual -n "__fish_punctual_using_subcommand report" -l day -d 'For the folder of a watch, show this day: its number, or its date in UTC as in 2026-11-22' -r
complete -c punctual -n "__fish_punctual_using_subcommand report" -l plot -d 'Draw a chart into FILE, which ends in .svg or .png, or without FILE on the terminal' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand report" -l chart -d 'Which chart' -r -f -a "histogram\t'How often which latency occurred; both axes logarithmic'
exceedance\t'The share of activations later than each latency, with the limits of its confidence; both axes logarithmic'
over-time\t'Median, 99.9 % and largest latency over the time of the run'"
complete -c punctual -n "__fish_punctual_using_subcommand report" -l with -d 'Draw another result into the same chart; can be given several times' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand report" -l color -d 'When to colour: auto is on a terminal, unless NO_COLOR is set' -r -f -a "auto\t''
always\t''
never\t''"
complete -c punctual -n "__fish_punctual_using_subcommand report" -l lang -d 'Language of what people read; formats for programs are English [default: the locale\'s, or en]' -r -f -a "en\t''
zh\t'Chinese, in simplified characters'"
complete -c punctual -n "__fish_punctual_using_subcommand report" -l full -d 'Print the whole report, with the answer last'
complete -c punctual -n "__fish_punctual_using_subcommand report" -s q -l brief -l quiet -d 'Print one line and no progress, for scripts and CI logs'
complete -c punctual -n "__fish_punctual_using_subcommand report" -l json -d 'Print one JSON document instead of text'
complete -c punctual -n "__fish_punctual_using_subcommand report" -l text -d 'Also print text when --html writes a page'
complete -c punctual -n "__fish_punctual_using_subcommand report" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c punctual -n "__fish_punctual_using_subcommand compare" -l from -d 'Read the file in this format, without recognising it: cyclictest, rt-tests-json, rt-tests-pairs, xenomai, latmus, rtla, jitterdebugger, jitterdebugger-raw, oslat, queuelat, hwlatdetect, rteval, stress-ng, rt-app, hdr, hgrm, boards, timestamps, periods or latencies' -r
complete -c punctual -n "__fish_punctual_using_subcommand compare" -l unit -d 'Unit of the numbers, if the file does not state it: ns, us, ms or s' -r
complete -c punctual -n "__fish_punctual_using_subcommand compare" -l period -d 'Time between releases, if the file does not state it' -r
complete -c punctual -n "__fish_punctual_using_subcommand compare" -l profile -d 'Kind of work the machine is for: a preset, a profile of the project file, or just periodic, poll or audio' -r -f -a "ethercat\t'EtherCAT master with distributed clocks'
robotics\t'Robot arm commanded over Ethernet at 1 kHz'
ros2\t'Controller manager of ros2_control'
plc\t'Soft PLC with cyclic tasks'
audio\t'64 frames at 48 kHz on a desktop, beside other programs'
telecom\t'Radio or packet processing that polls'
cnc\t'Machine tool: servo thread of 1 ms'
periodic\t'A loop that blocks until its next release'
poll\t'A thread that polls and never gives up its CPU'"
complete -c punctual -n "__fish_punctual_using_subcommand compare" -l config -d 'Project file that states the need [default: punctual.toml in this folder, if it is there]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand compare" -l baseline -d 'Compare all recordings with this one' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand compare" -l a -d 'Several recordings of the first side, compared with those of --b: how much the runs of one side differ determines how certain a difference is' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand compare" -l b -d 'Several recordings of the second side' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand compare" -l interleave -d 'Measure in turn: run COMMAND A, measure, run COMMAND B, measure, and so on, A B B A; then compare the rounds' -r
complete -c punctual -n "__fish_punctual_using_subcommand compare" -l rounds -d 'With --interleave: number of rounds, each of one measurement of A and one of B' -r
complete -c punctual -n "__fish_punctual_using_subcommand compare" -l duration -d 'With --interleave: length of each measurement [default: 30s]' -r
complete -c punctual -n "__fish_punctual_using_subcommand compare" -l settle -d 'With --interleave: time to wait after each command before measuring' -r
complete -c punctual -n "__fish_punctual_using_subcommand compare" -l cpus -d 'With --interleave: CPUs to measure [default: all that are allowed]' -r
complete -c punctual -n "__fish_punctual_using_subcommand compare" -l load -d 'With --interleave: load to measure under [default: the profile\'s, or none]' -r
complete -c punctual -n "__fish_punctual_using_subcommand compare" -l seed -d 'With --interleave: seed of the order [default: from the clock]' -r
complete -c punctual -n "__fish_punctual_using_subcommand compare" -l out -d 'With --interleave: folder to make for the state and the recordings [default: punctual-compare-DATE-TIME]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand compare" -l resume -d 'Continue the rounds in this folder, with the options they were started with' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand compare" -l margin -d 'Changes smaller than this share of the first value count as neither better nor worse' -r
complete -c punctual -n "__fish_punctual_using_subcommand compare" -l budget -d 'Count activations later than this as misses [default: the budget of the recordings]' -r
complete -c punctual -n "__fish_punctual_using_subcommand compare" -l fail-on -d 'Exit with 2 if a comparison has this result' -r -f -a "worse\t'Recordings that are worse, in part or in all'
unsure\t'Also recordings with too little data to tell'"
complete -c punctual -n "__fish_punctual_using_subcommand compare" -l html -d 'Write an HTML page with overlaid charts to this file' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand compare" -l junit -d 'Write JUnit XML to this file, for CI' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand compare" -l color -d 'When to colour: auto is on a terminal, unless NO_COLOR is set' -r -f -a "auto\t''
always\t''
never\t''"
complete -c punctual -n "__fish_punctual_using_subcommand compare" -l lang -d 'Language of what people read; formats for programs are English [default: the locale\'s, or en]' -r -f -a "en\t''
zh\t'Chinese, in simplified characters'"
complete -c punctual -n "__fish_punctual_using_subcommand compare" -l dry-run -d 'With --interleave: show the order and how long it takes; run and measure nothing'
complete -c punctual -n "__fish_punctual_using_subcommand compare" -l anyway -d 'Compare recordings that should not be compared; the result says so'
complete -c punctual -n "__fish_punctual_using_subcommand compare" -l as-if-independent -d 'Also give a verdict for files that do not contain the order of their values, as if the values were independent'
complete -c punctual -n "__fish_punctual_using_subcommand compare" -l full -d 'Print every number, group and difference'
complete -c punctual -n "__fish_punctual_using_subcommand compare" -s q -l brief -l quiet -d 'Print one line and no progress, for scripts and CI logs'
complete -c punctual -n "__fish_punctual_using_subcommand compare" -l json -d 'Print one JSON document'
complete -c punctual -n "__fish_punctual_using_subcommand compare" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c punctual -n "__fish_punctual_using_subcommand trend" -l margin -d 'Shifts smaller than this share of the value before are not reported' -r
complete -c punctual -n "__fish_punctual_using_subcommand trend" -l false-alarms -d 'Number of false alarms that are accepted in a thousand runs' -r
complete -c punctual -n "__fish_punctual_using_subcommand trend" -l fail-on -d 'Exit with 2 if the series has this result' -r -f -a "worse\t'A series that became worse'
shift\t'Also a series that became better, because something changed unnoticed'
never\t'None'"
complete -c punctual -n "__fish_punctual_using_subcommand trend" -l html -d 'Write an HTML page with the runs over time to this file' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand trend" -l color -d 'When to colour: auto is on a terminal, unless NO_COLOR is set' -r -f -a "auto\t''
always\t''
never\t''"
complete -c punctual -n "__fish_punctual_using_subcommand trend" -l lang -d 'Language of what people read; formats for programs are English [default: the locale\'s, or en]' -r -f -a "en\t''
zh\t'Chinese, in simplified characters'"
complete -c punctual -n "__fish_punctual_using_subcommand trend" -l json -d 'Print one JSON document'
complete -c punctual -n "__fish_punctual_using_subcommand trend" -l csv -d 'Print the runs as CSV, one line each, as Apache Otava reads it'
complete -c punctual -n "__fish_punctual_using_subcommand trend" -s q -l brief -l quiet -d 'Print one line and no progress, for scripts and CI logs'
complete -c punctual -n "__fish_punctual_using_subcommand trend" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c punctual -n "__fish_punctual_using_subcommand campaign" -l shorten -d 'Divide all durations by this factor, to see whether a campaign runs to its end' -r
complete -c punctual -n "__fish_punctual_using_subcommand campaign" -l out -d 'Folder to make for the campaign and its recordings [default: punctual-campaign-DATE-TIME; below /var/lib if the machine is rebooted for it]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand campaign" -l resume -d 'Continue the campaign in this folder, or show its result again if it is complete' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand campaign" -l html -d 'Also write the page with all cells to this file; the campaign\'s folder has one in any case' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand campaign" -l color -d 'When to colour: auto is on a terminal, unless NO_COLOR is set' -r -f -a "auto\t''
always\t''
never\t''"
complete -c punctual -n "__fish_punctual_using_subcommand campaign" -l lang -d 'Language of what people read; formats for programs are English [default: the locale\'s, or en]' -r -f -a "en\t''
zh\t'Chinese, in simplified characters'"
complete -c punctual -n "__fish_punctual_using_subcommand campaign" -l at-boot -d 'Continues unattended after a boot'
complete -c punctual -n "__fish_punctual_using_subcommand campaign" -l dry-run -d 'Show what would be measured and how long it takes; change nothing'
complete -c punctual -n "__fish_punctual_using_subcommand campaign" -s y -l yes -d 'Do not ask for confirmation'
complete -c punctual -n "__fish_punctual_using_subcommand campaign" -l json -d 'Print one JSON document'
complete -c punctual -n "__fish_punctual_using_subcommand campaign" -s q -l brief -l quiet -d 'Print one line and no progress, for scripts and CI logs'
complete -c punctual -n "__fish_punctual_using_subcommand campaign" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c punctual -n "__fish_punctual_using_subcommand share" -s o -l out -d 'File to write [default: share-DATE-TIME.json]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand share" -l title -d 'What was measured on which machine, in one line [default: model and kernel]' -r
complete -c punctual -n "__fish_punctual_using_subcommand share" -l load -d 'Load of the machine during the measurement, for the result of another program' -r
complete -c punctual -n "__fish_punctual_using_subcommand share" -l published -d 'Where the numbers were published, if they are not yours' -r
complete -c punctual -n "__fish_punctual_using_subcommand share" -l day -d 'Day of the measurement or the publication, as 2026-11-27 [default: that of the recording]' -r
complete -c punctual -n "__fish_punctual_using_subcommand share" -l fact -d 'A fact about the machine that the result does not state, as in "model=RK3588 board"; may be given several times' -r
complete -c punctual -n "__fish_punctual_using_subcommand share" -l doubt -d 'A doubt about the numbers; may be given several times' -r
complete -c punctual -n "__fish_punctual_using_subcommand share" -l machine -d 'A snapshot of the machine that was measured [default: this machine, if the result is of it]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand share" -l check -d 'Check files of others instead: whether they are complete and contain nothing private' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand share" -l from -d 'Read the file in this format, without recognising it: cyclictest, rt-tests-json, rt-tests-pairs, xenomai, latmus, rtla, jitterdebugger, jitterdebugger-raw, oslat, queuelat, hwlatdetect, rteval, stress-ng, rt-app, hdr, hgrm, boards, timestamps, periods or latencies' -r
complete -c punctual -n "__fish_punctual_using_subcommand share" -l unit -d 'Unit of the numbers, if the file does not state it: ns, us, ms or s' -r
complete -c punctual -n "__fish_punctual_using_subcommand share" -l period -d 'Time between releases, if the file does not state it' -r
complete -c punctual -n "__fish_punctual_using_subcommand share" -l color -d 'When to colour: auto is on a terminal, unless NO_COLOR is set' -r -f -a "auto\t''
always\t''
never\t''"
complete -c punctual -n "__fish_punctual_using_subcommand share" -l lang -d 'Language of what people read; formats for programs are English [default: the locale\'s, or en]' -r -f -a "en\t''
zh\t'Chinese, in simplified characters'"
complete -c punctual -n "__fish_punctual_using_subcommand share" -l no-snapshot -d 'Leave out the snapshot'
complete -c punctual -n "__fish_punctual_using_subcommand share" -l dry-run -d 'Print the file instead of writing it'
complete -c punctual -n "__fish_punctual_using_subcommand share" -s y -l yes -d 'Write without asking'
complete -c punctual -n "__fish_punctual_using_subcommand share" -s q -l quiet -d 'Print no messages but errors'
complete -c punctual -n "__fish_punctual_using_subcommand share" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c punctual -n "__fish_punctual_using_subcommand snapshot" -s o -l out -d 'File to write [default: standard output]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand snapshot" -l color -d 'When to colour: auto is on a terminal, unless NO_COLOR is set' -r -f -a "auto\t''
always\t''
never\t''"
complete -c punctual -n "__fish_punctual_using_subcommand snapshot" -l lang -d 'Language of what people read; formats for programs are English [default: the locale\'s, or en]' -r -f -a "en\t''
zh\t'Chinese, in simplified characters'"
complete -c punctual -n "__fish_punctual_using_subcommand snapshot" -l raw -d 'Mask nothing: keep host and user names, addresses, serial numbers and the whole command line'
complete -c punctual -n "__fish_punctual_using_subcommand snapshot" -s q -l quiet -d 'Print no messages but errors'
complete -c punctual -n "__fish_punctual_using_subcommand snapshot" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and not __fish_seen_subcommand_from run pack ask help" -l color -d 'When to colour: auto is on a terminal, unless NO_COLOR is set' -r -f -a "auto\t''
always\t''
never\t''"
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and not __fish_seen_subcommand_from run pack ask help" -l lang -d 'Language of what people read; formats for programs are English [default: the locale\'s, or en]' -r -f -a "en\t''
zh\t'Chinese, in simplified characters'"
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and not __fish_seen_subcommand_from run pack ask help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and not __fish_seen_subcommand_from run pack ask help" -f -a "run" -d 'Run a command of punctual on many hosts by ssh, and fetch what it writes'
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and not __fish_seen_subcommand_from run pack ask help" -f -a "pack" -d 'Pack the recordings and audits of many machines into tables that SQL engines can read'
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and not __fish_seen_subcommand_from run pack ask help" -f -a "ask" -d 'Ask the packed tables a question, by DuckDB: which machines are bad, what they share, which change made them worse'
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and not __fish_seen_subcommand_from run pack ask help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from run" -l hosts -d 'List of hosts: one on each line, in a form that ssh accepts; text after a # is ignored' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from run" -l out -d 'Folder of the results; with the folder of an earlier run, only hosts without a result are tried [default: punctual-fleet-DATE-TIME]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from run" -l at-once -d 'Number of hosts that work at the same time' -r
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from run" -l time-limit -d 'Longest time for the command on one host, after which it is ended [default: no limit]' -r
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from run" -l connect-limit -d 'Longest time for reaching a host' -r
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from run" -l stop-after -d 'Start no further host after N of them have failed [default: try all]' -r
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from run" -l program -d 'Name or path of punctual on the hosts' -r
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from run" -l bring -d 'Copy this static program to the hosts and remove it afterwards; once for each architecture among the hosts' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from run" -l ssh-config -d 'Configuration of ssh in place of ~/.ssh/config' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from run" -l color -d 'When to colour: auto is on a terminal, unless NO_COLOR is set' -r -f -a "auto\t''
always\t''
never\t''"
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from run" -l lang -d 'Language of what people read; formats for programs are English [default: the locale\'s, or en]' -r -f -a "en\t''
zh\t'Chinese, in simplified characters'"
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from run" -l sudo -d 'Run the command by sudo, which must not ask for a password'
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from run" -l json -d 'Print one JSON document'
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from run" -s q -l brief -l quiet -d 'Print one line and no progress, for scripts and CI logs'
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from pack" -s o -l out -d 'Folder of the tables; what is packed there already is not packed again' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from pack" -l color -d 'When to colour: auto is on a terminal, unless NO_COLOR is set' -r -f -a "auto\t''
always\t''
never\t''"
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from pack" -l lang -d 'Language of what people read; formats for programs are English [default: the locale\'s, or en]' -r -f -a "en\t''
zh\t'Chinese, in simplified characters'"
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from pack" -l names -d 'Write the names of machines into the tables; without this option they are masked, and only PATH/private contains them'
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from pack" -s q -l quiet -d 'Print no messages but errors'
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from pack" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from ask" -l budget -d 'Latency beyond which an activation is a miss [default: the budget of each recording]' -r
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from ask" -l misses-per-million -d 'A machine is bad if more than this many of a million releases are missed' -r
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from ask" -l machine -d 'Machine to ask about, as the other answers name it [default: all, or the worst one]' -r
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from ask" -l by -d 'Column by which percentiles are grouped' -r -f -a "machine\t''
model\t''
kernel-release\t''
kernel-flavour\t''
architecture\t''
program\t''
configuration\t''
phase\t''
cpu\t''
month\t''"
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from ask" -l sql -d 'Print the question in SQL instead of asking it' -r -f -a "duckdb\t''
datafusion\t''
clickhouse\t''"
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from ask" -l color -d 'When to colour: auto is on a terminal, unless NO_COLOR is set' -r -f -a "auto\t''
always\t''
never\t''"
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from ask" -l lang -d 'Language of what people read; formats for programs are English [default: the locale\'s, or en]' -r -f -a "en\t''
zh\t'Chinese, in simplified characters'"
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from ask" -l json -d 'Print one JSON document'
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from ask" -l csv -d 'Print the rows as CSV'
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from ask" -s q -l quiet -d 'Print no messages but errors'
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from ask" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from help" -f -a "run" -d 'Run a command of punctual on many hosts by ssh, and fetch what it writes'
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from help" -f -a "pack" -d 'Pack the recordings and audits of many machines into tables that SQL engines can read'
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from help" -f -a "ask" -d 'Ask the packed tables a question, by DuckDB: which machines are bad, what they share, which change made them worse'
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c punctual -n "__fish_punctual_using_subcommand torture" -l cpus -d 'CPUs to test; one CPU of the machine always runs ordinary threads only [default: every CPU this process may use]' -r
complete -c punctual -n "__fish_punctual_using_subcommand torture" -l duration -d 'How long to test' -r
complete -c punctual -n "__fish_punctual_using_subcommand torture" -l threads -d 'Threads on each CPU, or timers of each kind [default: 16; 4 with fpu]' -r
complete -c punctual -n "__fish_punctual_using_subcommand torture" -l priority -d 'SCHED_FIFO priority of the first real-time thread, 1 to 95; no thread has a higher one' -r
complete -c punctual -n "__fish_punctual_using_subcommand torture" -l load-dir -d 'Directory for the files of the load that the test heap runs [default: the current one]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand torture" -l color -d 'When to colour: auto is on a terminal, unless NO_COLOR is set' -r -f -a "auto\t''
always\t''
never\t''"
complete -c punctual -n "__fish_punctual_using_subcommand torture" -l lang -d 'Language of what people read; formats for programs are English [default: the locale\'s, or en]' -r -f -a "en\t''
zh\t'Chinese, in simplified characters'"
complete -c punctual -n "__fish_punctual_using_subcommand torture" -l plant -d 'Spoil one register once, to check that switches or fpu notices it: the exit code must then be 2'
complete -c punctual -n "__fish_punctual_using_subcommand torture" -l own-tests -d 'First run the tests of Xenomai 3 (smokey) or Xenomai 4 (evl test), if they are installed'
complete -c punctual -n "__fish_punctual_using_subcommand torture" -s q -l brief -l quiet -d 'Print one line and no progress, for scripts and CI logs'
complete -c punctual -n "__fish_punctual_using_subcommand torture" -l json -d 'Print one JSON document instead of text'
complete -c punctual -n "__fish_punctual_using_subcommand torture" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c punctual -n "__fish_punctual_using_subcommand lab; and not __fish_seen_subcommand_from compare gate bisect help" -l color -d 'When to colour: auto is on a terminal, unless NO_COLOR is set' -r -f -a "auto\t''
always\t''
never\t''"
complete -c punctual -n "__fish_punctual_using_subcommand lab; and not __fish_seen_subcommand_from compare gate bisect help" -l lang -d 'Language of what people read; formats for programs are English [default: the locale\'s, or en]' -r -f -a "en\t''
zh\t'Chinese, in simplified characters'"
complete -c punctual -n "__fish_punctual_using_subcommand lab; and not __fish_seen_subcommand_from compare gate bisect help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c punctual -n "__fish_punctual_using_subcommand lab; and not __fish_seen_subcommand_from compare gate bisect help" -f -a "compare" -d 'Measure several kernels under the same loads, and show them side by side'
complete -c punctual -n "__fish_punctual_using_subcommand lab; and not __fish_seen_subcommand_from compare gate bisect help" -f -a "gate" -d 'Compare a kernel with an earlier one, for CI: exits with 2 if it is worse'
complete -c punctual -n "__fish_punctual_using_subcommand lab; and not __fish_seen_subcommand_from compare gate bisect help" -f -a "bisect" -d 'Find the version, the word of the command line, or the option of the configuration that made a kernel worse'
complete -c punctual -n "__fish_punctual_using_subcommand lab; and not __fish_seen_subcommand_from compare gate bisect help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c punctual -n "__fish_punctual_using_subcommand lab; and __fish_seen_subcommand_from compare" -l kernel -d 'Kernels: debian:12, debian:13-rt, debian:12-rt-arm64, an image (./bzImage), deb:FILE. Each may be followed by +WORD for a word of its command line, and +FILE.ko for a module; +preempt=all is four kernels' -r
complete -c punctual -n "__fish_punctual_using_subcommand lab; and __fish_seen_subcommand_from compare" -l load -d 'Load phases in turn, loads of a phase joined by +; classic-2002 stands for idle and the four loads of the published suite classic-2002 that need no display' -r
complete -c punctual -n "__fish_punctual_using_subcommand lab; and __fish_seen_subcommand_from compare" -l period -d 'Time between releases' -r
complete -c punctual -n "__fish_punctual_using_subcommand lab; and __fish_seen_subcommand_from compare" -l duration -d 'Length of one measurement in the guest\'s time, over all loads' -r
complete -c punctual -n "__fish_punctual_using_subcommand lab; and __fish_seen_subcommand_from compare" -l binary -d 'Static punctual for the guests, one for each architecture [default: this program, if it is static]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand lab; and __fish_seen_subcommand_from compare" -l out -d 'Folder for the results; what is there already is not measured again [default: punctual-lab]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand lab; and __fish_seen_subcommand_from compare" -l cache -d 'Folder for kernels of Debian [default: $PUNCTUAL_LAB_CACHE, or punctual-lab below the user\'s cache]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand lab; and __fish_seen_subcommand_from compare" -l jobs -d 'Guests at once [default: one for each CPU]' -r
complete -c punctual -n "__fish_punctual_using_subcommand lab; and __fish_seen_subcommand_from compare" -l memory -d 'Memory of a guest in MiB' -r
complete -c punctual -n "__fish_punctual_using_subcommand lab; and __fish_seen_subcommand_from compare" -l limit -d 'Longest time that one guest may work, in the host\'s time' -r
complete -c punctual -n "__fish_punctual_using_subcommand lab; and __fish_seen_subcommand_from compare" -l seeds -d 'Number of measurements of each kernel, each with a seed of its own; fewer than 3 show little' -r
complete -c punctual -n "__fish_punctual_using_subcommand lab; and __fish_seen_subcommand_from compare" -l margin -d 'Changes smaller than this share count as neither better nor worse' -r
complete -c punctual -n "__fish_punctual_using_subcommand lab; and __fish_seen_subcommand_from compare" -l html -d 'Write an HTML page to this file' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand lab; and __fish_seen_subcommand_from compare" -l color -d 'When to colour: auto is on a terminal, unless NO_COLOR is set' -r -f -a "auto\t''
always\t''
never\t''"
complete -c punctual -n "__fish_punctual_using_subcommand lab; and __fish_seen_subcommand_from compare" -l lang -d 'Language of what people read; formats for programs are English [default: the locale\'s, or en]' -r -f -a "en\t''
zh\t'Chinese, in simplified characters'"
complete -c punctual -n "__fish_punctual_using_subcommand lab; and __fish_seen_subcommand_from compare" -l real -d 'Use several CPUs and the host\'s time, to see that everything works; the numbers say nothing about a kernel'
complete -c punctual -n "__fish_punctual_using_subcommand lab; and __fish_seen_subcommand_from compare" -l no-explain -d 'Do not look for causes'
complete -c punctual -n "__fish_punctual_using_subcommand lab; and __fish_seen_subcommand_from compare" -s q -l brief -l quiet -d 'Print one line and no progress, for scripts and CI logs'
complete -c punctual -n "__fish_punctual_using_subcommand lab; and __fish_seen_subcommand_from compare" -l full -d 'Print every number of every kernel and load'
complete -c punctual -n "__fish_punctual_using_subcommand lab; and __fish_seen_subcommand_from compare" -l json -d 'Print one JSON document'
complete -c punctual -n "__fish_punctual_using_subcommand lab; and __fish_seen_subcommand_from compare" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c punctual -n "__fish_punctual_using_subcommand lab; and __fish_seen_subcommand_from gate" -l kernel -d 'The kernel to judge, named as for punctual lab compare' -r
complete -c punctual -n "__fish_punctual_using_subcommand lab; and __fish_seen_subcommand_from gate" -l config -d 'Options that the kernel must have been built with, as lines of a configuration; a kernel with other values is refused. With --build, the configuration to build' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand lab; and __fish_seen_subcommand_from gate" -l build -d 'Command that builds the kernel to judge: $PUNCTUAL_CONFIG names its configuration, $PUNCTUAL_IMAGE the file for its image' -r
complete -c punctual -n "__fish_punctual_using_subcommand lab; and __fish_seen_subcommand_from gate" -l baseline -d 'Compare the kernel with the one in this file, which --save has written; load, period, duration and memory are those of the file' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand lab; and __fish_seen_subcommand_from gate" -l save -d 'Write the measurements of this kernel to a file with which later kernels are compared' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand lab; and __fish_seen_subcommand_from gate" -l load -d 'Load phases in turn, loads of a phase joined by +; classic-2002 stands for idle and the four loads of the published suite classic-2002 that need no display' -r
complete -c punctual -n "__fish_punctual_using_subcommand lab; and __fish_seen_subcommand_from gate" -l period -d 'Time between releases' -r
complete -c punctual -n "__fish_punctual_using_subcommand lab; and __fish_seen_subcommand_from gate" -l duration -d 'Length of one measurement in the guest\'s time, over all loads' -r
complete -c punctual -n "__fish_punctual_using_subcommand lab; and __fish_seen_subcommand_from gate" -l binary -d 'Static punctual for the guests, one for each architecture [default: this program, if it is static]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand lab; and __fish_seen_subcommand_from gate" -l out -d 'Folder for the results; what is there already is not measured again [default: punctual-lab]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand lab; and __fish_seen_subcommand_from gate" -l cache -d 'Folder for kernels of Debian [default: $PUNCTUAL_LAB_CACHE, or punctual-lab below the user\'s cache]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand lab; and __fish_seen_subcommand_from gate" -l jobs -d 'Guests at once [default: one for each CPU]' -r
complete -c punctual -n "__fish_punctual_using_subcommand lab; and __fish_seen_subcommand_from gate" -l memory -d 'Memory of a guest in MiB' -r
complete -c punctual -n "__fish_punctual_using_subcommand lab; and __fish_seen_subcommand_from gate" -l limit -d 'Longest time that one guest may work, in the host\'s time' -r
complete -c punctual -n "__fish_punctual_using_subcommand lab; and __fish_seen_subcommand_from gate" -l seeds -d 'Number of measurements, each with a seed of its own' -r
complete -c punctual -n "__fish_punctual_using_subcommand lab; and __fish_seen_subcommand_from gate" -l margin -d 'Changes smaller than this share are no alarm' -r
complete -c punctual -n "__fish_punctual_using_subcommand lab; and __fish_seen_subcommand_from gate" -l junit -d 'Write JUnit XML to this file, for CI: one case for each load' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand lab; and __fish_seen_subcommand_from gate" -l html -d 'Write an HTML page to this file' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand lab; and __fish_seen_subcommand_from gate" -l color -d 'When to colour: auto is on a terminal, unless NO_COLOR is set' -r -f -a "auto\t''
always\t''
never\t''"
complete -c punctual -n "__fish_punctual_using_subcommand lab; and __fish_seen_subcommand_from gate" -l lang -d 'Language of what people read; formats for programs are English [default: the locale\'s, or en]' -r -f -a "en\t''
zh\t'Chinese, in simplified characters'"
complete -c punctual -n "__fish_punctual_using_subcommand lab; and __fish_seen_subcommand_from gate" -s q -l brief -l quiet -d 'Print one line and no progress, for scripts and CI logs'
complete -c punctual -n "__fish_punctual_using_subcommand lab; and __fish_seen_subcommand_from gate" -l json -d 'Print one JSON document, in the format of lab compare'
complete -c punctual -n "__fish_punctual_using_subcommand lab; and __fish_seen_subcommand_from gate" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c punctual -n "__fish_punctual_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l kernel -d 'Kernels in order, the first good and the last bad; or one kernel, with --good-words and --bad-words' -r
complete -c punctual -n "__fish_punctual_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l good-words -d 'Words of the command line with which the kernel is good' -r
complete -c punctual -n "__fish_punctual_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l bad-words -d 'Words of the command line with which the kernel is bad' -r
complete -c punctual -n "__fish_punctual_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l good-config -d 'Configuration of a good kernel' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l bad-config -d 'Configuration of a bad kernel' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l build -d 'Command that builds a kernel: $PUNCTUAL_CONFIG names its configuration, $PUNCTUAL_IMAGE the file for its image' -r
complete -c punctual -n "__fish_punctual_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l load -d 'Load phases in turn, loads of a phase joined by +; classic-2002 stands for idle and the four loads of the published suite classic-2002 that need no display' -r
complete -c punctual -n "__fish_punctual_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l period -d 'Time between releases' -r
complete -c punctual -n "__fish_punctual_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l duration -d 'Length of one measurement in the guest\'s time, over all loads' -r
complete -c punctual -n "__fish_punctual_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l binary -d 'Static punctual for the guests, one for each architecture [default: this program, if it is static]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l out -d 'Folder for the results; what is there already is not measured again [default: punctual-lab]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l cache -d 'Folder for kernels of Debian [default: $PUNCTUAL_LAB_CACHE, or punctual-lab below the user\'s cache]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l jobs -d 'Guests at once [default: one for each CPU]' -r
complete -c punctual -n "__fish_punctual_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l memory -d 'Memory of a guest in MiB' -r
complete -c punctual -n "__fish_punctual_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l limit -d 'Longest time that one guest may work, in the host\'s time' -r
complete -c punctual -n "__fish_punctual_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l seeds -d 'Number of measurements of each kernel, each with a seed of its own' -r
complete -c punctual -n "__fish_punctual_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l margin -d 'The good and the bad kernel must differ by more than this share' -r
complete -c punctual -n "__fish_punctual_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l color -d 'When to colour: auto is on a terminal, unless NO_COLOR is set' -r -f -a "auto\t''
always\t''
never\t''"
complete -c punctual -n "__fish_punctual_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l lang -d 'Language of what people read; formats for programs are English [default: the locale\'s, or en]' -r -f -a "en\t''
zh\t'Chinese, in simplified characters'"
complete -c punctual -n "__fish_punctual_using_subcommand lab; and __fish_seen_subcommand_from bisect" -s q -l brief -l quiet -d 'Print one line and no progress, for scripts and CI logs'
complete -c punctual -n "__fish_punctual_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l json -d 'Print one JSON document'
complete -c punctual -n "__fish_punctual_using_subcommand lab; and __fish_seen_subcommand_from bisect" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c punctual -n "__fish_punctual_using_subcommand lab; and __fish_seen_subcommand_from help" -f -a "compare" -d 'Measure several kernels under the same loads, and show them side by side'
complete -c punctual -n "__fish_punctual_using_subcommand lab; and __fish_seen_subcommand_from help" -f -a "gate" -d 'Compare a kernel with an earlier one, for CI: exits with 2 if it is worse'
complete -c punctual -n "__fish_punctual_using_subcommand lab; and __fish_seen_subcommand_from help" -f -a "bisect" -d 'Find the version, the word of the command line, or the option of the configuration that made a kernel worse'
complete -c punctual -n "__fish_punctual_using_subcommand lab; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c punctual -n "__fish_punctual_using_subcommand man" -l color -d 'When to colour: auto is on a terminal, unless NO_COLOR is set' -r -f -a "auto\t''
always\t''
never\t''"
complete -c punctual -n "__fish_punctual_using_subcommand man" -l lang -d 'Language of what people read; formats for programs are English [default: the locale\'s, or en]' -r -f -a "en\t''
zh\t'Chinese, in simplified characters'"
complete -c punctual -n "__fish_punctual_using_subcommand man" -l install -d 'Write the files: for all users if run as root, otherwise for this user'
complete -c punctual -n "__fish_punctual_using_subcommand man" -s q -l quiet -d 'Print no messages but errors'
complete -c punctual -n "__fish_punctual_using_subcommand man" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c punctual -n "__fish_punctual_using_subcommand completions" -l color -d 'When to colour: auto is on a terminal, unless NO_COLOR is set' -r -f -a "auto\t''
always\t''
never\t''"
complete -c punctual -n "__fish_punctual_using_subcommand completions" -l lang -d 'Language of what people read; formats for programs are English [default: the locale\'s, or en]' -r -f -a "en\t''
zh\t'Chinese, in simplified characters'"
complete -c punctual -n "__fish_punctual_using_subcommand completions" -l install -d 'Write the files: for all users if run as root, otherwise for this user'
complete -c punctual -n "__fish_punctual_using_subcommand completions" -s q -l quiet -d 'Print no messages but errors'
complete -c punctual -n "__fish_punctual_using_subcommand completions" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c punctual -n "__fish_punctual_using_subcommand audit" -l profile -d 'Kind of work the machine is for: a preset, a profile of the project file, or just periodic, poll or audio' -r -f -a "ethercat\t'EtherCAT master with distributed clocks'
robotics\t'Robot arm commanded over Ethernet at 1 kHz'
ros2\t'Controller manager of ros2_control'
plc\t'Soft PLC with cyclic tasks'
audio\t'64 frames at 48 kHz on a desktop, beside other programs'
telecom\t'Radio or packet processing that polls'
cnc\t'Machine tool: servo thread of 1 ms'
periodic\t'A loop that blocks until its next release'
poll\t'A thread that polls and never gives up its CPU'"
complete -c punctual -n "__fish_punctual_using_subcommand audit" -l config -d 'Project file that states the need [default: punctual.toml in this folder, if it is there]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand audit" -l cpus -d 'CPUs for the real-time work, for example 2-3 [default: the isolated CPUs, or all if none is isolated]' -r
complete -c punctual -n "__fish_punctual_using_subcommand audit" -l period -d 'Time between releases, if it is known' -r
complete -c punctual -n "__fish_punctual_using_subcommand audit" -l budget -d 'Largest latency you can live with; findings that matter only for smaller budgets are excused' -r
complete -c punctual -n "__fish_punctual_using_subcommand audit" -l fail-on -d 'Exit with 2 if a finding is at least this bad; with --diff, only findings that became worse count' -r -f -a "fail\t'Findings that are high or fatal'
warn\t'Findings that are medium, too'"
complete -c punctual -n "__fish_punctual_using_subcommand audit" -l machine -d 'Take a captured machine instead of this one: a file written by punctual snapshot' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand audit" -l root -d 'Take an unpacked system instead of this machine: the folder of a disk image, an initramfs or a sos report' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand audit" -l diff -d 'Show the differences between two captured machines, or between one and this machine; prints nothing if nothing differs' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand audit" -l explain -d 'Explain one knob' -r -f -a "(__fish_punctual_knobs)"
complete -c punctual -n "__fish_punctual_using_subcommand audit" -l color -d 'When to colour: auto is on a terminal, unless NO_COLOR is set' -r -f -a "auto\t''
always\t''
never\t''"
complete -c punctual -n "__fish_punctual_using_subcommand audit" -l lang -d 'Language of what people read; formats for programs are English [default: the locale\'s, or en]' -r -f -a "en\t''
zh\t'Chinese, in simplified characters'"
complete -c punctual -n "__fish_punctual_using_subcommand audit" -l json -d 'Print one JSON document'
complete -c punctual -n "__fish_punctual_using_subcommand audit" -l markdown -d 'Print Markdown, for an issue or a merge request'
complete -c punctual -n "__fish_punctual_using_subcommand audit" -l sarif -d 'Print SARIF 2.1.0, for code-review tools'
complete -c punctual -n "__fish_punctual_using_subcommand audit" -l junit -d 'Print JUnit XML, for CI'
complete -c punctual -n "__fish_punctual_using_subcommand audit" -s q -l brief -l quiet -d 'Print one line, for scripts and CI logs'
complete -c punctual -n "__fish_punctual_using_subcommand audit" -l all -d 'Also list what is good or does not apply; with --sarif, also what is not bad'
complete -c punctual -n "__fish_punctual_using_subcommand audit" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c punctual -n "__fish_punctual_using_subcommand tune" -l cpus -d 'CPUs for the real-time work, for example 2-3 [default: chosen, and the choice explained]' -r
complete -c punctual -n "__fish_punctual_using_subcommand tune" -l profile -d 'Kind of work the machine is for: a preset, a profile of the project file, or just periodic, poll or audio' -r -f -a "ethercat\t'EtherCAT master with distributed clocks'
robotics\t'Robot arm commanded over Ethernet at 1 kHz'
ros2\t'Controller manager of ros2_control'
plc\t'Soft PLC with cyclic tasks'
audio\t'64 frames at 48 kHz on a desktop, beside other programs'
telecom\t'Radio or packet processing that polls'
cnc\t'Machine tool: servo thread of 1 ms'
periodic\t'A loop that blocks until its next release'
poll\t'A thread that polls and never gives up its CPU'"
complete -c punctual -n "__fish_punctual_using_subcommand tune" -l config -d 'Project file that states the need [default: punctual.toml in this folder, if it is there]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand tune" -l period -d 'Time between releases, if it is known' -r
complete -c punctual -n "__fish_punctual_using_subcommand tune" -l budget -d 'Largest latency you can live with' -r
complete -c punctual -n "__fish_punctual_using_subcommand tune" -l blast -d 'How much a change may disturb the running machine; changes that disturb it more are listed and not made' -r -f -a "harmless\t'Nothing'
disturbing\t'Disturb running real-time work for a moment'
any\t'Break a service or lose a function, too'"
complete -c punctual -n "__fish_punctual_using_subcommand tune" -l device -d 'Network device that carries the real-time traffic' -r
complete -c punctual -n "__fish_punctual_using_subcommand tune" -l keep-irqs -d 'Interrupts that are not moved: numbers, or names as in /proc/interrupts' -r
complete -c punctual -n "__fish_punctual_using_subcommand tune" -l priority -d 'Priority of the real-time work, with which the priorities of the kernel\'s threads are compared' -r
complete -c punctual -n "__fish_punctual_using_subcommand tune" -l hugepages -d 'Reserve this number of huge pages of 2 MiB' -r
complete -c punctual -n "__fish_punctual_using_subcommand tune" -l machine -d 'Take a captured machine instead of this one: a file written by punctual snapshot' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand tune" -l root -d 'Take an unpacked system instead of this machine: the folder of a disk image, an initramfs or a sos report' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand tune" -l confirm-within -d 'Put everything back unless `punctual status --confirm` comes within this time' -r
complete -c punctual -n "__fish_punctual_using_subcommand tune" -l print -d 'Print one artefact alone, for people who build images' -r -f -a "cmdline\t'The kernel\'s command line'
grub\t'A fragment of /etc/default/grub.d'
extlinux\t'A label of extlinux.conf'
uboot\t'Variables of U-Boot\'s environment'
systemd-boot\t'An entry of systemd-boot'
sysctl\t'A file of /etc/sysctl.d'
tmpfiles\t'A file of /etc/tmpfiles.d'
systemd\t'Units and drop-ins of systemd'
kconfig\t'A fragment of the kernel\'s configuration'
resctrl\t'Groups of resctrl that divide the caches'
rk3568-l3\t'The parameter word of Rockchip\'s RK3568 boot loader that divides its L3 cache'"
complete -c punctual -n "__fish_punctual_using_subcommand tune" -l kernel -d 'With --print: version of the kernel it is for [default: this machine\'s]' -r
complete -c punctual -n "__fish_punctual_using_subcommand tune" -l flavour -d 'With --print: kind of the kernel it is for [default: this machine\'s]' -r -f -a "stock\t'Neither PREEMPT_RT nor Xenomai'
rt\t'PREEMPT_RT'
cobalt\t'Xenomai 3'
evl\t'Xenomai 4'"
complete -c punctual -n "__fish_punctual_using_subcommand tune" -l arch -d 'With --print: architecture it is for [default: this machine\'s]' -r -f -a "x86_64\t'64-bit x86'
aarch64\t'64-bit ARM'
arm\t'32-bit ARM'
riscv64\t'64-bit RISC-V'"
complete -c punctual -n "__fish_punctual_using_subcommand tune" -l xenomai -d 'With --print cmdline: version of Xenomai 3 it is for [default: 3.3]' -r
complete -c punctual -n "__fish_punctual_using_subcommand tune" -l owners -d 'With --print rk3568-l3: which CPUs own which quarters of the L3 cache, for example \'0-2=0-1;3=2-3\', or a word to decode, for example 0xc333' -r
complete -c punctual -n "__fish_punctual_using_subcommand tune" -l for -d 'Apply, run this command, and put everything back when it ends' -r
complete -c punctual -n "__fish_punctual_using_subcommand tune" -l only -d 'Knobs to change, and no others, for example irq.affinity,iso.domain' -r -f -a "(__fish_punctual_knobs)"
complete -c punctual -n "__fish_punctual_using_subcommand tune" -l except -d 'Knobs to leave alone' -r -f -a "(__fish_punctual_knobs)"
complete -c punctual -n "__fish_punctual_using_subcommand tune" -l color -d 'When to colour: auto is on a terminal, unless NO_COLOR is set' -r -f -a "auto\t''
always\t''
never\t''"
complete -c punctual -n "__fish_punctual_using_subcommand tune" -l lang -d 'Language of what people read; formats for programs are English [default: the locale\'s, or en]' -r -f -a "en\t''
zh\t'Chinese, in simplified characters'"
complete -c punctual -n "__fish_punctual_using_subcommand tune" -l partition -d 'Isolate by a cpuset partition at run time instead of isolcpus= at boot'
complete -c punctual -n "__fish_punctual_using_subcommand tune" -l dry-run -d 'Show the plan, change nothing'
complete -c punctual -n "__fish_punctual_using_subcommand tune" -s y -l yes -d 'Do not ask for confirmation'
complete -c punctual -n "__fish_punctual_using_subcommand tune" -l until-reboot -d 'Make only changes that last until the next boot: no files, no boot loader'
complete -c punctual -n "__fish_punctual_using_subcommand tune" -l confirm-at-boot -d 'Let the check at boot make the new boot entry the default if everything is in force'
complete -c punctual -n "__fish_punctual_using_subcommand tune" -s q -l brief -l quiet -d 'Print one line and no progress, for scripts and CI logs'
complete -c punctual -n "__fish_punctual_using_subcommand tune" -l json -d 'Print one JSON document'
complete -c punctual -n "__fish_punctual_using_subcommand tune" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c punctual -n "__fish_punctual_using_subcommand optimize" -l cpus -d 'CPUs of the real-time work, which are measured [default: chosen as tune does]' -r
complete -c punctual -n "__fish_punctual_using_subcommand optimize" -l time -d 'Time for the whole campaign' -r
complete -c punctual -n "__fish_punctual_using_subcommand optimize" -l strategy -d 'How the knobs are tried' -r -f -a "one-at-a-time\t'Each alone, compared with the unchanged machine'
screening\t'Many at once first, then the most promising ones each alone; for many knobs'
race\t'Each alone; the less promising half is dropped, again and again'"
complete -c punctual -n "__fish_punctual_using_subcommand optimize" -l settle -d 'With --boots: the time a machine must have been up before a boot is measured' -r
complete -c punctual -n "__fish_punctual_using_subcommand optimize" -l run -d 'Length of one measurement; many short measurements are better than few long ones' -r
complete -c punctual -n "__fish_punctual_using_subcommand optimize" -l load -d 'Load to measure under, loads joined by +, phases by commas [default: the profile\'s, or none]' -r
complete -c punctual -n "__fish_punctual_using_subcommand optimize" -l load-dir -d 'Directory for the files of I/O loads [default: the campaign\'s folder]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand optimize" -l period -d 'Time between releases [default: the profile\'s, or 1ms]' -r
complete -c punctual -n "__fish_punctual_using_subcommand optimize" -l budget -d 'Largest latency you can live with: what is later is a miss [default: the profile\'s; without one, only skipped releases are misses]' -r
complete -c punctual -n "__fish_punctual_using_subcommand optimize" -l priority -d 'SCHED_FIFO priority, 1 to 95 [default: the profile\'s, or 90]' -r
complete -c punctual -n "__fish_punctual_using_subcommand optimize" -l dma-latency -d 'Hold /dev/cpu_dma_latency at this number of microseconds in every measurement, as the application does' -r
complete -c punctual -n "__fish_punctual_using_subcommand optimize" -l profile -d 'Kind of work the machine is for: a preset, a profile of the project file, or just periodic, poll or audio' -r -f -a "ethercat\t'EtherCAT master with distributed clocks'
robotics\t'Robot arm commanded over Ethernet at 1 kHz'
ros2\t'Controller manager of ros2_control'
plc\t'Soft PLC with cyclic tasks'
audio\t'64 frames at 48 kHz on a desktop, beside other programs'
telecom\t'Radio or packet processing that polls'
cnc\t'Machine tool: servo thread of 1 ms'
periodic\t'A loop that blocks until its next release'
poll\t'A thread that polls and never gives up its CPU'"
complete -c punctual -n "__fish_punctual_using_subcommand optimize" -l config -d 'Project file that states the need [default: punctual.toml in this folder, if it is there]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand optimize" -l blast -d 'How much a change may disturb the running machine; changes that disturb it more are left out' -r -f -a "harmless\t'Nothing'
disturbing\t'Disturb running real-time work for a moment'
any\t'Break a service or lose a function, too'"
complete -c punctual -n "__fish_punctual_using_subcommand optimize" -l margin -d 'Changes smaller than this share count as neither better nor worse' -r
complete -c punctual -n "__fish_punctual_using_subcommand optimize" -l seed -d 'Seed of the order [default: from the clock]' -r
complete -c punctual -n "__fish_punctual_using_subcommand optimize" -l out -d 'Folder to make for the campaign and its recordings [default: punctual-optimize-DATE-TIME, with --boots below /var/lib]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand optimize" -l resume -d 'Continue the campaign in this folder, with the options it was started with' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand optimize" -l html -d 'Write an HTML page with a chart of the effects to this file' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand optimize" -l knobs -d 'Knobs to try; script:/PATH is your own program, which is called with `on` and `off` [default: those that tune would change now]' -r -f -a "(__fish_punctual_knobs)"
complete -c punctual -n "__fish_punctual_using_subcommand optimize" -l color -d 'When to colour: auto is on a terminal, unless NO_COLOR is set' -r -f -a "auto\t''
always\t''
never\t''"
complete -c punctual -n "__fish_punctual_using_subcommand optimize" -l lang -d 'Language of what people read; formats for programs are English [default: the locale\'s, or en]' -r -f -a "en\t''
zh\t'Chinese, in simplified characters'"
complete -c punctual -n "__fish_punctual_using_subcommand optimize" -l boots -d 'Try knobs that need a reboot: the machine is rebooted for each measurement, and the campaign then continues by itself'
complete -c punctual -n "__fish_punctual_using_subcommand optimize" -l at-boot -d 'Continues unattended after a boot'
complete -c punctual -n "__fish_punctual_using_subcommand optimize" -l dry-run -d 'Show what would be tried and how long it takes; change nothing'
complete -c punctual -n "__fish_punctual_using_subcommand optimize" -s y -l yes -d 'Do not ask for confirmation'
complete -c punctual -n "__fish_punctual_using_subcommand optimize" -l json -d 'Print one JSON document'
complete -c punctual -n "__fish_punctual_using_subcommand optimize" -s q -l brief -l quiet -d 'Print one line and no progress, for scripts and CI logs'
complete -c punctual -n "__fish_punctual_using_subcommand optimize" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c punctual -n "__fish_punctual_using_subcommand help; and not __fish_seen_subcommand_from init check lint status revert measure merge explain inspect watch export report compare trend campaign share snapshot fleet torture lab man completions audit tune optimize help" -f -a "init" -d 'Write a project file that states the need once, from four questions or from options'
complete -c punctual -n "__fish_punctual_using_subcommand help; and not __fish_seen_subcommand_from init check lint status revert measure merge explain inspect watch export report compare trend campaign share snapshot fleet torture lab man completions audit tune optimize help" -f -a "check" -d 'The main job: audit, measure under load, and say whether the need is held'
complete -c punctual -n "__fish_punctual_using_subcommand help; and not __fish_seen_subcommand_from init check lint status revert measure merge explain inspect watch export report compare trend campaign share snapshot fleet torture lab man completions audit tune optimize help" -f -a "lint" -d 'Say how the kernel treats each word of a command line'
complete -c punctual -n "__fish_punctual_using_subcommand help; and not __fish_seen_subcommand_from init check lint status revert measure merge explain inspect watch export report compare trend campaign share snapshot fleet torture lab man completions audit tune optimize help" -f -a "status" -d 'Show what was changed, and whether it is configured, booted and in force'
complete -c punctual -n "__fish_punctual_using_subcommand help; and not __fish_seen_subcommand_from init check lint status revert measure merge explain inspect watch export report compare trend campaign share snapshot fleet torture lab man completions audit tune optimize help" -f -a "revert" -d 'Put back exactly what was there'
complete -c punctual -n "__fish_punctual_using_subcommand help; and not __fish_seen_subcommand_from init check lint status revert measure merge explain inspect watch export report compare trend campaign share snapshot fleet torture lab man completions audit tune optimize help" -f -a "measure" -d 'Measure latency in a stated scenario, into a recording'
complete -c punctual -n "__fish_punctual_using_subcommand help; and not __fish_seen_subcommand_from init check lint status revert measure merge explain inspect watch export report compare trend campaign share snapshot fleet torture lab man completions audit tune optimize help" -f -a "merge" -d 'Merge several runs of one scenario into one recording'
complete -c punctual -n "__fish_punctual_using_subcommand help; and not __fish_seen_subcommand_from init check lint status revert measure merge explain inspect watch export report compare trend campaign share snapshot fleet torture lab man completions audit tune optimize help" -f -a "explain" -d 'Rank what made activations late in a recording'
complete -c punctual -n "__fish_punctual_using_subcommand help; and not __fish_seen_subcommand_from init check lint status revert measure merge explain inspect watch export report compare trend campaign share snapshot fleet torture lab man completions audit tune optimize help" -f -a "inspect" -d 'Observe a running program: its periodic threads, what is in their cycles, how they are set up'
complete -c punctual -n "__fish_punctual_using_subcommand help; and not __fish_seen_subcommand_from init check lint status revert measure merge explain inspect watch export report compare trend campaign share snapshot fleet torture lab man completions audit tune optimize help" -f -a "watch" -d 'Measure for months while other work runs, into a folder of bounded size'
complete -c punctual -n "__fish_punctual_using_subcommand help; and not __fish_seen_subcommand_from init check lint status revert measure merge explain inspect watch export report compare trend campaign share snapshot fleet torture lab man completions audit tune optimize help" -f -a "export" -d 'Write a recording, or another program\'s result, in another program\'s format'
complete -c punctual -n "__fish_punctual_using_subcommand help; and not __fish_seen_subcommand_from init check lint status revert measure merge explain inspect watch export report compare trend campaign share snapshot fleet torture lab man completions audit tune optimize help" -f -a "report" -d 'Show the report of a recording, or of another program\'s result'
complete -c punctual -n "__fish_punctual_using_subcommand help; and not __fish_seen_subcommand_from init check lint status revert measure merge explain inspect watch export report compare trend campaign share snapshot fleet torture lab man completions audit tune optimize help" -f -a "compare" -d 'Compare recordings with a first one: better or worse, and how certain that is'
complete -c punctual -n "__fish_punctual_using_subcommand help; and not __fish_seen_subcommand_from init check lint status revert measure merge explain inspect watch export report compare trend campaign share snapshot fleet torture lab man completions audit tune optimize help" -f -a "trend" -d 'Find where a series of runs shifted or drifts, and what else changed there'
complete -c punctual -n "__fish_punctual_using_subcommand help; and not __fish_seen_subcommand_from init check lint status revert measure merge explain inspect watch export report compare trend campaign share snapshot fleet torture lab man completions audit tune optimize help" -f -a "campaign" -d 'Run an experiment that is described in a file: measure its cells in turn, with reboots if necessary, and put all results on one page with published numbers'
complete -c punctual -n "__fish_punctual_using_subcommand help; and not __fish_seen_subcommand_from init check lint status revert measure merge explain inspect watch export report compare trend campaign share snapshot fleet torture lab man completions audit tune optimize help" -f -a "share" -d 'Write a result, with what the machine looks like, into one masked file that can be shown to anybody'
complete -c punctual -n "__fish_punctual_using_subcommand help; and not __fish_seen_subcommand_from init check lint status revert measure merge explain inspect watch export report compare trend campaign share snapshot fleet torture lab man completions audit tune optimize help" -f -a "snapshot" -d 'Write this machine into one readable file, to be audited elsewhere or shown in a bug report'
complete -c punctual -n "__fish_punctual_using_subcommand help; and not __fish_seen_subcommand_from init check lint status revert measure merge explain inspect watch export report compare trend campaign share snapshot fleet torture lab man completions audit tune optimize help" -f -a "fleet" -d 'Many machines: run a command on all of them, pack their results, and find out what the bad machines share'
complete -c punctual -n "__fish_punctual_using_subcommand help; and not __fish_seen_subcommand_from init check lint status revert measure merge explain inspect watch export report compare trend campaign share snapshot fleet torture lab man completions audit tune optimize help" -f -a "torture" -d 'Try to break the kernel\'s promises about registers, locks, memory and timers'
complete -c punctual -n "__fish_punctual_using_subcommand help; and not __fish_seen_subcommand_from init check lint status revert measure merge explain inspect watch export report compare trend campaign share snapshot fleet torture lab man completions audit tune optimize help" -f -a "lab" -d 'Measure kernels in emulated machines, where time counts instructions and this machine has no influence on the numbers'
complete -c punctual -n "__fish_punctual_using_subcommand help; and not __fish_seen_subcommand_from init check lint status revert measure merge explain inspect watch export report compare trend campaign share snapshot fleet torture lab man completions audit tune optimize help" -f -a "man" -d 'Install man pages where `man` finds them'
complete -c punctual -n "__fish_punctual_using_subcommand help; and not __fish_seen_subcommand_from init check lint status revert measure merge explain inspect watch export report compare trend campaign share snapshot fleet torture lab man completions audit tune optimize help" -f -a "completions" -d 'Install completions where bash, zsh and fish look for them'
complete -c punctual -n "__fish_punctual_using_subcommand help; and not __fish_seen_subcommand_from init check lint status revert measure merge explain inspect watch export report compare trend campaign share snapshot fleet torture lab man completions audit tune optimize help" -f -a "audit" -d 'List what on this machine stands in the way of real time'
complete -c punctual -n "__fish_punctual_using_subcommand help; and not __fish_seen_subcommand_from init check lint status revert measure merge explain inspect watch export report compare trend campaign share snapshot fleet torture lab man completions audit tune optimize help" -f -a "tune" -d 'Plan what to change on this machine, and change it: journalled, read back, reversible'
complete -c punctual -n "__fish_punctual_using_subcommand help; and not __fish_seen_subcommand_from init check lint status revert measure merge explain inspect watch export report compare trend campaign share snapshot fleet torture lab man completions audit tune optimize help" -f -a "optimize" -d 'Try knobs one at a time, measure each, and tell which help here; everything is put back'
complete -c punctual -n "__fish_punctual_using_subcommand help; and not __fish_seen_subcommand_from init check lint status revert measure merge explain inspect watch export report compare trend campaign share snapshot fleet torture lab man completions audit tune optimize help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from fleet" -f -a "run" -d 'Run a command of punctual on many hosts by ssh, and fetch what it writes'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from fleet" -f -a "pack" -d 'Pack the recordings and audits of many machines into tables that SQL engines can read'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from fleet" -f -a "ask" -d 'Ask the packed tables a question, by DuckDB: which machines are bad, what they share, which change made them worse'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from lab" -f -a "compare" -d 'Measure several kernels under the same loads, and show them side by side'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from lab" -f -a "gate" -d 'Compare a kernel with an earlier one, for CI: exits with 2 if it is worse'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from lab" -f -a "bisect" -d 'Find the version, the word of the command line, or the option of the configuration that made a kernel worse'
