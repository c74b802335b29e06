//! Records on their way from the trace to the digest.

use super::bill::Bill;
use punctual_hist::MonoTime;
use punctual_numbers::inspect::{Digest, Record};
use punctual_rt::now;

/// Records wait until all CPUs must have told what came before them: they are read one after the other, and each may be read
/// only in part.
pub struct Flow {
    pub digest: Digest,
    waiting: Vec<Record>,
    /// When the last reading and the one before it began.
    began: [MonoTime; 2],
}

impl Flow {
    pub fn new(digest: Digest) -> Self {
        Self { digest, waiting: Vec::new(), began: [MonoTime::default(); 2] }
    }

    /// Reads records, and hands those to the digest that have waited. What was read is counted.
    pub fn read(&mut self, bill: &mut Bill, read: impl FnOnce(&mut Vec<Record>)) {
        let Self { digest, waiting, began: [before, last] } = self;
        (*before, *last) = (*last, now());
        let known = waiting.len();
        read(waiting);
        bill.count(waiting.get(known..).unwrap_or_default());
        waiting.sort_by_key(|record| record.at);
        let ready = waiting.partition_point(|record| record.at <= *before);
        digest.take(waiting.get(..ready).unwrap_or_default());
        waiting.drain(..ready);
    }

    /// The digest of all records, of which none comes any more.
    pub fn end(self) -> Digest {
        let Self { mut digest, mut waiting, .. } = self;
        waiting.sort_by_key(|record| record.at);
        digest.take(&waiting);
        digest
    }
}

#[cfg(test)]
mod tests {
    use super::super::bill::Prices;
    use super::*;
    use punctual_hist::Nanos;
    use punctual_numbers::inspect::{Rules, Seen};
    use punctual_numbers::trace::Context;

    fn record(at: MonoTime, tid: i32) -> Record {
        Record { at, cpu: 0, tid, context: Context::default(), seen: Seen::Signal }
    }

    #[test]
    fn records_wait_for_those_of_other_cpus_and_none_is_left() {
        let mut flow = Flow::new(Digest::new(Rules::default()));
        let mut bill = Bill::new(Prices::default(), 1.0, now(), Nanos::ZERO);
        let early = now();
        flow.read(&mut bill, |records| records.push(record(early, 1)));
        assert_eq!(flow.digest.records(), 0, "another CPU may tell of an earlier time");
        flow.read(&mut bill, |records| records.push(record(early, 2)));
        assert_eq!(flow.digest.records(), 2);
        flow.read(&mut bill, |records| records.push(record(now(), 3)));
        assert_eq!(flow.digest.records(), 2);
        assert_eq!(flow.end().records(), 3);
    }
}
