//! Maven, for engines whose programs are in no package of Debian: fetched once, with our jobs compiled into them.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail};

use crate::packages::present;
use crate::say::say;

/// Time limit of a build in seconds: it takes about one minute, and longer only without a network.
const LIMIT_S: &str = "300";

/// An engine for tests and jobs.
struct Engine {
    /// Its folder in `target/tools`, and its program there.
    name: &'static str,
    /// Its product with the version.
    title: &'static str,
    /// Folder of its `pom.xml` and its program.
    sources: &'static str,
}

/// All engines.
const ENGINES: [Engine; 2] = [
    Engine { name: "spark", title: "Apache Spark 3.5.6", sources: "workloads/sort/engines/spark" },
    Engine { name: "hadoop", title: "Apache Hadoop 3.3.6", sources: "workloads/sort/engines/hadoop" },
];

/// Makes the engines that are missing. Returns the number still missing, each after a message.
pub(crate) fn build_missing(root: &Path) -> u32 {
    let missing = ENGINES.iter().filter(|engine| {
        let Engine { name, title, .. } = engine;
        let place = root.join("target/tools").join(name);
        if place.join(name).is_file() {
            return false;
        }
        say(&format!("fetching {title} for the tests of sorts on engines, once"));
        let made = build(root, engine, &place);
        if let Err(error) = &made {
            say(&format!(
                "skipped: the tests of sorts on {title} need {} ({error:#}); with a JDK of version 17 and Maven, \
                 `cargo xtask tools` makes it",
                place.display()
            ));
        }
        made.is_err()
    });
    u32::try_from(missing.count()).expect("the list is short")
}

/// Makes an engine at `to`, which appears only when it is whole.
fn build(root: &Path, engine: &Engine, to: &Path) -> anyhow::Result<()> {
    for program in ["mvn", "javac"] {
        if !present(program) {
            bail!("there is no {program}");
        }
    }
    let tools = to.parent().context("find the folder of tools")?;
    fs::create_dir_all(tools)?;
    let folder = tempfile::Builder::new().prefix(".building-").tempdir_in(tools)?;
    for file in fs::read_dir(root.join(engine.sources)).context("read the sources")? {
        let file = file?;
        fs::copy(file.path(), folder.path().join(file.file_name()))?;
    }
    let output = Command::new("timeout")
        .args([LIMIT_S, "mvn", "--quiet", "--batch-mode", "package"])
        .current_dir(folder.path())
        .output()
        .context("start mvn")?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        bail!("mvn package: {}", said.lines().next().unwrap_or("it ended without a word"));
    }
    let made = folder.path().join("made");
    fs::create_dir(&made)?;
    for name in ["target/jars", engine.name] {
        let of = Path::new(name);
        fs::rename(folder.path().join(of), made.join(of.file_name().context("name a part")?))?;
    }
    fs::rename(&made, to).context("move the engine to its place")
}
