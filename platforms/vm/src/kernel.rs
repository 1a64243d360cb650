//! Kernel of the guests: the distribution's cloud kernel, downloaded and unpacked, never installed.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use barograph_platform::Fault;

use crate::cache::Cache;
use crate::host_commands::{HostCommands, Job, failed};

/// Package that depends on the current cloud kernel.
const NEWEST: &str = "linux-image-cloud-amd64";

/// Longest time to download 27 MB over a slow line.
const FETCH_LIMIT: Duration = Duration::from_secs(300);

/// Modules for every guest. Those built into a kernel are not among its files, and not required.
const MODULES: &[&str] = &["virtio_pci", "virtio_blk", "virtio_net", "virtio_console", "overlay"];

/// A kernel with everything that a guest needs to boot.
#[derive(Clone, Debug)]
pub(crate) struct Kernel {
    /// Version, as 6.1.0-56-cloud-amd64.
    pub(crate) version: String,
    /// Bootable file.
    pub(crate) image: PathBuf,
    /// A statically linked busybox.
    pub(crate) busybox: PathBuf,
    modules: PathBuf,
}

impl Kernel {
    /// Returns the kernel in the cache, if there is one.
    pub(crate) fn cached(cache: &Path) -> Option<Kernel> {
        let folder = cache.join("kernel");
        let boot = fs::read_dir(folder.join("boot")).ok()?;
        let image = boot.flatten().map(|item| item.path()).find(|path| {
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("vmlinuz-"))
        })?;
        let version = image.file_name()?.to_string_lossy().strip_prefix("vmlinuz-")?.to_owned();
        let modules = folder.join("lib/modules").join(&version);
        let busybox = folder.join("bin/busybox");
        (modules.is_dir() && busybox.is_file()).then_some(Kernel { version, image, busybox, modules })
    }

    /// Returns the kernel in the cache, or else downloads the distribution's newest.
    pub(crate) async fn get(cache: &Cache, work: &HostCommands) -> Result<Kernel, Fault> {
        if let Some(kernel) = Kernel::cached(cache.folder()) {
            return Ok(kernel);
        }
        let building = cache.build("kernel")?;
        let folder = building.path();
        let job = |program: &'static str, args: &[&str]| Job {
            program,
            args: args.iter().map(|&arg| arg.to_owned()).collect(),
            workdir: folder,
            limit: FETCH_LIMIT,
        };
        let lines = work.run(job("apt-cache", &["depends", "--important", NEWEST])).await?;
        let image = newest(&lines).ok_or_else(|| {
            failed(format!("find the package behind `{NEWEST}`"), io::Error::other(lines.join("; ")))
        })?;
        work.run(job("apt-get", &["-q", "download", image, "busybox-static"])).await?;
        let unpacked = folder.join("kernel");
        for package in packages(folder).map_err(|error| failed("look at the fetched packages", error))? {
            let (package, to) = (package.to_string_lossy(), unpacked.to_string_lossy());
            work.run(job("dpkg-deb", &["-x", &package, &to])).await?;
        }
        building.finish(&unpacked, "kernel")?;
        Kernel::cached(cache.folder()).ok_or_else(|| {
            let why = format!(
                "`{image}` and busybox-static do not have boot/vmlinuz-*, lib/modules and bin/busybox"
            );
            failed("unpack the guests' kernel", io::Error::other(why))
        })
    }

    /// Returns the files of the modules for every guest and of `more`, each after its dependencies.
    pub(crate) fn modules(&self, more: &[String]) -> io::Result<Vec<PathBuf>> {
        let mut files = BTreeMap::new();
        collect(&self.modules, &mut files)?;
        let mut order = Vec::new();
        for name in MODULES.iter().map(|&name| name.to_owned()).chain(more.iter().cloned()) {
            add(&name.replace('-', "_"), &files, &mut order)?;
        }
        Ok(order)
    }
}

/// Returns the package that the newest depends on.
fn newest(lines: &[String]) -> Option<&str> {
    lines
        .iter()
        .find_map(|line| line.trim().strip_prefix("Depends: "))
        .filter(|name| name.starts_with("linux-image-"))
}

fn packages(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let items = fs::read_dir(folder)?.map(|item| item.map(|item| item.path()));
    let paths = items.collect::<io::Result<Vec<_>>>()?;
    Ok(paths.into_iter().filter(|path| path.extension().is_some_and(|end| end == "deb")).collect())
}

fn collect(folder: &Path, files: &mut BTreeMap<String, PathBuf>) -> io::Result<()> {
    for item in fs::read_dir(folder)? {
        let path = item?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|end| end == "ko")
            && let Some(stem) = path.file_stem()
        {
            files.insert(stem.to_string_lossy().replace('-', "_"), path);
        }
    }
    Ok(())
}

fn add(name: &str, files: &BTreeMap<String, PathBuf>, order: &mut Vec<PathBuf>) -> io::Result<()> {
    let Some(path) = files.get(name) else { return Ok(()) };
    if order.contains(path) {
        return Ok(());
    }
    for needed in needs(&fs::read(path)?) {
        add(&needed, files, order)?;
    }
    order.push(path.clone());
    Ok(())
}

/// Returns the dependencies of a module, from its section of facts: texts that end with a zero byte.
fn needs(module: &[u8]) -> Vec<String> {
    const KEY: &[u8] = b"\0depends=";
    let Some(at) = module.windows(KEY.len()).position(|part| part == KEY) else { return Vec::new() };
    let rest = &module[at + KEY.len()..];
    let text = &rest[..rest.iter().position(|b| *b == 0).unwrap_or(rest.len())];
    let names = String::from_utf8_lossy(text).replace('-', "_");
    names.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_package_is_the_one_depended_on() {
        let lines =
            ["linux-image-cloud-amd64", "  Depends: linux-image-6.1.0-56-cloud-amd64"].map(str::to_owned);
        assert_eq!(newest(&lines), Some("linux-image-6.1.0-56-cloud-amd64"));
        assert_eq!(newest(&["W: no such package".to_owned()]), None);
    }

    #[test]
    fn modules_come_behind_what_they_need() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, depends: &str| {
            let text = format!("ELF\0license=GPL\0depends={depends}\0retpoline=Y\0");
            fs::write(folder.path().join(name), text).unwrap();
        };
        write("virtio.ko", "");
        write("virtio_ring.ko", "virtio");
        write("virtio_net.ko", "virtio-ring,net_failover,virtio");
        write("net_failover.ko", "failover");
        write("failover.ko", "");
        let kernel = Kernel {
            version: String::new(),
            image: PathBuf::new(),
            busybox: PathBuf::new(),
            modules: folder.path().to_owned(),
        };
        let modules = kernel.modules(&["failover".to_owned(), "not-there".to_owned()]).unwrap();
        let names: Vec<_> = modules.iter().map(|path| path.file_stem().unwrap().to_str().unwrap()).collect();
        assert_eq!(names, ["virtio", "virtio_ring", "failover", "net_failover", "virtio_net"]);
    }
}
