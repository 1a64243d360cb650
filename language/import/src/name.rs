//! Names for operations and values, derived from those in a document.

/// Words of an identifier, a path or a title, in lower case.
pub(crate) fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut before = ' ';
    for c in text.chars() {
        let begins =
            !before.is_ascii_alphanumeric() || (c.is_ascii_uppercase() && before.is_ascii_lowercase());
        if c.is_ascii_alphanumeric() {
            match words.last_mut() {
                Some(word) if !begins => word.push(c.to_ascii_lowercase()),
                _ => words.push(c.to_ascii_lowercase().to_string()),
            }
        }
        before = c;
    }
    words
}

/// A name such as `GetNextBid`, beginning with a letter.
pub(crate) fn operation(text: &str) -> String {
    const MOST_WORDS: usize = 8;
    let capital = |word: &String| format!("{}{}", word[..1].to_ascii_uppercase(), &word[1..]);
    let name: String = words(text).iter().take(MOST_WORDS).map(capital).collect();
    if name.starts_with(|c: char| c.is_ascii_alphabetic()) { name } else { format!("Op{name}") }
}

/// A name such as `auction_id`, beginning with a letter.
pub(crate) fn value(text: &str) -> String {
    let name = words(text).join("_");
    if name.starts_with(|c: char| c.is_ascii_alphabetic()) { name } else { format!("v_{name}") }
}

/// Words with another meaning among a scenario's names of values.
const TAKEN: [&str; 12] = [
    "and",
    "or",
    "not",
    "true",
    "false",
    "has",
    "len",
    "user",
    "argument",
    "status",
    "outcome",
    "activities",
];

/// Makes a valid name of a value.
pub(crate) fn free(name: &str) -> String {
    if TAKEN.contains(&name) { format!("{name}_value") } else { name.to_owned() }
}

/// `auction` of `auctions`, `category` of `categories`.
pub(crate) fn singular(word: &str) -> String {
    match word {
        _ if word.ends_with("ies") => format!("{}y", &word[..word.len() - 3]),
        _ if word.ends_with("sses") || word.ends_with("xes") => word[..word.len() - 2].to_owned(),
        "news" | "series" => word.to_owned(),
        _ if word.ends_with("ss") || word.ends_with("us") => word.to_owned(),
        _ => word.strip_suffix('s').unwrap_or(word).to_owned(),
    }
}

/// `name`, or `name2`, `name3` … if it is taken.
pub(crate) fn unique(name: &str, taken: impl Fn(&str) -> bool) -> String {
    let mut n = 2;
    let mut candidate = name.to_owned();
    while taken(&candidate) {
        candidate = format!("{name}{n}");
        n += 1;
    }
    candidate
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_made_of_words() {
        let operations = ["getNextBid", "GET /auction/live/{id}", "Log in and get a token", "2 much", ""];
        assert_eq!(
            operations.map(operation),
            ["GetNextBid", "GetAuctionLiveId", "LogInAndGetAToken", "Op2Much", "Op"]
        );
        assert_eq!(["auctionId", "X-CSRF-Token", "9"].map(value), ["auction_id", "x_csrf_token", "v_9"]);
        let plural = ["auctions", "categories", "boxes", "address", "status", "item"].map(singular);
        assert_eq!(plural, ["auction", "category", "box", "address", "status", "item"]);
        assert_eq!(unique("a", |n| n == "a" || n == "a2"), "a3");
    }
}
