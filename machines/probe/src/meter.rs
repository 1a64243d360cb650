//! A power meter: readings from a text file that grows.
//!
//! A line has a power in watts, or a time and a power with a comma between them. Times are seconds since
//! 1970. Other lines are skipped and counted.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;

use barograph_model::Nanos;

use crate::PowerSample;
use crate::power::Trapezium;

/// Shortest time between two samples. The energy holds every reading.
const CLOSEST: Nanos = Nanos::from_millis(100);

/// Longest line in bytes: a bound on memory.
const LONGEST_LINE: usize = 4096;

/// Readings of a meter.
#[derive(Debug)]
pub struct Meter {
    /// Name of the source in samples.
    source: String,
    path: PathBuf,
    /// Seconds since 1970 at the start of the caller's clock.
    began_s: f64,
    file: Option<BufReader<File>>,
    /// A line whose end is not written yet.
    line: Vec<u8>,
    /// Whether the beginning of this line was dropped because it is too long.
    is_cut: bool,
    lines: u64,
    skipped: u64,
    energy: Trapezium,
    /// Times of the last reading and of the last sample.
    last: Option<(Nanos, Nanos)>,
}

impl Meter {
    /// Makes a meter with the readings in `path`, which may be created later. `began_s` is the start of the
    /// caller's clock in seconds since 1970; earlier readings are left out.
    #[must_use]
    pub fn new(source: &str, path: PathBuf, began_s: f64) -> Self {
        Meter {
            source: source.to_owned(),
            path,
            began_s,
            file: None,
            line: Vec::new(),
            is_cut: false,
            lines: 0,
            skipped: 0,
            energy: Trapezium::default(),
            last: None,
        }
    }

    /// Returns the number of lines without figures; a first line with names is not one of them.
    #[must_use]
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Whether there was a reading.
    #[must_use]
    pub fn has_readings(&self) -> bool {
        self.last.is_some()
    }

    /// Returns the new readings. Those without a time have `now`.
    pub(crate) fn readings(&mut self, now: Nanos) -> Vec<PowerSample> {
        let mut samples = Vec::new();
        while let Some(line) = self.next_line() {
            self.lines += 1;
            let Some((time_s, watts)) = figures(&line) else {
                self.skipped += u64::from(self.lines > 1);
                continue;
            };
            let at = match time_s {
                Some(time_s) if time_s < self.began_s => continue,
                Some(time_s) => Nanos::from_secs_f64(time_s - self.began_s),
                None => now,
            };
            samples.extend(self.reading(at, watts));
        }
        samples
    }

    fn reading(&mut self, at: Nanos, watts: f64) -> Option<PowerSample> {
        let (read, shown) = self.last.unzip();
        if read.is_some_and(|read| at < read) {
            self.skipped += 1;
            return None;
        }
        let joules = self.energy.add(at, watts);
        let is_shown = shown.is_none_or(|shown| at.since(shown) >= CLOSEST);
        self.last = Some((at, if is_shown { at } else { shown.unwrap_or(at) }));
        is_shown.then(|| PowerSample { at, source: self.source.clone(), watts: Some(watts), joules })
    }

    /// The next whole line; `None` at the end of what is written. One that is too long is empty.
    fn next_line(&mut self) -> Option<String> {
        if self.file.is_none() {
            self.file = File::open(&self.path).ok().map(BufReader::new);
        }
        let file = self.file.as_mut()?;
        loop {
            let room = LONGEST_LINE - self.line.len();
            file.by_ref().take(room as u64).read_until(b'\n', &mut self.line).ok()?;
            let is_whole = self.line.last() == Some(&b'\n');
            if !is_whole && self.line.len() < LONGEST_LINE {
                return None;
            }
            let line = std::mem::take(&mut self.line);
            let is_cut = std::mem::replace(&mut self.is_cut, !is_whole);
            if is_whole {
                return Some(if is_cut {
                    String::new()
                } else {
                    String::from_utf8_lossy(&line).into_owned()
                });
            }
        }
    }
}

/// Time and power of a line.
fn figures(line: &str) -> Option<(Option<f64>, f64)> {
    let mut fields = line.trim().split(',').map(|field| field.trim().parse::<f64>().ok());
    let (first, second) = (fields.next()??, fields.next());
    let (time_s, watts) = match second {
        Some(watts) => (Some(first), watts?),
        None => (None, first),
    };
    let is_known = watts.is_finite() && watts >= 0.0 && time_s.is_none_or(f64::is_finite);
    is_known.then_some((time_s, watts))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write as _;

    use super::*;

    const BEGAN_S: f64 = 1_900_000_000.0;

    fn short(samples: &[PowerSample]) -> Vec<(f64, f64, Option<f64>)> {
        samples.iter().map(|s| (s.at.as_secs_f64(), s.watts.unwrap(), s.joules)).collect()
    }

    #[test]
    fn a_file_is_followed_as_it_grows() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("meter.csv");
        let mut meter = Meter::new("meter", path.clone(), BEGAN_S);
        assert_eq!(meter.readings(Nanos::ZERO), [], "there is no file yet");
        fs::write(&path, "time,watts\n1899999999,70\n1900000001,100\n1900000002.5, 120\n19000").unwrap();
        let seen = meter.readings(Nanos::from_secs(3));
        assert_eq!(short(&seen), [(1.0, 100.0, Some(0.0)), (2.5, 120.0, Some(165.0))]);
        let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(b"00004,120,50.0\n1900000003,1\nbroken\n-5\n1900000009,120\n1900000010,80\n").unwrap();
        let seen = meter.readings(Nanos::from_secs(11));
        let wanted = [(4.0, 120.0, Some(345.0)), (9.0, 120.0, None), (10.0, 80.0, Some(445.0))];
        assert_eq!(short(&seen), wanted, "five seconds without a reading are not known");
        assert_eq!((meter.skipped(), meter.has_readings()), (3, true), "a time that goes back, and two more");
    }

    #[test]
    fn readings_without_a_time_have_that_of_the_look() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("meter.log");
        fs::write(&path, "40\n44\n").unwrap();
        let mut meter = Meter::new("chassis", path.clone(), BEGAN_S);
        assert_eq!(short(&meter.readings(Nanos::from_secs(5))), [(5.0, 40.0, Some(0.0))]);
        let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(b"48\n").unwrap();
        assert_eq!(short(&meter.readings(Nanos::from_secs(6))), [(6.0, 48.0, Some(46.0))], "from 44 on");
    }

    #[test]
    fn close_readings_are_one_sample_and_all_of_the_energy() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("meter.csv");
        let line = |n: u32| format!("{},{}\n", BEGAN_S + f64::from(n) / 64.0, n % 2 * 100);
        fs::write(&path, (0..=64).map(line).collect::<String>()).unwrap();
        let seen = Meter::new("meter", path, BEGAN_S).readings(Nanos::from_secs(1));
        assert_eq!(seen.len(), 10, "at least 0.1 s apart");
        assert_eq!(seen[9].joules, Some(50.0 * 63.0 / 64.0));
    }

    #[test]
    fn a_line_that_is_too_long_is_skipped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("meter.csv");
        fs::write(&path, format!("1\n{}\n7\n", "9".repeat(3 * LONGEST_LINE + 10))).unwrap();
        let mut meter = Meter::new("meter", path, BEGAN_S);
        assert_eq!(short(&meter.readings(Nanos::ZERO)), [(0.0, 1.0, Some(0.0))]);
        assert_eq!((meter.skipped(), meter.lines), (1, 3));
    }
}
