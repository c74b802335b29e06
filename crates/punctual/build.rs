//! Packs the catalogues of translations, `catalogue/*.po`, into one compressed text, which becomes part of the program.
//!
//! The catalogues hold every text twice, in English and in Chinese. Unpacked they would be a tenth of the program.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=catalogue");
    let mut paths: Vec<PathBuf> =
        fs::read_dir("catalogue")?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "po"));
    // The order of a folder is an accident of the file system, and the same sources must make the same program.
    paths.sort();
    // The small program speaks English.
    if env::var_os("CARGO_FEATURE_EVERY_VERB").is_none() {
        paths.clear();
    }
    let out = env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("cargo sets OUT_DIR for a build script"))?;
    let file = fs::File::create(Path::new(&out).join("zh-CN.po.zz"))?;
    let mut packed = flate2::write::ZlibEncoder::new(file, flate2::Compression::best());
    for path in paths {
        packed.write_all(&fs::read(path)?)?;
    }
    packed.finish()?;
    Ok(())
}
