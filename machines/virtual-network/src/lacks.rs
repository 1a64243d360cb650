//! Requirements of a switch on this machine, checked without creating one.

use std::fs::{self, OpenOptions};
use std::io::ErrorKind;
use std::process::{Command, Stdio};

use barograph_platform::{Facts, MissingRequirement, in_user_namespace};

use crate::ip::{found, tool};
use crate::rootless;

/// Tools, and their packages on Debian and Ubuntu.
const TOOLS: [(&str, &str); 4] =
    [("ip", "iproute2"), ("tc", "iproute2"), ("nsenter", "util-linux"), ("unshare", "util-linux")];

/// Device through which programs get taps.
const TUN: &str = "/dev/net/tun";

/// Returns the missing requirements of a switch, each with the command that helps. `delays` includes those of
/// links with a delay or a loss, `guests` those of taps.
#[must_use]
pub fn lacking(delays: bool, guests: bool) -> Vec<MissingRequirement> {
    let lacks = |(name, package): &(&str, &str)| {
        found(name).is_none().then(|| MissingRequirement {
            what: format!("the program `{name}` is not there"),
            hint: format!("apt-get install {package}"),
        })
    };
    let mut missing: Vec<MissingRequirement> = TOOLS.iter().filter_map(lacks).collect();
    if rootless::needed() && !rootless::possible() {
        missing.push(MissingRequirement {
            what: "network namespaces may not be made by this user".to_owned(),
            hint: "run as root, or allow user namespaces: sysctl -w kernel.unprivileged_userns_clone=1 \
                   user.max_user_namespaces=10000 kernel.apparmor_restrict_unprivileged_userns=0"
                .to_owned(),
        });
    }
    if guests || (delays && !has_netem()) {
        missing.extend(lacks_tun());
    }
    missing
}

/// Returns the parts of a switch on this machine, for the disclosure.
#[must_use]
pub fn facts() -> Facts {
    let netem =
        if has_netem() { "netem in the kernel" } else { "a relay in user space: the kernel has no netem" };
    let inside = in_user_namespace() || !rustix::process::geteuid().is_root();
    let rights = if inside { "a user namespace" } else { "root" };
    let version = Command::new(tool("ip")).arg("-V").stdin(Stdio::null()).output();
    let version = version.map(|said| String::from_utf8_lossy(&said.stdout).trim().to_owned());
    vec![
        ("network".to_owned(), "a bridge in a network namespace, one namespace for each host".to_owned()),
        ("delay and loss".to_owned(), netem.to_owned()),
        ("bandwidth".to_owned(), "token buckets (tbf) of the kernel, each way".to_owned()),
        ("network rights".to_owned(), rights.to_owned()),
        ("iproute2".to_owned(), version.unwrap_or_else(|error| error.to_string())),
    ]
}

/// Whether the kernel seems to have netem, built in or as a module. Only an open switch knows for certain.
#[must_use]
pub fn has_netem() -> bool {
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    let listed = |list: &str| {
        let text = fs::read_to_string(format!("/lib/modules/{release}/{list}")).unwrap_or_default();
        text.contains("/sch_netem.ko")
    };
    fs::exists("/sys/module/sch_netem").unwrap_or(false) || listed("modules.builtin") || listed("modules.dep")
}

/// Missing requirement of taps.
pub(crate) fn lacks_tun() -> Option<MissingRequirement> {
    let error = OpenOptions::new().read(true).write(true).open(TUN).err()?;
    let hint = match error.kind() {
        ErrorKind::NotFound => {
            "modprobe tun; mkdir -p /dev/net; mknod -m 666 /dev/net/tun c 10 200 (without the module the kernel cannot)"
        }
        ErrorKind::PermissionDenied => {
            "chmod 666 /dev/net/tun (as root; on most systems it is so), or run as root"
        }
        _ => "modprobe tun",
    };
    Some(MissingRequirement { what: format!("{TUN} cannot be opened: {error}"), hint: hint.to_owned() })
}
