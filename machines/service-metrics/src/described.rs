//! Questions and statistics, in the form of a `service.toml`.

use std::ops::RangeInclusive;

use serde::Deserialize;

use crate::Pick;

/// Distances of samples: a service is not to be busy with them, and an interval has some.
const EVERY_MS: RangeInclusive<u64> = 20..=1_000;

/// Question to a service about itself, and statistics in the answer.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statistics {
    /// The question.
    pub ask: Question,
    /// Name of the port for the question; by default the port for clients.
    pub port: Option<String>,
    /// Name of the value that counts the servers to which a balancer gives no load, for one that finds out by itself which
    /// of them run.
    pub left_out: Option<String>,
    /// Name of the value that counts what the asking user may not read.
    pub unreadable: Option<String>,
    /// What of the answer is kept, what says the most first.
    pub values: Vec<Statistic>,
    /// States, asked for more often.
    pub sampled: Option<Sampled>,
}

/// States of a service at an instant, in which some of its parts are: the sessions of a database.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sampled {
    /// Distance of questions, in milliseconds.
    pub every_ms: u64,
    /// Unit of the numbers, in the plural: `sessions`.
    pub unit: String,
    /// A statement, answered with rows of a state, as `CLASS/STATE`, and a number.
    pub rows: String,
    /// What is asked where the server denies [`Self::rows`].
    pub otherwise: Option<Otherwise>,
}

/// A statement with fewer states, for users with fewer rights.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Otherwise {
    /// The statement.
    pub rows: String,
    /// What it does not tell, in words.
    pub without: String,
}

/// A statement in several forms, for versions of a server. The first one that is not denied is asked.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    /// The forms.
    pub any_of: Vec<String>,
}

/// A question in a service's protocol.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Question {
    /// `GET` of a path.
    Http {
        /// The path, beginning with a slash.
        path: String,
        /// Form of the answer.
        form: Form,
    },
    /// Statements that PostgreSQL answers with one row each, whose columns are named values.
    Postgres {
        /// User without a password; also the name of the database.
        user: String,
        /// The statements.
        statements: Vec<Statement>,
    },
    /// Statements that MySQL or MariaDB answers with rows of name and value.
    MySql {
        /// User without a password.
        user: String,
        /// The statements.
        statements: Vec<Statement>,
    },
    /// `INFO` of Redis.
    Redis,
    /// `stats` of memcached.
    Memcached,
}

impl Question {
    /// The statements; empty for a protocol without.
    #[must_use]
    pub fn statements(&self) -> &[Statement] {
        match self {
            Question::Postgres { statements, .. } | Question::MySql { statements, .. } => statements,
            Question::Http { .. } | Question::Redis | Question::Memcached => &[],
        }
    }

    /// Whether it consists of statements.
    fn has_statements(&self) -> bool {
        matches!(self, Question::Postgres { .. } | Question::MySql { .. })
    }
}

/// Form of an HTTP answer's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// Text format of Prometheus or OpenMetrics.
    Prometheus,
    /// One JSON object; dots in a name lead into nested objects.
    Json,
    /// One value per line, `Name: value`.
    Lines,
    /// The page of nginx's `stub_status`.
    StubStatus,
    /// HAProxy's table in CSV: columns are the names; `pxname`, `svname`, `type` and the first word of
    /// `status` are labels; `rows` is 1 for every row.
    Haproxy,
}

/// A statistic to keep.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statistic {
    /// Name in records: lower-case words joined by `_`.
    pub name: String,
    /// Its place in the answer.
    pub of: Pick,
    /// Its kind.
    pub kind: StatisticKind,
    /// Its unit, in the plural: `commits`, `bytes`.
    pub unit: String,
    /// Description, if the name is not clear.
    #[serde(default)]
    pub what: String,
}

/// Kind of a statistic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StatisticKind {
    /// It only grows; kept as a rate per second.
    Counter,
    /// It rises and falls; kept as it is.
    Gauge,
}

impl StatisticKind {
    /// Returns its name in records, that of the kept value.
    #[must_use]
    pub fn kept_as(self) -> &'static str {
        match self {
            StatisticKind::Counter => "rate",
            StatisticKind::Gauge => "gauge",
        }
    }
}

impl Statistics {
    /// Place of the value that counts the servers which are left out.
    #[must_use]
    pub fn left_out_at(&self) -> Option<usize> {
        self.place_of(self.left_out.as_ref()?)
    }

    /// Place of the value that counts what the asking user may not read.
    #[must_use]
    pub fn unreadable_at(&self) -> Option<usize> {
        self.place_of(self.unreadable.as_ref()?)
    }

    fn place_of(&self, name: &str) -> Option<usize> {
        self.values.iter().position(|value| value.name == name)
    }

    /// The first thing that is wrong with it, in words.
    ///
    /// # Errors
    /// A repeated name, a name invalid in records, a path without a slash, or no statistic.
    pub fn check(&self) -> Result<(), String> {
        if self.values.is_empty() {
            return Err("statistics without values".to_owned());
        }
        match &self.ask {
            Question::Http { path, .. } if !path.starts_with('/') => {
                return Err(format!("statistics at path `{path}`, which does not begin with a slash"));
            }
            _ => {}
        }
        for (key, name) in [("left_out", &self.left_out), ("unreadable", &self.unreadable)] {
            if let Some(name) = name.as_ref().filter(|name| self.place_of(name).is_none()) {
                return Err(format!("{key} is `{name}`, which is no statistic"));
            }
        }
        let statements = self.ask.statements();
        if self.ask.has_statements() && statements.is_empty()
            || statements.iter().any(|one| one.any_of.is_empty())
        {
            return Err("statistics without a statement".to_owned());
        }
        if let Some(sampled) = &self.sampled {
            if !self.ask.has_statements() {
                return Err("sampled states of a service that takes no statements".to_owned());
            }
            if !EVERY_MS.contains(&sampled.every_ms) || !is_unit(&sampled.unit) {
                return Err("sampled states without a usable distance or unit".to_owned());
            }
        }
        for (at, value) in self.values.iter().enumerate() {
            let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
            if value.name.is_empty() || !value.name.chars().all(plain) {
                return Err(format!("statistic `{}` is not of lower-case letters, digits and _", value.name));
            }
            if self.values[..at].iter().any(|before| before.name == value.name) {
                return Err(format!("statistic `{}` stands twice", value.name));
            }
            if !is_unit(&value.unit) {
                return Err(format!("statistic `{}` has no usable unit", value.name));
            }
        }
        Ok(())
    }
}

/// Whether a text can be a unit in records.
fn is_unit(text: &str) -> bool {
    !text.is_empty() && !text.contains([',', '"', '\n'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Statistics, String> {
        let read: Statistics = toml::from_str(text).map_err(|error| error.message().to_owned())?;
        read.check().map(|()| read)
    }

    #[test]
    fn a_table_is_read() {
        let good = read(
            r#"
            ask = { http = { path = "/varz", form = "json" } }
            port = "monitor"
            left_out = "down"
            values = [
                { name = "messages_in", of = "in_msgs", kind = "counter", unit = "messages" },
                { name = "down", of = 'rows{type="2",status="DOWN"}', kind = "gauge", unit = "servers" },
            ]
            "#,
        )
        .unwrap();
        assert_eq!(good.ask, Question::Http { path: "/varz".to_owned(), form: Form::Json });
        assert_eq!((good.port.as_deref(), good.values.len()), (Some("monitor"), 2));
        assert_eq!(good.left_out_at(), Some(1));
        assert_eq!(good.values[0].kind.kept_as(), "rate");
        assert_eq!(read("ask = \"redis\"\nvalues = []").unwrap_err(), "statistics without values");
    }

    #[test]
    fn what_is_wrong_is_told() {
        let with = |value: &str| read(&format!("ask = \"redis\"\nvalues = [{value}]")).unwrap_err();
        let one = r#"{ name = "a", of = "a", kind = "gauge", unit = "x" }"#;
        assert_eq!(with(&format!("{one},{one}")), "statistic `a` stands twice");
        let absent = read(&format!("ask = \"redis\"\nleft_out = \"b\"\nvalues = [{one}]"));
        assert_eq!(absent.unwrap_err(), "left_out is `b`, which is no statistic");
        let named = with(r#"{ name = "A b", of = "a", kind = "gauge", unit = "x" }"#);
        assert_eq!(named, "statistic `A b` is not of lower-case letters, digits and _");
        assert!(with(r#"{ name = "a", of = "a{", kind = "gauge", unit = "x" }"#).contains("`a{`"));
        assert!(with(r#"{ name = "a", of = "a", kind = "grows", unit = "x" }"#).contains("grows"));
        assert!(with(r#"{ name = "a", of = "a", kind = "gauge", unit = "" }"#).contains("unit"));
        let sampled = |ask: &str, every_ms: u64| {
            let sampled = format!("sampled = {{ every_ms = {every_ms}, unit = \"x\", rows = \"SELECT 1\" }}");
            read(&format!("ask = {ask}\nvalues = [{one}]\n{sampled}"))
        };
        let postgres = "{ postgres = { user = \"a\", statements = [{ any_of = [\"SELECT 1\"] }] } }";
        assert!(sampled(postgres, 100).is_ok());
        let none = "{ postgres = { user = \"a\", statements = [{ any_of = [] }] } }";
        assert_eq!(sampled(none, 100).unwrap_err(), "statistics without a statement");
        let hidden = read(&format!("ask = \"redis\"\nunreadable = \"b\"\nvalues = [{one}]"));
        assert_eq!(hidden.unwrap_err(), "unreadable is `b`, which is no statistic");
        assert!(sampled(postgres, 5).unwrap_err().contains("distance"));
        assert!(sampled("\"redis\"", 100).unwrap_err().contains("takes no statements"));
        let path = read(
            "ask = { http = { path = \"x\", form = \"lines\" } }\nvalues = [{ name = \"a\", of = \"a\", kind = \"gauge\", unit = \"x\" }]",
        );
        assert!(path.unwrap_err().contains("slash"));
    }
}
