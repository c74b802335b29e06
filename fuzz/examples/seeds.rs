//! Writes the seeds of the fuzz targets from the golden files: `cargo run --example seeds` in this directory.
//!
//! Seeds are not committed, because they can be made from the golden files at any time.

use punctual_numbers::trace::EVENTS;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

fn main() -> io::Result<()> {
    recording_decode()?;
    machines()?;
    traces()?;
    foreign()?;
    texts()
}

fn corpus(target: &str) -> io::Result<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
    fs::create_dir_all(&directory)?;
    Ok(directory)
}

fn recording_decode() -> io::Result<()> {
    let directory = corpus("recording_decode")?;
    let golden = golden();
    fs::write(directory.join("file"), [&[0][..], &golden].concat())?;
    let mut rest = golden.iter().position(|byte| *byte == b'\n').map_or(&[][..], |end| &golden[end + 1..]);
    let (mut number, mut merge) = (0, vec![0, 60, 120]);
    // Layout of a frame: [u32 length][u8 kind][payload][u32 checksum]. Kind and payload become the seed.
    while let Some((length, framed)) = rest.split_first_chunk::<4>() {
        let length = u32::from_le_bytes(*length) as usize;
        fs::write(directory.join(format!("frame-{number}")), &framed[..1 + length])?;
        // Frame 0 is the header, which the target `recording_merge` adds itself. Each other frame is put into all three
        // recordings.
        if let Some(short) = u8::try_from(length).ok().filter(|_| number > 0) {
            for file in 0..3 {
                merge.extend([&[file, framed[0], short], &framed[1..1 + length]].concat());
            }
        }
        rest = &framed[1 + length + 4..];
        number += 1;
    }
    fs::write(corpus("recording_merge")?.join("all"), merge)
}

/// Writes seeds of traces: pages, and formats of events, of real kernels.
fn traces() -> io::Result<()> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/trace");
    let (pages, formats) = (corpus("trace_page")?, corpus("trace_format")?);
    for entry in fs::read_dir(fixtures.join("6.18"))? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "pages") {
            for (number, page) in fs::read_to_string(&path)?.split("\n\n").enumerate() {
                let digits: Vec<u8> = page.bytes().filter(u8::is_ascii_hexdigit).collect();
                let value = |digit: u8| char::from(digit).to_digit(16).unwrap_or(0) as u8;
                let bytes: Vec<u8> = digits.chunks(2).map(|pair| value(pair[0]) << 4 | value(pair[1])).collect();
                fs::write(pages.join(format!("page-{number}")), bytes)?;
            }
        }
    }
    for (number, part) in fs::read_to_string(fixtures.join("6.18/formats"))?.split("== ").skip(1).enumerate() {
        let (path, text) = part.split_once('\n').unwrap_or_default();
        let which = EVENTS.iter().position(|wanted| wanted.path() == path).unwrap_or(0) as u8;
        fs::write(formats.join(format!("format-{number}")), [&[which, 255], text.as_bytes()].concat())?;
    }
    Ok(())
}

/// Writes seeds of machines: captured ones, and the test cases of every knob.
fn machines() -> io::Result<()> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures");
    let (snapshots, audits, masks) = (corpus("machine_snapshot")?, corpus("machine_audit")?, corpus("machine_mask")?);
    for entry in fs::read_dir(fixtures.join("machines"))? {
        let path = entry?.path();
        let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        if path.extension().is_some_and(|ending| ending == "machine") {
            let text = fs::read(&path)?;
            fs::write(snapshots.join(&name), &text)?;
            fs::write(masks.join(&name), [&[7][..], &text[..text.len().min(4096)]].concat())?;
        }
    }
    for entry in fs::read_dir(fixtures.join("knobs"))? {
        let path = entry?.path();
        if path.extension().is_none_or(|ending| ending != "cases") {
            continue;
        }
        let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        for (number, case) in fs::read_to_string(&path)?.split("\n[").enumerate() {
            let body = case.split_once('\n').map_or("", |(_, body)| body);
            fs::write(audits.join(format!("{stem}-{number}")), [&[1][..], body.as_bytes()].concat())?;
        }
    }
    Ok(())
}

/// Writes seeds of files of other programs, whose format the importer must recognise by itself.
fn foreign() -> io::Result<()> {
    let seeds = corpus("foreign_import")?;
    for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/foreign"))? {
        let path = entry?.path();
        if path.is_file() {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            fs::write(seeds.join(name), [&[0, 1, 128][..], &fs::read(&path)?].concat())?;
        }
    }
    Ok(())
}

fn texts() -> io::Result<()> {
    let lists = corpus("cpu_lists")?;
    for (number, text) in ["0-3,8", "f,00000003", "0x3", "", "all", "0-31:2/4", "8191", "3-1"].iter().enumerate() {
        fs::write(lists.join(number.to_string()), text)?;
    }
    let lines = corpus("cmdline_lint")?;
    for (number, line) in [
        "BOOT_IMAGE=/vmlinuz root=UUID=0 ro quiet isolcpus=managed_irq,domain,2-3 nohz_full=2-3 -- single",
        "pcie_asmp=off foo=\"a b\" i915.enable_rc6=0 sysctl.kernel.x=1 rcu-nocbs=all",
    ]
    .iter()
    .enumerate()
    {
        fs::write(lines.join(number.to_string()), [&[6, 12, 2, 8][..], line.as_bytes()].concat())?;
    }
    fs::write(corpus("module_info")?.join("listed"), b"\x08x.parmtype=max_cstate:uint\0x.parm=odd:text\0")
}

fn golden() -> Vec<u8> {
    let hex = include_str!("../../fixtures/recordings/format-1.hex");
    let digits: Vec<u32> = hex.chars().filter_map(|digit| digit.to_digit(16)).collect();
    digits.chunks_exact(2).map(|pair| (pair[0] * 16 + pair[1]) as u8).collect()
}
