//! The commands of the embedded store.

use std::collections::{HashMap, VecDeque};

use super::table::{Refusal, Table, Value, item_bytes};

/// A client's connection.
#[derive(Default)]
pub(super) struct Session {
    resp3: bool,
    over: bool,
}

/// A reply, before it is written.
enum Answer {
    Ok,
    Text(&'static str),
    Error(String),
    Number(i64),
    Bulk(Vec<u8>),
    Null,
}

type Words<'w> = &'w [&'w [u8]];

impl Session {
    /// Whether the client has quit, or sent malformed bytes.
    pub(super) fn is_over(&self) -> bool {
        self.over
    }

    /// Answers malformed bytes; nothing after them can be read.
    pub(super) fn refuse(&mut self, out: &mut Vec<u8>, why: &str) {
        error(out, &format!("ERR Protocol error: {why}"));
        self.over = true;
    }

    /// Executes a command of at least one word and appends its reply.
    pub(super) fn execute(&mut self, table: &mut Table, words: Words<'_>, out: &mut Vec<u8>) {
        let mut room = [0; 16];
        let name = upper(words[0], &mut room);
        // Nearly all commands are one of these two.
        match (name, words) {
            (b"GET", [_, key]) => return self.get(table, key, out),
            (b"MGET", [_, keys @ ..]) if !keys.is_empty() => {
                header(out, b'*', keys.len());
                for key in keys {
                    match table.text(key) {
                        Ok(Some(text)) => bulk(out, text),
                        _ => self.null(out),
                    }
                }
                return;
            }
            (b"LRANGE", [_, key, from, to]) => return range(table, key, (from, to), out),
            (b"HGETALL", [_, key]) => return self.all(table, key, out),
            (b"HELLO", [_, rest @ ..]) => return self.hello(rest, out),
            (b"COMMAND" | b"CONFIG", _) => return header(out, b'*', 0),
            _ => {}
        }
        let answer = match self.other(table, name, words) {
            Ok(answer) => answer,
            Err(Refusal::WrongType) => {
                Answer::Error("WRONGTYPE Operation against a key holding the wrong kind of value".to_owned())
            }
            Err(Refusal::Full) => Answer::Error("OOM the store has no room left".to_owned()),
        };
        match answer {
            Answer::Ok => out.extend_from_slice(b"+OK\r\n"),
            Answer::Text(text) => {
                out.push(b'+');
                out.extend_from_slice(text.as_bytes());
                out.extend_from_slice(b"\r\n");
            }
            Answer::Error(text) => error(out, &text),
            Answer::Number(number) => out.extend_from_slice(format!(":{number}\r\n").as_bytes()),
            Answer::Bulk(bytes) => bulk(out, &bytes),
            Answer::Null => self.null(out),
        }
    }

    fn other(&mut self, table: &mut Table, name: &[u8], words: Words<'_>) -> Result<Answer, Refusal> {
        let count = |n: usize| Answer::Number(n as i64);
        Ok(match (name, &words[1..]) {
            (b"SET", [key, value, options @ ..]) => set(table, key, value, options)?,
            (b"MSET", pairs) if !pairs.is_empty() && pairs.len().is_multiple_of(2) => {
                for pair in pairs.chunks_exact(2) {
                    table.set(pair[0], Value::Text(pair[1].to_vec()), None)?;
                }
                Answer::Ok
            }
            (b"INCR", [key]) => incr(table, key)?,
            (b"DEL" | b"UNLINK", keys) if !keys.is_empty() => {
                count(keys.iter().filter(|key| table.remove(key)).count())
            }
            (b"EXISTS", keys) if !keys.is_empty() => {
                count(keys.iter().filter(|key| table.get(key).is_some()).count())
            }
            (b"EXPIRE", [key, seconds]) => match number(seconds) {
                Some(seconds) if seconds <= 0 => count(usize::from(table.remove(key))),
                Some(seconds) => count(usize::from(table.expire(key, seconds as u64 * 1_000))),
                None => not_a_number(),
            },
            (b"TTL", [key]) => Answer::Number(match table.left_ms(key) {
                None => -2,
                Some(None) => -1,
                Some(Some(ms)) => ms.div_ceil(1_000) as i64,
            }),
            (b"HSET", [key, pairs @ ..]) if !pairs.is_empty() && pairs.len().is_multiple_of(2) => {
                hset(table, key, pairs)?
            }
            (b"HGET", [key, field]) => match table.get(key) {
                None => Answer::Null,
                Some(Value::Hash(hash)) => {
                    hash.get(*field).map_or(Answer::Null, |value| Answer::Bulk(value.clone()))
                }
                Some(_) => return Err(Refusal::WrongType),
            },
            (b"LPUSH" | b"RPUSH", [key, items @ ..]) if !items.is_empty() => {
                push(table, key, items, name == b"LPUSH")?
            }
            (b"LPOP" | b"RPOP", [key]) => pop(table, key, name == b"LPOP")?,
            (b"LLEN", [key]) => match table.get(key) {
                None => count(0),
                Some(Value::List(list)) => count(list.len()),
                Some(_) => return Err(Refusal::WrongType),
            },
            _ => self.about(table, name, &words[1..]),
        })
    }

    /// Executes commands that are not about keys.
    fn about(&mut self, table: &mut Table, name: &[u8], words: Words<'_>) -> Answer {
        match (name, words) {
            (b"PING", []) => Answer::Text("PONG"),
            (b"PING" | b"ECHO", [text]) => Answer::Bulk(text.to_vec()),
            (b"QUIT", _) => {
                self.over = true;
                Answer::Ok
            }
            (b"SELECT", [database]) if *database != b"0" => {
                Answer::Error("ERR there is only database 0".to_owned())
            }
            (b"SELECT" | b"CLIENT", [_, ..]) => Answer::Ok,
            (b"AUTH", _) => Answer::Error("ERR no password is set".to_owned()),
            (b"DBSIZE", []) => Answer::Number(table.len() as i64),
            (b"FLUSHALL" | b"FLUSHDB", _) => {
                table.clear();
                Answer::Ok
            }
            (b"INFO", _) => {
                let (keys, bytes) = (table.len(), table.bytes());
                let text = format!(
                    "# Server\r\nredis_version:7.0.0\r\n# Memory\r\nused_memory:{bytes}\r\n# Keyspace\r\ndb0:keys={keys}\r\n"
                );
                Answer::Bulk(text.into_bytes())
            }
            _ => Answer::Error(format!(
                "ERR unknown command `{}`, or not with {} arguments",
                String::from_utf8_lossy(name),
                words.len()
            )),
        }
    }

    fn get(&self, table: &Table, key: &[u8], out: &mut Vec<u8>) {
        match table.text(key) {
            Ok(Some(text)) => bulk(out, text),
            Ok(None) => self.null(out),
            Err(_) => error(out, "WRONGTYPE Operation against a key holding the wrong kind of value"),
        }
    }

    fn all(&self, table: &Table, key: &[u8], out: &mut Vec<u8>) {
        match table.get(key) {
            Some(Value::Hash(hash)) => {
                match self.resp3 {
                    true => header(out, b'%', hash.len()),
                    false => header(out, b'*', hash.len() * 2),
                }
                for (name, value) in hash {
                    bulk(out, name);
                    bulk(out, value);
                }
            }
            None => header(out, if self.resp3 { b'%' } else { b'*' }, 0),
            Some(_) => error(out, "WRONGTYPE Operation against a key holding the wrong kind of value"),
        }
    }

    fn hello(&mut self, words: Words<'_>, out: &mut Vec<u8>) {
        self.resp3 = match words {
            [] => self.resp3,
            [b"2"] => false,
            [b"3"] => true,
            [_, b"AUTH", ..] => return error(out, "ERR no password is set"),
            _ => return error(out, "NOPROTO unsupported protocol version"),
        };
        header(out, if self.resp3 { b'%' } else { b'*' }, if self.resp3 { 2 } else { 4 });
        bulk(out, b"server");
        bulk(out, b"barograph");
        bulk(out, b"proto");
        out.extend_from_slice(if self.resp3 { b":3\r\n" } else { b":2\r\n" });
    }

    fn null(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(if self.resp3 { b"_\r\n" } else { b"$-1\r\n" });
    }
}

fn set(table: &mut Table, key: &[u8], value: &[u8], options: Words<'_>) -> Result<Answer, Refusal> {
    let (mut live_ms, mut only_if) = (None, None);
    let mut left = options.iter();
    while let Some(option) = left.next() {
        let factor = match upper(option, &mut [0; 16]) {
            b"EX" => 1_000,
            b"PX" => 1,
            b"NX" => {
                only_if = Some(false);
                continue;
            }
            b"XX" => {
                only_if = Some(true);
                continue;
            }
            _ => return Ok(Answer::Error("ERR syntax error".to_owned())),
        };
        match left.next().and_then(|text| number(text)) {
            Some(n) if n > 0 => live_ms = Some(n as u64 * factor),
            _ => return Ok(Answer::Error("ERR invalid expire time in 'set' command".to_owned())),
        }
    }
    if only_if.is_some_and(|must| must != table.get(key).is_some()) {
        return Ok(Answer::Null);
    }
    table.set(key, Value::Text(value.to_vec()), live_ms)?;
    Ok(Answer::Ok)
}

fn incr(table: &mut Table, key: &[u8]) -> Result<Answer, Refusal> {
    let new = || Value::Text(b"0".to_vec());
    table.change(key, (new, 20), |value| {
        let Value::Text(text) = value else { return Err(Refusal::WrongType) };
        let Some(next) = number(text).and_then(|n| n.checked_add(1)) else { return Ok((not_a_number(), 0)) };
        let before = std::mem::replace(text, next.to_string().into_bytes()).len();
        Ok((Answer::Number(next), text.len() as i64 - before as i64))
    })
}

fn hset(table: &mut Table, key: &[u8], pairs: Words<'_>) -> Result<Answer, Refusal> {
    let most = pairs.chunks_exact(2).map(|pair| item_bytes(pair[0].len() + pair[1].len()) as usize).sum();
    table.change(key, (|| Value::Hash(HashMap::new()), most), |value| {
        let Value::Hash(hash) = value else { return Err(Refusal::WrongType) };
        let (mut new, mut added) = (0, 0);
        for pair in pairs.chunks_exact(2) {
            match hash.insert(pair[0].to_vec(), pair[1].to_vec()) {
                Some(before) => added += pair[1].len() as i64 - before.len() as i64,
                None => {
                    new += 1;
                    added += item_bytes(pair[0].len() + pair[1].len());
                }
            }
        }
        Ok((Answer::Number(new), added))
    })
}

fn push(table: &mut Table, key: &[u8], items: Words<'_>, front: bool) -> Result<Answer, Refusal> {
    let added: i64 = items.iter().map(|word| item_bytes(word.len())).sum();
    table.change(key, (|| Value::List(VecDeque::new()), added as usize), |value| {
        let Value::List(list) = value else { return Err(Refusal::WrongType) };
        for item in items {
            if front { list.push_front(item.to_vec()) } else { list.push_back(item.to_vec()) }
        }
        Ok((Answer::Number(list.len() as i64), added))
    })
}

fn pop(table: &mut Table, key: &[u8], front: bool) -> Result<Answer, Refusal> {
    if table.get(key).is_none() {
        return Ok(Answer::Null);
    }
    table.change(key, (|| Value::List(VecDeque::new()), 0), |value| {
        let Value::List(list) = value else { return Err(Refusal::WrongType) };
        let item = if front { list.pop_front() } else { list.pop_back() };
        let freed = item.as_ref().map_or(0, |item| item_bytes(item.len()));
        Ok((item.map_or(Answer::Null, Answer::Bulk), -freed))
    })
}

/// Elements of a list between two positions, both counted from its end if negative.
fn range(table: &Table, key: &[u8], (from, to): (&[u8], &[u8]), out: &mut Vec<u8>) {
    let (Some(from), Some(to)) = (number(from), number(to)) else {
        return error(out, "ERR value is not an integer or out of range");
    };
    let list = match table.get(key) {
        None => return header(out, b'*', 0),
        Some(Value::List(list)) => list,
        Some(_) => return error(out, "WRONGTYPE Operation against a key holding the wrong kind of value"),
    };
    let length = list.len() as i64;
    let place = |at: i64| if at < 0 { at + length } else { at };
    let (from, to) = (place(from).max(0), place(to).min(length - 1));
    let count = usize::try_from(to - from + 1).unwrap_or(0);
    header(out, b'*', count);
    list.iter().skip(usize::try_from(from).unwrap_or(0)).take(count).for_each(|item| bulk(out, item));
}

fn number(text: &[u8]) -> Option<i64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

fn not_a_number() -> Answer {
    Answer::Error("ERR value is not an integer or out of range".to_owned())
}

/// A name in upper case, as far as `room` allows: no command is longer.
fn upper<'r>(word: &[u8], room: &'r mut [u8; 16]) -> &'r [u8] {
    let length = word.len().min(room.len());
    room[..length].copy_from_slice(&word[..length]);
    room[..length].make_ascii_uppercase();
    &room[..length]
}

fn header(out: &mut Vec<u8>, kind: u8, count: usize) {
    out.push(kind);
    out.extend_from_slice(barograph_resp::decimal(count as u64, &mut [0; 20]));
    out.extend_from_slice(b"\r\n");
}

fn bulk(out: &mut Vec<u8>, bytes: &[u8]) {
    header(out, b'$', bytes.len());
    out.extend_from_slice(bytes);
    out.extend_from_slice(b"\r\n");
}

fn error(out: &mut Vec<u8>, text: &str) {
    out.push(b'-');
    out.extend_from_slice(text.as_bytes());
    out.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The replies to commands, each a line of words.
    fn replies(lines: &str) -> String {
        let (mut session, mut table, mut out) = (Session::default(), Table::new(10_000), Vec::new());
        for line in lines.lines() {
            let words: Vec<&[u8]> = line.split_whitespace().map(str::as_bytes).collect();
            session.execute(&mut table, &words, &mut out);
        }
        String::from_utf8(out).unwrap().replace("\r\n", " ").trim_end().to_owned()
    }

    #[test]
    fn strings_and_counters() {
        assert_eq!(replies("get a\nset a 1\nGET a\nincr a\nmget a b"), "$-1 +OK $1 1 :2 *2 $1 2 $-1");
        assert_eq!(replies("set a x nx\nset a y nx\nset b y xx\nget a"), "+OK $-1 $-1 $1 x");
        assert_eq!(replies("set a x ex 10\nttl a\nexpire a 0\nttl a\nexists a"), "+OK :10 :1 :-2 :0");
        assert_eq!(replies("mset a 1 b 2\ndel a b c\ndbsize"), "+OK :2 :0");
        assert_eq!(replies("set a x\nincr a"), "+OK -ERR value is not an integer or out of range");
    }

    #[test]
    fn hashes_and_lists() {
        assert_eq!(replies("hset h f 1 g 2\nhset h f 3\nhget h f\nhget h x"), ":2 :0 $1 3 $-1");
        assert_eq!(
            replies("lpush l a b\nrpush l c\nlrange l 0 -1\nlrange l 1 1"),
            ":2 :3 *3 $1 b $1 a $1 c *1 $1 a"
        );
        assert_eq!(replies("lpush l a\nlpop l\nlpop l\nllen l\nlrange l 0 9"), ":1 $1 a $-1 :0 *0");
        assert_eq!(replies("lrange l 5 2\nlpush l a\nlrange l 5 2"), "*0 :1 *0");
        assert!(
            replies("lpush l a\nget l")
                .ends_with("-WRONGTYPE Operation against a key holding the wrong kind of value")
        );
    }

    #[test]
    fn versions_and_what_is_not_known() {
        assert_eq!(replies("hello 3\nget a"), "%2 $6 server $9 barograph $5 proto :3 _");
        assert_eq!(replies("hello 4"), "-NOPROTO unsupported protocol version");
        assert_eq!(
            replies("ping\nping x\nselect 0\nselect 1"),
            "+PONG $1 x +OK -ERR there is only database 0"
        );
        assert_eq!(replies("zadd z 1 a"), "-ERR unknown command `ZADD`, or not with 3 arguments");
        assert_eq!(replies(&format!("set a {}", "x".repeat(20_000))), "-OOM the store has no room left");
    }
}
