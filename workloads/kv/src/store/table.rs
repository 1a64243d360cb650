//! Contents of the embedded store.

use std::collections::{BTreeSet, HashMap, VecDeque};

/// Bytes of a key beside its own and those of its value.
const OVERHEAD: u64 = 64;

/// Most keys removed by one tick.
const REMOVED_AT_ONCE: usize = 10_000;

/// A value.
pub(super) enum Value {
    Text(Vec<u8>),
    Hash(HashMap<Vec<u8>, Vec<u8>>),
    List(VecDeque<Vec<u8>>),
}

struct Entry {
    value: Value,
    /// Time of expiry, in milliseconds of the table's time.
    until: Option<u64>,
    /// Its part of the table's bytes.
    bytes: u64,
}

/// Keys with their values.
pub(super) struct Table {
    entries: HashMap<Vec<u8>, Entry>,
    expiring: BTreeSet<(u64, Vec<u8>)>,
    now_ms: u64,
    bytes: u64,
    max_bytes: u64,
}

/// Reason why a command on a key is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The key has a value of another type.
    WrongType,
    /// The table has its largest size.
    Full,
}

impl Table {
    /// An empty table that may grow to `max_bytes`.
    pub(super) fn new(max_bytes: u64) -> Self {
        Table { entries: HashMap::new(), expiring: BTreeSet::new(), now_ms: 0, bytes: 0, max_bytes }
    }

    /// Sets its time to `now_ms`.
    pub(super) fn advance(&mut self, now_ms: u64) {
        self.now_ms = now_ms;
        for _ in 0..REMOVED_AT_ONCE {
            match self.expiring.first() {
                Some((until, key)) if *until <= now_ms => {
                    let key = key.clone();
                    self.remove(&key);
                }
                _ => return,
            }
        }
    }

    /// Number of keys.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Bytes of keys and values, including overhead.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Removes everything.
    pub(super) fn clear(&mut self) {
        self.entries.clear();
        self.expiring.clear();
        self.bytes = 0;
    }

    /// The value of an existing key that has not expired.
    pub(super) fn get(&self, key: &[u8]) -> Option<&Value> {
        let entry = self.entries.get(key)?;
        entry.until.is_none_or(|until| until > self.now_ms).then_some(&entry.value)
    }

    /// The string value of a key.
    pub(super) fn text(&self, key: &[u8]) -> Result<Option<&[u8]>, Refusal> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::Text(text)) => Ok(Some(text)),
            Some(_) => Err(Refusal::WrongType),
        }
    }

    /// Sets a key to a value of any type, with a lifetime in milliseconds.
    pub(super) fn set(&mut self, key: &[u8], value: Value, live_ms: Option<u64>) -> Result<(), Refusal> {
        self.remove(key);
        let bytes = OVERHEAD + key.len() as u64 + size(&value);
        if self.bytes + bytes > self.max_bytes {
            return Err(Refusal::Full);
        }
        self.bytes += bytes;
        self.entries.insert(key.to_vec(), Entry { value, until: None, bytes });
        if let Some(live_ms) = live_ms {
            self.expire(key, live_ms);
        }
        Ok(())
    }

    /// Changes the value of a key, made by `new` if it does not exist. `most` is the largest addition by
    /// `change`, in bytes; it returns the actual one.
    pub(super) fn change<T>(
        &mut self,
        key: &[u8],
        (new, most): (fn() -> Value, usize),
        change: impl FnOnce(&mut Value) -> Result<(T, i64), Refusal>,
    ) -> Result<T, Refusal> {
        if self.bytes + most as u64 + OVERHEAD > self.max_bytes {
            return Err(Refusal::Full);
        }
        if self.get(key).is_none() {
            self.set(key, new(), None)?;
        }
        let Some(entry) = self.entries.get_mut(key) else { return Err(Refusal::Full) };
        let (done, added) = change(&mut entry.value)?;
        entry.bytes = entry.bytes.saturating_add_signed(added);
        self.bytes = self.bytes.saturating_add_signed(added);
        let is_empty = matches!(&entry.value, Value::List(list) if list.is_empty());
        if is_empty {
            self.remove(key);
        }
        Ok(done)
    }

    /// Sets the lifetime of a key; false if it does not exist.
    pub(super) fn expire(&mut self, key: &[u8], live_ms: u64) -> bool {
        if self.get(key).is_none() {
            return false;
        }
        let until = self.now_ms.saturating_add(live_ms);
        let Some(entry) = self.entries.get_mut(key) else { return false };
        if let Some(before) = entry.until.replace(until) {
            self.expiring.remove(&(before, key.to_vec()));
        }
        self.expiring.insert((until, key.to_vec()));
        true
    }

    /// Remaining lifetime of a key in milliseconds; `Some(None)` without an end.
    pub(super) fn left_ms(&self, key: &[u8]) -> Option<Option<u64>> {
        self.get(key)?;
        Some(self.entries.get(key)?.until.map(|until| until - self.now_ms))
    }

    /// Removes a key; false if it did not exist.
    pub(super) fn remove(&mut self, key: &[u8]) -> bool {
        let is_there = self.get(key).is_some();
        if let Some(entry) = self.entries.remove(key) {
            self.bytes -= entry.bytes;
            if let Some(until) = entry.until {
                self.expiring.remove(&(until, key.to_vec()));
            }
        }
        is_there
    }
}

/// Bytes of a new value: hashes and lists begin empty.
fn size(value: &Value) -> u64 {
    match value {
        Value::Text(text) => text.len() as u64,
        Value::Hash(_) | Value::List(_) => 0,
    }
}

/// Bytes of a field of a hash or of an element of a list.
pub(super) const fn item_bytes(words: usize) -> i64 {
    words as i64 + 48
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Value {
        Value::Text(text.as_bytes().to_vec())
    }

    #[test]
    fn keys_expire_with_the_tables_time() {
        let mut table = Table::new(1_000_000);
        table.set(b"a", text("1"), Some(100)).unwrap();
        table.set(b"b", text("2"), None).unwrap();
        table.advance(99);
        assert_eq!((table.text(b"a"), table.left_ms(b"a")), (Ok(Some(&b"1"[..])), Some(Some(1))));
        table.advance(100);
        assert_eq!((table.text(b"a"), table.len()), (Ok(None), 1));
        assert_eq!((table.left_ms(b"b"), table.left_ms(b"a")), (Some(None), None));
        assert!(table.expire(b"b", 5) && !table.expire(b"a", 5));
        table.set(b"b", text("3"), None).unwrap();
        table.advance(1_000);
        assert_eq!(table.text(b"b"), Ok(Some(&b"3"[..])), "a write takes the end away");
    }

    #[test]
    fn a_full_table_refuses_and_what_is_removed_makes_room() {
        let mut table = Table::new(200);
        table.set(b"a", text("12345678"), None).unwrap();
        assert_eq!(table.bytes(), OVERHEAD + 9);
        table.set(b"b", text(""), None).unwrap();
        assert_eq!(table.set(b"c", text(&"x".repeat(100)), None), Err(Refusal::Full));
        assert!(table.remove(b"a") && !table.remove(b"a"));
        table.set(b"c", text("x"), None).unwrap();
        table.clear();
        assert_eq!((table.bytes(), table.len()), (0, 0));
    }

    #[test]
    fn a_list_that_is_empty_is_gone() {
        let mut table = Table::new(1_000);
        let list = || Value::List(VecDeque::new());
        let push = |value: &mut Value| match value {
            Value::List(list) => {
                list.push_front(b"x".to_vec());
                Ok((list.len(), item_bytes(1)))
            }
            _ => Err(Refusal::WrongType),
        };
        assert_eq!(table.change(b"l", (list, 1), push), Ok(1));
        let pop = |value: &mut Value| match value {
            Value::List(list) => Ok((list.pop_front(), -item_bytes(1))),
            _ => Err(Refusal::WrongType),
        };
        assert_eq!(table.change(b"l", (list, 0), pop), Ok(Some(b"x".to_vec())));
        assert_eq!((table.len(), table.bytes()), (0, 0));
        table.set(b"t", text("1"), None).unwrap();
        assert_eq!(table.change(b"t", (list, 1), push), Err(Refusal::WrongType));
    }
}
