//! Things that nodes leave outside of their processes: containers, mounts, control groups, sockets and files
//! at fixed places.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use barograph_cgroup::{kill_folder, remove_folder, trees};
use rustix::mount::{UnmountFlags, unmount};

/// Where the network plug-ins' library keeps results, at no other place.
const RESULTS: &str = "/var/lib/cni/results";

/// Where kubelets put links to logs, at no other place.
const LINKS: &str = "/var/log/containers";

/// Longest wait for killed containers.
const KILLED: Duration = Duration::from_secs(20);

/// What a cluster has outside of its site.
#[derive(Clone, Debug)]
pub(crate) struct Outside {
    /// Folder of all its files.
    pub(crate) folder: PathBuf,
    /// Folder of its sockets, with a short path.
    pub(crate) sockets: PathBuf,
    /// Names of its control groups, and of its network in the plug-ins' results.
    pub(crate) groups: Vec<String>,
    pub(crate) network: String,
}

impl Outside {
    /// What a cluster of this name with this number of nodes has.
    pub(crate) fn of(folder: &Path, id: &str, nodes: usize) -> Self {
        Outside {
            folder: folder.to_owned(),
            sockets: PathBuf::from(format!("/run/barograph-{id}")),
            groups: (0..nodes).map(|number| format!("barograph-{id}-{number}")).collect(),
            network: format!("barograph-{id}"),
        }
    }

    /// Makes the folder of sockets and the control groups.
    pub(crate) fn make(&self) -> io::Result<()> {
        fs::create_dir(&self.sockets)?;
        for folder in self.group_folders() {
            fs::create_dir(folder)?;
        }
        Ok(())
    }

    /// Ends all containers, and removes everything but the folder of files. The first failure is returned
    /// after the rest was tried.
    pub(crate) fn remove(&self) -> io::Result<()> {
        let mut first = Ok(());
        let mut keep = |result: io::Result<()>| {
            if first.is_ok() {
                first = result;
            }
        };
        let shims = self.shim_sockets();
        for folder in self.group_folders() {
            let ended = kill_folder(&folder).and_then(|()| remove_folder(&folder, KILLED));
            keep(ended.map_err(io::Error::other));
        }
        for mount in mounted_below(&[&self.folder, &self.sockets]) {
            keep(unmount(&mount, UnmountFlags::DETACH).map_err(io::Error::from));
        }
        let of_network = |name: &str| name.starts_with(&self.network);
        let results = entries(Path::new(RESULTS)).into_iter().filter(|path| of_network(&name_of(path)));
        let below = |link: &PathBuf| fs::read_link(link).is_ok_and(|to| to.starts_with(&self.folder));
        let links = entries(Path::new(LINKS)).into_iter().filter(below);
        for file in shims.into_iter().chain(results).chain(links) {
            match fs::remove_file(&file) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => keep(Err(error)),
                _ => {}
            }
        }
        keep(fs::remove_dir_all(&self.sockets));
        first
    }

    /// Kills all processes of a control group.
    pub(crate) fn kill(&self, group: &str) -> io::Result<()> {
        folders_of(group).try_for_each(|folder| kill_folder(&folder)).map_err(io::Error::other)
    }

    /// Folders of its control groups, in all hierarchies.
    fn group_folders(&self) -> Vec<PathBuf> {
        self.groups.iter().flat_map(|group| folders_of(group)).collect()
    }

    /// Sockets of the processes beside containers, which are at a place of their own.
    fn shim_sockets(&self) -> Vec<PathBuf> {
        let nodes = entries(&self.sockets);
        let tasks = nodes.iter().map(|node| node.join("io.containerd.runtime.v2.task/k8s.io"));
        let bundles = tasks.flat_map(|tasks| entries(&tasks));
        bundles
            .filter_map(|bundle| fs::read_to_string(bundle.join("address")).ok())
            .filter_map(|address| address.trim().strip_prefix("unix://").map(PathBuf::from))
            .collect()
    }
}

/// Folders of a control group.
fn folders_of(group: &str) -> impl Iterator<Item = PathBuf> {
    trees().into_iter().map(move |tree| tree.mount.join(group))
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Lists mount points below folders, the deepest first.
fn mounted_below(folders: &[&Path]) -> Vec<PathBuf> {
    let text = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let points = text.lines().filter_map(|line| line.split(' ').nth(4)).map(barograph_cgroup::unescape);
    let mut below: Vec<PathBuf> =
        points.filter(|point| folders.iter().any(|folder| point.starts_with(folder))).collect();
    below.sort_by_key(|point| std::cmp::Reverse(point.components().count()));
    below
}
