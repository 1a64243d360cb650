//! Programs and folders of services on this machine.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// Folders of programs in addition to those of `PATH`, which often lacks some of these for users other than
/// root.
const FOLDERS: &[&str] = &["/usr/local/bin", "/usr/bin", "/usr/local/sbin", "/usr/sbin", "/bin", "/sbin"];

/// Finds the first existing one of `places`.
///
/// A place is an absolute path, a bare name that is searched for in `PATH` and the usual folders, or
/// `tools:NAME` for a program built by `cargo xtask`. A `*` in an absolute path stands for a part of one
/// folder's name; of several matches the one with the greatest number wins.
pub(crate) fn find(places: &[String]) -> Option<PathBuf> {
    places.iter().find_map(|place| {
        if let Some(name) = place.strip_prefix("tools:") {
            return tools(name);
        }
        if place.starts_with('/') { newest(place) } else { in_path(place) }
    })
}

/// Finds the first of `places` whose file is in `folder`.
pub(crate) fn within(folder: &Path, places: &[String]) -> Option<PathBuf> {
    let name =
        |place: &String| Path::new(place.rsplit(':').next()?).file_name().map(|name| folder.join(name));
    places.iter().filter_map(name).find(|file| file.is_file())
}

/// The folder of an installation with this folder of programs.
pub(crate) fn installation(programs: &Path) -> &Path {
    let is_part = programs.file_name().is_some_and(|name| name == "bin" || name == "sbin");
    programs.parent().filter(|above| is_part && above.parent().is_some()).unwrap_or(programs)
}

fn in_path(name: &str) -> Option<PathBuf> {
    let path = search_path();
    let folders = env::split_paths(&path).chain(FOLDERS.iter().map(PathBuf::from));
    folders.map(|folder| folder.join(name)).find(|file| file.is_absolute() && file.is_file())
}

#[expect(clippy::disallowed_methods, reason = "where programs are is a matter of the machine, not of a plan")]
fn search_path() -> std::ffi::OsString {
    env::var_os("PATH").unwrap_or_default()
}

/// Path of a built tool: beside the folder of this program, where cargo builds it, or in the workspace of the
/// build.
fn tools(name: &str) -> Option<PathBuf> {
    let beside =
        env::current_exe().ok().and_then(|own| Some(own.parent()?.parent()?.join("tools").join(name)));
    // Without `..`, which needs folders of the sources.
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2)?;
    let built = workspace.join("target/tools").join(name);
    beside.into_iter().chain([built]).find(|file| file.is_file()).and_then(|file| file.canonicalize().ok())
}

/// Returns the path itself, or with its `*` filled in.
fn newest(pattern: &str) -> Option<PathBuf> {
    let Some((before, after)) = pattern.split_once('*') else {
        return Some(PathBuf::from(pattern)).filter(|path| path.exists());
    };
    let (folder, prefix) = before.rsplit_once('/')?;
    let (suffix, rest) = after.split_once('/').unwrap_or((after, ""));
    let names = fs::read_dir(folder).into_iter().flatten().flatten();
    let fits = names.filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let middle = name.strip_prefix(prefix)?.strip_suffix(suffix)?;
        let version: Vec<u64> =
            middle.split(|c: char| !c.is_ascii_digit()).map_while(|n| n.parse().ok()).collect();
        Some((version, entry.path().join(rest)))
    });
    fits.filter(|(_, path)| path.exists()).max().map(|(_, path)| path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(place: &str) -> Option<PathBuf> {
        find(&[place.to_owned()])
    }

    #[test]
    fn programs_are_found_by_name_and_by_path() {
        assert!(found("sh").is_some_and(|sh| sh.is_absolute()));
        assert_eq!(found("/bin/sh"), Some(PathBuf::from("/bin/sh")));
        assert_eq!(found("no-such-program-anywhere"), None);
        assert_eq!(found("/no/such/program"), None);
        assert_eq!(found("tools:no-such-program"), None);
        let both = ["/no/such".to_owned(), "/bin/sh".to_owned()];
        assert_eq!(find(&both), Some(PathBuf::from("/bin/sh")));
    }

    #[test]
    fn an_installation_is_a_folder_with_programs() {
        for (programs, whole) in
            [("/opt/pg17/bin", "/opt/pg17"), ("/opt/redis", "/opt/redis"), ("/bin", "/bin")]
        {
            assert_eq!(installation(Path::new(programs)), Path::new(whole));
        }
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("initdb"), "").unwrap();
        let places = |all: &[&str]| all.iter().map(|place| (*place).to_owned()).collect::<Vec<_>>();
        let wanted = Some(folder.path().join("initdb"));
        assert_eq!(within(folder.path(), &places(&["/usr/lib/postgresql/*/bin/initdb", "initdb"])), wanted);
        assert_eq!(within(folder.path(), &places(&["tools:initdb"])), wanted);
        assert_eq!(within(folder.path(), &places(&["/bin/sh", "sh"])), None);
    }

    #[test]
    fn the_newest_version_wins() {
        let folder = tempfile::tempdir().unwrap();
        for version in ["9.6", "15", "15.2", "old"] {
            let bin = folder.path().join(version).join("bin");
            fs::create_dir_all(&bin).unwrap();
            fs::write(bin.join("postgres"), "").unwrap();
        }
        fs::create_dir_all(folder.path().join("99/bin")).unwrap();
        let root = folder.path().display();
        let wanted = folder.path().join("15.2/bin/postgres");
        assert_eq!(found(&format!("{root}/*/bin/postgres")), Some(wanted), "99 has no such program");
        assert_eq!(found(&format!("{root}/*/bin/initdb")), None);
        assert_eq!(found(&format!("{root}/o*d/bin/postgres")), Some(folder.path().join("old/bin/postgres")));
        assert_eq!(found(&format!("{root}/15.*")), Some(folder.path().join("15.2")));
    }
}
