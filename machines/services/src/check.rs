//! Builds a service from its folder, with all templates checked.

use std::path::{Component, Path};
use std::time::Duration;

use barograph_service_metrics::Statistics;

use crate::list::ServiceFolder;
use crate::raw::{RawArgs, RawFile, RawReady, RawService, RawStart, RawStep, RawVariable, ReadyBy};
use crate::service::{Args, Conditions, File, Prepare, ReadinessMode, ReadinessSpec, Variable};
use crate::template::{KnownNames, RESERVED, condition, inline, text};
use crate::{Service, ServiceError, Word};

/// Reads one folder.
struct Reader<'a> {
    folder: &'a ServiceFolder,
    known: KnownNames<'a>,
    /// Path of the `service.toml`, for messages.
    file: String,
}

impl Service {
    /// Reads a folder.
    pub(crate) fn read(folder: &ServiceFolder) -> Result<Self, ServiceError> {
        let read = |source| ServiceError::Read { service: folder.name.to_owned(), source: Box::new(source) };
        let raw: RawService = toml::from_str(folder.service).map_err(read)?;
        let file = format!("{}/service.toml", folder.name);
        let wrong = |what: String| ServiceError::Folder { file: file.clone(), what };
        let ports: Vec<(String, u16)> = raw.ports.iter().map(|p| (p.name.clone(), p.usual)).collect();
        let paths: Vec<String> = raw.paths.keys().cloned().collect();
        let words = raw.words.into_iter().map(|(name, word)| match RESERVED.contains(&name.as_str()) {
            true => Err(format!("word `{name}` has a meaning of its own")),
            false => Word::checked(&name, word),
        });
        let words: Vec<Word> = words.collect::<Result<_, _>>().map_err(wrong)?;
        let known = KnownNames { ports: &ports, paths: &paths, words: &words };
        let reader = Reader { folder, known, file: file.clone() };
        let service = Service {
            name: folder.name.to_owned(),
            title: raw.title,
            purpose: raw.purpose,
            notes: raw.notes,
            packages: raw.install.packages,
            install: raw.install.command,
            image: raw.image,
            user: raw.user,
            capabilities: raw.capabilities,
            own_host: raw.own_host,
            keep: raw.keep.map(|folder| reader.inside("folder", folder)).transpose()?,
            url: reader.inline(&raw.url)?,
            versions_tried: raw.versions_tried,
            version: match raw.version.program {
                Some(name) => Some((reader.path(name)?, raw.version.args)),
                None => None,
            },
            files: raw.files.into_iter().map(|file| reader.file(file)).collect::<Result<_, _>>()?,
            prepare: raw.prepare.into_iter().map(|step| reader.step(step)).collect::<Result<_, _>>()?,
            program: raw.start.program.clone().map(|name| reader.path(name)).transpose()?,
            args: reader.args(raw.start)?,
            env: raw.env.into_iter().map(|variable| reader.variable(variable)).collect::<Result<_, _>>()?,
            ready: reader.readiness(raw.ready)?,
            statistics: raw.statistics.map(|asked| reader.statistics(asked)).transpose()?,
            stop: raw.stop.signal,
            grace: Duration::from_secs(raw.stop.grace_s),
            measured: raw.measured,
            paths: raw.paths,
            folder: None,
            ports: ports.clone(),
            words: words.clone(),
        };
        reader.templates_used(&service)?;
        Ok(service)
    }
}

impl Reader<'_> {
    fn wrong<T>(&self, what: String) -> Result<T, ServiceError> {
        Err(ServiceError::Folder { file: self.file.clone(), what })
    }

    fn inline(&self, text: &str) -> Result<crate::template::Template, ServiceError> {
        inline(&self.file, text, self.known)
    }

    fn all_inline(&self, texts: &[String]) -> Result<Vec<crate::template::Template>, ServiceError> {
        texts.iter().map(|text| self.inline(text)).collect()
    }

    fn path(&self, name: String) -> Result<String, ServiceError> {
        if self.known.paths.contains(&name) { Ok(name) } else { self.wrong(format!("no path `{name}`")) }
    }

    fn conditions(&self, when: Option<String>, unless: Option<String>) -> Result<Conditions, ServiceError> {
        let asked = [(when, true), (unless, false)].into_iter();
        let asked = asked.filter_map(|(text, holds)| Some((text?, holds)));
        asked.map(|(text, holds)| condition(&self.file, &text, holds, self.known)).collect()
    }

    /// Checks that a path is within the folder of the unit.
    fn inside(&self, what: &str, path: String) -> Result<String, ServiceError> {
        let inside = Path::new(&path).components().all(|part| matches!(part, Component::Normal(_)));
        if inside && !path.is_empty() {
            return Ok(path);
        }
        self.wrong(format!("{what} `{path}` is not below the folder of the unit"))
    }

    fn file(&self, raw: RawFile) -> Result<File, ServiceError> {
        let path = self.inside("file", raw.path.clone())?;
        let template = match (&raw.template, &raw.text) {
            (Some(name), None) => match self.folder.templates.iter().find(|(known, _)| known == name) {
                Some((_, body)) => text(&format!("{}/{name}", self.folder.name), body, self.known)?,
                None => return self.wrong(format!("no template `{name}` in the list of services")),
            },
            (None, Some(body)) => self.inline(body)?,
            _ => return self.wrong(format!("file `{}` needs either a template or a text", raw.path)),
        };
        Ok(File {
            path,
            text: template,
            mode: if raw.program { 0o755 } else { 0o644 },
            conditions: self.conditions(raw.when, raw.unless)?,
        })
    }

    fn step(&self, raw: RawStep) -> Result<Prepare, ServiceError> {
        Ok(Prepare {
            program: self.path(raw.program)?,
            args: self.all_inline(&raw.args)?,
            conditions: self.conditions(raw.when, raw.unless)?,
        })
    }

    fn args(&self, raw: RawStart) -> Result<Vec<Args>, ServiceError> {
        let always = RawArgs { args: raw.args, when: None, unless: None };
        let groups = std::iter::once(always).chain(raw.more);
        groups
            .map(|group| {
                let conditions = self.conditions(group.when, group.unless)?;
                Ok(Args { args: self.all_inline(&group.args)?, conditions })
            })
            .collect()
    }

    fn variable(&self, raw: RawVariable) -> Result<Variable, ServiceError> {
        let conditions = self.conditions(raw.when, raw.unless)?;
        Ok(Variable { name: raw.name, value: self.inline(&raw.value)?, conditions })
    }

    fn readiness(&self, raw: Vec<RawReady>) -> Result<Vec<ReadinessSpec>, ServiceError> {
        let ways: Vec<ReadinessSpec> =
            raw.into_iter().map(|ready| self.ready(ready)).collect::<Result<_, _>>()?;
        match ways.last() {
            Some(last) if last.conditions.is_empty() => Ok(ways),
            _ => self.wrong("the last way to be ready must have no condition".to_owned()),
        }
    }

    fn ready(&self, raw: RawReady) -> Result<ReadinessSpec, ServiceError> {
        let timeout = raw.timeout_s.filter(|s| *s > 0).map(Duration::from_secs);
        let main = self.known.ports.first().map(|(name, _)| name.clone());
        let way = match (raw.by, raw.ask, raw.port.or(main), timeout) {
            (ReadyBy::Answer, Some(ask), Some(port), Some(timeout)) => {
                ReadinessMode::Answer { ask, port, timeout }
            }
            (ReadyBy::Line, None, _, Some(timeout)) => ReadinessMode::Line { timeout },
            (ReadyBy::Run, None, _, None) => ReadinessMode::Run,
            _ => {
                let what =
                    "ready by answer needs ask, a port and timeout_s; by line timeout_s; by run nothing";
                return self.wrong(what.to_owned());
            }
        };
        match &way {
            ReadinessMode::Answer { port, .. } if self.known.ports.iter().all(|(name, _)| name != port) => {
                self.wrong(format!("ready at port `{port}`, which there is not"))
            }
            _ => Ok(ReadinessSpec { way, conditions: self.conditions(raw.when, raw.unless)? }),
        }
    }

    /// Statistics with their port, by default the one for clients.
    fn statistics(&self, mut asked: Statistics) -> Result<Statistics, ServiceError> {
        asked.check().or_else(|what| self.wrong(what))?;
        let main = self.known.ports.first().map(|(name, _)| name.clone());
        asked.port = asked.port.or(main);
        match &asked.port {
            Some(port) if self.known.ports.iter().any(|(name, _)| name == port) => Ok(asked),
            Some(port) => self.wrong(format!("statistics at port `{port}`, which there is not")),
            None => self.wrong("statistics of a service without ports".to_owned()),
        }
    }

    /// Refuses a template that no file uses.
    fn templates_used(&self, service: &Service) -> Result<(), ServiceError> {
        let raw = self.folder.service;
        match self.folder.templates.iter().find(|(name, _)| !raw.contains(&format!("\"{name}\""))) {
            Some((name, _)) => self.wrong(format!("template `{name}` is in the list and not used")),
            None if service.versions_tried.is_empty() => self.wrong("no version was tried".to_owned()),
            None => Ok(()),
        }
    }
}
