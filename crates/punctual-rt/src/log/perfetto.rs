//! Writes records as a Perfetto trace: packets of protocol buffers, one after the other.
//!
//! Comments name the fields as Perfetto's schema does (`protos/perfetto/trace/`). Its field numbers never change.

use super::line::{LogLine, Noted, Output};
use super::record::{Kind, LogRecord, LogValue};
use super::text::message;
use super::writer::Thread;
use crate::sys::{boot_time, now, real_time};
use punctual_hist::{MonoTime, Nanos};
use std::collections::{HashMap, HashSet};
use std::io::{self, Write};
use std::sync::atomic::Ordering::Relaxed;

/// Numbers of the clocks: `BuiltinClock` of `common/builtin_clock.proto`.
const REALTIME: u64 = 1;
const MONOTONIC: u64 = 3;
const BOOTTIME: u64 = 6;

/// Kinds of events: `TrackEvent.Type` of `track_event/track_event.proto`.
const SLICE_BEGIN: u64 = 1;
const SLICE_END: u64 = 2;
const INSTANT: u64 = 3;
const COUNTER: u64 = 4;

/// Interval between packets that relate the clocks to each other, so that a suspend does not shift later records.
const SNAPSHOT_EVERY: Nanos = Nanos::from_ms(1_000);

/// The first number for counters; threads have lower numbers.
const FIRST_COUNTER: u64 = 1 << 31;

pub(super) struct Perfetto<W> {
    output: W,
    process: u32,
    /// Numbers of the threads that were already described in the trace.
    described: HashSet<u64>,
    /// Counters that were already described: thread and name, with the id of the track.
    counters: HashMap<(u64, &'static str), u64>,
    snapshot_at: Option<MonoTime>,
}

impl<W: Write + Send> Output for Perfetto<W> {
    fn write(&mut self, line: &LogLine) -> io::Result<()> {
        self.begin()?;
        self.describe(&line.thread)?;
        let row = self.row(line.thread.number);
        match &line.what {
            Noted::Lost(lost) => self.event(line.at, |event| {
                event.number(9, INSTANT); // TrackEvent.type
                event.number(11, row); // TrackEvent.track_uuid
                event.text(23, "records lost"); // TrackEvent.name
                event.message(4, |note| annotation(note, "count", LogValue::Unsigned(*lost))); // .debug_annotations
            }),
            Noted::Record(record) if record.kind == Kind::Counter => {
                let track = self.counter(row, line.thread.number, record.text)?;
                self.event(line.at, |event| counter(event, track, record))
            }
            Noted::Record(record) => self.event(line.at, |event| happening(event, row, record)),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }
}

impl<W: Write> Perfetto<W> {
    pub(super) fn new(output: W) -> Self {
        let process = std::process::id();
        Self { output, process, described: HashSet::new(), counters: HashMap::new(), snapshot_at: None }
    }

    /// Id of a track, which no trace of another process uses.
    fn row(&self, number: u64) -> u64 {
        (u64::from(self.process) << 32) | number
    }

    /// Writes the packets that all others depend on, and from time to time the readings of the clocks.
    fn begin(&mut self) -> io::Result<()> {
        let (first, now) = (self.snapshot_at.is_none(), now());
        if self.snapshot_at.is_some_and(|last| now - last < SNAPSHOT_EVERY) {
            return Ok(());
        }
        self.snapshot_at = Some(now);
        self.packet(|packet| {
            if first {
                packet.number(13, 1); // TracePacket.sequence_flags: SEQ_INCREMENTAL_STATE_CLEARED
            }
            packet.message(6, |snapshot| {
                // TracePacket.clock_snapshot
                for (clock, time) in [(MONOTONIC, now.as_ns()), (BOOTTIME, boot_time()), (REALTIME, real_time())] {
                    snapshot.message(1, |entry| {
                        // ClockSnapshot.clocks
                        entry.number(1, clock); // Clock.clock_id
                        entry.number(2, time); // Clock.timestamp
                    });
                }
            });
        })?;
        if !first {
            return Ok(());
        }
        let (identity, process) = (self.row(0), self.process);
        let program = std::env::current_exe().unwrap_or_default();
        let name = program.file_name().unwrap_or_default().to_string_lossy();
        self.track(|track| {
            track.number(1, identity); // TrackDescriptor.uuid
            track.message(3, |descriptor| {
                // TrackDescriptor.process
                descriptor.number(1, process.into()); // ProcessDescriptor.pid
                descriptor.text(6, &name); // ProcessDescriptor.process_name
            });
        })
    }

    fn describe(&mut self, thread: &Thread) -> io::Result<()> {
        if !self.described.insert(thread.number) {
            return Ok(());
        }
        let (identity, process, id) = (self.row(thread.number), self.row(0), thread.id.load(Relaxed));
        let pid = self.process;
        self.track(|track| {
            track.number(1, identity); // TrackDescriptor.uuid
            if id == 0 {
                track.text(2, &thread.name); // TrackDescriptor.name
                track.number(5, process); // TrackDescriptor.parent_uuid
                return;
            }
            track.message(4, |descriptor| {
                // TrackDescriptor.thread
                descriptor.number(1, pid.into()); // ThreadDescriptor.pid
                descriptor.number(2, id.into()); // ThreadDescriptor.tid
                descriptor.text(5, &thread.name); // ThreadDescriptor.thread_name
            });
        })
    }

    /// Id of the track of a counter. Describes the track when it is first used.
    fn counter(&mut self, row: u64, thread: u64, name: &'static str) -> io::Result<u64> {
        if let Some(identity) = self.counters.get(&(thread, name)) {
            return Ok(*identity);
        }
        let identity = self.row(FIRST_COUNTER | self.counters.len() as u64);
        self.counters.insert((thread, name), identity);
        self.track(|track| {
            track.number(1, identity); // TrackDescriptor.uuid
            track.text(2, name); // TrackDescriptor.name
            track.number(5, row); // TrackDescriptor.parent_uuid
            track.message(8, |_| {}); // TrackDescriptor.counter: present, with default properties
        })?;
        Ok(identity)
    }

    fn track(&mut self, fill: impl FnOnce(&mut Message)) -> io::Result<()> {
        self.packet(|packet| packet.message(60, fill)) // TracePacket.track_descriptor
    }

    fn event(&mut self, at: MonoTime, fill: impl FnOnce(&mut Message)) -> io::Result<()> {
        self.packet(|packet| {
            packet.number(8, at.as_ns()); // TracePacket.timestamp
            packet.number(58, MONOTONIC); // TracePacket.timestamp_clock_id
            packet.message(11, fill); // TracePacket.track_event
        })
    }

    fn packet(&mut self, fill: impl FnOnce(&mut Message)) -> io::Result<()> {
        let mut trace = Message::default();
        trace.message(1, |packet| {
            // Trace.packet
            packet.number(10, 1); // TracePacket.trusted_packet_sequence_id
            fill(packet);
        });
        self.output.write_all(&trace.0)
    }
}

fn counter(event: &mut Message, track: u64, record: &LogRecord) {
    event.number(9, COUNTER); // TrackEvent.type
    event.number(11, track); // TrackEvent.track_uuid
    let [value, ..] = record.values;
    match value {
        LogValue::None => event.signed(30, 0),
        LogValue::Signed(value) => event.signed(30, value), // TrackEvent.counter_value
        LogValue::Unsigned(value) => event.signed(30, i64::try_from(value).unwrap_or(i64::MAX)),
        LogValue::Float(value) => event.float(44, value), // TrackEvent.double_counter_value
    }
}

/// Fills the track event for a record that is a begin, an end or a message.
fn happening(event: &mut Message, row: u64, record: &LogRecord) {
    let kind = match record.kind {
        Kind::Begin => SLICE_BEGIN,
        Kind::End => SLICE_END,
        Kind::Message | Kind::Counter => INSTANT,
    };
    event.number(9, kind); // TrackEvent.type
    event.number(11, row); // TrackEvent.track_uuid
    if record.kind == Kind::End {
        return;
    }
    event.text(23, record.text); // TrackEvent.name: without the values, so that equal messages can be counted
    if record.values.first().is_none_or(|value| *value == LogValue::None) {
        return;
    }
    event.message(4, |note| {
        // TrackEvent.debug_annotations
        note.text(10, "text"); // DebugAnnotation.name
        note.text(6, &message(record)); // DebugAnnotation.string_value
    });
    for (value, name) in record.values.iter().zip(["first", "second", "third", "fourth"]) {
        if *value != LogValue::None {
            event.message(4, |note| annotation(note, name, *value));
        }
    }
}

/// Fills a `DebugAnnotation` with a name and a value.
fn annotation(note: &mut Message, name: &str, value: LogValue) {
    note.text(10, name); // .name
    match value {
        LogValue::None => {}
        LogValue::Unsigned(value) => note.number(3, value), // .uint_value
        LogValue::Signed(value) => note.signed(4, value),   // .int_value
        LogValue::Float(value) => note.float(5, value),     // .double_value
    }
}

/// A message of protocol buffers under construction. Each field is a number with its wire type, followed by the value.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value > 0x7f {
            self.0.push(value.to_le_bytes().first().copied().unwrap_or(0) | 0x80);
            value >>= 7;
        }
        self.0.push(value.to_le_bytes().first().copied().unwrap_or(0));
    }

    fn key(&mut self, field: u32, wire_type: u64) {
        self.varint(u64::from(field) << 3 | wire_type);
    }

    fn number(&mut self, field: u32, value: u64) {
        self.key(field, 0);
        self.varint(value);
    }

    /// Writes an `int64`: negative numbers as their two's complement.
    fn signed(&mut self, field: u32, value: i64) {
        self.number(field, u64::from_ne_bytes(value.to_ne_bytes()));
    }

    fn float(&mut self, field: u32, value: f64) {
        self.key(field, 1);
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    fn bytes(&mut self, field: u32, value: &[u8]) {
        self.key(field, 2);
        self.varint(value.len() as u64);
        self.0.extend_from_slice(value);
    }

    fn text(&mut self, field: u32, value: &str) {
        self.bytes(field, value.as_bytes());
    }

    fn message(&mut self, field: u32, fill: impl FnOnce(&mut Self)) {
        let mut inner = Self::default();
        fill(&mut inner);
        self.bytes(field, &inner.0);
    }
}
