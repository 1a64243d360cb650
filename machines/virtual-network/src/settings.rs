//! Kernel network settings that belong to a namespace, set to the machine's values.
//!
//! Otherwise a machine that was tuned for load would be measured with the kernel's defaults as soon as a
//! service runs in a namespace.

use std::fs;
use std::path::{Path, PathBuf};

use barograph_platform::Facts;

use crate::SwitchError;
use crate::namespace::inside;

/// Folder of the kernel's network settings.
const FOLDER: &str = "/proc/sys/net";

/// Settings that affect a service under load. All belong to a namespace in kernels that have them.
const COPIED: &[&str] = &[
    "core/somaxconn",
    "ipv4/ip_local_port_range",
    "ipv4/ip_local_reserved_ports",
    "ipv4/tcp_congestion_control",
    "ipv4/tcp_fin_timeout",
    "ipv4/tcp_keepalive_intvl",
    "ipv4/tcp_keepalive_probes",
    "ipv4/tcp_keepalive_time",
    "ipv4/tcp_max_syn_backlog",
    "ipv4/tcp_max_tw_buckets",
    "ipv4/tcp_mtu_probing",
    "ipv4/tcp_no_metrics_save",
    "ipv4/tcp_notsent_lowat",
    "ipv4/tcp_rmem",
    "ipv4/tcp_sack",
    "ipv4/tcp_slow_start_after_idle",
    "ipv4/tcp_syncookies",
    "ipv4/tcp_timestamps",
    "ipv4/tcp_tw_reuse",
    "ipv4/tcp_window_scaling",
    "ipv4/tcp_wmem",
];

/// Settings with fixed values. All ports of a host are free, also for services that do not run as root.
const FIXED: &[(&str, &str)] = &[("ipv4/ip_unprivileged_port_start", "0")];

/// Settings of a bridge. Without IPv6 it has no announcements.
const OF_A_BRIDGE: &[(&str, &str)] =
    &[("ipv6/conf/all/disable_ipv6", "1"), ("ipv6/conf/default/disable_ipv6", "1")];

/// Copies the machine's settings to a host's namespace. Returns the settings made, and those that failed.
pub(crate) fn copy_to_host(namespace: &str) -> Result<Facts, SwitchError> {
    let wanted: Vec<(&'static str, String)> = COPIED
        .iter()
        .filter_map(|name| Some((*name, read(name)?)))
        .chain(FIXED.iter().map(|(name, value)| (*name, (*value).to_owned())))
        .collect();
    inside(namespace, move || wanted.iter().filter_map(|(name, value)| put(name, value)).collect())
}

/// Disables announcements in the bridge's namespace.
pub(crate) fn quiet_bridge(namespace: &str) -> Result<(), SwitchError> {
    // A kernel without IPv6 lacks these settings and has no announcements.
    inside(namespace, || OF_A_BRIDGE.iter().filter_map(|(name, value)| put(name, value)).count())?;
    Ok(())
}

/// Sets one value if it differs. `None` if it is right already, or if the kernel lacks it.
fn put(name: &str, value: &str) -> Option<(String, String)> {
    let has = read(name)?;
    if has == value {
        return None;
    }
    let says = match fs::write(at(name), value) {
        Ok(()) => value.to_owned(),
        Err(error) => format!("{has}, and not {value} as the machine has: {error}"),
    };
    Some((format!("net/{name}"), says))
}

fn read(name: &str) -> Option<String> {
    let text = fs::read_to_string(at(name)).ok()?;
    Some(text.split_ascii_whitespace().collect::<Vec<_>>().join(" "))
}

fn at(name: &str) -> PathBuf {
    Path::new(FOLDER).join(name)
}
