#!/usr/bin/env python3
"""A loop of 1 kHz in Python with one planted defect: clean, malloc, printf or sleep.

Usage: loop.py KIND EVERY CYCLES, where EVERY says in which cycles the defect comes: in every tenth, for example.
"""

import ctypes
import mmap
import sys

PERIOD_NS = 1_000_000
BLOCK = 1 << 20
CLOCK_MONOTONIC, TIMER_ABSTIME = 1, 1


class Timespec(ctypes.Structure):
    _fields_ = [("tv_sec", ctypes.c_long), ("tv_nsec", ctypes.c_long)]


libc = ctypes.CDLL(None)


def planted_malloc():
    mmap.mmap(-1, BLOCK).close()


def planted_print():
    print("cycle", flush=True)


def planted_sleep():
    return libc.clock_nanosleep(CLOCK_MONOTONIC, 0, ctypes.byref(Timespec(0, 50_000)), None)


def main():
    kind, every, cycles = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    defects = {"clean": None, "malloc": planted_malloc, "printf": planted_print, "sleep": planted_sleep}
    defect = defects[kind]
    now = Timespec()
    libc.clock_gettime(CLOCK_MONOTONIC, ctypes.byref(now))
    due = now.tv_sec * 10**9 + now.tv_nsec
    for cycle in range(cycles):
        due += PERIOD_NS
        until = Timespec(due // 10**9, due % 10**9)
        libc.clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, ctypes.byref(until), None)
        if defect and cycle % every == every - 1:
            defect()


main()
