//! Files of the machine in a container, and their mounts.

use std::fs;
use std::path::{Path, PathBuf};

use bollard::models::{Mount, MountType};

/// Folders and files that a program of this machine may need, besides its data. Those that are links on this
/// machine are links in the image.
pub(crate) const PROGRAMS: [&str; 9] =
    ["/usr", "/etc", "/opt", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];

/// A path that is the same inside and outside.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct VisiblePath {
    pub(crate) path: PathBuf,
    pub(crate) writable: bool,
}

/// Paths that the site shows to every container.
#[derive(Clone, Debug, Default)]
pub(crate) struct View {
    seen: Vec<VisiblePath>,
}

impl View {
    /// Makes a view of the machine's programs, if requested, and of the folders of the site.
    pub(crate) fn new(programs: bool, shared: &[PathBuf], writable: &[PathBuf]) -> Self {
        let own = PROGRAMS.iter().map(PathBuf::from).filter(|path| programs && is_folder(path));
        let read_only = own.chain(shared.iter().cloned()).map(|path| VisiblePath { path, writable: false });
        let open = writable.iter().cloned().map(|path| VisiblePath { path, writable: true });
        View { seen: read_only.chain(open).collect() }
    }

    /// Adds a unit's own folder. The root folder cannot be one.
    pub(crate) fn with_folder(&self, folder: &Path) -> Self {
        let mut seen = self.seen.clone();
        if folder != Path::new("/") {
            seen.push(VisiblePath { path: folder.to_owned(), writable: true });
        }
        View { seen }
    }

    /// Whether the unit can write `path` and it is the same file outside.
    pub(crate) fn is_writable(&self, path: &Path) -> bool {
        let nearest = self
            .seen
            .iter()
            .filter(|seen| path.starts_with(&seen.path))
            .max_by_key(|seen| (seen.path.components().count(), seen.writable));
        nearest.is_some_and(|seen| seen.writable)
    }

    /// Returns the necessary mounts: a path inside another with the same access needs none, and of two
    /// entries for the same path the writable one wins.
    pub(crate) fn plan(&self) -> Vec<VisiblePath> {
        let mut sorted = self.seen.clone();
        sorted.sort_by(|a, b| a.path.cmp(&b.path).then(b.writable.cmp(&a.writable)));
        sorted.dedup_by(|later, first| later.path == first.path);
        let mut plan: Vec<VisiblePath> = Vec::new();
        for seen in sorted {
            let above = plan.iter().rev().find(|other| seen.path.starts_with(&other.path));
            if above.is_none_or(|other| other.writable != seen.writable) {
                plan.push(seen);
            }
        }
        plan
    }

    /// Returns the mounts in the form of an engine's API.
    pub(crate) fn mounts(&self) -> Vec<Mount> {
        self.plan().iter().map(mount).collect()
    }

    /// Returns a mount in the form that creates a missing folder. Only for folders that may be missing: the
    /// other form refuses missing paths.
    pub(crate) fn bind(folder: &Path) -> Option<String> {
        let text = folder.to_str().filter(|text| !text.contains(':') && *text != "/")?;
        Some(format!("{text}:{text}"))
    }
}

fn mount(seen: &VisiblePath) -> Mount {
    let path = seen.path.to_string_lossy().into_owned();
    Mount {
        source: Some(path.clone()),
        target: Some(path),
        typ: Some(MountType::BIND),
        read_only: Some(!seen.writable),
        ..Mount::default()
    }
}

/// Whether a path is a folder, and not a link to one.
fn is_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|facts| facts.is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(shared: &[&str], writable: &[&str]) -> Vec<(String, bool)> {
        let paths = |list: &[&str]| list.iter().map(PathBuf::from).collect::<Vec<_>>();
        let view = View::new(false, &paths(shared), &paths(writable));
        view.plan().into_iter().map(|s| (s.path.display().to_string(), s.writable)).collect()
    }

    fn seen(list: &[(&str, bool)]) -> Vec<(String, bool)> {
        list.iter().map(|(path, writable)| ((*path).to_owned(), *writable)).collect()
    }

    #[test]
    fn only_what_adds_something_is_mounted() {
        assert_eq!(plan(&["/usr", "/usr/lib/x"], &[]), seen(&[("/usr", false)]));
        assert_eq!(plan(&["/a/b"], &["/a"]), seen(&[("/a", true), ("/a/b", false)]));
        assert_eq!(plan(&["/a"], &["/a/b", "/a/b/c"]), seen(&[("/a", false), ("/a/b", true)]));
        assert_eq!(plan(&["/a", "/ab"], &["/a"]), seen(&[("/a", true), ("/ab", false)]));
        assert_eq!(plan(&["/a/b/c"], &["/a/b/c/d"]), seen(&[("/a/b/c", false), ("/a/b/c/d", true)]));
    }

    #[test]
    fn a_units_folder_is_writable_and_the_nearest_rule_counts() {
        let view = View::new(false, &["/run/fill".into()], &["/run".into()]).with_folder(Path::new("/w/app"));
        for (path, writable) in [("/w/app/x", true), ("/w", false), ("/run/a", true), ("/run/fill/a", false)]
        {
            assert_eq!(view.is_writable(Path::new(path)), writable, "{path}");
        }
        assert_eq!(View::default().with_folder(Path::new("/")).plan(), []);
    }

    #[test]
    fn the_machines_programs_are_seen_but_not_its_links() {
        let plan = View::new(true, &[], &[]).plan();
        assert!(plan.contains(&VisiblePath { path: "/usr".into(), writable: false }));
        assert!(plan.iter().all(|seen| !seen.writable && is_folder(&seen.path)));
    }

    #[test]
    fn a_folder_with_a_colon_cannot_be_bound() {
        assert_eq!(View::bind(Path::new("/a")).as_deref(), Some("/a:/a"));
        assert_eq!(View::bind(Path::new("/a:b")), None);
    }
}
