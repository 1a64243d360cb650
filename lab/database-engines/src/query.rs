//! The statements of a workload on a server, which each session prepares once.

/// A statement of a workload: a variant of an enum without values.
pub trait Query: Copy + 'static {
    /// All statements by their numbers, with their SQL.
    const ALL: &'static [(Self, &'static str)];

    /// Its place in the list.
    fn number(self) -> usize;
}

/// The SQL of all statements.
pub(crate) fn texts<Q: Query>() -> Vec<String> {
    Q::ALL.iter().map(|(_, sql)| (*sql).to_owned()).collect()
}

/// The SQL of a statement whose values are `?`, as PostgreSQL has it: with `$1`, `$2` and so on up to `$99`.
#[macro_export]
macro_rules! numbered {
    ($sql:expr) => {{
        const BYTES: [u8; $crate::numbered($sql, &mut []).0] = {
            let mut bytes = [0; $crate::numbered($sql, &mut []).0];
            let _ = $crate::numbered($sql, &mut bytes);
            bytes
        };
        match core::str::from_utf8(&BYTES) {
            Ok(sql) => sql,
            Err(_) => panic!("SQL with numbers in place of question marks is text"),
        }
    }};
}

/// Writes the text of [`numbered!`](macro@crate::numbered) as far as there is room. Returns its length and the number of values.
#[must_use]
pub const fn numbered(sql: &str, room: &mut [u8]) -> (usize, usize) {
    let (sql, mut at, mut length, mut values) = (sql.as_bytes(), 0, 0, 0);
    while at < sql.len() {
        let piece: &[u8] = if sql[at] == b'?' {
            values += 1;
            let digits = [b'0' + (values / 10) as u8, b'0' + (values % 10) as u8];
            if values < 10 { &[b'$', digits[1]] } else { &[b'$', digits[0], digits[1]] }
        } else {
            &[sql[at]]
        };
        let mut byte = 0;
        while byte < piece.len() {
            if length < room.len() {
                room[length] = piece[byte];
            }
            length += 1;
            byte += 1;
        }
        at += 1;
    }
    (length, values)
}

#[cfg(test)]
mod tests {
    #[test]
    fn values_are_numbered() {
        assert_eq!(numbered!("SELECT ?, a FROM t WHERE b = ?"), "SELECT $1, a FROM t WHERE b = $2");
        assert_eq!(numbered!("? ? ? ? ? ? ? ? ? ? ?"), "$1 $2 $3 $4 $5 $6 $7 $8 $9 $10 $11");
    }
}
