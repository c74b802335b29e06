//! Finds addresses, UUIDs, keys and known words in a text, where a word of the text begins.

use super::{Masks, Secret};

/// The least number of hex digits in a row that count as a key, a checksum or an identifier, and not as a number.
const LEAST_HEX: usize = 32;
/// The least number of digits in a shortened IPv6 address. A text with fewer digits is more likely something else.
const LEAST_IPV6: usize = 5;
/// The greatest length of an address in bytes: the address of an `InfiniBand` port has twenty pairs of digits. The
/// limit keeps the time for a line proportional to its length.
const LONGEST_ADDRESS: usize = 64;
/// The longest file name on Linux, in bytes.
const LONGEST_NAME: usize = 255;
/// Beginnings of network device names that are followed by a MAC address.
const MAC_NAMES: [&str; 4] = ["enx", "wlx", "wwx", "ibx"];
const HOMES: [&str; 2] = ["/home/", "/Users/"];
/// Beginnings of paths and names that are followed by the serial number or the label of a disk or partition.
const DISKS: [&str; 2] = ["/dev/disk/by-", "dev-disk-by\\x2d"];
/// Texts that precede the name of a disk, a partition, a file system or a subvolume.
const LABELS: [&str; 5] = ["LABEL=", "PARTLABEL=", "PARTUUID=", "UUID=", "subvol="];
/// Labels that installers give to file systems, without `/` and `@`.
const ORDINARY_LABELS: [&str; 4] = ["", "root", "rootfs", "home"];
/// Names that are followed by a private value.
const SECRETS: [&str; 9] =
    ["password", "passwd", "passphrase", "secret", "token", "psk", "api_key", "apikey", "credential"];
/// Names that are followed by a serial number.
const SERIALS: [&str; 4] = ["serialnumber", "serial number", "serial_number", "serial"];
/// The least length of a serial number after one of [`SERIALS`]. A shorter number is a count.
const LEAST_SERIAL: usize = 4;

/// The length of the secret that was found, and its stand-in.
type Found = Option<(usize, String)>;

impl Masks {
    pub fn text(&mut self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        for line in text.split_inclusive('\n') {
            let assigned = self.assignment(line);
            self.scan(assigned.as_deref().unwrap_or(line), &mut out);
        }
        out
    }

    /// Masks bytes that are not text. All secrets are overwritten, and the length stays the same.
    pub(super) fn binary(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(bytes.len());
        for chunk in bytes.utf8_chunks() {
            let bytes = chunk.valid().as_bytes();
            let mut at = 0;
            while at < bytes.len() {
                let found = if begins_word(bytes, at) { self.find(bytes, at) } else { None };
                if let Some((length, _)) = found {
                    out.resize(out.len() + length, b'x');
                    at += length;
                } else {
                    out.push(bytes[at]);
                    at += 1;
                }
            }
            out.extend_from_slice(chunk.invalid());
        }
        out
    }

    fn scan(&mut self, text: &str, out: &mut String) {
        let bytes = text.as_bytes();
        let (mut at, mut copied) = (0, 0);
        while at < bytes.len() {
            let found = if begins_word(bytes, at) { self.find(bytes, at) } else { None };
            let Some((length, stand_in)) = found else {
                at += 1;
                continue;
            };
            out.push_str(&text[copied..at]);
            out.push_str(&stand_in);
            at += length;
            copied = at;
        }
        out.push_str(&text[copied..]);
    }

    fn find(&mut self, bytes: &[u8], at: usize) -> Found {
        let rest = &bytes[at..];
        let first = *rest.first()?;
        self.known_word(rest, first).or_else(|| match first {
            b'/' => self.home(rest).or_else(|| self.disk(rest)),
            b'd' => self.disk(rest).or_else(|| self.number(rest, None)).or_else(|| self.mac_name(rest)),
            b'L' | b'P' | b'U' | b's' => self.label(rest),
            b'(' => builder(rest),
            b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F' | b':' => {
                let before = at.checked_sub(1).map(|before| bytes[before]);
                self.number(rest, before).or_else(|| self.mac_name(rest))
            }
            _ => self.mac_name(rest),
        })
    }

    fn known_word(&self, rest: &[u8], first: u8) -> Found {
        let words = self.words.get(&first.to_ascii_lowercase())?;
        let fits = |word: &str| {
            rest.len() >= word.len()
                && rest[..word.len()].eq_ignore_ascii_case(word.as_bytes())
                && ends_word(rest, word.len())
        };
        let (word, stand_in) = words.iter().find(|(word, _)| fits(word))?;
        let mut length = word.len();
        if stand_in == "masked-host" {
            length += domain_length(&rest[length..]);
        }
        Some((length, stand_in.clone()))
    }

    fn home(&mut self, rest: &[u8]) -> Found {
        let start = HOMES.iter().find(|start| rest.starts_with(start.as_bytes()))?;
        let rest = &rest[start.len()..];
        let rest = rest[..rest.len().min(LONGEST_NAME)].utf8_chunks().next()?.valid();
        let name = Some(&rest[..name_length(rest)]).filter(|name| !name.is_empty())?;
        // A stand-in of the first pass stays as it is in the second pass.
        let stand_in =
            if name.starts_with("masked-user-") { name.to_owned() } else { self.stand_in(Secret::User, name) };
        Some((start.len() + name.len(), format!("{start}{stand_in}")))
    }

    fn disk(&mut self, rest: &[u8]) -> Found {
        let start = DISKS.iter().find(|start| rest.starts_with(start.as_bytes()))?;
        let is_unit = !start.starts_with('/');
        let rest = &rest[..rest.len().min(LONGEST_NAME)];
        // The kind of the name stands before the name: `id/NAME`, or `id-NAME` in the name of a unit.
        let kind = count(&rest[start.len()..], |b| b.is_ascii_alphanumeric());
        let from = start.len() + kind + 1;
        let has_name = rest.get(from - 1) == Some(if is_unit { &b'-' } else { &b'/' });
        let rest = std::str::from_utf8(rest)
            .unwrap_or_else(|e| std::str::from_utf8(&rest[..e.valid_up_to()]).unwrap_or_default());
        let name = rest.get(from..).filter(|_| has_name)?;
        let name = &name[..label_length(name)];
        let name = name.split('/').next().unwrap_or_default();
        // The ending of a unit's name, such as `.swap`, is not masked.
        let name = if is_unit { name.rsplit_once('.').map_or(name, |(name, _)| name) } else { name };
        let stand_in = self.stand_in_for_label(name, Secret::Serial)?;
        Some((from + name.len(), format!("{}{stand_in}", &rest[..from])))
    }

    fn label(&mut self, rest: &[u8]) -> Found {
        let start = LABELS.iter().find(|start| rest.starts_with(start.as_bytes()))?;
        let value = rest.get(start.len()..)?;
        let value = value[..value.len().min(LONGEST_NAME)].utf8_chunks().next()?.valid();
        let quote = value.bytes().next().filter(|b| matches!(b, b'"' | b'\''));
        let from = start.len() + usize::from(quote.is_some());
        let value = match quote {
            Some(quote) => value[1..].split(char::from(quote)).next().unwrap_or_default(),
            None => &value[..label_length(value)],
        };
        let stand_in = self.stand_in_for_label(value, Secret::Value)?;
        let start = std::str::from_utf8(&rest[..from]).ok()?;
        Some((from + value.len(), format!("{start}{stand_in}")))
    }

    /// The stand-in for a label. `None` for UUIDs, which are recognised by their form, for ordinary labels, and for
    /// stand-ins.
    fn stand_in_for_label(&mut self, name: &str, kind: Secret) -> Option<String> {
        let plain = name.trim_matches(['/', '@']);
        let is_variable = name.starts_with(['$', '%']);
        let is_left = ORDINARY_LABELS.contains(&plain) || is_variable || name.starts_with("masked-");
        (!is_left && self.uuid(name.as_bytes()).is_none()).then(|| self.stand_in(kind, name))
    }

    fn number(&mut self, rest: &[u8], before: Option<u8>) -> Found {
        let hex = count(rest, |b| b.is_ascii_hexdigit());
        match rest.get(hex) {
            _ if hex >= LEAST_HEX => self.hex(rest, hex),
            Some(b'-') if hex == 8 => self.uuid(rest),
            Some(b'.') if hex <= 3 && before != Some(b'.') => self.ipv4(rest),
            Some(b':' | b'-') if hex == 2 => self.mac(rest).or_else(|| self.ipv6(rest)),
            Some(b':') if hex <= 4 => self.ipv6(rest),
            _ => None,
        }
    }

    fn hex(&mut self, rest: &[u8], length: usize) -> Found {
        let digits = std::str::from_utf8(&rest[..length]).ok()?;
        // Digits that are only 0 and f are a mask of CPUs.
        let is_mask = digits.bytes().all(|b| b"0fF".contains(&b));
        (ends_word(rest, length) && !is_mask).then(|| (length, self.stand_in(Secret::Hex, digits)))
    }

    fn uuid(&mut self, rest: &[u8]) -> Found {
        const LENGTH: usize = 36;
        let text = std::str::from_utf8(rest.get(..LENGTH)?).ok()?;
        let fits = text.split('-').map(str::len).eq([8, 4, 4, 4, 12])
            && text.bytes().all(|b| b == b'-' || b.is_ascii_hexdigit());
        (fits && ends_word(rest, LENGTH)).then(|| (LENGTH, self.stand_in(Secret::Uuid, text)))
    }

    fn ipv4(&mut self, rest: &[u8]) -> Found {
        let rest = &rest[..rest.len().min(LONGEST_ADDRESS)];
        let length = count(rest, |b| b.is_ascii_digit() || b == b'.');
        let text = std::str::from_utf8(&rest[..length]).ok()?.trim_end_matches('.');
        let octets: Vec<u8> = text.split('.').map(str::parse).collect::<Result<_, _>>().ok()?;
        let is_public = matches!(octets.first(), Some(0 | 127 | 255)) || self.release.starts_with(text);
        (octets.len() == 4 && !is_public && ends_word(rest, text.len()))
            .then(|| (text.len(), self.stand_in(Secret::Ipv4, text)))
    }

    /// Finds a hardware address of at least six pairs of digits. Some buses have longer addresses than Ethernet.
    fn mac(&mut self, rest: &[u8]) -> Found {
        let rest = &rest[..rest.len().min(LONGEST_ADDRESS)];
        let separator = rest[2];
        let pairs = rest.chunks(3).take_while(|chunk| chunk.len() >= 2 && chunk[..2].iter().all(u8::is_ascii_hexdigit));
        let mut length = 0;
        let mut digits = String::new();
        for chunk in pairs {
            digits.extend(chunk[..2].iter().map(|b| char::from(*b)));
            length += 2;
            if chunk.get(2) != Some(&separator) {
                break;
            }
            length += 1;
        }
        let count = digits.len() / 2;
        let is_nobody = digits.bytes().all(|b| b == b'0') || digits.bytes().all(|b| b.eq_ignore_ascii_case(&b'f'));
        if count < 6 || length != count * 3 - 1 || is_nobody || !ends_word(rest, length) {
            return None;
        }
        let stand_in = self.stand_in(Secret::Mac, &digits);
        let padding = "00:".repeat(count - 6);
        Some((length, format!("{padding}{stand_in}").replace(':', &char::from(separator).to_string())))
    }

    /// Finds a network device named by its address, or the bare digits of an address that was found before.
    fn mac_name(&mut self, rest: &[u8]) -> Found {
        const DIGITS: usize = 12;
        let start = MAC_NAMES.iter().find(|start| rest.starts_with(start.as_bytes()));
        let skip = start.map_or(0, |start| start.len());
        let digits = rest.get(skip..skip + DIGITS).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit))?;
        let digits = std::str::from_utf8(digits).ok()?;
        let is_known = self.numbers.contains_key(&(Secret::Mac, digits.to_ascii_lowercase()));
        let is_end = rest.get(skip + DIGITS).is_none_or(|b| !b.is_ascii_alphanumeric());
        if !is_end || (start.is_none() && !is_known) {
            return None;
        }
        let stand_in = self.stand_in(Secret::Mac, digits).replace(':', "");
        Some((skip + DIGITS, format!("{}{stand_in}", start.unwrap_or(&""))))
    }

    fn ipv6(&mut self, rest: &[u8]) -> Found {
        let rest = &rest[..rest.len().min(LONGEST_ADDRESS)];
        let length = count(rest, |b| b.is_ascii_hexdigit() || b == b':');
        let text = std::str::from_utf8(&rest[..length]).ok()?;
        // A colon at the end is punctuation and not part of the address.
        let text = text.strip_suffix(':').filter(|shorter| !shorter.ends_with(':')).unwrap_or(text);
        let groups: Vec<&str> = text.split(':').collect();
        // The number of digits rules out texts like `0::`, with which a line of /proc/PID/cgroup begins.
        let digits = text.len() - (groups.len() - 1);
        let is_short = text.contains("::") && (3..=8).contains(&groups.len()) && digits >= LEAST_IPV6;
        let fits = (is_short || groups.len() == 8) && groups.iter().all(|group| group.len() <= 4);
        let is_public = text.bytes().all(|b| b == b':') || text == "::1";
        let is_end = ends_word(rest, text.len()) && rest.get(text.len()) != Some(&b'.');
        (fits && !is_public && is_end).then(|| (text.len(), self.stand_in(Secret::Ipv6, text)))
    }

    /// The line with its passwords and serial numbers masked; `None` if the line has none.
    fn assignment(&mut self, line: &str) -> Option<String> {
        // This check saves time: most lines have none of the letters with which the names of private values begin.
        if line.starts_with("CONFIG_") || !line.bytes().any(|b| matches!(b | 32, b'p' | b's' | b't' | b'a' | b'c')) {
            return None;
        }
        let lower = line.to_ascii_lowercase();
        let mut found = Vec::new();
        for (kind, name) in
            SECRETS.iter().map(|name| (Secret::Value, name)).chain(SERIALS.iter().map(|name| (Secret::Serial, name)))
        {
            let values = lower.match_indices(name).filter_map(|(start, _)| value_after(line, start + name.len()));
            found.extend(values.map(|(from, to)| (from, to, kind)));
        }
        found.retain(|(from, to, kind)| {
            // The kernel's log line `Serial: 8250/16550 driver` names a kind of port and not a serial number.
            let is_driver = line[..*from].ends_with("Serial: ") && line[*to..].contains(" driver");
            let is_masked = line[*from..*to].starts_with("masked-") || is_driver;
            !is_masked && (*kind != Secret::Serial || to - from >= LEAST_SERIAL)
        });
        found.sort_unstable();
        if found.is_empty() {
            return None;
        }
        let (mut out, mut copied) = (String::with_capacity(line.len()), 0);
        for (from, to, kind) in found {
            // A value within another value is masked together with it.
            if from >= copied {
                out.push_str(&line[copied..from]);
                out.push_str(&self.stand_in(kind, &line[from..to]));
                copied = to;
            }
        }
        out.push_str(&line[copied..]);
        Some(out)
    }
}

/// The start and end of the value that follows a name and `=` or `:`.
fn value_after(line: &str, end_of_name: usize) -> Option<(usize, usize)> {
    let bytes = line.as_bytes();
    let skip = |from: usize, what: &dyn Fn(u8) -> bool| from + count(&bytes[from..], what);
    let is_blank = |b: u8| matches!(b, b' ' | b'\t' | b'"' | b'\'');
    let sign = skip(end_of_name, &is_blank);
    if !matches!(bytes.get(sign), Some(b'=' | b':')) {
        return None;
    }
    let from = skip(sign + 1, &is_blank);
    let to = skip(from, &|b| !b.is_ascii_whitespace() && !matches!(b, b'"' | b'\'' | b',' | b';'));
    (from < to).then_some((from, to))
}

/// Finds `(user@host)` in the banner of a kernel: the person who built it, and the machine it was built on.
fn builder(rest: &[u8]) -> Found {
    let end = rest.iter().take(130).position(|b| *b == b')')?;
    let (user, host) = std::str::from_utf8(&rest[1..end]).ok()?.split_once('@')?;
    let is_name = |name: &str| !name.is_empty() && !name.contains(|c: char| c.is_whitespace() || c == '(');
    (is_name(user) && is_name(host)).then(|| (end + 1, "(masked-user@masked-host)".to_owned()))
}

fn count(bytes: &[u8], is_part: impl Fn(u8) -> bool) -> usize {
    bytes.iter().take_while(|b| is_part(**b)).count()
}

fn begins_word(bytes: &[u8], at: usize) -> bool {
    let is_ascii = bytes.get(at).is_some_and(u8::is_ascii);
    is_ascii && at.checked_sub(1).is_none_or(|before| !bytes[before].is_ascii_alphanumeric())
}

fn ends_word(bytes: &[u8], at: usize) -> bool {
    bytes.get(at).is_none_or(|b| !b.is_ascii_alphanumeric())
}

/// The length in bytes of the domain behind a host name: `.example.org`.
fn domain_length(rest: &[u8]) -> usize {
    let mut length = 0;
    while rest.get(length) == Some(&b'.') {
        let label = count(&rest[length + 1..], |b| b.is_ascii_alphanumeric() || b == b'-');
        if label == 0 {
            break;
        }
        length += 1 + label;
    }
    length
}

/// The length in bytes of a label, or of a disk's name with the path after it.
fn label_length(text: &str) -> usize {
    text.find(|c: char| c.is_whitespace() || c.is_control() || "\"',;)(]<>".contains(c)).unwrap_or(text.len())
}

/// The length in bytes of a file name, which ends with the word or before the next part of the path.
pub(super) fn name_length(text: &str) -> usize {
    text.find(|c: char| c.is_whitespace() || c.is_control() || "/:\"',;)(]<>".contains(c)).unwrap_or(text.len())
}
