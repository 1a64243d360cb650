//! Power of this machine by source: energy counters of the processors (RAPL), sensors (hwmon), and a meter.
//!
//! The name of a source begins with its scope: `package`, `dram`, `core`, `uncore` and `psys` of RAPL,
//! `chassis` and `part` of sensors, and that of a meter. Scopes contain each other, so their figures must not
//! be added up: a package contains its cores, and a chassis its packages.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use barograph_model::Nanos;

use crate::hot::HotFile;
use crate::{Meter, ProbeError};

/// Longest time between two readings of a sensor or meter across which the energy is known.
pub const LONGEST_GAP: Nanos = Nanos::from_secs(3);

/// Most sources of a machine; some chips have a counter for every core.
const MOST: usize = 64;

/// Driver of the sensor that ACPI has for the whole machine.
const ACPI_METER: &str = "power_meter";

/// Figures of a source at one instant.
#[derive(Clone, Debug, PartialEq)]
pub struct PowerSample {
    /// Time of the figures on the caller's clock.
    pub at: Nanos,
    /// Name of the source.
    pub source: String,
    /// Power in watts: a reading, or of a counter the mean since the previous sample.
    pub watts: Option<f64>,
    /// Energy in joules since the first sample; `None` if it is unknown since the previous one.
    pub joules: Option<f64>,
}

/// Energy of power readings by trapezium.
#[derive(Debug, Default)]
pub(crate) struct Trapezium {
    last: Option<(Nanos, f64)>,
    joules: f64,
}

impl Trapezium {
    /// Adds a reading in watts and returns the energy so far; `None` after a gap.
    pub(crate) fn add(&mut self, at: Nanos, watts: f64) -> Option<f64> {
        let (before, from) = self.last.replace((at, watts)).unwrap_or((at, watts));
        let span = at.since(before);
        if span > LONGEST_GAP {
            return None;
        }
        self.joules += f64::midpoint(from, watts) * span.as_secs_f64();
        Some(self.joules)
    }
}

/// A counter of energy in microjoules.
#[derive(Debug)]
struct EnergyCounter {
    /// Value after which it begins again at 0.
    range: Option<u64>,
    last: Option<(Nanos, u64)>,
    joules: f64,
}

impl EnergyCounter {
    /// Adds a reading; returns watts and joules.
    fn add(&mut self, at: Nanos, micros: u64) -> (Option<f64>, Option<f64>) {
        let Some((before, from)) = self.last.replace((at, micros)) else { return (None, Some(0.0)) };
        let grown = match self.range {
            _ if micros >= from => micros - from,
            Some(range) => range.saturating_sub(from) + micros,
            None => return (None, None),
        };
        let joules = grown as f64 / 1e6;
        self.joules += joules;
        let seconds = at.since(before).as_secs_f64();
        ((seconds > 0.0).then(|| joules / seconds), Some(self.joules))
    }
}

#[derive(Debug)]
enum Quantity {
    Energy(EnergyCounter),
    /// Power in microwatts.
    Power(Trapezium),
}

/// A file of the kernel with energy or power.
#[derive(Debug)]
struct PowerFile {
    name: String,
    file: HotFile,
    quantity: Quantity,
}

impl PowerFile {
    fn sample(&mut self, at: Nanos) -> Option<PowerSample> {
        let micros = self.file.parse("figure", |text| text.trim().parse::<u64>().ok()).ok()?;
        let (watts, joules) = match &mut self.quantity {
            Quantity::Energy(counter) => counter.add(at, micros),
            Quantity::Power(energy) => {
                let watts = micros as f64 / 1e6;
                (Some(watts), energy.add(at, watts))
            }
        };
        Some(PowerSample { at, source: self.name.clone(), watts, joules })
    }
}

/// Reads all sources of a machine.
#[derive(Debug, Default)]
pub struct PowerProbe {
    files: Vec<PowerFile>,
    meter: Option<Meter>,
    refused: Vec<PathBuf>,
}

impl PowerProbe {
    /// Opens every source below `sys`, which is `/sys` on a real machine, and adds a meter.
    #[must_use]
    pub fn open(sys: &Path, meter: Option<Meter>) -> Self {
        let mut probe = PowerProbe { meter, ..PowerProbe::default() };
        probe.rapl(&sys.join("class/powercap"));
        probe.sensors(&sys.join("class/hwmon"));
        probe
    }

    /// Whether there is no source.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.meter.is_none()
    }

    /// Returns the files of sources that this user may not read.
    #[must_use]
    pub fn refused(&self) -> &[PathBuf] {
        &self.refused
    }

    /// Returns the meter.
    #[must_use]
    pub fn meter(&self) -> Option<&Meter> {
        self.meter.as_ref()
    }

    /// Reads every source; `now` is the time of the caller's clock. Sources that cannot be read have no
    /// sample.
    pub fn sample(&mut self, now: Nanos) -> Vec<PowerSample> {
        let files = self.files.iter_mut().filter_map(|file| file.sample(now));
        let mut all: Vec<PowerSample> = files.collect();
        all.extend(self.meter.iter_mut().flat_map(|meter| meter.readings(now)));
        all
    }

    /// Adds the zones of RAPL. Those of a second interface to the same counters (`intel-rapl-mmio`) are left
    /// out.
    fn rapl(&mut self, class: &Path) {
        for zone in names(class).into_iter().filter(|name| name.starts_with("intel-rapl:")) {
            let name_of = |zone: &str| word(&class.join(zone).join("name"));
            let Some(own) = name_of(&zone) else { continue };
            // `intel-rapl:0` is a package, `intel-rapl:0:1` a part of it.
            let package = zone.rsplit_once(':').and_then(|(above, _)| name_of(above));
            let number = package.as_deref().and_then(|name| name.strip_prefix("package"));
            let range = word(&class.join(&zone).join("max_energy_range_uj")).and_then(|n| n.parse().ok());
            let counter = EnergyCounter { range, last: None, joules: 0.0 };
            let name = format!("{own}{}", number.unwrap_or_default());
            self.add(&name, class.join(&zone).join("energy_uj"), Quantity::Energy(counter));
        }
    }

    /// Adds the sensors of all chips. A chip has numbered channels of power in microwatts and of energy in
    /// microjoules.
    fn sensors(&mut self, class: &Path) {
        for chip in names(class) {
            let folder = class.join(chip);
            let driver = word(&folder.join("name")).unwrap_or_else(|| "chip".to_owned());
            for file in names(&folder) {
                let Some((channel, suffix)) = file.split_once('_') else { continue };
                let averages = suffix == "average" && !folder.join(format!("{channel}_input")).exists();
                let quantity = match channel.trim_end_matches(|digit: char| digit.is_ascii_digit()) {
                    "power" if suffix == "input" || averages => Quantity::Power(Trapezium::default()),
                    "energy" if suffix == "input" => {
                        Quantity::Energy(EnergyCounter { range: None, last: None, joules: 0.0 })
                    }
                    _ => continue,
                };
                let label =
                    word(&folder.join(format!("{channel}_label"))).unwrap_or_else(|| channel.to_owned());
                let name = match driver.as_str() {
                    ACPI_METER => "chassis".to_owned(),
                    driver => format!("part-{driver}-{label}"),
                };
                self.add(&name, folder.join(&file), quantity);
            }
        }
    }

    /// Adds a source under a name of its own.
    fn add(&mut self, name: &str, path: PathBuf, quantity: Quantity) {
        let is_taken = |name: &str| self.files.iter().any(|file| file.name == name);
        let numbered = |n: usize| if n == 1 { name.to_owned() } else { format!("{name}-{n}") };
        let Some(name) = (1..=MOST).map(numbered).find(|name| !is_taken(name)) else { return };
        match HotFile::open(&path) {
            Ok(file) if self.files.len() < MOST => self.files.push(PowerFile { name, file, quantity }),
            Err(ProbeError::Read { source, .. }) if source.kind() == io::ErrorKind::PermissionDenied => {
                self.refused.push(path);
            }
            _ => {}
        }
    }
}

/// Names in a folder, in their order; empty if it cannot be read.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort_unstable();
    names
}

/// The text of a file without its end of line; `None` if it is empty or cannot be read.
pub(crate) fn word(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes files of a made-up `/sys`.
    fn write(root: &Path, files: &[(&str, &str)]) {
        for (name, text) in files {
            let path = root.join("class").join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
    }

    fn figures(samples: &[PowerSample]) -> Vec<(&str, Option<f64>, Option<f64>)> {
        samples.iter().map(|sample| (sample.source.as_str(), sample.watts, sample.joules)).collect()
    }

    #[test]
    fn counters_of_a_made_up_machine_are_read_by_scope_and_across_a_wrap() {
        let root = tempfile::tempdir().unwrap();
        write(
            root.path(),
            &[
                ("powercap/intel-rapl:0/name", "package-0\n"),
                ("powercap/intel-rapl:0/energy_uj", "262143000000\n"),
                ("powercap/intel-rapl:0/max_energy_range_uj", "262143328850\n"),
                ("powercap/intel-rapl:0:0/name", "dram\n"),
                ("powercap/intel-rapl:0:0/energy_uj", "5\n"),
                ("powercap/intel-rapl:1/name", "psys\n"),
                ("powercap/intel-rapl:1/energy_uj", "7\n"),
                ("powercap/intel-rapl-mmio:0/name", "package-0\n"),
                ("powercap/intel-rapl-mmio:0/energy_uj", "9\n"),
            ],
        );
        let mut probe = PowerProbe::open(root.path(), None);
        let first = probe.sample(Nanos::from_secs(10));
        let none = |name| (name, None, Some(0.0));
        assert_eq!(figures(&first), [none("package-0"), none("dram-0"), none("psys")]);
        write(
            root.path(),
            &[
                ("powercap/intel-rapl:0/energy_uj", "99671150\n"),
                ("powercap/intel-rapl:0:0/energy_uj", "10000005\n"),
                ("powercap/intel-rapl:1/energy_uj", "3\n"),
            ],
        );
        let second = probe.sample(Nanos::from_secs(12));
        let wanted = [
            ("package-0", Some(50.0), Some(100.0)),
            ("dram-0", Some(5.0), Some(10.0)),
            // It fell, and the kernel does not say where it begins again.
            ("psys", None, None),
        ];
        assert_eq!(figures(&second), wanted);
    }

    #[test]
    fn sensors_of_a_made_up_machine_are_joined_by_trapezium() {
        let root = tempfile::tempdir().unwrap();
        write(
            root.path(),
            &[
                ("hwmon/hwmon0/name", "power_meter\n"),
                ("hwmon/hwmon0/power1_average", "200000000\n"),
                ("hwmon/hwmon1/name", "amdgpu\n"),
                ("hwmon/hwmon1/power1_input", "20000000\n"),
                ("hwmon/hwmon1/power1_average", "1\n"),
                ("hwmon/hwmon1/power1_label", "PPT\n"),
                ("hwmon/hwmon1/power1_cap", "1\n"),
                ("hwmon/hwmon1/temp1_input", "45000\n"),
                ("hwmon/hwmon2/name", "amdgpu\n"),
                ("hwmon/hwmon2/power1_input", "none\n"),
                ("hwmon/hwmon2/power1_label", "PPT\n"),
                ("hwmon/hwmon3/energy1_input", "1000000\n"),
            ],
        );
        let mut probe = PowerProbe::open(root.path(), None);
        let first = probe.sample(Nanos::from_secs(1));
        let wanted = [
            ("chassis", Some(200.0), Some(0.0)),
            ("part-amdgpu-PPT", Some(20.0), Some(0.0)),
            ("part-chip-energy1", None, Some(0.0)),
        ];
        assert_eq!(figures(&first), wanted);
        let files = [
            ("hwmon/hwmon0/power1_average", "300000000\n"),
            ("hwmon/hwmon2/power1_input", "7000000\n"),
            ("hwmon/hwmon3/energy1_input", "4000000\n"),
        ];
        write(root.path(), &files);
        let wanted = [
            ("chassis", Some(300.0), Some(500.0)),
            ("part-amdgpu-PPT", Some(20.0), Some(40.0)),
            ("part-amdgpu-PPT-2", Some(7.0), Some(0.0)),
            ("part-chip-energy1", Some(1.5), Some(3.0)),
        ];
        assert_eq!(figures(&probe.sample(Nanos::from_secs(3))), wanted);
        let later = probe.sample(Nanos::from_secs(7));
        assert_eq!(figures(&later)[0], ("chassis", Some(300.0), None), "a gap of four seconds");
        assert_eq!(figures(&later)[3], ("part-chip-energy1", Some(0.0), Some(3.0)), "no gap for a counter");
        let after = probe.sample(Nanos::from_secs(8));
        assert_eq!(figures(&after)[0], ("chassis", Some(300.0), Some(800.0)), "without the gap");
    }

    #[test]
    fn a_machine_without_sources_has_no_figures() {
        let mut probe = PowerProbe::open(Path::new("/nonexistent"), None);
        assert!(probe.is_empty() && probe.refused().is_empty() && probe.sample(Nanos::ZERO).is_empty());
    }
}
