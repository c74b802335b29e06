//! Late activations as a trace for <https://ui.perfetto.dev>: each measured CPU is a process with lanes.
//!
//! Names in comments are those of Perfetto's schema (`protos/perfetto/trace/`), whose field numbers never change. Times
//! are those of `CLOCK_MONOTONIC`, which is also the clock of the whole trace.

mod message;
mod slices;

use crate::render::clean::ascii;
use message::Message;
use punctual_hist::MonoTime;
use punctual_numbers::explain::Spike;
use punctual_numbers::recording::Windows;
use punctual_numbers::report::Report;
use slices::{LANES, Lane, Slice, of_window};
use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};

/// `BuiltinClock` of `common/builtin_clock.proto`.
const REALTIME: u64 = 1;
const MONOTONIC: u64 = 3;

/// `TrackEvent.Type` of `track_event/track_event.proto`.
const SLICE_BEGIN: u64 = 1;
const SLICE_END: u64 = 2;
const INSTANT: u64 = 3;

const EXPLICIT: u64 = 3;

/// Writes the windows of a recording to `output`, with the report's account of each window.
///
/// # Errors
/// The errors of `output`.
pub fn perfetto(report: &Report, windows: &Windows, output: impl Write) -> io::Result<()> {
    let spikes = report.causes.iter().flat_map(|causes| &causes.spikes);
    let spikes: HashMap<(u32, MonoTime), &Spike> = spikes.map(|spike| ((spike.cpu, spike.release), spike)).collect();
    let mut trace = Trace { output };
    trace.begin(report)?;
    let (mut described, mut shown) = (None, BTreeMap::new());
    for window in windows.by_cpu_and_time() {
        let cpu = window.cpu;
        if described != Some(cpu) {
            trace.describe(cpu)?;
            (described, shown) = (Some(cpu), BTreeMap::new());
        }
        let slices = of_window(report, &window, spikes.get(&(cpu, window.release)).copied());
        let mut events = events(&slices, &mut shown);
        // The sort is stable: events of one lane are in order already, and those at the same instant must keep their
        // order.
        events.sort_by_key(|event| event.at);
        for event in &events {
            trace.event(cpu, event)?;
        }
    }
    trace.output.flush()
}

/// The beginning or the end of a slice on a lane, or a moment, which has no length.
struct Event<'a> {
    at: MonoTime,
    lane: Lane,
    kind: u64,
    /// The slice that begins, or the moment; `None` for an end.
    slice: Option<&'a Slice>,
}

/// The beginnings and ends of slices, which nest. `shown` holds for each lane the instant up to which an earlier window
/// was written; time before this instant is left out. A slice that ends later than the slice around it is cut.
fn events<'a>(slices: &'a [Slice], shown: &mut BTreeMap<Lane, MonoTime>) -> Vec<Event<'a>> {
    let mut events = Vec::new();
    for (lane, _) in LANES {
        let earlier = shown.get(&lane).copied().unwrap_or_default();
        let mut open: Vec<MonoTime> = Vec::new();
        let mut last = earlier;
        for slice in slices.iter().filter(|slice| slice.lane == lane) {
            let event = |at, kind, slice| Event { at, lane, kind, slice };
            if slice.from == slice.to && slice.lane == Lane::Marks {
                if slice.from > earlier || earlier == MonoTime::default() {
                    events.push(event(slice.from, INSTANT, Some(slice)));
                }
                last = last.max(slice.from);
                continue;
            }
            let from = slice.from.max(earlier);
            while let Some(end) = open.last().copied().filter(|end| *end <= from) {
                open.pop();
                events.push(event(end, SLICE_END, None));
            }
            let to = open.last().map_or(slice.to, |around| slice.to.min(*around));
            if to < from || (to == from && slice.from != slice.to) {
                continue;
            }
            events.push(event(from, SLICE_BEGIN, Some(slice)));
            open.push(to);
            last = last.max(to);
        }
        events.extend(open.iter().rev().map(|end| Event { at: *end, lane, kind: SLICE_END, slice: None }));
        shown.insert(lane, last);
    }
    events
}

/// Writes the packets of a trace one after the other.
struct Trace<W> {
    output: W,
}

impl<W: Write> Trace<W> {
    /// The first packet, which all others depend on: it resets the state of the sequence and relates the clocks.
    fn begin(&mut self, report: &Report) -> io::Result<()> {
        self.packet(|packet| {
            packet.number(13, 1); // TracePacket.sequence_flags: SEQ_INCREMENTAL_STATE_CLEARED
            packet.message(6, |snapshot| {
                // TracePacket.clock_snapshot
                for (clock, time) in [(MONOTONIC, report.epoch.as_ns()), (REALTIME, report.started_unix_ns)] {
                    snapshot.message(1, |entry| {
                        // ClockSnapshot.clocks
                        entry.number(1, clock); // Clock.clock_id
                        entry.number(2, time); // Clock.timestamp
                    });
                }
                snapshot.number(2, MONOTONIC); // ClockSnapshot.primary_trace_clock
            });
        })
    }

    /// Describes a CPU as a process, and its lanes as tracks.
    fn describe(&mut self, cpu: u32) -> io::Result<()> {
        self.track(|track| {
            track.number(1, process(cpu)); // TrackDescriptor.uuid
            track.number(11, EXPLICIT); // TrackDescriptor.child_ordering
            track.message(3, |process| {
                // TrackDescriptor.process
                process.number(1, u64::from(cpu) + 1); // ProcessDescriptor.pid: not 0, which is nobody's
                process.text(6, &format!("CPU {cpu}")); // ProcessDescriptor.process_name
            });
        })?;
        for (place, (lane, name)) in (0..).zip(LANES) {
            self.track(|track| {
                track.number(1, identity(cpu, lane)); // TrackDescriptor.uuid
                track.text(2, name); // TrackDescriptor.name
                track.number(5, process(cpu)); // TrackDescriptor.parent_uuid
                track.number(12, place); // TrackDescriptor.sibling_order_rank
            })?;
        }
        Ok(())
    }

    fn track(&mut self, fill: impl FnOnce(&mut Message)) -> io::Result<()> {
        self.packet(|packet| packet.message(60, fill)) // TracePacket.track_descriptor
    }

    fn event(&mut self, cpu: u32, event: &Event<'_>) -> io::Result<()> {
        self.packet(|packet| {
            packet.number(8, event.at.as_ns()); // TracePacket.timestamp
            packet.number(58, MONOTONIC); // TracePacket.timestamp_clock_id
            packet.message(11, |track_event| {
                // TracePacket.track_event
                track_event.number(9, event.kind); // TrackEvent.type
                track_event.number(11, identity(cpu, event.lane)); // TrackEvent.track_uuid
                let Some(slice) = event.slice else { return };
                track_event.text(23, &ascii(&slice.name)); // TrackEvent.name
                for (name, value) in &slice.notes {
                    track_event.message(4, |note| {
                        // TrackEvent.debug_annotations
                        note.text(10, name); // DebugAnnotation.name
                        note.text(6, &ascii(value)); // DebugAnnotation.string_value
                    });
                }
            });
        })
    }

    fn packet(&mut self, fill: impl FnOnce(&mut Message)) -> io::Result<()> {
        let mut trace = Message::default();
        trace.message(1, |packet| {
            // Trace.packet
            packet.number(10, 1); // TracePacket.trusted_packet_sequence_id
            fill(packet);
        });
        self.output.write_all(trace.bytes())
    }
}

fn process(cpu: u32) -> u64 {
    (u64::from(cpu) + 1) << 8
}

fn identity(cpu: u32, lane: Lane) -> u64 {
    let place = LANES.iter().position(|(of, _)| *of == lane).unwrap_or_default();
    process(cpu) + 1 + place as u64
}
