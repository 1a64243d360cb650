//! Arguments of `barograph images`.

use std::path::PathBuf;

use clap::Args as ClapArgs;

use super::RunArgs;

/// Writes the files of a container image with the parts of a plan, for nodes of other machines.
///
/// Docker, Podman or another builder makes the image of these files and pushes it to a registry. A plan names it
/// as deploy.kubernetes_image.
#[derive(ClapArgs)]
pub(crate) struct ImagesArgs {
    #[command(flatten)]
    pub(crate) run: RunArgs,
    /// Folder to write: a new one, or one with such files
    #[arg(short = 'o', long, value_name = "FOLDER", default_value = "image")]
    pub(crate) output: PathBuf,
    /// Image to build on; without it, that of this machine's release of Debian or Ubuntu
    #[arg(long, value_name = "IMAGE")]
    pub(crate) base: Option<String>,
}
