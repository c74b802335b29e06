//! Tests pages that the tests themselves write: each written event is read, and random bytes give events or errors,
//! never an endless loop.

use proptest::prelude::*;
use punctual_hist::MonoTime;
use punctual_numbers::trace::{
    Decoder, FormatError, FormatFault, Missed, Names, Page, PageError, PageLayout, RawEvent, TraceEvent,
};

const HEADER: &str = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;
\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;
\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;
\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;
";

/// The header page of a 32-bit kernel.
const HEADER_32: &str = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;
\tfield: local_t commit;\toffset:8;\tsize:4;\tsigned:1;
\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;
\tfield: char data;\toffset:12;\tsize:4084;\tsigned:0;
";

/// An entry to write into a page.
#[derive(Clone, Debug)]
enum Entry {
    /// A record: (nanoseconds after the entry before, payload, whether the long form is used even if the short form
    /// fits).
    Record(u64, Vec<u8>, bool),
    /// An entry that was discarded after it was written: (nanoseconds after the entry before, bytes).
    Discarded(u32, usize),
    /// An absolute time, this many nanoseconds after the entry before.
    Stamp(u64),
}

#[derive(Default)]
struct Writer {
    data: Vec<u8>,
    now: u64,
    start: u64,
    expected: Vec<(u64, Vec<u8>)>,
}

impl Writer {
    fn at(start: u64) -> Self {
        Self { now: start, start, ..Self::default() }
    }

    fn word(&mut self, word: u32) {
        self.data.extend(word.to_le_bytes());
    }

    fn head(&mut self, kind: u32, delta: u32) {
        self.word(kind | (delta << 5));
    }

    fn extended(&mut self, kind: u32, value: u64) {
        self.head(kind, u32::try_from(value & ((1 << 27) - 1)).unwrap());
        self.word(u32::try_from(value >> 27 & 0xffff_ffff).unwrap());
    }

    fn write(&mut self, entry: &Entry) {
        match entry {
            Entry::Record(later, payload, long) => {
                self.now += later;
                let delta = u32::try_from(*later).ok().filter(|delta| *delta < 1 << 27);
                if delta.is_none() {
                    self.extended(30, *later);
                }
                let mut payload = payload.clone();
                payload.resize(payload.len().next_multiple_of(4), 0);
                let words = u32::try_from(payload.len() / 4).unwrap();
                if *long || words == 0 || words > 28 {
                    self.head(0, delta.unwrap_or(0));
                    self.word(words * 4 + 4);
                } else {
                    self.head(words, delta.unwrap_or(0));
                }
                self.data.extend(&payload);
                self.expected.push((self.now, payload));
            }
            Entry::Discarded(delta, length) => {
                self.now += u64::from(*delta);
                self.head(29, (*delta).max(1));
                let length = length.next_multiple_of(4);
                self.word(u32::try_from(length + 4).unwrap());
                self.data.resize(self.data.len() + length, 0xee);
            }
            Entry::Stamp(later) => {
                self.now += later;
                self.extended(31, self.now & ((1 << 59) - 1));
            }
        }
    }

    /// The bytes of the page. `missed` is written as a flag in the commit word and, if the number of lost records is
    /// known, as that number behind the data.
    fn page(&self, missed: Option<Missed>, word: usize) -> Vec<u8> {
        let flags: u64 = match missed {
            None => 0,
            Some(Missed::Unknown) => 1 << 31,
            Some(Missed::Count(_)) => 3 << 30,
        };
        let mut bytes = self.start.to_le_bytes().to_vec();
        let commit = u64::try_from(self.data.len()).unwrap() | flags;
        bytes.extend(&commit.to_le_bytes()[..word]);
        bytes.extend(&self.data);
        if let Some(Missed::Count(count)) = missed {
            bytes.extend(&count.to_le_bytes()[..word]);
        }
        bytes
    }
}

fn read(page: &Page<'_>) -> Result<Vec<(u64, Vec<u8>)>, PageError> {
    page.events().map(|event| event.map(|event| (event.at.as_ns(), event.payload.to_vec()))).collect()
}

fn layout() -> PageLayout {
    PageLayout::parse(HEADER).unwrap()
}

fn entry() -> impl Strategy<Value = Entry> {
    prop_oneof![
        6 => (later(), prop::collection::vec(any::<u8>(), 0..160), any::<bool>())
            .prop_map(|(later, payload, long)| Entry::Record(later, payload, long)),
        1 => (prop_oneof![Just(0), 2_u32..1 << 27], 0_usize..64)
            .prop_map(|(delta, length)| Entry::Discarded(delta, length)),
        1 => (0_u64..1 << 40).prop_map(Entry::Stamp),
    ]
}

fn later() -> impl Strategy<Value = u64> {
    prop_oneof![0_u64..5000, 0_u64..1 << 27, 1_u64 << 27..1 << 45]
}

proptest! {
    #[test]
    fn what_was_written_is_read(
        start in 0_u64..1 << 60,
        entries in prop::collection::vec(entry(), 0..60),
        missed in prop_oneof![
            Just(None), Just(Some(Missed::Unknown)), (0_u64..u64::from(u32::MAX)).prop_map(|n| Some(Missed::Count(n)))
        ],
        wide in any::<bool>(),
        behind in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let mut writer = Writer::at(start);
        for entry in &entries {
            writer.write(entry);
        }
        let (header, word) = if wide { (HEADER, 8) } else { (HEADER_32, 4) };
        let mut bytes = writer.page(missed, word);
        bytes.extend(behind);
        let layout = PageLayout::parse(header).unwrap();
        let page = layout.page(&bytes).unwrap();
        prop_assert_eq!(page.start, MonoTime::from_ns(start));
        prop_assert_eq!(page.missed, missed);
        prop_assert_eq!(page.is_empty(), entries.is_empty());
        prop_assert_eq!(read(&page), Ok(writer.expected));
    }

    #[test]
    fn noise_has_an_end(bytes in prop::collection::vec(any::<u8>(), 0..400), length in 0_u16..500) {
        let mut bytes = bytes;
        if let Some(commit) = bytes.get_mut(8..16) {
            commit.copy_from_slice(&u64::from(length).to_le_bytes());
        }
        if let Ok(page) = layout().page(&bytes) {
            let events: Vec<_> = page.events().collect();
            prop_assert!(events.len() <= bytes.len() / 4);
            let times: Vec<u64> = events.iter().flatten().map(|event| event.at.as_ns()).collect();
            prop_assert!(times.is_sorted());
            let error = events.iter().position(Result::is_err);
            prop_assert!(error.is_none_or(|place| place + 1 == events.len()));
        }
    }

    #[test]
    fn a_cut_page_is_refused_or_shorter(entries in prop::collection::vec(entry(), 1..20), cut in any::<prop::sample::Index>()) {
        let mut writer = Writer::at(1000);
        for entry in &entries {
            writer.write(entry);
        }
        let bytes = writer.page(None, 8);
        let short = &bytes[..cut.index(bytes.len())];
        let refused = matches!(layout().page(short), Err(PageError::TooShort { has, needs }) if has < needs);
        prop_assert!(refused);
    }

    #[test]
    fn any_payload_is_decoded_or_not(payload in prop::collection::vec(any::<u8>(), 0..80), id in 0_usize..4) {
        let decoder = decoder();
        let mut payload = payload;
        if let Some(first) = payload.get_mut(..2) {
            first.copy_from_slice(&[300_u16, 301, 302, 9][id].to_le_bytes());
        }
        let event = RawEvent { at: MonoTime::from_ns(1), payload: &payload };
        let mut records = Vec::new();
        decoder.decode_each(&event, &mut Names::default(), |record| records.push(record));
        let single = decoder.decode(&event, &mut Names::default());
        prop_assert_eq!(single.as_ref(), records.first());
    }

    #[test]
    fn any_text_is_a_format_or_not(text in "(name: [a-z]+\n)?(ID: ?[0-9]{1,6}\n)?(\tfield:[a-z_ *]{0,12}(common_type|pid|prio)[\\[\\]0-9]{0,4};\toffset:[0-9-]{0,6};\tsize:[0-9]{0,6};\tsigned:[01];\n){0,8}") {
        let mut decoder = Decoder::new();
        let learned = decoder.learn("sched", "sched_waking", &text);
        prop_assert_eq!(learned.is_ok(), decoder.knows("sched", "sched_waking"));
        let _ = PageLayout::parse(&text);
    }
}

const COMMON: &str = "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;
";

fn with_common(id: u16, fields: &str) -> String {
    format!("name: x\nID: {id}\nformat:\n{COMMON}\n{fields}\nprint fmt: \"\tfield:int pid;\", REC->pid\n")
}

fn decoder() -> Decoder {
    let mut decoder = Decoder::new();
    let irq = "\tfield:int irq;\toffset:8;\tsize:4;\tsigned:1;
\tfield:__data_loc char[] name;\toffset:12;\tsize:4;\tsigned:0;";
    decoder.learn("irq", "irq_handler_entry", &with_common(300, irq)).unwrap();
    let waking = "\tfield:__rel_loc char[] comm;\toffset:8;\tsize:4;\tsigned:0;
\tfield:pid_t pid;\toffset:12;\tsize:4;\tsigned:1;
\tfield:int prio;\toffset:16;\tsize:4;\tsigned:1;
\tfield:int success;\toffset:20;\tsize:4;\tsigned:1;
\tfield:int target_cpu;\toffset:24;\tsize:4;\tsigned:1;";
    decoder.learn("sched", "sched_waking", &with_common(301, waking)).unwrap();
    let raise = "\tfield:__data_loc unsigned long[] target_cpus;\toffset:8;\tsize:4;\tsigned:0;
\tfield:const char * reason;\toffset:12;\tsize:4;\tsigned:0;";
    decoder.learn("ipi", "ipi_raise", &with_common(302, raise)).unwrap();
    decoder
}

/// A payload: the number of the event, common fields of task 7, then words, then bytes.
fn payload(id: u16, words: &[u32], bytes: &[u8]) -> Vec<u8> {
    let mut payload = id.to_le_bytes().to_vec();
    payload.extend([0x11, 0x21]);
    payload.extend(7_i32.to_le_bytes());
    for word in words {
        payload.extend(word.to_le_bytes());
    }
    payload.extend(bytes);
    payload
}

fn decoded(payload: &[u8], names: &mut Names) -> Vec<TraceEvent> {
    let mut all = Vec::new();
    let event = RawEvent { at: MonoTime::from_ns(5), payload };
    decoder().decode_each(&event, names, |record| {
        assert_eq!((record.tid, record.context.flags, record.context.preempt), (7, 0x11, 0x21));
        all.push(record.what);
    });
    all
}

#[test]
fn strings_are_found_where_the_record_says() {
    let mut names = Names::default();
    let irq = payload(300, &[19, 16 | (6 << 16)], b"eth0\0\0\0\0");
    assert_eq!(decoded(&irq, &mut names), [TraceEvent::IrqEntry { irq: 19 }]);
    assert_eq!(names.irqs[&19].action, "eth0");
    let waking = payload(301, &[16 | (4 << 16), 42, 98, 1, 3], b"lathe");
    assert_eq!(decoded(&waking, &mut names), [TraceEvent::Waking { tid: 42, prio: 98, target: 3 }]);
    assert_eq!(names.tasks[&42], "lath");
    let outside = payload(300, &[20, 0x003c_003c], b"");
    assert_eq!(decoded(&outside, &mut names), [TraceEvent::IrqEntry { irq: 20 }]);
    assert_eq!(names.irqs[&20].action, "");
}

#[test]
fn each_cpu_of_a_mask_is_told() {
    let raise = payload(302, &[16 | (8 << 16), 0xc000], &[0b101, 0, 0, 0, 0, 0, 0, 0x80]);
    let targets: Vec<u32> = decoded(&raise, &mut Names::default())
        .into_iter()
        .map(|what| if let TraceEvent::IpiSend { target, .. } = what { target } else { u32::MAX })
        .collect();
    assert_eq!(targets, [0, 2, 63]);
}

#[test]
fn old_real_time_kernels_count_migration_apart() {
    let extra = "\tfield:unsigned char common_migrate_disable;\toffset:8;\tsize:1;\tsigned:0;
\tfield:unsigned char common_preempt_lazy_count;\toffset:9;\tsize:1;\tsigned:0;
\tfield:unsigned int vec;\toffset:12;\tsize:4;\tsigned:0;";
    let mut decoder = Decoder::new();
    decoder.learn("irq", "softirq_entry", &with_common(77, extra)).unwrap();
    let payload = payload(77, &[3, 9], b"");
    let event = RawEvent { at: MonoTime::from_ns(5), payload: &payload };
    let record = decoder.decode(&event, &mut Names::default()).unwrap();
    assert_eq!((record.context.preempt, record.what), (0x3f, TraceEvent::SoftirqEntry { vector: 9 }));
}

#[test]
fn what_cannot_be_read_is_said() {
    let mut decoder = decoder();
    let fault = |learned: Result<(), FormatError>| learned.unwrap_err().why;
    assert_eq!(fault(decoder.learn("net", "netif_rx", "")), FormatFault::NotWanted);
    assert_eq!(fault(decoder.learn("irq", "softirq_exit", "name: softirq_exit")), FormatFault::NoId);
    let none = with_common(5, "");
    assert_eq!(fault(decoder.learn("irq", "softirq_exit", &none)), FormatFault::Missing("vec".to_owned()));
    let wide = with_common(5, "\tfield:char vec[3];\toffset:8;\tsize:3;\tsigned:0;");
    assert_eq!(fault(decoder.learn("irq", "softirq_exit", &wide)), FormatFault::Unfit("vec".to_owned()));
    let same = with_common(300, "\tfield:int vec;\toffset:8;\tsize:4;\tsigned:0;");
    assert_eq!(fault(decoder.learn("irq", "softirq_exit", &same)), FormatFault::SameId(300));
    assert!(!decoder.knows("irq", "softirq_exit"));
    let error = decoder.learn("irq", "softirq_exit", &none).unwrap_err().to_string();
    assert_eq!(error, "irq:softirq_exit: this kernel's format has no field `vec`");
}

#[test]
fn larger_sub_buffers_are_pages_too() {
    let layout = PageLayout::parse(&HEADER.replace("4080", "65520")).unwrap();
    assert_eq!(layout.size(), 65536);
    let mut writer = Writer::at(9);
    for _ in 0..500 {
        writer.write(&Entry::Record(3, vec![1; 80], false));
    }
    let bytes = writer.page(None, 8);
    assert_eq!(read(&layout.page(&bytes).unwrap()).unwrap().len(), 500);
}
