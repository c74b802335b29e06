//! Contexts on top of a task, and the records that open and close them.

use crate::trace::{Address, TraceEvent, Vector};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Frame {
    Irq(u32),
    Vector(Vector),
    /// The function that another CPU asked this CPU to call.
    Call(Address),
    Softirq(u32),
    /// The callback of a high-resolution timer.
    Hrtimer {
        timer: Address,
        function: Address,
    },
    /// The callback of a timer of the timer wheel.
    Wheel {
        timer: Address,
        function: Address,
    },
}

impl Frame {
    pub(super) fn is_interrupt(self) -> bool {
        matches!(self, Self::Irq(_) | Self::Vector(_) | Self::Call(_))
    }

    /// Whether the record that closes `other` closes this context.
    pub(super) fn ends_with(self, other: Self) -> bool {
        match (self, other) {
            (Self::Hrtimer { timer: a, .. }, Self::Hrtimer { timer: b, .. })
            | (Self::Wheel { timer: a, .. }, Self::Wheel { timer: b, .. }) => a == b,
            (Self::Call(_), Self::Call(_)) => true,
            (a, b) => a == b,
        }
    }
}

pub(super) fn entered(what: &TraceEvent) -> Option<Frame> {
    Some(match *what {
        TraceEvent::IrqEntry { irq } => Frame::Irq(irq),
        TraceEvent::VectorEntry { vector } => Frame::Vector(vector),
        TraceEvent::CallEntry { function } => Frame::Call(function),
        TraceEvent::SoftirqEntry { vector } => Frame::Softirq(vector),
        TraceEvent::HrtimerEntry { timer, function } => Frame::Hrtimer { timer, function },
        TraceEvent::TimerEntry { timer, function } => Frame::Wheel { timer, function },
        _ => return None,
    })
}

pub(super) fn left(what: &TraceEvent) -> Option<Frame> {
    let function = Address(0);
    Some(match *what {
        TraceEvent::IrqExit { irq } => Frame::Irq(irq),
        TraceEvent::VectorExit { vector } => Frame::Vector(vector),
        TraceEvent::CallExit => Frame::Call(function),
        TraceEvent::SoftirqExit { vector } => Frame::Softirq(vector),
        TraceEvent::HrtimerExit { timer } => Frame::Hrtimer { timer, function },
        TraceEvent::TimerExit { timer } => Frame::Wheel { timer, function },
        _ => return None,
    })
}
