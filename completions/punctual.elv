
use builtin;
use str;

set edit:completion:arg-completer[punctual] = {|@words|
    fn spaces {|n|
        builtin:repeat $n ' ' | str:join ''
    }
    fn cand {|text desc|
        edit:complex-candidate $text &display=$text' '(spaces (- 14 (wcswidth $text)))$desc
    }
    var command = 'punctual'
    for word $words[1..-1] {
        if (str:has-prefix $word '-') {
            break
        }
        set command = $command';'$word
    }
    var completions = [
        &'punctual'= {
            cand --color 'When to colour: auto is on a terminal, unless NO_COLOR is set'
            cand --lang 'Language of what people read; formats for programs are English [default: the locale''s, or en]'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
            cand init 'Write a project file that states the need once, from four questions or from options'
            cand check 'The main job: audit, measure under load, and say whether the need is held'
            cand lint 'Say how the kernel treats each word of a command line'
            cand status 'Show what was changed, and whether it is configured, booted and in force'
            cand revert 'Put back exactly what was there'
            cand measure 'Measure latency in a stated scenario, into a recording'
            cand merge 'Merge several runs of one scenario into one recording'
            cand explain 'Rank what made activations late in a recording'
            cand inspect 'Observe a running program: its periodic threads, what is in their cycles, how they are set up'
            cand watch 'Measure for months while other work runs, into a folder of bounded size'
            cand export 'Write a recording, or another program''s result, in another program''s format'
            cand report 'Show the report of a recording, or of another program''s result'
            cand compare 'Compare recordings with a first one: better or worse, and how certain that is'
            cand trend 'Find where a series of runs shifted or drifts, and what else changed there'
            cand campaign 'Run an experiment that is described in a file: measure its cells in turn, with reboots if necessary, and put all results on one page with published numbers'
            cand share 'Write a result, with what the machine looks like, into one masked file that can be shown to anybody'
            cand snapshot 'Write this machine into one readable file, to be audited elsewhere or shown in a bug report'
            cand fleet 'Many machines: run a command on all of them, pack their results, and find out what the bad machines share'
            cand torture 'Try to break the kernel''s promises about registers, locks, memory and timers'
            cand lab 'Measure kernels in emulated machines, where time counts instructions and this machine has no influence on the numbers'
            cand man 'Install man pages where `man` finds them'
            cand completions 'Install completions where bash, zsh and fish look for them'
            cand audit 'List what on this machine stands in the way of real time'
            cand tune 'Plan what to change on this machine, and change it: journalled, read back, reversible'
            cand optimize 'Try knobs one at a time, measure each, and tell which help here; everything is put back'
            cand help 'Print this message or the help of the given subcommand(s)'
        }
        &'punctual;init'= {
            cand --profile 'Kind of work, which fills in what is not given'
            cand --period 'Time between releases, for example 1ms'
            cand --budget 'Largest latency you can live with, for example 50us'
            cand --cpus 'CPUs for the real-time work, for example 2-3'
            cand --out 'File to write'
            cand --color 'When to colour: auto is on a terminal, unless NO_COLOR is set'
            cand --lang 'Language of what people read; formats for programs are English [default: the locale''s, or en]'
            cand -y 'Ask no questions; values that are not given are left to the profile'
            cand --yes 'Ask no questions; values that are not given are left to the profile'
            cand -q 'Print no messages but errors'
            cand --quiet 'Print no messages but errors'
            cand --replace 'Replace the file if it exists'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'punctual;check'= {
            cand --profile 'Kind of work the machine is for: a preset, a profile of the project file, or just periodic, poll or audio'
            cand --config 'Project file that states the need [default: punctual.toml in this folder, if it is there]'
            cand --period 'Time between releases, for example 1ms or 250us [default: the profile''s, or 1ms]'
            cand --budget 'Largest latency you can live with [default: the profile''s, or 50us]'
            cand --cpus 'CPUs to check, for example 2-3 [default: the isolated ones, or all but the first core]'
            cand --priority 'SCHED_FIFO priority, 1 to 95 [default: the profile''s, or 90]'
            cand --duration 'How long to measure; looking for causes takes a quarter of it in addition [default: 30s]'
            cand --load 'Load phases in turn, loads of a phase joined by +; `none` for no load [default: the profile''s, or idle:1,cpu+memory+io-write+switch+net:2]'
            cand --wait-quiet 'Wait up to this time until other programs are idle before an idle phase is measured'
            cand --out 'Recording to write; the HTML report is written next to it [default: punctual-DATE-TIME.punctual]'
            cand --junit 'Write JUnit XML to this file, for CI: one case for each CPU'
            cand --fail-on 'Exit with 2 when a finding is at least this bad'
            cand --color 'When to colour: auto is on a terminal, unless NO_COLOR is set'
            cand --lang 'Language of what people read; formats for programs are English [default: the locale''s, or en]'
            cand --why-not 'Do not measure: say which functions of punctual work here, and what to install or to grant for those that do not'
            cand --no-explain 'Do not look for causes in a second, traced pass'
            cand --full 'Print the whole report, with the answer last'
            cand -q 'Print one line and no progress, for scripts and CI logs'
            cand --brief 'Print one line and no progress, for scripts and CI logs'
            cand --quiet 'Print one line and no progress, for scripts and CI logs'
            cand --json 'Print one JSON document instead of text'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'punctual;lint'= {
            cand --cmdline 'Command line to judge, or - to read it from standard input [default: that of this machine]'
            cand --kernel 'Version of the kernel that reads the line, for example 6.12 [default: this machine''s]'
            cand --flavour 'Kind of the kernel that reads the line [default: this machine''s]'
            cand --arch 'Architecture of the kernel that reads the line [default: this machine''s]'
            cand --cpus 'Number of CPUs of the machine that boots with the line [default: that of this machine, or unknown for the line of another machine]'
            cand --machine 'Take a captured machine instead of this one: a file written by punctual snapshot'
            cand --root 'Take an unpacked system instead of this machine: the folder of a disk image, an initramfs or a sos report'
            cand --file 'Judge the line in a file that contains only the line (cmdline.txt), or in a boot loader''s file (default/grub, extlinux.conf)'
            cand --image 'Judge for the kernel in this boot image (vmlinuz): the list of the parameters that it accepts is read from the image'
            cand --fail-on 'Exit with 2 when a word is at least this bad'
            cand --color 'When to colour: auto is on a terminal, unless NO_COLOR is set'
            cand --lang 'Language of what people read; formats for programs are English [default: the locale''s, or en]'
            cand --json 'Print one JSON document'
            cand --sarif 'Print SARIF, for code-review tools'
            cand -q 'Print one line and no progress, for scripts and CI logs'
            cand --brief 'Print one line and no progress, for scripts and CI logs'
            cand --quiet 'Print one line and no progress, for scripts and CI logs'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'punctual;status'= {
            cand --color 'When to colour: auto is on a terminal, unless NO_COLOR is set'
            cand --lang 'Language of what people read; formats for programs are English [default: the locale''s, or en]'
            cand --confirm 'Keep what was applied, and make the new boot entry the default'
            cand --adopt-untried 'Make the new command line the default although this boot loader cannot try it first'
            cand --json 'Print one JSON document'
            cand -q 'Print one line and no progress, for scripts and CI logs'
            cand --brief 'Print one line and no progress, for scripts and CI logs'
            cand --quiet 'Print one line and no progress, for scripts and CI logs'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'punctual;revert'= {
            cand --to 'Put back all transactions after transaction N, which is kept [default: everything]'
            cand --color 'When to colour: auto is on a terminal, unless NO_COLOR is set'
            cand --lang 'Language of what people read; formats for programs are English [default: the locale''s, or en]'
            cand --leave-conflicts 'Leave settings that another program or person has changed since as they are, and forget them'
            cand -q 'Print one line and no progress, for scripts and CI logs'
            cand --brief 'Print one line and no progress, for scripts and CI logs'
            cand --quiet 'Print one line and no progress, for scripts and CI logs'
            cand --json 'Print one JSON document'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'punctual;measure'= {
            cand --profile 'Kind of work the machine is for: a preset, a profile of the project file, or just periodic, poll or audio'
            cand --config 'Project file that states the need [default: punctual.toml in this folder, if it is there]'
            cand --cpus 'CPUs to measure; leave one out for punctual''s own helper threads, or the run is not trusted [default: every CPU this process may use]'
            cand --period 'Time between releases: one for all, or by CPU as in 0=1ms,1=500us [default: 1ms; 50ms with nanosleep]'
            cand --policy 'Scheduling policy'
            cand --priority 'Priority for fifo and rr, 1 to 95 [default: the profile''s, or 90]'
            cand --runtime 'Run time per period for deadline [default: a fifth of the shortest period]'
            cand --mechanism 'How the threads wait; on EVL absolute, on Cobalt absolute or timerfd (a timer file of its own)'
            cand --endpoint 'With rpmsg and shm: device file or memory of the other side, such as /dev/rpmsg0, or PATH@OFFSET in bytes for memory'
            cand --clock 'The clock that sets the times of the releases and measures the latency: realtime, tai, aux:0 to aux:7, or a PTP device such as /dev/ptp0'
            cand --kernel 'The kernel that wakes the threads: Linux, or a real-time core beside it; two of them, as in linux,evl, are measured in turn, half of the duration each, and compared; --out then names a folder'
            cand --context 'With one real-time core: what reads the clock after a release'
            cand --gravity 'With a real-time core: by how much its timers fire early, to compensate for the time from the timer to the thread'
            cand --rounds 'With two kernels: number of rounds; each kernel is measured once in each round'
            cand --phase 'Phase of the releases on the clock'
            cand --seed 'Seed of --phase random'
            cand --warm-up 'Warm-up before statistics begin: a time, or a number of activations'
            cand --duration 'How long to measure [default: 30s]'
            cand --activations 'Measure this number of activations of each thread instead'
            cand --budget 'Largest latency you can live with: activations beyond it are counted'
            cand --limit 'Stop at the first activation later than this, and exit with 2'
            cand --dma-latency 'Hold /dev/cpu_dma_latency at this number of microseconds during the run; it is not touched otherwise'
            cand --load 'Load phases in turn, each with an optional weight: idle:1,cpu+memory:2 [default: the profile''s, or none]'
            cand --load-cpus 'CPUs the loads run on [default: every CPU that is not isolated]'
            cand --load-dir 'Directory for the files of I/O loads [default: the folder of the recording]'
            cand --suite 'Run a published suite instead of a scenario of your own'
            cand --explain-threshold 'Activations with more latency than this are late [default: the latency that 99.9 % of the run so far did not exceed]'
            cand --windows 'Keep what the kernel did around late activations, but for at most this number of them'
            cand --trace-buffer 'Size of the kernel''s trace buffer for each measured CPU, as in 16M [default: 32M, less if memory is short]'
            cand --explain-engine 'How to look for causes: by the kernel''s trace, alone or together with the kernel''s noise tracer, or by a BPF program if this build has it'
            cand --resume 'Continue this recording, in the same boot and with its own scenario: append the part that was left to measure, or as much as --duration or --activations say'
            cand --wait-quiet 'Wait up to this time until other programs are idle before an idle phase is measured'
            cand --out 'Recording to write [default: punctual-DATE-TIME.punctual]'
            cand --html 'Also write an HTML report to this file'
            cand --color 'When to colour: auto is on a terminal, unless NO_COLOR is set'
            cand --lang 'Language of what people read; formats for programs are English [default: the locale''s, or en]'
            cand --list-loads 'List the available loads'
            cand --explain 'Look for causes of late activations during the run; punctual explain shows them'
            cand --full 'Print the whole report, with the answer last'
            cand -q 'Print one line and no progress, for scripts and CI logs'
            cand --brief 'Print one line and no progress, for scripts and CI logs'
            cand --quiet 'Print one line and no progress, for scripts and CI logs'
            cand --json 'Print one JSON document instead of text'
            cand --live 'Show the running measurement on the terminal, with keys to pause the view, reset it, mark a moment, quit'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'punctual;merge'= {
            cand -o 'Recording to write'
            cand --out 'Recording to write'
            cand --color 'When to colour: auto is on a terminal, unless NO_COLOR is set'
            cand --lang 'Language of what people read; formats for programs are English [default: the locale''s, or en]'
            cand --json 'Print one JSON document: the report of the merged recording'
            cand -q 'Print one line and no progress, for scripts and CI logs'
            cand --brief 'Print one line and no progress, for scripts and CI logs'
            cand --quiet 'Print one line and no progress, for scripts and CI logs'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'punctual;explain'= {
            cand --day 'For the folder of a watch, show this day: its number, or its date in UTC as in 2026-11-22'
            cand --html 'Write an HTML page with charts of the worst activations to this file'
            cand --perfetto 'Write a trace for the Perfetto viewer to this file'
            cand --top 'Number of causes to show; with --full all'
            cand --spike 'Show one late activation part by part; 1 is the worst'
            cand --color 'When to colour: auto is on a terminal, unless NO_COLOR is set'
            cand --lang 'Language of what people read; formats for programs are English [default: the locale''s, or en]'
            cand --full 'Print everything: all causes with the knobs that affect them, more of the worst activations, and the method; with --json all windows, some megabytes for a long recording'
            cand -q 'Print one line and no progress, for scripts and CI logs'
            cand --brief 'Print one line and no progress, for scripts and CI logs'
            cand --quiet 'Print one line and no progress, for scripts and CI logs'
            cand --json 'Print one JSON document'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'punctual;inspect'= {
            cand --thread 'Report only this thread, given by its id or its name'
            cand --duration 'How long to observe; a COMMAND that still runs after this time is ended'
            cand --budget 'Largest latency you can live with; releases above it are counted'
            cand --fail-on 'Exit with 2 if a cycle has one of these: alloc, fault, syscall, lock, late=TIME; with 3 if this could not be observed'
            cand --junit 'Write JUnit XML to this file, for CI: one case for each condition of --fail-on in each thread'
            cand --sarif 'Write SARIF 2.1.0 to this file, for code-review tools: the operations in the cycles, with their source lines'
            cand --html 'Write an HTML page with all results, and pictures of late cycles'
            cand --cycles 'Write a line for each cycle to this file as comma-separated values: when it was released, when the thread woke and when it waited again'
            cand --cost 'Largest share of one CPU that the observation may use; if it uses more after its first seconds, it observes less, and says what it gives up'
            cand --engine 'Use only this engine, and fail if it cannot be used; without this option, the first one that can be used'
            cand --color 'When to colour: auto is on a terminal, unless NO_COLOR is set'
            cand --lang 'Language of what people read; formats for programs are English [default: the locale''s, or en]'
            cand --children 'Also observe the processes that PROGRAM has started or will start; those of a COMMAND are always observed'
            cand --live 'Show the results so far while the program is observed, on the whole terminal'
            cand --no-causes 'Do not look for the causes of late cycles, and so do not record what else runs on the CPUs of the program'
            cand --no-allocations 'Do not probe the allocator of the program. Such a probe is a breakpoint in the program''s memory at malloc and similar functions, and is removed if it takes more than a hundredth of the time'
            cand --no-trace 'Do not use the kernel''s trace, only counters'
            cand --dry-run 'Say what would be observed and how, and do nothing'
            cand -q 'Print one line and no progress, for scripts and CI logs'
            cand --brief 'Print one line and no progress, for scripts and CI logs'
            cand --quiet 'Print one line and no progress, for scripts and CI logs'
            cand --json 'Print one JSON document instead of text'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'punctual;watch'= {
            cand --thread 'Watch only this thread of PROGRAM, given by its id or its name'
            cand --profile 'Kind of work the machine is for: a preset, a profile of the project file, or just periodic, poll or audio'
            cand --config 'Project file that states the need [default: punctual.toml in this folder, if it is there]'
            cand --cpus 'CPUs to watch, for example 2-3 [default: the isolated ones, or all but the first core]'
            cand --period 'Time between releases; the watch makes it longer if it would cost too much [default: the profile''s, or 1ms]'
            cand --budget 'Largest latency you can live with: activations beyond it are counted, and cause the actions of --on-late'
            cand --priority 'SCHED_FIFO priority, 1 to 95: choose that of the work whose latency you want to know [default: the profile''s, or 90]'
            cand --store 'Folder for the results [default: /var/lib/punctual-watch as root, else ~/.local/state/punctual/watch]'
            cand --keep 'Largest size of the folder for the results; when it is full, the oldest days lose detail'
            cand --cost 'Largest share of one CPU, for each watched CPU or thread, that the watch may use; if it would use more, it measures less, and says what it gives up'
            cand --on-late 'What to do after an activation beyond the budget: a command, or snapshot, stop, or signal=NAME,PID; may be given several times, and is done at most once in ten seconds'
            cand --metrics 'Where Prometheus finds the metrics: a loopback address as in 127.0.0.1:9464, unix:PATH, or file:PATH'
            cand --duration 'How long to watch [default: until it is ended]'
            cand --color 'When to colour: auto is on a terminal, unless NO_COLOR is set'
            cand --lang 'Language of what people read; formats for programs are English [default: the locale''s, or en]'
            cand --wait 'If PROGRAM does not run yet, wait for it; --install implies this'
            cand --no-trace 'Do not record what the kernel does on the watched CPUs, so that late activations have no causes'
            cand --install 'Write a systemd unit that watches with these options from now on, also after each boot, and start it'
            cand --uninstall 'End the watch that --install began, and remove its unit; the folder with the results is kept'
            cand --dry-run 'With --install or --uninstall, say what would be written and do nothing'
            cand -q 'Print no messages but errors'
            cand --quiet 'Print no messages but errors'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'punctual;export'= {
            cand --format 'Format to write'
            cand -o 'File to write [default: standard output]'
            cand --out 'File to write [default: standard output]'
            cand --budget 'Largest latency you can live with, for formats that say whether a run passed [default: the recording''s]'
            cand --run 'Name of the run in the table of --format parquet [default: the file''s name]'
            cand --machine-name 'Name of the machine in the table of --format parquet [default: its name or model, if the file states it]'
            cand --from 'Read the file in this format, without recognising it: cyclictest, rt-tests-json, rt-tests-pairs, xenomai, latmus, rtla, jitterdebugger, jitterdebugger-raw, oslat, queuelat, hwlatdetect, rteval, stress-ng, rt-app, hdr, hgrm, boards, timestamps, periods or latencies'
            cand --unit 'Unit of the numbers, if the file does not state it: ns, us, ms or s'
            cand --period 'Time between releases, if the file does not state it'
            cand --color 'When to colour: auto is on a terminal, unless NO_COLOR is set'
            cand --lang 'Language of what people read; formats for programs are English [default: the locale''s, or en]'
            cand -q 'Print no messages but errors'
            cand --quiet 'Print no messages but errors'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'punctual;report'= {
            cand --from 'Read the file in this format, without recognising it: cyclictest, rt-tests-json, rt-tests-pairs, xenomai, latmus, rtla, jitterdebugger, jitterdebugger-raw, oslat, queuelat, hwlatdetect, rteval, stress-ng, rt-app, hdr, hgrm, boards, timestamps, periods or latencies'
            cand --unit 'Unit of the numbers, if the file does not state it: ns, us, ms or s'
            cand --period 'Time between releases, if the file does not state it'
            cand --html 'Write an HTML report to this file'
            cand --between 'Report only what happened between two times: of the run as in +1h30m, or of the day as in 2026-11-22T10:00 (UTC, or with an offset as in +01:00)'
            cand --day 'For the folder of a watch, show this day: its number, or its date in UTC as in 2026-11-22'
            cand --plot 'Draw a chart into FILE, which ends in .svg or .png, or without FILE on the terminal'
            cand --chart 'Which chart'
            cand --with 'Draw another result into the same chart; can be given several times'
            cand --color 'When to colour: auto is on a terminal, unless NO_COLOR is set'
            cand --lang 'Language of what people read; formats for programs are English [default: the locale''s, or en]'
            cand --full 'Print the whole report, with the answer last'
            cand -q 'Print one line and no progress, for scripts and CI logs'
            cand --brief 'Print one line and no progress, for scripts and CI logs'
            cand --quiet 'Print one line and no progress, for scripts and CI logs'
            cand --json 'Print one JSON document instead of text'
            cand --text 'Also print text when --html writes a page'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'punctual;compare'= {
            cand --from 'Read the file in this format, without recognising it: cyclictest, rt-tests-json, rt-tests-pairs, xenomai, latmus, rtla, jitterdebugger, jitterdebugger-raw, oslat, queuelat, hwlatdetect, rteval, stress-ng, rt-app, hdr, hgrm, boards, timestamps, periods or latencies'
            cand --unit 'Unit of the numbers, if the file does not state it: ns, us, ms or s'
            cand --period 'Time between releases, if the file does not state it'
            cand --profile 'Kind of work the machine is for: a preset, a profile of the project file, or just periodic, poll or audio'
            cand --config 'Project file that states the need [default: punctual.toml in this folder, if it is there]'
            cand --baseline 'Compare all recordings with this one'
            cand --a 'Several recordings of the first side, compared with those of --b: how much the runs of one side differ determines how certain a difference is'
            cand --b 'Several recordings of the second side'
            cand --interleave 'Measure in turn: run COMMAND A, measure, run COMMAND B, measure, and so on, A B B A; then compare the rounds'
            cand --rounds 'With --interleave: number of rounds, each of one measurement of A and one of B'
            cand --duration 'With --interleave: length of each measurement [default: 30s]'
            cand --settle 'With --interleave: time to wait after each command before measuring'
            cand --cpus 'With --interleave: CPUs to measure [default: all that are allowed]'
            cand --load 'With --interleave: load to measure under [default: the profile''s, or none]'
            cand --seed 'With --interleave: seed of the order [default: from the clock]'
            cand --out 'With --interleave: folder to make for the state and the recordings [default: punctual-compare-DATE-TIME]'
            cand --resume 'Continue the rounds in this folder, with the options they were started with'
            cand --margin 'Changes smaller than this share of the first value count as neither better nor worse'
            cand --budget 'Count activations later than this as misses [default: the budget of the recordings]'
            cand --fail-on 'Exit with 2 if a comparison has this result'
            cand --html 'Write an HTML page with overlaid charts to this file'
            cand --junit 'Write JUnit XML to this file, for CI'
            cand --color 'When to colour: auto is on a terminal, unless NO_COLOR is set'
            cand --lang 'Language of what people read; formats for programs are English [default: the locale''s, or en]'
            cand --dry-run 'With --interleave: show the order and how long it takes; run and measure nothing'
            cand --anyway 'Compare recordings that should not be compared; the result says so'
            cand --as-if-independent 'Also give a verdict for files that do not contain the order of their values, as if the values were independent'
            cand --full 'Print every number, group and difference'
            cand -q 'Print one line and no progress, for scripts and CI logs'
            cand --brief 'Print one line and no progress, for scripts and CI logs'
            cand --quiet 'Print one line and no progress, for scripts and CI logs'
            cand --json 'Print one JSON document'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'punctual;trend'= {
            cand --margin 'Shifts smaller than this share of the value before are not reported'
            cand --false-alarms 'Number of false alarms that are accepted in a thousand runs'
            cand --fail-on 'Exit with 2 if the series has this result'
            cand --html 'Write an HTML page with the runs over time to this file'
            cand --color 'When to colour: auto is on a terminal, unless NO_COLOR is set'
            cand --lang 'Language of what people read; formats for programs are English [default: the locale''s, or en]'
            cand --json 'Print one JSON document'
            cand --csv 'Print the runs as CSV, one line each, as Apache Otava reads it'
            cand -q 'Print one line and no progress, for scripts and CI logs'
            cand --brief 'Print one line and no progress, for scripts and CI logs'
            cand --quiet 'Print one line and no progress, for scripts and CI logs'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'punctual;campaign'= {
            cand --shorten 'Divide all durations by this factor, to see whether a campaign runs to its end'
            cand --out 'Folder to make for the campaign and its recordings [default: punctual-campaign-DATE-TIME; below /var/lib if the machine is rebooted for it]'
            cand --resume 'Continue the campaign in this folder, or show its result again if it is complete'
            cand --html 'Also write the page with all cells to this file; the campaign''s folder has one in any case'
            cand --color 'When to colour: auto is on a terminal, unless NO_COLOR is set'
            cand --lang 'Language of what people read; formats for programs are English [default: the locale''s, or en]'
            cand --at-boot 'Continues unattended after a boot'
            cand --dry-run 'Show what would be measured and how long it takes; change nothing'
            cand -y 'Do not ask for confirmation'
            cand --yes 'Do not ask for confirmation'
            cand --json 'Print one JSON document'
            cand -q 'Print one line and no progress, for scripts and CI logs'
            cand --brief 'Print one line and no progress, for scripts and CI logs'
            cand --quiet 'Print one line and no progress, for scripts and CI logs'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'punctual;share'= {
            cand -o 'File to write [default: share-DATE-TIME.json]'
            cand --out 'File to write [default: share-DATE-TIME.json]'
            cand --title 'What was measured on which machine, in one line [default: model and kernel]'
            cand --load 'Load of the machine during the measurement, for the result of another program'
            cand --published 'Where the numbers were published, if they are not yours'
            cand --day 'Day of the measurement or the publication, as 2026-11-27 [default: that of the recording]'
            cand --fact 'A fact about the machine that the result does not state, as in "model=RK3588 board"; may be given several times'
            cand --doubt 'A doubt about the numbers; may be given several times'
            cand --machine 'A snapshot of the machine that was measured [default: this machine, if the result is of it]'
            cand --check 'Check files of others instead: whether they are complete and contain nothing private'
            cand --from 'Read the file in this format, without recognising it: cyclictest, rt-tests-json, rt-tests-pairs, xenomai, latmus, rtla, jitterdebugger, jitterdebugger-raw, oslat, queuelat, hwlatdetect, rteval, stress-ng, rt-app, hdr, hgrm, boards, timestamps, periods or latencies'
            cand --unit 'Unit of the numbers, if the file does not state it: ns, us, ms or s'
            cand --period 'Time between releases, if the file does not state it'
            cand --color 'When to colour: auto is on a terminal, unless NO_COLOR is set'
            cand --lang 'Language of what people read; formats for programs are English [default: the locale''s, or en]'
            cand --no-snapshot 'Leave out the snapshot'
            cand --dry-run 'Print the file instead of writing it'
            cand -y 'Write without asking'
            cand --yes 'Write without asking'
            cand -q 'Print no messages but errors'
            cand --quiet 'Print no messages but errors'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'punctual;snapshot'= {
            cand -o 'File to write [default: standard output]'
            cand --out 'File to write [default: standard output]'
            cand --color 'When to colour: auto is on a terminal, unless NO_COLOR is set'
            cand --lang 'Language of what people read; formats for programs are English [default: the locale''s, or en]'
            cand --raw 'Mask nothing: keep host and user names, addresses, serial numbers and the whole command line'
            cand -q 'Print no messages but errors'
            cand --quiet 'Print no messages but errors'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'punctual;fleet'= {
            cand --color 'When to colour: auto is on a terminal, unless NO_COLOR is set'
            cand --lang 'Language of what people read; formats for programs are English [default: the locale''s, or en]'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand run 'Run a command of punctual on many hosts by ssh, and fetch what it writes'
            cand pack 'Pack the recordings and audits of many machines into tables that SQL engines can read'
            cand ask 'Ask the packed tables a question, by DuckDB: which machines are bad, what they share, which change made them worse'
            cand help 'Print this message or the help of the given subcommand(s)'
        }
        &'punctual;fleet;run'= {
            cand --hosts 'List of hosts: one on each line, in a form that ssh accepts; text after a # is ignored'
            cand --out 'Folder of the results; with the folder of an earlier run, only hosts without a result are tried [default: punctual-fleet-DATE-TIME]'
            cand --at-once 'Number of hosts that work at the same time'
            cand --time-limit 'Longest time for the command on one host, after which it is ended [default: no limit]'
            cand --connect-limit 'Longest time for reaching a host'
            cand --stop-after 'Start no further host after N of them have failed [default: try all]'
            cand --program 'Name or path of punctual on the hosts'
            cand --bring 'Copy this static program to the hosts and remove it afterwards; once for each architecture among the hosts'
            cand --ssh-config 'Configuration of ssh in place of ~/.ssh/config'
            cand --color 'When to colour: auto is on a terminal, unless NO_COLOR is set'
            cand --lang 'Language of what people read; formats for programs are English [default: the locale''s, or en]'
            cand --sudo 'Run the command by sudo, which must not ask for a password'
            cand --json 'Print one JSON document'
            cand -q 'Print one line and no progress, for scripts and CI logs'
            cand --brief 'Print one line and no progress, for scripts and CI logs'
            cand --quiet 'Print one line and no progress, for scripts and CI logs'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'punctual;fleet;pack'= {
            cand -o 'Folder of the tables; what is packed there already is not packed again'
            cand --out 'Folder of the tables; what is packed there already is not packed again'
            cand --color 'When to colour: auto is on a terminal, unless NO_COLOR is set'
            cand --lang 'Language of what people read; formats for programs are English [default: the locale''s, or en]'
            cand --names 'Write the names of machines into the tables; without this option they are masked, and only PATH/private contains them'
            cand -q 'Print no messages but errors'
            cand --quiet 'Print no messages but errors'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'punctual;fleet;ask'= {
            cand --budget 'Latency beyond which an activation is a miss [default: the budget of each recording]'
            cand --misses-per-million 'A machine is bad if more than this many of a million releases are missed'
            cand --machine 'Machine to ask about, as the other answers name it [default: all, or the worst one]'
            cand --by 'Column by which percentiles are grouped'
            cand --sql 'Print the question in SQL instead of asking it'
            cand --color 'When to colour: auto is on a terminal, unless NO_COLOR is set'
            cand --lang 'Language of what people read; formats for programs are English [default: the locale''s, or en]'
            cand --json 'Print one JSON document'
            cand --csv 'Print the rows as CSV'
            cand -q 'Print no messages but errors'
            cand --quiet 'Print no messages but errors'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'punctual;fleet;help'= {
            cand run 'Run a command of punctual on many hosts by ssh, and fetch what it writes'
            cand pack 'Pack the recordings and audits of many machines into tables that SQL engines can read'
            cand ask 'Ask the packed tables a question, by DuckDB: which machines are bad, what they share, which change made them worse'
            cand help 'Print this message or the help of the given subcommand(s)'
        }
        &'punctual;fleet;help;run'= {
        }
        &'punctual;fleet;help;pack'= {
        }
        &'punctual;fleet;help;ask'= {
        }
        &'punctual;fleet;help;help'= {
        }
        &'punctual;torture'= {
            cand --cpus 'CPUs to test; one CPU of the machine always runs ordinary threads only [default: every CPU this process may use]'
            cand --duration 'How long to test'
            cand --threads 'Threads on each CPU, or timers of each kind [default: 16; 4 with fpu]'
            cand --priority 'SCHED_FIFO priority of the first real-time thread, 1 to 95; no thread has a higher one'
            cand --load-dir 'Directory for the files of the load that the test heap runs [default: the current one]'
            cand --color 'When to colour: auto is on a terminal, unless NO_COLOR is set'
            cand --lang 'Language of what people read; formats for programs are English [default: the locale''s, or en]'
            cand --plant 'Spoil one register once, to check that switches or fpu notices it: the exit code must then be 2'
            cand --own-tests 'First run the tests of Xenomai 3 (smokey) or Xenomai 4 (evl test), if they are installed'
            cand -q 'Print one line and no progress, for scripts and CI logs'
            cand --brief 'Print one line and no progress, for scripts and CI logs'
            cand --quiet 'Print one line and no progress, for scripts and CI logs'
            cand --json 'Print one JSON document instead of text'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'punctual;lab'= {
            cand --color 'When to colour: auto is on a terminal, unless NO_COLOR is set'
            cand --lang 'Language of what people read; formats for programs are English [default: the locale''s, or en]'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand compare 'Measure several kernels under the same loads, and show them side by side'
            cand gate 'Compare a kernel with an earlier one, for CI: exits with 2 if it is worse'
            cand bisect 'Find the version, the word of the command line, or the option of the configuration that made a kernel worse'
            cand help 'Print this message or the help of the given subcommand(s)'
        }
        &'punctual;lab;compare'= {
            cand --kernel 'Kernels: debian:12, debian:13-rt, debian:12-rt-arm64, an image (./bzImage), deb:FILE. Each may be followed by +WORD for a word of its command line, and +FILE.ko for a module; +preempt=all is four kernels'
            cand --load 'Load phases in turn, loads of a phase joined by +; classic-2002 stands for idle and the four loads of the published suite classic-2002 that need no display'
            cand --period 'Time between releases'
            cand --duration 'Length of one measurement in the guest''s time, over all loads'
            cand --binary 'Static punctual for the guests, one for each architecture [default: this program, if it is static]'
            cand --out 'Folder for the results; what is there already is not measured again [default: punctual-lab]'
            cand --cache 'Folder for kernels of Debian [default: $PUNCTUAL_LAB_CACHE, or punctual-lab below the user''s cache]'
            cand --jobs 'Guests at once [default: one for each CPU]'
            cand --memory 'Memory of a guest in MiB'
            cand --limit 'Longest time that one guest may work, in the host''s time'
            cand --seeds 'Number of measurements of each kernel, each with a seed of its own; fewer than 3 show little'
            cand --margin 'Changes smaller than this share count as neither better nor worse'
            cand --html 'Write an HTML page to this file'
            cand --color 'When to colour: auto is on a terminal, unless NO_COLOR is set'
            cand --lang 'Language of what people read; formats for programs are English [default: the locale''s, or en]'
            cand --real 'Use several CPUs and the host''s time, to see that everything works; the numbers say nothing about a kernel'
            cand --no-explain 'Do not look for causes'
            cand -q 'Print one line and no progress, for scripts and CI logs'
            cand --brief 'Print one line and no progress, for scripts and CI logs'
            cand --quiet 'Print one line and no progress, for scripts and CI logs'
            cand --full 'Print every number of every kernel and load'
            cand --json 'Print one JSON document'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'punctual;lab;gate'= {
            cand --kernel 'The kernel to judge, named as for punctual lab compare'
            cand --config 'Options that the kernel must have been built with, as lines of a configuration; a kernel with other values is refused. With --build, the configuration to build'
            cand --build 'Command that builds the kernel to judge: $PUNCTUAL_CONFIG names its configuration, $PUNCTUAL_IMAGE the file for its image'
            cand --baseline 'Compare the kernel with the one in this file, which --save has written; load, period, duration and memory are those of the file'
            cand --save 'Write the measurements of this kernel to a file with which later kernels are compared'
            cand --load 'Load phases in turn, loads of a phase joined by +; classic-2002 stands for idle and the four loads of the published suite classic-2002 that need no display'
            cand --period 'Time between releases'
            cand --duration 'Length of one measurement in the guest''s time, over all loads'
            cand --binary 'Static punctual for the guests, one for each architecture [default: this program, if it is static]'
            cand --out 'Folder for the results; what is there already is not measured again [default: punctual-lab]'
            cand --cache 'Folder for kernels of Debian [default: $PUNCTUAL_LAB_CACHE, or punctual-lab below the user''s cache]'
            cand --jobs 'Guests at once [default: one for each CPU]'
            cand --memory 'Memory of a guest in MiB'
            cand --limit 'Longest time that one guest may work, in the host''s time'
            cand --seeds 'Number of measurements, each with a seed of its own'
            cand --margin 'Changes smaller than this share are no alarm'
            cand --junit 'Write JUnit XML to this file, for CI: one case for each load'
            cand --html 'Write an HTML page to this file'
            cand --color 'When to colour: auto is on a terminal, unless NO_COLOR is set'
            cand --lang 'Language of what people read; formats for programs are English [default: the locale''s, or en]'
            cand -q 'Print one line and no progress, for scripts and CI logs'
            cand --brief 'Print one line and no progress, for scripts and CI logs'
            cand --quiet 'Print one line and no progress, for scripts and CI logs'
            cand --json 'Print one JSON document, in the format of lab compare'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'punctual;lab;bisect'= {
            cand --kernel 'Kernels in order, the first good and the last bad; or one kernel, with --good-words and --bad-words'
            cand --good-words 'Words of the command line with which the kernel is good'
            cand --bad-words 'Words of the command line with which the kernel is bad'
            cand --good-config 'Configuration of a good kernel'
            cand --bad-config 'Configuration of a bad kernel'
            cand --build 'Command that builds a kernel: $PUNCTUAL_CONFIG names its configuration, $PUNCTUAL_IMAGE the file for its image'
            cand --load 'Load phases in turn, loads of a phase joined by +; classic-2002 stands for idle and the four loads of the published suite classic-2002 that need no display'
            cand --period 'Time between releases'
            cand --duration 'Length of one measurement in the guest''s time, over all loads'
            cand --binary 'Static punctual for the guests, one for each architecture [default: this program, if it is static]'
            cand --out 'Folder for the results; what is there already is not measured again [default: punctual-lab]'
            cand --cache 'Folder for kernels of Debian [default: $PUNCTUAL_LAB_CACHE, or punctual-lab below the user''s cache]'
            cand --jobs 'Guests at once [default: one for each CPU]'
            cand --memory 'Memory of a guest in MiB'
            cand --limit 'Longest time that one guest may work, in the host''s time'
            cand --seeds 'Number of measurements of each kernel, each with a seed of its own'
            cand --margin 'The good and the bad kernel must differ by more than this share'
            cand --color 'When to colour: auto is on a terminal, unless NO_COLOR is set'
            cand --lang 'Language of what people read; formats for programs are English [default: the locale''s, or en]'
            cand -q 'Print one line and no progress, for scripts and CI logs'
            cand --brief 'Print one line and no progress, for scripts and CI logs'
            cand --quiet 'Print one line and no progress, for scripts and CI logs'
            cand --json 'Print one JSON document'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'punctual;lab;help'= {
            cand compare 'Measure several kernels under the same loads, and show them side by side'
            cand gate 'Compare a kernel with an earlier one, for CI: exits with 2 if it is worse'
            cand bisect 'Find the version, the word of the command line, or the option of the configuration that made a kernel worse'
            cand help 'Print this message or the help of the given subcommand(s)'
        }
        &'punctual;lab;help;compare'= {
        }
        &'punctual;lab;help;gate'= {
        }
        &'punctual;lab;help;bisect'= {
        }
        &'punctual;lab;help;help'= {
        }
        &'punctual;man'= {
            cand --color 'When to colour: auto is on a terminal, unless NO_COLOR is set'
            cand --lang 'Language of what people read; formats for programs are English [default: the locale''s, or en]'
            cand --install 'Write the files: for all users if run as root, otherwise for this user'
            cand -q 'Print no messages but errors'
            cand --quiet 'Print no messages but errors'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'punctual;completions'= {
            cand --color 'When to colour: auto is on a terminal, unless NO_COLOR is set'
            cand --lang 'Language of what people read; formats for programs are English [default: the locale''s, or en]'
            cand --install 'Write the files: for all users if run as root, otherwise for this user'
            cand -q 'Print no messages but errors'
            cand --quiet 'Print no messages but errors'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'punctual;audit'= {
            cand --profile 'Kind of work the machine is for: a preset, a profile of the project file, or just periodic, poll or audio'
            cand --config 'Project file that states the need [default: punctual.toml in this folder, if it is there]'
            cand --cpus 'CPUs for the real-time work, for example 2-3 [default: the isolated CPUs, or all if none is isolated]'
            cand --period 'Time between releases, if it is known'
            cand --budget 'Largest latency you can live with; findings that matter only for smaller budgets are excused'
            cand --fail-on 'Exit with 2 if a finding is at least this bad; with --diff, only findings that became worse count'
            cand --machine 'Take a captured machine instead of this one: a file written by punctual snapshot'
            cand --root 'Take an unpacked system instead of this machine: the folder of a disk image, an initramfs or a sos report'
            cand --diff 'Show the differences between two captured machines, or between one and this machine; prints nothing if nothing differs'
            cand --explain 'Explain one knob'
            cand --color 'When to colour: auto is on a terminal, unless NO_COLOR is set'
            cand --lang 'Language of what people read; formats for programs are English [default: the locale''s, or en]'
            cand --json 'Print one JSON document'
            cand --markdown 'Print Markdown, for an issue or a merge request'
            cand --sarif 'Print SARIF 2.1.0, for code-review tools'
            cand --junit 'Print JUnit XML, for CI'
            cand -q 'Print one line, for scripts and CI logs'
            cand --brief 'Print one line, for scripts and CI logs'
            cand --quiet 'Print one line, for scripts and CI logs'
            cand --all 'Also list what is good or does not apply; with --sarif, also what is not bad'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'punctual;tune'= {
            cand --cpus 'CPUs for the real-time work, for example 2-3 [default: chosen, and the choice explained]'
            cand --profile 'Kind of work the machine is for: a preset, a profile of the project file, or just periodic, poll or audio'
            cand --config 'Project file that states the need [default: punctual.toml in this folder, if it is there]'
            cand --period 'Time between releases, if it is known'
            cand --budget 'Largest latency you can live with'
            cand --blast 'How much a change may disturb the running machine; changes that disturb it more are listed and not made'
            cand --device 'Network device that carries the real-time traffic'
            cand --keep-irqs 'Interrupts that are not moved: numbers, or names as in /proc/interrupts'
            cand --priority 'Priority of the real-time work, with which the priorities of the kernel''s threads are compared'
            cand --hugepages 'Reserve this number of huge pages of 2 MiB'
            cand --machine 'Take a captured machine instead of this one: a file written by punctual snapshot'
            cand --root 'Take an unpacked system instead of this machine: the folder of a disk image, an initramfs or a sos report'
            cand --confirm-within 'Put everything back unless `punctual status --confirm` comes within this time'
            cand --print 'Print one artefact alone, for people who build images'
            cand --kernel 'With --print: version of the kernel it is for [default: this machine''s]'
            cand --flavour 'With --print: kind of the kernel it is for [default: this machine''s]'
            cand --arch 'With --print: architecture it is for [default: this machine''s]'
            cand --xenomai 'With --print cmdline: version of Xenomai 3 it is for [default: 3.3]'
            cand --owners 'With --print rk3568-l3: which CPUs own which quarters of the L3 cache, for example ''0-2=0-1;3=2-3'', or a word to decode, for example 0xc333'
            cand --for 'Apply, run this command, and put everything back when it ends'
            cand --only 'Knobs to change, and no others, for example irq.affinity,iso.domain'
            cand --except 'Knobs to leave alone'
            cand --color 'When to colour: auto is on a terminal, unless NO_COLOR is set'
            cand --lang 'Language of what people read; formats for programs are English [default: the locale''s, or en]'
            cand --partition 'Isolate by a cpuset partition at run time instead of isolcpus= at boot'
            cand --dry-run 'Show the plan, change nothing'
            cand -y 'Do not ask for confirmation'
            cand --yes 'Do not ask for confirmation'
            cand --until-reboot 'Make only changes that last until the next boot: no files, no boot loader'
            cand --confirm-at-boot 'Let the check at boot make the new boot entry the default if everything is in force'
            cand -q 'Print one line and no progress, for scripts and CI logs'
            cand --brief 'Print one line and no progress, for scripts and CI logs'
            cand --quiet 'Print one line and no progress, for scripts and CI logs'
            cand --json 'Print one JSON document'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'punctual;optimize'= {
            cand --cpus 'CPUs of the real-time work, which are measured [default: chosen as tune does]'
            cand --time 'Time for the whole campaign'
            cand --strategy 'How the knobs are tried'
            cand --settle 'With --boots: the time a machine must have been up before a boot is measured'
            cand --run 'Length of one measurement; many short measurements are better than few long ones'
            cand --load 'Load to measure under, loads joined by +, phases by commas [default: the profile''s, or none]'
            cand --load-dir 'Directory for the files of I/O loads [default: the campaign''s folder]'
            cand --period 'Time between releases [default: the profile''s, or 1ms]'
            cand --budget 'Largest latency you can live with: what is later is a miss [default: the profile''s; without one, only skipped releases are misses]'
            cand --priority 'SCHED_FIFO priority, 1 to 95 [default: the profile''s, or 90]'
            cand --dma-latency 'Hold /dev/cpu_dma_latency at this number of microseconds in every measurement, as the application does'
            cand --profile 'Kind of work the machine is for: a preset, a profile of the project file, or just periodic, poll or audio'
            cand --config 'Project file that states the need [default: punctual.toml in this folder, if it is there]'
            cand --blast 'How much a change may disturb the running machine; changes that disturb it more are left out'
            cand --margin 'Changes smaller than this share count as neither better nor worse'
            cand --seed 'Seed of the order [default: from the clock]'
            cand --out 'Folder to make for the campaign and its recordings [default: punctual-optimize-DATE-TIME, with --boots below /var/lib]'
            cand --resume 'Continue the campaign in this folder, with the options it was started with'
            cand --html 'Write an HTML page with a chart of the effects to this file'
            cand --knobs 'Knobs to try; script:/PATH is your own program, which is called with `on` and `off` [default: those that tune would change now]'
            cand --color 'When to colour: auto is on a terminal, unless NO_COLOR is set'
            cand --lang 'Language of what people read; formats for programs are English [default: the locale''s, or en]'
            cand --boots 'Try knobs that need a reboot: the machine is rebooted for each measurement, and the campaign then continues by itself'
            cand --at-boot 'Continues unattended after a boot'
            cand --dry-run 'Show what would be tried and how long it takes; change nothing'
            cand -y 'Do not ask for confirmation'
            cand --yes 'Do not ask for confirmation'
            cand --json 'Print one JSON document'
            cand -q 'Print one line and no progress, for scripts and CI logs'
            cand --brief 'Print one line and no progress, for scripts and CI logs'
            cand --quiet 'Print one line and no progress, for scripts and CI logs'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'punctual;help'= {
            cand init 'Write a project file that states the need once, from four questions or from options'
            cand check 'The main job: audit, measure under load, and say whether the need is held'
            cand lint 'Say how the kernel treats each word of a command line'
            cand status 'Show what was changed, and whether it is configured, booted and in force'
            cand revert 'Put back exactly what was there'
            cand measure 'Measure latency in a stated scenario, into a recording'
            cand merge 'Merge several runs of one scenario into one recording'
            cand explain 'Rank what made activations late in a recording'
            cand inspect 'Observe a running program: its periodic threads, what is in their cycles, how they are set up'
            cand watch 'Measure for months while other work runs, into a folder of bounded size'
            cand export 'Write a recording, or another program''s result, in another program''s format'
            cand report 'Show the report of a recording, or of another program''s result'
            cand compare 'Compare recordings with a first one: better or worse, and how certain that is'
            cand trend 'Find where a series of runs shifted or drifts, and what else changed there'
            cand campaign 'Run an experiment that is described in a file: measure its cells in turn, with reboots if necessary, and put all results on one page with published numbers'
            cand share 'Write a result, with what the machine looks like, into one masked file that can be shown to anybody'
            cand snapshot 'Write this machine into one readable file, to be audited elsewhere or shown in a bug report'
            cand fleet 'Many machines: run a command on all of them, pack their results, and find out what the bad machines share'
            cand torture 'Try to break the kernel''s promises about registers, locks, memory and timers'
            cand lab 'Measure kernels in emulated machines, where time counts instructions and this machine has no influence on the numbers'
            cand man 'Install man pages where `man` finds them'
            cand completions 'Install completions where bash, zsh and fish look for them'
            cand audit 'List what on this machine stands in the way of real time'
            cand tune 'Plan what to change on this machine, and change it: journalled, read back, reversible'
            cand optimize 'Try knobs one at a time, measure each, and tell which help here; everything is put back'
            cand help 'Print this message or the help of the given subcommand(s)'
        }
        &'punctual;help;init'= {
        }
        &'punctual;help;check'= {
        }
        &'punctual;help;lint'= {
        }
        &'punctual;help;status'= {
        }
        &'punctual;help;revert'= {
        }
        &'punctual;help;measure'= {
        }
        &'punctual;help;merge'= {
        }
        &'punctual;help;explain'= {
        }
        &'punctual;help;inspect'= {
        }
        &'punctual;help;watch'= {
        }
        &'punctual;help;export'= {
        }
        &'punctual;help;report'= {
        }
        &'punctual;help;compare'= {
        }
        &'punctual;help;trend'= {
        }
        &'punctual;help;campaign'= {
        }
        &'punctual;help;share'= {
        }
        &'punctual;help;snapshot'= {
        }
        &'punctual;help;fleet'= {
            cand run 'Run a command of punctual on many hosts by ssh, and fetch what it writes'
            cand pack 'Pack the recordings and audits of many machines into tables that SQL engines can read'
            cand ask 'Ask the packed tables a question, by DuckDB: which machines are bad, what they share, which change made them worse'
        }
        &'punctual;help;fleet;run'= {
        }
        &'punctual;help;fleet;pack'= {
        }
        &'punctual;help;fleet;ask'= {
        }
        &'punctual;help;torture'= {
        }
        &'punctual;help;lab'= {
            cand compare 'Measure several kernels under the same loads, and show them side by side'
            cand gate 'Compare a kernel with an earlier one, for CI: exits with 2 if it is worse'
            cand bisect 'Find the version, the word of the command line, or the option of the configuration that made a kernel worse'
        }
        &'punctual;help;lab;compare'= {
        }
        &'punctual;help;lab;gate'= {
        }
        &'punctual;help;lab;bisect'= {
        }
        &'punctual;help;man'= {
        }
        &'punctual;help;completions'= {
        }
        &'punctual;help;audit'= {
        }
        &'punctual;help;tune'= {
        }
        &'punctual;help;optimize'= {
        }
        &'punctual;help;help'= {
        }
    ]
    $completions[$command]
}
