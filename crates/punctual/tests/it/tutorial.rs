//! The session of the tutorial: its pages show what this program says of the recordings in `fixtures/tutorial`, which
//! `cargo xtask lab tutorial` makes.

use crate::run::{Run, repository};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use lzma_rust2::XzReader;
use std::fs;
use std::io::Read;

const PAGES: [(&str, &str); 2] = [("book/src/tutorial.md", "en"), ("book/src/zh/tutorial.md", "zh")];
/// What stands on a page before a command whose output this test holds.
const MARK: &str = "<!-- made by a test from the recordings -->\n```\n$ punctual ";
const END: &str = "\n```\n";
const PICTURE: &str = "book/src/img/tutorial.svg";

fn unpacked() -> Run {
    let run = Run::new();
    unpack(&run);
    run
}

/// Unpacks the recordings, as the page says how.
pub fn unpack(run: &Run) {
    for name in ["before", "after"] {
        let letters = fs::read_to_string(repository(&format!("fixtures/tutorial/{name}.base64"))).unwrap();
        let packed = STANDARD.decode(letters.split_whitespace().collect::<String>()).unwrap();
        let mut recording = Vec::new();
        XzReader::new(&*packed, false).read_to_end(&mut recording).unwrap();
        fs::write(run.path(&format!("{name}.punctual")), recording).unwrap();
    }
}

#[test]
fn the_pages_show_what_the_program_says_of_the_recordings() {
    let run = unpacked();
    for (page, lang) in PAGES {
        let path = repository(page);
        let text = fs::read_to_string(&path).unwrap();
        let mut parts = text.split(MARK);
        let mut made = parts.next().unwrap_or_default().to_owned();
        let mut blocks = 0;
        for part in parts {
            let (command, rest) = part.split_once('\n').unwrap();
            let (_, after) = rest.split_once(END).unwrap();
            let words = shlex::split(command).unwrap();
            let words: Vec<&str> = words.iter().map(String::as_str).chain(["--lang", lang]).collect();
            let said = run.punctual(&words);
            assert!([0, 2, 3].contains(&said.code), "{page}: {words:?}: {said:?}");
            made += &[MARK, command, "\n", said.out.trim_end(), END, after].concat();
            blocks += 1;
        }
        assert!(blocks >= 2, "{page} shows {blocks} outputs");
        fixtures::check(&path, &made);
    }
}

#[test]
fn the_picture_is_drawn_from_the_recording() {
    let run = unpacked();
    let said = run.punctual(&["report", "before.punctual", "--plot", "picture.svg"]);
    assert_eq!(said.code, 0, "{said:?}");
    fixtures::check(&repository(PICTURE), &fs::read_to_string(run.path("picture.svg")).unwrap());
}

/// The recordings say what the page tells of them, so that a page made anew from other recordings is not taken for the same
/// story.
#[test]
fn the_machine_is_bad_before_and_holds_its_need_after() {
    let run = unpacked();
    let brief = |name: &str| run.punctual(&["report", name, "--brief"]);
    let (before, after) = (brief("before.punctual"), brief("after.punctual"));
    assert!(before.out.starts_with("NOT HELD"), "{before:?}");
    assert!(after.out.starts_with("HELD"), "{after:?}");
}
