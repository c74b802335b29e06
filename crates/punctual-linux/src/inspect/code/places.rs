//! Which place in the code a call stack is told by.

use super::made;
use super::module::{Bytes, Module};
use super::names::{
    is_go, is_interpreter, is_library, is_of_c, is_of_go, is_of_language, is_source_of_language, readable,
};
use super::space::Space;
use punctual_numbers::inspect::Code;
use punctual_numbers::trace::Address;
use std::cell::RefCell;
use std::collections::HashMap;

/// Number of places that are told of a stack: where it happened, and from where that was called.
const TOLD: usize = 6;
/// In a C library within the program, at most this many functions without a known name lie between known ones.
const UNKNOWN: usize = 3;

type Lines<'a> = addr2line::Context<Bytes<'a>>;

/// Looks up places, and each stack once.
pub struct Places<'a> {
    space: &'a Space,
    lines: RefCell<HashMap<*const Module, Option<Lines<'a>>>>,
    known: RefCell<HashMap<Vec<Address>, Vec<Code>>>,
}

impl<'a> Places<'a> {
    pub fn new(space: &'a Space) -> Self {
        Self { space, lines: RefCell::default(), known: RefCell::default() }
    }

    /// The place in the program that a stack is about, with its callers behind it. `stack` has the innermost address
    /// first. If all of it lies in run-time libraries, it is told from its beginning.
    pub fn locate(&self, stack: &[Address]) -> Vec<Code> {
        if let Some(known) = self.known.borrow().get(stack) {
            return known.clone();
        }
        let mut told: Vec<Code> = stack.iter().flat_map(|at| self.at(*at)).collect();
        told.drain(..own(&told));
        told.truncate(TOLD);
        self.known.borrow_mut().insert(stack.to_vec(), told.clone());
        told
    }

    /// The function at an address; with lines also the functions that the compiler put into it, innermost first.
    fn at(&self, at: Address) -> Vec<Code> {
        let Some((module, address)) = self.space.find(at) else { return Vec::new() };
        let function = module.function(address);
        if let Some((name, offset)) = function.filter(|_| module.is_made()) {
            return vec![made::place(name, offset)];
        }
        let (symbol, offset) = function.map_or((None, address), |(name, offset)| (Some(name.to_owned()), offset));
        let plain = Code { module: module.name().to_owned(), symbol, offset, file: None, line: None };
        let mut all = self.lines_at(module, address, &plain);
        if all.is_empty() {
            all.push(plain);
        }
        all
    }

    fn lines_at(&self, module: &'a Module, address: u64, plain: &Code) -> Vec<Code> {
        let mut lines = self.lines.borrow_mut();
        let Some(lines) = lines.entry(std::ptr::from_ref(module)).or_insert_with(|| module.lines()) else {
            return Vec::new();
        };
        let Ok(mut frames) = lines.find_frames(address).skip_all_loads() else { return Vec::new() };
        let mut all = Vec::new();
        while let Ok(Some(frame)) = frames.next() {
            let name = frame.function.as_ref().and_then(|function| Some(readable(&function.raw_name().ok()?)));
            let place = frame.location.as_ref();
            let file = place.and_then(|place| place.file).map(str::to_owned);
            let symbol = name.or_else(|| plain.symbol.clone());
            all.push(Code { symbol, file, line: place.and_then(|place| place.line), ..plain.clone() });
        }
        // The symbol has the whole name where the description of the source has a short one.
        if let Some(outermost) = all.last_mut() {
            outermost.symbol = plain.symbol.clone().or(outermost.symbol.take());
        }
        all
    }
}

/// The index of the innermost place that is no run-time library's; 0 if there is none.
fn own(places: &[Code]) -> usize {
    // An interpreter is told by the script's function, if that has a name.
    let has_script = places.iter().any(made::is_of_script);
    let is_interpreter = |code: &Code| {
        has_script
            && (is_interpreter(&code.module) || code.file.as_deref().is_some_and(|file| file.starts_with("node:")))
    };
    let has_go = places.iter().any(|code| code.symbol.as_deref().is_some_and(is_go));
    let is_of_language = |function: &str| is_of_language(function) || has_go && is_of_go(function);
    let is_runtime = |code: &Code| {
        is_library(&code.module)
            || is_interpreter(code)
            || code.symbol.as_deref().is_some_and(is_of_language)
            || code.file.as_deref().is_some_and(is_source_of_language)
    };
    let holds_c = !places.iter().any(|code| is_library(&code.module));
    let is_c = |code: &Code| holds_c && code.symbol.as_deref().is_some_and(is_of_c);
    let mut index = 0;
    while let Some(code) = places.get(index) {
        let further = || places.iter().skip(index + 1).take(UNKNOWN).position(is_c);
        match () {
            () if is_runtime(code) || is_c(code) => index += 1,
            () => match further() {
                Some(distance) => index += distance + 2,
                None => return index,
            },
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(stack: &[(&str, &str)]) -> usize {
        let code = |(module, symbol): &(&str, &str)| Code {
            module: (*module).to_owned(),
            symbol: Some((*symbol).to_owned()).filter(|symbol| !symbol.is_empty()),
            offset: 0,
            file: None,
            line: None,
        };
        own(&stack.iter().map(code).collect::<Vec<_>>())
    }

    #[test]
    fn a_stack_is_told_by_the_program_s_own_function() {
        assert_eq!(chosen(&[("libc.so.6", "write"), ("libc.so.6", ""), ("loop", "log"), ("loop", "main")]), 2);
        assert_eq!(chosen(&[("libc.so.6", "brk"), ("libstdc++.so.6", ""), ("libcontrol.so", ""), ("loop", "main")]), 2);
        assert_eq!(chosen(&[("libc.so.6", "write"), ("loop", "std::io::stdio::_print"), ("loop", "log")]), 2);
        assert_eq!(chosen(&[("libc.so.6", "write"), ("libc.so.6", "puts")]), 0);
        assert_eq!(chosen(&[]), 0);
        let go = ["internal/runtime/syscall/linux.Syscall6", "os.(*File).Write", "main.step", "runtime.goexit.abi0"];
        assert_eq!(chosen(&go.map(|function| ("loop", function))), 2);
        assert_eq!(chosen(&[("loop", "log.part.0"), ("loop", "main")]), 0, "a function in C that a compiler has cut");
    }

    #[test]
    fn an_interpreter_is_told_by_the_script_s_function() {
        let code = |module: &str, symbol: &str, file: Option<&str>| Code {
            module: module.to_owned(),
            symbol: Some(symbol.to_owned()),
            offset: 0,
            file: file.map(str::to_owned),
            line: None,
        };
        let mut stack = vec![
            code("libc.so.6", "mmap", None),
            code("mmap.cpython-312-x86_64-linux-gnu.so", "new_mmap_object", None),
            code("libpython3.12.so.1.0", "_PyEval_EvalFrameDefault", None),
            code(made::MADE, "Builtin:Call", None),
            code(made::MADE, "write", Some("node:fs")),
            code(made::MADE, "step", Some("/opt/loop.py")),
            code("libpython3.12.so.1.0", "PyEval_EvalCode", None),
        ];
        assert_eq!(own(&stack), 5);
        stack.retain(|code| code.module != made::MADE);
        assert_eq!(own(&stack), 1, "without names it is the interpreter's function");
        // A program that has an interpreter is told by its own function, if that is the inner one.
        stack =
            vec![code("libc.so.6", "mmap", None), code("planner", "plan", None), code(made::MADE, "step", Some("/x"))];
        assert_eq!(own(&stack), 1);
    }

    #[test]
    fn a_function_of_the_library_is_known_by_its_source_where_its_name_is_cut() {
        let code = |symbol: &str, file: &str| Code {
            module: "loop".to_owned(),
            symbol: Some(symbol.to_owned()),
            offset: 0,
            file: Some(file.to_owned()),
            line: Some(7),
        };
        let of_rust = "/rustc/0123abc/library/std/src/sys/sync/mutex/futex.rs";
        let of_cpp = "/usr/include/c++/12/bits/new_allocator.h";
        let stack = [code("lock", of_rust), code("allocate", of_cpp), code("step", "/src/loop.rs")];
        assert_eq!(own(&stack), 2);
    }

    #[test]
    fn a_c_library_inside_the_program_is_not_its_own_function() {
        let start = [("loop", "main"), ("loop", "__libc_start_call_main"), ("loop", "_start")];
        let malloc = [
            ("loop", "mmap"),
            ("loop", "sysmalloc_mmap"),
            ("loop", "sysmalloc"),
            ("loop", "_int_malloc"),
            ("loop", "malloc"),
        ];
        let stack = [&malloc[..], &[("loop", "planned")], &start[..]].concat();
        assert_eq!(chosen(&stack), malloc.len());
        assert_eq!(chosen(&[&[("loop", "write")], &start[..]].concat()), 1);
    }

    #[test]
    fn an_address_of_this_program_has_its_function_and_its_line() {
        let mut space = Space::of(std::process::id());
        space.read();
        let places = Places::new(&space);
        let here = Address(an_address_of_this_program_has_its_function_and_its_line as *const () as usize as u64);
        for _ in 0..2 {
            let code = places.locate(&[Address(1), here]);
            let symbol = code[0].symbol.as_deref().unwrap();
            assert!(symbol.contains("an_address_of_this_program_has_its_function"), "{symbol}");
            assert!(code[0].file.as_deref().unwrap().ends_with("places.rs"), "{code:?}");
            assert!(code[0].line.is_some());
        }
        assert_eq!(places.locate(&[]), []);
        assert_eq!(places.locate(&[Address(1)]), []);
    }
}
