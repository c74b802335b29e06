//! Packets on a loopback of our own, received on the CPU that is to be late. Nobody else's network is touched.

use super::stimulus::another;
use super::{Planting, Stop, jitter};
use crate::sys;
use crate::truth::Plant;
use anyhow::{Context, Result};
use std::net::{SocketAddr, UdpSocket};

/// A few packets at a time, sent on the CPU itself, so that they are received there.
pub fn packets(planting: &Planting, stop: &Stop) -> Result<()> {
    sys::own_network()?;
    sys::loopback_up()?;
    sys::pin(planting.cpu)?;
    let (sender, to, _receiver) = sockets()?;
    while !stop.asked() {
        // Nobody reads: what does not fit is dropped after it was received, which is all that is wanted.
        let _ = sender.send_to(&[0; 64], to);
        sys::sleep_until(sys::now_ns() + planting.every_ns / 4);
    }
    Ok(())
}

/// Bursts of packets from another CPU, which the loopback is told to receive on this one.
pub fn flood(planting: &Planting, stop: &Stop) -> Result<Vec<Plant>> {
    sys::own_network()?;
    sys::loopback_up()?;
    steer(planting.cpu).context("have packets received on the CPU")?;
    sys::pin(another(planting.cpu))?;
    let (sender, to, _receiver) = sockets()?;
    let mut plants = Vec::with_capacity(1 << 16);
    let mut random = sys::now_ns() | 1;
    while !stop.asked() && plants.len() < plants.capacity() {
        let start_ns = sys::now_ns();
        while sys::now_ns() < start_ns + planting.burst_ns {
            let _ = sender.send_to(&[0; 64], to);
        }
        // What has been queued by now is received within about as long again.
        plants.push(planting.plant("NET_RX", start_ns, sys::now_ns() + planting.burst_ns));
        sys::sleep_until(sys::now_ns() + planting.burst_ns + jitter(&mut random, planting.every_ns));
    }
    Ok(plants)
}

fn sockets() -> Result<(UdpSocket, SocketAddr, UdpSocket)> {
    let receiver = UdpSocket::bind("127.0.0.1:0").context("open a socket on the loopback")?;
    let sender = UdpSocket::bind("127.0.0.1:0").context("open a socket on the loopback")?;
    Ok((sender, receiver.local_addr().context("ask for an address")?, receiver))
}

/// The settings of the loopback of this namespace are seen through a file system of its own.
fn steer(cpu: u32) -> Result<()> {
    use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
    let place = "/sys";
    mount_change("/", MountPropagationFlags::REC | MountPropagationFlags::PRIVATE)
        .context("keep mounts to ourselves")?;
    mount("sysfs", place, "sysfs", MountFlags::empty(), None).with_context(|| format!("mount sysfs at {place}"))?;
    // Groups of 32 CPUs, the highest first.
    let groups = cpu / 32;
    let mask = std::iter::once(format!("{:x}", 1_u32 << (cpu % 32)));
    let mask: Vec<String> = mask.chain((0..groups).map(|_| "00000000".to_owned())).collect();
    std::fs::write("/sys/class/net/lo/queues/rx-0/rps_cpus", mask.join(",")).context("write rps_cpus")
}
