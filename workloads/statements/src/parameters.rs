//! Parameters in SQL: names after a colon in a file, places in the statements of engines.

/// A statement as an engine has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Text {
    pub(crate) sql: String,
    /// The slot of the value of each place.
    pub(crate) slots: Vec<usize>,
}

/// The form of places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Places {
    /// `$1` for the first name, wherever it is used.
    Numbered,
    /// `?` for every use of a name.
    Marks,
}

/// A part of a statement.
#[derive(Debug, PartialEq, Eq)]
enum Part<'a> {
    Sql(&'a str),
    Name(&'a str),
}

/// The names of parameters of a statement.
pub(crate) fn names(sql: &str) -> impl Iterator<Item = &str> {
    parts(sql).into_iter().filter_map(|part| if let Part::Name(name) = part { Some(name) } else { None })
}

/// A statement with places for its parameters. `slot` is that of a name; names without one stay as they are.
pub(crate) fn placed(sql: &str, places: Places, slot: impl Fn(&str) -> Option<usize>) -> Text {
    let mut text = Text { sql: String::new(), slots: Vec::new() };
    for part in parts(sql) {
        let slot = match part {
            Part::Sql(sql) => {
                text.sql.push_str(sql);
                continue;
            }
            Part::Name(name) => slot(name).ok_or(name),
        };
        match (slot, places) {
            (Err(name), _) => text.sql.push_str(&format!(":{name}")),
            (Ok(slot), Places::Marks) => {
                text.sql.push('?');
                text.slots.push(slot);
            }
            (Ok(slot), Places::Numbered) => {
                let at = text.slots.iter().position(|one| *one == slot).unwrap_or_else(|| {
                    text.slots.push(slot);
                    text.slots.len() - 1
                });
                text.sql.push_str(&format!("${}", at + 1));
            }
        }
    }
    text
}

/// Splits a statement at the names of parameters. Quoted parts and casts (`::type`) have none.
fn parts(sql: &str) -> Vec<Part<'_>> {
    let (mut all, mut begin, mut quote, mut at) = (Vec::new(), 0, None, 0);
    let bytes = sql.as_bytes();
    while let Some(byte) = bytes.get(at) {
        let length = name_length(&bytes[at + 1..]);
        match (quote, byte) {
            (Some(end), byte) if end == *byte => quote = None,
            (None, b'\'' | b'"' | b'`') => quote = Some(*byte),
            (None, b':') if bytes.get(at + 1) == Some(&b':') => at += 1,
            (None, b':') if length > 0 => {
                all.push(Part::Sql(&sql[begin..at]));
                begin = at + 1 + length;
                all.push(Part::Name(&sql[at + 1..begin]));
                at = begin;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    all.push(Part::Sql(&sql[begin..]));
    all
}

/// The length of the name at the beginning of these bytes; 0 for none.
fn name_length(bytes: &[u8]) -> usize {
    let is_begin = |byte: &u8| byte.is_ascii_alphabetic() || *byte == b'_';
    let is_in = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'_';
    if bytes.first().is_some_and(is_begin) { bytes.iter().take_while(is_in).count() } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_places() {
        let sql = "UPDATE t SET a = a + :delta, d = ':no' WHERE id BETWEEN :id AND :id + 9 AND b = :x::text AND c = '12:30'";
        assert_eq!(names(sql).collect::<Vec<_>>(), ["delta", "id", "id", "x"]);
        let slot = |name: &str| ["id", "x", "delta"].iter().position(|one| *one == name);
        let numbered = placed(sql, Places::Numbered, slot);
        assert_eq!(
            numbered.sql,
            "UPDATE t SET a = a + $1, d = ':no' WHERE id BETWEEN $2 AND $2 + 9 AND b = $3::text AND c = '12:30'"
        );
        assert_eq!(numbered.slots, [2, 0, 1]);
        let marks = placed(sql, Places::Marks, slot);
        assert_eq!(
            marks.sql,
            "UPDATE t SET a = a + ?, d = ':no' WHERE id BETWEEN ? AND ? + 9 AND b = ?::text AND c = '12:30'"
        );
        assert_eq!(marks.slots, [2, 0, 0, 1]);
        assert_eq!(placed("SELECT :y", Places::Marks, slot).sql, "SELECT :y");
        assert_eq!(placed("SELECT ':", Places::Marks, slot).sql, "SELECT ':");
    }
}
