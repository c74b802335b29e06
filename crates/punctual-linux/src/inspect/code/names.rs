//! Names of functions: as a programmer wrote them, and which of them are the language's own.

use cpp_demangle::{DemangleOptions, Symbol};

/// Beginnings of names that belong to the run-time libraries of Rust and C++, to crates that only pass system calls on, and
/// to what node makes for itself.
const OF_LANGUAGE: [&str; 15] = [
    "std::",
    "core::",
    "alloc::",
    "hashbrown::",
    "libc::",
    "nix::",
    "rustix::",
    "__rust",
    "__rdl_",
    "__rg_",
    "operator new",
    "operator delete",
    "Builtin:",
    "BytecodeHandler:",
    "RegExp:",
];

/// Beginnings of names by which a C library that is linked into the program is known. Names with two underscores are
/// reserved for it.
const OF_C: [&str; 8] = ["__", "_IO_", "_int_", "pthread_", "sem_", "sched_", "epoll_", "timerfd_"];
const OF_C_WHOLE: [&str; 58] = [
    "malloc",
    "calloc",
    "realloc",
    "free",
    "posix_memalign",
    "aligned_alloc",
    "memalign",
    "reallocarray",
    "printf",
    "fprintf",
    "vprintf",
    "vfprintf",
    "dprintf",
    "puts",
    "fputs",
    "putc",
    "fputc",
    "putchar",
    "fwrite",
    "fread",
    "fflush",
    "fopen",
    "fclose",
    "fgets",
    "getline",
    "perror",
    "read",
    "write",
    "open",
    "close",
    "pread",
    "pwrite",
    "mmap",
    "mmap64",
    "munmap",
    "mprotect",
    "madvise",
    "mlock",
    "brk",
    "sbrk",
    "sleep",
    "usleep",
    "nanosleep",
    "clock_nanosleep",
    "poll",
    "ppoll",
    "select",
    "send",
    "sendto",
    "sendmsg",
    "recv",
    "recvfrom",
    "recvmsg",
    "ioctl",
    "syscall",
    "syslog",
    "strdup",
    "fsync",
];
/// What starts threads and programs. It calls the program's own functions and is not called by them.
const STARTS: [&str; 5] = ["libc_start", "start_thread", "clone", "_start", "start_c"];

/// File names of run-time libraries begin with these.
const LIBRARIES: [&str; 18] = [
    "libc.so",
    "libc-",
    "libc.musl",
    "ld-",
    "ld.so",
    "libpthread",
    "libm.so",
    "librt.so",
    "libdl.so",
    "libstdc++",
    "libc++",
    "libgcc_s",
    "libjemalloc",
    "libtcmalloc",
    "libmimalloc",
    "libasan",
    "libtsan",
    "[vdso]",
];

pub fn is_library(module: &str) -> bool {
    LIBRARIES.iter().any(|library| module.starts_with(library))
}

/// Parts of the paths of the sources of these libraries. A function that the compiler put into another one may have its short
/// name only.
const SOURCES_OF_LANGUAGE: [&str; 4] =
    ["/library/std/src/", "/library/core/src/", "/library/alloc/src/", "/include/c++/"];

pub fn is_source_of_language(file: &str) -> bool {
    SOURCES_OF_LANGUAGE.iter().any(|part| file.contains(part))
}

/// Beginnings of names in Go's standard library.
const OF_GO: [&str; 14] = [
    "runtime.",
    "runtime/",
    "internal/",
    "syscall.",
    "os.",
    "io.",
    "fmt.",
    "log.",
    "bufio.",
    "time.",
    "sync.",
    "sync/",
    "net.",
    "golang.org/x/sys/",
];
/// Each stack of a program in Go begins in one of these, or goes through one to the scheduler.
const GO: [&str; 4] = ["runtime.goexit", "runtime.mstart", "runtime.mcall", "runtime.systemstack"];

pub fn is_of_go(function: &str) -> bool {
    OF_GO.iter().any(|begin| function.starts_with(begin))
}

pub fn is_go(function: &str) -> bool {
    GO.iter().any(|begin| function.starts_with(begin))
}

/// Whether a program or library runs scripts: Python with its extensions, or node.
pub fn is_interpreter(module: &str) -> bool {
    ["python", "libpython", "_ctypes.", "libffi.", "libnode."].iter().any(|begin| module.starts_with(begin))
        || module.contains(".cpython-")
        || module == "node"
}

pub fn is_of_language(function: &str) -> bool {
    // A method of a trait is named `<&std::io::Stdout as std::io::Write>::write_fmt`: the type decides.
    let of_type = function.trim_start_matches(['<', '&', '*', '[']).trim_start_matches("mut ");
    OF_LANGUAGE.iter().any(|begin| of_type.starts_with(begin))
}

/// Whether a function is the C library's, in a program that holds a C library.
pub fn is_of_c(function: &str) -> bool {
    let starts = STARTS.iter().any(|part| function.contains(part));
    let begins = OF_C.iter().any(|begin| function.starts_with(begin));
    !starts && (begins || OF_C_WHOLE.contains(&function))
}

/// The name as a programmer wrote it, without the types of a function's arguments.
pub fn readable(name: &str) -> String {
    if let Ok(name) = rustc_demangle::try_demangle(name) {
        return format!("{name:#}");
    }
    let options = DemangleOptions::new().no_params().no_return_type();
    let of_cpp = Symbol::new(name).ok().and_then(|symbol| symbol.demangle_with_options(&options).ok());
    of_cpp.unwrap_or_else(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_as_they_were_written() {
        for (mangled, name) in [
            ("step", "step"),
            ("_Z4stepv", "step"),
            ("_ZN7Planner4stepEd", "Planner::step"),
            ("_ZN4main4step17h0123456789abcdefE", "main::step"),
            ("_RNvCskwGfYPst2Cb_3foo16example_function", "foo::example_function"),
            ("_ZL4stepv", "step"),
            ("_ZN12_GLOBAL__N_14stepEi", "(anonymous namespace)::step"),
            ("_ZN7PlannerIdE4stepEd", "Planner<double>::step"),
            ("_ZN", "_ZN"),
            ("_ZN99xE", "_ZN99xE"),
        ] {
            assert_eq!(readable(mangled), name);
        }
    }

    #[test]
    fn run_time_libraries_are_known_by_their_names() {
        for (function, is_c) in [
            ("__libc_malloc", true),
            ("pthread_mutex_lock", true),
            ("write", true),
            ("planned_write", false),
            ("main", false),
            ("__libc_start_call_main", false),
        ] {
            assert_eq!(is_of_c(function), is_c, "{function}");
        }
        assert!(
            is_of_language("std::io::stdio::_print")
                && is_of_language(&readable("_Znwm"))
                && !is_of_language("standard::step")
        );
        assert!(is_of_language("rustix::thread::clock::nanosleep"));
        assert!(is_of_language("<&mut std::io::stdio::Stdout as std::io::Write>::write_fmt"));
        assert!(!is_of_language("<&planner::Log as std::io::Write>::write_fmt"));
        assert!(is_library("libc.so.6") && is_library("ld-linux-x86-64.so.2") && !is_library("libcontroller.so"));
    }
}
