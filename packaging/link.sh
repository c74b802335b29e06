#!/bin/sh
# Links a program of the packages as $PUNCTUAL_LINKER does, but without the tables for unwinding of our own code. Nothing
# unwinds, because a panic ends the program, and they are an eighth of it. The compiler writes them all the same: the standard
# library has debug information, with which each function gets its table.
set -e
for word; do
    case $word in
    *.rcgu.o) rust-objcopy --remove-section=.eh_frame "$word" ;;
    esac
done
exec "$PUNCTUAL_LINKER" "$@"
