//! Made-up people and events, from a random stream each: of the fill, and of the forms that users send.

use barograph_data::{names, text};
use rand::{Rng, RngExt};

/// Password of every person. It protects nothing.
pub const PASSWORD: &str = names::PASSWORD;

/// Days of the calendar, from the first one of the data.
pub(crate) const DAYS: i64 = 365;

/// Most tags of an event.
pub(crate) const MOST_TAGS: u64 = 7;

/// The login name of a filled person; numbers run from 1.
#[must_use]
pub fn user_name(number: u64) -> String {
    format!("user{number:07}")
}

/// A tag by its number, from 0: letters and digits.
#[must_use]
pub fn tag_name(number: u64) -> String {
    let mut rng = barograph_data::Streams::new(0).stream("tag", number);
    let word: String = text::words(&mut rng, 4..=10).chars().filter(char::is_ascii_alphabetic).collect();
    format!("{}{number}", word.to_ascii_lowercase())
}

/// An address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) street: String,
    pub(crate) city: String,
    pub(crate) zip: String,
    pub(crate) country: String,
}

impl Address {
    fn made(rng: &mut impl Rng) -> Self {
        Address {
            street: format!("{} {}", rng.random_range(1..1_000), text::words(rng, 8..=24)),
            city: text::words(rng, 5..=14),
            zip: format!("{:05}", rng.random_range(0..100_000)),
            country: text::words(rng, 5..=12),
        }
    }
}

fn phone(rng: &mut impl Rng) -> String {
    format!("+{} {:09}", rng.random_range(1..99), rng.random_range(0..1_000_000_000_u64))
}

/// The texts of a person.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PersonText {
    pub(crate) name: String,
    pub(crate) password: String,
    pub(crate) first_name: String,
    pub(crate) last_name: String,
    pub(crate) email: String,
    pub(crate) phone: String,
    pub(crate) address: Address,
    pub(crate) summary: String,
}

impl PersonText {
    /// Makes a person with a login name, which must be new.
    #[must_use]
    pub fn made(name: String, rng: &mut impl Rng) -> Self {
        let number = rng.random();
        PersonText {
            email: format!("{name}@social.example"),
            name,
            password: PASSWORD.to_owned(),
            first_name: names::first_name(number).to_owned(),
            last_name: names::last_name(number).to_owned(),
            phone: phone(rng),
            address: Address::made(rng),
            summary: text::words(rng, 250..=2_500),
        }
    }

    /// The fields of its form.
    #[must_use]
    pub fn fields(&self) -> [(&'static str, &str); 11] {
        let Address { street, city, zip, country } = &self.address;
        [
            ("name", &self.name),
            ("password", &self.password),
            ("first_name", &self.first_name),
            ("last_name", &self.last_name),
            ("email", &self.email),
            ("phone", &self.phone),
            ("street", street),
            ("city", city),
            ("zip", zip),
            ("country", country),
            ("summary", &self.summary),
        ]
    }

    /// The field of its form with this name.
    pub(crate) fn field(&mut self, name: &str) -> Option<&mut String> {
        Some(match name {
            "name" => &mut self.name,
            "password" => &mut self.password,
            "first_name" => &mut self.first_name,
            "last_name" => &mut self.last_name,
            "email" => &mut self.email,
            "phone" => &mut self.phone,
            "summary" => &mut self.summary,
            _ => return self.address.field(name),
        })
    }
}

impl Address {
    fn field(&mut self, name: &str) -> Option<&mut String> {
        Some(match name {
            "street" => &mut self.street,
            "city" => &mut self.city,
            "zip" => &mut self.zip,
            "country" => &mut self.country,
            _ => return None,
        })
    }
}

/// The texts of an event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventText {
    pub(crate) title: String,
    pub(crate) summary: String,
    pub(crate) description: String,
    pub(crate) phone: String,
    pub(crate) address: Address,
    /// A number of [`DAYS`].
    pub(crate) day: String,
    /// Tags, joined by spaces.
    pub(crate) tags: String,
}

impl EventText {
    /// Makes an event with a title of 15 to 20 characters and these tags.
    #[must_use]
    pub fn made(tags: &[String], rng: &mut impl Rng) -> Self {
        EventText {
            title: text::words(rng, 15..=20),
            summary: text::words(rng, 50..=200),
            description: text::words(rng, 100..=495),
            phone: phone(rng),
            address: Address::made(rng),
            day: rng.random_range(0..DAYS).to_string(),
            tags: tags.join(" "),
        }
    }

    /// Its title.
    #[must_use]
    pub fn title(&self) -> &str {
        &self.title
    }

    /// The fields of its form.
    #[must_use]
    pub fn fields(&self) -> [(&'static str, &str); 10] {
        let Address { street, city, zip, country } = &self.address;
        [
            ("title", &self.title),
            ("summary", &self.summary),
            ("description", &self.description),
            ("phone", &self.phone),
            ("street", street),
            ("city", city),
            ("zip", zip),
            ("country", country),
            ("day", &self.day),
            ("tags", &self.tags),
        ]
    }

    /// The field of its form with this name.
    pub(crate) fn field(&mut self, name: &str) -> Option<&mut String> {
        Some(match name {
            "title" => &mut self.title,
            "summary" => &mut self.summary,
            "description" => &mut self.description,
            "phone" => &mut self.phone,
            "day" => &mut self.day,
            "tags" => &mut self.tags,
            _ => return self.address.field(name),
        })
    }
}

/// Distinct numbers below `all`, from 0: a random first one, and steps of a random length.
pub(crate) fn spread<R: Rng>(all: u64, count: u64, rng: &mut R) -> impl Iterator<Item = u64> + use<R> {
    let count = count.min(all);
    let step = rng.random_range(1..=(all / count.max(1)).max(1));
    let first = rng.random_range(0..all.max(1));
    (0..count).map(move |number| (first + number * step) % all)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use barograph_data::Streams;

    use super::*;

    #[test]
    fn texts_have_their_lengths_and_fields_their_places() {
        let mut rng = Streams::new(1).stream("text", 0);
        for number in 0..200 {
            let mut event = EventText::made(&[tag_name(1), tag_name(2)], &mut rng);
            assert!((15..=20).contains(&event.title.len()) && (50..=200).contains(&event.summary.len()));
            assert!((100..=495).contains(&event.description.len()));
            let mut read = EventText::default();
            for (name, value) in event.fields() {
                read.field(name).unwrap().push_str(value);
            }
            assert_eq!(read, event);
            assert_eq!(event.field("name"), None);
            let person = PersonText::made(user_name(number), &mut rng);
            assert!((250..=2_500).contains(&person.summary.len()));
            let mut read = PersonText::default();
            for (name, value) in person.fields() {
                read.field(name).unwrap().push_str(value);
            }
            assert_eq!(read, person);
        }
        let tags: HashSet<String> = (0..5_000).map(tag_name).collect();
        assert_eq!(tags.len(), 5_000);
        assert!(tags.iter().all(|tag| tag.bytes().all(|byte| byte.is_ascii_alphanumeric())));
    }

    #[test]
    fn spread_numbers_are_distinct_and_below_the_whole() {
        let mut rng = Streams::new(1).stream("spread", 0);
        for (all, count) in [(1, 5), (10, 10), (11, 10), (10_000, 100)] {
            let numbers: HashSet<u64> = spread(all, count, &mut rng).collect();
            assert_eq!(numbers.len() as u64, count.min(all));
            assert!(numbers.iter().all(|number| *number < all));
        }
    }
}
