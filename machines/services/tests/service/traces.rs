//! Traces of a unit's processes in /proc.

use std::collections::BTreeSet;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};

/// Processes that have the folder in their command line, their environment or as working folder: number and
/// command.
pub(crate) fn of_folder(folder: &Path) -> Vec<(u32, String)> {
    let wanted = folder.to_str().unwrap().as_bytes();
    let names = |bytes: Vec<u8>| bytes.windows(wanted.len()).any(|part| part == wanted);
    let mut found = Vec::new();
    for process in processes() {
        let read = |name: &str| fs::read(process.join(name)).unwrap_or_default();
        let there = fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd.starts_with(folder));
        if there || names(read("cmdline")) || names(read("environ")) {
            let pid = process.file_name().unwrap().to_str().unwrap().parse().unwrap();
            let command = String::from_utf8_lossy(&read("comm")).trim().to_owned();
            // An ended process that was not collected yet has only its name.
            if !read("cmdline").is_empty() {
                found.push((pid, command));
            }
        }
    }
    found
}

fn processes() -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    entries.filter(|path| {
        path.file_name().and_then(|n| n.to_str()).is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()))
    })
}

/// Addresses at which those processes accept TCP connections.
pub(crate) fn listening(folder: &Path) -> Vec<SocketAddr> {
    let mut sockets = BTreeSet::new();
    for (pid, _) in of_folder(folder) {
        for entry in fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten() {
            let target = fs::read_link(entry.path()).unwrap_or_default();
            let inode = target.to_str().and_then(|t| t.strip_prefix("socket:[")?.strip_suffix(']'));
            sockets.extend(inode.map(str::to_owned));
        }
    }
    let tables =
        ["/proc/net/tcp", "/proc/net/tcp6"].map(|table| fs::read_to_string(table).unwrap_or_default());
    let lines = tables.iter().flat_map(|table| table.lines().skip(1));
    let columns = lines.map(|line| line.split_whitespace().collect::<Vec<_>>());
    // Column 3 is the state, 0A is listening; column 9 the number of the socket.
    let ours = columns.filter(|c| c.get(3) == Some(&"0A") && c.get(9).is_some_and(|i| sockets.contains(*i)));
    ours.map(|c| address(c[1])).collect()
}

/// Parses an address of the kernel: words of four bytes, each with its lowest byte first.
fn address(text: &str) -> SocketAddr {
    let (ip, port) = text.split_once(':').unwrap();
    let bytes: Vec<u8> =
        (0..ip.len() / 2).map(|i| u8::from_str_radix(&ip[2 * i..2 * i + 2], 16).unwrap()).collect();
    let bytes: Vec<u8> = bytes.chunks(4).flat_map(|word| word.iter().rev().copied()).collect();
    let ip = match <[u8; 16]>::try_from(bytes.clone()) {
        Ok(bytes) => IpAddr::V6(Ipv6Addr::from(bytes)),
        Err(_) => IpAddr::V4(Ipv4Addr::from(<[u8; 4]>::try_from(bytes).unwrap())),
    };
    SocketAddr::new(ip, u16::from_str_radix(port, 16).unwrap())
}

#[test]
fn addresses_are_read_as_the_kernel_writes_them() {
    assert_eq!(address("0900007F:1F90").to_string(), "127.0.0.9:8080");
    assert_eq!(address("00000000000000000000000001000000:0050").to_string(), "[::1]:80");
}

/// Segments of System V shared memory created by these processes; they remain until they are removed.
pub(crate) fn segments_of(processes: &[(u32, String)]) -> Vec<String> {
    let table = fs::read_to_string("/proc/sysvipc/shm").unwrap_or_default();
    // Column 4 is the process that created it.
    let maker = |line: &str| line.split_whitespace().nth(4)?.parse::<u32>().ok();
    let ours = |line: &&str| maker(line).is_some_and(|pid| processes.iter().any(|(own, _)| *own == pid));
    table.lines().filter(ours).map(str::to_owned).collect()
}
