//! Syncs a file to the disk without making its writer wait. Under an I/O load syncing takes seconds, and the thread
//! that writes recordings also watches the clocks.
//!
//! Written data survives the end of the process in any case. Only the end of the machine loses data that is not yet
//! synced.

use std::fs::File;
use std::io;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// Syncs one file in a thread of its own, on the CPUs of the thread that creates it.
#[derive(Debug)]
pub struct Syncer {
    wanted: Option<SyncSender<()>>,
    failure: Arc<Mutex<Option<io::Error>>>,
    thread: Option<JoinHandle<()>>,
}

impl Syncer {
    pub fn new(file: &File) -> io::Result<Self> {
        let file = file.try_clone()?;
        // One request may wait while another is being served; it covers everything written until its turn.
        let (wanted, requests) = sync_channel(1);
        let failure = Arc::new(Mutex::new(None));
        let shared = Arc::clone(&failure);
        let thread = std::thread::Builder::new().name("sync".into()).spawn(move || serve(&file, &requests, &shared))?;
        Ok(Self { wanted: Some(wanted), failure, thread: Some(thread) })
    }

    /// Requests a sync without waiting. If an earlier sync failed, its error is returned here, once.
    pub fn request(&self) -> io::Result<()> {
        if let Some(wanted) = &self.wanted {
            if let Err(TrySendError::Disconnected(())) = wanted.try_send(()) {
                return Err(io::Error::other("the thread that syncs has ended"));
            }
        }
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).take().map_or(Ok(()), Err)
    }

    /// Waits until all requests are served. Returns the first error that no call of `request` has returned yet.
    pub fn wait(mut self) -> io::Result<()> {
        self.wanted = None;
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            return Err(io::Error::other("the thread that syncs has panicked"));
        }
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).take().map_or(Ok(()), Err)
    }
}

fn serve(file: &File, requests: &Receiver<()>, failure: &Mutex<Option<io::Error>>) {
    while requests.recv().is_ok() {
        if let Err(error) = file.sync_data() {
            failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_asked_for_is_done_when_waited_for() {
        let syncer = Syncer::new(&tempfile::tempfile().unwrap()).unwrap();
        (0..100).for_each(|_| syncer.request().unwrap());
        syncer.wait().unwrap();
    }

    #[test]
    fn a_file_that_cannot_be_synced_is_said() {
        let (read, _write) = rustix::pipe::pipe().unwrap();
        let syncer = Syncer::new(&File::from(read)).unwrap();
        // The sync may have failed before the request returns.
        let told = syncer.request().and_then(|()| syncer.wait());
        assert!(told.is_err());
    }
}
