//! Whole numbers in JSON: `5.0` and `5e0` are the same number as `5`, and some languages write them so.

use serde::de::{Deserializer, Error, Unexpected, Visitor};

/// Limit up to which a float holds all whole numbers.
const EXACT: f64 = 9_007_199_254_740_992.0;

struct WholeVisitor;

impl Visitor<'_> for WholeVisitor {
    type Value = i64;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a whole number")
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<i64, E> {
        Ok(value)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<i64, E> {
        i64::try_from(value).map_err(|_| E::invalid_value(Unexpected::Unsigned(value), &self))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<i64, E> {
        if value.fract() == 0.0 && value.abs() <= EXACT {
            return Ok(value as i64);
        }
        Err(E::invalid_value(Unexpected::Float(value), &self))
    }
}

/// Reads a whole number.
pub(crate) fn required<'de, D: Deserializer<'de>>(from: D) -> Result<i64, D::Error> {
    from.deserialize_i64(WholeVisitor)
}

/// Reads a whole number, or `null`. For a field that may be absent, with `default` beside it.
pub(crate) fn optional<'de, D: Deserializer<'de>>(from: D) -> Result<Option<i64>, D::Error> {
    struct OptionalWholeVisitor;

    impl<'de> Visitor<'de> for OptionalWholeVisitor {
        type Value = Option<i64>;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("a whole number or null")
        }

        fn visit_unit<E: Error>(self) -> Result<Option<i64>, E> {
            Ok(None)
        }

        fn visit_none<E: Error>(self) -> Result<Option<i64>, E> {
            Ok(None)
        }

        fn visit_some<D: Deserializer<'de>>(self, from: D) -> Result<Option<i64>, D::Error> {
            required(from).map(Some)
        }
    }

    from.deserialize_option(OptionalWholeVisitor)
}

#[cfg(test)]
mod tests {
    use crate::{BidRequest, ItemUpdate};

    fn bid(number: &str) -> Option<i64> {
        let text = format!(r#"{{"userId":1.0,"auctionId":2e0,"itemId":3,"amountCents":{number}}}"#);
        serde_json::from_str::<BidRequest>(&text).ok().map(|bid| bid.amount_cents)
    }

    #[test]
    fn a_whole_number_may_be_written_as_a_float() {
        assert_eq!(bid("5"), Some(5));
        assert_eq!(bid("5.0"), Some(5));
        assert_eq!(bid("-5e2"), Some(-500));
        assert_eq!(bid("9007199254740991.0"), Some(9_007_199_254_740_991));
        for none in ["5.5", "1e300", "9223372036854775808", "\"5\"", "null", "true", "[5]"] {
            assert_eq!(bid(none), None, "{none}");
        }
    }

    #[test]
    fn a_number_may_be_absent_or_null_where_it_may() {
        let update = |text: &str| {
            serde_json::from_str::<ItemUpdate>(text).map(|u| (u.origin_ms, u.starting_bid_cents))
        };
        assert_eq!(update("{}").unwrap(), (None, None));
        assert_eq!(update(r#"{"originMs":null,"startingBidCents":7.0}"#).unwrap(), (None, Some(7)));
        assert!(update(r#"{"originMs":0.5}"#).is_err());
    }
}
