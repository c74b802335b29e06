//! The lines that a worker process says to its parent: `ready` when all threads work; at the end `ops N ns T` (`ops - ns T`
//! where nothing is counted), and `error TEXT` when something went wrong.

use std::io::{self, Write};
use std::time::Duration;

/// Says the last lines.
pub(super) fn say_end(operations: Option<u64>, time: Duration, trouble: Option<&str>) {
    let operations = operations.map_or_else(|| "-".to_owned(), |n| n.to_string());
    if let Some(trouble) = trouble {
        say(&format!("error {trouble}"));
    }
    say(&format!("ops {operations} ns {}", time.as_nanos()));
}

/// Says one line to the parent. A parent that no longer listens is no reason to fail.
pub(super) fn say(line: &str) {
    let line = format!("{}\n", line.replace(['\n', '\r'], " "));
    let _ = io::stdout().lock().write_all(line.as_bytes());
    let _ = io::stdout().lock().flush();
}
