//! Maven, for engines whose programs are in no package of Debian: fetched once, with our jobs compiled into them.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail};

use crate::dist::{files, sha256, sums};
use crate::packages::present;
use crate::say::say;

/// Time limit of a build in seconds: it takes about one minute, and longer only without a network.
const LIMIT_S: &str = "300";

/// An engine for tests and jobs.
struct Engine {
    /// Its folder in `target/tools`, and its program there.
    name: &'static str,
    product: &'static str,
    /// Its manager in `services`, which states the version.
    service: &'static str,
    /// Folder of its `pom.xml` and its program.
    sources: &'static str,
}

/// All engines.
const ENGINES: [Engine; 2] = [
    Engine {
        name: "spark",
        product: "Apache Spark",
        service: "spark",
        sources: "workloads/sort/engines/spark",
    },
    Engine {
        name: "hadoop",
        product: "Apache Hadoop",
        service: "yarn",
        sources: "workloads/sort/engines/hadoop",
    },
];

/// File of an engine with its version, for its program.
const VERSION: &str = "version";

/// File of an engine with the digest of its sources.
const DIGEST: &str = "digest";

/// Makes the engines that are missing, or made of other sources. Returns the number still missing, each after
/// a message.
pub(crate) fn build_missing(root: &Path) -> u32 {
    let missing = ENGINES.iter().filter(|engine| {
        let Engine { name, product, .. } = engine;
        let place = root.join("target/tools").join(name);
        let made = make(root, engine, &place);
        if let Err(error) = &made {
            say(&format!(
                "skipped: the tests of sorts on {product} need {} ({error:#}); with a JDK of version 17 and Maven, \
                 `cargo xtask tools` makes it",
                place.display()
            ));
        }
        made.is_err()
    });
    u32::try_from(missing.count()).expect("the list is short")
}

/// Makes an engine at `place`, unless it is there and of these sources.
fn make(root: &Path, engine: &Engine, place: &Path) -> anyhow::Result<()> {
    let version = version(root, engine)?;
    let digest = digest(&version, &files(&root.join(engine.sources))?);
    if fs::read_to_string(place.join(DIGEST)).is_ok_and(|made| made == digest) {
        return Ok(());
    }
    say(&format!("fetching {} {version} for the tests of sorts on engines, once", engine.product));
    build(root, engine, [(VERSION, &version), (DIGEST, &digest)], place)
}

/// The version with which the tests of the service passed last.
fn version(root: &Path, engine: &Engine) -> anyhow::Result<String> {
    let path = root.join("services").join(engine.service).join("service.toml");
    let text = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
    let service: toml::Table = text.parse().with_context(|| format!("understand {}", path.display()))?;
    let tried = service.get("versions_tried").and_then(toml::Value::as_array).and_then(|tried| tried.last());
    let version = tried.and_then(toml::Value::as_str).context("find a version in it")?;
    Ok(version.to_owned())
}

/// A digest of everything from which an engine is made.
fn digest(version: &str, sources: &[(String, Vec<u8>)]) -> String {
    sha256(format!("{version}\n{}", sums(sources)).as_bytes())
}

/// Makes an engine with these notes at `to`, where it takes the place of another one only when it is whole.
fn build(root: &Path, engine: &Engine, notes: [(&str, &str); 2], to: &Path) -> anyhow::Result<()> {
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
    let [(_, version), _] = notes;
    let output = Command::new("timeout")
        .args([LIMIT_S, "mvn", "--quiet", "--batch-mode", "package"])
        .arg(format!("-Dengine={version}"))
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
    for (name, text) in notes {
        fs::write(made.join(name), text)?;
    }
    if to.exists() {
        fs::rename(to, folder.path().join("before")).context("remove the engine that was there")?;
    }
    fs::rename(&made, to).context("move the engine to its place")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_of_this_version_and_these_sources_is_not_made_again() {
        let folder = tempfile::tempdir().unwrap();
        let (root, engine) = (folder.path(), &ENGINES[0]);
        let write = |path: &str, text: &str| {
            fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            fs::write(root.join(path), text).unwrap();
        };
        write("services/spark/service.toml", "versions_tried = [\"1.4\", \"1.5\"]");
        write("workloads/sort/engines/spark/pom.xml", "<project/>");
        assert_eq!(version(root, engine).unwrap(), "1.5");
        let sources = files(&root.join(engine.sources)).unwrap();
        write("made/digest", &digest("1.5", &sources));
        make(root, engine, &root.join("made")).unwrap();
        let other = [("pom.xml".to_owned(), b"<project></project>".to_vec())];
        assert!(digest("1.5", &sources) != digest("1.4", &sources));
        assert!(digest("1.5", &sources) != digest("1.5", &other));
    }

    #[test]
    fn engines_have_versions_and_programs() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        for engine in &ENGINES {
            assert!(version(root, engine).unwrap().contains('.'), "{}", engine.name);
            let sources = files(&root.join(engine.sources)).unwrap();
            assert!(sources.iter().any(|(name, _)| name == engine.name), "{}", engine.name);
        }
    }
}
