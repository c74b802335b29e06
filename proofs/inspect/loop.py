#!/usr/bin/env python3
"""A loop of 1 kHz in Python with one planted defect, as in loop.c.

Usage: loop.py KIND EVERY CYCLES, where EVERY says in which cycles the defect comes: in every tenth, for example.
"""

import ctypes
import mmap
import os
import sys
import threading
import time

PERIOD_NS = 1_000_000
BLOCK = 1 << 20
PAGE = 4096
CLOCK_MONOTONIC, TIMER_ABSTIME = 1, 1


class Timespec(ctypes.Structure):
    _fields_ = [("tv_sec", ctypes.c_long), ("tv_nsec", ctypes.c_long)]


class Itimerspec(ctypes.Structure):
    _fields_ = [("interval", Timespec), ("value", Timespec)]


libc = ctypes.CDLL(None)
kind, every, cycles = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
fresh = mmap.mmap(-1, PAGE * (cycles + 1)) if kind == "fault" else None
touched = 0
lock = ctypes.create_string_buffer(64)  # A pthread_mutex_t of zeroes is initialised.
question, answer = os.pipe(), os.pipe()


def planted_malloc():
    mmap.mmap(-1, BLOCK).close()


def planted_fault():
    global touched
    fresh[touched * PAGE] = 1
    touched += 1


def planted_lock():
    libc.pthread_mutex_lock(lock)
    libc.pthread_mutex_unlock(lock)


def planted_server():
    os.write(question[1], b"?")
    os.read(answer[0], 1)


def planted_sleep():
    return libc.clock_nanosleep(CLOCK_MONOTONIC, 0, ctypes.byref(Timespec(0, 50_000)), None)


def planted_print():
    print("cycle", flush=True)


def planted_migration():
    # The C library is called, because Python's own function makes more system calls.
    mask = ctypes.c_ulong(2 if libc.sched_getcpu() == 0 else 1)
    libc.sched_setaffinity(0, ctypes.sizeof(mask), ctypes.byref(mask))


def holder():
    """Holds the lock for most of the time, so that the loop finds it held."""
    while True:
        libc.pthread_mutex_lock(lock)
        libc.usleep(300)
        libc.pthread_mutex_unlock(lock)
        libc.usleep(300)


def server():
    while os.read(question[0], 1):
        os.write(answer[1], b"!")


def main():
    defects = {
        "malloc": planted_malloc,
        "fault": planted_fault,
        "lock": planted_lock,
        "server": planted_server,
        "sleep": planted_sleep,
        "printf": planted_print,
        "migration": planted_migration,
        "clean": None,
        "relative": None,
        "timerfd": None,
    }
    defect = defects[kind]
    others = {"lock": holder, "server": server}
    if kind in others:
        threading.Thread(target=others[kind], daemon=True).start()
    timer = libc.timerfd_create(CLOCK_MONOTONIC, 0)
    due = time.monotonic_ns()
    if kind == "timerfd":
        millisecond = Timespec(0, PERIOD_NS)
        first = Timespec((due + PERIOD_NS) // 10**9, (due + PERIOD_NS) % 10**9)
        libc.timerfd_settime(timer, TIMER_ABSTIME, ctypes.byref(Itimerspec(millisecond, first)), None)
    if kind != "relative" and "LOOP_RECORD" in os.environ:
        # When the first cycle is released. The others follow a millisecond apart, whatever happens to the loop.
        with open(os.environ["LOOP_RECORD"], "w") as record:
            print(due + PERIOD_NS, file=record)
    length = Timespec(0, PERIOD_NS)
    for cycle in range(cycles):
        if kind == "timerfd":
            os.read(timer, 8)
        elif kind == "relative":
            libc.clock_nanosleep(CLOCK_MONOTONIC, 0, ctypes.byref(length), None)
        else:
            due += PERIOD_NS
            until = Timespec(due // 10**9, due % 10**9)
            libc.clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, ctypes.byref(until), None)
        if defect and cycle % every == every - 1:
            defect()


main()
