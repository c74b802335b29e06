//! Traffic over loopback, never over a real network.

use super::worker::Worker;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A packet on loopback that takes longer counts as lost.
const PATIENCE: Duration = Duration::from_millis(100);
/// Number of echoed packets per write to the stream.
const ECHOES: u32 = 16;

pub(super) fn run(worker: &Worker) -> io::Result<()> {
    let (asker, echoer) = udp_pair().map_err(|error| explain(&error))?;
    let (mut source, sink) = tcp_pair().map_err(|error| explain(&error))?;
    let block = vec![0x55_u8; 64 * 1024];
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| echo(worker, &echoer, &over));
        scope.spawn(|| drain(worker, sink));
        let outcome = talk(worker, &asker, &mut source, &block).map_err(|error| explain(&error));
        // Ends both helpers: one sees the end of its stream, the other one this flag.
        over.store(true, Ordering::Relaxed);
        let _ = source.shutdown(Shutdown::Both);
        outcome
    })
}

fn talk(worker: &Worker, asker: &UdpSocket, source: &mut TcpStream, block: &[u8]) -> io::Result<()> {
    let mut answer = [0_u8; 64];
    if ask(asker, &mut answer)? == 0 && ask(asker, &mut answer)? == 0 {
        return Err(io::Error::new(ErrorKind::TimedOut, "nothing comes back (a firewall?)"));
    }
    worker.work(|| {
        let mut done = 0;
        for _ in 0..ECHOES {
            done += ask(asker, &mut answer)?;
        }
        Ok(done + unless_late(source.write(block))?)
    })
}

/// Sends a packet and waits for the echo. Returns 1, or 0 if the packet was lost.
fn ask(asker: &UdpSocket, answer: &mut [u8]) -> io::Result<u64> {
    asker.send(&[0x55; 64])?;
    unless_late(asker.recv(answer))
}

fn echo(worker: &Worker, echoer: &UdpSocket, over: &AtomicBool) {
    let _ = worker.pin();
    let mut packet = [0_u8; 64];
    while !over.load(Ordering::Relaxed) {
        // An error means that no packet came; `ask` counts it as lost.
        if let Ok(length) = echoer.recv(&mut packet) {
            let _ = echoer.send(&packet[..length]);
        }
    }
}

fn drain(worker: &Worker, mut sink: TcpStream) {
    let _ = worker.pin();
    let mut bytes = vec![0_u8; 64 * 1024];
    while !matches!(sink.read(&mut bytes), Ok(0) | Err(_)) {}
}

fn udp_pair() -> io::Result<(UdpSocket, UdpSocket)> {
    let ends = (UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?, UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?);
    ends.0.connect(ends.1.local_addr()?)?;
    ends.1.connect(ends.0.local_addr()?)?;
    ends.0.set_read_timeout(Some(PATIENCE))?;
    ends.1.set_read_timeout(Some(PATIENCE))?;
    Ok(ends)
}

fn tcp_pair() -> io::Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let source = TcpStream::connect_timeout(&listener.local_addr()?, Duration::from_secs(1))?;
    let (sink, peer) = listener.accept()?;
    if peer != source.local_addr()? {
        return Err(io::Error::other("another program connected to our port"));
    }
    source.set_write_timeout(Some(PATIENCE))?;
    Ok((source, sink))
}

/// 1 if the operation was done, 0 if it reached its time limit.
fn unless_late(done: io::Result<usize>) -> io::Result<u64> {
    let is_late = |error: &io::Error| {
        matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
    };
    match done {
        Err(error) if !is_late(&error) => Err(error),
        done => Ok(u64::from(done.is_ok())),
    }
}

fn explain(error: &io::Error) -> io::Error {
    let text = format!("loopback (127.0.0.1) does not work: {error}; is it up (ip link set lo up)?");
    io::Error::new(error.kind(), text)
}
