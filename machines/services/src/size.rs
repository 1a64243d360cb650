//! Sizes for settings: a limit of the unit, multiplied or divided by a number, or a share of it.

use barograph_platform::Limits;

use crate::Placement;

/// Resources of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    /// Whole cores, at least one.
    cpus: u64,
    memory_bytes: u64,
}

/// A resource that a template may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quantity {
    Cpus,
    MemoryMib,
    MemoryKib,
}

impl Quantity {
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "cpus" => Quantity::Cpus,
            "memory_mib" => Quantity::MemoryMib,
            "memory_kib" => Quantity::MemoryKib,
            _ => return None,
        })
    }
}

/// Calculation on a number before it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    AsItIs,
    Times(u64),
    Over(u64),
    Percent(u64),
}

impl Step {
    /// Splits `cpus*2`, `memory_kib/800` and `memory_mib:25%` into name and step. `None` if the step is
    /// invalid.
    pub(crate) fn split(text: &str) -> Option<(&str, Step)> {
        let Some(at) = text.find(['*', '/', ':']) else { return Some((text, Step::AsItIs)) };
        let (name, rest) = (&text[..at], &text[at + 1..]);
        let number = |text: &str| text.parse::<u64>().ok().filter(|n| *n > 0);
        let step = match &text[at..=at] {
            "*" => Step::Times(number(rest)?),
            "/" => Step::Over(number(rest)?),
            _ => Step::Percent(number(rest.strip_suffix('%')?).filter(|n| *n <= 100)?),
        };
        Some((name, step))
    }

    /// Returns an integer of at least 1, as a setting of 0 often means "no limit" or "off".
    pub(crate) fn of(self, number: u64) -> u64 {
        let result = match self {
            Step::AsItIs => number,
            Step::Times(n) => number.saturating_mul(n),
            Step::Over(n) => number / n,
            Step::Percent(n) => number / 100 * n + number % 100 * n / 100,
        };
        result.max(1)
    }
}

impl Size {
    pub(crate) fn of(place: &Placement<'_>) -> Self {
        let (cores, memory) = place.machine;
        Size {
            cpus: cpus(place.limits, cores) as u64,
            memory_bytes: place.limits.memory_bytes.unwrap_or(memory).min(memory),
        }
    }

    pub(crate) fn quantity(self, quantity: Quantity) -> u64 {
        match quantity {
            Quantity::Cpus => self.cpus,
            Quantity::MemoryMib => self.memory_bytes >> 20,
            Quantity::MemoryKib => self.memory_bytes >> 10,
        }
    }
}

/// Whole cores: a share of a core is one.
fn cpus(limits: &Limits, machine: usize) -> usize {
    let quota = limits.cpus.filter(|cpus| *cpus > 0.0).map_or(machine, |cpus| cpus.ceil() as usize);
    let set = if limits.cpu_set.is_empty() { machine } else { limits.cpu_set.len() };
    quota.min(set).min(machine).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_taken_times_over_and_in_shares() {
        let cases = [
            ("cpus", Some(("cpus", 7))),
            ("cpus*2", Some(("cpus", 14))),
            ("cpus/2", Some(("cpus", 3))),
            ("cpus/20", Some(("cpus", 1))),
            ("memory_mib:25%", Some(("memory_mib", 1))),
            ("memory_mib:100%", Some(("memory_mib", 7))),
            ("memory_mib:101%", None),
            ("memory_mib:25", None),
            ("cpus*0", None),
            ("cpus*", None),
            ("cpus*x", None),
        ];
        for (text, wanted) in cases {
            let got = Step::split(text).map(|(name, step)| (name, step.of(7)));
            assert_eq!(got, wanted, "{text}");
        }
        assert_eq!(Step::Percent(25).of(u64::MAX), u64::MAX / 100 * 25 + u64::MAX % 100 * 25 / 100);
    }

    #[test]
    fn what_limits_do_not_say_is_the_machines() {
        let with = |cpus, set: &[usize]| Limits {
            cpus,
            cpu_set: set.to_vec(),
            memory_bytes: None,
            ..Limits::default()
        };
        assert_eq!(cpus(&Limits::default(), 8), 8);
        assert_eq!(cpus(&with(Some(0.5), &[]), 8), 1);
        assert_eq!(cpus(&with(Some(2.5), &[]), 8), 3);
        assert_eq!(cpus(&with(Some(6.0), &[0, 1]), 8), 2);
        assert_eq!(cpus(&with(Some(64.0), &[]), 8), 8, "more than there is");
        assert_eq!(cpus(&with(Some(0.0), &[]), 0), 1);
    }
}
