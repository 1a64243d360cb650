//! Names: users by number, people, makers, auctions and their categories.

/// The password of every filled user. It protects nothing: the application holds only made-up data.
pub const PASSWORD: &str = "barograph";

/// The login name of user `id`. Ids of filled users run from 1 without gaps.
#[must_use]
pub fn user_name(id: u32) -> String {
    format!("user{id:07}@auction.example")
}

/// Categories of auctions.
pub const CATEGORIES: [&str; 8] =
    ["Books", "Clocks", "Furniture", "Instruments", "Jewellery", "Maps", "Paintings", "Toys"];

/// Names of auctions; several auctions share one.
pub const AUCTIONS: [&str; 6] = [
    "Attic treasures",
    "Autumn sale",
    "House clearance",
    "Old masters and young ones",
    "The collector's hour",
    "Workshop finds",
];

/// First names.
const FIRST: [&str; 24] = [
    "Ada", "Bela", "Cato", "Dora", "Emil", "Fay", "Gus", "Hana", "Ivo", "Jana", "Kurt", "Lena", "Milo",
    "Nora", "Otto", "Pia", "Quin", "Rosa", "Sven", "Tara", "Udo", "Vera", "Willa", "Zeno",
];

/// Last names.
const LAST: [&str; 20] = [
    "Abel", "Brook", "Castell", "Dale", "Ender", "Field", "Gray", "Hill", "Irwin", "Jensen", "Keller",
    "Lund", "Moor", "North", "Okafor", "Park", "Quist", "Reed", "Stone", "Tanaka",
];

/// Manufacturers.
const MAKERS: [&str; 12] = [
    "Alder & Sons",
    "Brightwater",
    "Copperfield Works",
    "Dunmore",
    "Eastgate",
    "Fennel Brothers",
    "Gilt House",
    "Harrow",
    "Ironbridge",
    "Juniper",
    "Kestrel",
    "Lantern Lane",
];

fn pick<'a>(list: &[&'a str], number: u64) -> &'a str {
    list[usize::try_from(number % list.len() as u64).expect("a remainder of a list's length fits")]
}

/// A first name for any number.
#[must_use]
pub fn first_name(number: u64) -> &'static str {
    pick(&FIRST, number)
}

/// A last name for any number; different numbers below 480 differ in first or last name.
#[must_use]
pub fn last_name(number: u64) -> &'static str {
    pick(&LAST, number / FIRST.len() as u64)
}

/// A maker of items for any number.
#[must_use]
pub fn maker(number: u64) -> &'static str {
    pick(&MAKERS, number)
}

/// The name of an auction for any number.
#[must_use]
pub fn auction(number: u64) -> &'static str {
    pick(&AUCTIONS, number)
}

/// A category for any number.
#[must_use]
pub fn category(number: u64) -> &'static str {
    pick(&CATEGORIES, number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn user_names_are_numbered_and_sort_by_number() {
        assert_eq!(user_name(123), "user0000123@auction.example");
        assert!(user_name(9) < user_name(10));
    }

    #[test]
    fn people_differ_before_they_repeat() {
        let people: HashSet<_> = (0..480).map(|n| (first_name(n), last_name(n))).collect();
        assert_eq!(people.len(), 480);
    }
}
