//! Facts about the machine, the conditions of a measurement, for the disclosure.

use std::fs;

use rustix::process::{Resource, getrlimit};

use crate::text;

/// Names and values, in the order in which they are shown.
pub type Facts = Vec<(String, String)>;

/// Value of an unknown fact.
const UNKNOWN: &str = "unknown";

/// Returns processor, memory, kernel, distribution and limits of this host. Never fails: an unavailable fact
/// is "unknown".
#[must_use]
pub fn host_facts() -> Facts {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let cpuinfo = read("/proc/cpuinfo");
    let uname = rustix::system::uname();
    let limit = getrlimit(Resource::Nofile);
    let files = |limit: Option<u64>| limit.map_or("unlimited".to_owned(), |n| n.to_string());
    let memory = text::memory(&read("/proc/meminfo")).map(|m| m.total_bytes.to_string());
    let usable = std::thread::available_parallelism().ok().map(|n| n.to_string());
    let facts = [
        ("cpu model", cpu_model(&cpuinfo)),
        ("cores", Some(text::cores(&read("/proc/stat")).to_string())),
        ("cores usable by this process", usable),
        ("memory bytes", memory),
        ("hypervisor", Some(hypervisor(&cpuinfo, &read("/sys/class/dmi/id/product_name")))),
        ("kernel", Some(uname.release().to_string_lossy().into_owned())),
        ("architecture", Some(uname.machine().to_string_lossy().into_owned())),
        ("distribution", distribution(&read("/etc/os-release"))),
        ("clock source", line(&read("/sys/devices/system/clocksource/clocksource0/current_clocksource"))),
        ("open files limit, soft", Some(files(limit.current))),
        ("open files limit, hard", Some(files(limit.maximum))),
        ("local ports", line(&read("/proc/sys/net/ipv4/ip_local_port_range"))),
        ("listen backlog limit", line(&read("/proc/sys/net/core/somaxconn"))),
        ("transparent huge pages", line(&read("/sys/kernel/mm/transparent_hugepage/enabled"))),
    ];
    facts.into_iter().map(|(k, v)| (k.to_owned(), v.unwrap_or_else(|| UNKNOWN.to_owned()))).collect()
}

/// Joins words to a line with single blanks; `None` if there are none.
fn line(text: &str) -> Option<String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    (!words.is_empty()).then(|| words.join(" "))
}

fn cpuinfo_value<'a>(cpuinfo: &'a str, key: &str) -> Option<&'a str> {
    cpuinfo.lines().filter_map(|l| l.split_once(':')).find_map(|(k, v)| (k.trim() == key).then_some(v.trim()))
}

/// ARM kernels have no model name; the part number replaces it.
fn cpu_model(cpuinfo: &str) -> Option<String> {
    let named = cpuinfo_value(cpuinfo, "model name").and_then(line);
    named.or_else(|| Some(format!("ARM part {}", cpuinfo_value(cpuinfo, "CPU part")?)))
}

/// x86 processors have a flag for a hypervisor; its product name is added if the firmware reports it.
fn hypervisor(cpuinfo: &str, product: &str) -> String {
    let Some(flags) = cpuinfo_value(cpuinfo, "flags") else { return UNKNOWN.to_owned() };
    if !flags.split_ascii_whitespace().any(|flag| flag == "hypervisor") {
        return "no".to_owned();
    }
    line(product).map_or("yes".to_owned(), |name| format!("yes, {name}"))
}

fn distribution(os_release: &str) -> Option<String> {
    let value = os_release.lines().find_map(|l| l.strip_prefix("PRETTY_NAME="))?;
    line(value.trim_matches(['"', '\'']))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CPUINFO: &str = "processor\t: 0\nmodel name\t: Some  CPU @ 2 GHz\nflags\t\t: fpu hypervisor sse\n";

    #[test]
    fn facts_are_read_from_known_texts() {
        assert_eq!(cpu_model(CPUINFO).as_deref(), Some("Some CPU @ 2 GHz"));
        assert_eq!(cpu_model("CPU part\t: 0xd0c\n").as_deref(), Some("ARM part 0xd0c"));
        assert_eq!(cpu_model(""), None);
        assert_eq!(hypervisor(CPUINFO, "KVM\n"), "yes, KVM");
        assert_eq!(hypervisor(CPUINFO, ""), "yes");
        assert_eq!(hypervisor("flags : fpu nohypervisor\n", "KVM"), "no");
        assert_eq!(hypervisor("", ""), "unknown");
        assert_eq!(distribution("ID=x\nPRETTY_NAME=\"Some Linux 12\"\n").as_deref(), Some("Some Linux 12"));
        assert_eq!(distribution("ID=x\n"), None);
    }

    #[test]
    fn this_machine_tells_its_kernel_and_cores() {
        let facts = host_facts();
        let value = |key: &str| facts.iter().find(|(k, _)| k == key).map(|(_, v)| v.clone()).unwrap();
        assert!(value("cores").parse::<u32>().unwrap() >= 1);
        assert!(value("memory bytes").parse::<u64>().unwrap() > 1 << 20);
        let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
        assert_eq!(value("kernel"), kernel.trim());
        assert!(facts.iter().all(|(_, v)| !v.is_empty()));
    }
}
