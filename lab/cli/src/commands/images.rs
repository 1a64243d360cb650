//! `barograph images`: the files of a container image with the parts of a plan.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use barograph_harness::planned;
use barograph_platform_kubernetes::IMAGE_USER;
use barograph_record::{ExitCode, draft_of, write_whole};
use barograph_services::Service;
use barograph_spec::is_certain_image;
use barograph_workload::topology;
use rustix::process::getuid;
use tar::{Builder, EntryType, Header, HeaderMode};

use super::{CommandFailure, CommandResult, check};
use crate::args::{ImagesArgs, RunArgs};
use crate::terminal;

/// File with the steps of the build.
const STEPS: &str = "Containerfile";

/// Archive of the programs that are in no package, at their paths on this machine.
const PROGRAMS: &str = "programs.tar";

/// Writes both files.
pub(crate) fn images(args: &ImagesArgs) -> CommandResult {
    let refused = |why: anyhow::Error| CommandFailure::new(ExitCode::Refused, why);
    let base = base(args.base.as_deref()).map_err(refused)?;
    let loads = check::load(&args.run)?;
    let planned = planned(&loads);
    let services = topology::services(planned.iter().flat_map(|planned| &planned.topology.parts));
    if let Some(missing) = services.iter().find_map(|service| service.missing()) {
        return Err(refused(anyhow!("{}; {}", missing.what, missing.hint)));
    }
    check_folder(&args.output).map_err(refused)?;

    let packages: BTreeSet<&str> =
        services.iter().flat_map(|service| service.packages()).map(String::as_str).collect();
    let written = write(&args.output, &services, &base, &packages);
    let programs = written.map_err(|why| CommandFailure::new(ExitCode::CannotWrite, why))?;
    let folder = args.output.display();
    terminal::result(&format!(
        "image     {folder}: {base}, packages {}, programs {programs}\n\
         next      docker build --file {folder}/{STEPS} --tag REGISTRY/barograph:1 {folder}\n          \
         docker push REGISTRY/barograph:1\n          {}",
        packages.len(),
        run_of(&args.run)
    ));
    Ok(ExitCode::Fine)
}

/// The command that runs the plan with the image.
fn run_of(args: &RunArgs) -> String {
    let plan = args.plan.iter().map(|plan| format!(" {}", plan.display()));
    let cluster = [
        ("platform=", "kubernetes"),
        ("deploy.kubernetes_image=", "REGISTRY/barograph:1"),
        ("deploy.kubernetes_files=", "sent"),
    ];
    let others = args.sets.iter().filter(|set| !cluster.iter().any(|(key, _)| set.starts_with(key)));
    let sets = others.cloned().chain(cluster.iter().map(|(key, value)| format!("{key}{value}")));
    format!("barograph run{}", plan.chain(sets.map(|set| format!(" --set {set}"))).collect::<String>())
}

/// The image to build on: the given one, or that of this machine's release.
fn base(given: Option<&str>) -> anyhow::Result<String> {
    match given {
        Some(image) if is_certain_image(image) => Ok(image.to_owned()),
        Some(image) => Err(anyhow!(
            "--base is `{image}`; give an image by its digest or with a tag other than `latest`, as debian:12"
        )),
        None => release(&fs::read_to_string("/etc/os-release").unwrap_or_default()).ok_or_else(|| {
            anyhow!("this machine is of no release of Debian or Ubuntu; give an image with their packages as --base")
        }),
    }
}

/// The image of the release that an `os-release` file names; `None` if it has no packages of Debian.
fn release(facts: &str) -> Option<String> {
    let value = |key: &str| {
        let found = facts.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='))?;
        Some(found.trim_matches(['"', '\'']))
    };
    let name = value("ID").filter(|name| ["debian", "ubuntu"].contains(name))?;
    Some(format!("{name}:{}", value("VERSION_ID")?))
}

/// Refuses a folder with other files, which a build would read.
fn check_folder(folder: &Path) -> anyhow::Result<()> {
    let name = folder.display();
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(why) => return Err(why).with_context(|| format!("read `{name}`")),
    };
    for entry in entries {
        let file = entry.with_context(|| format!("read `{name}`"))?.file_name();
        if file != STEPS && file != PROGRAMS {
            let file = file.display();
            return Err(anyhow!("`{name}` has other files, as `{file}`; name a new folder with --output"));
        }
    }
    Ok(())
}

/// Writes both files, each whole or not at all; returns the number of programs.
fn write(
    folder: &Path,
    services: &[&'static Service],
    base: &str,
    packages: &BTreeSet<&str>,
) -> anyhow::Result<usize> {
    let own = std::env::current_exe().context("find this program")?;
    let beside = services.iter().flat_map(|service| service.programs_beside_packages());
    let programs = outermost(&beside.chain([own.clone()]).collect());
    fs::create_dir_all(folder).with_context(|| format!("make `{}`", folder.display()))?;
    let archive = folder.join(PROGRAMS);
    let draft = draft_of(&archive);
    let written = write_archive(&programs, &draft).and_then(|()| Ok(fs::rename(&draft, &archive)?));
    if written.is_err() {
        // The remains are useless, and the first error is more specific.
        let _ = fs::remove_file(&draft);
    }
    written.with_context(|| format!("write `{}`", archive.display()))?;
    write_whole(&folder.join(STEPS), steps(base, packages, &own).as_bytes())?;
    Ok(programs.len())
}

/// The steps of the build.
fn steps(base: &str, packages: &BTreeSet<&str>, own: &Path) -> String {
    let mut text = format!("FROM {base}\n");
    if !packages.is_empty() {
        let packages: Vec<_> = packages.iter().copied().collect();
        text.push_str(&format!(
            "RUN apt-get update \\\n    && DEBIAN_FRONTEND=noninteractive apt-get install -y \
             --no-install-recommends {} \\\n    && rm -rf /var/lib/apt/lists/*\n",
            packages.join(" ")
        ));
    }
    text.push_str("# Services that refuse root need a user with a name.\n");
    let user = Some(getuid()).filter(|user| !user.is_root()).map_or(IMAGE_USER, |user| user.as_raw());
    text.push_str(&format!("RUN getent passwd {user} || useradd --uid {user} barograph\n"));
    text.push_str(&format!("ADD {PROGRAMS} /\nENTRYPOINT [{:?}]\n", own.display().to_string()));
    text
}

/// The paths that are not in a folder that is one of them.
fn outermost(all: &BTreeSet<PathBuf>) -> BTreeSet<PathBuf> {
    let is_within = |path: &PathBuf| path.ancestors().skip(1).any(|above| all.contains(above));
    all.iter().filter(|path| !is_within(path)).cloned().collect()
}

/// Writes files and whole folders below their paths, and the folders above them, which all users may enter.
fn write_archive(paths: &BTreeSet<PathBuf>, to: &Path) -> anyhow::Result<()> {
    let mut archive = Builder::new(BufWriter::new(File::create(to)?));
    archive.mode(HeaderMode::Deterministic);
    // Builders of images do not read sparse members.
    archive.sparse(false);
    let above: BTreeSet<&Path> = paths.iter().flat_map(|path| path.ancestors().skip(1)).collect();
    for folder in above.into_iter().filter(|folder| folder.parent().is_some()) {
        let mut header = Header::new_gnu();
        header.set_entry_type(EntryType::Directory);
        header.set_size(0);
        header.set_mode(fs::metadata(folder)?.permissions().mode() & 0o7777 | 0o555);
        archive.append_data(&mut header, below_root(folder), io::empty())?;
    }
    for path in paths {
        // Links within an installation stay links.
        archive.follow_symlinks(!path.is_dir());
        let added = if path.is_dir() {
            archive.append_dir_all(below_root(path), path)
        } else {
            archive.append_path_with_name(path, below_root(path))
        };
        added.with_context(|| format!("read `{}`", path.display()))?;
    }
    Ok(archive.into_inner()?.into_inner()?.sync_all()?)
}

/// An absolute path as archives have it.
fn below_root(path: &Path) -> &Path {
    path.strip_prefix("/").unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_base_is_the_release_of_the_machine() {
        let debian = "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nVERSION_ID=\"12\"\nID=debian\n";
        assert_eq!(release(debian).as_deref(), Some("debian:12"));
        assert_eq!(release("ID=ubuntu\nVERSION_ID=\"24.04\"\n").as_deref(), Some("ubuntu:24.04"));
        assert_eq!(release("ID=fedora\nVERSION_ID=40\n"), None);
        assert_eq!(release("ID=debian\n"), None, "a rolling release has no number");
        assert_eq!(release(""), None);
    }

    #[test]
    fn a_base_is_one_word_that_stays_the_same() {
        assert_eq!(base(Some("registry.test:5000/debian:12")).unwrap(), "registry.test:5000/debian:12");
        for vague in ["debian", "debian:latest ", "debian:12 AS x", "debian:12\nRUN true"] {
            assert!(base(Some(vague)).is_err(), "{vague:?}");
        }
    }

    #[test]
    fn packages_are_a_step_where_there_are_any() {
        let own = Path::new("/opt/barograph");
        assert!(!steps("debian:12", &BTreeSet::new(), own).contains("apt-get"));
        let text = steps("debian:12", &BTreeSet::from(["nginx-light", "haproxy"]), own);
        assert!(text.starts_with("FROM debian:12\nRUN apt-get update"), "{text}");
        assert!(text.contains("--no-install-recommends haproxy nginx-light \\\n"), "{text}");
        assert!(text.ends_with("\nADD programs.tar /\nENTRYPOINT [\"/opt/barograph\"]\n"), "{text}");
    }

    #[test]
    fn an_installation_is_whole_and_once() {
        let place = tempfile::TempDir::new().unwrap();
        let programs = place.path().join("17/bin");
        fs::create_dir_all(&programs).unwrap();
        fs::write(programs.join("server"), "17").unwrap();
        std::os::unix::fs::symlink("/nowhere", programs.join("link")).unwrap();
        let whole = place.path().join("17");
        let paths = outermost(&BTreeSet::from([whole.clone(), programs.join("server")]));
        assert_eq!(paths, BTreeSet::from([whole]));

        let archive = place.path().join("made.tar");
        write_archive(&paths, &archive).unwrap();
        let mut read = tar::Archive::new(File::open(&archive).unwrap());
        let members = read.entries().unwrap().map(|member| {
            let member = member.unwrap();
            (Path::new("/").join(member.path().unwrap()), member.header().entry_type())
        });
        let members: Vec<_> = members.collect();
        let kind = |path: &Path| members.iter().find(|(name, _)| name == path).map(|(_, kind)| *kind);
        assert_eq!(kind(&programs.join("server")), Some(EntryType::Regular));
        assert_eq!(kind(&programs.join("link")), Some(EntryType::Symlink));
        assert_eq!(kind(place.path()), Some(EntryType::Directory));
        assert!(write_archive(&BTreeSet::from([programs.join("gone")]), &archive).is_err());
    }
}
