//! Information about the running kernel's modules, without loading them: whether a module exists, its path, and its
//! parameters.
//!
//! The answer is text: the first line is `built-in` or `file PATH`. Then follows a line `parm NAME TYPE` for each
//! parameter, with `-` for an unknown type. As in the kernel, `-` and `_` in a module's name are equivalent.

use super::files::{Files, bounded, fact};
use object::{Object, ObjectSection};
use punctual_facts::fact::Fact;
use std::collections::BTreeMap;
use std::io::{Cursor, ErrorKind};
use std::sync::OnceLock;

/// Limit on the unpacked bytes of a module. The largest graphics drivers have about 20 MB.
const MOST_BYTES: u64 = 64 << 20;

/// The running kernel's lists of modules, each read once.
#[derive(Debug, Default)]
pub(super) struct Modules {
    lists: OnceLock<Lists>,
}

#[derive(Debug)]
struct Lists {
    folder: String,
    /// Loadable modules, in lines of the form `PATH: DEPENDENCIES`.
    loadable: Fact<String>,
    /// Paths of built-in modules, one per line.
    built_in: Fact<String>,
    /// Entries `MODULE.KEY=VALUE`, each ended by a zero byte.
    built_in_info: Fact<String>,
}

impl Lists {
    fn read(files: &Files) -> Self {
        let text = |path: &str| files.file(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let folder = match text("/proc/sys/kernel/osrelease") {
            Fact::Known(release) => format!("/lib/modules/{}", release.trim()),
            _ => String::new(),
        };
        let list = |name: &str| if folder.is_empty() { Fact::Absent } else { text(&format!("{folder}/{name}")) };
        Self {
            loadable: list("modules.dep"),
            built_in: list("modules.builtin"),
            built_in_info: list("modules.builtin.modinfo"),
            folder,
        }
    }
}

impl Modules {
    pub(super) fn info(&self, files: &Files, name: &str) -> Fact<Vec<u8>> {
        if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-') {
            return Fact::Absent;
        }
        let lists = self.lists.get_or_init(|| Lists::read(files));
        let name = name.replace('-', "_");
        lists.info(files, &name).map(String::into_bytes)
    }
}

impl Lists {
    fn info(&self, files: &Files, name: &str) -> Fact<String> {
        let own = |entry: &str| {
            let (module, info) = entry.split_once('.')?;
            (module.replace('-', "_") == name).then(|| info.to_owned())
        };
        let entries: Vec<String> =
            self.built_in_info.known().map(|info| info.split('\0').filter_map(own).collect()).unwrap_or_default();
        let is_listed = || self.built_in.known().is_some_and(|list| list.lines().any(|path| module(path) == name));
        if !entries.is_empty() || is_listed() {
            return Fact::Known(described("built-in", entries.iter().map(String::as_str)));
        }
        let place = match &self.loadable {
            Fact::Known(list) => {
                list.lines().filter_map(|line| line.split(':').next()).find(|path| module(path) == name)
            }
            // Without the list, a name that is not found does not mean that the module does not exist.
            Fact::Absent => {
                return Fact::Garbled(format!("there is no list of this kernel's modules ({})", self.folder));
            }
            other => return other.clone(),
        };
        let Some(place) = place else { return Fact::Absent };
        let path = if place.starts_with('/') { place.to_owned() } else { format!("{}/{place}", self.folder) };
        match files.place(&path).and_then(std::fs::File::open).and_then(|file| bounded(file, MOST_BYTES)) {
            Ok(bytes) => match unpacked(&path, bytes).and_then(|elf| section(&elf)) {
                Ok(info) => Fact::Known(described(&format!("file {path}"), info.split('\0'))),
                Err(why) => Fact::Garbled(format!("{path}: {why}")),
            },
            // An update may remove the file before it changes the list.
            Err(e) if e.kind() == ErrorKind::NotFound => Fact::Garbled(format!("{path} is listed and not there")),
            Err(e) => fact(Err(e)),
        }
    }
}

/// The kernel's name of the module in the file at this path.
fn module(path: &str) -> String {
    let file = path.trim().rsplit('/').next().unwrap_or_default();
    file.split(".ko").next().unwrap_or_default().replace('-', "_")
}

fn unpacked(path: &str, bytes: Vec<u8>) -> Result<Vec<u8>, String> {
    let ending = path.rsplit('.').next().unwrap_or_default();
    let source = Cursor::new(bytes);
    let done = match ending {
        "gz" => bounded(flate2::read::GzDecoder::new(source), MOST_BYTES),
        "xz" => bounded(lzma_rust2::XzReader::new(source, false), MOST_BYTES),
        "zst" => {
            let decoder = ruzstd::decoding::StreamingDecoder::new(source).map_err(|e| e.to_string())?;
            bounded(decoder, MOST_BYTES)
        }
        _ => Ok(source.into_inner()),
    };
    done.map_err(|e| format!("cannot be unpacked: {e}"))
}

fn section(elf: &[u8]) -> Result<String, String> {
    let file = object::File::parse(elf).map_err(|e| e.to_string())?;
    let section = file.section_by_name(".modinfo").ok_or("has no section .modinfo")?;
    let bytes = section.data().map_err(|e| e.to_string())?;
    Ok(String::from_utf8_lossy(bytes).into_owned())
}

/// The text of an answer: the place of the module, and its parameters in alphabetical order.
fn described<'a>(place: &str, entries: impl Iterator<Item = &'a str>) -> String {
    let mut parameters: BTreeMap<String, String> = BTreeMap::new();
    for entry in entries {
        if let Some((name, kind)) = entry.strip_prefix("parmtype=").and_then(|value| value.split_once(':')) {
            parameters.insert(one_word(name), one_word(kind));
        } else if let Some((name, _)) = entry.strip_prefix("parm=").and_then(|value| value.split_once(':')) {
            parameters.entry(one_word(name)).or_insert_with(|| "-".to_owned());
        }
    }
    let lines = parameters.into_iter().map(|(name, kind)| format!("parm {name} {kind}\n"));
    std::iter::once(format!("{place}\n")).chain(lines).collect()
}

fn one_word(text: &str) -> String {
    let word: String = text.chars().map(|c| if c.is_whitespace() || c.is_control() { '_' } else { c }).collect();
    if word.is_empty() { "-".to_owned() } else { word }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::Write as _;
    use std::path::Path;

    const INFO: &[u8] = b"license=GPL\0parmtype=modeset:int\0parm=modeset:Use it or not\0parm=odd:no type\0\
        parmtype=names:array of charp\0";

    /// The smallest relocatable ELF file with a section of this name and content.
    fn elf(section: &[u8], content: &[u8]) -> Vec<u8> {
        let mut object = object::write::Object::new(
            object::BinaryFormat::Elf,
            object::Architecture::X86_64,
            object::Endianness::Little,
        );
        let id = object.add_section(Vec::new(), section.to_vec(), object::SectionKind::ReadOnlyData);
        object.append_section_data(id, content, 1);
        object.write().unwrap()
    }

    fn gz(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn xz(bytes: &[u8]) -> Vec<u8> {
        let options = lzma_rust2::XzOptions::with_preset(1);
        let mut encoder = lzma_rust2::XzWriter::new(Vec::new(), options).unwrap();
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn zst(bytes: &[u8]) -> Vec<u8> {
        ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
    }

    fn machine(folder: &Path) -> Files {
        let modules = folder.join("lib/modules/6.12.1");
        fs::create_dir_all(modules.join("kernel")).unwrap();
        fs::create_dir_all(folder.join("proc/sys/kernel")).unwrap();
        fs::write(folder.join("proc/sys/kernel/osrelease"), "6.12.1\n").unwrap();
        let good = elf(b".modinfo", INFO);
        fs::write(modules.join("kernel/nice-card.ko"), &good).unwrap();
        fs::write(modules.join("kernel/packed.ko.gz"), gz(&good)).unwrap();
        fs::write(modules.join("kernel/packed_xz.ko.xz"), xz(&good)).unwrap();
        fs::write(modules.join("kernel/packed_zst.ko.zst"), zst(&good)).unwrap();
        fs::write(modules.join("kernel/torn.ko.gz"), &gz(&good)[..30]).unwrap();
        fs::write(modules.join("kernel/torn_xz.ko.xz"), b"\xfd7zXZ\0rubbish").unwrap();
        fs::write(modules.join("kernel/torn_zst.ko.zst"), b"\x28\xb5\x2f\xfdrubbish").unwrap();
        fs::write(modules.join("kernel/mute.ko"), elf(b".other", INFO)).unwrap();
        let dep: String = [
            "nice-card.ko",
            "packed.ko.gz",
            "packed_xz.ko.xz",
            "packed_zst.ko.zst",
            "torn.ko.gz",
            "torn_xz.ko.xz",
            "torn_zst.ko.zst",
            "mute.ko",
            "gone.ko",
        ]
        .map(|name| format!("kernel/{name}: kernel/other.ko\n"))
        .concat();
        fs::write(modules.join("modules.dep"), dep).unwrap();
        fs::write(modules.join("modules.builtin"), "kernel/drivers/quiet-one.ko\n").unwrap();
        fs::write(modules.join("modules.builtin.modinfo"), b"processor.parmtype=max_cstate:uint\0other.license=GPL\0")
            .unwrap();
        Files::new(folder.to_owned())
    }

    #[test]
    fn a_module_tells_where_it_is_and_what_it_takes() {
        let folder = tempfile::tempdir().unwrap();
        let files = machine(folder.path());
        let modules = Modules::default();
        let info = |name: &str| modules.info(&files, name).map(|b| String::from_utf8(b).unwrap());
        let parameters = "parm modeset int\nparm names array_of_charp\nparm odd -\n";
        let expected = |path: &str| Fact::Known(format!("file /lib/modules/6.12.1/kernel/{path}\n{parameters}"));
        assert_eq!(info("nice_card"), expected("nice-card.ko"));
        assert_eq!(info("nice-card"), expected("nice-card.ko"));
        assert_eq!(info("packed"), expected("packed.ko.gz"));
        assert_eq!(info("packed_xz"), expected("packed_xz.ko.xz"));
        assert_eq!(info("packed_zst"), expected("packed_zst.ko.zst"));
        assert_eq!(info("processor"), Fact::Known("built-in\nparm max_cstate uint\n".to_owned()));
        assert_eq!(info("quiet_one"), Fact::Known("built-in\n".to_owned()));
        for absent in ["elephant", "other.ko", "", "a/../b"] {
            assert_eq!(info(absent), Fact::Absent, "{absent}");
        }
        for broken in ["torn", "torn_xz", "torn_zst", "mute", "gone"] {
            assert!(matches!(info(broken), Fact::Garbled(_)), "{broken}");
        }
    }

    #[test]
    fn without_the_list_nothing_is_absent() {
        let folder = tempfile::tempdir().unwrap();
        let files = Files::new(folder.path().to_owned());
        assert!(matches!(Modules::default().info(&files, "i915"), Fact::Garbled(_)));
    }
}
