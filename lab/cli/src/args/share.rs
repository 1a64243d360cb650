//! Arguments of `barograph share`.

use std::path::PathBuf;

use barograph_share::PatternKind;
use clap::Args as ClapArgs;

use super::RecordArgs;

/// Packs a record or a study into one file, to be sent or published.
///
/// The files of the record are looked through first: absolute paths, host name and user name of this machine, passwords,
/// tokens and private keys are told with file and line, and refused unless they are allowed.
#[derive(ClapArgs)]
pub(crate) struct ShareArgs {
    #[command(flatten)]
    pub(crate) record: RecordArgs,
    /// File to write; without one, NAME.tar.zst in the working folder
    #[arg(short = 'o', long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// What may be in it all the same: path, host, user, password, token, key
    #[arg(long, value_name = "KIND,..", value_delimiter = ',', value_parser = kind)]
    pub(crate) allow: Vec<PatternKind>,
}

fn kind(text: &str) -> Result<PatternKind, String> {
    let all = PatternKind::ALL.map(PatternKind::name).join(", ");
    PatternKind::ALL.into_iter().find(|kind| kind.name() == text).ok_or_else(|| format!("allowed: {all}"))
}
