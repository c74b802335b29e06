//! Finds the command lines in a file: settings of a boot loader or, if there are none, the whole file.
//!
//! Settings are recognised by their names only. A text that a shell would expand is reported as a text that is known
//! only at boot, and is not judged.

use super::{Target, Testimony, Word, WordVerdict, judge};
use crate::cmdline::{Token, words};
use std::iter::once;
use std::ops::Range;

/// Names of variables whose value is a command line, or a part of one, in files of GRUB, u-boot-menu, Armbian, U-Boot
/// and others. The value ends at the end of the line or at the closing quote.
const ASSIGNED: [&str; 8] = [
    "GRUB_CMDLINE_LINUX_DEFAULT",
    RECOVERY,
    "GRUB_CMDLINE_LINUX",
    "U_BOOT_PARAMETERS",
    "extraargs",
    "bootargs",
    "CMDLINE",
    "APPEND",
];
/// The setting that GRUB uses instead of `GRUB_CMDLINE_LINUX_DEFAULT` for the recovery entry of its menu.
const RECOVERY: &str = "GRUB_CMDLINE_LINUX_RECOVERY";
/// A key of loader entries. The words of all lines in a file that begin with this key are joined.
const OPTIONS: &str = "options";
const APPEND: [&str; 2] = ["append", "APPEND"];
/// Commands in GRUB's menu that are followed by the path of the kernel and then by the words.
const AFTER_IMAGE: [&str; 3] = ["linux", "linux16", "linuxefi"];
/// Commands in U-Boot's scripts that set the command line.
const SET: [&[&str]; 2] = [&["setenv", "bootargs"], &["env", "set", "bootargs"]];

/// Bytes that stand for a blank and for a quote within an expression that a shell expands at boot. With these bytes,
/// the expression stays one word.
const BLANK: u8 = 1;
const QUOTE: u8 = 2;

/// A word of a file, with its verdict, its line and its columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    pub word: Word,
    /// Number of the line, from 1.
    pub line: usize,
    /// Columns of the word in its line, counted in characters from 1.
    pub columns: Range<usize>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// Every word, in the order of the file, except that words for init come last.
    pub words: Vec<Placed>,
    /// Whether the file has a boot loader setting that holds a command line.
    pub has_setting: bool,
}

impl Contents {
    /// Whether the file holds a command line at all: a boot loader setting with a command line, or a word that some
    /// kernel takes.
    pub fn is_command_line(&self) -> bool {
        let is_known =
            |placed: &Placed| !matches!(placed.word.verdict, WordVerdict::Unknown | WordVerdict::ForUserSpace);
        self.has_setting || self.words.iter().any(is_known)
    }
}

/// Judges every command line of a file. If the file has no boot loader setting, all its lines together are one command
/// line, and lines that begin with `#` are remarks.
pub fn lint_file(text: &str, target: &Target, evidence: &Testimony<'_>) -> Contents {
    let settings = settings(text);
    let has_setting = !settings.is_empty();
    let groups = if has_setting { grouped(settings) } else { vec![whole(text)] };
    let mut words: Vec<(bool, Placed)> = groups.iter().flat_map(|pieces| judged(pieces, target, evidence)).collect();
    words.sort_by_key(|(is_for_init, word)| (*is_for_init, word.line, word.columns.start));
    Contents { words: words.into_iter().map(|(_, word)| word).collect(), has_setting }
}

/// The characters of a part of a command line, each with its line and column, counted from 1.
type Piece = Vec<(char, usize, usize)>;

struct Setting {
    name: String,
    /// Whether the setting adds to the earlier value of the variable, instead of replacing it.
    adds: bool,
    piece: Piece,
}

/// Groups the settings into command lines, each of several parts. Of two assignments to a variable the last one takes
/// effect. Each entry of a menu is a command line of its own.
fn grouped(settings: Vec<Setting>) -> Vec<Vec<Piece>> {
    let mut assigned: Vec<(String, Vec<Piece>)> = Vec::new();
    let mut options = Vec::new();
    let mut own = Vec::new();
    for setting in settings {
        if setting.name == OPTIONS {
            options.push(setting.piece);
        } else if !ASSIGNED.contains(&setting.name.as_str()) {
            own.push(vec![setting.piece]);
        } else {
            let at = assigned.iter().position(|(name, _)| *name == setting.name).unwrap_or_else(|| {
                assigned.push((setting.name.clone(), Vec::new()));
                assigned.len() - 1
            });
            let pieces = &mut assigned[at].1;
            if !setting.adds {
                pieces.clear();
            }
            pieces.push(setting.piece);
        }
    }
    let (recovery, together): (Vec<_>, Vec<_>) = assigned.into_iter().partition(|(name, _)| name == RECOVERY);
    let pieces = |named: Vec<(String, Vec<Piece>)>| named.into_iter().flat_map(|(_, pieces)| pieces).collect();
    own.extend([pieces(together), pieces(recovery), options]);
    own
}

fn whole(text: &str) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    let mut goes_on = false;
    for (n, line) in text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with('#')) {
        let kept = line.strip_suffix('\\');
        let piece = numbered(kept.unwrap_or(line), n, 0);
        match pieces.last_mut() {
            Some(last) if goes_on => last.extend(piece),
            _ => pieces.push(piece.collect()),
        }
        goes_on = kept.is_some();
    }
    pieces
}

fn numbered(line: &str, number: usize, from: usize) -> impl Iterator<Item = (char, usize, usize)> + Clone + '_ {
    line.chars().enumerate().skip(from).map(move |(n, c)| (c, number + 1, n + 1))
}

fn settings(text: &str) -> Vec<Setting> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let Some(head) = Head::of(lines[at]) else {
            at += 1;
            continue;
        };
        // The characters from the value on are one stream, because a value in quotes may span several lines.
        let before = lines[at].len() - head.rest.len();
        let skipped = lines[at][..before].chars().count();
        let first = numbered(lines[at], at, skipped);
        let others = lines.iter().enumerate().skip(at + 1);
        let stream = first.chain(others.flat_map(|(n, line)| once(('\n', n, usize::MAX)).chain(numbered(line, n, 0))));
        let whole = head.style.cut(stream.clone(), at);
        let (piece, last) = whole.unwrap_or_else(|| (stream.skip(1).take_while(|(c, ..)| *c != '\n').collect(), at));
        let text: String = piece.iter().map(|(c, ..)| *c).collect();
        let is_itself = text.contains(&format!("${}", head.name)) || text.contains(&format!("${{{}}}", head.name));
        found.push(Setting { name: head.name.to_owned(), adds: head.adds || is_itself, piece });
        at = last + 1;
    }
    found
}

/// Where the value of a setting ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    /// The value ends at the closing quote or, without quotes, at the end of the line.
    Quoted,
    /// As for `Quoted`, but a value without quotes also ends at a semicolon.
    Script,
    /// The value ends at the end of the line. Quotes belong to the value, since the kernel reads them.
    Plain,
}

struct Head<'a> {
    name: &'a str,
    adds: bool,
    style: Style,
    /// The value, and the text that follows it on the line.
    rest: &'a str,
}

impl<'a> Head<'a> {
    fn of(line: &'a str) -> Option<Self> {
        let trimmed = line.trim_start();
        let trimmed = trimmed.strip_prefix("export ").map_or(trimmed, str::trim_start);
        let word = trimmed.split([' ', '\t', '=']).next()?;
        let rest = trimmed[word.len()..].trim_start();
        if let Some(rest) = rest.strip_prefix('=') {
            let name = word.strip_suffix('+').unwrap_or(word);
            let adds = name != word;
            let rest = rest.trim_start();
            return ASSIGNED.contains(&name).then_some(Self { name, adds, style: Style::Quoted, rest });
        }
        if let Some(rest) = SET.iter().find_map(|words| after(trimmed, words)) {
            return Some(Self { name: "bootargs", adds: false, style: Style::Script, rest });
        }
        if AFTER_IMAGE.contains(&word) && rest.starts_with(['/', '$', '(']) {
            let rest = rest.find([' ', '\t']).map_or("", |at| rest[at..].trim_start());
            return Some(Self { name: word, adds: true, style: Style::Plain, rest });
        }
        let is_told = word == OPTIONS || APPEND.contains(&word);
        // `APPEND` is a key of extlinux, unless `=` follows: then it is the name of a variable.
        let name = if word == "APPEND" { "append" } else { word };
        // If no value follows, the word is part of ordinary text and not a setting.
        (is_told && trimmed.len() > word.len()).then_some(Self { name, adds: true, style: Style::Plain, rest })
    }
}

fn after<'a>(text: &'a str, words: &[&str]) -> Option<&'a str> {
    words.iter().try_fold(text, |rest, word| {
        let rest = rest.strip_prefix(word)?;
        rest.starts_with([' ', '\t']).then(|| rest.trim_start())
    })
}

impl Style {
    /// Reads the value at the beginning of a stream. Returns the value and the line on which it ends; `first` is the
    /// line on which it begins. A backslash at the end of a line joins the next line. `None` if a quote is never
    /// closed.
    fn cut(self, stream: impl Iterator<Item = (char, usize, usize)>, first: usize) -> Option<(Piece, usize)> {
        let mut chars = stream.peekable();
        let quote = match chars.peek() {
            Some((c @ ('"' | '\''), ..)) if self != Self::Plain => Some(*c),
            _ => None,
        };
        let mut piece = Piece::new();
        let mut last = first;
        let mut chars = chars.skip(usize::from(quote.is_some())).peekable();
        while let Some((c, line, column)) = chars.next() {
            let next = chars.peek().map(|(c, ..)| *c);
            match (c, quote) {
                ('\\', None | Some('"')) if next == Some('\n') => {
                    chars.next();
                    last += 1;
                }
                ('\\', Some('"')) if matches!(next, Some('"' | '\\' | '`' | '$')) => {
                    piece.extend(chars.next());
                }
                (c, Some(quote)) if c == quote => return Some((piece, last)),
                ('\n', Some(_)) => {
                    piece.push((' ', line, column));
                    last += 1;
                }
                ('\n', None) => break,
                (';', None) if self == Self::Script => break,
                _ => piece.push((c, line, column)),
            }
        }
        quote.is_none().then_some((piece, last))
    }
}

fn judged(pieces: &[Piece], target: &Target, evidence: &Testimony<'_>) -> Vec<(bool, Placed)> {
    let mut text = Vec::new();
    let mut places = Vec::new();
    for piece in pieces {
        if !text.is_empty() {
            text.push(b' ');
            places.push((0, usize::MAX));
        }
        for (c, line, column) in filled_in(piece) {
            let mut bytes = [0; 4];
            let bytes = c.encode_utf8(&mut bytes).as_bytes();
            // The kernel splits the line by bytes, and may take a byte of a multi-byte letter for a blank.
            text.extend_from_slice(bytes);
            places.extend(bytes.iter().map(|_| (line, column)));
        }
    }
    let tokens = words(&text);
    let verdicts = judge::judge(&tokens, target, evidence);
    let place = |token: &Token| {
        let (line, first) = places[token.start];
        let on_line = places[token.start..token.end].iter().filter(|(n, column)| *n == line && *column != usize::MAX);
        let last = on_line.map(|(_, column)| *column).max().unwrap_or(first);
        (line, first..last.saturating_add(1))
    };
    let found = tokens.iter().zip(verdicts).map(|(token, word)| {
        let (line, columns) = place(token);
        (token.is_for_init || token.raw == "--", Placed { word: at_boot(word), line, columns })
    });
    found.collect()
}

/// The part with stand-ins for the blanks and quotes inside an expression that a shell expands: between `$(` and `)`,
/// or between two backquotes.
fn filled_in(piece: &[(char, usize, usize)]) -> Piece {
    let mut depth = 0_usize;
    let mut is_quoted = false;
    let mut before = ' ';
    let mut out = Piece::new();
    for &(c, line, column) in piece {
        match c {
            '(' if before == '$' || depth > 0 => depth += 1,
            ')' if depth > 0 => depth -= 1,
            '`' => is_quoted = !is_quoted,
            _ => {}
        }
        let is_inside = depth > 0 || is_quoted;
        let shown = match c {
            ' ' | '\t' if is_inside => char::from(BLANK),
            '"' if is_inside => char::from(QUOTE),
            c => c,
        };
        out.push((shown, line, column));
        before = c;
    }
    out
}

/// A word with an expression of a shell gets no verdict, because the file does not show the expression's value.
fn at_boot(word: Word) -> Word {
    let text = word.word.replace(char::from(BLANK), " ").replace(char::from(QUOTE), "\"");
    if !text.contains(['$', '`']) {
        return Word { word: text, ..word };
    }
    Word {
        word: text,
        verdict: WordVerdict::ForUserSpace,
        is_trap: false,
        is_untold: false,
        why: "its value is decided at boot, or by the shell that reads the file".to_owned(),
        instead: None,
        sources: vec!["the file itself".to_owned()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Flavour;
    use proptest::prelude::*;

    fn target() -> Target {
        Target { possible: None, ..Target::x86(6, 12, Flavour::Stock) }
    }

    /// Checks the verdicts on the words of a text. Each expectation has the line and the column at which the word
    /// begins.
    #[track_caller]
    fn is(text: &str, expected: &[(usize, usize, &str)]) {
        let words = lint_file(text, &target(), &Testimony::none()).words;
        let found: Vec<_> = words.iter().map(|at| (at.line, at.columns.start, at.word.word.as_str())).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn a_file_of_its_own_is_the_line() {
        is("console=tty1 quiet\n", &[(1, 1, "console=tty1"), (1, 14, "quiet")]);
        is("# mine\n\n  quiet\r\nisolcpus=2\n", &[(3, 3, "quiet"), (4, 1, "isolcpus=2")]);
        is(
            "quiet \\\n  nohz_full=2 isol\\\ncpus=3\n",
            &[(1, 1, "quiet"), (2, 3, "nohz_full=2"), (2, 15, "isolcpus=3")],
        );
        is("", &[]);
    }

    #[test]
    fn settings_of_boot_loaders_are_found() {
        let grub = "GRUB_TIMEOUT=5\n#GRUB_CMDLINE_LINUX=\"no\"\nGRUB_CMDLINE_LINUX_DEFAULT=\"quiet splash\" # x\n";
        is(grub, &[(3, 29, "quiet"), (3, 35, "splash")]);
        is("label l0\n\tappend root=/dev/sda1 ro\n", &[(2, 9, "root=/dev/sda1"), (2, 24, "ro")]);
        is("title x\noptions  root=UUID=1\noptions rw\n", &[(2, 10, "root=UUID=1"), (3, 9, "rw")]);
        is("verbosity=1\nextraargs=isolcpus=3\n", &[(2, 11, "isolcpus=3")]);
        is("  linux /boot/vmlinuz ro \\\n quiet\n", &[(1, 23, "ro"), (2, 2, "quiet")]);
        is("setenv bootargs \"console=ttyS0 quiet\"; saveenv\n", &[(1, 18, "console=ttyS0"), (1, 32, "quiet")]);
        is("env set bootargs quiet ro; boot\n", &[(1, 18, "quiet"), (1, 24, "ro")]);
        is("GRUB_CMDLINE_LINUX='quiet'\nGRUB_CMDLINE_LINUX=\"never closed\n", &[(2, 21, "never"), (2, 27, "closed")]);
    }

    #[test]
    fn the_shell_keeps_the_last_assignment() {
        is("CMDLINE=\"noht\"\nCMDLINE=\"quiet\"\n", &[(2, 10, "quiet")]);
        is("CMDLINE=\"ro\"\nCMDLINE+=\" quiet\"\n", &[(1, 10, "ro"), (2, 12, "quiet")]);
        is("CMDLINE=\"ro\"\nCMDLINE=\"$CMDLINE quiet\"\n", &[(1, 10, "ro"), (2, 10, "$CMDLINE"), (2, 19, "quiet")]);
        is("CMDLINE=\"ro\nquiet \\\n rw\"\n", &[(1, 10, "ro"), (2, 1, "quiet"), (3, 2, "rw")]);
        is("CMDLINE=\"dyndbg=\\\"file a +p\\\" ro\"\n", &[(1, 10, "dyndbg=\"file a +p\""), (1, 31, "ro")]);
    }

    #[test]
    fn entries_of_a_menu_are_lines_of_their_own() {
        let menu = "linux /a root=/dev/sda1 -- x\nlinux /b root=/dev/sdb1 nohz_full=2\nlinux /c nohz_full=3\n";
        let words = lint_file(menu, &target(), &Testimony::none()).words;
        assert_eq!(words.len(), 6);
        assert!(words[..4].iter().all(|placed| placed.word.verdict == WordVerdict::Accepted), "{words:#?}");
    }

    #[test]
    fn what_is_filled_in_at_boot_is_not_judged() {
        let rhel = "GRUB_CMDLINE_LINUX=\"$([ -x /usr/sbin/kd ] && /usr/sbin/kd \\\"a b\\\" || :) `cat /x y` noht rhgb\"\n\
            options root=UUID=1 $extra $ignition_firstboot\n";
        let words = lint_file(rhel, &target(), &Testimony::none()).words;
        let found: Vec<(WordVerdict, &str)> = words.iter().map(|w| (w.word.verdict, w.word.word.as_str())).collect();
        assert_eq!(
            found,
            [
                (WordVerdict::ForUserSpace, "$([ -x /usr/sbin/kd ] && /usr/sbin/kd \"a b\" || :)"),
                (WordVerdict::ForUserSpace, "`cat /x y`"),
                (WordVerdict::Unknown, "noht"),
                (WordVerdict::ForUserSpace, "rhgb"),
                (WordVerdict::Accepted, "root=UUID=1"),
                (WordVerdict::ForUserSpace, "$extra"),
                (WordVerdict::ForUserSpace, "$ignition_firstboot"),
            ]
        );
        assert!(words[0].word.why.contains("decided at boot"));
    }

    #[test]
    fn other_files_are_told_from_command_lines() {
        let is_one = |text: &str| lint_file(text, &target(), &Testimony::none()).is_command_line();
        assert!(!is_one("root:x:0:0:root:/root:/bin/bash\ndaemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin\n"));
        assert!(!is_one("# only a remark\n") && !is_one(""));
        assert!(is_one("nothing quiet\n"));
        assert!(is_one("GRUB_CMDLINE_LINUX=\"\"\n"));
        assert!(is_one("CMDLINE=unheard_of\n"));
    }

    proptest! {
        #[test]
        fn what_is_found_stands_there(
            text in "[a-zA-Z_=\" '$()`#/\n\\\t\0é]{0,80}|(append|options|linux /|setenv bootargs|CMDLINE=) ?(.|\n){0,40}",
        ) {
            for placed in lint_file(&text, &target(), &Testimony::none()).words {
                let line = text.lines().nth(placed.line - 1).unwrap();
                prop_assert!(placed.columns.start >= 1 && !placed.columns.is_empty(), "{:?}", placed);
                prop_assert!(placed.columns.end <= line.chars().count() + 1, "{:?}", placed);
            }
        }
    }
}
