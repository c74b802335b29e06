//! `punctual merge`: joins several runs of one scenario into one recording.

use crate::cli::MergeArgs;
use crate::commands::files::refuse_pipe;
use crate::commands::here::reader;
use crate::exit::Exit;
use crate::render;
use crate::render::words::answer::brief;
use crate::render::words::next::Wording;
use anyhow::{Result, bail};
use punctual_linux::merge::merge;
use punctual_linux::recording::read_file;
use punctual_numbers::recording::{Merging, Recording};
use punctual_numbers::report::Report;

/// Reads all recordings, refuses those that do not belong together, and writes one. Exits with 3 if a recording was cut
/// off.
pub fn run(args: &MergeArgs) -> Result<Exit> {
    args.recordings.iter().try_for_each(|path| refuse_pipe(path))?;
    let recordings = args.recordings.iter().map(|path| read_file(path)).collect::<Result<Vec<Recording>, _>>()?;
    let merging = match Merging::of(&recordings) {
        Ok(merging) => merging,
        Err(against) => bail!("{}", render::words::runs::unmergeable(&against, &args.recordings)),
    };
    let bytes = merge(&merging, &args.recordings, &args.out)?;
    let merged = read_file(&args.out)?;
    render::print(&if args.json {
        let report = Report::of(&merged);
        render::json::check(Wording { report: &report, reader: &reader(), recording: Some(&args.out) })?
    } else if args.form.brief {
        brief(&Report::of(&merged), Some(&args.out))
    } else {
        render::for_people(|| {
            render::text::merged(&merged, &recordings, &args.recordings, (&args.out, bytes), render::style())
        })
    })?;
    Ok(Exit::doubtful_if(recordings.iter().any(|recording| recording.cut_off.is_some())))
}
