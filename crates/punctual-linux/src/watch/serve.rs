//! Gives the figures of a watch to Prometheus: on a socket of this machine, or in a file that is replaced in one step.
//!
//! The server is one ordinary thread that sleeps until it is asked, and answers one caller at a time. It takes a lock that no
//! measuring thread ever takes.

use crate::result_file::replace;
use punctual_numbers::export::{OPEN_METRICS, PROTOBUF, Watching};
use std::fs;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How long a caller may take to ask, and to take the answer.
const PATIENCE: Duration = Duration::from_secs(2);
const REQUEST_MAX: usize = 8192;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A TCP socket, which must be one of this machine only.
    Tcp(SocketAddr),
    Unix(PathBuf),
    File(PathBuf),
}

/// The figures, which the watch updates and the server reads.
pub type Figures = Arc<Mutex<Watching>>;

/// Changes or reads the figures. A thread that panicked while it held them leaves them as they are.
pub fn with<T>(figures: &Figures, act: impl FnOnce(&mut Watching) -> T) -> T {
    act(&mut figures.lock().unwrap_or_else(PoisonError::into_inner))
}

/// The place, prepared before anything is measured.
pub struct Server {
    file: Option<PathBuf>,
    figures: Figures,
    /// The socket, which is removed at the end.
    socket: Option<PathBuf>,
}

impl Server {
    /// Opens the place and answers from now on, until the process ends.
    pub fn open(place: &Place, figures: &Figures) -> io::Result<Self> {
        let (mut file, mut socket) = (None, None);
        match place {
            Place::File(path) => {
                write(path, figures)?;
                file = Some(path.clone());
            }
            Place::Tcp(address) if !address.ip().is_loopback() => {
                let why = "it can be reached from other machines: give 127.0.0.1 or [::1], and let a proxy do the rest";
                return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
            }
            Place::Tcp(address) => {
                let listener = TcpListener::bind(address)?;
                let next = move || {
                    let (stream, _) = listener.accept()?;
                    stream.set_read_timeout(Some(PATIENCE))?;
                    stream.set_write_timeout(Some(PATIENCE))?;
                    Ok(stream)
                };
                answer(next, figures)?;
            }
            Place::Unix(path) => {
                let listener = bind(path)?;
                let next = move || {
                    let (stream, _) = listener.accept()?;
                    stream.set_read_timeout(Some(PATIENCE))?;
                    stream.set_write_timeout(Some(PATIENCE))?;
                    Ok(stream)
                };
                answer(next, figures)?;
                socket = Some(path.clone());
            }
        }
        Ok(Self { file, figures: Arc::clone(figures), socket })
    }

    /// Writes the file anew, if there is one.
    pub fn refresh(&self) -> io::Result<()> {
        self.file.as_ref().map_or(Ok(()), |path| write(path, &self.figures))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(path) = &self.socket {
            let _ = fs::remove_file(path);
        }
    }
}

fn write(path: &Path, figures: &Figures) -> io::Result<()> {
    let text = with(figures, |watching| watching.text());
    replace(path, text.as_bytes())
}

/// Binds a socket, also if a killed watch left its file behind.
fn bind(path: &Path) -> io::Result<UnixListener> {
    match UnixListener::bind(path) {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            let is_dead =
                UnixStream::connect(path).is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused);
            if !is_dead {
                return Err(error);
            }
            fs::remove_file(path)?;
            UnixListener::bind(path)
        }
        bound => bound,
    }
}

fn answer<S: Read + Write>(
    mut next: impl FnMut() -> io::Result<S> + Send + 'static,
    figures: &Figures,
) -> io::Result<()> {
    let figures = Arc::clone(figures);
    let serve = move || {
        loop {
            match next() {
                // A caller who went away is no reason to stop.
                Ok(mut stream) => {
                    let _ = reply(&mut stream, &figures);
                }
                // Out of files or memory for a moment: does not turn into a loop that costs a CPU.
                Err(_) => std::thread::sleep(PATIENCE),
            }
        }
    };
    std::thread::Builder::new().name("metrics".into()).stack_size(128 * 1024).spawn(serve).map(drop)
}

fn reply(stream: &mut (impl Read + Write), figures: &Figures) -> io::Result<()> {
    let mut request = Vec::new();
    let mut piece = [0; 1024];
    while !request.windows(4).any(|end| end == b"\r\n\r\n") && request.len() < REQUEST_MAX {
        match stream.read(&mut piece)? {
            0 => break,
            length => request.extend_from_slice(piece.get(..length).unwrap_or_default()),
        }
    }
    let request = String::from_utf8_lossy(&request);
    let head = |status: &str, kind: &str, length: usize| {
        format!("HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n")
    };
    if !request.starts_with("GET ") {
        return stream.write_all(head("405 Method Not Allowed", "text/plain", 0).as_bytes());
    }
    let asked = request.to_ascii_lowercase();
    let accepts = |kind: &str| asked.contains(kind);
    let (kind, body) = if accepts("proto=io.prometheus.client.metricfamily") {
        (PROTOBUF, with(figures, |watching| watching.messages()))
    } else {
        let is_open = accepts("application/openmetrics-text");
        let kind = if is_open { OPEN_METRICS } else { "text/plain; version=0.0.4; charset=utf-8" };
        (kind, with(figures, |watching| watching.text()).into_bytes())
    };
    stream.write_all(head("200 OK", kind, body.len()).as_bytes())?;
    stream.write_all(&body)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(stream: &mut (impl Read + Write), request: &str) -> String {
        stream.write_all(request.as_bytes()).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn a_socket_answers_and_one_left_behind_is_taken_over() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("it's metrics.sock");
        drop(UnixListener::bind(&path).unwrap());
        let figures = Figures::default();
        let server = Server::open(&Place::Unix(path.clone()), &figures).unwrap();
        let second = Server::open(&Place::Unix(path.clone()), &figures);
        assert_eq!(second.err().map(|error| error.kind()), Some(io::ErrorKind::AddrInUse));
        let mut stream = UnixStream::connect(&path).unwrap();
        let text =
            ask(&mut stream, "GET /metrics HTTP/1.1\r\nAccept: application/openmetrics-text;version=1.0.0\r\n\r\n");
        assert!(
            text.starts_with("HTTP/1.1 200 OK\r\n") && text.contains(OPEN_METRICS) && text.ends_with("# EOF\n"),
            "{text}"
        );
        let request = format!("GET /metrics HTTP/1.1\r\nAccept: {PROTOBUF};q=0.7,text/plain;q=0.3\r\n\r\n");
        let mut stream = UnixStream::connect(&path).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let body = answer.windows(4).position(|end| end == b"\r\n\r\n").unwrap() + 4;
        assert!(String::from_utf8_lossy(&answer[..body]).contains(PROTOBUF));
        assert_eq!(&answer[body..], with(&figures, |watching| watching.messages()));
        let refused = ask(&mut UnixStream::connect(&path).unwrap(), "POST / HTTP/1.1\r\n\r\n");
        assert!(refused.starts_with("HTTP/1.1 405"), "{refused}");
        drop(UnixStream::connect(&path).unwrap());
        drop(server);
        assert!(!path.exists());
    }

    #[test]
    fn other_machines_are_refused_and_a_file_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let figures = Figures::default();
        let open = |place: Place| Server::open(&place, &figures);
        let refused = open(Place::Tcp("0.0.0.0:0".parse().unwrap())).err().unwrap().to_string();
        assert!(refused.contains("127.0.0.1"), "{refused}");
        assert!(open(Place::Tcp("[::1]:0".parse().unwrap())).is_ok() || !Path::new("/proc/net/if_inet6").exists());
        let path = dir.path().join("watch.prom");
        let server = open(Place::File(path.clone())).unwrap();
        with(&figures, |watching| watching.actions = 3);
        server.refresh().unwrap();
        assert!(fs::read_to_string(&path).unwrap().contains("punctual_watch_actions_total 3\n"));
        assert!(open(Place::File(dir.path().join("no folder/watch.prom"))).is_err());
    }
}
