//! Names and purposes of this machine's system calls.

use punctual_numbers::inspect::{Call, CallKind};

macro_rules! calls {
    ($($kind:ident: $($name:ident $number:ident),+;)+) => {
        &[$($((libc::$number, stringify!($name), CallKind::$kind)),+),+]
    };
}

/// System calls of every architecture. Others have only a number.
const EVERYWHERE: &[(libc::c_long, &str, CallKind)] = calls! {
    ClockSleep: clock_nanosleep SYS_clock_nanosleep;
    Sleep: nanosleep SYS_nanosleep;
    Futex: futex SYS_futex;
    Epoll: epoll_pwait SYS_epoll_pwait, epoll_pwait2 SYS_epoll_pwait2;
    Poll: ppoll SYS_ppoll, pselect6 SYS_pselect6;
    Read: read SYS_read, readv SYS_readv, recvfrom SYS_recvfrom, recvmsg SYS_recvmsg, recvmmsg SYS_recvmmsg,
        pread64 SYS_pread64;
    SignalWait: rt_sigtimedwait SYS_rt_sigtimedwait;
    TimerSet: timerfd_settime SYS_timerfd_settime;
    Write: write SYS_write, writev SYS_writev, pwrite64 SYS_pwrite64, sendto SYS_sendto, sendmsg SYS_sendmsg,
        sendmmsg SYS_sendmmsg, fsync SYS_fsync, fdatasync SYS_fdatasync, sendfile SYS_sendfile;
    Memory: munmap SYS_munmap, brk SYS_brk, mprotect SYS_mprotect, madvise SYS_madvise,
        mremap SYS_mremap, mlock SYS_mlock, mlockall SYS_mlockall;
    Program: execve SYS_execve, execveat SYS_execveat;
    Other: openat SYS_openat, statx SYS_statx, getdents64 SYS_getdents64, close SYS_close, ioctl SYS_ioctl,
        fcntl SYS_fcntl, lseek SYS_lseek, fstat SYS_fstat,
        clock_gettime SYS_clock_gettime, gettimeofday SYS_gettimeofday, getpid SYS_getpid, gettid SYS_gettid,
        getppid SYS_getppid, sched_yield SYS_sched_yield, sched_setscheduler SYS_sched_setscheduler,
        sched_setaffinity SYS_sched_setaffinity, sched_getaffinity SYS_sched_getaffinity, sched_setattr SYS_sched_setattr,
        getcpu SYS_getcpu, getrusage SYS_getrusage, rt_sigprocmask SYS_rt_sigprocmask, rt_sigaction SYS_rt_sigaction,
        rt_sigreturn SYS_rt_sigreturn, tgkill SYS_tgkill, kill SYS_kill,
        timer_settime SYS_timer_settime, epoll_ctl SYS_epoll_ctl, clone SYS_clone, clone3 SYS_clone3,
        exit SYS_exit, exit_group SYS_exit_group, wait4 SYS_wait4, prctl SYS_prctl, getrandom SYS_getrandom,
        restart_syscall SYS_restart_syscall, rseq SYS_rseq, uname SYS_uname, setpriority SYS_setpriority,
        eventfd2 SYS_eventfd2, timerfd_create SYS_timerfd_create, socket SYS_socket, connect SYS_connect;
};

/// System calls of all architectures of 64 bits.
#[cfg(target_pointer_width = "64")]
const WIDTH: &[(libc::c_long, &str, CallKind)] = calls! {
    Memory: mmap SYS_mmap;
    Other: newfstatat SYS_newfstatat;
};
/// System calls of architectures of 32 bits. Those whose times have 64 bits are newer than the others, and have the same
/// numbers everywhere.
#[cfg(target_pointer_width = "32")]
const WIDTH: &[(libc::c_long, &str, CallKind)] = &[
    (libc::SYS_mmap2, "mmap2", CallKind::Memory),
    (libc::SYS_fstatat64, "fstatat64", CallKind::Other),
    (libc::SYS_fstat64, "fstat64", CallKind::Other),
    (libc::SYS_fcntl64, "fcntl64", CallKind::Other),
    (libc::SYS__llseek, "_llseek", CallKind::Other),
    (403, "clock_gettime64", CallKind::Other),
    (407, "clock_nanosleep_time64", CallKind::ClockSleep),
    (409, "timer_settime64", CallKind::Other),
    (411, "timerfd_settime64", CallKind::TimerSet),
    (413, "pselect6_time64", CallKind::Poll),
    (414, "ppoll_time64", CallKind::Poll),
    (417, "recvmmsg_time64", CallKind::Read),
    (421, "rt_sigtimedwait_time64", CallKind::SignalWait),
    (422, "futex_time64", CallKind::Futex),
];

/// System calls that only older architectures have.
#[cfg(target_arch = "x86_64")]
const ALSO: &[(libc::c_long, &str, CallKind)] = calls! {
    Epoll: epoll_wait SYS_epoll_wait;
    Poll: poll SYS_poll, select SYS_select;
    Other: open SYS_open, stat SYS_stat, pause SYS_pause, fork SYS_fork, vfork SYS_vfork, time SYS_time;
};
#[cfg(not(target_arch = "x86_64"))]
const ALSO: &[(libc::c_long, &str, CallKind)] = &[];

pub fn calls() -> Vec<Call> {
    let call = |(number, name, kind): &(libc::c_long, &'static str, CallKind)| {
        Some(Call { number: u32::try_from(*number).ok()?, name, kind: *kind })
    };
    EVERYWHERE.iter().chain(WIDTH).chain(ALSO).filter_map(call).collect()
}

/// Numbers of the calls that loops usually wait in, and in which the place in the program is of no interest.
pub fn waits(calls: &[Call]) -> Vec<u32> {
    let is_wait = |call: &&Call| matches!(call.kind, CallKind::ClockSleep | CallKind::Epoll | CallKind::Poll);
    calls.iter().filter(is_wait).map(|call| call.number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_call_has_one_name_and_the_waits_are_among_them() {
        let calls = calls();
        let numbers: BTreeSet<u32> = calls.iter().map(|call| call.number).collect();
        assert_eq!(numbers.len(), calls.len());
        let sleep = u32::try_from(libc::SYS_clock_nanosleep).unwrap();
        assert!(waits(&calls).contains(&sleep) && !waits(&calls).contains(&u32::try_from(libc::SYS_read).unwrap()));
    }
}
