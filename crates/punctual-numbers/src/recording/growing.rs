//! A recording that grows while a measurement runs: each frame is moved behind the earlier runs and then folded.
//!
//! A measurement counts time from its own epoch. Its frames are moved behind the runs that the recording already has,
//! by a [`Shift`] that is known once the measurement hands out its header. This module must not know where the frames
//! are written.

use super::{Frame, RecTime, Recording, Shift};
use punctual_hist::MonoTime;

/// The recording so far, and the shift by which frames of the running measurement are moved into it.
#[derive(Debug, Default)]
pub struct Growing {
    recording: Option<Recording>,
    /// The shift that moves frames behind the earlier runs; `None` if there are no earlier runs.
    place: Option<Shift>,
    epoch: MonoTime,
}

impl Growing {
    /// Continues a recording that was read from a file. `cut_off` is cleared, because the end of the new run decides
    /// whether the whole recording is complete.
    pub fn behind(mut former: Recording) -> Self {
        former.cut_off = None;
        Self { recording: Some(former), ..Self::default() }
    }

    /// Moves a frame of the measurement to its place in the recording.
    pub fn placed(&mut self, frame: Frame) -> Frame {
        if let Frame::Header(header) = &frame {
            self.epoch = header.epoch;
            let behind = |former: &Recording| {
                let until = former.runs.last().map_or(RecTime::EPOCH, |run| run.until);
                Shift::behind(&former.header, header, until, former.causes.windows.next_slot())
            };
            self.place = self.recording.as_ref().map(behind);
        }
        match self.place {
            Some(place) => place.put(frame),
            None => frame,
        }
    }

    /// Folds a frame that [`placed`](Self::placed) returned. Frames before the first header are dropped.
    pub fn add(&mut self, frame: Frame) {
        match (&mut self.recording, frame) {
            (Some(recording), frame) => recording.add(frame),
            (empty, Frame::Header(header)) => *empty = Some(Recording::new(*header)),
            (None, _) => {}
        }
    }

    /// An instant of the measurement's clock, relative to its epoch.
    pub fn since_epoch(&self, at: MonoTime) -> RecTime {
        RecTime::of(at, self.epoch)
    }

    /// Converts an instant of the measurement's clock to the time scale of the activations in the recording.
    pub fn moved(&self, at: MonoTime) -> MonoTime {
        self.place.map_or(at, |place| place.moved(at))
    }

    /// The recording so far; `None` before the first header.
    pub fn recording(&self) -> Option<&Recording> {
        self.recording.as_ref()
    }

    pub fn into_recording(self) -> Option<Recording> {
        self.recording
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample::{header, run};
    use super::super::{CutOff, CutReason, EndReason};
    use super::*;
    use punctual_hist::Nanos;

    /// Two runs, of which the second began one hour and half a second after the first.
    fn grown() -> Growing {
        let mut first = Growing::default();
        for frame in run(0, 5, 10, Some(EndReason::Interrupted)) {
            let placed = first.placed(frame.clone());
            assert_eq!(placed, frame, "nothing is before the first run");
            first.add(placed);
        }
        let mut former = first.into_recording().unwrap();
        former.cut_off = Some(CutOff { good_bytes: 1, lost_bytes: 0, reason: CutReason::InAFrame });
        let mut grown = Growing::behind(former);
        for frame in run(3600, 5, 900, Some(EndReason::Completed)) {
            let placed = grown.placed(frame);
            grown.add(placed);
        }
        grown
    }

    #[test]
    fn a_measurement_that_goes_on_stands_behind_what_there_was() {
        let grown = grown();
        let recording = grown.recording().unwrap();
        assert_eq!(recording.runs.iter().map(|run| run.at).collect::<Vec<_>>(), [0, 3600].map(RecTime::from_secs));
        assert_eq!(recording.runs.last().map(|run| run.until), Some(RecTime::from_secs(3605)));
        assert_eq!((recording.covered, &recording.cut_off), (Nanos::from_secs(10), &None));
        let own = header(3600).epoch.plus(Nanos::from_secs(2));
        assert_eq!(grown.since_epoch(own), RecTime::from_secs(2));
        assert_eq!(grown.moved(own), header(0).epoch.plus(Nanos::from_secs(3602)));
    }

    #[test]
    fn frames_before_a_header_belong_to_nothing() {
        let mut growing = Growing::default();
        growing.add(run(0, 1, 10, None).remove(1));
        assert!(growing.recording().is_none());
    }
}
