//! Command-line options.

use std::path::PathBuf;

use anyhow::{Context, bail};

pub(crate) const USAGE: &str = "usage: cargo xtask bench auction PART [OPTIONS]

  one          1,000 users on embedded stores; PostgreSQL, RabbitMQ, nginx, FerretDB; MariaDB, NATS, nginx, FerretDB
  cores        users per application core on PostgreSQL beside embedded, in windows that take turns
  nodes        1, 2 and 4 nodes behind HAProxy; the bus and a node are killed in the middle
  contention   one auction with many followers, by event stream and by long poll, and bidders as fast as answers come
  abuse        slow, idle, oversized and endless requests beside a small load

  --users N      users of a load (default 1000; cores 500; abuse 200), followers of contention
  --bidders N    bidders of contention (default 20)
  --ramp N       seconds until all users are there (default 20; cores and abuse 10)
  --warm-up N    seconds before what counts (default 65; cores 45; abuse 60)
  --window N     seconds that count (default 100; cores and abuse 40; contention 20)
  --rounds N     windows of each side of cores (default 3)
  --only NAME    one variant, as the table names it (may be given often)
  --bus NAME     nats (default) or rabbitmq, for nodes and contention
  --size NAME    data: micro (default), or nano for a look whether it works at all
  --program FILE the program to measure (default: a release build, made first)
  --append       put the result into docs/reference/auction.md";

/// Largest number accepted; larger ones are typing mistakes.
const MOST: u32 = 100_000;

/// A part of the measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BenchPart {
    One,
    Cores,
    Nodes,
    Contention,
    Abuse,
}

impl BenchPart {
    fn named(name: &str) -> Option<BenchPart> {
        Some(match name {
            "one" => BenchPart::One,
            "cores" => BenchPart::Cores,
            "nodes" => BenchPart::Nodes,
            "contention" => BenchPart::Contention,
            "abuse" => BenchPart::Abuse,
            _ => return None,
        })
    }

    /// Default users and times. The mix of operations is steady a minute and a half after the first users
    /// came; parts for which the mix does not matter take less. All variants of a part take ten minutes.
    fn defaults(self) -> (u32, Timing) {
        let timing = |ramp, warm_up, window| Timing { ramp, warm_up, window };
        match self {
            BenchPart::One | BenchPart::Nodes => (1_000, timing(20, 65, 100)),
            BenchPart::Cores => (500, timing(10, 45, 40)),
            BenchPart::Contention => (1_000, timing(0, 0, 20)),
            BenchPart::Abuse => (200, timing(10, 60, 40)),
        }
    }
}

/// The bus between nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BusKind {
    Nats,
    RabbitMq,
}

/// Durations of a load, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Timing {
    pub(crate) ramp: u32,
    pub(crate) warm_up: u32,
    pub(crate) window: u32,
}

#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) part: BenchPart,
    pub(crate) users: u32,
    pub(crate) bidders: u32,
    pub(crate) timing: Timing,
    pub(crate) rounds: u32,
    only: Vec<String>,
    pub(crate) bus: BusKind,
    pub(crate) size: String,
    pub(crate) program: Option<PathBuf>,
    /// Whether the result is added to the page.
    pub(crate) append: bool,
}

impl Options {
    pub(crate) fn read(arguments: &[&str]) -> anyhow::Result<Options> {
        let mut words = arguments.iter().copied();
        let name = words.next().unwrap_or_default();
        let part = BenchPart::named(name).with_context(|| format!("`{name}` is not a part\n\n{USAGE}"))?;
        let (users, timing) = part.defaults();
        let mut options = Options {
            part,
            users,
            bidders: 20,
            timing,
            rounds: 3,
            only: Vec::new(),
            bus: BusKind::Nats,
            size: "micro".to_owned(),
            program: None,
            append: false,
        };
        while let Some(word) = words.next() {
            if word == "--append" {
                options.append = true;
                continue;
            }
            let value = words.next().with_context(|| format!("{word} needs a value\n\n{USAGE}"));
            options.set(word, value?)?;
        }
        Ok(options)
    }

    fn set(&mut self, word: &str, value: &str) -> anyhow::Result<()> {
        let count = || {
            let number = value.parse().ok().filter(|n| (1..=MOST).contains(n));
            number.with_context(|| format!("{word} is `{value}`: a whole number from 1 to {MOST} is allowed"))
        };
        match word {
            "--users" => self.users = count()?,
            "--bidders" => self.bidders = count()?,
            "--ramp" => self.timing.ramp = count()?,
            "--warm-up" => self.timing.warm_up = count()?,
            "--window" => self.timing.window = count()?,
            "--rounds" => self.rounds = count()?,
            "--only" => self.only.push(value.to_owned()),
            "--size" => self.size = value.to_owned(),
            "--program" => self.program = Some(PathBuf::from(value)),
            "--bus" => {
                self.bus = match value {
                    "nats" => BusKind::Nats,
                    "rabbitmq" => BusKind::RabbitMq,
                    _ => bail!("--bus is `{value}`: nats and rabbitmq are allowed"),
                }
            }
            _ => bail!("`{word}` is not an option\n\n{USAGE}"),
        }
        Ok(())
    }

    /// Whether a variant is wanted.
    pub(crate) fn wants(&self, variant: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|name| name == variant)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_have_defaults_and_mistakes_say_what_is_allowed() {
        let options = Options::read(&["cores", "--window", "60", "--only", "a", "--append"]).unwrap();
        assert_eq!((options.users, options.timing.window, options.append), (500, 60, true));
        assert!(options.wants("a") && !options.wants("b"));
        assert!(Options::read(&["one"]).unwrap().wants("b"));
        for (words, says) in [
            (&["two"][..], "`two` is not a part"),
            (&["one", "--users", "0"], "--users is `0`: a whole number from 1 to 100000 is allowed"),
            (&["one", "--users"], "--users needs a value"),
            (&["nodes", "--bus", "kafka"], "--bus is `kafka`: nats and rabbitmq are allowed"),
            (&["one", "--fast", "1"], "`--fast` is not an option"),
        ] {
            let said = Options::read(words).unwrap_err().to_string();
            assert!(said.contains(says), "{said}");
        }
    }
}
