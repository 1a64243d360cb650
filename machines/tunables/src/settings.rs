//! Settings of the kernel that dense mode switches, found below a root so that tests have a host of their own.

use std::fmt;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use barograph_platform::{Entry, Ledger, LedgerError, Resource};

/// Folder of the network devices. A lock on it keeps two runs from setting back each other's values.
const DEVICES: &str = "sys/class/net";

/// Time for which received packets wait for others, in nanoseconds: far below limits of response time.
const FLUSH_NS: u32 = 200_000;

/// Rounds without packets before a device interrupts again.
const ROUNDS: u32 = 2;

/// Purpose of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Polling of network devices by threads that wait: off.
    BusyPolling,
    /// Received packets are taken together, after fewer interrupts.
    Coalescing,
    /// Received packets are processed on all processors.
    ReceiveSteering,
}

impl Purpose {
    /// All purposes.
    pub const ALL: [Purpose; 3] = [Purpose::BusyPolling, Purpose::Coalescing, Purpose::ReceiveSteering];
}

impl fmt::Display for Purpose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Purpose::BusyPolling => "busy polling",
            Purpose::Coalescing => "coalescing of interrupts",
            Purpose::ReceiveSteering => "receive steering",
        })
    }
}

/// A setting of this host.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Setting {
    purpose: Purpose,
    path: PathBuf,
    /// Its value in dense mode.
    dense: String,
}

/// A changed setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Its file.
    pub path: PathBuf,
    /// Its value before.
    pub before: String,
    /// Its value now.
    pub now: String,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {} (was {})", self.path.display(), self.now, self.before)
    }
}

/// Settings of a host that dense mode switches.
#[derive(Debug)]
pub struct DenseSettings {
    settings: Vec<Setting>,
    lock: Option<File>,
    /// Changes in effect, each with its entry in the ledger.
    changed: Vec<(Entry, Change)>,
}

impl DenseSettings {
    /// Finds the settings below `root`, which is `/` but for tests, on a host with some processors.
    #[must_use]
    pub fn of(root: &Path, processors: u32) -> Self {
        let kernel = ["busy_read", "busy_poll"].map(|name| root.join("proc/sys/net/core").join(name));
        let off = |path| Setting { purpose: Purpose::BusyPolling, path, dense: "0".to_owned() };
        let devices = below(&root.join(DEVICES));
        let all = kernel
            .into_iter()
            .map(off)
            .chain(devices.iter().flat_map(|device| of_device(device, processors)));
        let settings = all.filter(|setting| setting.path.is_file()).collect();
        DenseSettings { settings, lock: File::open(root.join(DEVICES)).ok(), changed: Vec::new() }
    }

    /// Returns the purposes for which this host has no setting.
    #[must_use]
    pub fn missing(&self) -> Vec<Purpose> {
        let has = |purpose| self.settings.iter().any(|setting| setting.purpose == purpose);
        Purpose::ALL.into_iter().filter(|purpose| !has(*purpose)).collect()
    }

    /// Changes the settings to those of dense mode, each announced in the ledger before. Settings with the right value are
    /// left. Returns the changes, and the settings that the kernel did not take, with its reasons.
    ///
    /// # Errors
    /// If the ledger cannot be written; what was changed until then is named in it.
    pub fn switch_on(&mut self, ledger: &Ledger) -> Result<(Vec<Change>, Vec<String>), LedgerError> {
        let (mut changes, mut refused) = (Vec::new(), Vec::new());
        if self.lock.as_ref().is_none_or(|lock| lock.try_lock().is_err()) {
            return Ok((changes, vec!["another run of this host has them".to_owned()]));
        }
        for setting in &self.settings {
            let path = &setting.path;
            let before = match fs::read_to_string(path) {
                Ok(text) if same(&text, &setting.dense) => continue,
                Ok(text) => text.trim().to_owned(),
                Err(why) => {
                    refused.push(format!("{}: {why}", path.display()));
                    continue;
                }
            };
            let thing = Resource::Setting { path: path.clone(), before: before.clone() };
            let entry = ledger.will(thing.clone())?;
            if let Err(why) = written(path, &setting.dense) {
                refused.push(format!("{}: {why}", path.display()));
                // A kernel that took another value than it was given has to be set back, too.
                let _ = fs::write(path, &before);
                ledger.removed(entry)?;
                continue;
            }
            ledger.done(entry, thing)?;
            let change = Change { path: path.clone(), before, now: setting.dense.clone() };
            changes.push(change.clone());
            self.changed.push((entry, change));
        }
        Ok((changes, refused))
    }

    /// Sets all changes back, newest first. A setting that the kernel does not take stays in the ledger, for a sweep; its
    /// reason is returned.
    ///
    /// # Errors
    /// If the ledger cannot be written.
    pub fn switch_off(&mut self, ledger: &Ledger) -> Result<Vec<String>, LedgerError> {
        let mut refused = Vec::new();
        while let Some((entry, change)) = self.changed.pop() {
            match fs::write(&change.path, &change.before) {
                // The device is gone, and its setting with it.
                Err(why) if why.kind() != io::ErrorKind::NotFound => {
                    refused.push(format!("{}: {why}", change.path.display()));
                }
                _ => ledger.removed(entry)?,
            }
        }
        if let Some(lock) = &self.lock {
            // It ends with the file in any case.
            let _ = lock.unlock();
        }
        Ok(refused)
    }
}

/// Settings of a device, present or not.
fn of_device(device: &Path, processors: u32) -> Vec<Setting> {
    let coalescing =
        [("gro_flush_timeout", FLUSH_NS), ("napi_defer_hard_irqs", ROUNDS)].map(|(name, value)| Setting {
            purpose: Purpose::Coalescing,
            path: device.join(name),
            dense: value.to_string(),
        });
    let queues = below(&device.join("queues")).into_iter().map(|queue| Setting {
        purpose: Purpose::ReceiveSteering,
        path: queue.join("rps_cpus"),
        dense: mask(processors),
    });
    coalescing.into_iter().chain(queues).collect()
}

/// Entries of a folder, in order; none if it is not there.
fn below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut all: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    all.sort();
    all
}

/// Mask of processors 0 to `processors`, as the kernel writes it: words of 32 bits, the highest first.
fn mask(processors: u32) -> String {
    let word = |at: u32| match processors - at * 32 {
        bits @ 0..32 => (1_u32 << bits) - 1,
        _ => u32::MAX,
    };
    let words = processors.max(1).div_ceil(32);
    let highest = format!("{:x}", word(words - 1));
    (0..words - 1).rev().fold(highest, |text, at| format!("{text},{:08x}", word(at)))
}

/// Whether two values of a setting are equal, apart from leading zeros.
fn same(one: &str, other: &str) -> bool {
    let plain = |text: &str| {
        let text = text.trim().trim_start_matches('0').to_owned();
        if text.is_empty() { "0".to_owned() } else { text }
    };
    plain(one) == plain(other)
}

/// Writes a value and reads it back.
fn written(path: &Path, value: &str) -> io::Result<()> {
    fs::write(path, value)?;
    let now = fs::read_to_string(path)?;
    if same(&now, value) { Ok(()) } else { Err(io::Error::other(format!("the kernel keeps {}", now.trim()))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A host with these files and values.
    fn host(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join(DEVICES)).unwrap();
        for (path, value) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, value).unwrap();
        }
        root
    }

    fn ledger(root: &tempfile::TempDir) -> Ledger {
        Ledger::open(root.path().join("ledger.jsonl")).unwrap()
    }

    const FILES: [(&str, &str); 6] = [
        ("proc/sys/net/core/busy_read", "50\n"),
        ("proc/sys/net/core/busy_poll", "0\n"),
        ("sys/class/net/eth0/gro_flush_timeout", "0\n"),
        ("sys/class/net/eth0/napi_defer_hard_irqs", "0\n"),
        ("sys/class/net/eth0/queues/rx-0/rps_cpus", "00\n"),
        ("sys/class/net/eth0/queues/tx-0/xps_cpus", "00\n"),
    ];

    #[test]
    fn settings_that_differ_are_changed_and_set_back() {
        let root = host(&FILES);
        let ledger = ledger(&root);
        let read = |path: &str| fs::read_to_string(root.path().join(path)).unwrap().trim().to_owned();
        let mut settings = DenseSettings::of(root.path(), 6);
        assert_eq!(settings.missing(), []);
        let (changes, refused) = settings.switch_on(&ledger).unwrap();
        assert_eq!(
            (changes.len(), refused.len(), ledger.left().len()),
            (4, 0, 4),
            "one has its value already"
        );
        let values = FILES.map(|(path, _)| read(path));
        assert_eq!(values, ["0", "0", "200000", "2", "3f", "00"]);
        assert!(
            changes[0].to_string().ends_with("proc/sys/net/core/busy_read = 0 (was 50)"),
            "{}",
            changes[0]
        );
        let (again, _) = settings.switch_on(&ledger).unwrap();
        assert_eq!(again, [], "they are on");
        assert_eq!(settings.switch_off(&ledger).unwrap(), Vec::<String>::new());
        assert_eq!(FILES.map(|(path, _)| read(path)), ["50", "0", "0", "0", "00", "00"]);
        assert!(ledger.left().is_empty());
    }

    #[test]
    fn what_a_host_lacks_is_named() {
        let root = host(&FILES[..2]);
        let settings = DenseSettings::of(root.path(), 2);
        assert_eq!(settings.missing(), [Purpose::Coalescing, Purpose::ReceiveSteering]);
        assert_eq!(DenseSettings::of(Path::new("/no/such/host"), 2).missing(), Purpose::ALL);
    }

    #[test]
    fn a_second_run_leaves_the_settings_of_the_first() {
        let root = host(&FILES);
        let ledger = ledger(&root);
        let (mut first, mut second) = (DenseSettings::of(root.path(), 2), DenseSettings::of(root.path(), 2));
        assert_eq!(first.switch_on(&ledger).unwrap().0.len(), 4);
        let (changes, refused) = second.switch_on(&ledger).unwrap();
        assert_eq!((changes, refused.len()), (vec![], 1));
        first.switch_off(&ledger).unwrap();
        assert_eq!(second.switch_on(&ledger).unwrap().0.len(), 4);
        second.switch_off(&ledger).unwrap();
        assert!(ledger.left().is_empty());
    }

    #[test]
    fn masks_are_written_as_the_kernel_does() {
        let cases =
            [(1, "1"), (2, "3"), (32, "ffffffff"), (33, "1,ffffffff"), (80, "ffff,ffffffff,ffffffff")];
        for (processors, expected) in cases {
            assert_eq!(mask(processors), expected, "{processors}");
        }
        assert!(same("0003\n", "3") && same("00\n", "0") && !same("13", "3"));
    }

    /// The kernel's own setting, which only root may change.
    #[test]
    #[expect(clippy::print_stdout, reason = "a test that is skipped says so")]
    fn a_setting_of_this_kernel_is_changed_and_set_back() {
        let path = Path::new("/proc/sys/net/core/busy_read");
        let folder = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(folder.path().join("ledger.jsonl")).unwrap();
        let Ok(before) = fs::read_to_string(path) else {
            println!("skipped: this kernel has no busy polling");
            return;
        };
        let dense = if before.trim() == "0" { "50" } else { "0" };
        let setting =
            Setting { purpose: Purpose::BusyPolling, path: path.to_owned(), dense: dense.to_owned() };
        let lock = File::open(folder.path()).ok();
        let mut settings = DenseSettings { settings: vec![setting], lock, changed: Vec::new() };
        let (changes, refused) = settings.switch_on(&ledger).unwrap();
        if changes.is_empty() {
            println!("skipped: {}", refused.join(", "));
            assert!(ledger.left().is_empty());
            return;
        }
        assert_eq!(fs::read_to_string(path).unwrap().trim(), dense);
        assert_eq!(settings.switch_off(&ledger).unwrap(), Vec::<String>::new());
        assert_eq!(fs::read_to_string(path).unwrap(), before);
    }
}
