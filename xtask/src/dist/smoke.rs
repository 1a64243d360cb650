//! The main job in small, run from the root of the image: nothing of this machine except its kernel, `/dev`
//! and `/proc`.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};

use super::{IMAGE, image, make};
use crate::say::say;

/// Prepares the container like an engine, and starts the program. `$1` is the root, the rest are its
/// arguments.
const CONTAINER: &str = "set -e; root=$1; shift; mkdir -p $root/dev $root/proc; mount --bind /dev $root/dev; \
                         mount -t proc proc $root/proc; cd $root/bench; exec chroot $root /barograph \"$@\"";

/// Exit codes of a completed run. The verdict, which depends on the machine's load, is not judged; failed
/// operations are.
const ENDED: [i32; 3] = [0, 4, 9];

/// Result of the test of the image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Image {
    Works,
    /// This user lacks the rights; the reason was printed.
    Skipped,
}

/// Makes the image from the test build and runs the main job in it.
pub(crate) fn main_job(root: &Path) -> anyhow::Result<Image> {
    if !rustix::process::geteuid().is_root() {
        say("skipped image: only root may change the root folder of a process");
        return Ok(Image::Skipped);
    }
    let dist = make(root, "dev")?;
    let place = tempfile::tempdir().context("make a folder for the image")?;
    image::unpack(&fs::read(dist.join(IMAGE))?, place.path())?;
    let output = Command::new("unshare")
        .args(["--mount", "--pid", "--fork", "--kill-child", "sh", "-c", CONTAINER, "image"])
        .arg(place.path())
        .args(["run", "--set", "runs=/bench/runs", "--set", "data.dir=/bench/data"])
        .args(small(root)?)
        .output()
        .context("start unshare")?;
    let ended = output.status.code().is_some_and(|code| ENDED.contains(&code));
    let said =
        format!("{}{}", String::from_utf8_lossy(&output.stderr), String::from_utf8_lossy(&output.stdout));
    let verdict = verdict(&place.path().join("bench/runs"));
    if !ended || verdict.is_err() {
        say(said.trim_end());
    }
    ensure!(ended, "the main job in the image ended with {}", output.status);
    let Verdict { sentence, failed } = verdict?;
    say(&format!("in the image: {sentence}"));
    ensure!(failed == 0, "{failed} operations failed in the image, where none may");
    Ok(Image::Works)
}

/// The keys that make the main job small, as arguments of `--set`.
fn small(root: &Path) -> anyhow::Result<Vec<String>> {
    let text = fs::read_to_string(root.join("plans/auction.smoke.toml")).context("read the smoke plan")?;
    let tables: toml::Table = text.parse().context("understand the smoke plan")?;
    let keys = tables.iter().filter_map(|(table, keys)| Some((table, keys.as_table()?)));
    let keys = keys.flat_map(|(table, keys)| keys.iter().map(move |(key, value)| (table, key, value)));
    Ok(keys.flat_map(|(table, key, value)| ["--set".to_owned(), format!("{table}.{key}={value}")]).collect())
}

/// The end of a run.
struct Verdict {
    sentence: String,
    /// Operations that failed in its windows.
    failed: u64,
}

/// The end of the only run.
fn verdict(runs: &Path) -> anyhow::Result<Verdict> {
    let run = fs::read_dir(runs).context("find the record")?.next().context("find the run")??;
    let text = fs::read_to_string(run.path().join("run.jsonl")).context("read the record")?;
    let entries: Vec<serde_json::Value> =
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let verdict = entries.iter().rfind(|entry| entry["kind"] == "verdict").context("find the verdict")?;
    let trials = entries.iter().filter(|entry| entry["kind"] == "trial");
    let ops = trials.filter_map(|trial| trial["window"]["ops"].as_array()).flatten();
    Ok(Verdict {
        sentence: verdict["sentence"].as_str().unwrap_or_default().to_owned(),
        failed: ops.filter_map(|op| op["failed"].as_u64()).sum(),
    })
}
