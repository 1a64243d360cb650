//! Files of nodes in pods.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use k8s_openapi::api::core::v1::{EmptyDirVolumeSource, HostPathVolumeSource, Volume, VolumeMount};

/// Folders that a program of this machine may need, besides its data. Links are followed by the node.
const PROGRAMS: [&str; 9] = ["/usr", "/etc", "/opt", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];

/// Folders that programs may write to, empty at the start of a pod.
const WRITABLE: [&str; 8] =
    ["/tmp", "/run", "/root", "/home", "/var/lib", "/var/log", "/var/cache", "/var/tmp"];

/// Shared memory: PostgreSQL needs more than the usual 64 MiB.
const SHARED_MEMORY: &str = "/dev/shm";

/// Paths that pods see as they are on the node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct View {
    /// Whether each is writable.
    paths: BTreeMap<PathBuf, bool>,
    /// Whether programs are the machine's, so that folders that programs expect are made.
    programs: bool,
}

impl View {
    /// Makes a view of the machine's programs, if wanted, and of the folders of the site.
    pub(crate) fn new(programs: bool, shared: &[PathBuf], writable: &[PathBuf]) -> Self {
        let own = PROGRAMS.iter().map(PathBuf::from).filter(|path| programs && path.is_dir());
        let read_only = own.chain(shared.iter().cloned()).map(|path| (path, false));
        let paths = read_only.chain(writable.iter().cloned().map(|path| (path, true))).collect();
        View { paths, programs }
    }

    /// Adds a unit's own folder. The root folder cannot be one.
    pub(crate) fn with_folder(&self, folder: &Path) -> Self {
        let mut view = self.clone();
        if folder != Path::new("/") {
            view.paths.insert(folder.to_owned(), true);
        }
        view
    }

    /// Whether the unit can write `path` and it is the same file outside.
    pub(crate) fn is_writable(&self, path: &Path) -> bool {
        let above = self.paths.iter().filter(|(seen, _)| path.starts_with(seen));
        above.max_by_key(|(seen, _)| seen.components().count()).is_some_and(|(_, writable)| *writable)
    }

    /// Whether the unit sees `path` of this machine.
    pub(crate) fn sees(&self, path: &Path) -> bool {
        let real = fs::canonicalize(path);
        let seen = |path: &Path| self.paths.keys().any(|seen| path.starts_with(seen));
        seen(path) || real.is_ok_and(|real| seen(&real))
    }

    /// Returns the volumes of a pod, and where each is in its containers.
    pub(crate) fn volumes(&self) -> (Vec<Volume>, Vec<VolumeMount>) {
        let own = self.paths.iter().map(|(path, writable)| (path.clone(), Some(*writable)));
        let empty = WRITABLE.iter().chain([&SHARED_MEMORY]).map(PathBuf::from);
        // A path of the machine below such a folder is put into it.
        let empty = empty.filter(|path| self.programs && !self.paths.contains_key(path));
        let all = own.chain(empty.map(|path| (path, None)));
        all.enumerate().map(|(number, (path, shared))| volume(number, &path, shared)).unzip()
    }
}

/// Returns a path of the node, with its access, or an empty folder.
fn volume(number: usize, path: &Path, shared: Option<bool>) -> (Volume, VolumeMount) {
    let (name, text) = (format!("v{number}"), path.to_string_lossy().into_owned());
    let mount = VolumeMount {
        name: name.clone(),
        mount_path: text.clone(),
        read_only: Some(shared == Some(false)),
        ..VolumeMount::default()
    };
    let memory = text == SHARED_MEMORY;
    let volume = match shared {
        Some(_) => Volume {
            name,
            // A node that does not see it says so, instead of making an empty folder.
            host_path: Some(HostPathVolumeSource { type_: Some(kind(path).to_owned()), path: text }),
            ..Volume::default()
        },
        None => Volume {
            name,
            empty_dir: Some(EmptyDirVolumeSource {
                medium: memory.then(|| "Memory".to_owned()),
                ..EmptyDirVolumeSource::default()
            }),
            ..Volume::default()
        },
    };
    (volume, mount)
}

fn kind(path: &Path) -> &'static str {
    if path.is_file() { "File" } else { "Directory" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_units_folder_is_writable_and_the_nearest_rule_counts() {
        let view = View::new(false, &["/run/fill".into()], &["/run".into()]).with_folder(Path::new("/w/app"));
        for (path, writable) in [("/w/app/x", true), ("/w", false), ("/run/a", true), ("/run/fill/a", false)]
        {
            assert_eq!(view.is_writable(Path::new(path)), writable, "{path}");
        }
        assert_eq!(View::default().with_folder(Path::new("/")), View::default());
    }

    #[test]
    fn the_machines_programs_bring_folders_that_they_expect() {
        let view = View::new(true, &["/bin/sh".into()], &[]);
        assert!(view.sees(Path::new("/usr/bin/env")) && !view.sees(Path::new("/proc/self")));
        let (volumes, mounts) = view.volumes();
        let at = |path: &str| mounts.iter().position(|mount| mount.mount_path == path).unwrap();
        assert_eq!(mounts[at("/usr")].read_only, Some(true));
        let shell = volumes[at("/bin/sh")].host_path.as_ref().unwrap();
        assert_eq!(shell.type_.as_deref(), Some("File"));
        assert!(volumes[at("/tmp")].empty_dir.is_some());
        let memory = volumes[at("/dev/shm")].empty_dir.as_ref().unwrap();
        assert_eq!(memory.medium.as_deref(), Some("Memory"));
        let (volumes, _) = View::new(false, &["/usr".into()], &[]).volumes();
        assert_eq!(volumes.len(), 1, "an image has its own");
    }
}
