//! Bounds of numbers from `minimum`, `maximum` and their exclusive variants.

use serde_json::Value;

use super::schema::Shape;

/// Number of whole numbers in a range with one bound.
const USUAL: f64 = 99.0;

/// The largest bound of a random number in a scenario.
const LARGEST: f64 = 1e15;

/// The bounds of one schema.
pub(super) struct Bounds {
    least: Bound,
    most: Bound,
    multiple_of: Option<f64>,
}

#[derive(Clone, Copy, Default)]
struct Bound {
    at: Option<f64>,
    is_exclusive: bool,
}

/// Reads the bounds, in the notations of OpenAPI 3.0 and 3.1.
pub(super) fn of(shape: &Shape<'_>) -> Bounds {
    let bound = |key: &str, exclusive: &str| {
        let at = shape.get(key).and_then(Value::as_f64);
        match shape.get(exclusive) {
            Some(Value::Bool(is_exclusive)) => Bound { at, is_exclusive: *is_exclusive },
            Some(Value::Number(number)) => Bound { at: number.as_f64(), is_exclusive: true },
            _ => Bound { at, is_exclusive: false },
        }
    };
    Bounds {
        least: bound("minimum", "exclusiveMinimum"),
        most: bound("maximum", "exclusiveMaximum"),
        multiple_of: shape.get("multipleOf").and_then(Value::as_f64).filter(|step| *step > 0.0),
    }
}

impl Bounds {
    /// The first and the last whole number within the bounds; `None` if there is none.
    pub(super) fn whole(&self) -> Option<(i64, i64)> {
        let least = self.least.at.map(|at| next(at, self.least.is_exclusive));
        let most = self.most.at.map(|at| -next(-at, self.most.is_exclusive));
        let (least, most) = match (least, most) {
            (Some(least), Some(most)) => (least, most),
            (Some(least), None) => (least, least + USUAL),
            (None, Some(most)) if most >= 1.0 => (1.0, most),
            (None, Some(most)) => (most - USUAL, most),
            (None, None) => (1.0, 1.0 + USUAL),
        };
        let Some(step) = self.multiple_of else {
            return (least <= most).then_some((least as i64, most as i64));
        };
        // One number suffices if most of them are not allowed.
        let first = (least / step).ceil() * step;
        (first <= most && first.fract() == 0.0).then_some((first as i64, first as i64))
    }

    /// The range of numbers within the bounds.
    pub(super) fn numbers(&self) -> (f64, f64) {
        let least = self.least.at.unwrap_or_else(|| self.most.at.map_or(0.0, |most| most - 1.0));
        let most = self.most.at.unwrap_or(least + 1.0).max(least);
        // Away from exclusive bounds.
        let tenth = (most - least) / 10.0;
        let least = if self.least.is_exclusive { least + tenth } else { least };
        let most = if self.most.is_exclusive { most - tenth } else { most };
        (least.clamp(-LARGEST, LARGEST), most.clamp(-LARGEST, LARGEST))
    }
}

/// The first whole number above a lower bound.
fn next(at: f64, is_exclusive: bool) -> f64 {
    if is_exclusive && at.fract() == 0.0 { at + 1.0 } else { at.ceil() }
}

#[cfg(test)]
mod tests {
    use super::super::schema::Schemas;
    use super::*;

    #[test]
    fn numbers_stay_within_their_bounds() {
        for (schema, expected) in [
            (r#"{}"#, Some((1, 100))),
            (r#"{"minimum":200}"#, Some((200, 299))),
            (r#"{"maximum":0}"#, Some((-99, 0))),
            (r#"{"maximum":50}"#, Some((1, 50))),
            (r#"{"minimum":5,"maximum":5}"#, Some((5, 5))),
            (r#"{"minimum":0,"exclusiveMinimum":true}"#, Some((1, 100))),
            (r#"{"exclusiveMinimum":0,"exclusiveMaximum":2}"#, Some((1, 1))),
            (r#"{"minimum":0.1,"maximum":0.5}"#, None),
            (r#"{"minimum":2,"maximum":1}"#, None),
            (r#"{"minimum":1,"multipleOf":10}"#, Some((10, 10))),
            (r#"{"minimum":-1e300,"maximum":1e300}"#, Some((i64::MIN, i64::MAX))),
        ] {
            let document: Value = serde_json::from_str(schema).unwrap();
            let bounds = of(&Schemas { document: &document }.shape(&document));
            assert_eq!(bounds.whole(), expected, "{schema}");
        }
        let document: Value = serde_json::from_str(r#"{"exclusiveMinimum":0,"maximum":1}"#).unwrap();
        assert_eq!(of(&Schemas { document: &document }.shape(&document)).numbers(), (0.1, 1.0));
    }
}
