//! Parsing of typed values: spans of time, shares, limits.

use std::fmt;
use std::str::FromStr;

use barograph_model::{Bound, Nanos, OpId, Rule, Share, Subject, words};

/// A limit on a quantile of response time, as in `p99<250ms`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    /// The quantile as a share.
    pub quantile: Share,
    /// The quantile as typed, in per cent.
    pub percent: f64,
    /// Longest response time at the quantile.
    pub limit: Nanos,
}

/// A rule as typed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TypedRule {
    /// `p99<250ms`: response time at a quantile.
    Response(Limit),
    /// `service p95<100ms`: service time at a quantile.
    Service(Limit),
    /// `mean<50ms`: mean response time.
    Mean(Nanos),
    /// `rate>=1000`: operations per second that ended well.
    Rate(f64),
}

impl TypedRule {
    /// Returns the rule for an operation; a rate applies to the whole load.
    #[must_use]
    pub fn of(self, op: OpId) -> Rule {
        let at_most = |limit: Nanos| Bound::AtMost(limit.as_secs_f64() * 1e3);
        match self {
            TypedRule::Response(Limit { quantile, limit, .. }) => Rule::response(op, quantile, limit),
            TypedRule::Service(Limit { quantile, limit, .. }) => {
                Rule { subject: Subject::Service { op, quantile }, bound: at_most(limit) }
            }
            TypedRule::Mean(limit) => Rule { subject: Subject::MeanResponse(op), bound: at_most(limit) },
            TypedRule::Rate(rate) => Rule { subject: Subject::Rate(None), bound: Bound::AtLeast(rate) },
        }
    }
}

impl fmt::Display for TypedRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TypedRule::Response(limit) => write!(f, "p{} < {}", limit.percent, words::span(limit.limit)),
            TypedRule::Service(limit) => {
                write!(f, "service p{} < {}", limit.percent, words::span(limit.limit))
            }
            TypedRule::Mean(limit) => write!(f, "mean < {}", words::span(*limit)),
            TypedRule::Rate(rate) => write!(f, "rate >= {}", words::figure(*rate)),
        }
    }
}

impl FromStr for TypedRule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const ALLOWED: &str = "a rule is written p99<250ms, 'service p95<100ms', mean<50ms or 'rate>=1000'";
        let wrong = || ALLOWED.to_owned();
        let text = text.trim();
        if let Some(rest) = text.strip_prefix("rate") {
            let rate: f64 =
                rest.trim().strip_prefix(">=").and_then(|n| n.trim().parse().ok()).ok_or_else(wrong)?;
            return if rate.is_finite() && rate > 0.0 { Ok(TypedRule::Rate(rate)) } else { Err(wrong()) };
        }
        if let Some(rest) = text.strip_prefix("mean") {
            let rest = rest.trim().strip_prefix('<').ok_or_else(wrong)?;
            let limit = span(rest.strip_prefix('=').unwrap_or(rest).trim()).map_err(|_| wrong())?;
            return if limit > Nanos::ZERO { Ok(TypedRule::Mean(limit)) } else { Err(wrong()) };
        }
        match text.strip_prefix("service ") {
            Some(rest) => rest.parse().map(TypedRule::Service),
            None => text.parse().map(TypedRule::Response),
        }
    }
}

/// Parses `10s`, `250ms`, `1m30s`, `1.5h`; a plain number means seconds.
pub fn span(text: &str) -> Result<Nanos, String> {
    const ALLOWED: &str = "a time is written 10s, 250ms, 1m30s or 2h; a number alone means seconds";
    let wrong = || ALLOWED.to_owned();
    if let Ok(seconds) = text.parse::<f64>() {
        return nanos(seconds, 1e9).ok_or_else(wrong);
    }
    let mut left = text;
    let mut sum = Nanos::ZERO;
    while !left.is_empty() {
        let digits = left.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or_else(wrong)?;
        let (number, rest) = left.split_at(digits);
        let unit = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let (unit, rest) = rest.split_at(unit);
        let factor = match unit.trim() {
            "us" | "µs" => 1e3,
            "ms" => 1e6,
            "s" => 1e9,
            "m" | "min" => 60e9,
            "h" => 3_600e9,
            _ => return Err(wrong()),
        };
        let part = number.parse().ok().and_then(|n| nanos(n, factor)).ok_or_else(wrong)?;
        sum = Nanos(sum.0.checked_add(part.0).ok_or_else(wrong)?);
        left = rest;
    }
    if text.is_empty() { Err(wrong()) } else { Ok(sum) }
}

/// Parses a time in whole seconds, the unit of plans.
pub fn seconds(text: &str) -> Result<Nanos, String> {
    let time = span(text)?;
    if time.0.is_multiple_of(1_000_000_000) {
        Ok(time)
    } else {
        Err("whole seconds are allowed, as in 2s".to_owned())
    }
}

/// Parses a time in whole seconds, at least one.
pub fn whole_seconds(text: &str) -> Result<Nanos, String> {
    let time = seconds(text)?;
    if time == Nanos::ZERO { Err("at least 1s is needed".to_owned()) } else { Ok(time) }
}

/// Limits a span to a year, to catch typing errors.
fn nanos(number: f64, factor: f64) -> Option<Nanos> {
    const YEAR: f64 = 366.0 * 86_400e9;
    let nanos = number * factor;
    (nanos.is_finite() && (0.0..=YEAR).contains(&nanos)).then(|| Nanos(nanos.round() as u64))
}

/// Parses `1%`, `0.1 %`.
pub fn share(text: &str) -> Result<Share, String> {
    let wrong = || "a share is written as a percentage from 0% to 100%, as in 1% or 0.1%".to_owned();
    let number = text.trim().strip_suffix('%').ok_or_else(wrong)?;
    let percent: f64 = number.trim().parse().map_err(|_| wrong())?;
    Share::new(percent / 100.0).map_err(|_| wrong())
}

impl FromStr for Limit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "a limit is written p99<250ms: a quantile from p1 to p99.999 and a time".to_owned();
        let (quantile, limit) = text.split_once("<=").or_else(|| text.split_once('<')).ok_or_else(wrong)?;
        let percent: f64 =
            quantile.trim().strip_prefix('p').and_then(|n| n.parse().ok()).ok_or_else(wrong)?;
        if !(1.0..100.0).contains(&percent) {
            return Err(wrong());
        }
        let quantile = Share::new(percent / 100.0).map_err(|_| wrong())?;
        let limit = span(limit.trim()).map_err(|_| wrong())?;
        if limit == Nanos::ZERO { Err(wrong()) } else { Ok(Limit { quantile, percent, limit }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_as_people_type_them() {
        let millis = |text: &str| span(text).map(|n| n.0 / 1_000_000);
        let good = [
            ("10s", 10_000),
            ("250ms", 250),
            ("1m30s", 90_000),
            ("1.5h", 5_400_000),
            ("3", 3_000),
            ("0s", 0),
        ];
        for (text, expected) in good {
            assert_eq!(millis(text), Ok(expected), "{text}");
        }
        assert_eq!(span("20us"), Ok(Nanos(20_000)));
        assert_eq!((seconds("0s"), whole_seconds("1m")), (Ok(Nanos::ZERO), Ok(Nanos::from_secs(60))));
        assert!(seconds("1500ms").is_err() && whole_seconds("0s").is_err());
        for text in ["", "s", "10x", "-5s", "1m-3s", "nan", "inf", "1e30", "10 apples", "1..5s"] {
            assert!(span(text).is_err(), "{text}");
        }
    }

    #[test]
    fn rules_of_every_kind_are_read_and_told() {
        for (text, told) in [
            ("p99<250ms", "p99 < 250 ms"),
            ("service p95 <= 1s", "service p95 < 1 s"),
            ("mean < 50ms", "mean < 50 ms"),
            ("rate>=1000", "rate >= 1,000"),
        ] {
            assert_eq!(text.parse::<TypedRule>().map(|rule| rule.to_string()).as_deref(), Ok(told), "{text}");
        }
        let of = |text: &str| text.parse::<TypedRule>().unwrap().of(OpId(1));
        assert_eq!(
            of("mean<50ms"),
            Rule { subject: Subject::MeanResponse(OpId(1)), bound: Bound::AtMost(50.0) }
        );
        assert_eq!(of("rate>=2.5"), Rule { subject: Subject::Rate(None), bound: Bound::AtLeast(2.5) });
        assert_eq!(
            of("p99<1s").time_limit(),
            Some(barograph_model::TimeLimit::Response(Nanos::from_secs(1)))
        );
        let service = Some(barograph_model::TimeLimit::Service(Nanos::from_secs(1)));
        assert_eq!(of("service p99<1s").time_limit(), service);
        for text in
            ["", "p99", "mean>5ms", "mean<0s", "rate<5", "rate>=0", "rate>=x", "service mean<5ms", "p99>1s"]
        {
            assert!(text.parse::<TypedRule>().is_err(), "{text}");
        }
    }

    #[test]
    fn limits_and_shares() {
        let limit: Limit = "p99.9 < 250 ms".parse().unwrap();
        assert_eq!((limit.percent, limit.limit), (99.9, Nanos::from_millis(250)));
        assert!((limit.quantile.get() - 0.999).abs() < 1e-12);
        assert_eq!("p50<=1s".parse::<Limit>().unwrap().limit, Nanos::from_secs(1));
        for text in ["p99", "99<1s", "p0<1s", "p100<1s", "p99<", "p99<0s", "p99>1s", "avg<1s"] {
            assert!(text.parse::<Limit>().is_err(), "{text}");
        }
        assert_eq!(share("1 %"), Ok(Share::percent(1.0)));
        assert!(["1", "%", "-1%", "101%", "x%"].iter().all(|text| share(text).is_err()));
    }
}
