//! Guests that libvirt runs. Each guest has a daemon of its own, which is a host to libvirt: with its own name,
//! identity, sockets and configuration, in the network namespace of the guest's tap. A move goes from one
//! daemon to another.

mod domain_xml;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use barograph_platform::{Fault, MissingRequirement};
use barograph_virtual_network::Tap;
use tokio::time::Instant;

use crate::emulator::{Hardware, Sockets, connect};
use crate::host_commands::{HostCommands, Job, failed, quote, quote_path};
use crate::settings::find_program;

pub(crate) use domain_xml::domain_xml;

/// The package with daemons, client and folders in Debian and Ubuntu.
const PACKAGE: &str = "libvirt-daemon-system";

/// Name of the client's program.
const CLIENT: &str = "virsh";

/// A program that runs guests of QEMU for libvirt, with its socket.
#[derive(Clone, Copy)]
struct DaemonProgram {
    name: &'static str,
    socket: &'static str,
}

/// Such programs, the preferred one first: the QEMU driver alone, and all drivers in one.
const DAEMONS: [DaemonProgram; 2] = [
    DaemonProgram { name: "virtqemud", socket: "virtqemud-sock" },
    DaemonProgram { name: "libvirtd", socket: "libvirt-sock" },
];

/// The program that this machine has.
fn daemon() -> Option<DaemonProgram> {
    DAEMONS.into_iter().find(|daemon| find_program(daemon.name).is_some())
}

/// What is missing on this machine.
pub(crate) fn missing() -> Vec<MissingRequirement> {
    let [modular, whole] = DAEMONS.map(|daemon| daemon.name);
    let needs = |what: String| MissingRequirement {
        what,
        hint: format!("apt-get install -y --no-install-recommends {PACKAGE}"),
    };
    let daemon = daemon().is_none().then(|| format!("neither program `{modular}` nor `{whole}` is there"));
    let client = find_program(CLIENT).is_none().then(|| format!("program `{CLIENT}` is not there"));
    // Those in memory are made for the daemon.
    let folders = FOLDERS
        .iter()
        .chain([&CACHE])
        .filter(|(_, place)| !place.starts_with("/run/") && !Path::new(place).is_dir());
    let folders = folders.map(|(_, place)| format!("folder `{place}` is not there"));
    daemon.into_iter().chain(client).chain(folders).map(needs).collect()
}

/// Longest time for a command that changes a guest at once, on a busy machine.
const AT_ONCE: Duration = Duration::from_secs(60);

/// Bandwidth of a move, in MiB/s: as fast as this machine can.
const BANDWIDTH_MIB_S: &str = "16384";

/// Folders of a daemon, each with its place in the daemon's view of the file system.
const FOLDERS: [(&str, &str); 4] = [
    ("run", "/run/libvirt"),
    ("lib", "/var/lib/libvirt"),
    ("log", "/var/log/libvirt"),
    ("etc", "/etc/libvirt"),
];

/// Folder of what daemons found out about QEMU, which takes seconds: the same for all of a site.
const CACHE: (&str, &str) = ("libvirt", "/var/cache/libvirt");

/// Configuration of the QEMU driver. The daemon's unit limits, accounts for and ends all its processes, so libvirt
/// makes no groups of its own; files are those of the site, so it leaves their owners as they are.
const DRIVER_SETTINGS: &str = "user = \"root\"\ngroup = \"root\"\ndynamic_ownership = 0\nremember_owner = 0\n\
    security_driver = \"none\"\nnamespaces = []\ncgroup_controllers = []\nstdio_handler = \"file\"\n";

/// A guest of a daemon.
#[derive(Clone)]
pub(crate) struct Domain {
    name: String,
    /// Socket of the daemon.
    socket: PathBuf,
    /// Folder of the daemon.
    folder: PathBuf,
    work: HostCommands,
}

/// The disk of a domain as libvirt names it.
pub(crate) fn target_of(hardware: &Hardware) -> String {
    // Images come first. A guest has two at most.
    let letter = char::from(b'a' + hardware.images.len().min(25) as u8);
    format!("vd{letter}")
}

impl Domain {
    /// Makes the folders of a daemon. Returns its future domain, and the command that starts the daemon.
    pub(crate) fn prepare(
        work: &HostCommands,
        hardware: &Hardware,
        (tap, tag): (&Tap, &str),
    ) -> Result<(Domain, Vec<String>), Fault> {
        let folder = work.folder.join(tag);
        let act = || format!("make the folders of libvirt in `{}`", folder.display());
        let identity = identity().map_err(|error| failed(act(), error))?;
        let daemon = daemon().ok_or_else(|| failed(act(), "no daemon of libvirt is there"))?;
        let own = FOLDERS.map(|(name, _)| folder.join(name));
        let written = own.iter().chain([&work.folder.join(CACHE.0)]).try_for_each(fs::create_dir_all);
        let written = written.and_then(|()| fs::write(folder.join("etc/qemu.conf"), DRIVER_SETTINGS));
        let own = format!("host_uuid = \"{identity}\"\nauth_unix_rw = \"none\"\n");
        let written = written.and_then(|()| fs::write(folder.join(format!("etc/{}.conf", daemon.name)), own));
        written.map_err(|error| failed(act(), error))?;
        let mut words = barograph_virtual_network::enter(&tap.namespace);
        let unshare = ["unshare", "--mount", "--uts", "--propagation", "private", "--", "sh", "-c"];
        words.extend(unshare.map(str::to_owned));
        words.push(script((&folder, &work.folder), (tag, daemon.name)));
        let name = hardware.host.name.clone();
        let domain =
            Domain { name, socket: folder.join("run").join(daemon.socket), folder, work: work.clone() };
        Ok((domain, words))
    }

    /// Waits for the daemon's socket.
    pub(crate) async fn daemon_answers(&self, deadline: Instant) -> std::io::Result<()> {
        connect(&self.socket, deadline).await.map(drop)
    }

    /// Log of its QEMU.
    pub(crate) fn log(&self) -> PathBuf {
        self.folder.join(format!("log/qemu/{}.log", self.name))
    }

    /// Starts the guest.
    pub(crate) async fn create(&self, hardware: &Hardware, at: (&Tap, &Sockets)) -> Result<(), Fault> {
        let file = self.describe(hardware, at)?;
        self.virsh(&["create", "--file", &file.to_string_lossy()], AT_ONCE).await.map(drop)
    }

    /// Ends the guest at once; refused if it has ended.
    pub(crate) async fn destroy(&self) -> Result<(), Fault> {
        self.virsh(&["destroy", &self.name], AT_ONCE).await.map(drop)
    }

    /// Stops its processors.
    pub(crate) async fn suspend(&self) -> Result<(), Fault> {
        self.virsh(&["suspend", &self.name], AT_ONCE).await.map(drop)
    }

    /// Lets its processors go on.
    pub(crate) async fn resume(&self) -> Result<(), Fault> {
        self.virsh(&["resume", &self.name], AT_ONCE).await.map(drop)
    }

    /// Moves the guest to the daemon of `to`, with the contents of its disk `disk` if one is named, where it has these sockets and this tap. A guest that stands still
    /// stands still there, too.
    pub(crate) async fn migrate(
        &self,
        (to, disk): (&Domain, Option<&str>),
        hardware: &Hardware,
        at: (&Tap, &Sockets),
        limit: Duration,
    ) -> Result<(), Fault> {
        let file = to.describe(hardware, at)?.to_string_lossy().into_owned();
        let place = format!("unix://{}", to.folder.join("move").display());
        // Both QEMUs read the same file of this machine, which libvirt cannot know to be safe.
        let socket = format!("unix://{}", to.folder.join("nbd").display());
        let other = to.uri();
        let mut words = vec![
            "migrate",
            "--live",
            "--unsafe",
            "--domain",
            &self.name,
            "--desturi",
            &other,
            "--migrateuri",
            &place,
            "--xml",
            &file,
            "--bandwidth",
            BANDWIDTH_MIB_S,
        ];
        if let Some(disk) = disk {
            words.extend(["--copy-storage-all", "--migrate-disks", disk, "--disks-uri", &socket]);
        }
        self.virsh(&words, limit).await.map(drop)
    }

    /// Standstill of the guest in the move that brought it here, and the bytes that were copied; zeros where libvirt
    /// does not report them.
    pub(crate) async fn arrival(&self) -> Result<(Duration, u64), Fault> {
        let lines = self.virsh(&["domjobinfo", &self.name, "--completed", "--rawstats"], AT_ONCE).await?;
        Ok((Duration::from_millis(figure(&lines, "downtime")), figure(&lines, "memory_processed")))
    }

    /// Copies the disk `target` to a new file while the guest runs; the copy follows the disk from then on.
    pub(crate) async fn copy_disk(&self, target: &str, to: &Path, limit: Duration) -> Result<(), Fault> {
        let to = to.to_string_lossy();
        let words = [
            "blockcopy",
            &self.name,
            target,
            "--dest",
            &to,
            "--format",
            "qcow2",
            "--transient-job",
            "--wait",
        ];
        self.virsh(&words, limit).await.map(drop)
    }

    /// Lets the guest use the copy in place of the disk.
    pub(crate) async fn pivot(&self, target: &str) -> Result<(), Fault> {
        self.virsh(&["blockjob", &self.name, target, "--pivot"], AT_ONCE).await.map(drop)
    }

    /// Lets the guest write to a new file above its disk `target`.
    pub(crate) async fn overlay(&self, target: &str, above: &Path) -> Result<(), Fault> {
        let spec = format!("{target},snapshot=external,file={}", above.display());
        let words = [
            "snapshot-create-as",
            &self.name,
            "--disk-only",
            "--atomic",
            "--no-metadata",
            "--diskspec",
            &spec,
        ];
        self.virsh(&words, AT_ONCE).await.map(drop)
    }

    /// Keeps memory and disk under a name.
    pub(crate) async fn save(&self, name: &str, limit: Duration) -> Result<(), Fault> {
        self.virsh(&["snapshot-create-as", &self.name, name], limit).await.map(drop)
    }

    /// Goes back to what was kept under a name, in another QEMU, in which the guest stands still.
    pub(crate) async fn load(&self, name: &str, limit: Duration) -> Result<(), Fault> {
        self.virsh(&["snapshot-revert", &self.name, name, "--paused"], limit).await.map(drop)
    }

    /// Drops what libvirt knows of a snapshot, and leaves it in the disk: libvirt moves no guest of which it knows one.
    pub(crate) async fn forget(&self, name: &str) -> Result<(), Fault> {
        self.virsh(&["snapshot-delete", &self.name, name, "--metadata"], AT_ONCE).await.map(drop)
    }

    fn describe(&self, hardware: &Hardware, at: (&Tap, &Sockets)) -> Result<PathBuf, Fault> {
        let file = self.folder.join("domain.xml");
        let act = || format!("describe host `{}` to libvirt", self.name);
        fs::write(&file, domain_xml(hardware, at)).map_err(|error| failed(act(), error))?;
        Ok(file)
    }

    fn uri(&self) -> String {
        format!("qemu+unix:///system?socket={}", self.socket.display())
    }

    async fn virsh(&self, words: &[&str], limit: Duration) -> Result<Vec<String>, Fault> {
        let uri = self.uri();
        let args =
            ["--quiet", "--connect", &uri].iter().chain(words).map(|word| (*word).to_owned()).collect();
        self.work.run(Job { program: CLIENT, args, workdir: &self.work.folder, limit }).await
    }
}

/// The script that starts a daemon among its own folders, as a host of its own name.
fn script((folder, of_site): (&Path, &Path), (tag, daemon): (&str, &str)) -> String {
    // A name with a dot is looked up nowhere.
    let name = quote(&format!("{tag}.barograph"));
    let mut text = format!("set -e; echo {name} > /proc/sys/kernel/hostname; mount -t tmpfs libvirt /run; ");
    let own = FOLDERS.map(|(name, place)| (folder.join(name), place));
    for (own, place) in own.into_iter().chain([(of_site.join(CACHE.0), CACHE.1)]) {
        text.push_str(&format!("mkdir -p {place}; mount --bind {} {place}; ", quote_path(&own)));
    }
    text + "exec " + daemon
}

/// A new identity of a host or guest, from the kernel.
pub(crate) fn identity() -> std::io::Result<String> {
    Ok(fs::read_to_string("/proc/sys/kernel/random/uuid")?.trim().to_owned())
}

/// A figure of lines `name: value`; 0 if it is not there.
fn figure(lines: &[String], name: &str) -> u64 {
    let of = |line: &String| line.trim().strip_prefix(name)?.strip_prefix(':')?.trim().parse().ok();
    lines.iter().find_map(of).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_found_by_their_whole_name() {
        let lines: Vec<String> =
            ["downtime_net: 7", "  downtime: 41", "memory_processed:  1048576", "operation: 2"]
                .map(str::to_owned)
                .to_vec();
        assert_eq!((figure(&lines, "downtime"), figure(&lines, "memory_processed")), (41, 1_048_576));
        assert_eq!(figure(&lines, "memory"), 0);
    }

    #[test]
    fn a_daemon_sees_its_own_folders_where_libvirt_looks_for_them() {
        let text = script((Path::new("/tmp/a b"), Path::new("/tmp")), ("db-0", "virtqemud"));
        assert!(text.contains("mount --bind '/tmp/a b/run' /run/libvirt; "), "{text}");
        assert!(text.contains("echo 'db-0.barograph' > "), "{text}");
        assert!(text.ends_with("exec virtqemud"), "{text}");
    }
}
