//! From text to a checked scenario: one file per part of the language.

mod answer;
mod behaviours;
mod bodies;
mod data;
mod exchange;
mod multipart;
mod names;
mod next;
mod operations;
mod pace;
mod request;
mod rules;
mod streams;
mod target;
mod values;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use barograph_model::{Refusal, Refusals};

use crate::behaviour::{Call, Chooser, Script, ScriptId};
use crate::data::Data;
use crate::section::Section;
use crate::settings_reader::{KeyPosition, ReadValue, SettingsReader};
use crate::{Draw, Header, Scenario, mix, name};
pub use answer::statuses;
pub use bodies::MOST_BODY;
use names::Names;
use operations::Operations;
pub use target::MOST_REDIRECTS;

/// Reader of the files named in a scenario; paths are relative to the scenario's folder, which is put before
/// them.
pub type Files<'f> = &'f dyn Fn(&Path) -> io::Result<Vec<u8>>;

/// Longest scenario in bytes. The largest sensible ones are a hundredth of it.
const MOST_TEXT: usize = 4 << 20;

/// Most bytes of all files named in a scenario together; they are kept in memory.
const MOST_FILES: usize = 1 << 30;

/// Most scripts, and most streams: their numbers have eight bits.
pub(crate) const MOST_NUMBERED: usize = 256;

/// Reads and checks a scenario. `name` is its path; files are looked up beside it.
///
/// # Errors
/// All refusals, with file, line and key.
pub fn read(name: &str, text: &str, files: Files<'_>) -> Result<Scenario, Refusals> {
    if text.len() > MOST_TEXT {
        return Err(Refusals(vec![Refusal {
            place: format!("{name}:1"),
            key: String::new(),
            value: format!("{} bytes of text", text.len()),
            allowed: format!("at most {MOST_TEXT}"),
            remedy: "put data into files and name them under [data]".into(),
        }]));
    }
    let (given, plain) = SettingsReader::parse(name, text)?;
    let folder = Path::new(name).parent().map(Path::to_owned).unwrap_or_default();
    let mut reading = ScenarioReader {
        given: &given,
        files,
        folder,
        bytes_left: MOST_FILES,
        names: Names::default(),
        operations: names::keys_of(&plain, "operations"),
        behaviours: names::keys_of(&plain, "behaviours"),
        data: Vec::new(),
        draws: Vec::new(),
        scripts: Vec::new(),
        streams: Vec::new(),
        choosers: Vec::new(),
        headers: Vec::new(),
    };
    reading.names.found_in(&given, &plain);
    let scenario = reading.scenario(name, Section::root(&given, plain));
    let refusals = given.refusals();
    if !refusals.is_empty() {
        return Err(Refusals(refusals));
    }
    let mix = mix::stationary(&scenario.behaviours.all()[0], scenario.operations.len());
    Ok(Scenario { mix, resolved: given.resolved(), ..scenario })
}

/// A scenario being read.
pub(crate) struct ScenarioReader<'a> {
    pub(crate) given: &'a SettingsReader,
    files: Files<'a>,
    folder: PathBuf,
    bytes_left: usize,
    pub(crate) names: Names,
    /// Names of operations in the order of the file, by number.
    pub(crate) operations: Vec<String>,
    /// Names of behaviours, `main` first, by number.
    pub(crate) behaviours: Vec<String>,
    pub(crate) data: Vec<Arc<Data>>,
    pub(crate) draws: Vec<Draw>,
    scripts: Vec<Script>,
    pub(crate) streams: Vec<&'static str>,
    pub(crate) choosers: Vec<Chooser>,
    /// Headers of every request.
    pub(crate) headers: Vec<Header>,
}

impl ScenarioReader<'_> {
    fn scenario(mut self, name: &str, mut root: Section<'_>) -> Scenario {
        let about = root.text_or("about", "");
        self.data(&mut root);
        self.values(&mut root);
        let target = self.target(&mut root);
        let Operations { operations, rules, further } = self.operations(&mut root);
        let behaviours = self.behaviours(&mut root);
        root.finish();
        Scenario {
            name: name.to_owned(),
            about,
            target,
            data: self.data,
            draws: self.draws,
            scripts: self.scripts,
            operations,
            behaviours,
            choosers: self.choosers,
            streams: self.streams,
            rules,
            further,
            slots: self.names.slots,
            names: self.names.sources(),
            mix: None,
            resolved: String::new(),
        }
    }

    /// Reads a file named in the scenario; refuses it if it cannot be read or is too large.
    pub(crate) fn file(&mut self, path: &ReadValue<String>, most: usize) -> Option<Vec<u8>> {
        let full = self.folder.join(&path.value);
        let shown = format!("\"{}\"", path.value);
        match (self.files)(&full) {
            Err(e) => {
                let allowed = format!("a file that can be read, looked for at {}", full.display());
                self.given.refuse(
                    &path.at,
                    format!("{shown} ({e})"),
                    &allowed,
                    "correct the path; it is relative to the scenario's folder",
                );
                None
            }
            Ok(bytes) if bytes.len() > most.min(self.bytes_left) => {
                let found = format!("{shown} ({} bytes)", bytes.len());
                let allowed = format!("at most {most} bytes, and {MOST_FILES} of all files together");
                self.given.refuse(&path.at, found, &allowed, "use a smaller file");
                None
            }
            Ok(bytes) => {
                self.bytes_left -= bytes.len();
                Some(bytes)
            }
        }
    }

    /// Reads a file of text.
    pub(crate) fn text_file(&mut self, path: &ReadValue<String>, most: usize) -> Option<String> {
        let bytes = self.file(path, most)?;
        let text = String::from_utf8(bytes);
        if text.is_err() {
            self.given.refuse(&path.at, format!("\"{}\"", path.value), "text in UTF-8", "convert the file");
        }
        text.ok()
    }

    /// The function given by the keys `script` and `function`.
    pub(crate) fn call(&mut self, section: &mut Section<'_>) -> Option<Call> {
        /// Longest script in bytes: choosing and computing takes less.
        const MOST_SCRIPT: usize = 1 << 20;
        let path = section.text("script");
        let function = section.text("function");
        let (path, function) =
            (self.required(section, "script", path)?, self.required(section, "function", function)?);
        let known = self.scripts.iter().position(|s| s.path == Path::new(&path.value));
        let index = match known {
            Some(index) => index,
            None => {
                let source = self.text_file(&path, MOST_SCRIPT)?;
                self.scripts.push(Script { path: path.value.clone().into(), source: source.into() });
                self.scripts.len() - 1
            }
        };
        let Ok(id) = u8::try_from(index) else {
            self.given.refuse(
                &path.at,
                format!("\"{}\"", path.value),
                "at most 256 scripts",
                "join some of them",
            );
            return None;
        };
        Some(Call { script: ScriptId(id), function: function.value.into() })
    }

    /// Refuses a missing key. One that was refused for its value is not refused again.
    pub(crate) fn required<T>(&self, section: &Section<'_>, key: &str, got: Option<T>) -> Option<T> {
        if got.is_none() && !section.was_given(key) {
            let at = section.at_key(key);
            self.given.refuse(&at, "", "it must be there", &format!("add `{key}`"));
        }
        got
    }

    /// The number of an operation.
    pub(crate) fn operation_number(
        &self,
        at: &KeyPosition,
        operation: &str,
    ) -> Option<barograph_model::OpId> {
        let index = self.operations.iter().position(|name| name == operation);
        if index.is_none() {
            self.given.refuse_name(at, operation, "an operation", self.operations.iter().map(String::as_str));
        }
        index.and_then(|i| u8::try_from(i).ok()).map(barograph_model::OpId)
    }

    /// The number of a stream; the first use of its name creates it.
    pub(crate) fn stream(&mut self, stream: &ReadValue<String>) -> Option<crate::StreamId> {
        let known = self.streams.iter().position(|name| *name == stream.value);
        let index = known.unwrap_or_else(|| {
            self.streams.push(name::leak(&stream.value));
            self.streams.len() - 1
        });
        if index >= MOST_NUMBERED {
            self.given.refuse(&stream.at, &stream.value, "at most 256 streams", "use fewer names");
        }
        u8::try_from(index).ok().map(crate::StreamId)
    }
}
