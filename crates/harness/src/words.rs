//! Numbers in sentences.

/// `1234567` as `1,234,567`.
pub(crate) fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// So many users.
pub(crate) fn users(n: u32) -> String {
    if n == 1 { "1 user".to_owned() } else { format!("{} users", count(n.into())) }
}

/// Names as a person lists them.
pub(crate) fn listed(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [begin @ .., last] => format!("{} and {last}", begin.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_stand_apart_and_one_user_is_no_users() {
        assert_eq!(
            [7, 999, 1_000, 11_818, 1_234_567].map(count),
            ["7", "999", "1,000", "11,818", "1,234,567"]
        );
        assert_eq!([1, 2, 30_000].map(users), ["1 user", "2 users", "30,000 users"]);
        assert_eq!([listed(&["a"]), listed(&["a", "b", "c"])], ["a", "a, b and c"]);
    }
}
