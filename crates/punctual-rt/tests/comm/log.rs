//! Tests of the log: the records of a loop come out as text, in order, and lost ones are reported.

use punctual_rt::log::{Drain, Drained, Kind, LogRecord, LogValue, placeholders};
use punctual_rt::{ConfigError, Error, MonoTime, Nanos, now, rt_log};
use std::io::{self, Write};
use std::sync::{Arc, Mutex};

/// Keeps what is written to it, for comparison.
#[derive(Clone, Default)]
pub(crate) struct Kept(Arc<Mutex<Vec<u8>>>);

impl Kept {
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.0.lock().unwrap().clone()
    }

    fn lines(&self) -> Vec<String> {
        String::from_utf8(self.bytes()).unwrap().lines().map(str::to_owned).collect()
    }
}

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub(crate) fn record(ns: u64, kind: Kind, text: &'static str, values: &[LogValue]) -> LogRecord {
    let mut all = [LogValue::None; 4];
    all[..values.len()].copy_from_slice(values);
    LogRecord { at: MonoTime::from_ns(ns), kind, text, values: all }
}

#[test]
fn records_of_several_threads_come_out_in_order() {
    let out = Kept::default();
    let mut drain = Drain::new().text(out.clone());
    let (mut a, mut b) = (drain.writer("a", 8), drain.writer("b", 8));
    b.push(record(2_000_000_005, Kind::Message, "phase {} ns, {} late", &[(-350).into(), 2u32.into()]));
    a.push(record(1_000_000_000, Kind::Begin, "control", &[]));
    a.push(record(3_500_000_000, Kind::End, "control", &[]));
    b.push(record(3_000_000_000, Kind::Counter, "torque", &[1.5.into()]));
    assert_eq!(drain.finish().unwrap(), Drained { records: 4, lost: 0 });
    let expected = [
        "1.000000000 a: begin control",
        "2.000000005 b: phase -350 ns, 2 late",
        "3.000000000 b: torque = 1.5",
        "3.500000000 a: end control",
    ];
    assert_eq!(out.lines(), expected);
}

#[test]
fn every_kind_of_number_has_its_text() {
    let out = Kept::default();
    let mut drain = Drain::new().text(out.clone());
    let mut log = drain.writer("a", 16);
    rt_log!(log, "no number");
    rt_log!(log, "{} {} {} {}", u64::MAX, i64::MIN, true, 7usize);
    rt_log!(log, "{}{}", Nanos::from_us(3), 2.5f32,);
    let both = log.span("both", |log| {
        log.counter("c", -1i8);
        5
    });
    log.message("too many: {} {} {} {} {}", &[1.into(); 9]);
    log.message("too few: {} {}", &[1.into()]);
    assert_eq!((both, drain.finish().unwrap().records), (5, 8));
    let texts: Vec<String> = out.lines().iter().map(|line| line.split_once(" a: ").unwrap().1.to_owned()).collect();
    let expected = [
        "no number",
        "18446744073709551615 -9223372036854775808 1 7",
        "30002.5",
        "begin both",
        "c = -1",
        "end both",
        "too many: 1 1 1 1 {}",
        "too few: 1 ",
    ];
    assert_eq!(texts, expected);
    assert_eq!(["", "{}", "{ }", "{{}}{}", "}{"].map(placeholders), [0, 1, 0, 2, 0]);
}

#[test]
fn what_a_full_log_loses_is_counted_and_told() {
    let out = Kept::default();
    let mut drain = Drain::new().text(out.clone());
    let mut log = drain.writer("a", 2);
    (0..5).for_each(|n| rt_log!(log, "{}", n));
    assert_eq!(log.lost(), 3);
    drain.drain();
    rt_log!(log, "room again");
    drop(log);
    assert_eq!(drain.finish().unwrap(), Drained { records: 3, lost: 3 });
    let lines = out.lines();
    assert!(lines.iter().any(|line| line.ends_with("a: 3 records lost: the log was full")), "{lines:?}");
}

#[test]
fn what_is_young_is_held_back_for_what_is_older() {
    let out = Kept::default();
    let mut drain = Drain::new().text(out.clone());
    let (mut a, mut b) = (drain.writer("a", 8), drain.writer("b", 8));
    let earlier = now().as_ns();
    // An instant in the future is replaced by the time of collecting, so the record is held back however slow this
    // thread is.
    a.push(record(u64::MAX, Kind::Message, "second", &[]));
    drain.drain();
    b.push(record(earlier, Kind::Message, "first", &[]));
    std::thread::sleep(std::time::Duration::from_millis(12));
    drain.drain();
    let lines = out.lines();
    assert_eq!(lines.len(), 2, "held back, but not for ever");
    assert!(lines[0].ends_with("first") && lines[1].ends_with("second"), "{lines:?}");
}

struct Full;

impl Write for Full {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::StorageFull.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn an_output_that_fails_is_reported_and_does_not_stop_the_others() {
    let out = Kept::default();
    let mut drain = Drain::new().text(Full).text(out.clone());
    let mut log = drain.writer("a", 2);
    for _ in 0..4 {
        rt_log!(log, "x");
        std::thread::sleep(std::time::Duration::from_millis(11));
        drain.drain();
    }
    assert_eq!((log.lost(), out.lines().len()), (0, 4));
    assert_eq!(drain.finish().unwrap_err().kind(), io::ErrorKind::StorageFull);
}

#[test]
#[cfg_attr(miri, ignore = "a system call unknown there")]
fn a_thread_drains_until_it_is_stopped_and_then_the_rest() {
    let out = Kept::default();
    let mut drain = Drain::new().text(out.clone());
    let mut first = drain.writer("first", 64);
    let running = drain.start(Nanos::from_ms(1)).unwrap();
    let mut second = running.writer("second", 64);
    for n in 0..20 {
        rt_log!(first, "{}", n);
        rt_log!(second, "{}", n);
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    assert_eq!(running.stop().unwrap(), Drained { records: 40, lost: 0 });
    assert_eq!(out.lines().len(), 40);
    assert!(matches!(Drain::new().start(Nanos::ZERO), Err(Error::Config(ConfigError::ZeroLength))));
}

#[test]
#[cfg_attr(miri, ignore = "a system call unknown there")]
fn dropping_the_thread_writes_the_rest_too() {
    let out = Kept::default();
    let mut drain = Drain::new().text(out.clone());
    let mut log = drain.writer("a", 64);
    let running = drain.start(Nanos::from_ms(60_000)).unwrap();
    rt_log!(log, "x");
    drop(running);
    assert_eq!(out.lines().len(), 1);
}
