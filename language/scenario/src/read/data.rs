//! Reads `[data.NAME]`: files, and the picking of rows.

use std::path::Path;
use std::sync::Arc;

use crate::data::{self, DataId, Format};
use crate::draw::{Draw, DrawId, DrawScope, DrawSource, Pick};
use crate::read::names::{NameEntry, is_column, life_of};
use crate::read::{MOST_NUMBERED, ScenarioReader};
use crate::section::Section;
use crate::{Source, name};

impl ScenarioReader<'_> {
    pub(crate) fn data(&mut self, root: &mut Section<'_>) {
        for (name, mut section) in root.named("data") {
            self.one_data(&name, &mut section);
            section.finish();
        }
    }

    /// The configured separator of a CSV file, if any.
    fn separator(&self, section: &mut Section<'_>, format: Format) -> Option<char> {
        let got = section.text("separator")?;
        let mut chars = got.value.chars();
        let found = chars.next().filter(|c| data::SEPARATORS.contains(c) && chars.next().is_none());
        if found.is_none() || !matches!(format, Format::Csv(_)) {
            let allowed = "one of , ; | and a tab (\"\\t\"), of a CSV file";
            self.given.refuse(&got.at, format!("{:?}", got.value), allowed, "leave it out: the head tells");
        }
        found
    }

    fn one_data(&mut self, name: &str, section: &mut Section<'_>) {
        let at = section.at.clone();
        let file = section.text("file");
        let file = self.required(section, "file", file);
        let by_name = file.as_ref().map_or(Format::Lines, |f| match Path::new(&f.value).extension() {
            Some(e) if e == "csv" || e == "tsv" => Format::Csv(None),
            Some(e) if e == "jsonl" || e == "ndjson" => Format::JsonLines,
            _ => Format::Lines,
        });
        let mut format = section.word("format", &Format::WORDS, by_name);
        if let Some(separator) = self.separator(section, format) {
            format = Format::Csv(Some(separator));
        }
        let pick = section.word("pick", &Pick::WORDS, Pick::Sequential);
        let per = section.word(
            "per",
            &DrawScope::WORDS,
            if pick == Pick::Unique { DrawScope::User } else { DrawScope::Session },
        );
        if pick == Pick::Unique && per != DrawScope::User {
            let at = section.at_key("per");
            self.given.refuse(
                &at,
                "",
                "\"user\" with pick = \"unique\"",
                "remove `per`, or pick another way",
            );
        }
        let Some(file) = file else { return };
        let Some(text) = self.text_file(&file, data::MOST_BYTES) else { return };
        let data = match data::parse(name::leak(name), format, &text) {
            Ok(data) => data,
            Err(fault) => {
                let found = format!("\"{}\", line {}: {}", file.value, fault.line, fault.what);
                let allowed = "a CSV file with a head, JSON objects line by line, or plain lines";
                return self.given.refuse(&file.at, found, allowed, "correct the file, or say its `format`");
            }
        };
        if self.data.len() >= MOST_NUMBERED {
            return self.given.refuse(&at, "", "at most 256 data files", "join some of them");
        }
        let (id, draw) = (DataId(self.data.len() as u8), DrawId(self.draws.len() as u16));
        let row = self.names.slots.add(life_of(per));
        for (i, column) in data.columns.iter().enumerate() {
            let source = Source::Column { data: id, column: i as u16, row };
            let named = NameEntry { source, per, list: false, draw: Some(draw) };
            // Columns that no text can name are useless and harmless.
            if is_column(column) {
                self.names.declare(self.given, &at, &format!("{name}.{column}"), named);
            }
            if data.columns.len() == 1 {
                self.names.declare(self.given, &at, name, named);
            }
        }
        self.draws.push(Draw { name: data.name, per, place: row, what: DrawSource::Row(id, pick) });
        self.names.needs.push(vec![draw]);
        self.data.push(Arc::new(data));
    }
}
