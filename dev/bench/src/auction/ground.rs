//! The setting of measurements: the program, the filled data, the folder of raw output.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, bail};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::auction::options::Options;
use crate::product;
use crate::say::say;

/// History factor of the data: that of plans/auction-fixed.toml.
const HISTORY: &str = "0.1";
/// Image factor of the data, from the same plan.
const IMAGES: &str = "0.02";

pub(crate) struct BenchSetup {
    /// The workspace.
    pub(crate) root: PathBuf,
    /// The measured program.
    pub(crate) program: PathBuf,
    /// The filled data set.
    pub(crate) data: PathBuf,
    /// Name of its size.
    pub(crate) size: String,
    /// Raw output of this measurement.
    pub(crate) raw: PathBuf,
}

impl BenchSetup {
    /// Finds the program and fills the data, if need be.
    pub(crate) fn prepare(options: &Options) -> anyhow::Result<BenchSetup> {
        let root = crate::root().to_path_buf();
        let program = match &options.program {
            Some(program) => program.clone(),
            None => product::built(&root)?,
        };
        let bench = root.join("target/bench/auction");
        let ground = BenchSetup {
            data: bench.join(format!("data-{}", options.size)),
            size: options.size.clone(),
            raw: bench.join(format!("{:?}", options.part).to_lowercase()),
            program: program.canonicalize().with_context(|| format!("find {}", program.display()))?,
            root,
        };
        std::fs::create_dir_all(&ground.raw).context("make the folder of raw output")?;
        raise_open_files();
        ground.fill()?;
        Ok(ground)
    }

    /// A command of the program.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(words).current_dir(&self.root).stdin(Stdio::null());
        command
    }

    /// Number of a user that no load of fewer users than the data admit signs in.
    pub(crate) fn spare_user(&self) -> u32 {
        barograph_auction::sizes::find(&self.size).map_or(1, |size| size.max_users)
    }

    /// The settings of the data in a plan.
    pub(crate) fn data_settings(&self) -> Vec<String> {
        vec![
            format!("data.size={}", self.size),
            format!("data.history={HISTORY}"),
            format!("data.images={IMAGES}"),
        ]
    }

    fn fill(&self) -> anyhow::Result<()> {
        say(&format!("data       {}", self.data.display()));
        let mut command = self.command(&["fill", "auction", "--size", &self.size, "--history", HISTORY]);
        command.args(["--images", IMAGES, "--data"]).arg(&self.data);
        said(&mut command).context("fill the data").map(drop)
    }
}

/// Runs a command that must succeed; returns its output.
pub(crate) fn said(command: &mut Command) -> anyhow::Result<String> {
    let output = command.output().with_context(|| format!("start {command:?}"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if !output.status.success() {
        bail!("{command:?} ended with {}: {}{}", output.status, text(&output.stdout), text(&output.stderr));
    }
    Ok(text(&output.stdout))
}

/// Raises the limit of open files, for thousands of followers and idle connections.
fn raise_open_files() {
    let now = getrlimit(Resource::Nofile);
    // If it is refused, connections fail later with an error.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: now.maximum, maximum: now.maximum });
}
