//! Statistics of services: `statistics.csv`, one row per answer and statistic.

use std::path::Path;

use crate::RecordError;

/// Kind of a sampled state: the mean number in it. Its name is `CLASS/STATE`.
pub const STATE: &str = "state";

/// One value of one statistic. Missing values have no row.
#[derive(Clone, Debug, PartialEq)]
pub struct StatisticRow {
    /// Time of the question, seconds since the run began.
    pub at_s: f64,
    /// The part, as in the topology.
    pub part: String,
    /// Name of the statistic, in lower-case words joined by `_`.
    pub statistic: String,
    /// Kind: `rate`, per second since the previous answer, or `gauge`, a value as reported, or [`STATE`].
    pub kind: String,
    /// Unit: `commits`, `bytes`.
    pub unit: String,
    /// The value; for a rate, per second.
    pub value: f64,
}

/// Columns. They are read by name, so columns may be added and moved.
const COLUMNS: [&str; 6] = ["at_s", "part", "statistic", "kind", "unit", "value"];

/// Returns the header row.
pub(crate) fn header() -> String {
    format!("{}\n", COLUMNS.join(","))
}

/// Formats a row. Names are plain words; characters that would break the row are replaced.
pub(crate) fn line(row: &StatisticRow) -> String {
    let plain = |text: &str| text.replace([',', '"', '\n', '\r'], "_");
    let value = rounded(row.value);
    let [part, statistic, kind, unit] =
        [&row.part, &row.statistic, &row.kind, &row.unit].map(|text| plain(text));
    format!("{:.3},{part},{statistic},{kind},{unit},{value}\n", row.at_s)
}

/// Rounds to six significant digits, and more for large values: a byte in a gigabyte is kept.
fn rounded(value: f64) -> f64 {
    if value.abs() >= 1e5 {
        return value.round();
    }
    // With an exponent, digits are counted from the first that is not zero.
    format!("{value:.5e}").parse().unwrap_or(value)
}

/// Parses the rows of a file, and lists those that are invalid.
pub(crate) fn read(path: &Path, text: &str) -> (Vec<StatisticRow>, Vec<RecordError>) {
    let mut lines = text.split_inclusive('\n').enumerate();
    let Some((_, head)) = lines.next() else { return (Vec::new(), Vec::new()) };
    let names: Vec<&str> = head.trim_end().split(',').collect();
    let places = COLUMNS.map(|column| names.iter().position(|name| *name == column));
    let (mut rows, mut bad) = (Vec::new(), Vec::new());
    for (i, text) in lines {
        match row(text, &places, names.len()) {
            Ok(row) => rows.push(row),
            Err(why) => bad.push(RecordError::bad_line(path, i + 1, why)),
        }
    }
    (rows, bad)
}

fn row(text: &str, places: &[Option<usize>; 6], columns: usize) -> Result<StatisticRow, String> {
    let Some(whole) = text.strip_suffix('\n') else { return Err("the line is cut".to_owned()) };
    let fields: Vec<&str> = whole.trim_end_matches('\r').split(',').collect();
    if fields.len() != columns {
        return Err(format!("{} fields where the header has {columns}", fields.len()));
    }
    let field = |column: usize| {
        let at = places[column].ok_or_else(|| format!("no column `{}`", COLUMNS[column]))?;
        Ok::<&str, String>(fields[at])
    };
    let number = |column: usize| {
        let text = field(column)?;
        let number: f64 = text.parse().map_err(|why| format!("`{text}`: {why}"))?;
        if number.is_finite() { Ok(number) } else { Err(format!("`{text}` is no number")) }
    };
    Ok(StatisticRow {
        at_s: number(0)?,
        part: field(1)?.to_owned(),
        statistic: field(2)?.to_owned(),
        kind: field(3)?.to_owned(),
        unit: field(4)?.to_owned(),
        value: number(5)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(value: f64) -> StatisticRow {
        StatisticRow {
            at_s: 12.5,
            part: "relational-1".to_owned(),
            statistic: "commits".to_owned(),
            kind: "rate".to_owned(),
            unit: "commits".to_owned(),
            value,
        }
    }

    #[test]
    fn rows_read_back() {
        for value in [0.0, 41.25, 0.3333, 0.000_04, -1.5e-7, 12_345.6, 1_234_567_890.0] {
            let text = header() + &line(&kept(value)) + "13.0,relational-1,comm";
            let (rows, bad) = read(Path::new("statistics.csv"), &text);
            assert_eq!(rows, [kept(value)]);
            assert_eq!(bad.len(), 1);
            assert_eq!(bad[0].to_string(), "understand `statistics.csv` line 3");
        }
    }

    #[test]
    fn digits_are_kept_by_their_weight() {
        for (value, kept) in [
            (0.000_123_456_7, 0.000_123_457),
            (1.0 / 3.0, 0.333_333),
            (99_999.96, 100_000.0),
            (1_234_567.6, 1_234_568.0),
        ] {
            assert_eq!(rounded(value), kept);
        }
        assert!(rounded(f64::NAN).is_nan());
    }

    #[test]
    fn columns_are_found_by_name_and_names_cannot_break_a_row() {
        let text = "part,value,at_s,colour,statistic,unit,kind\nbus-1,3,1,blue,in,bytes,rate\n";
        let (rows, bad) = read(Path::new("x"), text);
        assert!(bad.is_empty());
        assert_eq!((rows[0].part.as_str(), rows[0].value, rows[0].unit.as_str()), ("bus-1", 3.0, "bytes"));
        let odd = StatisticRow { part: "a,\"b\n".to_owned(), ..kept(1.0) };
        let (rows, bad) = read(Path::new("x"), &(header() + &line(&odd)));
        assert!(bad.is_empty() && rows[0].part == "a__b_", "{rows:?}");
        assert_eq!(read(Path::new("x"), "at_s,part\n1,a\n").1.len(), 1, "a column that is needed is missing");
    }
}
