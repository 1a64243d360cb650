//! A load prepared for its stores; shared by all workers.

use barograph_net::{Routes, TlsConfig};
use barograph_resp::{Address, Command, Version, write_decimal};

use crate::command::{Family, Verb};
use crate::keys::Keys;
use crate::plan::KvPlan;
use crate::values::Values;

const END_OF_LINE: &[u8] = b"\r\n";

/// A load prepared for its stores.
pub(crate) struct PreparedLoad {
    /// The commands, by index of operation.
    pub(crate) verbs: Vec<Verb>,
    /// By index of operation, the rendered beginning of the command, with key 0.
    heads: Vec<Vec<u8>>,
    pub(crate) plan: KvPlan,
    pub(crate) keys: Keys,
    pub(crate) values: Values,
    pub(crate) address: Address,
    /// The routes to each store.
    pub(crate) stores: Vec<Routes>,
    pub(crate) tls: Option<TlsConfig>,
}

impl PreparedLoad {
    pub(crate) fn new(
        plan: KvPlan,
        seed: u64,
        address: Address,
        (stores, tls): (Vec<Routes>, Option<TlsConfig>),
    ) -> Self {
        let keys = Keys::new(plan.keys, plan.popularity, &plan.prefix, plan.key_bytes);
        let verbs: Vec<Verb> = plan.mix.iter().map(|(verb, _)| *verb).collect();
        let heads = verbs.iter().map(|verb| head(&plan, *verb, &keys)).collect();
        let values = Values::new(plan.value, plan.entropy, seed);
        PreparedLoad { verbs, heads, plan, keys, values, address, stores, tls }
    }

    /// Commands in flight on a connection, each of its own user.
    pub(crate) fn window(&self) -> usize {
        self.plan.pipeline as usize
    }

    /// Writes the greeting of a connection; returns its number of replies.
    pub(crate) fn greet(&self, out: &mut Vec<u8>) -> usize {
        let version = if self.plan.resp3 { Version::Three } else { Version::Two };
        self.address.greet(version, out)
    }

    /// Appends the command of operation `op` for `key`; `field` is that of a hash.
    #[inline]
    pub(crate) fn write(&self, op: usize, (key, field): (u64, u32), out: &mut Vec<u8>) {
        out.extend_from_slice(&self.heads[op]);
        let end_of_key = out.len() - END_OF_LINE.len();
        write_decimal(key, &mut out[..end_of_key]);
        match self.verbs[op] {
            Verb::Set => self.value_and_expiry(key, out),
            Verb::LPush => bulk(self.values.of(key), out),
            Verb::Expire => number(self.plan.expire_s.max(1).into(), out),
            Verb::LRange => {
                number(0, out);
                number(u64::from(self.plan.range) - 1, out);
            }
            Verb::HGet => number(field.into(), out),
            Verb::HSet => {
                number(field.into(), out);
                bulk(self.values.of(crate::values::field(key, field)), out);
            }
            Verb::Get | Verb::Incr | Verb::Del | Verb::LPop | Verb::MGet => {}
        }
    }

    /// Appends a command for several strings.
    pub(crate) fn write_several(&self, keys: &[u64], out: &mut Vec<u8>) {
        let mut command = Command::new(out, keys.len() + 1);
        command.word(b"MGET");
        let begin = self.keys.begin(Family::Strings);
        for key in keys {
            command.word_of(self.keys.length(Family::Strings), |out| {
                out.extend_from_slice(begin.as_bytes());
                self.keys.write_number(*key, out);
            });
        }
    }

    fn value_and_expiry(&self, key: u64, out: &mut Vec<u8>) {
        bulk(self.values.of(key), out);
        if self.plan.expire_s > 0 {
            out.extend_from_slice(b"$2\r\nEX\r\n");
            number(self.plan.expire_s.into(), out);
        }
    }
}

/// The rendered command up to and including its key, which is number 0.
fn head(plan: &KvPlan, verb: Verb, keys: &Keys) -> Vec<u8> {
    let words = match verb {
        Verb::Set if plan.expire_s > 0 => 5,
        Verb::HSet | Verb::LRange => 4,
        Verb::Set | Verb::Expire | Verb::HGet | Verb::LPush => 3,
        Verb::Get | Verb::Incr | Verb::Del | Verb::LPop | Verb::MGet => 2,
    };
    let name = verb.spec().name;
    let (length, begin) = (keys.length(verb.family()), keys.begin(verb.family()));
    let head = format!("*{words}\r\n${}\r\n{name}\r\n${length}\r\n{begin}", name.len());
    let mut head = head.into_bytes();
    keys.write_number(0, &mut head);
    head.extend_from_slice(END_OF_LINE);
    head
}

fn bulk(word: &[u8], out: &mut Vec<u8>) {
    out.push(b'$');
    out.extend_from_slice(barograph_resp::decimal(word.len() as u64, &mut [0; 20]));
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(word);
    out.extend_from_slice(b"\r\n");
}

fn number(number: u64, out: &mut Vec<u8>) {
    bulk(barograph_resp::decimal(number, &mut [0; 20]), out);
}

#[cfg(test)]
mod tests {
    use barograph_resp::request;

    use super::*;
    use crate::testing;

    /// The words of a command as read by a server.
    fn words(plan: &str, verb: Verb) -> Vec<String> {
        let program = testing::program(plan);
        let mut out = Vec::new();
        let op = program.verbs.iter().position(|known| *known == verb).expect("it is in the mix");
        match verb {
            Verb::MGet => program.write_several(&[3, 12], &mut out),
            _ => program.write(op, (12, 4), &mut out),
        }
        let mut words = Vec::new();
        assert_eq!(request(&out, &mut words), Ok(Some(out.len())), "{out:?}");
        words.iter().map(|word| String::from_utf8_lossy(word).into_owned()).collect()
    }

    #[test]
    fn commands_are_what_a_server_expects() {
        let plan = "[kv]\nentropy = 0.0\nvalue_bytes = 3\nexpire_s = 60\nkeys = 100\nkey_bytes = 7\nmix.GET = 1\nmix.SET = 1\n\
                    mix.MGET = 1\nmix.INCR = 1\nmix.DEL = 1\nmix.EXPIRE = 1\nmix.HSET = 1\nmix.HGET = 1\nmix.LPUSH = 1\n\
                    mix.LPOP = 1\nmix.LRANGE = 1\n";
        let of = |verb| words(plan, verb).join(" ");
        assert_eq!(of(Verb::Get), "GET key:012");
        assert_eq!(of(Verb::Set), "SET key:012 ... EX 60");
        assert_eq!(of(Verb::MGet), "MGET key:003 key:012");
        assert_eq!(of(Verb::Incr), "INCR key:n:012");
        assert_eq!(of(Verb::Del), "DEL key:012");
        assert_eq!(of(Verb::Expire), "EXPIRE key:012 60");
        assert_eq!(of(Verb::HSet), "HSET key:h:012 4 ...");
        assert_eq!(of(Verb::HGet), "HGET key:h:012 4");
        assert_eq!(of(Verb::LPush), "LPUSH key:l:012 ...");
        assert_eq!(of(Verb::LPop), "LPOP key:l:012");
        assert_eq!(of(Verb::LRange), "LRANGE key:l:012 0 9");
        assert_eq!(
            words("[kv]\nentropy = 0.0\nvalue_bytes = 1\n", Verb::Set)[1..],
            ["key:000000000012", "."]
        );
    }
}
