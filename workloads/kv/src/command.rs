//! The users' commands: their names, key families, and expected replies.

use barograph_model::OpSpec;

/// A command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Verb {
    #[default]
    Get,
    Set,
    MGet,
    Incr,
    Del,
    Expire,
    HSet,
    HGet,
    LPush,
    LPop,
    LRange,
}

/// A family of keys: its commands use keys of one type, separate from those of other families.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    Strings,
    Counters,
    Hashes,
    Lists,
}

impl Family {
    /// All families.
    pub(crate) const ALL: [Family; 4] = [Family::Strings, Family::Counters, Family::Hashes, Family::Lists];

    /// The text between the prefix and the number of a key.
    pub(crate) const fn infix(self) -> &'static str {
        match self {
            Family::Strings => "",
            Family::Counters => "n:",
            Family::Hashes => "h:",
            Family::Lists => "l:",
        }
    }

    /// The noun for tables.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Family::Strings => "strings",
            Family::Counters => "counters",
            Family::Hashes => "hashes",
            Family::Lists => "lists",
        }
    }
}

/// Every command, in the order of tables.
pub(crate) const ALL: [Verb; 11] = [
    Verb::Get,
    Verb::Set,
    Verb::MGet,
    Verb::Incr,
    Verb::Del,
    Verb::Expire,
    Verb::HSet,
    Verb::HGet,
    Verb::LPush,
    Verb::LPop,
    Verb::LRange,
];

impl Verb {
    /// Name and description.
    pub(crate) const fn spec(self) -> OpSpec {
        let (name, about) = match self {
            Verb::Get => ("GET", "reads the value of a key"),
            Verb::Set => ("SET", "writes the value of a key"),
            Verb::MGet => ("MGET", "reads the values of several keys at once"),
            Verb::Incr => ("INCR", "adds one to a counter"),
            Verb::Del => ("DEL", "removes a key"),
            Verb::Expire => ("EXPIRE", "sets the time that a key has to live"),
            Verb::HSet => ("HSET", "writes a field of a hash"),
            Verb::HGet => ("HGET", "reads a field of a hash"),
            Verb::LPush => ("LPUSH", "adds an element to the front of a list"),
            Verb::LPop => ("LPOP", "takes the element at the front of a list"),
            Verb::LRange => ("LRANGE", "reads the first elements of a list"),
        };
        OpSpec { name, about }
    }

    /// The command with this name, ignoring case.
    pub(crate) fn find(name: &str) -> Option<Verb> {
        ALL.into_iter().find(|verb| verb.spec().name.eq_ignore_ascii_case(name))
    }

    /// The family of its keys.
    pub(crate) const fn family(self) -> Family {
        match self {
            Verb::Get | Verb::Set | Verb::MGet | Verb::Del | Verb::Expire => Family::Strings,
            Verb::Incr => Family::Counters,
            Verb::HSet | Verb::HGet => Family::Hashes,
            Verb::LPush | Verb::LPop | Verb::LRange => Family::Lists,
        }
    }

    /// Whether it looks up possibly absent keys, so that hits are counted.
    pub(crate) const fn looks_up(self) -> bool {
        matches!(self, Verb::Get | Verb::MGet | Verb::HGet | Verb::LPop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_found_by_its_name() {
        for verb in ALL {
            assert_eq!(Verb::find(&verb.spec().name.to_lowercase()), Some(verb));
        }
        assert_eq!(Verb::find("FLUSHALL"), None);
    }
}
