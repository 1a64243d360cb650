//! Data files: rows of texts, kept once and shared by all users.

use serde_json::Value;

/// Index into the scenario's data files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DataId(pub u8);

/// Largest file in bytes. Its texts are kept in memory, and their ends are counted in 32 bits.
pub(crate) const MOST_BYTES: usize = 256 << 20;

/// Most columns. Scenarios use a few, and cells are numbered in 32 bits.
const MOST_COLUMNS: usize = 256;

/// The contents of a data file.
#[derive(PartialEq)]
pub struct Data {
    /// Its name in the scenario.
    pub name: &'static str,
    /// Names of its columns.
    pub columns: Vec<Box<str>>,
    texts: Box<str>,
    /// End of each cell in `texts`, row by row.
    ends: Box<[u32]>,
}

impl std::fmt::Debug for Data {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Data({}: {:?}, {} rows, {} bytes)", self.name, self.columns, self.rows(), self.texts.len())
    }
}

impl Data {
    /// Number of rows; at least one.
    #[must_use]
    pub fn rows(&self) -> u32 {
        (self.ends.len() / self.columns.len()) as u32
    }

    /// A cell; the row is taken modulo the number of rows.
    ///
    /// # Panics
    /// If there is no such column; columns come from the same scenario.
    #[must_use]
    pub fn cell(&self, row: u32, column: u16) -> &str {
        assert!(usize::from(column) < self.columns.len(), "columns come from the same scenario");
        let cell = (row % self.rows()) as usize * self.columns.len() + usize::from(column);
        let start = cell.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.texts[start as usize..self.ends[cell] as usize]
    }
}

/// Format of a data file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// Cells of a row separated by this character, or by the separator found in the head.
    Csv(Option<char>),
    JsonLines,
    Lines,
}

impl Format {
    /// Formats with their names in a scenario.
    pub(crate) const WORDS: [(&'static str, Format); 3] =
        [("csv", Format::Csv(None)), ("jsonl", Format::JsonLines), ("lines", Format::Lines)];
}

/// Possible separators of a CSV file; the first one in its head is used.
pub(crate) const SEPARATORS: [char; 4] = [',', ';', '\t', '|'];

/// A fault in a data file, with its line.
#[derive(Debug, PartialEq)]
pub(crate) struct Fault {
    pub(crate) line: usize,
    pub(crate) what: String,
}

fn fault<T>(line: usize, what: impl Into<String>) -> Result<T, Fault> {
    Err(Fault { line, what: what.into() })
}

/// Reads a data file.
pub(crate) fn parse(name: &'static str, format: Format, text: &str) -> Result<Data, Fault> {
    let text = text.trim_start_matches('\u{feff}');
    let mut rows = Rows { columns: Vec::new(), texts: String::with_capacity(text.len()), ends: Vec::new() };
    match format {
        Format::Csv(separator) => csv(text, separator.unwrap_or_else(|| guessed(text)), &mut rows)?,
        Format::JsonLines => json_lines(text, &mut rows)?,
        Format::Lines => {
            rows.columns = vec!["line".into()];
            text.lines().filter(|line| !line.is_empty()).for_each(|line| rows.cell(line));
        }
    }
    if rows.ends.is_empty() {
        return fault(1, "there are no rows");
    }
    Ok(Data { name, columns: rows.columns, texts: rows.texts.into(), ends: rows.ends.into() })
}

struct Rows {
    columns: Vec<Box<str>>,
    texts: String,
    ends: Vec<u32>,
}

impl Rows {
    fn cell(&mut self, text: &str) {
        self.texts.push_str(text);
        self.end();
    }

    fn end(&mut self) {
        self.ends.push(self.texts.len() as u32);
    }

    fn head(&mut self, columns: Vec<Box<str>>, line: usize) -> Result<(), Fault> {
        let twice = columns.iter().enumerate().find(|(i, c)| columns[..*i].contains(c));
        if let Some((_, column)) = twice {
            return fault(line, format!("the column `{column}` is there twice"));
        }
        if columns.len() > MOST_COLUMNS {
            return fault(line, format!("{} columns, at most {MOST_COLUMNS} are allowed", columns.len()));
        }
        self.columns = columns;
        Ok(())
    }
}

/// The first of the usual separators in the head, outside of quotes.
fn guessed(text: &str) -> char {
    let head = text.trim_start_matches(['\r', '\n']).lines().next().unwrap_or_default();
    // Every other part is inside of quotes.
    let outside = |separator: &char| head.split('"').step_by(2).any(|part| part.contains(*separator));
    SEPARATORS.into_iter().find(outside).unwrap_or(',')
}

/// Parses separated values with a head, as in RFC 4180.
fn csv(text: &str, separator: char, rows: &mut Rows) -> Result<(), Fault> {
    let mut rest = text;
    let mut line = 1;
    let mut record: Vec<String> = Vec::new();
    while !rest.is_empty() {
        let began = line;
        record.clear();
        rest = csv_record(rest, separator, (&mut line, &mut record))?;
        if record.len() == 1 && record[0].is_empty() {
            continue;
        }
        if rows.columns.is_empty() {
            rows.head(record.iter().map(|c| c.trim().into()).collect(), began)?;
        } else if record.len() == rows.columns.len() {
            record.iter().for_each(|cell| rows.cell(cell));
        } else {
            return fault(began, format!("{} cells, the head has {}", record.len(), rows.columns.len()));
        }
    }
    Ok(())
}

/// Splits one record off the text.
fn csv_record<'a>(
    text: &'a str,
    separator: char,
    (line, record): (&mut usize, &mut Vec<String>),
) -> Result<&'a str, Fault> {
    let mut rest = text;
    loop {
        let mut cell = String::new();
        if let Some(mut inside) = rest.strip_prefix('"') {
            let began = *line;
            loop {
                let Some(end) = inside.find('"') else {
                    return fault(began, "a quote is not closed");
                };
                cell.push_str(&inside[..end]);
                *line += inside[..end].matches('\n').count();
                rest = &inside[end + 1..];
                let Some(after) = rest.strip_prefix('"') else { break };
                cell.push('"');
                inside = after;
            }
        } else {
            let end = rest.find([separator, '\n', '"']).unwrap_or(rest.len());
            if rest[end..].starts_with('"') {
                return fault(*line, "a quote inside a cell that does not begin with one");
            }
            cell.push_str(rest[..end].trim_end_matches('\r'));
            rest = &rest[end..];
        }
        record.push(cell);
        if let Some(after) = rest.strip_prefix(separator) {
            rest = after;
            continue;
        }
        let after = rest.trim_start_matches('\r');
        if !after.is_empty() && !after.starts_with('\n') {
            return fault(*line, "text after a closing quote");
        }
        *line += 1;
        return Ok(after.strip_prefix('\n').unwrap_or(after));
    }
}

/// Parses one JSON object per line; the first one names the columns.
fn json_lines(text: &str, rows: &mut Rows) -> Result<(), Fault> {
    for (i, text) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let line = i + 1;
        let object = match serde_json::from_str(text) {
            Ok(Value::Object(object)) => object,
            Ok(_) => return fault(line, "not a JSON object"),
            Err(e) => return fault(line, format!("not JSON: {e}")),
        };
        if rows.columns.is_empty() {
            rows.head(object.keys().map(|key| key.as_str().into()).collect(), line)?;
            if rows.columns.is_empty() {
                return fault(line, "an object without members");
            }
        }
        for column in 0..rows.columns.len() {
            match object.get(&*rows.columns[column]) {
                None => {
                    return fault(
                        line,
                        format!("the member `{}` of the first line is missing", rows.columns[column]),
                    );
                }
                Some(Value::String(text)) => rows.texts.push_str(text),
                Some(other) => rows.texts.push_str(&other.to_string()),
            }
            rows.end();
        }
        if object.len() > rows.columns.len() {
            return fault(line, "it has members that the first line has not");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn cells_are_found_by_row_and_column() {
        let csv = "name, city\r\nann,\"Berne, \"\"old\"\"\ntown\"\n\nbob,\n";
        let data = parse("d", Format::Csv(None), csv).unwrap();
        assert_eq!(data.columns, ["name".into(), "city".into()]);
        assert_eq!(data.rows(), 2);
        assert_eq!(data.cell(0, 1), "Berne, \"old\"\ntown");
        assert_eq!((data.cell(1, 0), data.cell(1, 1)), ("bob", ""));
        assert_eq!(data.cell(2, 0), "ann");

        let lines = "{\"id\": 7, \"t\": \"x\\ny\"}\n\n{\"t\": null, \"id\": [1]}\n";
        let data = parse("d", Format::JsonLines, lines).unwrap();
        let cells: Vec<_> =
            (0..2).flat_map(|r| (0..2).map(move |c| (r, c))).map(|(r, c)| data.cell(r, c)).collect();
        assert_eq!(cells, ["7", "x\ny", "[1]", "null"]);

        let data = parse("d", Format::Lines, "a b\n\nc").unwrap();
        assert_eq!((data.cell(0, 0), data.cell(1, 0)), ("a b", "c"));
    }

    #[test]
    fn the_head_tells_what_is_between_cells() {
        for (text, columns, cell) in [
            ("name;password\nann;a,b\n", &["name", "password"][..], "a,b"),
            ("name\tpassword\nann\tx;y\n", &["name", "password"], "x;y"),
            ("name|password\nann|x\n", &["name", "password"], "x"),
            ("\u{feff}\"na;me\",password\r\nann,x\r\n", &["na;me", "password"], "x"),
            ("\"name\";\"pass,word\"\nann;\"x;y\"\n", &["name", "pass,word"], "x;y"),
            ("\n\na;b\n1;2\n", &["a", "b"], "2"),
        ] {
            let data = parse("d", Format::Csv(None), text).unwrap();
            let found: Vec<&str> = data.columns.iter().map(|column| &**column).collect();
            assert_eq!((found.as_slice(), data.cell(0, 1)), (columns, cell), "{text}");
        }
        let data = parse("d", Format::Csv(Some(';')), "a,b;c\n1;2\n").unwrap();
        assert_eq!((data.columns.len(), data.cell(0, 0)), (2, "1"));
        assert_eq!(parse("d", Format::Csv(None), "alone\nx;y\n").unwrap().cell(0, 0), "x;y");
    }

    #[test]
    fn a_bad_file_says_where_and_why() {
        for (format, text, line, why) in [
            (Format::Csv(None), "a,b\n1\n", 2, "1 cells, the head has 2"),
            (Format::Csv(None), "a,a\n1,2\n", 1, "the column `a` is there twice"),
            (Format::Csv(None), "a\n\"x\n", 2, "a quote is not closed"),
            (Format::Csv(None), "a\n\"x\ny\"z\n", 3, "text after a closing quote"),
            (Format::Csv(None), "a\nx\"y\n", 2, "a quote inside a cell that does not begin with one"),
            (Format::Csv(None), "a\n", 1, "there are no rows"),
            (Format::JsonLines, "{\"a\":1}\n[]\n", 2, "not a JSON object"),
            (Format::JsonLines, "{\"a\":1}\n\n{\"b\":1}", 3, "the member `a` of the first line is missing"),
            (
                Format::JsonLines,
                "{\"a\":1}\n{\"a\":1,\"b\":2}",
                2,
                "it has members that the first line has not",
            ),
            (Format::JsonLines, "{}", 1, "an object without members"),
            (Format::Lines, "\n\n", 1, "there are no rows"),
        ] {
            assert_eq!(parse("d", format, text).unwrap_err(), Fault { line, what: why.to_owned() }, "{text}");
        }
    }

    proptest! {
        #[test]
        fn quoted_cells_come_back(cells in prop::collection::vec(".{0,8}", 1..20)) {
            let quoted: Vec<String> = cells.iter().map(|c| format!("x,\"{}\"", c.replace('"', "\"\""))).collect();
            let data = parse("d", Format::Csv(None), &format!("k,v\n{}", quoted.join("\r\n"))).unwrap();
            prop_assert_eq!(data.rows() as usize, cells.len());
            for (row, cell) in cells.iter().enumerate() {
                prop_assert_eq!(data.cell(row as u32, 1), cell);
            }
        }

        #[test]
        fn no_text_makes_it_panic(text in "[a\",{}:\\r\\n1]{0,60}") {
            for (_, format) in Format::WORDS {
                let _ = parse("d", format, &text);
            }
        }
    }
}
