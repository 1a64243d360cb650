//! The machine of the measurement.

use std::fs;
use std::process::Command;

/// Output of a program that says nothing, or cannot be run.
const UNKNOWN: &str = "unknown";

/// Lines about machine and date for the page.
pub(crate) fn lines() -> Vec<String> {
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = field(&cpuinfo, "model name").unwrap_or("unknown processor");
    let cores = cpuinfo.lines().filter(|l| l.starts_with("processor")).count();
    let meminfo = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let memory_kib: u64 = field(&meminfo, "MemTotal")
        .and_then(|text| text.split(' ').next())
        .and_then(|number| number.parse().ok())
        .unwrap_or(0);
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    vec![
        format!("Date: {}.", said_by("date", &["-u", "+%Y-%m-%d %H:%M UTC"])),
        format!("Processor: {model}, {cores} cores seen."),
        format!("Memory: {:.1} GiB.", memory_kib as f64 / 1024.0 / 1024.0),
        format!("Kernel: Linux {}.", kernel.trim()),
        format!("Commit: {}.", commit()),
    ]
}

/// The checked-out commit, and whether more than written pages differs from it.
pub(crate) fn commit() -> String {
    // Without locks, since the repository may be in use.
    let of = |words: &[&str]| said_by("git", &[&["--no-optional-locks"], words].concat());
    let commit = of(&["describe", "--always"]);
    match of(&["diff", "--name-only", "HEAD", "--", ":/", ":(top,exclude)docs/reference"]).as_str() {
        UNKNOWN => commit,
        _ => format!("{commit} with uncommitted changes"),
    }
}

/// Load of the machine over the last minute: other work during the measurement.
pub(crate) fn load() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().unwrap_or("unknown").to_owned()
}

/// The value of the first line `name : value`.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = text.lines().filter_map(|l| l.split_once(':'));
    lines.find(|(key, _)| key.trim() == name).map(|(_, value)| value.trim())
}

fn said_by(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    let text = output.map(|o| String::from_utf8_lossy(&o.stdout).trim().to_owned()).unwrap_or_default();
    if text.is_empty() { UNKNOWN.to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_have_names_padded_with_tabs() {
        let text = "processor\t: 0\nmodel name\t: Xeon @ 2.5 GHz\nMemTotal:       2048 kB\n";
        assert_eq!(field(text, "model name"), Some("Xeon @ 2.5 GHz"));
        assert_eq!(field(text, "MemTotal"), Some("2048 kB"));
        assert_eq!(field(text, "cpu MHz"), None);
    }

    #[test]
    fn this_machine_can_be_described() {
        let lines = lines();
        assert!(lines[0].starts_with("Date: 20"), "{lines:?}");
        assert!(!lines[2].contains(" 0.0 GiB"), "{lines:?}");
    }
}
