//! Debian packages for some tests: installed if they are missing and this process may, otherwise a reported
//! skip.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::process::Command;

use crate::say::say;

/// A package and the tests that need it.
struct Package {
    name: &'static str,
    /// A program in it; the package is present if one of the usual folders holds it, or this file exists. A
    /// `*` stands for the version in a folder's name.
    program: &'static str,
    needed_by: &'static str,
}

/// All packages.
const PACKAGES: &[Package] = &[
    Package {
        name: "apache2-bin",
        program: "apache2",
        needed_by: "the tests of services against Apache httpd",
    },
    Package { name: "chromium", program: "chromium", needed_by: "the test that opens a report in a browser" },
    Package { name: "chromium-driver", program: "chromedriver", needed_by: "the tests of the web pages" },
    Package { name: "docker.io", program: "dockerd", needed_by: "the tests of the container platform" },
    Package {
        name: "containernetworking-plugins",
        program: "/usr/lib/cni/ptp",
        needed_by: "the tests of the Kubernetes platform",
    },
    Package { name: "etcd-server", program: "etcd", needed_by: "the tests of the Kubernetes platform" },
    Package { name: "haproxy", program: "haproxy", needed_by: "the tests that go through a load balancer" },
    Package {
        name: "dovecot-imapd",
        program: "dovecot",
        needed_by: "the tests of mail clients and the mail workload against Dovecot",
    },
    Package {
        name: "dovecot-lmtpd",
        program: "/usr/lib/dovecot/lmtp",
        needed_by: "the tests of mail clients and the mail workload against Dovecot",
    },
    Package {
        name: "openjdk-17-jdk-headless",
        program: "javac",
        needed_by: "the tests of sorts on Spark and on Hadoop",
    },
    Package {
        name: "keepalived",
        program: "keepalived",
        needed_by: "the test of an address that moves between hosts",
    },
    Package {
        name: "libvirt-daemon-system",
        program: "/usr/sbin/libvirtd",
        needed_by: "the tests of virtual machines through libvirt",
    },
    Package { name: "maven", program: "mvn", needed_by: "the tests of sorts on Spark and on Hadoop" },
    Package { name: "mariadb-server", program: "mariadbd", needed_by: "the tests of stores against MariaDB" },
    Package { name: "memcached", program: "memcached", needed_by: "the tests of services against memcached" },
    Package { name: "nfs-ganesha", program: "ganesha.nfsd", needed_by: "the tests of pictures on NFS" },
    Package {
        name: "nfs-ganesha-vfs",
        program: "/usr/lib/*/ganesha/libfsalvfs.so",
        needed_by: "the tests of pictures on NFS",
    },
    Package { name: "nats-server", program: "nats-server", needed_by: "the tests of the bus against NATS" },
    Package { name: "nbdkit", program: "nbdkit", needed_by: "the tests of disk loads on exports" },
    Package {
        name: "nginx-light",
        program: "nginx",
        needed_by: "the tests of `barograph http` and of the web tier against nginx",
    },
    Package { name: "nutcracker", program: "nutcracker", needed_by: "the test of keys spread by twemproxy" },
    Package { name: "pgbouncer", program: "pgbouncer", needed_by: "the test of sessions through PgBouncer" },
    Package {
        name: "postfix",
        program: "/usr/lib/postfix/sbin/master",
        needed_by: "the tests of the mail workload against Postfix",
    },
    Package {
        name: "postgresql",
        program: "/usr/lib/postgresql/*/bin/postgres",
        needed_by: "the tests of stores against PostgreSQL",
    },
    Package {
        name: "prometheus",
        program: "prometheus",
        needed_by: "the test that sends the figures of a run to Prometheus",
    },
    Package {
        name: "qemu-system-x86",
        program: "qemu-system-x86_64",
        needed_by: "the tests of the platform of virtual machines",
    },
    Package {
        name: "qemu-utils",
        program: "qemu-img",
        needed_by: "the tests of the platform of virtual machines",
    },
    Package {
        name: "rabbitmq-server",
        program: "/usr/lib/rabbitmq/bin/rabbitmq-server",
        needed_by: "the tests of the bus against RabbitMQ",
    },
    Package {
        name: "redis-server",
        program: "redis-server",
        needed_by: "the tests of services against Redis",
    },
];

/// The usual folders of programs.
const FOLDERS: &[&str] = &["/usr/local/bin", "/usr/bin", "/usr/sbin", "/bin", "/snap/bin"];

/// Installs missing packages. Returns the number still missing, each reported with its command.
pub(crate) fn install_missing() -> u32 {
    let missing: Vec<&Package> = PACKAGES.iter().filter(|package| !present(package.program)).collect();
    if missing.is_empty() {
        return 0;
    }
    if is_root() {
        let mut command = Command::new("apt-get");
        command.args(["install", "-y", "--no-install-recommends"]).args(missing.iter().map(|p| p.name));
        // Tests start services of their own; those of the system would take ports, memory and time.
        let refusal = Refusal::of_starts();
        // A failure shows in the packages still missing below; nothing else depends on it.
        let updated = Command::new("apt-get").args(["-q", "update"]).status();
        let installed = command.env("DEBIAN_FRONTEND", "noninteractive").status();
        if let Err(error) = updated.and(installed) {
            say(&format!("apt-get did not run: {error}"));
        }
        drop(refusal);
    }
    let still: Vec<&Package> = missing.into_iter().filter(|package| !present(package.program)).collect();
    for package in &still {
        say(&format!(
            "skipped: {} needs {}; install it with: apt-get install -y {}",
            package.needed_by, package.program, package.name
        ));
    }
    u32::try_from(still.len()).expect("the list is short")
}

/// Whether a program is in one of the usual folders, or at its own place.
pub(crate) fn present(program: &str) -> bool {
    if let Some((folders, rest)) = program.split_once("/*/") {
        let versions = fs::read_dir(folders).into_iter().flatten().flatten();
        return versions.into_iter().any(|version| version.path().join(rest).is_file());
    }
    // `join` returns an absolute path unchanged.
    FOLDERS.iter().any(|folder| Path::new(folder).join(program).is_file())
}

/// While it lives, newly installed packages do not start their services.
struct Refusal {
    /// Whether the file was made here; an existing one is left unchanged.
    made: bool,
}

/// The program asked by Debian's installers; 101 means no.
const POLICY: &str = "/usr/sbin/policy-rc.d";

impl Refusal {
    fn of_starts() -> Self {
        let file = fs::OpenOptions::new().write(true).create_new(true).mode(0o755).open(POLICY);
        let made = file.and_then(|mut file| file.write_all(b"#!/bin/sh\nexit 101\n")).is_ok();
        Refusal { made }
    }
}

impl Drop for Refusal {
    fn drop(&mut self) {
        if self.made
            && let Err(error) = fs::remove_file(POLICY)
        {
            say(&format!("{POLICY} is still there and keeps services from starting: {error}"));
        }
    }
}

/// The files of a process in /proc belong to its user.
fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|facts| facts.uid() == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_looked_for_in_the_usual_folders() {
        assert!(present("sh"));
        assert!(!present("no-such-program-anywhere"));
        assert!(present("/bin/sh") && !present("/bin/no-such-program-anywhere"));
    }

    #[test]
    fn a_star_is_any_version() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("15/bin")).unwrap();
        fs::write(folder.path().join("15/bin/postgres"), "").unwrap();
        let place = folder.path().display();
        assert!(present(&format!("{place}/*/bin/postgres")) && !present(&format!("{place}/*/bin/initdb")));
        assert!(!present(&format!("{place}/none/*/bin/postgres")));
    }
}
