//! The target: nginx, pinned, with one worker if that suffices, serving two files of 1 KiB from a folder of
//! its own.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::contest::server::free_port;
use crate::contest::{PinnedProgram, Server};

/// Open files of a worker besides its connections.
const OTHER_FILES: u64 = 200;

/// Room of a worker relative to an equal share: connections are not spread evenly.
const UNEVEN: f64 = 1.3;

/// Starts nginx on a free port for `connections` connections, with all its files in `folder`.
pub(super) fn start(program: &Path, folder: &Path, cpu: usize, connections: u32) -> anyhow::Result<Server> {
    let port = free_port()?;
    let www = folder.join("www");
    fs::create_dir_all(&www)?;
    fs::write(www.join("1k.txt"), "x".repeat(1024))?;
    fs::write(www.join("1k.json"), one_kib_of_json())?;
    let file = folder.join("nginx.conf");
    fs::write(&file, configuration(folder, port, workers(connections, open_files())))?;
    let arguments = ["-p", &folder.to_string_lossy(), "-c", &file.to_string_lossy()].map(str::to_owned);
    let pinned =
        PinnedProgram { program: PathBuf::from(program), arguments: arguments.to_vec(), cpu, fine: &[0] };
    Server::start(&pinned, port, &folder.join("error.log"))
}

/// A document with a value to extract in front and filling behind.
fn one_kib_of_json() -> String {
    let head = r#"{"id":"4711","state":"open","filling":""#;
    let tail = r#""}"#;
    format!("{head}{}{tail}", "x".repeat(1024 - head.len() - tail.len()))
}

/// Limit of open files of a process.
fn open_files() -> u64 {
    rustix::process::getrlimit(rustix::process::Resource::Nofile).maximum.unwrap_or(1_000_000)
}

/// Number of workers, and connections of each. One, as long as a process may have enough files.
fn workers(connections: u32, open_files: u64) -> (u64, u64) {
    let most = open_files.saturating_sub(OTHER_FILES).max(1);
    let connections = u64::from(connections);
    if connections <= most {
        return (1, most);
    }
    ((connections as f64 * UNEVEN / most as f64).ceil() as u64, most)
}

fn configuration(folder: &Path, port: u16, (workers, connections): (u64, u64)) -> String {
    let folder = folder.display();
    // Each worker gets its own queue of connections: a nearly full one closes idle connections.
    let spread = if workers > 1 { " reuseport" } else { "" };
    let paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|kind| format!("  {kind}_temp_path {folder}/{kind};\n"))
        .concat();
    format!(
        "worker_processes {workers};\ndaemon off;\nuser root;\npid {folder}/nginx.pid;\nerror_log {folder}/error.log;\n\
         worker_rlimit_nofile {files};\nevents {{ worker_connections {connections}; }}\nhttp {{\n{paths}  \
         access_log off;\n  sendfile on;\n  tcp_nodelay on;\n  open_file_cache max=10 inactive=600s;\n  \
         keepalive_timeout 600s;\n  keepalive_requests 1000000000;\n  types {{ text/plain txt; \
         application/json json; }}\n  server {{ listen 127.0.0.1:{port} backlog=4096{spread}; root {folder}/www; }}\n}}\n",
        files = connections + OTHER_FILES,
    )
}

/// The settings of the target in a sentence, for the page.
pub(super) const SETTINGS: &str = "access log off, keep-alive without a bound on requests, files cached open";

/// Version of nginx as it states it.
pub(super) fn version(program: &Path) -> anyhow::Result<String> {
    let said = std::process::Command::new(program).arg("-v").output().context("ask nginx for its version")?;
    Ok(String::from_utf8_lossy(&said.stderr).trim().trim_start_matches("nginx version: ").to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_files_have_1024_bytes() {
        assert_eq!(one_kib_of_json().len(), 1024);
        assert!(one_kib_of_json().starts_with(r#"{"id":"4711""#));
    }

    #[test]
    fn one_worker_unless_the_files_of_a_process_are_too_few() {
        assert_eq!(workers(64, 1_000_000), (1, 999_800));
        assert_eq!(workers(10_000, 20_000), (1, 19_800));
        assert_eq!(workers(100_000, 20_000), (7, 19_800));
    }

    #[test]
    fn everything_nginx_writes_is_in_its_folder() {
        let folder = Path::new("/tmp/f");
        let text = configuration(folder, 81, (2, 500));
        assert!(text.contains("listen 127.0.0.1:81 ") && text.contains("root /tmp/f/www;"));
        assert!(text.contains("worker_processes 2;") && text.contains("worker_connections 500;"));
        assert!(text.contains(" reuseport;") && !configuration(folder, 81, (1, 500)).contains("reuseport"));
        assert_eq!(text.matches("_temp_path /tmp/f/").count(), 5);
        assert!(text.contains("pid /tmp/f/") && text.contains("error_log /tmp/f/"));
    }
}
