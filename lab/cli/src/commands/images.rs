//! `barograph images`: the files of a container image with the parts of a plan.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use barograph_harness::planned;
use barograph_record::{ExitCode, write_whole};
use barograph_services::Service;
use barograph_workload::topology;
use tar::{Builder, EntryType, Header, HeaderMode};

use super::{CommandFailure, CommandResult, check};
use crate::args::ImagesArgs;
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
    for service in &services {
        if let Some(missing) = service.missing() {
            return Err(refused(anyhow!("{}; {}", missing.what, missing.hint)));
        }
    }
    check_folder(&args.output).map_err(refused)?;

    let packages: BTreeSet<&str> =
        services.iter().flat_map(|service| service.packages()).map(String::as_str).collect();
    let written = std::env::current_exe().and_then(|own| {
        let steps = steps(&base, &packages, &own);
        let programs = programs(&services, own);
        fs::create_dir_all(&args.output)?;
        write_archive(&programs, &args.output.join(PROGRAMS))?;
        write_whole(&args.output.join(STEPS), steps.as_bytes()).map_err(io::Error::other)?;
        Ok(programs.len())
    });
    let folder = args.output.display();
    let programs = written
        .with_context(|| format!("write `{folder}`"))
        .map_err(|why| CommandFailure::new(ExitCode::CannotWrite, why))?;
    terminal::result(&format!(
        "image     {folder}: {base}, packages {}, programs {programs}\n\
         next      docker build --file {folder}/{STEPS} --tag REGISTRY/barograph:1 {folder}\n          \
         docker push REGISTRY/barograph:1\n          \
         barograph run ... --set deploy.kubernetes_image=REGISTRY/barograph:1 --set deploy.kubernetes_files=sent",
        packages.len(),
    ));
    Ok(ExitCode::Fine)
}

/// The image to build on: the given one, or that of this machine's release.
fn base(given: Option<&str>) -> anyhow::Result<String> {
    match given {
        Some(image) if barograph_platform_kubernetes::is_certain_image(image) => Ok(image.to_owned()),
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

/// Refuses a folder with files, which would become part of the image or be lost.
fn check_folder(folder: &Path) -> anyhow::Result<()> {
    let is_empty = match fs::read_dir(folder) {
        Ok(mut entries) => entries.next().is_none(),
        Err(why) => why.kind() == io::ErrorKind::NotFound,
    };
    let name = folder.display();
    is_empty.then_some(()).ok_or_else(|| anyhow!("`{name}` is no empty folder; name a new one with --output"))
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
    text.push_str(&format!(
        "# The user of services that refuse root needs a name.\n\
         RUN getent passwd 1000 || useradd --uid 1000 barograph\n\
         ADD {PROGRAMS} /\n\
         ENTRYPOINT [{:?}]\n",
        own.display().to_string()
    ));
    text
}

/// This program, and those of the services that are in no package.
fn programs(services: &[&'static Service], own: PathBuf) -> BTreeSet<PathBuf> {
    services.iter().flat_map(|service| service.own_programs()).chain([own]).collect()
}

/// Writes files and whole folders below their paths, and the folders above them, which all users may enter.
fn write_archive(paths: &BTreeSet<PathBuf>, to: &Path) -> io::Result<()> {
    let mut archive = Builder::new(BufWriter::new(File::create(to)?));
    archive.mode(HeaderMode::Deterministic);
    // Builders of images do not read sparse members.
    archive.sparse(false);
    let above = |path: &Path| path.ancestors().skip(1).map(Path::to_owned).collect::<Vec<_>>();
    let folders: BTreeSet<PathBuf> = paths.iter().flat_map(|path| above(path)).collect();
    for folder in folders.iter().filter(|folder| folder.parent().is_some()) {
        let mut header = Header::new_gnu();
        header.set_entry_type(EntryType::Directory);
        header.set_size(0);
        header.set_mode(fs::metadata(folder)?.permissions().mode() & 0o7777 | 0o555);
        archive.append_data(&mut header, below_root(folder), io::empty())?;
    }
    for path in paths {
        if path.is_dir() {
            archive.append_dir_all(below_root(path), path)?;
        } else {
            archive.append_path_with_name(path, below_root(path))?;
        }
    }
    archive.into_inner()?.into_inner()?.sync_all()
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
    fn packages_are_a_step_where_there_are_any() {
        let own = Path::new("/opt/barograph");
        assert!(!steps("debian:12", &BTreeSet::new(), own).contains("apt-get"));
        let text = steps("debian:12", &BTreeSet::from(["nginx-light", "haproxy"]), own);
        assert!(text.starts_with("FROM debian:12\nRUN apt-get update"), "{text}");
        assert!(text.contains("--no-install-recommends haproxy nginx-light \\\n"), "{text}");
        assert!(text.ends_with("\nADD programs.tar /\nENTRYPOINT [\"/opt/barograph\"]\n"), "{text}");
    }
}
