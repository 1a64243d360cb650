//! Queries the version of a program.

use std::io::{self, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::sync_channel;
use std::thread;
use std::time::Duration;

use crate::ServiceError;

/// Longest run of a version query. Erlang needs a second, and many on a busy machine; anything slower hangs.
const LONGEST: Duration = Duration::from_secs(120);

/// Longest output of a version query in bytes.
const MOST_BYTES: u64 = 64 << 10;

/// Returns the first part of the program's output that looks like a version.
pub(crate) fn ask(program: &Path, args: &[String]) -> Result<String, ServiceError> {
    let command = [&[program.display().to_string()], args].concat().join(" ");
    let failed = |what: String| ServiceError::Version { command: command.clone(), what };
    let said = said(program, args).map_err(|error| failed(error.to_string()))?;
    version_in(&said).map(str::to_owned).ok_or_else(|| {
        let line = said.lines().find(|line| !line.trim().is_empty()).unwrap_or("nothing");
        failed(format!("it said {line}"))
    })
}

/// Returns its output on stdout and stderr, as some programs write to stderr.
fn said(program: &Path, args: &[String]) -> io::Result<String> {
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    let (tell, told) = sync_channel(2);
    let pipes: [Option<Box<dyn Read + Send>>; 2] = [
        child.stdout.take().map(|out| Box::new(out) as _),
        child.stderr.take().map(|err| Box::new(err) as _),
    ];
    for pipe in pipes.into_iter().flatten() {
        let tell = tell.clone();
        // It ends with the pipe, which ends with the child.
        thread::spawn(move || {
            let mut bytes = Vec::new();
            let read = pipe.take(MOST_BYTES).read_to_end(&mut bytes);
            // The receiver is gone after a time-out.
            let _ = tell.send(read.map(|_| bytes));
        });
    }
    drop(tell);
    let mut all = Vec::new();
    loop {
        match told.recv_timeout(LONGEST) {
            Ok(bytes) => all.extend(bytes?),
            Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => break,
            Err(std::sync::mpsc::RecvTimeoutError::Timeout) => {
                end(&mut child)?;
                return Err(io::ErrorKind::TimedOut.into());
            }
        }
    }
    end(&mut child)?;
    Ok(String::from_utf8_lossy(&all).into_owned())
}

/// Does not wait for a program that has closed both pipes and continues.
fn end(child: &mut Child) -> io::Result<()> {
    match child.try_wait()? {
        Some(_) => Ok(()),
        None => {
            child.kill()?;
            child.wait().map(|_| ())
        }
    }
}

/// Returns the first word with numbers and a dot, after any prefix without digits: `v1.2`, `nginx/1.2`.
fn version_in(said: &str) -> Option<&str> {
    said.split_whitespace().find_map(|word| {
        let at = word.find(|c: char| c.is_ascii_digit())?;
        let version = word[at..].trim_end_matches([',', ';', ')', '.']);
        let (major, minor) = version.split_once('.')?;
        let number = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
        (major.chars().all(|c| c.is_ascii_digit()) && number(minor)).then_some(version)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_in_what_programs_say() {
        let cases = [
            ("postgres (PostgreSQL) 15.20 (Debian 15.20-0+deb12u1)", Some("15.20")),
            ("nginx version: nginx/1.22.1\nbuilt with OpenSSL 3.0.22", Some("1.22.1")),
            ("HAProxy version 2.6.12-1+deb12u4 2026/10/17", Some("2.6.12-1+deb12u4")),
            ("nats-server: v2.9.10", Some("2.9.10")),
            ("Redis server v=7.0.15 sha=00000000:0", Some("7.0.15")),
            ("mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for", Some("10.11.19-MariaDB-0+deb12u1")),
            ("This is nutcracker-0.5.0", Some("0.5.0")),
            ("Server version: Apache/2.4.71 (Debian)", Some("2.4.71")),
            ("usage: on 2 cores", None),
        ];
        for (said, wanted) in cases {
            assert_eq!(version_in(said), wanted, "{said}");
        }
    }

    #[test]
    fn a_program_without_a_version_is_told() {
        let sh = Path::new("/bin/sh");
        let ask = |script: &str| super::ask(sh, &["-c".to_owned(), script.to_owned()]);
        assert_eq!(ask("echo x 1.5 >&2").unwrap(), "1.5");
        assert!(ask("echo hello").unwrap_err().to_string().ends_with("it said hello"));
        assert!(ask("true").unwrap_err().to_string().ends_with("it said nothing"));
        assert!(super::ask(Path::new("/no/such"), &[]).is_err());
    }
}
