//! Images of the guests' file systems: the machine's programs, the site's shared folders, and an empty disk.
//!
//! Images are used because the cloud kernel has no 9p, and QEMU 7.2 can neither move nor save a guest with
//! virtiofs. All guests read the same image, so the machine caches it once.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use barograph_platform::Fault;

use crate::cache::Cache;
use crate::host_commands::{HostCommands, Job, quote, quote_path};
use crate::stamp::Stamp;

/// Longest time to make an image of a few gigabytes of small files.
const MAKE_LIMIT: Duration = Duration::from_secs(600);

/// Folders of programs and their settings.
const PROGRAMS: &[&str] = &["/usr", "/etc"];

/// Folders beside them in the root: links to `/usr` on newer distributions, folders on older ones.
const BESIDE: &[&str] = &["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];

/// Folders that a guest mounts over or writes to.
const EMPTY: &str = "dev proc sys run run/lock root home mnt opt srv var var/cache var/lib var/log var/spool";

/// Returns the image of the machine's programs, made again if the machine has changed since the last one.
pub(crate) async fn programs(
    cache: &Cache,
    work: &HostCommands,
    left_out: &[PathBuf],
) -> Result<PathBuf, Fault> {
    let left_out = expand(left_out);
    let roots: Vec<PathBuf> = PROGRAMS
        .iter()
        .chain(BESIDE)
        .map(PathBuf::from)
        .filter(|path| path.symlink_metadata().is_ok())
        .collect();
    let (walked, out) = (roots.clone(), left_out.clone());
    let stamp = work.blocking("look through the machine's programs", move || stamp_of(&walked, &out)).await?;
    let mut script = String::from("mkdir -p \"$S\"; cd \"$S\"\n");
    script.push_str(&format!("mkdir -p {EMPTY}\nmkdir -m 1777 tmp var/tmp\nln -s /run var/run\n"));
    for root in &roots {
        let (from, name) = (quote_path(root), quote(&root.to_string_lossy()[1..]));
        let add = if root.is_symlink() {
            format!("cp -a {from} {name}\n")
        } else {
            format!("mkdir {name}; mount --bind {from} {name}\n")
        };
        script.push_str(&add);
    }
    for path in &left_out {
        let name = quote(&path.to_string_lossy()[1..]);
        script.push_str(&format!("mount -t tmpfs -o size=4k,mode=755 none {name}\n"));
    }
    make(cache, work, "programs", stamp, &script).await
}

/// Returns the image of shared folders outside the machine's programs. `None` if there are none.
pub(crate) async fn shared(
    cache: &Cache,
    work: &HostCommands,
    paths: &[PathBuf],
    left_out: &[PathBuf],
) -> Result<Option<PathBuf>, Fault> {
    let paths = outermost(paths, &expand(left_out));
    if paths.is_empty() {
        return Ok(None);
    }
    let walked = paths.clone();
    let stamp = work.blocking("look through the shared folders", move || stamp_of(&walked, &[])).await?;
    let mut script = String::from("mkdir -p \"$S\"; cd \"$S\"\n");
    for path in &paths {
        let above: Vec<&Path> = path.ancestors().skip(1).filter(|folder| folder.parent().is_some()).collect();
        for folder in above.iter().rev() {
            // The parents of a shared folder must give the same access as here.
            let (from, name) = (quote_path(folder), quote(&folder.to_string_lossy()[1..]));
            let same = format!("chmod --reference={from} {name}; chown --reference={from} {name}");
            script.push_str(&format!("[ -d {name} ] || {{ mkdir {name}; {same}; }}\n"));
        }
        let (from, name) = (quote_path(path), quote(&path.to_string_lossy()[1..]));
        let begin = if path.is_dir() { "mkdir -p" } else { "touch" };
        script.push_str(&format!("{begin} {name}; mount --bind {from} {name}\n"));
    }
    make(cache, work, "shared", stamp, &script).await.map(Some)
}

/// Returns an empty disk with an ext4 of this size. Only blocks with content take space.
pub(crate) async fn empty_disk(cache: &Cache, work: &HostCommands, gib: u64) -> Result<PathBuf, Fault> {
    let name = format!("empty-{gib}.ext4");
    let there = cache.path(&name);
    if there.is_file() {
        return Ok(there);
    }
    let building = cache.build("disk")?;
    let made = building.path().join("disk");
    let words = "-q -F -t ext4 -m 0 -O ^metadata_csum -E lazy_itable_init=1,nodiscard -J size=64";
    let mut args: Vec<String> = words.split(' ').map(str::to_owned).collect();
    args.extend([made.to_string_lossy().into_owned(), format!("{gib}G")]);
    let job = Job { program: "mke2fs", args, workdir: Path::new("/"), limit: MAKE_LIMIT };
    work.run(job).await?;
    building.finish(&made, &name)
}

fn stamp_of(paths: &[PathBuf], left_out: &[PathBuf]) -> io::Result<Stamp> {
    let mut stamp = Stamp::default();
    paths.iter().try_for_each(|path| stamp.add(path, left_out))?;
    Ok(stamp)
}

/// Makes an image of the content that `script` puts into the folder `$S`. Mounts of the script are private
/// and are removed with it.
async fn make(
    cache: &Cache,
    work: &HostCommands,
    what: &str,
    stamp: Stamp,
    script: &str,
) -> Result<PathBuf, Fault> {
    // Blocks of files, a tenth for indexes and the like, and the file system's own; 256 bytes for each inode.
    let inodes = stamp.entries + stamp.entries / 10 + 1024;
    let kib = (stamp.bytes + stamp.bytes / 10 + inodes * 320) / 1024 + (32 << 10);
    let name = format!("{what}-{}.ext4", stamp.text());
    let there = cache.path(&name);
    let prefix = format!("{what}-");
    if there.is_file() {
        // If an old one cannot be removed, only space is lost.
        let _ = cache.refresh(&prefix, &name);
        return Ok(there);
    }
    let building = cache.build(what)?;
    let (made, folder) = (building.path().join("image"), building.path().join("root"));
    let (image, root) = (quote_path(&made), quote_path(&folder));
    let options = format!("-q -F -t ext4 -m 0 -b 4096 -N {inodes} -O ^has_journal,^metadata_csum,^64bit");
    let end = format!("mke2fs {options} -E lazy_itable_init=1,nodiscard -d {root} {image} {kib}k");
    let whole = format!("set -e\nS={root}\n{script}\nmount -t tmpfs none /mnt\ncd /mnt\n{end}\n");
    let args = ["--mount", "--propagation", "private", "/bin/sh", "-c", &whole].map(str::to_owned).to_vec();
    work.run(Job { program: "unshare", args, workdir: Path::new("/"), limit: MAKE_LIMIT }).await?;
    let made = building.finish(&made, &name)?;
    let _ = cache.refresh(&prefix, &name);
    Ok(made)
}

/// Returns the outermost existing folders; a `*` at the end matches any ending.
fn expand(patterns: &[PathBuf]) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    for pattern in patterns {
        let text = pattern.to_string_lossy();
        match (text.strip_suffix('*'), pattern.parent()) {
            (Some(beginning), Some(folder)) => {
                let items = fs::read_dir(folder).into_iter().flatten().flatten().map(|item| item.path());
                paths.extend(items.filter(|path| path.to_string_lossy().starts_with(beginning)));
            }
            _ => paths.push(pattern.clone()),
        }
    }
    paths.retain(|path| path.is_absolute() && path.is_dir() && !path.is_symlink());
    paths.sort();
    let all = paths.clone();
    paths.retain(|path| !all.iter().any(|other| other != path && path.starts_with(other)));
    paths
}

/// Returns the paths that are in none of the others, nor in the image of programs.
fn outermost(paths: &[PathBuf], left_out: &[PathBuf]) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = paths.iter().filter(|path| path.is_absolute()).cloned().collect();
    paths.sort();
    paths.dedup();
    let in_programs = |path: &Path| {
        PROGRAMS.iter().chain(BESIDE).any(|root| path.starts_with(root))
            && !left_out.iter().any(|out| path.starts_with(out))
    };
    let all = paths.clone();
    paths.retain(|path| {
        let in_another = all.iter().any(|other| other != path && path.starts_with(other));
        !in_another && !in_programs(path)
    });
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_outermost_paths_are_shared_and_programs_are_there_already() {
        let paths =
            ["/work/x", "/work/x/y", "/usr/bin/postgres", "/usr/src/z", "/work/xy", "rel"].map(PathBuf::from);
        let left_out = [PathBuf::from("/usr/src")];
        let wanted = ["/usr/src/z", "/work/x", "/work/xy"].map(PathBuf::from);
        assert_eq!(outermost(&paths, &left_out), wanted);
    }

    #[test]
    fn a_star_takes_any_end() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["llvm-14", "llvm-15", "llvm-15/lib", "x"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        let found = expand(&["llvm-*", "llvm-15/lib", "none"].map(|name| folder.path().join(name)));
        assert_eq!(found, ["llvm-14", "llvm-15"].map(|name| folder.path().join(name)));
    }
}
