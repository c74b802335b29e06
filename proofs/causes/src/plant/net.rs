//! Packets on a loopback interface in a network namespace of our own, received on the CPU that should be late. No other
//! network is touched.

use super::{Noted, Planting, Stop, another, jitter, notes};
use crate::sys;
use crate::truth::Plant;
use anyhow::{Context, Result, ensure};
use rustix::net::{AddressFamily, SocketAddrV4, SocketType, bind, socket, sockopt};
use std::net::{Ipv4Addr, UdpSocket};

/// Sends a packet at a time on the CPU itself, so that it is also received there.
pub fn packets(planting: &Planting, stop: &Stop) -> Result<()> {
    sys::own_network()?;
    sys::loopback_up()?;
    sys::pin(planting.cpu)?;
    let receiver = UdpSocket::bind("127.0.0.1:0").context("open a socket on the loopback")?;
    let to = receiver.local_addr().context("ask for an address")?;
    let sender = UdpSocket::bind("127.0.0.1:0").context("open a socket on the loopback")?;
    while !stop.asked() {
        // Nothing reads the packets. Those that do not fit into the buffer are dropped after they were received, which
        // suffices here.
        let _ = sender.send_to(&[0; 64], to);
        sys::sleep_until(sys::now_ns() + planting.every_ns / 4);
    }
    Ok(())
}

/// A multicast group in our own network.
const GROUP: Ipv4Addr = Ipv4Addr::new(239, 255, 0, 1);
const PORT: u16 = 9999;
/// Shortest time to receive a packet. It is longer than sending one takes, so that packets pile up.
const PACKET_NS: u64 = 15_000;
/// Number of receivers that are added (`STEP`) until receiving a packet takes long enough, and their largest number
/// (`MOST`).
const STEP: usize = 2;
const MOST: usize = 64;

/// Sends dozens of packets at once from another CPU, which hands each to the measured one. Interrupts and softirqs
/// follow one another there until all packets are received. A plant lasts as long as receiving all of them takes.
pub fn flood(planting: &Planting, stop: &Stop) -> Result<Vec<Plant>> {
    sys::own_network()?;
    sys::loopback_up()?;
    sys::pin(planting.cpu)?;
    let sender = UdpSocket::bind("127.0.0.1:0").context("open a socket on the loopback")?;
    let send = || sender.send_to(&[0; 64], (GROUP, PORT)).context("send to a group");
    let mut receivers = Vec::new();
    let mut each_ns = 0;
    // Before packets are handed to another CPU, the sender receives them itself, so the time of sending includes that
    // of receiving.
    while each_ns < PACKET_NS && receivers.len() < MOST {
        for _ in 0..STEP {
            receivers.push(receiver()?);
        }
        each_ns = shortest(&send)?;
    }
    ensure!(each_ns >= PACKET_NS, "packets to a group are not received, or too fast: {each_ns} ns");
    sys::steer_loopback(planting.cpu)?;
    sys::pin(another(planting.cpu))?;
    sys::make_real_time(sys::Policy::Fifo(1))?;
    let packets = (planting.burst_ns / each_ns).max(1);
    let mut noted = notes();
    let mut random = sys::now_ns() | 1;
    while !stop.asked() && noted.len() < noted.capacity() {
        let start_ns = sys::now_ns();
        for _ in 0..packets {
            send()?;
        }
        noted.push(Noted { start_ns, end_ns: sys::now_ns().max(start_ns + packets * each_ns), gaps_ns: 0 });
        sys::sleep_until(sys::now_ns() + jitter(&mut random, planting.every_ns));
    }
    Ok(planting.plants("NET_RX", &noted))
}

/// The shortest of five times that sending a packet takes, in nanoseconds.
fn shortest(send: &impl Fn() -> Result<usize>) -> Result<u64> {
    let mut least = u64::MAX;
    for _ in 0..5 {
        let start_ns = sys::now_ns();
        send()?;
        least = least.min(sys::now_ns() - start_ns);
    }
    Ok(least)
}

/// Opens a socket that joins the group, filters each packet for a long time, and drops it.
fn receiver() -> Result<UdpSocket> {
    let new = socket(AddressFamily::INET, SocketType::DGRAM, None).context("open a socket")?;
    sockopt::set_socket_reuseaddr(&new, true).context("share an address")?;
    bind(&new, &SocketAddrV4::new(GROUP, PORT)).context("take the address of a group")?;
    sys::drop_slowly(&new)?;
    let new = UdpSocket::from(new);
    new.join_multicast_v4(&GROUP, &Ipv4Addr::LOCALHOST).context("join a group")?;
    Ok(new)
}
