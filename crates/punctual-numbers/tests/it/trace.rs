//! Decodes raw pages of real kernels, and compares the records with expected text and with the kernel's own text of the
//! same events.

use super::{check, repository};
use punctual_numbers::trace::{
    Decoder, EVENTS, FLAG_HARDIRQ, FLAG_IRQS_OFF, FLAG_NEED_RESCHED, FLAG_NMI, FLAG_SOFTIRQ, Names, PageLayout, Rung,
    TraceEvent, TraceRecord, Wanted,
};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};

struct Kernel {
    name: String,
    folder: PathBuf,
    layout: PageLayout,
    /// The text of the `format` file of each event, by `group:name`.
    formats: BTreeMap<String, String>,
}

impl Kernel {
    fn all() -> Vec<Self> {
        let folder = repository("fixtures/trace");
        let mut all: Vec<Self> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.is_dir())
            .map(|path| Self::read(&path))
            .collect();
        all.sort_by(|a, b| a.name.cmp(&b.name));
        assert!(all.len() >= 5);
        all
    }

    fn read(folder: &Path) -> Self {
        let header = std::fs::read_to_string(folder.join("header_page")).unwrap();
        let text = std::fs::read_to_string(folder.join("formats")).unwrap();
        let formats = text
            .split("== ")
            .skip(1)
            .map(|part| part.split_once('\n').unwrap())
            .map(|(path, text)| (path.to_owned(), text.to_owned()))
            .collect();
        Self {
            name: folder.file_name().unwrap().to_string_lossy().into_owned(),
            folder: folder.to_owned(),
            layout: PageLayout::parse(&header).unwrap(),
            formats,
        }
    }

    fn decoder(&self) -> Decoder {
        let mut decoder = Decoder::new();
        for (path, text) in &self.formats {
            let (group, name) = path.split_once(':').unwrap();
            decoder.learn(group, name, text).unwrap_or_else(|error| panic!("{}: {error}", self.name));
        }
        decoder
    }

    fn has(&self, group: &str, name: &str) -> bool {
        self.formats.contains_key(&format!("{group}:{name}"))
    }

    /// The dumps of pages in the same folder as the formats: (name, bytes of each page).
    fn dumps(&self) -> Vec<(String, Vec<Vec<u8>>)> {
        let mut dumps = Vec::new();
        for entry in std::fs::read_dir(&self.folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|end| end == "pages") {
                let text = std::fs::read_to_string(&path).unwrap();
                let name = path.file_stem().unwrap().to_string_lossy().into_owned();
                dumps.push((name, text.split("\n\n").map(bytes).filter(|page| !page.is_empty()).collect()));
            }
        }
        dumps.sort();
        dumps
    }

    fn records(&self, pages: &[Vec<u8>], names: &mut Names) -> Vec<TraceRecord> {
        let decoder = self.decoder();
        let mut records = Vec::new();
        for page in pages {
            for event in self.layout.page(page).unwrap().events() {
                records.push(decoder.decode(&event.unwrap(), names).unwrap());
            }
        }
        assert!(records.is_sorted_by_key(|record| record.at));
        records
    }
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<char> = hex.chars().filter(char::is_ascii_hexdigit).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(&pair.iter().collect::<String>(), 16).unwrap()).collect()
}

#[test]
fn formats_of_real_kernels_are_learned() {
    for kernel in Kernel::all() {
        let decoder = kernel.decoder();
        for wanted in EVENTS {
            let (group, name, kernel_name) = (wanted.group, wanted.name, &kernel.name);
            assert_eq!(decoder.knows(group, name), kernel.has(group, name), "{kernel_name} {}", wanted.path());
            assert!(kernel.has(group, name) || !wanted.everywhere, "{kernel_name} lacks {}", wanted.path());
            if let Some(other) = wanted.pair {
                assert_eq!(kernel.has(group, name), kernel.has(group, other), "{kernel_name} {group}:{other}");
            }
        }
        assert_eq!(decoder.events().count(), kernel.formats.len());
    }
}

#[test]
fn events_come_in_mutual_pairs_and_once() {
    let paths: BTreeSet<String> = EVENTS.iter().map(Wanted::path).collect();
    assert_eq!(paths.len(), EVENTS.len());
    for wanted in EVENTS {
        let Some(other) = wanted.pair else { continue };
        let other = EVENTS.iter().find(|event| event.group == wanted.group && event.name == other).unwrap();
        assert_eq!((other.pair, other.rung), (Some(wanted.name), wanted.rung));
    }
    assert!(EVENTS.iter().any(|wanted| wanted.rung == Rung::Timerlat && !wanted.switchable));
}

#[test]
fn a_field_that_is_missing_makes_the_event_unknown() {
    for kernel in Kernel::all() {
        for wanted in EVENTS.iter().filter(|wanted| kernel.has(wanted.group, wanted.name)) {
            let text = &kernel.formats[&wanted.path()];
            let fields: Vec<&str> = text.lines().filter(|line| line.contains("field:")).collect();
            for field in &fields {
                let without = text.replace(field, "");
                let mut decoder = Decoder::new();
                if let Err(error) = decoder.learn(wanted.group, wanted.name, &without) {
                    assert!(!decoder.knows(wanted.group, wanted.name));
                    assert!(error.to_string().starts_with(&wanted.path()), "{error}");
                }
                let huge = text.replace(field, &field.replace("offset:", "offset:99999"));
                assert!(decoder.learn(wanted.group, wanted.name, &huge).is_err());
            }
        }
    }
}

#[test]
fn pages_of_real_kernels_are_decoded() {
    let mut seen = 0;
    for kernel in Kernel::all() {
        for (name, pages) in kernel.dumps() {
            let mut names = Names::default();
            let mut text = String::new();
            for record in kernel.records(&pages, &mut names) {
                let (at, context) = (record.at.as_ns(), record.context);
                let (tid, flags, preempt) = (record.tid, context.flags, context.preempt);
                writeln!(text, "{at} {tid} {flags:02x} {preempt:02x} {:?}", record.what).unwrap();
            }
            writeln!(text, "{names:#?}").unwrap();
            check(&kernel.folder.join(format!("{name}.records")), &text);
            seen += 1;
        }
    }
    assert!(seen >= 2, "{seen} dumps");
}

#[test]
fn the_kernels_own_text_agrees() {
    for kernel in Kernel::all() {
        for (name, pages) in kernel.dumps() {
            let text = std::fs::read_to_string(kernel.folder.join(format!("{name}.text"))).unwrap();
            let records = kernel.records(&pages, &mut Names::default());
            assert_eq!(records.len(), text.lines().count());
            for (record, line) in records.iter().zip(text.lines()) {
                agrees(record, line).unwrap_or_else(|| panic!("{}: {record:?} is not: {line}", kernel.name));
            }
        }
    }
}

/// Compares a record with a line of the kernel's file `trace`: `COMM-TID [CPU] FLAGS SECONDS.MICROSECONDS: NAME: TEXT`.
fn agrees(record: &TraceRecord, line: &str) -> Option<()> {
    let (head, rest) = line.split_once(" [00")?;
    let tid: i32 = head.trim_end().rsplit_once('-')?.1.parse().ok()?;
    let mut words = rest.split_whitespace().skip(1);
    let letters = words.next()?;
    let (seconds, micros) = words.next()?.trim_end_matches(':').split_once('.')?;
    let at = seconds.parse::<u64>().ok()? * 1_000_000 + micros.parse::<u64>().ok()?;
    let name = words.next()?.trim_end_matches(':');
    let text: Vec<&str> = words.collect();
    (record.tid == tid && (record.at.as_ns() + 500) / 1000 == at).then_some(())?;
    flags_agree(record, letters).then_some(())?;
    what_agrees(&record.what, name, &text).then_some(())
}

fn flags_agree(record: &TraceRecord, letters: &str) -> bool {
    let flags = record.context.flags;
    let letters: Vec<char> = letters.chars().collect();
    let context = match (flags & FLAG_NMI != 0, flags & FLAG_HARDIRQ != 0, flags & FLAG_SOFTIRQ != 0) {
        (true, true, _) => 'Z',
        (true, false, _) => 'z',
        (false, true, true) => 'H',
        (false, true, false) => 'h',
        (false, false, true) => 's',
        (false, false, false) => '.',
    };
    // Some real-time kernels print one more column, for a lazy reschedule request.
    let columns = letters.len();
    let digit = |nibble: u8| if nibble == 0 { '.' } else { char::from_digit(nibble.into(), 16).unwrap_or('?') };
    (flags & FLAG_IRQS_OFF != 0) == matches!(letters[0], 'd' | 'D')
        && (flags & FLAG_NEED_RESCHED != 0) == matches!(letters[1], 'N' | 'n' | 'B' | 'b')
        && letters[columns.min(6) - 3] == context
        && letters.contains(&digit(record.context.preempt & 15))
        && letters.last() == Some(&digit(record.context.preempt >> 4))
}

fn boost(number: &dyn Fn(&str, i64) -> bool, tid: i32, from: i32, prio: i32) -> bool {
    number("pid", tid.into()) && number("oldprio", from.into()) && number("newprio", prio.into())
}

fn what_agrees(what: &TraceEvent, name: &str, text: &[&str]) -> bool {
    // The name of a task may contain blanks and `=`, and so look like another key. Therefore the last word that begins
    // with the key counts.
    let value = |key: &str| text.iter().rev().find_map(|word| word.strip_prefix(key)?.strip_prefix('='));
    let number =
        |key: &str, is: i64| value(key).map(|text| text.trim_end_matches(',')) == Some(is.to_string().as_str());
    let cpu = |key: &str, is: u32| value(key).and_then(|text| text.parse().ok()) == Some(is);
    let after = |key: &str| {
        let place = text.iter().position(|word| *word == key)?;
        text.get(place + 1)?.parse::<u64>().ok()
    };
    match what {
        TraceEvent::Switch { prev, prev_prio, prev_state, next, next_prio } => {
            let state = value("prev_state").unwrap_or_default();
            let letter = match *prev_state {
                0 => 'R',
                bit => "SDTtXZPI".chars().nth(bit.trailing_zeros() as usize).unwrap_or('?'),
            };
            name == "sched_switch"
                && number("prev_pid", (*prev).into())
                && number("prev_prio", (*prev_prio).into())
                && state.starts_with(letter)
                && number("next_pid", (*next).into())
                && number("next_prio", (*next_prio).into())
        }
        TraceEvent::Waking { tid, prio, target } => {
            name == "sched_waking"
                && number("pid", (*tid).into())
                && number("prio", (*prio).into())
                && cpu("target_cpu", *target)
        }
        TraceEvent::Migrate { tid, from_cpu, to_cpu } => {
            name == "sched_migrate_task"
                && number("pid", (*tid).into())
                && cpu("orig_cpu", *from_cpu)
                && cpu("dest_cpu", *to_cpu)
        }
        TraceEvent::Boost { tid, from, prio } => name == "sched_pi_setprio" && boost(&number, *tid, *from, *prio),
        TraceEvent::IrqEntry { irq } => name == "irq_handler_entry" && cpu("irq", *irq),
        TraceEvent::IrqExit { irq } => name == "irq_handler_exit" && cpu("irq", *irq),
        TraceEvent::SoftirqEntry { vector } => name == "softirq_entry" && cpu("vec", *vector),
        TraceEvent::SoftirqExit { vector } => name == "softirq_exit" && cpu("vec", *vector),
        TraceEvent::SoftirqRaise { vector } => name == "softirq_raise" && cpu("vec", *vector),
        TraceEvent::HrtimerStart { expires, .. } => name == "hrtimer_start" && number("expires", *expires),
        TraceEvent::HrtimerEntry { .. } => name == "hrtimer_expire_entry",
        TraceEvent::HrtimerExit { .. } => name == "hrtimer_expire_exit",
        TraceEvent::TimerEntry { .. } => name == "timer_expire_entry",
        TraceEvent::TimerExit { .. } => name == "timer_expire_exit",
        TraceEvent::WorkStart { .. } => name == "workqueue_execute_start",
        TraceEvent::WorkEnd => name == "workqueue_execute_end",
        TraceEvent::CallEntry { .. } => name == "csd_function_entry",
        TraceEvent::CallExit => name == "csd_function_exit",
        TraceEvent::IpiSend { target, .. } => match name {
            "ipi_send_cpu" | "csd_queue_cpu" => cpu("cpu", *target),
            _ => matches!(name, "ipi_send_cpumask" | "ipi_raise"),
        },
        TraceEvent::Idle { state } => {
            name == "cpu_idle" && value("state").and_then(|text| text.parse().ok()) == Some(state.unwrap_or(u32::MAX))
        }
        TraceEvent::VectorEntry { .. } => name.ends_with("_entry"),
        TraceEvent::VectorExit { .. } => name.ends_with("_exit"),
        TraceEvent::Fault { user, .. } => name == if *user { "page_fault_user" } else { "page_fault_kernel" },
        TraceEvent::Noise { took, .. } => name.ends_with("_noise") && after("duration") == Some(took.as_ns()),
        TraceEvent::Timerlat { context, latency } => {
            let said = ["irq", "thread"].get(usize::from(*context));
            said.is_some_and(|said| text.contains(said)) && after("timer_latency") == Some(latency.as_ns())
        }
        _ => false,
    }
}
