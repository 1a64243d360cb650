//! Draws: rows picked from data files, and generated values.

use std::fmt::Write as _;

use barograph_engine::Stream;
use barograph_model::UserId;
use barograph_scenario::{
    Draw, DrawId, DrawScope, DrawSource, Generator, Pick, SlotIndex, Source, TimeFormat, Values, View,
};
use barograph_scenario_script::FunctionResult;
use rand::{Rng, RngExt};
use rand_distr::Distribution;

use crate::memory::{FrameKey, Memory, UserValues};
use crate::program::Program;
use crate::script;
use crate::slot::Slot;
use crate::worker::Worker;

/// Context of draws: the user, the activity, and the slots of the operation.
pub(crate) struct Drawing<'a> {
    pub(crate) worker: &'a Worker,
    pub(crate) memory: &'a mut Memory,
    pub(crate) at: FrameKey,
    pub(crate) operation: &'a mut [Slot],
    pub(crate) rng: &'a mut Stream,
}

impl Drawing<'_> {
    /// Makes draws in their order: those of each exchange always, the others if their places are empty. `Err`
    /// gives the reason for a failed draw.
    pub(crate) fn make(&mut self, draws: &[DrawId]) -> Result<(), String> {
        for id in draws {
            let draw = &self.worker.program.scenario.draws[usize::from(id.0)];
            if draw.per == DrawScope::Exchange || self.slot(draw.place).is_absent() {
                self.one(*id, draw).map_err(|why| format!("the value `{}`: {why}", draw.name))?;
            }
        }
        Ok(())
    }

    fn one(&mut self, id: DrawId, draw: &Draw) -> Result<(), String> {
        match &draw.what {
            DrawSource::Row(data, pick) => {
                let rows = u64::from(self.worker.program.scenario.data[usize::from(data.0)].rows());
                let user = u64::from(self.memory.user.0);
                let row = match pick {
                    Pick::Unique => user % rows,
                    Pick::Random => self.rng.random_range(0..rows),
                    Pick::Sequential => (user + self.count(id)) % rows,
                };
                self.slot(draw.place).set_integer(row as i64);
            }
            DrawSource::Generated(generator) => self.generate(id, draw.place, generator)?,
        }
        Ok(())
    }

    fn generate(&mut self, id: DrawId, place: SlotIndex, generator: &Generator) -> Result<(), String> {
        match generator {
            Generator::Sequence { start, step } => {
                let n = self.count(id) as i64;
                self.slot(place).set_integer(start.wrapping_add(n.wrapping_mul(*step)));
            }
            Generator::UserId { first } => {
                let UserId(user) = self.memory.user;
                self.slot(place).set_integer(first.wrapping_add(i64::from(user)));
            }
            Generator::RandomInt { min, max } => {
                let n = self.rng.random_range(*min..=*max);
                self.slot(place).set_integer(n);
            }
            Generator::Zipf { first, .. } => {
                let nth: f64 = self.worker.program.zipf(id).sample(self.rng);
                self.slot(place).set_integer(first.wrapping_add(nth as i64 - 1));
            }
            Generator::Item(list) => self.item(place, *list),
            Generator::Template(template) => {
                let mut bytes = self.worker.scratch.take();
                bytes.clear();
                let rendered = template.render(&self.sight(), &mut bytes);
                let text = std::str::from_utf8(&bytes).expect("templates and values are texts");
                let end = rendered.map(|()| self.slot(place).set_text(text));
                self.worker.scratch.replace(bytes);
                end.map_err(|source| self.worker.program.is_absent(source))?;
            }
            Generator::Script(call) => {
                let (worker, rng) = (self.worker, &mut *self.rng);
                let sight = sight(&worker.program, self.memory, self.at, self.operation);
                let made = script::value(worker, call, &sight, &mut || rng.random())?;
                self.keep_made(place, &made);
            }
            text => self.text(place, text),
        }
        Ok(())
    }

    /// Generates texts that need only random numbers and the clock.
    fn text(&mut self, place: SlotIndex, generator: &Generator) {
        let clock = self.worker.program.clock;
        // Split by hand: the slot is written while numbers are drawn.
        let slot = self.memory.slot(place, self.at, self.operation);
        let rng = &mut *self.rng;
        match generator {
            Generator::RandomChoice { of, up_to } => {
                let u: f64 = rng.random();
                let index = up_to.partition_point(|sum| *sum <= u).min(of.len() - 1);
                slot.set_text(&of[index]);
            }
            Generator::RandomString { length, alphabet } => {
                let text = slot.begin_text();
                text.extend((0..*length).map(|_| alphabet[rng.random_range(0..alphabet.len())]));
            }
            Generator::RandomFloat { min, max, decimals } => {
                let x: f64 = min + (max - min) * rng.random::<f64>();
                write(slot.begin_text(), format_args!("{x:.*}", *decimals as usize));
            }
            Generator::Uuid => write(slot.begin_text(), format_args!("{}", Uuid::draw(rng))),
            Generator::Timestamp(format) => timestamp(*format, clock().0, slot),
            _ => {}
        }
    }

    /// A random item of a list; none of an empty one.
    fn item(&mut self, place: SlotIndex, list: Source) {
        let length = match self.sight().view(list) {
            View::List(items) => items.len(),
            View::Absent => 0,
            _ => 1,
        };
        if length == 0 {
            return self.slot(place).clear();
        }
        let index = self.rng.random_range(0..length);
        let mut bytes = self.worker.scratch.take();
        bytes.clear();
        match self.sight().view(list) {
            View::List(items) => bytes.extend_from_slice(items[index].as_bytes()),
            View::Text(text) => bytes.extend_from_slice(text.as_bytes()),
            View::Integer(n) => {
                let mut text = String::new();
                write(&mut text, format_args!("{n}"));
                bytes.extend_from_slice(text.as_bytes());
            }
            View::Absent | View::Number(_) => {}
        }
        let text = std::str::from_utf8(&bytes).expect("items are texts");
        self.slot(place).set_text(text);
        self.worker.scratch.replace(bytes);
    }

    fn keep_made(&mut self, place: SlotIndex, made: &FunctionResult) {
        let slot = self.slot(place);
        match made {
            FunctionResult::Integer(n) => slot.set_integer(*n),
            FunctionResult::Text(text) => slot.set_text(text),
            FunctionResult::Number(x) => write(slot.begin_text(), format_args!("{x}")),
            FunctionResult::Flag(flag) => slot.set_text(if *flag { "true" } else { "false" }),
        }
    }

    /// Number of earlier draws of this kind.
    fn count(&mut self, id: DrawId) -> u64 {
        let count = &mut self.memory.counts[self.worker.program.counter(id)];
        *count += 1;
        *count - 1
    }

    fn slot(&mut self, place: SlotIndex) -> &mut Slot {
        self.memory.slot(place, self.at, self.operation)
    }

    fn sight(&self) -> UserValues<'_> {
        sight(&self.worker.program, self.memory, self.at, self.operation)
    }
}

fn sight<'a>(
    program: &'a Program,
    memory: &'a Memory,
    at: FrameKey,
    operation: &'a [Slot],
) -> UserValues<'a> {
    UserValues { scenario: &program.scenario, memory, frame: at.number, operation }
}

fn write(text: &mut String, what: std::fmt::Arguments<'_>) {
    text.write_fmt(what).expect("writing to memory cannot fail");
}

/// Whether this draw needs a counter.
pub(crate) fn counts(draw: &Draw) -> bool {
    matches!(
        draw.what,
        DrawSource::Row(_, Pick::Sequential) | DrawSource::Generated(Generator::Sequence { .. })
    )
}

fn timestamp(format: TimeFormat, now: u64, slot: &mut Slot) {
    match format {
        TimeFormat::UnixSeconds => slot.set_integer((now / 1_000_000_000) as i64),
        TimeFormat::UnixMillis => slot.set_integer((now / 1_000_000) as i64),
        TimeFormat::Rfc3339 => {
            let at = jiff::Timestamp::from_millisecond((now / 1_000_000) as i64);
            let at = at.expect("64 bits of nanoseconds end in the year 2554");
            write(slot.begin_text(), format_args!("{at:.3}"));
        }
    }
}

/// A random UUID of version 4, printed in the usual groups.
struct Uuid([u8; 16]);

impl Uuid {
    fn draw(rng: &mut Stream) -> Self {
        let mut bytes = [0; 16];
        rng.fill_bytes(&mut bytes);
        bytes[6] = bytes[6] & 0x0f | 0x40;
        bytes[8] = bytes[8] & 0x3f | 0x80;
        Uuid(bytes)
    }
}

impl std::fmt::Display for Uuid {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (i, byte) in self.0.iter().enumerate() {
            let dash = if matches!(i, 4 | 6 | 8 | 10) { "-" } else { "" };
            write!(f, "{dash}{byte:02x}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_says_its_version() {
        let mut rng = barograph_engine::stream(1, 2, 3);
        for _ in 0..100 {
            let text = Uuid::draw(&mut rng).to_string();
            let bytes = text.as_bytes();
            assert_eq!(text.len(), 36, "{text}");
            assert!([8, 13, 18, 23].iter().all(|at| bytes[*at] == b'-'), "{text}");
            assert!(bytes[14] == b'4' && b"89ab".contains(&bytes[19]), "{text}");
        }
    }

    #[test]
    fn a_time_of_day_is_written_in_three_ways() {
        let mut slot = Slot::default();
        let now = 1_769_903_999_123_456_789;
        timestamp(TimeFormat::Rfc3339, now, &mut slot);
        assert_eq!(slot.view(), View::Text("2026-01-31T23:59:59.123Z"));
        timestamp(TimeFormat::UnixMillis, now, &mut slot);
        assert_eq!(slot.view(), View::Integer(1_769_903_999_123));
        timestamp(TimeFormat::UnixSeconds, now, &mut slot);
        assert_eq!(slot.view(), View::Integer(1_769_903_999));
    }
}
