//! Initial file system of a guest: busybox, modules, and a script that mounts the final one.

use std::fs;
use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use crate::cpio::Archive;
use crate::host_commands::{quote, quote_path};
use crate::kernel::Kernel;

/// Greeting of a guest that tries KVM.
pub(crate) const HELLO: &str = "BAROGRAPH-SPEAKS";

/// Facts about a guest for its first script.
#[derive(Clone, Debug)]
pub(crate) struct Guest {
    pub(crate) name: String,
    pub(crate) address: IpAddr,
    pub(crate) prefix: u8,
    pub(crate) gateway: IpAddr,
    /// Mount point of its disk.
    pub(crate) folder: PathBuf,
    /// Whether it has an image of shared files, in addition to that of programs.
    pub(crate) has_shared: bool,
    /// Writable folders of this machine, with the tags under which they are offered.
    pub(crate) writable: Vec<(String, PathBuf)>,
    /// Path of the agent and its arguments.
    pub(crate) agent: Vec<String>,
    /// Names and addresses of the other hosts.
    pub(crate) neighbours: Vec<(String, IpAddr)>,
}

/// Returns the archive for a guest, which boots into the agent.
pub(crate) fn of_guest(kernel: &Kernel, modules: &[PathBuf], guest: &Guest) -> io::Result<Vec<u8>> {
    archive(kernel, modules, &guest_script(guest))
}

/// Returns the archive for a guest that prints [`HELLO`] and turns off.
pub(crate) fn of_trial(kernel: &Kernel) -> io::Result<Vec<u8>> {
    archive(kernel, &[], &format!("echo {HELLO}\n$B poweroff -f\n"))
}

fn archive(kernel: &Kernel, modules: &[PathBuf], script: &str) -> io::Result<Vec<u8>> {
    let mut archive = Archive::default();
    for folder in ["bin", "dev", "proc", "sys", "m", "programs", "shared", "over", "root"] {
        archive.folder(folder);
    }
    // The first process writes to it before devices are mounted.
    archive.device("dev/console", 5, 1);
    archive.file("bin/busybox", 0o755, &fs::read(&kernel.busybox)?);
    let mut load = String::new();
    for (number, module) in modules.iter().enumerate() {
        let name = format!("m/{number}.ko");
        archive.file(&name, 0o644, &fs::read(module)?);
        load.push_str(&format!("$B insmod /{name} || give_up \"load {}\"\n", module.display()));
    }
    let script = format!("{BEGIN}{load}{script}");
    archive.file("init", 0o755, script.as_bytes());
    Ok(archive.finish())
}

/// Beginning of every script.
const BEGIN: &str = r#"#!/bin/busybox sh
B=/bin/busybox
give_up() { echo "BAROGRAPH-GAVE-UP: $1"; $B sleep 1; $B poweroff -f; }
$B mount -t devtmpfs none /dev
$B mount -t proc none /proc
$B mount -t sysfs none /sys
"#;

fn guest_script(guest: &Guest) -> String {
    let lower = if guest.has_shared { "/shared:/programs" } else { "/programs" };
    let mut script = String::from(MOUNT_PROGRAMS);
    let disk = if guest.has_shared {
        script.push_str(
            "$B mount -t ext4 -o ro,noatime /dev/vdb /shared || give_up 'mount the shared files'\n",
        );
        "/root/dev/vdc"
    } else {
        "/root/dev/vdb"
    };
    script.push_str(&format!(
        "$B mount -t overlay -o lowerdir={lower},upperdir=/over/up,workdir=/over/work none /root \
         || give_up 'put the layers together'\n"
    ));
    script.push_str(MOUNT_KERNEL);
    let folder = quote_path(&below_root(&guest.folder));
    script.push_str(&format!(
        "$B mkdir -p {folder}\n$B mount -t ext4 -o noatime,noinit_itable {disk} {folder} || give_up 'mount the disk'\n"
    ));
    for (tag, path) in &guest.writable {
        let path = quote_path(&below_root(path));
        script.push_str(&format!(
            "$B mkdir -p {path}\n$B mount -t virtiofs {tag} {path} || give_up 'mount a writable folder'\n"
        ));
    }
    script.push_str(&network(guest));
    let agent: Vec<String> = guest.agent.iter().map(|word| quote(word)).collect();
    script.push_str("$B cat >/root/run/barograph-start <<'END-OF-START'\n");
    script.push_str(START);
    script.push_str(&agent.join(" "));
    script.push_str(GO_OFF);
    script.push_str("END-OF-START\n");
    script.push_str("exec $B switch_root -c /dev/console /root /bin/sh /run/barograph-start\n");
    script
}

/// Mounts the machine's programs.
const MOUNT_PROGRAMS: &str = "\
$B mount -t ext4 -o ro,noatime /dev/vda /programs || give_up 'mount the programs'
$B mount -t tmpfs -o mode=755,size=50% none /over
$B mkdir /over/up /over/work
";

/// Mounts the kernel's own file systems, with the controllers of the single hierarchy of control groups
/// enabled.
const MOUNT_KERNEL: &str = "\
for f in dev proc sys; do $B mount --move /$f /root/$f; done
$B mkdir -p /root/dev/pts /root/dev/shm /root/tmp /root/run/lock
$B mount -t devpts -o mode=620,ptmxmode=666 none /root/dev/pts
$B mount -t tmpfs -o mode=1777 none /root/dev/shm
$B ln -sf /proc/self/fd /root/dev/fd
$B chmod 1777 /root/tmp
$B mount -t cgroup2 none /root/sys/fs/cgroup
for c in cpuset cpu io memory pids; do echo +$c >/root/sys/fs/cgroup/cgroup.subtree_control; done
";

/// Starts the agent. The shell stays the first process: it collects orphans, and turns the machine off after
/// the agent.
const START: &str = "\
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8
ulimit -n 65536
echo 4096 >/proc/sys/net/core/somaxconn
";

/// Turns the machine off.
const GO_OFF: &str = "
echo s >/proc/sysrq-trigger
echo u >/proc/sysrq-trigger
echo o >/proc/sysrq-trigger
while :; do sleep 1; done
";

fn network(guest: &Guest) -> String {
    let Guest { name, address, prefix, gateway, .. } = guest;
    let mut text = format!(
        "$B hostname {name}\n$B ip link set lo up\n$B ip addr add {address}/{prefix} dev eth0 || give_up 'set the address'\n\
         $B ip link set eth0 up\n$B ip route add default via {gateway}\n\
         echo {name} >/root/etc/hostname\necho '127.0.0.1 localhost' >/root/etc/hosts\n"
    );
    for (name, address) in &guest.neighbours {
        text.push_str(&format!("echo '{address} {name}' >>/root/etc/hosts\n"));
    }
    text
}

fn below_root(path: &Path) -> PathBuf {
    Path::new("/root").join(path.strip_prefix("/").unwrap_or(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_mounts_what_there_is_in_order() {
        let mut guest = Guest {
            name: "db".to_owned(),
            address: "10.1.2.3".parse().unwrap(),
            prefix: 24,
            gateway: "10.1.2.1".parse().unwrap(),
            folder: PathBuf::from("/tmp/it's here"),
            has_shared: true,
            writable: vec![("w0".to_owned(), PathBuf::from("/work/runs"))],
            agent: vec!["/work/barograph".to_owned(), "agent".to_owned()],
            neighbours: vec![("app".to_owned(), "10.1.2.4".parse().unwrap())],
        };
        let script = guest_script(&guest);
        let at = |text: &str| script.find(text).unwrap_or_else(|| panic!("{text} is not in\n{script}"));
        assert!(at("/dev/vda /programs") < at("/dev/vdb /shared"));
        assert!(at("lowerdir=/shared:/programs") < at(r"/root/dev/vdc '/root/tmp/it'\''s here'"));
        assert!(at("virtiofs w0 '/root/work/runs'") < at("10.1.2.3/24 dev eth0"));
        assert!(at("'10.1.2.4 app'") < at("'/work/barograph' 'agent'"));
        guest.has_shared = false;
        let script = guest_script(&guest);
        assert!(
            script.contains("lowerdir=/programs,") && script.contains("/root/dev/vdb '/root/tmp"),
            "{script}"
        );
    }
}
