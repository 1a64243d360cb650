//! Dense mode of the host under load: on, or switched by the servers and the use of the host.

use std::collections::BTreeSet;
use std::path::Path;

use barograph_platform::{Accounts, Ledger, LedgerError};
use barograph_record::ProbeRow;
use barograph_spec::{DenseMode, Plan};
use barograph_tunables::{DenseSettings, HostLoad, Purpose, TimerSlack, threads};

use crate::deploy::{Deployment, StartedPart};

/// Dense mode of a load.
pub(crate) struct Dense {
    settings: DenseSettings,
    slack: TimerSlack,
    /// Where the processes of the servers are, or of the emulators of their machines.
    servers: Vec<Accounts>,
    /// Whether conditions switch it.
    is_automatic: bool,
    /// Seconds from one check to the next.
    every_s: f64,
    /// The host, with its use since the latest check.
    host: HostLoad,
    is_on: bool,
    /// Samples since the latest check.
    since: Samples,
}

/// Samples of the host's busy processors.
#[derive(Clone, Copy, Debug, Default)]
struct Samples {
    /// Seconds of the run at the first and at the latest one.
    from_s: Option<f64>,
    to_s: f64,
    /// Seconds of busy processors between them.
    busy_s: f64,
}

impl Dense {
    /// Dense mode of a plan with what it deployed; `None` if it is off.
    pub(crate) fn of(plan: &Plan, app: Option<&Deployment>, processors: u32) -> Option<Self> {
        let is_automatic = match plan.deploy.dense {
            DenseMode::Off => return None,
            DenseMode::On => false,
            DenseMode::Automatic => true,
        };
        // Drivers belong to no load.
        let is_server = |part: &&StartedPart| part.load.is_some();
        let servers = || app.into_iter().flat_map(Deployment::services).filter(is_server);
        let host = HostLoad {
            servers: servers().count() as u32,
            server_processors: servers().map(|part| part.unit.limits.cpus.unwrap_or(1.0)).sum(),
            processors: processors.into(),
            busy: 0.0,
        };
        let settings = DenseSettings::of(Path::new("/"), processors);
        Some(Dense {
            settings,
            slack: TimerSlack::default(),
            servers: servers().map(|part| part.running().accounts()).collect(),
            is_automatic,
            every_s: plan.deploy.dense_every.as_secs_f64(),
            host,
            is_on: false,
            since: Samples::default(),
        })
    }

    /// Begins with the load. Returns notes for the record.
    pub(crate) fn begin(&mut self, ledger: &Ledger) -> Result<Vec<String>, LedgerError> {
        let slack = (!TimerSlack::is_there()).then_some(Purpose::TimerSlack);
        let missing: Vec<String> =
            self.settings.missing().iter().chain(&slack).map(ToString::to_string).collect();
        let lacks =
            (!missing.is_empty()).then(|| format!("dense mode: this host lacks {}", missing.join(", ")));
        let on = if self.is_automatic { None } else { Some(self.switch_on("for the whole load", ledger)?) };
        Ok(lacks.into_iter().chain(on).collect())
    }

    /// Takes the samples of an interval, and checks the host when it is time. Returns a note about a switch.
    pub(crate) fn after(&mut self, rows: &[ProbeRow], ledger: &Ledger) -> Result<Vec<String>, LedgerError> {
        let host = rows.iter().find(|row| row.subject == "host");
        let Some((row, cores)) = host.and_then(|row| Some((row, row.cores()?))) else {
            return Ok(Vec::new());
        };
        let from_s = *self.since.from_s.get_or_insert(row.at_s);
        if from_s < row.at_s {
            self.since.busy_s += cores * (row.at_s - self.since.to_s);
        }
        self.since.to_s = row.at_s;
        let span_s = row.at_s - from_s;
        if !self.is_automatic || span_s < self.every_s {
            return Ok(Vec::new());
        }
        self.host.busy = self.since.busy_s / span_s / self.host.processors.max(1.0);
        self.since = Samples { from_s: Some(row.at_s), to_s: row.at_s, busy_s: 0.0 };
        Ok(self.check(ledger)?.into_iter().collect())
    }

    /// Switches if the conditions ask for it.
    fn check(&mut self, ledger: &Ledger) -> Result<Option<String>, LedgerError> {
        match (self.host.fails(), self.is_on) {
            (None, false) => Ok(Some(self.switch_on(&self.host.to_string(), ledger)?)),
            (Some(why), true) => Ok(Some(self.switch_off(&format!("{why}: {}", self.host), ledger)?)),
            _ => Ok(None),
        }
    }

    /// Ends with the load. Returns a note if it was on.
    pub(crate) fn end(&mut self, ledger: &Ledger) -> Result<Vec<String>, LedgerError> {
        let off = if self.is_on { Some(self.switch_off("the load ends", ledger)?) } else { None };
        Ok(off.into_iter().collect())
    }

    fn switch_on(&mut self, why: &str, ledger: &Ledger) -> Result<String, LedgerError> {
        self.is_on = true;
        let (mut changes, mut refused) = self.settings.switch_on(ledger)?;
        let of_servers: BTreeSet<u32> =
            self.servers.iter().flat_map(|server| threads(&server.cgroups, server.pid)).collect();
        let (slack, not_slack) = self.slack.switch_on(&of_servers);
        changes.extend(slack);
        refused.extend(not_slack);
        let all: Vec<String> = changes.iter().map(ToString::to_string).chain(not_taken(&refused)).collect();
        let all =
            if all.is_empty() { "every setting has its value already".to_owned() } else { all.join("; ") };
        Ok(format!("dense mode on, {why}: {all}"))
    }

    fn switch_off(&mut self, why: &str, ledger: &Ledger) -> Result<String, LedgerError> {
        self.is_on = false;
        self.slack.switch_off();
        let refused = self.settings.switch_off(ledger)?;
        let all: Vec<String> =
            ["settings are as before".to_owned()].into_iter().chain(not_taken(&refused)).collect();
        Ok(format!("dense mode off, {why}: {}", all.join("; ")))
    }
}

/// Settings that were not changed, in words.
fn not_taken(refused: &[String]) -> Option<String> {
    (!refused.is_empty()).then(|| format!("not changed: {}", refused.join(", ")))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const SETTING: &str = "proc/sys/net/core/busy_read";

    /// A host with one setting, 100 servers and two processors, checked every 10 s.
    fn dense(root: &Path, is_automatic: bool) -> Dense {
        fs::create_dir_all(root.join("proc/sys/net/core")).unwrap();
        fs::create_dir_all(root.join("sys/class/net")).unwrap();
        fs::write(root.join(SETTING), "50\n").unwrap();
        let host = HostLoad { servers: 100, server_processors: 100.0, processors: 2.0, busy: 0.0 };
        let settings = DenseSettings::of(root, 2);
        Dense {
            settings,
            slack: TimerSlack::default(),
            servers: Vec::new(),
            is_automatic,
            every_s: 10.0,
            host,
            is_on: false,
            since: Samples::default(),
        }
    }

    fn host(at_s: f64, cores: f64) -> Vec<ProbeRow> {
        vec![ProbeRow {
            at_s,
            subject: "host".to_owned(),
            cpu_user_cores: Some(cores),
            ..ProbeRow::default()
        }]
    }

    #[test]
    fn conditions_switch_it_once_per_check() {
        let root = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(root.path().join("ledger.jsonl")).unwrap();
        let mut dense = dense(root.path(), true);
        let lacks = dense.begin(&ledger).unwrap();
        assert_eq!(lacks.len(), 1);
        let words = "dense mode: this host lacks coalescing of interrupts, a delay of interrupts by devices (rx-usecs), \
                     receive steering, offloads";
        assert!(lacks[0].starts_with(words), "{lacks:?}");
        // Busy from the start, idle from 20 s on, and busy again.
        let cores = |second: u32| if (20..35).contains(&second) { 0.2 } else { 1.5 };
        let mut switched = Vec::new();
        for second in 0..=60 {
            let notes = dense.after(&host(f64::from(second), cores(second)), &ledger).unwrap();
            let value = fs::read_to_string(root.path().join(SETTING)).unwrap();
            switched.extend(notes.into_iter().map(|note| (second, value.trim().to_owned(), note)));
        }
        let of = |at: usize| (switched[at].0, switched[at].1.as_str(), switched[at].2.as_str());
        assert_eq!(switched.len(), 3, "{switched:?}");
        let (second, value, note) = of(0);
        assert_eq!((second, value), (10, "0"));
        assert!(
            note.starts_with("dense mode on, 100 servers with 100 processors on 2, 75 % busy: "),
            "{note}"
        );
        let (second, value, note) = of(1);
        assert_eq!((second, value), (30, "50"));
        assert!(note.starts_with("dense mode off, less than half of the CPU is busy: "), "{note}");
        assert_eq!((of(2).0, of(2).1), (50, "0"));
        assert_eq!(ledger.left().len(), 1);
        assert_eq!(dense.end(&ledger).unwrap(), ["dense mode off, the load ends: settings are as before"]);
        assert!(ledger.left().is_empty() && dense.end(&ledger).unwrap().is_empty());
    }

    #[test]
    fn it_is_on_for_a_whole_load() {
        let root = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(root.path().join("ledger.jsonl")).unwrap();
        let mut dense = dense(root.path(), false);
        let notes = dense.begin(&ledger).unwrap();
        assert!(notes[1].starts_with("dense mode on, for the whole load: "), "{notes:?}");
        for second in 0..100 {
            assert!(dense.after(&host(f64::from(second), 0.0), &ledger).unwrap().is_empty());
        }
        assert_eq!(fs::read_to_string(root.path().join(SETTING)).unwrap().trim(), "0");
        dense.end(&ledger).unwrap();
        assert_eq!(fs::read_to_string(root.path().join(SETTING)).unwrap().trim(), "50");
    }
}
