//! Packets on a loopback of our own, received on the CPU that is to be late. Nobody else's network is touched.

use super::{Noted, Planting, Stop, jitter, notes};
use crate::sys;
use crate::truth::Plant;
use anyhow::{Context, Result, ensure};
use rustix::net::{AddressFamily, SocketAddrV4, SocketType, bind, socket, sockopt};
use std::net::{Ipv4Addr, UdpSocket};

/// A few packets at a time, sent on the CPU itself, so that they are received there.
pub fn packets(planting: &Planting, stop: &Stop) -> Result<()> {
    sys::own_network()?;
    sys::loopback_up()?;
    sys::pin(planting.cpu)?;
    let receiver = UdpSocket::bind("127.0.0.1:0").context("open a socket on the loopback")?;
    let to = receiver.local_addr().context("ask for an address")?;
    let sender = UdpSocket::bind("127.0.0.1:0").context("open a socket on the loopback")?;
    while !stop.asked() {
        // Nobody reads: what does not fit is dropped after it was received, which is all that is wanted.
        let _ = sender.send_to(&[0; 64], to);
        sys::sleep_until(sys::now_ns() + planting.every_ns / 4);
    }
    Ok(())
}

/// A group of our own network.
const GROUP: Ipv4Addr = Ipv4Addr::new(239, 255, 0, 1);
const PORT: u16 = 9999;
/// So many receivers are added at a time, until they take long enough; and at most so many.
const STEP: usize = 16;
const MOST: usize = 500;

/// One packet to a group of many sockets: it is received by all of them in one softirq. The sender ranks below the
/// measuring thread; a plant is the time that sending took, nearly all of which is the softirq.
pub fn flood(planting: &Planting, stop: &Stop) -> Result<Vec<Plant>> {
    sys::own_network()?;
    sys::loopback_up()?;
    sys::pin(planting.cpu)?;
    sys::make_real_time(sys::Policy::Fifo(1))?;
    let sender = UdpSocket::bind("127.0.0.1:0").context("open a socket on the loopback")?;
    let mut receivers = Vec::new();
    let send = || {
        let start_ns = sys::now_ns();
        let sent = sender.send_to(&[0; 64], (GROUP, PORT));
        sent.map(|_| Noted { start_ns, end_ns: sys::now_ns(), gaps_ns: 0 }).context("send to a group")
    };
    let took = || send().map(|noted| noted.end_ns - noted.start_ns);
    let mut shortest = 0;
    while shortest < planting.burst_ns && receivers.len() < MOST {
        for _ in 0..STEP {
            receivers.push(receiver()?);
        }
        shortest = took()?.min(took()?).min(took()?);
    }
    ensure!(shortest * 2 > planting.burst_ns, "packets to a group are not received, or too fast: {shortest} ns");
    let mut noted = notes();
    let mut random = sys::now_ns() | 1;
    while !stop.asked() && noted.len() < noted.capacity() {
        noted.push(send()?);
        sys::sleep_until(sys::now_ns() + jitter(&mut random, planting.every_ns));
    }
    Ok(planting.plants("NET_RX", &noted))
}

/// Takes part in the group, looks at each packet for long, and drops it.
fn receiver() -> Result<UdpSocket> {
    let new = socket(AddressFamily::INET, SocketType::DGRAM, None).context("open a socket")?;
    sockopt::set_socket_reuseaddr(&new, true).context("share an address")?;
    bind(&new, &SocketAddrV4::new(GROUP, PORT)).context("take the address of a group")?;
    sys::drop_slowly(&new)?;
    let new = UdpSocket::from(new);
    new.join_multicast_v4(&GROUP, &Ipv4Addr::LOCALHOST).context("join a group")?;
    Ok(new)
}
