//! Sizes of the data.

use serde::{Deserialize, Serialize};

/// Tags that a large site approaches.
const MOST_TAGS: f64 = 5_000.0;

/// People at which the number of tags bends.
const TAG_BEND: f64 = 10_000.0;

/// Events of a zone in the mean.
const EVENTS_OF_ZONE: u64 = 40;

/// People of a step of the fill.
const PEOPLE_OF_STEP: u64 = 500;

/// Events of a step of the fill.
const EVENTS_OF_STEP: u64 = 100;

/// Numbers of the rows that follow from a number of concurrent users.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// People.
    pub people: u64,
    /// Tags.
    pub tags: u64,
    /// Events.
    pub events: u64,
    /// Zones of the map. The home page shows the events of one.
    pub zones: u64,
}

impl Size {
    /// The size for `users` concurrent users, at least one, with `people_each` people for each of them.
    #[must_use]
    pub fn new(users: u32, people_each: u32) -> Self {
        let people = u64::from(users.max(1)) * u64::from(people_each.max(1));
        let decay = (-(people as f64) / TAG_BEND).exp();
        let tags = (MOST_TAGS * (1.0 - decay) / (1.0 + decay)).round().max(1.0) as u64;
        let events = 3 * tags;
        Size { people, tags, events, zones: (events / EVENTS_OF_ZONE).clamp(1, 100) }
    }

    /// Rows by table: exact ones of people, tags and events, the mean of the others.
    #[must_use]
    pub fn rows(&self) -> [(&'static str, u64); 7] {
        [
            ("people", self.people),
            ("friends", self.people * 15),
            ("tags", self.tags),
            ("events", self.events),
            ("attendees", self.events * 55),
            ("comments", self.events * 10),
            ("tags of events", self.events * 4),
        ]
    }

    pub(crate) fn people_steps(&self) -> u64 {
        self.people.div_ceil(PEOPLE_OF_STEP)
    }

    pub(crate) fn event_steps(&self) -> u64 {
        self.events.div_ceil(EVENTS_OF_STEP)
    }

    /// Steps of a fill: the tables, the tags, people, events, and the end.
    #[must_use]
    pub fn steps(&self) -> u64 {
        3 + self.people_steps() + self.event_steps()
    }

    pub(crate) fn people_of(&self, step: u64) -> std::ops::Range<u64> {
        step * PEOPLE_OF_STEP..((step + 1) * PEOPLE_OF_STEP).min(self.people)
    }

    pub(crate) fn events_of(&self, step: u64) -> std::ops::Range<u64> {
        step * EVENTS_OF_STEP..((step + 1) * EVENTS_OF_STEP).min(self.events)
    }
}

/// Order for the fill of a site, the same for all of its steps.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct FillOrder {
    /// Concurrent users.
    pub users: u32,
    /// People for each of them.
    pub people_each: u32,
    /// Seed of the data.
    pub seed: u64,
    /// Factor on the sizes of pictures and documents.
    pub file_scale: f64,
}

impl FillOrder {
    /// The size of the data.
    #[must_use]
    pub fn size(&self) -> Size {
        Size::new(self.users, self.people_each)
    }

    /// Identity of the data: equal stamps mean equal data.
    #[must_use]
    pub fn stamp(&self) -> String {
        let FillOrder { users, people_each, seed, file_scale } = self;
        format!("social-1-u{users}-p{people_each}-s{seed}-f{file_scale}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_those_of_the_published_sizes() {
        let counts = |users| {
            let Size { people, tags, events, .. } = Size::new(users, 100);
            (people, tags, events)
        };
        assert_eq!(counts(100), (10_000, 2_311, 6_933));
        assert_eq!(counts(400), (40_000, 4_820, 14_460));
        assert_eq!(counts(1_500), (150_000, 5_000, 15_000));
        let rows = Size::new(100, 100).rows();
        assert_eq!(
            rows[1..].iter().map(|row| row.1).collect::<Vec<_>>(),
            [150_000, 2_311, 6_933, 381_315, 69_330, 27_732]
        );
        assert_eq!(Size::new(1, 1), Size { people: 1, tags: 1, events: 3, zones: 1 });
    }

    #[test]
    fn steps_cover_everything_once() {
        let size = Size::new(13, 100);
        let people: u64 = (0..size.people_steps()).map(|step| size.people_of(step).count() as u64).sum();
        let events: u64 = (0..size.event_steps()).map(|step| size.events_of(step).count() as u64).sum();
        assert_eq!((people, events), (size.people, size.events));
    }
}
