//! `--live`: a running measurement, or the inspection of a program, on a terminal, with keys.
//!
//! A separate thread draws and reads keys, so that a terminal that takes no output (after Ctrl-S, or over a hanging
//! connection) delays no other thread. The housekeeping thread starts this thread on its own CPUs. The two threads
//! exchange data through queues on which neither of them waits. Before the program ends for any reason, the terminal is
//! restored.

mod inspection;
mod keys;
mod picture;
mod screen;
mod terminal;
#[cfg(test)]
mod tests;
mod view;

use anyhow::{Context, Result};
pub use inspection::InspectionView;
use keys::Keys;
use picture::{Picture, Wish};
use punctual_hist::MonoTime;
use punctual_linux::interrupt::Signals;
use screen::Screen;
use std::panic::{set_hook, take_hook};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, SyncSender, TryRecvError, channel, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use terminal::Terminal;
use view::View;

/// Longest time until a key, a signal or news is noticed.
const TICK: Duration = Duration::from_millis(100);
/// Shortest time between two pictures: at most five a second are drawn.
const BETWEEN_PICTURES: Duration = Duration::from_millis(200);
/// Capacity of the queue of news, in messages. If the queue is full, a message is dropped: the next progress holds
/// newer values.
const QUEUE: usize = 16;
/// Size of the drawing thread's stack, in bytes. The thread needs little, and `mlockall` keeps the whole stack in memory
/// and counts it against `RLIMIT_MEMLOCK`.
const STACK: usize = 256 * 1024;

/// A note for the recording, and the instant it belongs to.
pub type Note = (MonoTime, String);

enum News<N> {
    Of(Box<N>),
    Say(String),
}

/// The housekeeping thread's side of the live view of a measurement, or of something else.
pub struct Live<P: Picture = View> {
    interrupted: Arc<AtomicBool>,
    /// State for the drawing thread; `None` once the thread has been started with it.
    waiting: Option<Painter<P>>,
    drawing: Option<JoinHandle<()>>,
    news: Option<SyncSender<News<P::News>>>,
    notes: Receiver<Note>,
    /// Messages that are printed again after the view is closed.
    said: Vec<String>,
}

impl<P: Picture> Live<P> {
    /// Opens the terminal and installs signal handlers. Nothing is drawn before [`Live::begin`].
    ///
    /// # Errors
    /// Fails if no terminal can be used or a signal handler cannot be installed.
    pub fn open() -> Result<Self> {
        let terminal = Arc::new(Terminal::open()?);
        let signals = Signals::catch().context("install signal handlers")?;
        let interrupted = signals.interrupted();
        let (news, incoming) = sync_channel(QUEUE);
        let (outgoing, notes) = channel();
        let painter = Painter {
            terminal,
            signals,
            news: incoming,
            notes: outgoing,
            view: P::default(),
            keys: Keys::default(),
            screen: Screen::default(),
            dirty: true,
            marks: 0,
            ending: false,
        };
        Ok(Self { interrupted, waiting: Some(painter), drawing: None, news: Some(news), notes, said: Vec::new() })
    }

    /// The flag that ends the measurement when it is set.
    pub fn interrupted(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.interrupted)
    }

    /// Starts the drawing thread, on the CPUs of the calling thread. If it cannot be started, the run goes on without a
    /// view.
    pub fn begin(&mut self) {
        let Some(painter) = self.waiting.take() else { return };
        let thread = thread::Builder::new().name("live-view".to_owned()).stack_size(STACK);
        match thread.spawn(move || painter.run()) {
            Ok(thread) => self.drawing = Some(thread),
            Err(error) => self.said.push(format!("the view could not be started: {error}")),
        }
    }

    pub fn show(&self, news: &P::News) {
        self.tell(News::Of(Box::new(news.clone())));
    }

    pub fn say(&mut self, text: &str) {
        self.said.push(text.to_owned());
        self.tell(News::Say(text.to_owned()));
    }

    /// The notes that were made since the last call.
    pub fn notes(&self) -> Vec<Note> {
        self.notes.try_iter().collect()
    }

    /// Closes the view and prints the messages that it showed.
    pub fn close(&mut self) {
        self.put_back();
        self.said.drain(..).for_each(|text| super::say(&text));
    }

    fn tell(&self, news: News<P::News>) {
        if let Some(queue) = &self.news {
            // If the queue is full, the view is behind. The message may be dropped, because the next progress holds
            // newer values.
            let _ = queue.try_send(news);
        }
    }

    fn put_back(&mut self) {
        // The thread ends when the sending end of its queue is dropped.
        self.news = None;
        if let Some(Err(panic)) = self.drawing.take().map(JoinHandle::join) {
            let why = panic.downcast_ref::<String>().cloned().unwrap_or_default();
            self.said.push(format!("the view failed, the measurement did not: {why}"));
        }
    }
}

impl<P: Picture> Drop for Live<P> {
    fn drop(&mut self) {
        self.put_back();
    }
}

/// The drawing thread's side of the live view.
struct Painter<P: Picture> {
    terminal: Arc<Terminal>,
    signals: Signals,
    news: Receiver<News<P::News>>,
    notes: Sender<Note>,
    view: P,
    keys: Keys,
    screen: Screen,
    dirty: bool,
    marks: u32,
    ending: bool,
}

impl<P: Picture> Painter<P> {
    fn run(mut self) {
        let abandoned = put_back_on_panic(&self.terminal);
        self.enter();
        let mut last_picture: Option<Instant> = None;
        loop {
            if self.terminal.is_ours_to_use() {
                self.terminal.wait(!self.screen.is_idle(), TICK);
                self.read_keys();
            } else {
                // A process in the background would be stopped if it read from the terminal, and would disturb the
                // foreground process if it drew.
                self.terminal.leave();
                thread::sleep(TICK);
            }
            if abandoned.load(Relaxed) || !self.read_news() {
                break;
            }
            self.heed_signals();
            let due = last_picture.is_none_or(|at| at.elapsed() >= BETWEEN_PICTURES);
            if self.dirty && due && self.screen.is_idle() {
                last_picture = Some(Instant::now());
                self.dirty = false;
                let (columns, rows) = self.terminal.size();
                self.screen.show(self.view.lines(columns, rows));
            }
            self.screen.flush(|bytes| self.terminal.write(bytes));
        }
        self.terminal.leave();
        self.signals.let_go();
    }

    /// Takes the terminal over if this process is in the foreground.
    fn enter(&mut self) {
        if self.terminal.is_ours_to_use() {
            self.screen.begin(self.terminal.enter());
            self.dirty = true;
        }
    }

    /// Reads all news from the queue; `false` if its sending end was dropped.
    fn read_news(&mut self) -> bool {
        loop {
            match self.news.try_recv() {
                Ok(News::Of(news)) => self.view.take(*news),
                Ok(News::Say(text)) => self.view.say(&text),
                Err(TryRecvError::Empty) => return true,
                Err(TryRecvError::Disconnected) => return false,
            }
            self.dirty = true;
        }
    }

    fn read_keys(&mut self) {
        let bytes = self.terminal.read();
        if bytes.is_empty() {
            return self.keys.pause();
        }
        for key in self.keys.read(&bytes) {
            match self.view.press(key) {
                Some(Wish::Mark) => self.mark(),
                Some(Wish::Quit) => self.end(),
                Some(Wish::Redraw) => self.screen.begin(b"\x1b[2J"),
                None => {}
            }
        }
        self.dirty = true;
    }

    fn mark(&mut self) {
        self.marks += 1;
        self.note(format!("mark {}, set by hand", self.marks));
        self.view.say(&format!("mark {} is in the recording", self.marks));
    }

    fn note(&self, text: String) {
        // The error is ignored: nobody reads notes after the run has ended.
        let _ = self.notes.send((punctual_linux::measure::now(), text));
    }

    fn end(&mut self) {
        self.ending = true;
        self.view.end();
        self.signals.interrupted().store(true, Relaxed);
    }

    fn heed_signals(&mut self) {
        if let Some(signal) = self.signals.take_ending() {
            if std::mem::replace(&mut self.ending, true) {
                self.terminal.leave();
                self.signals.end_by(signal);
            }
            self.view.end();
            self.dirty = true;
        }
        if self.signals.take_stop() {
            self.terminal.leave();
            self.note("stopped by a signal (Ctrl-Z): what was due until it went on is late because of that".to_owned());
            self.signals.stop_here();
            self.note("went on after it was stopped".to_owned());
        }
        // SIGSTOP cannot be caught, so another program may have changed the terminal although no signal was seen.
        if self.signals.take_resumed() || self.was_given_back() {
            self.enter();
        } else if self.signals.take_resized() {
            self.screen.begin(b"\x1b[2J");
            self.dirty = true;
        }
    }

    fn was_given_back(&self) -> bool {
        !self.terminal.is_taken() && self.terminal.is_ours_to_use()
    }
}

/// Makes a panic of any thread restore the terminal, so that the panic's message can be read. Returns the flag that
/// such a panic sets; the view ends when it is set.
fn put_back_on_panic(terminal: &Arc<Terminal>) -> Arc<AtomicBool> {
    let abandoned = Arc::new(AtomicBool::new(false));
    let (terminal, flag) = (Arc::downgrade(terminal), Arc::clone(&abandoned));
    let before = take_hook();
    set_hook(Box::new(move |panic| {
        flag.store(true, Relaxed);
        if let Some(terminal) = terminal.upgrade() {
            terminal.leave();
        }
        before(panic);
    }));
    abandoned
}
