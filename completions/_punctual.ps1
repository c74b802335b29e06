
using namespace System.Management.Automation
using namespace System.Management.Automation.Language

Register-ArgumentCompleter -Native -CommandName 'punctual' -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)

    $commandElements = $commandAst.CommandElements
    $command = @(
        'punctual'
        for ($i = 1; $i -lt $commandElements.Count; $i++) {
            $element = $commandElements[$i]
            if ($element -isnot [StringConstantExpressionAst] -or
                $element.StringConstantType -ne [StringConstantType]::BareWord -or
                $element.Value.StartsWith('-') -or
                $element.Value -eq $wordToComplete) {
                break
        }
        $element.Value
    }) -join ';'

    $completions = @(switch ($command) {
        'punctual' {
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour: auto is on a terminal, unless NO_COLOR is set')
            [CompletionResult]::new('--lang', '--lang', [CompletionResultType]::ParameterName, 'Language of what people read; formats for programs are English [default: the locale''s, or en]')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('init', 'init', [CompletionResultType]::ParameterValue, 'Write a project file that states the need once, from four questions or from options')
            [CompletionResult]::new('check', 'check', [CompletionResultType]::ParameterValue, 'The main job: audit, measure under load, and say whether the need is held')
            [CompletionResult]::new('lint', 'lint', [CompletionResultType]::ParameterValue, 'Say how the kernel treats each word of a command line')
            [CompletionResult]::new('status', 'status', [CompletionResultType]::ParameterValue, 'Show what was changed, and whether it is configured, booted and in force')
            [CompletionResult]::new('revert', 'revert', [CompletionResultType]::ParameterValue, 'Put back exactly what was there')
            [CompletionResult]::new('measure', 'measure', [CompletionResultType]::ParameterValue, 'Measure latency in a stated scenario, into a recording')
            [CompletionResult]::new('merge', 'merge', [CompletionResultType]::ParameterValue, 'Merge several runs of one scenario into one recording')
            [CompletionResult]::new('explain', 'explain', [CompletionResultType]::ParameterValue, 'Rank what made activations late in a recording')
            [CompletionResult]::new('inspect', 'inspect', [CompletionResultType]::ParameterValue, 'Observe a running program: its periodic threads, what is in their cycles, how they are set up')
            [CompletionResult]::new('watch', 'watch', [CompletionResultType]::ParameterValue, 'Measure for months while other work runs, into a folder of bounded size')
            [CompletionResult]::new('export', 'export', [CompletionResultType]::ParameterValue, 'Write a recording, or another program''s result, in another program''s format')
            [CompletionResult]::new('report', 'report', [CompletionResultType]::ParameterValue, 'Show the report of a recording, or of another program''s result')
            [CompletionResult]::new('compare', 'compare', [CompletionResultType]::ParameterValue, 'Compare recordings with a first one: better or worse, and how certain that is')
            [CompletionResult]::new('trend', 'trend', [CompletionResultType]::ParameterValue, 'Find where a series of runs shifted or drifts, and what else changed there')
            [CompletionResult]::new('campaign', 'campaign', [CompletionResultType]::ParameterValue, 'Run an experiment that is described in a file: measure its cells in turn, with reboots if necessary, and put all results on one page with published numbers')
            [CompletionResult]::new('share', 'share', [CompletionResultType]::ParameterValue, 'Write a result, with what the machine looks like, into one masked file that can be shown to anybody')
            [CompletionResult]::new('snapshot', 'snapshot', [CompletionResultType]::ParameterValue, 'Write this machine into one readable file, to be audited elsewhere or shown in a bug report')
            [CompletionResult]::new('fleet', 'fleet', [CompletionResultType]::ParameterValue, 'Many machines: run a command on all of them, pack their results, and find out what the bad machines share')
            [CompletionResult]::new('torture', 'torture', [CompletionResultType]::ParameterValue, 'Try to break the kernel''s promises about registers, locks, memory and timers')
            [CompletionResult]::new('lab', 'lab', [CompletionResultType]::ParameterValue, 'Measure kernels in emulated machines, where time counts instructions and this machine has no influence on the numbers')
            [CompletionResult]::new('man', 'man', [CompletionResultType]::ParameterValue, 'Install man pages where `man` finds them')
            [CompletionResult]::new('completions', 'completions', [CompletionResultType]::ParameterValue, 'Install completions where bash, zsh and fish look for them')
            [CompletionResult]::new('audit', 'audit', [CompletionResultType]::ParameterValue, 'List what on this machine stands in the way of real time')
            [CompletionResult]::new('tune', 'tune', [CompletionResultType]::ParameterValue, 'Plan what to change on this machine, and change it: journalled, read back, reversible')
            [CompletionResult]::new('optimize', 'optimize', [CompletionResultType]::ParameterValue, 'Try knobs one at a time, measure each, and tell which help here; everything is put back')
            [CompletionResult]::new('help', 'help', [CompletionResultType]::ParameterValue, 'Print this message or the help of the given subcommand(s)')
            break
        }
        'punctual;init' {
            [CompletionResult]::new('--profile', '--profile', [CompletionResultType]::ParameterName, 'Kind of work, which fills in what is not given')
            [CompletionResult]::new('--period', '--period', [CompletionResultType]::ParameterName, 'Time between releases, for example 1ms')
            [CompletionResult]::new('--budget', '--budget', [CompletionResultType]::ParameterName, 'Largest latency you can live with, for example 50us')
            [CompletionResult]::new('--cpus', '--cpus', [CompletionResultType]::ParameterName, 'CPUs for the real-time work, for example 2-3')
            [CompletionResult]::new('--out', '--out', [CompletionResultType]::ParameterName, 'File to write')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour: auto is on a terminal, unless NO_COLOR is set')
            [CompletionResult]::new('--lang', '--lang', [CompletionResultType]::ParameterName, 'Language of what people read; formats for programs are English [default: the locale''s, or en]')
            [CompletionResult]::new('-y', '-y', [CompletionResultType]::ParameterName, 'Ask no questions; values that are not given are left to the profile')
            [CompletionResult]::new('--yes', '--yes', [CompletionResultType]::ParameterName, 'Ask no questions; values that are not given are left to the profile')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print no messages but errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print no messages but errors')
            [CompletionResult]::new('--replace', '--replace', [CompletionResultType]::ParameterName, 'Replace the file if it exists')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'punctual;check' {
            [CompletionResult]::new('--profile', '--profile', [CompletionResultType]::ParameterName, 'Kind of work the machine is for: a preset, a profile of the project file, or just periodic, poll or audio')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'Project file that states the need [default: punctual.toml in this folder, if it is there]')
            [CompletionResult]::new('--period', '--period', [CompletionResultType]::ParameterName, 'Time between releases, for example 1ms or 250us [default: the profile''s, or 1ms]')
            [CompletionResult]::new('--budget', '--budget', [CompletionResultType]::ParameterName, 'Largest latency you can live with [default: the profile''s, or 50us]')
            [CompletionResult]::new('--cpus', '--cpus', [CompletionResultType]::ParameterName, 'CPUs to check, for example 2-3 [default: the isolated ones, or all but the first core]')
            [CompletionResult]::new('--priority', '--priority', [CompletionResultType]::ParameterName, 'SCHED_FIFO priority, 1 to 95 [default: the profile''s, or 90]')
            [CompletionResult]::new('--duration', '--duration', [CompletionResultType]::ParameterName, 'How long to measure; looking for causes takes a quarter of it in addition [default: 30s]')
            [CompletionResult]::new('--load', '--load', [CompletionResultType]::ParameterName, 'Load phases in turn, loads of a phase joined by +; `none` for no load [default: the profile''s, or idle:1,cpu+memory+io-write+switch+net:2]')
            [CompletionResult]::new('--wait-quiet', '--wait-quiet', [CompletionResultType]::ParameterName, 'Wait up to this time until other programs are idle before an idle phase is measured')
            [CompletionResult]::new('--out', '--out', [CompletionResultType]::ParameterName, 'Recording to write; the HTML report is written next to it [default: punctual-DATE-TIME.punctual]')
            [CompletionResult]::new('--junit', '--junit', [CompletionResultType]::ParameterName, 'Write JUnit XML to this file, for CI: one case for each CPU')
            [CompletionResult]::new('--fail-on', '--fail-on', [CompletionResultType]::ParameterName, 'Exit with 2 when a finding is at least this bad')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour: auto is on a terminal, unless NO_COLOR is set')
            [CompletionResult]::new('--lang', '--lang', [CompletionResultType]::ParameterName, 'Language of what people read; formats for programs are English [default: the locale''s, or en]')
            [CompletionResult]::new('--why-not', '--why-not', [CompletionResultType]::ParameterName, 'Do not measure: say which functions of punctual work here, and what to install or to grant for those that do not')
            [CompletionResult]::new('--no-explain', '--no-explain', [CompletionResultType]::ParameterName, 'Do not look for causes in a second, traced pass')
            [CompletionResult]::new('--full', '--full', [CompletionResultType]::ParameterName, 'Print the whole report, with the answer last')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print one line and no progress, for scripts and CI logs')
            [CompletionResult]::new('--brief', '--brief', [CompletionResultType]::ParameterName, 'Print one line and no progress, for scripts and CI logs')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print one line and no progress, for scripts and CI logs')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print one JSON document instead of text')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'punctual;lint' {
            [CompletionResult]::new('--cmdline', '--cmdline', [CompletionResultType]::ParameterName, 'Command line to judge, or - to read it from standard input [default: that of this machine]')
            [CompletionResult]::new('--kernel', '--kernel', [CompletionResultType]::ParameterName, 'Version of the kernel that reads the line, for example 6.12 [default: this machine''s]')
            [CompletionResult]::new('--flavour', '--flavour', [CompletionResultType]::ParameterName, 'Kind of the kernel that reads the line [default: this machine''s]')
            [CompletionResult]::new('--arch', '--arch', [CompletionResultType]::ParameterName, 'Architecture of the kernel that reads the line [default: this machine''s]')
            [CompletionResult]::new('--cpus', '--cpus', [CompletionResultType]::ParameterName, 'Number of CPUs of the machine that boots with the line [default: that of this machine, or unknown for the line of another machine]')
            [CompletionResult]::new('--machine', '--machine', [CompletionResultType]::ParameterName, 'Take a captured machine instead of this one: a file written by punctual snapshot')
            [CompletionResult]::new('--root', '--root', [CompletionResultType]::ParameterName, 'Take an unpacked system instead of this machine: the folder of a disk image, an initramfs or a sos report')
            [CompletionResult]::new('--file', '--file', [CompletionResultType]::ParameterName, 'Judge the line in a file that contains only the line (cmdline.txt), or in a boot loader''s file (default/grub, extlinux.conf)')
            [CompletionResult]::new('--image', '--image', [CompletionResultType]::ParameterName, 'Judge for the kernel in this boot image (vmlinuz): the list of the parameters that it accepts is read from the image')
            [CompletionResult]::new('--fail-on', '--fail-on', [CompletionResultType]::ParameterName, 'Exit with 2 when a word is at least this bad')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour: auto is on a terminal, unless NO_COLOR is set')
            [CompletionResult]::new('--lang', '--lang', [CompletionResultType]::ParameterName, 'Language of what people read; formats for programs are English [default: the locale''s, or en]')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print one JSON document')
            [CompletionResult]::new('--sarif', '--sarif', [CompletionResultType]::ParameterName, 'Print SARIF, for code-review tools')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print one line and no progress, for scripts and CI logs')
            [CompletionResult]::new('--brief', '--brief', [CompletionResultType]::ParameterName, 'Print one line and no progress, for scripts and CI logs')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print one line and no progress, for scripts and CI logs')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'punctual;status' {
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour: auto is on a terminal, unless NO_COLOR is set')
            [CompletionResult]::new('--lang', '--lang', [CompletionResultType]::ParameterName, 'Language of what people read; formats for programs are English [default: the locale''s, or en]')
            [CompletionResult]::new('--confirm', '--confirm', [CompletionResultType]::ParameterName, 'Keep what was applied, and make the new boot entry the default')
            [CompletionResult]::new('--adopt-untried', '--adopt-untried', [CompletionResultType]::ParameterName, 'Make the new command line the default although this boot loader cannot try it first')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print one JSON document')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print one line and no progress, for scripts and CI logs')
            [CompletionResult]::new('--brief', '--brief', [CompletionResultType]::ParameterName, 'Print one line and no progress, for scripts and CI logs')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print one line and no progress, for scripts and CI logs')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'punctual;revert' {
            [CompletionResult]::new('--to', '--to', [CompletionResultType]::ParameterName, 'Put back all transactions after transaction N, which is kept [default: everything]')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour: auto is on a terminal, unless NO_COLOR is set')
            [CompletionResult]::new('--lang', '--lang', [CompletionResultType]::ParameterName, 'Language of what people read; formats for programs are English [default: the locale''s, or en]')
            [CompletionResult]::new('--leave-conflicts', '--leave-conflicts', [CompletionResultType]::ParameterName, 'Leave settings that another program or person has changed since as they are, and forget them')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print one line and no progress, for scripts and CI logs')
            [CompletionResult]::new('--brief', '--brief', [CompletionResultType]::ParameterName, 'Print one line and no progress, for scripts and CI logs')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print one line and no progress, for scripts and CI logs')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print one JSON document')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'punctual;measure' {
            [CompletionResult]::new('--profile', '--profile', [CompletionResultType]::ParameterName, 'Kind of work the machine is for: a preset, a profile of the project file, or just periodic, poll or audio')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'Project file that states the need [default: punctual.toml in this folder, if it is there]')
            [CompletionResult]::new('--cpus', '--cpus', [CompletionResultType]::ParameterName, 'CPUs to measure; leave one out for punctual''s own helper threads, or the run is not trusted [default: every CPU this process may use]')
            [CompletionResult]::new('--period', '--period', [CompletionResultType]::ParameterName, 'Time between releases: one for all, or by CPU as in 0=1ms,1=500us [default: 1ms; 50ms with nanosleep]')
            [CompletionResult]::new('--policy', '--policy', [CompletionResultType]::ParameterName, 'Scheduling policy')
            [CompletionResult]::new('--priority', '--priority', [CompletionResultType]::ParameterName, 'Priority for fifo and rr, 1 to 95 [default: the profile''s, or 90]')
            [CompletionResult]::new('--runtime', '--runtime', [CompletionResultType]::ParameterName, 'Run time per period for deadline [default: a fifth of the shortest period]')
            [CompletionResult]::new('--mechanism', '--mechanism', [CompletionResultType]::ParameterName, 'How the threads wait; on EVL absolute, on Cobalt absolute or timerfd (a timer file of its own)')
            [CompletionResult]::new('--endpoint', '--endpoint', [CompletionResultType]::ParameterName, 'With rpmsg and shm: device file or memory of the other side, such as /dev/rpmsg0, or PATH@OFFSET in bytes for memory')
            [CompletionResult]::new('--clock', '--clock', [CompletionResultType]::ParameterName, 'The clock that sets the times of the releases and measures the latency: realtime, tai, aux:0 to aux:7, or a PTP device such as /dev/ptp0')
            [CompletionResult]::new('--kernel', '--kernel', [CompletionResultType]::ParameterName, 'The kernel that wakes the threads: Linux, or a real-time core beside it; two of them, as in linux,evl, are measured in turn, half of the duration each, and compared; --out then names a folder')
            [CompletionResult]::new('--context', '--context', [CompletionResultType]::ParameterName, 'With one real-time core: what reads the clock after a release')
            [CompletionResult]::new('--gravity', '--gravity', [CompletionResultType]::ParameterName, 'With a real-time core: by how much its timers fire early, to compensate for the time from the timer to the thread')
            [CompletionResult]::new('--rounds', '--rounds', [CompletionResultType]::ParameterName, 'With two kernels: number of rounds; each kernel is measured once in each round')
            [CompletionResult]::new('--phase', '--phase', [CompletionResultType]::ParameterName, 'Phase of the releases on the clock')
            [CompletionResult]::new('--seed', '--seed', [CompletionResultType]::ParameterName, 'Seed of --phase random')
            [CompletionResult]::new('--warm-up', '--warm-up', [CompletionResultType]::ParameterName, 'Warm-up before statistics begin: a time, or a number of activations')
            [CompletionResult]::new('--duration', '--duration', [CompletionResultType]::ParameterName, 'How long to measure [default: 30s]')
            [CompletionResult]::new('--activations', '--activations', [CompletionResultType]::ParameterName, 'Measure this number of activations of each thread instead')
            [CompletionResult]::new('--budget', '--budget', [CompletionResultType]::ParameterName, 'Largest latency you can live with: activations beyond it are counted')
            [CompletionResult]::new('--limit', '--limit', [CompletionResultType]::ParameterName, 'Stop at the first activation later than this, and exit with 2')
            [CompletionResult]::new('--dma-latency', '--dma-latency', [CompletionResultType]::ParameterName, 'Hold /dev/cpu_dma_latency at this number of microseconds during the run; it is not touched otherwise')
            [CompletionResult]::new('--load', '--load', [CompletionResultType]::ParameterName, 'Load phases in turn, each with an optional weight: idle:1,cpu+memory:2 [default: the profile''s, or none]')
            [CompletionResult]::new('--load-cpus', '--load-cpus', [CompletionResultType]::ParameterName, 'CPUs the loads run on [default: every CPU that is not isolated]')
            [CompletionResult]::new('--load-dir', '--load-dir', [CompletionResultType]::ParameterName, 'Directory for the files of I/O loads [default: the folder of the recording]')
            [CompletionResult]::new('--suite', '--suite', [CompletionResultType]::ParameterName, 'Run a published suite instead of a scenario of your own')
            [CompletionResult]::new('--explain-threshold', '--explain-threshold', [CompletionResultType]::ParameterName, 'Activations with more latency than this are late [default: the latency that 99.9 % of the run so far did not exceed]')
            [CompletionResult]::new('--windows', '--windows', [CompletionResultType]::ParameterName, 'Keep what the kernel did around late activations, but for at most this number of them')
            [CompletionResult]::new('--trace-buffer', '--trace-buffer', [CompletionResultType]::ParameterName, 'Size of the kernel''s trace buffer for each measured CPU, as in 16M [default: 32M, less if memory is short]')
            [CompletionResult]::new('--explain-engine', '--explain-engine', [CompletionResultType]::ParameterName, 'How to look for causes: by the kernel''s trace, alone or together with the kernel''s noise tracer, or by a BPF program if this build has it')
            [CompletionResult]::new('--resume', '--resume', [CompletionResultType]::ParameterName, 'Continue this recording, in the same boot and with its own scenario: append the part that was left to measure, or as much as --duration or --activations say')
            [CompletionResult]::new('--wait-quiet', '--wait-quiet', [CompletionResultType]::ParameterName, 'Wait up to this time until other programs are idle before an idle phase is measured')
            [CompletionResult]::new('--out', '--out', [CompletionResultType]::ParameterName, 'Recording to write [default: punctual-DATE-TIME.punctual]')
            [CompletionResult]::new('--html', '--html', [CompletionResultType]::ParameterName, 'Also write an HTML report to this file')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour: auto is on a terminal, unless NO_COLOR is set')
            [CompletionResult]::new('--lang', '--lang', [CompletionResultType]::ParameterName, 'Language of what people read; formats for programs are English [default: the locale''s, or en]')
            [CompletionResult]::new('--list-loads', '--list-loads', [CompletionResultType]::ParameterName, 'List the available loads')
            [CompletionResult]::new('--explain', '--explain', [CompletionResultType]::ParameterName, 'Look for causes of late activations during the run; punctual explain shows them')
            [CompletionResult]::new('--full', '--full', [CompletionResultType]::ParameterName, 'Print the whole report, with the answer last')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print one line and no progress, for scripts and CI logs')
            [CompletionResult]::new('--brief', '--brief', [CompletionResultType]::ParameterName, 'Print one line and no progress, for scripts and CI logs')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print one line and no progress, for scripts and CI logs')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print one JSON document instead of text')
            [CompletionResult]::new('--live', '--live', [CompletionResultType]::ParameterName, 'Show the running measurement on the terminal, with keys to pause the view, reset it, mark a moment, quit')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'punctual;merge' {
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Recording to write')
            [CompletionResult]::new('--out', '--out', [CompletionResultType]::ParameterName, 'Recording to write')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour: auto is on a terminal, unless NO_COLOR is set')
            [CompletionResult]::new('--lang', '--lang', [CompletionResultType]::ParameterName, 'Language of what people read; formats for programs are English [default: the locale''s, or en]')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print one JSON document: the report of the merged recording')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print one line and no progress, for scripts and CI logs')
            [CompletionResult]::new('--brief', '--brief', [CompletionResultType]::ParameterName, 'Print one line and no progress, for scripts and CI logs')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print one line and no progress, for scripts and CI logs')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'punctual;explain' {
            [CompletionResult]::new('--day', '--day', [CompletionResultType]::ParameterName, 'For the folder of a watch, show this day: its number, or its date in UTC as in 2026-11-22')
            [CompletionResult]::new('--html', '--html', [CompletionResultType]::ParameterName, 'Write an HTML page with charts of the worst activations to this file')
            [CompletionResult]::new('--perfetto', '--perfetto', [CompletionResultType]::ParameterName, 'Write a trace for the Perfetto viewer to this file')
            [CompletionResult]::new('--top', '--top', [CompletionResultType]::ParameterName, 'Number of causes to show; with --full all')
            [CompletionResult]::new('--spike', '--spike', [CompletionResultType]::ParameterName, 'Show one late activation part by part; 1 is the worst')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour: auto is on a terminal, unless NO_COLOR is set')
            [CompletionResult]::new('--lang', '--lang', [CompletionResultType]::ParameterName, 'Language of what people read; formats for programs are English [default: the locale''s, or en]')
            [CompletionResult]::new('--full', '--full', [CompletionResultType]::ParameterName, 'Print everything: all causes with the knobs that affect them, more of the worst activations, and the method; with --json all windows, some megabytes for a long recording')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print one line and no progress, for scripts and CI logs')
            [CompletionResult]::new('--brief', '--brief', [CompletionResultType]::ParameterName, 'Print one line and no progress, for scripts and CI logs')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print one line and no progress, for scripts and CI logs')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print one JSON document')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'punctual;inspect' {
            [CompletionResult]::new('--thread', '--thread', [CompletionResultType]::ParameterName, 'Report only this thread, given by its id or its name')
            [CompletionResult]::new('--duration', '--duration', [CompletionResultType]::ParameterName, 'How long to observe; a COMMAND that still runs after this time is ended')
            [CompletionResult]::new('--budget', '--budget', [CompletionResultType]::ParameterName, 'Largest latency you can live with; releases above it are counted')
            [CompletionResult]::new('--fail-on', '--fail-on', [CompletionResultType]::ParameterName, 'Exit with 2 if a cycle has one of these: alloc, fault, syscall, lock, late=TIME; with 3 if this could not be observed')
            [CompletionResult]::new('--junit', '--junit', [CompletionResultType]::ParameterName, 'Write JUnit XML to this file, for CI: one case for each condition of --fail-on in each thread')
            [CompletionResult]::new('--sarif', '--sarif', [CompletionResultType]::ParameterName, 'Write SARIF 2.1.0 to this file, for code-review tools: the operations in the cycles, with their source lines')
            [CompletionResult]::new('--html', '--html', [CompletionResultType]::ParameterName, 'Write an HTML page with all results, and pictures of late cycles')
            [CompletionResult]::new('--cycles', '--cycles', [CompletionResultType]::ParameterName, 'Write a line for each cycle to this file as comma-separated values: when it was released, when the thread woke and when it waited again')
            [CompletionResult]::new('--cost', '--cost', [CompletionResultType]::ParameterName, 'Largest share of one CPU that the observation may use; if it uses more after its first seconds, it observes less, and says what it gives up')
            [CompletionResult]::new('--engine', '--engine', [CompletionResultType]::ParameterName, 'Use only this engine, and fail if it cannot be used; without this option, the first one that can be used')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour: auto is on a terminal, unless NO_COLOR is set')
            [CompletionResult]::new('--lang', '--lang', [CompletionResultType]::ParameterName, 'Language of what people read; formats for programs are English [default: the locale''s, or en]')
            [CompletionResult]::new('--children', '--children', [CompletionResultType]::ParameterName, 'Also observe the processes that PROGRAM has started or will start; those of a COMMAND are always observed')
            [CompletionResult]::new('--live', '--live', [CompletionResultType]::ParameterName, 'Show the results so far while the program is observed, on the whole terminal')
            [CompletionResult]::new('--no-causes', '--no-causes', [CompletionResultType]::ParameterName, 'Do not look for the causes of late cycles, and so do not record what else runs on the CPUs of the program')
            [CompletionResult]::new('--no-allocations', '--no-allocations', [CompletionResultType]::ParameterName, 'Do not probe the allocator of the program. Such a probe is a breakpoint in the program''s memory at malloc and similar functions, and is removed if it takes more than a hundredth of the time')
            [CompletionResult]::new('--no-trace', '--no-trace', [CompletionResultType]::ParameterName, 'Do not use the kernel''s trace, only counters')
            [CompletionResult]::new('--dry-run', '--dry-run', [CompletionResultType]::ParameterName, 'Say what would be observed and how, and do nothing')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print one line and no progress, for scripts and CI logs')
            [CompletionResult]::new('--brief', '--brief', [CompletionResultType]::ParameterName, 'Print one line and no progress, for scripts and CI logs')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print one line and no progress, for scripts and CI logs')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print one JSON document instead of text')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'punctual;watch' {
            [CompletionResult]::new('--thread', '--thread', [CompletionResultType]::ParameterName, 'Watch only this thread of PROGRAM, given by its id or its name')
            [CompletionResult]::new('--profile', '--profile', [CompletionResultType]::ParameterName, 'Kind of work the machine is for: a preset, a profile of the project file, or just periodic, poll or audio')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'Project file that states the need [default: punctual.toml in this folder, if it is there]')
            [CompletionResult]::new('--cpus', '--cpus', [CompletionResultType]::ParameterName, 'CPUs to watch, for example 2-3 [default: the isolated ones, or all but the first core]')
            [CompletionResult]::new('--period', '--period', [CompletionResultType]::ParameterName, 'Time between releases; the watch makes it longer if it would cost too much [default: the profile''s, or 1ms]')
            [CompletionResult]::new('--budget', '--budget', [CompletionResultType]::ParameterName, 'Largest latency you can live with: activations beyond it are counted, and cause the actions of --on-late')
            [CompletionResult]::new('--priority', '--priority', [CompletionResultType]::ParameterName, 'SCHED_FIFO priority, 1 to 95: choose that of the work whose latency you want to know [default: the profile''s, or 90]')
            [CompletionResult]::new('--store', '--store', [CompletionResultType]::ParameterName, 'Folder for the results [default: /var/lib/punctual-watch as root, else ~/.local/state/punctual/watch]')
            [CompletionResult]::new('--keep', '--keep', [CompletionResultType]::ParameterName, 'Largest size of the folder for the results; when it is full, the oldest days lose detail')
            [CompletionResult]::new('--cost', '--cost', [CompletionResultType]::ParameterName, 'Largest share of one CPU, for each watched CPU or thread, that the watch may use; if it would use more, it measures less, and says what it gives up')
            [CompletionResult]::new('--on-late', '--on-late', [CompletionResultType]::ParameterName, 'What to do after an activation beyond the budget: a command, or snapshot, stop, or signal=NAME,PID; may be given several times, and is done at most once in ten seconds')
            [CompletionResult]::new('--metrics', '--metrics', [CompletionResultType]::ParameterName, 'Where Prometheus finds the metrics: a loopback address as in 127.0.0.1:9464, unix:PATH, or file:PATH')
            [CompletionResult]::new('--duration', '--duration', [CompletionResultType]::ParameterName, 'How long to watch [default: until it is ended]')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour: auto is on a terminal, unless NO_COLOR is set')
            [CompletionResult]::new('--lang', '--lang', [CompletionResultType]::ParameterName, 'Language of what people read; formats for programs are English [default: the locale''s, or en]')
            [CompletionResult]::new('--wait', '--wait', [CompletionResultType]::ParameterName, 'If PROGRAM does not run yet, wait for it; --install implies this')
            [CompletionResult]::new('--no-trace', '--no-trace', [CompletionResultType]::ParameterName, 'Do not record what the kernel does on the watched CPUs, so that late activations have no causes')
            [CompletionResult]::new('--install', '--install', [CompletionResultType]::ParameterName, 'Write a systemd unit that watches with these options from now on, also after each boot, and start it')
            [CompletionResult]::new('--uninstall', '--uninstall', [CompletionResultType]::ParameterName, 'End the watch that --install began, and remove its unit; the folder with the results is kept')
            [CompletionResult]::new('--dry-run', '--dry-run', [CompletionResultType]::ParameterName, 'With --install or --uninstall, say what would be written and do nothing')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print no messages but errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print no messages but errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'punctual;export' {
            [CompletionResult]::new('--format', '--format', [CompletionResultType]::ParameterName, 'Format to write')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'File to write [default: standard output]')
            [CompletionResult]::new('--out', '--out', [CompletionResultType]::ParameterName, 'File to write [default: standard output]')
            [CompletionResult]::new('--budget', '--budget', [CompletionResultType]::ParameterName, 'Largest latency you can live with, for formats that say whether a run passed [default: the recording''s]')
            [CompletionResult]::new('--run', '--run', [CompletionResultType]::ParameterName, 'Name of the run in the table of --format parquet [default: the file''s name]')
            [CompletionResult]::new('--machine-name', '--machine-name', [CompletionResultType]::ParameterName, 'Name of the machine in the table of --format parquet [default: its name or model, if the file states it]')
            [CompletionResult]::new('--from', '--from', [CompletionResultType]::ParameterName, 'Read the file in this format, without recognising it: cyclictest, rt-tests-json, rt-tests-pairs, xenomai, latmus, rtla, jitterdebugger, jitterdebugger-raw, oslat, queuelat, hwlatdetect, rteval, stress-ng, rt-app, hdr, hgrm, boards, timestamps, periods or latencies')
            [CompletionResult]::new('--unit', '--unit', [CompletionResultType]::ParameterName, 'Unit of the numbers, if the file does not state it: ns, us, ms or s')
            [CompletionResult]::new('--period', '--period', [CompletionResultType]::ParameterName, 'Time between releases, if the file does not state it')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour: auto is on a terminal, unless NO_COLOR is set')
            [CompletionResult]::new('--lang', '--lang', [CompletionResultType]::ParameterName, 'Language of what people read; formats for programs are English [default: the locale''s, or en]')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print no messages but errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print no messages but errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'punctual;report' {
            [CompletionResult]::new('--from', '--from', [CompletionResultType]::ParameterName, 'Read the file in this format, without recognising it: cyclictest, rt-tests-json, rt-tests-pairs, xenomai, latmus, rtla, jitterdebugger, jitterdebugger-raw, oslat, queuelat, hwlatdetect, rteval, stress-ng, rt-app, hdr, hgrm, boards, timestamps, periods or latencies')
            [CompletionResult]::new('--unit', '--unit', [CompletionResultType]::ParameterName, 'Unit of the numbers, if the file does not state it: ns, us, ms or s')
            [CompletionResult]::new('--period', '--period', [CompletionResultType]::ParameterName, 'Time between releases, if the file does not state it')
            [CompletionResult]::new('--html', '--html', [CompletionResultType]::ParameterName, 'Write an HTML report to this file')
            [CompletionResult]::new('--between', '--between', [CompletionResultType]::ParameterName, 'Report only what happened between two times: of the run as in +1h30m, or of the day as in 2026-11-22T10:00 (UTC, or with an offset as in +01:00)')
            [CompletionResult]::new('--day', '--day', [CompletionResultType]::ParameterName, 'For the folder of a watch, show this day: its number, or its date in UTC as in 2026-11-22')
            [CompletionResult]::new('--plot', '--plot', [CompletionResultType]::ParameterName, 'Draw a chart into FILE, which ends in .svg or .png, or without FILE on the terminal')
            [CompletionResult]::new('--chart', '--chart', [CompletionResultType]::ParameterName, 'Which chart')
            [CompletionResult]::new('--with', '--with', [CompletionResultType]::ParameterName, 'Draw another result into the same chart; can be given several times')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour: auto is on a terminal, unless NO_COLOR is set')
            [CompletionResult]::new('--lang', '--lang', [CompletionResultType]::ParameterName, 'Language of what people read; formats for programs are English [default: the locale''s, or en]')
            [CompletionResult]::new('--full', '--full', [CompletionResultType]::ParameterName, 'Print the whole report, with the answer last')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print one line and no progress, for scripts and CI logs')
            [CompletionResult]::new('--brief', '--brief', [CompletionResultType]::ParameterName, 'Print one line and no progress, for scripts and CI logs')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print one line and no progress, for scripts and CI logs')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print one JSON document instead of text')
            [CompletionResult]::new('--text', '--text', [CompletionResultType]::ParameterName, 'Also print text when --html writes a page')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'punctual;compare' {
            [CompletionResult]::new('--from', '--from', [CompletionResultType]::ParameterName, 'Read the file in this format, without recognising it: cyclictest, rt-tests-json, rt-tests-pairs, xenomai, latmus, rtla, jitterdebugger, jitterdebugger-raw, oslat, queuelat, hwlatdetect, rteval, stress-ng, rt-app, hdr, hgrm, boards, timestamps, periods or latencies')
            [CompletionResult]::new('--unit', '--unit', [CompletionResultType]::ParameterName, 'Unit of the numbers, if the file does not state it: ns, us, ms or s')
            [CompletionResult]::new('--period', '--period', [CompletionResultType]::ParameterName, 'Time between releases, if the file does not state it')
            [CompletionResult]::new('--profile', '--profile', [CompletionResultType]::ParameterName, 'Kind of work the machine is for: a preset, a profile of the project file, or just periodic, poll or audio')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'Project file that states the need [default: punctual.toml in this folder, if it is there]')
            [CompletionResult]::new('--baseline', '--baseline', [CompletionResultType]::ParameterName, 'Compare all recordings with this one')
            [CompletionResult]::new('--a', '--a', [CompletionResultType]::ParameterName, 'Several recordings of the first side, compared with those of --b: how much the runs of one side differ determines how certain a difference is')
            [CompletionResult]::new('--b', '--b', [CompletionResultType]::ParameterName, 'Several recordings of the second side')
            [CompletionResult]::new('--interleave', '--interleave', [CompletionResultType]::ParameterName, 'Measure in turn: run COMMAND A, measure, run COMMAND B, measure, and so on, A B B A; then compare the rounds')
            [CompletionResult]::new('--rounds', '--rounds', [CompletionResultType]::ParameterName, 'With --interleave: number of rounds, each of one measurement of A and one of B')
            [CompletionResult]::new('--duration', '--duration', [CompletionResultType]::ParameterName, 'With --interleave: length of each measurement [default: 30s]')
            [CompletionResult]::new('--settle', '--settle', [CompletionResultType]::ParameterName, 'With --interleave: time to wait after each command before measuring')
            [CompletionResult]::new('--cpus', '--cpus', [CompletionResultType]::ParameterName, 'With --interleave: CPUs to measure [default: all that are allowed]')
            [CompletionResult]::new('--load', '--load', [CompletionResultType]::ParameterName, 'With --interleave: load to measure under [default: the profile''s, or none]')
            [CompletionResult]::new('--seed', '--seed', [CompletionResultType]::ParameterName, 'With --interleave: seed of the order [default: from the clock]')
            [CompletionResult]::new('--out', '--out', [CompletionResultType]::ParameterName, 'With --interleave: folder to make for the state and the recordings [default: punctual-compare-DATE-TIME]')
            [CompletionResult]::new('--resume', '--resume', [CompletionResultType]::ParameterName, 'Continue the rounds in this folder, with the options they were started with')
            [CompletionResult]::new('--margin', '--margin', [CompletionResultType]::ParameterName, 'Changes smaller than this share of the first value count as neither better nor worse')
            [CompletionResult]::new('--budget', '--budget', [CompletionResultType]::ParameterName, 'Count activations later than this as misses [default: the budget of the recordings]')
            [CompletionResult]::new('--fail-on', '--fail-on', [CompletionResultType]::ParameterName, 'Exit with 2 if a comparison has this result')
            [CompletionResult]::new('--html', '--html', [CompletionResultType]::ParameterName, 'Write an HTML page with overlaid charts to this file')
            [CompletionResult]::new('--junit', '--junit', [CompletionResultType]::ParameterName, 'Write JUnit XML to this file, for CI')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour: auto is on a terminal, unless NO_COLOR is set')
            [CompletionResult]::new('--lang', '--lang', [CompletionResultType]::ParameterName, 'Language of what people read; formats for programs are English [default: the locale''s, or en]')
            [CompletionResult]::new('--dry-run', '--dry-run', [CompletionResultType]::ParameterName, 'With --interleave: show the order and how long it takes; run and measure nothing')
            [CompletionResult]::new('--anyway', '--anyway', [CompletionResultType]::ParameterName, 'Compare recordings that should not be compared; the result says so')
            [CompletionResult]::new('--as-if-independent', '--as-if-independent', [CompletionResultType]::ParameterName, 'Also give a verdict for files that do not contain the order of their values, as if the values were independent')
            [CompletionResult]::new('--full', '--full', [CompletionResultType]::ParameterName, 'Print every number, group and difference')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print one line and no progress, for scripts and CI logs')
            [CompletionResult]::new('--brief', '--brief', [CompletionResultType]::ParameterName, 'Print one line and no progress, for scripts and CI logs')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print one line and no progress, for scripts and CI logs')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print one JSON document')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'punctual;trend' {
            [CompletionResult]::new('--margin', '--margin', [CompletionResultType]::ParameterName, 'Shifts smaller than this share of the value before are not reported')
            [CompletionResult]::new('--false-alarms', '--false-alarms', [CompletionResultType]::ParameterName, 'Number of false alarms that are accepted in a thousand runs')
            [CompletionResult]::new('--fail-on', '--fail-on', [CompletionResultType]::ParameterName, 'Exit with 2 if the series has this result')
            [CompletionResult]::new('--html', '--html', [CompletionResultType]::ParameterName, 'Write an HTML page with the runs over time to this file')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour: auto is on a terminal, unless NO_COLOR is set')
            [CompletionResult]::new('--lang', '--lang', [CompletionResultType]::ParameterName, 'Language of what people read; formats for programs are English [default: the locale''s, or en]')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print one JSON document')
            [CompletionResult]::new('--csv', '--csv', [CompletionResultType]::ParameterName, 'Print the runs as CSV, one line each, as Apache Otava reads it')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print one line and no progress, for scripts and CI logs')
            [CompletionResult]::new('--brief', '--brief', [CompletionResultType]::ParameterName, 'Print one line and no progress, for scripts and CI logs')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print one line and no progress, for scripts and CI logs')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'punctual;campaign' {
            [CompletionResult]::new('--shorten', '--shorten', [CompletionResultType]::ParameterName, 'Divide all durations by this factor, to see whether a campaign runs to its end')
            [CompletionResult]::new('--out', '--out', [CompletionResultType]::ParameterName, 'Folder to make for the campaign and its recordings [default: punctual-campaign-DATE-TIME; below /var/lib if the machine is rebooted for it]')
            [CompletionResult]::new('--resume', '--resume', [CompletionResultType]::ParameterName, 'Continue the campaign in this folder, or show its result again if it is complete')
            [CompletionResult]::new('--html', '--html', [CompletionResultType]::ParameterName, 'Also write the page with all cells to this file; the campaign''s folder has one in any case')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour: auto is on a terminal, unless NO_COLOR is set')
            [CompletionResult]::new('--lang', '--lang', [CompletionResultType]::ParameterName, 'Language of what people read; formats for programs are English [default: the locale''s, or en]')
            [CompletionResult]::new('--at-boot', '--at-boot', [CompletionResultType]::ParameterName, 'Continues unattended after a boot')
            [CompletionResult]::new('--dry-run', '--dry-run', [CompletionResultType]::ParameterName, 'Show what would be measured and how long it takes; change nothing')
            [CompletionResult]::new('-y', '-y', [CompletionResultType]::ParameterName, 'Do not ask for confirmation')
            [CompletionResult]::new('--yes', '--yes', [CompletionResultType]::ParameterName, 'Do not ask for confirmation')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print one JSON document')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print one line and no progress, for scripts and CI logs')
            [CompletionResult]::new('--brief', '--brief', [CompletionResultType]::ParameterName, 'Print one line and no progress, for scripts and CI logs')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print one line and no progress, for scripts and CI logs')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'punctual;share' {
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'File to write [default: share-DATE-TIME.json]')
            [CompletionResult]::new('--out', '--out', [CompletionResultType]::ParameterName, 'File to write [default: share-DATE-TIME.json]')
            [CompletionResult]::new('--title', '--title', [CompletionResultType]::ParameterName, 'What was measured on which machine, in one line [default: model and kernel]')
            [CompletionResult]::new('--load', '--load', [CompletionResultType]::ParameterName, 'Load of the machine during the measurement, for the result of another program')
            [CompletionResult]::new('--published', '--published', [CompletionResultType]::ParameterName, 'Where the numbers were published, if they are not yours')
            [CompletionResult]::new('--day', '--day', [CompletionResultType]::ParameterName, 'Day of the measurement or the publication, as 2026-11-27 [default: that of the recording]')
            [CompletionResult]::new('--fact', '--fact', [CompletionResultType]::ParameterName, 'A fact about the machine that the result does not state, as in "model=RK3588 board"; may be given several times')
            [CompletionResult]::new('--doubt', '--doubt', [CompletionResultType]::ParameterName, 'A doubt about the numbers; may be given several times')
            [CompletionResult]::new('--machine', '--machine', [CompletionResultType]::ParameterName, 'A snapshot of the machine that was measured [default: this machine, if the result is of it]')
            [CompletionResult]::new('--check', '--check', [CompletionResultType]::ParameterName, 'Check files of others instead: whether they are complete and contain nothing private')
            [CompletionResult]::new('--from', '--from', [CompletionResultType]::ParameterName, 'Read the file in this format, without recognising it: cyclictest, rt-tests-json, rt-tests-pairs, xenomai, latmus, rtla, jitterdebugger, jitterdebugger-raw, oslat, queuelat, hwlatdetect, rteval, stress-ng, rt-app, hdr, hgrm, boards, timestamps, periods or latencies')
            [CompletionResult]::new('--unit', '--unit', [CompletionResultType]::ParameterName, 'Unit of the numbers, if the file does not state it: ns, us, ms or s')
            [CompletionResult]::new('--period', '--period', [CompletionResultType]::ParameterName, 'Time between releases, if the file does not state it')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour: auto is on a terminal, unless NO_COLOR is set')
            [CompletionResult]::new('--lang', '--lang', [CompletionResultType]::ParameterName, 'Language of what people read; formats for programs are English [default: the locale''s, or en]')
            [CompletionResult]::new('--no-snapshot', '--no-snapshot', [CompletionResultType]::ParameterName, 'Leave out the snapshot')
            [CompletionResult]::new('--dry-run', '--dry-run', [CompletionResultType]::ParameterName, 'Print the file instead of writing it')
            [CompletionResult]::new('-y', '-y', [CompletionResultType]::ParameterName, 'Write without asking')
            [CompletionResult]::new('--yes', '--yes', [CompletionResultType]::ParameterName, 'Write without asking')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print no messages but errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print no messages but errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'punctual;snapshot' {
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'File to write [default: standard output]')
            [CompletionResult]::new('--out', '--out', [CompletionResultType]::ParameterName, 'File to write [default: standard output]')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour: auto is on a terminal, unless NO_COLOR is set')
            [CompletionResult]::new('--lang', '--lang', [CompletionResultType]::ParameterName, 'Language of what people read; formats for programs are English [default: the locale''s, or en]')
            [CompletionResult]::new('--raw', '--raw', [CompletionResultType]::ParameterName, 'Mask nothing: keep host and user names, addresses, serial numbers and the whole command line')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print no messages but errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print no messages but errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'punctual;fleet' {
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour: auto is on a terminal, unless NO_COLOR is set')
            [CompletionResult]::new('--lang', '--lang', [CompletionResultType]::ParameterName, 'Language of what people read; formats for programs are English [default: the locale''s, or en]')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('run', 'run', [CompletionResultType]::ParameterValue, 'Run a command of punctual on many hosts by ssh, and fetch what it writes')
            [CompletionResult]::new('pack', 'pack', [CompletionResultType]::ParameterValue, 'Pack the recordings and audits of many machines into tables that SQL engines can read')
            [CompletionResult]::new('ask', 'ask', [CompletionResultType]::ParameterValue, 'Ask the packed tables a question, by DuckDB: which machines are bad, what they share, which change made them worse')
            [CompletionResult]::new('help', 'help', [CompletionResultType]::ParameterValue, 'Print this message or the help of the given subcommand(s)')
            break
        }
        'punctual;fleet;run' {
            [CompletionResult]::new('--hosts', '--hosts', [CompletionResultType]::ParameterName, 'List of hosts: one on each line, in a form that ssh accepts; text after a # is ignored')
            [CompletionResult]::new('--out', '--out', [CompletionResultType]::ParameterName, 'Folder of the results; with the folder of an earlier run, only hosts without a result are tried [default: punctual-fleet-DATE-TIME]')
            [CompletionResult]::new('--at-once', '--at-once', [CompletionResultType]::ParameterName, 'Number of hosts that work at the same time')
            [CompletionResult]::new('--time-limit', '--time-limit', [CompletionResultType]::ParameterName, 'Longest time for the command on one host, after which it is ended [default: no limit]')
            [CompletionResult]::new('--connect-limit', '--connect-limit', [CompletionResultType]::ParameterName, 'Longest time for reaching a host')
            [CompletionResult]::new('--stop-after', '--stop-after', [CompletionResultType]::ParameterName, 'Start no further host after N of them have failed [default: try all]')
            [CompletionResult]::new('--program', '--program', [CompletionResultType]::ParameterName, 'Name or path of punctual on the hosts')
            [CompletionResult]::new('--bring', '--bring', [CompletionResultType]::ParameterName, 'Copy this static program to the hosts and remove it afterwards; once for each architecture among the hosts')
            [CompletionResult]::new('--ssh-config', '--ssh-config', [CompletionResultType]::ParameterName, 'Configuration of ssh in place of ~/.ssh/config')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour: auto is on a terminal, unless NO_COLOR is set')
            [CompletionResult]::new('--lang', '--lang', [CompletionResultType]::ParameterName, 'Language of what people read; formats for programs are English [default: the locale''s, or en]')
            [CompletionResult]::new('--sudo', '--sudo', [CompletionResultType]::ParameterName, 'Run the command by sudo, which must not ask for a password')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print one JSON document')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print one line and no progress, for scripts and CI logs')
            [CompletionResult]::new('--brief', '--brief', [CompletionResultType]::ParameterName, 'Print one line and no progress, for scripts and CI logs')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print one line and no progress, for scripts and CI logs')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'punctual;fleet;pack' {
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Folder of the tables; what is packed there already is not packed again')
            [CompletionResult]::new('--out', '--out', [CompletionResultType]::ParameterName, 'Folder of the tables; what is packed there already is not packed again')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour: auto is on a terminal, unless NO_COLOR is set')
            [CompletionResult]::new('--lang', '--lang', [CompletionResultType]::ParameterName, 'Language of what people read; formats for programs are English [default: the locale''s, or en]')
            [CompletionResult]::new('--names', '--names', [CompletionResultType]::ParameterName, 'Write the names of machines into the tables; without this option they are masked, and only PATH/private contains them')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print no messages but errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print no messages but errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'punctual;fleet;ask' {
            [CompletionResult]::new('--budget', '--budget', [CompletionResultType]::ParameterName, 'Latency beyond which an activation is a miss [default: the budget of each recording]')
            [CompletionResult]::new('--misses-per-million', '--misses-per-million', [CompletionResultType]::ParameterName, 'A machine is bad if more than this many of a million releases are missed')
            [CompletionResult]::new('--machine', '--machine', [CompletionResultType]::ParameterName, 'Machine to ask about, as the other answers name it [default: all, or the worst one]')
            [CompletionResult]::new('--by', '--by', [CompletionResultType]::ParameterName, 'Column by which percentiles are grouped')
            [CompletionResult]::new('--sql', '--sql', [CompletionResultType]::ParameterName, 'Print the question in SQL instead of asking it')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour: auto is on a terminal, unless NO_COLOR is set')
            [CompletionResult]::new('--lang', '--lang', [CompletionResultType]::ParameterName, 'Language of what people read; formats for programs are English [default: the locale''s, or en]')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print one JSON document')
            [CompletionResult]::new('--csv', '--csv', [CompletionResultType]::ParameterName, 'Print the rows as CSV')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print no messages but errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print no messages but errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'punctual;fleet;help' {
            [CompletionResult]::new('run', 'run', [CompletionResultType]::ParameterValue, 'Run a command of punctual on many hosts by ssh, and fetch what it writes')
            [CompletionResult]::new('pack', 'pack', [CompletionResultType]::ParameterValue, 'Pack the recordings and audits of many machines into tables that SQL engines can read')
            [CompletionResult]::new('ask', 'ask', [CompletionResultType]::ParameterValue, 'Ask the packed tables a question, by DuckDB: which machines are bad, what they share, which change made them worse')
            [CompletionResult]::new('help', 'help', [CompletionResultType]::ParameterValue, 'Print this message or the help of the given subcommand(s)')
            break
        }
        'punctual;fleet;help;run' {
            break
        }
        'punctual;fleet;help;pack' {
            break
        }
        'punctual;fleet;help;ask' {
            break
        }
        'punctual;fleet;help;help' {
            break
        }
        'punctual;torture' {
            [CompletionResult]::new('--cpus', '--cpus', [CompletionResultType]::ParameterName, 'CPUs to test; one CPU of the machine always runs ordinary threads only [default: every CPU this process may use]')
            [CompletionResult]::new('--duration', '--duration', [CompletionResultType]::ParameterName, 'How long to test')
            [CompletionResult]::new('--threads', '--threads', [CompletionResultType]::ParameterName, 'Threads on each CPU, or timers of each kind [default: 16; 4 with fpu]')
            [CompletionResult]::new('--priority', '--priority', [CompletionResultType]::ParameterName, 'SCHED_FIFO priority of the first real-time thread, 1 to 95; no thread has a higher one')
            [CompletionResult]::new('--load-dir', '--load-dir', [CompletionResultType]::ParameterName, 'Directory for the files of the load that the test heap runs [default: the current one]')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour: auto is on a terminal, unless NO_COLOR is set')
            [CompletionResult]::new('--lang', '--lang', [CompletionResultType]::ParameterName, 'Language of what people read; formats for programs are English [default: the locale''s, or en]')
            [CompletionResult]::new('--plant', '--plant', [CompletionResultType]::ParameterName, 'Spoil one register once, to check that switches or fpu notices it: the exit code must then be 2')
            [CompletionResult]::new('--own-tests', '--own-tests', [CompletionResultType]::ParameterName, 'First run the tests of Xenomai 3 (smokey) or Xenomai 4 (evl test), if they are installed')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print one line and no progress, for scripts and CI logs')
            [CompletionResult]::new('--brief', '--brief', [CompletionResultType]::ParameterName, 'Print one line and no progress, for scripts and CI logs')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print one line and no progress, for scripts and CI logs')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print one JSON document instead of text')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'punctual;lab' {
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour: auto is on a terminal, unless NO_COLOR is set')
            [CompletionResult]::new('--lang', '--lang', [CompletionResultType]::ParameterName, 'Language of what people read; formats for programs are English [default: the locale''s, or en]')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('compare', 'compare', [CompletionResultType]::ParameterValue, 'Measure several kernels under the same loads, and show them side by side')
            [CompletionResult]::new('gate', 'gate', [CompletionResultType]::ParameterValue, 'Compare a kernel with an earlier one, for CI: exits with 2 if it is worse')
            [CompletionResult]::new('bisect', 'bisect', [CompletionResultType]::ParameterValue, 'Find the version, the word of the command line, or the option of the configuration that made a kernel worse')
            [CompletionResult]::new('help', 'help', [CompletionResultType]::ParameterValue, 'Print this message or the help of the given subcommand(s)')
            break
        }
        'punctual;lab;compare' {
            [CompletionResult]::new('--kernel', '--kernel', [CompletionResultType]::ParameterName, 'Kernels: debian:12, debian:13-rt, debian:12-rt-arm64, an image (./bzImage), deb:FILE. Each may be followed by +WORD for a word of its command line, and +FILE.ko for a module; +preempt=all is four kernels')
            [CompletionResult]::new('--load', '--load', [CompletionResultType]::ParameterName, 'Load phases in turn, loads of a phase joined by +; classic-2002 stands for idle and the four loads of the published suite classic-2002 that need no display')
            [CompletionResult]::new('--period', '--period', [CompletionResultType]::ParameterName, 'Time between releases')
            [CompletionResult]::new('--duration', '--duration', [CompletionResultType]::ParameterName, 'Length of one measurement in the guest''s time, over all loads')
            [CompletionResult]::new('--binary', '--binary', [CompletionResultType]::ParameterName, 'Static punctual for the guests, one for each architecture [default: this program, if it is static]')
            [CompletionResult]::new('--out', '--out', [CompletionResultType]::ParameterName, 'Folder for the results; what is there already is not measured again [default: punctual-lab]')
            [CompletionResult]::new('--cache', '--cache', [CompletionResultType]::ParameterName, 'Folder for kernels of Debian [default: $PUNCTUAL_LAB_CACHE, or punctual-lab below the user''s cache]')
            [CompletionResult]::new('--jobs', '--jobs', [CompletionResultType]::ParameterName, 'Guests at once [default: one for each CPU]')
            [CompletionResult]::new('--memory', '--memory', [CompletionResultType]::ParameterName, 'Memory of a guest in MiB')
            [CompletionResult]::new('--limit', '--limit', [CompletionResultType]::ParameterName, 'Longest time that one guest may work, in the host''s time')
            [CompletionResult]::new('--seeds', '--seeds', [CompletionResultType]::ParameterName, 'Number of measurements of each kernel, each with a seed of its own; fewer than 3 show little')
            [CompletionResult]::new('--margin', '--margin', [CompletionResultType]::ParameterName, 'Changes smaller than this share count as neither better nor worse')
            [CompletionResult]::new('--html', '--html', [CompletionResultType]::ParameterName, 'Write an HTML page to this file')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour: auto is on a terminal, unless NO_COLOR is set')
            [CompletionResult]::new('--lang', '--lang', [CompletionResultType]::ParameterName, 'Language of what people read; formats for programs are English [default: the locale''s, or en]')
            [CompletionResult]::new('--real', '--real', [CompletionResultType]::ParameterName, 'Use several CPUs and the host''s time, to see that everything works; the numbers say nothing about a kernel')
            [CompletionResult]::new('--no-explain', '--no-explain', [CompletionResultType]::ParameterName, 'Do not look for causes')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print one line and no progress, for scripts and CI logs')
            [CompletionResult]::new('--brief', '--brief', [CompletionResultType]::ParameterName, 'Print one line and no progress, for scripts and CI logs')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print one line and no progress, for scripts and CI logs')
            [CompletionResult]::new('--full', '--full', [CompletionResultType]::ParameterName, 'Print every number of every kernel and load')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print one JSON document')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'punctual;lab;gate' {
            [CompletionResult]::new('--kernel', '--kernel', [CompletionResultType]::ParameterName, 'The kernel to judge, named as for punctual lab compare')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'Options that the kernel must have been built with, as lines of a configuration; a kernel with other values is refused. With --build, the configuration to build')
            [CompletionResult]::new('--build', '--build', [CompletionResultType]::ParameterName, 'Command that builds the kernel to judge: $PUNCTUAL_CONFIG names its configuration, $PUNCTUAL_IMAGE the file for its image')
            [CompletionResult]::new('--baseline', '--baseline', [CompletionResultType]::ParameterName, 'Compare the kernel with the one in this file, which --save has written; load, period, duration and memory are those of the file')
            [CompletionResult]::new('--save', '--save', [CompletionResultType]::ParameterName, 'Write the measurements of this kernel to a file with which later kernels are compared')
            [CompletionResult]::new('--load', '--load', [CompletionResultType]::ParameterName, 'Load phases in turn, loads of a phase joined by +; classic-2002 stands for idle and the four loads of the published suite classic-2002 that need no display')
            [CompletionResult]::new('--period', '--period', [CompletionResultType]::ParameterName, 'Time between releases')
            [CompletionResult]::new('--duration', '--duration', [CompletionResultType]::ParameterName, 'Length of one measurement in the guest''s time, over all loads')
            [CompletionResult]::new('--binary', '--binary', [CompletionResultType]::ParameterName, 'Static punctual for the guests, one for each architecture [default: this program, if it is static]')
            [CompletionResult]::new('--out', '--out', [CompletionResultType]::ParameterName, 'Folder for the results; what is there already is not measured again [default: punctual-lab]')
            [CompletionResult]::new('--cache', '--cache', [CompletionResultType]::ParameterName, 'Folder for kernels of Debian [default: $PUNCTUAL_LAB_CACHE, or punctual-lab below the user''s cache]')
            [CompletionResult]::new('--jobs', '--jobs', [CompletionResultType]::ParameterName, 'Guests at once [default: one for each CPU]')
            [CompletionResult]::new('--memory', '--memory', [CompletionResultType]::ParameterName, 'Memory of a guest in MiB')
            [CompletionResult]::new('--limit', '--limit', [CompletionResultType]::ParameterName, 'Longest time that one guest may work, in the host''s time')
            [CompletionResult]::new('--seeds', '--seeds', [CompletionResultType]::ParameterName, 'Number of measurements, each with a seed of its own')
            [CompletionResult]::new('--margin', '--margin', [CompletionResultType]::ParameterName, 'Changes smaller than this share are no alarm')
            [CompletionResult]::new('--junit', '--junit', [CompletionResultType]::ParameterName, 'Write JUnit XML to this file, for CI: one case for each load')
            [CompletionResult]::new('--html', '--html', [CompletionResultType]::ParameterName, 'Write an HTML page to this file')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour: auto is on a terminal, unless NO_COLOR is set')
            [CompletionResult]::new('--lang', '--lang', [CompletionResultType]::ParameterName, 'Language of what people read; formats for programs are English [default: the locale''s, or en]')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print one line and no progress, for scripts and CI logs')
            [CompletionResult]::new('--brief', '--brief', [CompletionResultType]::ParameterName, 'Print one line and no progress, for scripts and CI logs')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print one line and no progress, for scripts and CI logs')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print one JSON document, in the format of lab compare')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'punctual;lab;bisect' {
            [CompletionResult]::new('--kernel', '--kernel', [CompletionResultType]::ParameterName, 'Kernels in order, the first good and the last bad; or one kernel, with --good-words and --bad-words')
            [CompletionResult]::new('--good-words', '--good-words', [CompletionResultType]::ParameterName, 'Words of the command line with which the kernel is good')
            [CompletionResult]::new('--bad-words', '--bad-words', [CompletionResultType]::ParameterName, 'Words of the command line with which the kernel is bad')
            [CompletionResult]::new('--good-config', '--good-config', [CompletionResultType]::ParameterName, 'Configuration of a good kernel')
            [CompletionResult]::new('--bad-config', '--bad-config', [CompletionResultType]::ParameterName, 'Configuration of a bad kernel')
            [CompletionResult]::new('--build', '--build', [CompletionResultType]::ParameterName, 'Command that builds a kernel: $PUNCTUAL_CONFIG names its configuration, $PUNCTUAL_IMAGE the file for its image')
            [CompletionResult]::new('--load', '--load', [CompletionResultType]::ParameterName, 'Load phases in turn, loads of a phase joined by +; classic-2002 stands for idle and the four loads of the published suite classic-2002 that need no display')
            [CompletionResult]::new('--period', '--period', [CompletionResultType]::ParameterName, 'Time between releases')
            [CompletionResult]::new('--duration', '--duration', [CompletionResultType]::ParameterName, 'Length of one measurement in the guest''s time, over all loads')
            [CompletionResult]::new('--binary', '--binary', [CompletionResultType]::ParameterName, 'Static punctual for the guests, one for each architecture [default: this program, if it is static]')
            [CompletionResult]::new('--out', '--out', [CompletionResultType]::ParameterName, 'Folder for the results; what is there already is not measured again [default: punctual-lab]')
            [CompletionResult]::new('--cache', '--cache', [CompletionResultType]::ParameterName, 'Folder for kernels of Debian [default: $PUNCTUAL_LAB_CACHE, or punctual-lab below the user''s cache]')
            [CompletionResult]::new('--jobs', '--jobs', [CompletionResultType]::ParameterName, 'Guests at once [default: one for each CPU]')
            [CompletionResult]::new('--memory', '--memory', [CompletionResultType]::ParameterName, 'Memory of a guest in MiB')
            [CompletionResult]::new('--limit', '--limit', [CompletionResultType]::ParameterName, 'Longest time that one guest may work, in the host''s time')
            [CompletionResult]::new('--seeds', '--seeds', [CompletionResultType]::ParameterName, 'Number of measurements of each kernel, each with a seed of its own')
            [CompletionResult]::new('--margin', '--margin', [CompletionResultType]::ParameterName, 'The good and the bad kernel must differ by more than this share')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour: auto is on a terminal, unless NO_COLOR is set')
            [CompletionResult]::new('--lang', '--lang', [CompletionResultType]::ParameterName, 'Language of what people read; formats for programs are English [default: the locale''s, or en]')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print one line and no progress, for scripts and CI logs')
            [CompletionResult]::new('--brief', '--brief', [CompletionResultType]::ParameterName, 'Print one line and no progress, for scripts and CI logs')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print one line and no progress, for scripts and CI logs')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print one JSON document')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'punctual;lab;help' {
            [CompletionResult]::new('compare', 'compare', [CompletionResultType]::ParameterValue, 'Measure several kernels under the same loads, and show them side by side')
            [CompletionResult]::new('gate', 'gate', [CompletionResultType]::ParameterValue, 'Compare a kernel with an earlier one, for CI: exits with 2 if it is worse')
            [CompletionResult]::new('bisect', 'bisect', [CompletionResultType]::ParameterValue, 'Find the version, the word of the command line, or the option of the configuration that made a kernel worse')
            [CompletionResult]::new('help', 'help', [CompletionResultType]::ParameterValue, 'Print this message or the help of the given subcommand(s)')
            break
        }
        'punctual;lab;help;compare' {
            break
        }
        'punctual;lab;help;gate' {
            break
        }
        'punctual;lab;help;bisect' {
            break
        }
        'punctual;lab;help;help' {
            break
        }
        'punctual;man' {
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour: auto is on a terminal, unless NO_COLOR is set')
            [CompletionResult]::new('--lang', '--lang', [CompletionResultType]::ParameterName, 'Language of what people read; formats for programs are English [default: the locale''s, or en]')
            [CompletionResult]::new('--install', '--install', [CompletionResultType]::ParameterName, 'Write the files: for all users if run as root, otherwise for this user')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print no messages but errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print no messages but errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'punctual;completions' {
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour: auto is on a terminal, unless NO_COLOR is set')
            [CompletionResult]::new('--lang', '--lang', [CompletionResultType]::ParameterName, 'Language of what people read; formats for programs are English [default: the locale''s, or en]')
            [CompletionResult]::new('--install', '--install', [CompletionResultType]::ParameterName, 'Write the files: for all users if run as root, otherwise for this user')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print no messages but errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print no messages but errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'punctual;audit' {
            [CompletionResult]::new('--profile', '--profile', [CompletionResultType]::ParameterName, 'Kind of work the machine is for: a preset, a profile of the project file, or just periodic, poll or audio')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'Project file that states the need [default: punctual.toml in this folder, if it is there]')
            [CompletionResult]::new('--cpus', '--cpus', [CompletionResultType]::ParameterName, 'CPUs for the real-time work, for example 2-3 [default: the isolated CPUs, or all if none is isolated]')
            [CompletionResult]::new('--period', '--period', [CompletionResultType]::ParameterName, 'Time between releases, if it is known')
            [CompletionResult]::new('--budget', '--budget', [CompletionResultType]::ParameterName, 'Largest latency you can live with; findings that matter only for smaller budgets are excused')
            [CompletionResult]::new('--fail-on', '--fail-on', [CompletionResultType]::ParameterName, 'Exit with 2 if a finding is at least this bad; with --diff, only findings that became worse count')
            [CompletionResult]::new('--machine', '--machine', [CompletionResultType]::ParameterName, 'Take a captured machine instead of this one: a file written by punctual snapshot')
            [CompletionResult]::new('--root', '--root', [CompletionResultType]::ParameterName, 'Take an unpacked system instead of this machine: the folder of a disk image, an initramfs or a sos report')
            [CompletionResult]::new('--diff', '--diff', [CompletionResultType]::ParameterName, 'Show the differences between two captured machines, or between one and this machine; prints nothing if nothing differs')
            [CompletionResult]::new('--explain', '--explain', [CompletionResultType]::ParameterName, 'Explain one knob')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour: auto is on a terminal, unless NO_COLOR is set')
            [CompletionResult]::new('--lang', '--lang', [CompletionResultType]::ParameterName, 'Language of what people read; formats for programs are English [default: the locale''s, or en]')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print one JSON document')
            [CompletionResult]::new('--markdown', '--markdown', [CompletionResultType]::ParameterName, 'Print Markdown, for an issue or a merge request')
            [CompletionResult]::new('--sarif', '--sarif', [CompletionResultType]::ParameterName, 'Print SARIF 2.1.0, for code-review tools')
            [CompletionResult]::new('--junit', '--junit', [CompletionResultType]::ParameterName, 'Print JUnit XML, for CI')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print one line, for scripts and CI logs')
            [CompletionResult]::new('--brief', '--brief', [CompletionResultType]::ParameterName, 'Print one line, for scripts and CI logs')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print one line, for scripts and CI logs')
            [CompletionResult]::new('--all', '--all', [CompletionResultType]::ParameterName, 'Also list what is good or does not apply; with --sarif, also what is not bad')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'punctual;tune' {
            [CompletionResult]::new('--cpus', '--cpus', [CompletionResultType]::ParameterName, 'CPUs for the real-time work, for example 2-3 [default: chosen, and the choice explained]')
            [CompletionResult]::new('--profile', '--profile', [CompletionResultType]::ParameterName, 'Kind of work the machine is for: a preset, a profile of the project file, or just periodic, poll or audio')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'Project file that states the need [default: punctual.toml in this folder, if it is there]')
            [CompletionResult]::new('--period', '--period', [CompletionResultType]::ParameterName, 'Time between releases, if it is known')
            [CompletionResult]::new('--budget', '--budget', [CompletionResultType]::ParameterName, 'Largest latency you can live with')
            [CompletionResult]::new('--blast', '--blast', [CompletionResultType]::ParameterName, 'How much a change may disturb the running machine; changes that disturb it more are listed and not made')
            [CompletionResult]::new('--device', '--device', [CompletionResultType]::ParameterName, 'Network device that carries the real-time traffic')
            [CompletionResult]::new('--keep-irqs', '--keep-irqs', [CompletionResultType]::ParameterName, 'Interrupts that are not moved: numbers, or names as in /proc/interrupts')
            [CompletionResult]::new('--priority', '--priority', [CompletionResultType]::ParameterName, 'Priority of the real-time work, with which the priorities of the kernel''s threads are compared')
            [CompletionResult]::new('--hugepages', '--hugepages', [CompletionResultType]::ParameterName, 'Reserve this number of huge pages of 2 MiB')
            [CompletionResult]::new('--machine', '--machine', [CompletionResultType]::ParameterName, 'Take a captured machine instead of this one: a file written by punctual snapshot')
            [CompletionResult]::new('--root', '--root', [CompletionResultType]::ParameterName, 'Take an unpacked system instead of this machine: the folder of a disk image, an initramfs or a sos report')
            [CompletionResult]::new('--confirm-within', '--confirm-within', [CompletionResultType]::ParameterName, 'Put everything back unless `punctual status --confirm` comes within this time')
            [CompletionResult]::new('--print', '--print', [CompletionResultType]::ParameterName, 'Print one artefact alone, for people who build images')
            [CompletionResult]::new('--kernel', '--kernel', [CompletionResultType]::ParameterName, 'With --print: version of the kernel it is for [default: this machine''s]')
            [CompletionResult]::new('--flavour', '--flavour', [CompletionResultType]::ParameterName, 'With --print: kind of the kernel it is for [default: this machine''s]')
            [CompletionResult]::new('--arch', '--arch', [CompletionResultType]::ParameterName, 'With --print: architecture it is for [default: this machine''s]')
            [CompletionResult]::new('--xenomai', '--xenomai', [CompletionResultType]::ParameterName, 'With --print cmdline: version of Xenomai 3 it is for [default: 3.3]')
            [CompletionResult]::new('--owners', '--owners', [CompletionResultType]::ParameterName, 'With --print rk3568-l3: which CPUs own which quarters of the L3 cache, for example ''0-2=0-1;3=2-3'', or a word to decode, for example 0xc333')
            [CompletionResult]::new('--for', '--for', [CompletionResultType]::ParameterName, 'Apply, run this command, and put everything back when it ends')
            [CompletionResult]::new('--only', '--only', [CompletionResultType]::ParameterName, 'Knobs to change, and no others, for example irq.affinity,iso.domain')
            [CompletionResult]::new('--except', '--except', [CompletionResultType]::ParameterName, 'Knobs to leave alone')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour: auto is on a terminal, unless NO_COLOR is set')
            [CompletionResult]::new('--lang', '--lang', [CompletionResultType]::ParameterName, 'Language of what people read; formats for programs are English [default: the locale''s, or en]')
            [CompletionResult]::new('--partition', '--partition', [CompletionResultType]::ParameterName, 'Isolate by a cpuset partition at run time instead of isolcpus= at boot')
            [CompletionResult]::new('--dry-run', '--dry-run', [CompletionResultType]::ParameterName, 'Show the plan, change nothing')
            [CompletionResult]::new('-y', '-y', [CompletionResultType]::ParameterName, 'Do not ask for confirmation')
            [CompletionResult]::new('--yes', '--yes', [CompletionResultType]::ParameterName, 'Do not ask for confirmation')
            [CompletionResult]::new('--until-reboot', '--until-reboot', [CompletionResultType]::ParameterName, 'Make only changes that last until the next boot: no files, no boot loader')
            [CompletionResult]::new('--confirm-at-boot', '--confirm-at-boot', [CompletionResultType]::ParameterName, 'Let the check at boot make the new boot entry the default if everything is in force')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print one line and no progress, for scripts and CI logs')
            [CompletionResult]::new('--brief', '--brief', [CompletionResultType]::ParameterName, 'Print one line and no progress, for scripts and CI logs')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print one line and no progress, for scripts and CI logs')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print one JSON document')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'punctual;optimize' {
            [CompletionResult]::new('--cpus', '--cpus', [CompletionResultType]::ParameterName, 'CPUs of the real-time work, which are measured [default: chosen as tune does]')
            [CompletionResult]::new('--time', '--time', [CompletionResultType]::ParameterName, 'Time for the whole campaign')
            [CompletionResult]::new('--strategy', '--strategy', [CompletionResultType]::ParameterName, 'How the knobs are tried')
            [CompletionResult]::new('--settle', '--settle', [CompletionResultType]::ParameterName, 'With --boots: the time a machine must have been up before a boot is measured')
            [CompletionResult]::new('--run', '--run', [CompletionResultType]::ParameterName, 'Length of one measurement; many short measurements are better than few long ones')
            [CompletionResult]::new('--load', '--load', [CompletionResultType]::ParameterName, 'Load to measure under, loads joined by +, phases by commas [default: the profile''s, or none]')
            [CompletionResult]::new('--load-dir', '--load-dir', [CompletionResultType]::ParameterName, 'Directory for the files of I/O loads [default: the campaign''s folder]')
            [CompletionResult]::new('--period', '--period', [CompletionResultType]::ParameterName, 'Time between releases [default: the profile''s, or 1ms]')
            [CompletionResult]::new('--budget', '--budget', [CompletionResultType]::ParameterName, 'Largest latency you can live with: what is later is a miss [default: the profile''s; without one, only skipped releases are misses]')
            [CompletionResult]::new('--priority', '--priority', [CompletionResultType]::ParameterName, 'SCHED_FIFO priority, 1 to 95 [default: the profile''s, or 90]')
            [CompletionResult]::new('--dma-latency', '--dma-latency', [CompletionResultType]::ParameterName, 'Hold /dev/cpu_dma_latency at this number of microseconds in every measurement, as the application does')
            [CompletionResult]::new('--profile', '--profile', [CompletionResultType]::ParameterName, 'Kind of work the machine is for: a preset, a profile of the project file, or just periodic, poll or audio')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'Project file that states the need [default: punctual.toml in this folder, if it is there]')
            [CompletionResult]::new('--blast', '--blast', [CompletionResultType]::ParameterName, 'How much a change may disturb the running machine; changes that disturb it more are left out')
            [CompletionResult]::new('--margin', '--margin', [CompletionResultType]::ParameterName, 'Changes smaller than this share count as neither better nor worse')
            [CompletionResult]::new('--seed', '--seed', [CompletionResultType]::ParameterName, 'Seed of the order [default: from the clock]')
            [CompletionResult]::new('--out', '--out', [CompletionResultType]::ParameterName, 'Folder to make for the campaign and its recordings [default: punctual-optimize-DATE-TIME, with --boots below /var/lib]')
            [CompletionResult]::new('--resume', '--resume', [CompletionResultType]::ParameterName, 'Continue the campaign in this folder, with the options it was started with')
            [CompletionResult]::new('--html', '--html', [CompletionResultType]::ParameterName, 'Write an HTML page with a chart of the effects to this file')
            [CompletionResult]::new('--knobs', '--knobs', [CompletionResultType]::ParameterName, 'Knobs to try; script:/PATH is your own program, which is called with `on` and `off` [default: those that tune would change now]')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour: auto is on a terminal, unless NO_COLOR is set')
            [CompletionResult]::new('--lang', '--lang', [CompletionResultType]::ParameterName, 'Language of what people read; formats for programs are English [default: the locale''s, or en]')
            [CompletionResult]::new('--boots', '--boots', [CompletionResultType]::ParameterName, 'Try knobs that need a reboot: the machine is rebooted for each measurement, and the campaign then continues by itself')
            [CompletionResult]::new('--at-boot', '--at-boot', [CompletionResultType]::ParameterName, 'Continues unattended after a boot')
            [CompletionResult]::new('--dry-run', '--dry-run', [CompletionResultType]::ParameterName, 'Show what would be tried and how long it takes; change nothing')
            [CompletionResult]::new('-y', '-y', [CompletionResultType]::ParameterName, 'Do not ask for confirmation')
            [CompletionResult]::new('--yes', '--yes', [CompletionResultType]::ParameterName, 'Do not ask for confirmation')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print one JSON document')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print one line and no progress, for scripts and CI logs')
            [CompletionResult]::new('--brief', '--brief', [CompletionResultType]::ParameterName, 'Print one line and no progress, for scripts and CI logs')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print one line and no progress, for scripts and CI logs')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'punctual;help' {
            [CompletionResult]::new('init', 'init', [CompletionResultType]::ParameterValue, 'Write a project file that states the need once, from four questions or from options')
            [CompletionResult]::new('check', 'check', [CompletionResultType]::ParameterValue, 'The main job: audit, measure under load, and say whether the need is held')
            [CompletionResult]::new('lint', 'lint', [CompletionResultType]::ParameterValue, 'Say how the kernel treats each word of a command line')
            [CompletionResult]::new('status', 'status', [CompletionResultType]::ParameterValue, 'Show what was changed, and whether it is configured, booted and in force')
            [CompletionResult]::new('revert', 'revert', [CompletionResultType]::ParameterValue, 'Put back exactly what was there')
            [CompletionResult]::new('measure', 'measure', [CompletionResultType]::ParameterValue, 'Measure latency in a stated scenario, into a recording')
            [CompletionResult]::new('merge', 'merge', [CompletionResultType]::ParameterValue, 'Merge several runs of one scenario into one recording')
            [CompletionResult]::new('explain', 'explain', [CompletionResultType]::ParameterValue, 'Rank what made activations late in a recording')
            [CompletionResult]::new('inspect', 'inspect', [CompletionResultType]::ParameterValue, 'Observe a running program: its periodic threads, what is in their cycles, how they are set up')
            [CompletionResult]::new('watch', 'watch', [CompletionResultType]::ParameterValue, 'Measure for months while other work runs, into a folder of bounded size')
            [CompletionResult]::new('export', 'export', [CompletionResultType]::ParameterValue, 'Write a recording, or another program''s result, in another program''s format')
            [CompletionResult]::new('report', 'report', [CompletionResultType]::ParameterValue, 'Show the report of a recording, or of another program''s result')
            [CompletionResult]::new('compare', 'compare', [CompletionResultType]::ParameterValue, 'Compare recordings with a first one: better or worse, and how certain that is')
            [CompletionResult]::new('trend', 'trend', [CompletionResultType]::ParameterValue, 'Find where a series of runs shifted or drifts, and what else changed there')
            [CompletionResult]::new('campaign', 'campaign', [CompletionResultType]::ParameterValue, 'Run an experiment that is described in a file: measure its cells in turn, with reboots if necessary, and put all results on one page with published numbers')
            [CompletionResult]::new('share', 'share', [CompletionResultType]::ParameterValue, 'Write a result, with what the machine looks like, into one masked file that can be shown to anybody')
            [CompletionResult]::new('snapshot', 'snapshot', [CompletionResultType]::ParameterValue, 'Write this machine into one readable file, to be audited elsewhere or shown in a bug report')
            [CompletionResult]::new('fleet', 'fleet', [CompletionResultType]::ParameterValue, 'Many machines: run a command on all of them, pack their results, and find out what the bad machines share')
            [CompletionResult]::new('torture', 'torture', [CompletionResultType]::ParameterValue, 'Try to break the kernel''s promises about registers, locks, memory and timers')
            [CompletionResult]::new('lab', 'lab', [CompletionResultType]::ParameterValue, 'Measure kernels in emulated machines, where time counts instructions and this machine has no influence on the numbers')
            [CompletionResult]::new('man', 'man', [CompletionResultType]::ParameterValue, 'Install man pages where `man` finds them')
            [CompletionResult]::new('completions', 'completions', [CompletionResultType]::ParameterValue, 'Install completions where bash, zsh and fish look for them')
            [CompletionResult]::new('audit', 'audit', [CompletionResultType]::ParameterValue, 'List what on this machine stands in the way of real time')
            [CompletionResult]::new('tune', 'tune', [CompletionResultType]::ParameterValue, 'Plan what to change on this machine, and change it: journalled, read back, reversible')
            [CompletionResult]::new('optimize', 'optimize', [CompletionResultType]::ParameterValue, 'Try knobs one at a time, measure each, and tell which help here; everything is put back')
            [CompletionResult]::new('help', 'help', [CompletionResultType]::ParameterValue, 'Print this message or the help of the given subcommand(s)')
            break
        }
        'punctual;help;init' {
            break
        }
        'punctual;help;check' {
            break
        }
        'punctual;help;lint' {
            break
        }
        'punctual;help;status' {
            break
        }
        'punctual;help;revert' {
            break
        }
        'punctual;help;measure' {
            break
        }
        'punctual;help;merge' {
            break
        }
        'punctual;help;explain' {
            break
        }
        'punctual;help;inspect' {
            break
        }
        'punctual;help;watch' {
            break
        }
        'punctual;help;export' {
            break
        }
        'punctual;help;report' {
            break
        }
        'punctual;help;compare' {
            break
        }
        'punctual;help;trend' {
            break
        }
        'punctual;help;campaign' {
            break
        }
        'punctual;help;share' {
            break
        }
        'punctual;help;snapshot' {
            break
        }
        'punctual;help;fleet' {
            [CompletionResult]::new('run', 'run', [CompletionResultType]::ParameterValue, 'Run a command of punctual on many hosts by ssh, and fetch what it writes')
            [CompletionResult]::new('pack', 'pack', [CompletionResultType]::ParameterValue, 'Pack the recordings and audits of many machines into tables that SQL engines can read')
            [CompletionResult]::new('ask', 'ask', [CompletionResultType]::ParameterValue, 'Ask the packed tables a question, by DuckDB: which machines are bad, what they share, which change made them worse')
            break
        }
        'punctual;help;fleet;run' {
            break
        }
        'punctual;help;fleet;pack' {
            break
        }
        'punctual;help;fleet;ask' {
            break
        }
        'punctual;help;torture' {
            break
        }
        'punctual;help;lab' {
            [CompletionResult]::new('compare', 'compare', [CompletionResultType]::ParameterValue, 'Measure several kernels under the same loads, and show them side by side')
            [CompletionResult]::new('gate', 'gate', [CompletionResultType]::ParameterValue, 'Compare a kernel with an earlier one, for CI: exits with 2 if it is worse')
            [CompletionResult]::new('bisect', 'bisect', [CompletionResultType]::ParameterValue, 'Find the version, the word of the command line, or the option of the configuration that made a kernel worse')
            break
        }
        'punctual;help;lab;compare' {
            break
        }
        'punctual;help;lab;gate' {
            break
        }
        'punctual;help;lab;bisect' {
            break
        }
        'punctual;help;man' {
            break
        }
        'punctual;help;completions' {
            break
        }
        'punctual;help;audit' {
            break
        }
        'punctual;help;tune' {
            break
        }
        'punctual;help;optimize' {
            break
        }
        'punctual;help;help' {
            break
        }
    })

    $completions.Where{ $_.CompletionText -like "$wordToComplete*" } |
        Sort-Object -Property ListItemText
}
