//! Settings of a host that dense mode switches, found below a root so that tests have a host of their own.

use std::fmt;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use barograph_ethtool::RX_USECS;
use barograph_platform::{Entry, Ledger, LedgerError};

use crate::place::{Drivers, KernelDrivers, Place, same};
use crate::purpose::Purpose;

/// Folder of the network devices. A lock on it keeps two runs from setting back each other's values.
const DEVICES: &str = "sys/class/net";

/// Time for which received packets wait for others, in nanoseconds and microseconds: far below limits of response time.
const FLUSH_NS: u32 = 200_000;
const DELAY_US: u32 = FLUSH_NS / 1_000;

/// Features of devices that join packets, or leave splitting them to the device.
const OFFLOADS: [&str; 3] = ["rx-gro", "tx-generic-segmentation", "tx-tcp-segmentation"];

/// Rounds without packets before a device interrupts again.
const ROUNDS: u32 = 2;

/// A setting of this host.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Setting {
    purpose: Purpose,
    place: Place,
    /// Its value in dense mode.
    dense: String,
}

/// A changed setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// What was changed: a file of the kernel, or a setting of a device or of servers.
    pub what: String,
    /// Its value before.
    pub before: String,
    /// Its value now.
    pub now: String,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {} (was {})", self.what, self.now, self.before)
    }
}

/// Settings of a host that dense mode switches.
#[derive(Debug)]
pub struct DenseSettings {
    settings: Vec<Setting>,
    drivers: Box<dyn Drivers>,
    lock: Option<File>,
    /// Changes in effect: the entry in the ledger, the place, and the value before.
    changed: Vec<(Entry, Place, String)>,
}

impl DenseSettings {
    /// Finds the settings below `root`, which is `/` but for tests, on a host with some processors.
    #[must_use]
    pub fn of(root: &Path, processors: u32) -> Self {
        Self::with(root, processors, Box::new(KernelDrivers))
    }

    fn with(root: &Path, processors: u32, drivers: Box<dyn Drivers>) -> Self {
        let kernel = ["busy_read", "busy_poll"].map(|name| root.join("proc/sys/net/core").join(name));
        let off =
            |path| Setting { purpose: Purpose::BusyPolling, place: Place::File(path), dense: "0".to_owned() };
        let devices = below(&root.join(DEVICES));
        let all = kernel
            .into_iter()
            .map(off)
            .chain(devices.iter().flat_map(|device| of_device(device, processors)));
        // What cannot be read is there, and named when it is not changed.
        let settings = all.filter(|setting| !matches!(setting.place.read(&*drivers), Ok(None))).collect();
        DenseSettings { settings, drivers, lock: File::open(root.join(DEVICES)).ok(), changed: Vec::new() }
    }

    /// Returns the purposes for which this host has no setting, but for those of its servers.
    #[must_use]
    pub fn missing(&self) -> Vec<Purpose> {
        let has = |purpose| {
            purpose == Purpose::TimerSlack || self.settings.iter().any(|setting| setting.purpose == purpose)
        };
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
        for Setting { place, dense, .. } in &self.settings {
            let before = match place.read(&*self.drivers) {
                Ok(Some(now)) if same(&now, dense) => continue,
                Ok(Some(now)) => now,
                // The device is gone.
                Ok(None) => continue,
                Err(why) => {
                    refused.push(format!("{place}: {why}"));
                    continue;
                }
            };
            let thing = place.change_from(&before);
            let entry = ledger.will(thing.clone())?;
            if let Err(why) = place.write(&*self.drivers, dense) {
                refused.push(format!("{place}: {why}"));
                // A kernel that took another value than it was given has to be set back, too.
                let _ = place.write(&*self.drivers, &before);
                ledger.removed(entry)?;
                continue;
            }
            ledger.done(entry, thing)?;
            changes.push(Change { what: place.to_string(), before: before.clone(), now: dense.clone() });
            self.changed.push((entry, place.clone(), before));
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
        while let Some((entry, place, before)) = self.changed.pop() {
            match place.write(&*self.drivers, &before) {
                // A device that is gone has taken its settings along.
                Err(why) if !matches!(place.read(&*self.drivers), Ok(None)) && !is_gone(&why) => {
                    refused.push(format!("{place}: {why}"));
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

/// Whether a device is gone.
fn is_gone(why: &io::Error) -> bool {
    const NO_SUCH_DEVICE: i32 = 19;
    why.kind() == io::ErrorKind::NotFound || why.raw_os_error() == Some(NO_SUCH_DEVICE)
}

/// Settings of a device, present or not.
fn of_device(device: &Path, processors: u32) -> Vec<Setting> {
    let coalescing =
        [("gro_flush_timeout", FLUSH_NS), ("napi_defer_hard_irqs", ROUNDS)].map(|(name, value)| Setting {
            purpose: Purpose::Coalescing,
            place: Place::File(device.join(name)),
            dense: value.to_string(),
        });
    let queues = below(&device.join("queues")).into_iter().map(|queue| Setting {
        purpose: Purpose::ReceiveSteering,
        place: Place::File(queue.join("rps_cpus")),
        dense: mask(processors),
    });
    let of_driver = |purpose, name, dense: String| {
        let device = device.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Setting { purpose, place: Place::Device { device, name }, dense }
    };
    let delay = of_driver(Purpose::InterruptDelay, RX_USECS, DELAY_US.to_string());
    let offloads = OFFLOADS.map(|name| of_driver(Purpose::Offloads, name, "on".to_owned()));
    coalescing.into_iter().chain(queues).chain([delay]).chain(offloads).collect()
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Mutex;

    use super::*;

    /// Drivers with these settings: device, name, value. None of them takes another value where it is `fixed`.
    #[derive(Debug, Default)]
    struct FakeDrivers {
        values: Mutex<BTreeMap<(String, String), String>>,
        fixed: bool,
    }

    impl FakeDrivers {
        fn of(all: &[(&str, &str, &str)], fixed: bool) -> std::sync::Arc<Self> {
            let value = |(device, name, value): &(&str, &str, &str)| {
                (((*device).to_owned(), (*name).to_owned()), (*value).to_owned())
            };
            std::sync::Arc::new(FakeDrivers { values: Mutex::new(all.iter().map(value).collect()), fixed })
        }

        fn now(&self) -> Vec<String> {
            self.values.lock().unwrap().values().cloned().collect()
        }
    }

    impl Drivers for std::sync::Arc<FakeDrivers> {
        fn read(&self, device: &str, name: &str) -> io::Result<Option<String>> {
            Ok(self.values.lock().unwrap().get(&(device.to_owned(), name.to_owned())).cloned())
        }

        fn write(&self, device: &str, name: &str, value: &str) -> io::Result<()> {
            if self.fixed {
                return Err(io::ErrorKind::Unsupported.into());
            }
            self.values.lock().unwrap().insert((device.to_owned(), name.to_owned()), value.to_owned());
            Ok(())
        }
    }

    /// The settings of a host whose devices have no drivers with settings.
    fn of_files(root: &Path, processors: u32) -> DenseSettings {
        DenseSettings::with(root, processors, Box::new(FakeDrivers::of(&[], false)))
    }

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
        let mut settings = of_files(root.path(), 6);
        assert_eq!(settings.missing(), [Purpose::InterruptDelay, Purpose::Offloads]);
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
        let all = Purpose::ALL.into_iter().filter(|purpose| *purpose != Purpose::TimerSlack);
        let (polling, others): (Vec<_>, Vec<_>) = all.partition(|purpose| *purpose == Purpose::BusyPolling);
        assert_eq!(of_files(root.path(), 2).missing(), others);
        assert_eq!(of_files(Path::new("/no/such/host"), 2).missing(), [polling, others].concat());
    }

    #[test]
    fn a_second_run_leaves_the_settings_of_the_first() {
        let root = host(&FILES);
        let ledger = ledger(&root);
        let (mut first, mut second) = (of_files(root.path(), 2), of_files(root.path(), 2));
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
    }

    #[test]
    fn settings_of_devices_are_changed_and_set_back_where_drivers_take_them() {
        let before =
            [("eth0", "rx-gro", "off"), ("eth0", RX_USECS, "8"), ("eth0", "tx-generic-segmentation", "on")];
        let root = host(&FILES);
        let ledger = ledger(&root);
        let drivers = FakeDrivers::of(&before, false);
        let mut settings = DenseSettings::with(root.path(), 2, Box::new(std::sync::Arc::clone(&drivers)));
        assert_eq!(settings.missing(), []);
        let (changes, refused) = settings.switch_on(&ledger).unwrap();
        let words: Vec<String> = changes.iter().map(ToString::to_string).collect();
        assert_eq!(words[4..], ["rx-usecs of eth0 = 200 (was 8)", "rx-gro of eth0 = on (was off)"]);
        assert_eq!((refused.len(), ledger.left().len()), (0, 6));
        assert_eq!(drivers.now(), ["on", "200", "on"]);
        assert!(settings.switch_off(&ledger).unwrap().is_empty() && ledger.left().is_empty());
        assert_eq!(drivers.now(), ["off", "8", "on"]);
        let fixed = FakeDrivers::of(&before, true);
        let mut settings = DenseSettings::with(root.path(), 2, Box::new(std::sync::Arc::clone(&fixed)));
        let (changes, refused) = settings.switch_on(&ledger).unwrap();
        assert_eq!((changes.len(), refused.len()), (4, 2), "{refused:?}");
        assert!(refused[0].starts_with("rx-usecs of eth0: "), "{refused:?}");
        settings.switch_off(&ledger).unwrap();
        assert!(ledger.left().is_empty());
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
        let place = Place::File(path.to_owned());
        let setting = Setting { purpose: Purpose::BusyPolling, place, dense: dense.to_owned() };
        let lock = File::open(folder.path()).ok();
        let mut settings = DenseSettings {
            settings: vec![setting],
            drivers: Box::new(KernelDrivers),
            lock,
            changed: Vec::new(),
        };
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
