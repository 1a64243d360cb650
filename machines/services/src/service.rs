//! A service, and its units.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use barograph_platform::{
    Capability, Limits, MissingRequirement, Readiness, ReadinessCheck, Step, StopSignal, Unit, UnitFile, User,
};

use barograph_service_metrics::Statistics;

use crate::size::Size;
use crate::template::{Condition, Scope, Template};
use crate::{Flavour, MeasuredFigures, Placement, ServiceError, Word, paths, version, word};

/// A kind of thing that can be deployed.
#[derive(Clone, Debug)]
pub struct Service {
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) purpose: String,
    pub(crate) notes: Vec<String>,
    pub(crate) packages: Vec<String>,
    pub(crate) install: String,
    pub(crate) image: Option<String>,
    pub(crate) user: User,
    pub(crate) capabilities: Vec<Capability>,
    pub(crate) own_host: bool,
    pub(crate) keep: Option<String>,
    pub(crate) url: Template,
    pub(crate) versions_tried: Vec<String>,
    pub(crate) version: Option<(String, Vec<String>)>,
    pub(crate) ports: Vec<(String, u16)>,
    pub(crate) paths: BTreeMap<String, Vec<String>>,
    /// Folder with its programs; `None` for those of the machine.
    pub(crate) folder: Option<PathBuf>,
    pub(crate) words: Vec<Word>,
    pub(crate) files: Vec<File>,
    pub(crate) prepare: Vec<Prepare>,
    pub(crate) program: Option<String>,
    pub(crate) args: Vec<Args>,
    pub(crate) env: Vec<Variable>,
    pub(crate) ready: Vec<ReadinessSpec>,
    /// Statistics, with their port.
    pub(crate) statistics: Option<Statistics>,
    pub(crate) stop: StopSignal,
    pub(crate) grace: Duration,
    pub(crate) measured: Option<MeasuredFigures>,
}

/// Conditions, all of which must hold.
pub(crate) type Conditions = Vec<Condition>;

#[derive(Clone, Debug)]
pub(crate) struct File {
    pub(crate) path: String,
    pub(crate) text: Template,
    pub(crate) mode: u32,
    pub(crate) conditions: Conditions,
}

#[derive(Clone, Debug)]
pub(crate) struct Prepare {
    pub(crate) program: String,
    pub(crate) args: Vec<Template>,
    pub(crate) conditions: Conditions,
}

#[derive(Clone, Debug)]
pub(crate) struct Args {
    pub(crate) args: Vec<Template>,
    pub(crate) conditions: Conditions,
}

#[derive(Clone, Debug)]
pub(crate) struct Variable {
    pub(crate) name: String,
    pub(crate) value: Template,
    pub(crate) conditions: Conditions,
}

#[derive(Clone, Debug)]
pub(crate) struct ReadinessSpec {
    pub(crate) way: ReadinessMode,
    pub(crate) conditions: Conditions,
}

#[derive(Clone, Debug)]
pub(crate) enum ReadinessMode {
    Answer { ask: ReadinessCheck, port: String, timeout: Duration },
    Line { timeout: Duration },
    Run,
}

impl Service {
    /// Returns its name in plans, that of its folder.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns its name for users.
    #[must_use]
    pub fn title(&self) -> &str {
        &self.title
    }

    /// Returns its purpose.
    #[must_use]
    pub fn purpose(&self) -> &str {
        &self.purpose
    }

    /// Returns notes for readers of its figures, one sentence each.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Returns the packages of Debian and Ubuntu with its programs; empty if there are none.
    #[must_use]
    pub fn packages(&self) -> &[String] {
        &self.packages
    }

    /// Returns the command that installs it.
    #[must_use]
    pub fn install(&self) -> &str {
        &self.install
    }

    /// Returns the name of its container image, if it has one.
    #[must_use]
    pub fn image(&self) -> Option<&str> {
        self.image.as_deref()
    }

    /// Returns the versions it was tested with.
    #[must_use]
    pub fn versions_tried(&self) -> &[String] {
        &self.versions_tried
    }

    /// Returns its ports with their default numbers. The first is the one for clients.
    #[must_use]
    pub fn ports(&self) -> &[(String, u16)] {
        &self.ports
    }

    /// Returns the words that a topology may give.
    #[must_use]
    pub fn words(&self) -> &[Word] {
        &self.words
    }

    /// Whether it changes the network of its host, so that it must not share the machine's.
    #[must_use]
    pub fn needs_own_host(&self) -> bool {
        self.own_host
    }

    /// Returns the folder below that of an instance with everything it stores, including the results of its
    /// steps; `None` if it stores nothing worth keeping. If put in place before the start, it replaces those
    /// steps.
    #[must_use]
    pub fn keeps(&self) -> Option<&str> {
        self.keep.as_deref()
    }

    /// Returns the longest time that a stop may take before it is killed.
    #[must_use]
    pub fn grace(&self) -> Duration {
        self.grace
    }

    /// Returns its statistics; their port is one of [`Service::ports`] and always set. `None` if it reports
    /// none.
    #[must_use]
    pub fn statistics(&self) -> Option<&Statistics> {
        self.statistics.as_ref()
    }

    /// Returns its cost when idle, if that was measured.
    #[must_use]
    pub fn measured(&self) -> Option<&MeasuredFigures> {
        self.measured.as_ref()
    }

    /// Returns this service with the programs of a folder: another version of it. The program
    /// that is started and the one that tells the version must be there; others that are not are the machine's.
    #[must_use]
    pub fn with_programs(&self, folder: &Path) -> &'static Service {
        // Parts of a deployment refer to services for the life of the program, and a plan names few folders.
        static OTHERS: Mutex<Vec<&'static Service>> = Mutex::new(Vec::new());
        let mut others = OTHERS.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |other: &&&Service| other.name == self.name && other.folder.as_deref() == Some(folder);
        if let Some(known) = others.iter().find(is_it) {
            return known;
        }
        let other = Box::leak(Box::new(Service { folder: Some(folder.to_owned()), ..self.clone() }));
        others.push(other);
        other
    }

    /// Returns the first of its programs that is not installed, with the command that installs it.
    #[must_use]
    pub fn missing(&self) -> Option<MissingRequirement> {
        self.found().err()
    }

    /// Returns its programs outside the folders of the system, which hosts with a root of their own must be
    /// given.
    #[must_use]
    pub fn own_programs(&self) -> Vec<PathBuf> {
        let found = self.found().unwrap_or_default().into_values();
        let whole = self.installation().map(Path::to_owned);
        found.chain(whole).filter(|path| !is_of_system(path)).collect()
    }

    /// Returns its programs that none of [`Service::packages`] has: those outside the folders of the system and
    /// below `/usr/local`, and the whole installation of a given folder.
    #[must_use]
    pub fn programs_beside_packages(&self) -> Vec<PathBuf> {
        let found = self.found().unwrap_or_default().into_values();
        let unpackaged = found.filter(|path| !is_of_system(path) || path.starts_with("/usr/local"));
        unpackaged.chain(self.installation().map(Path::to_owned)).collect()
    }

    /// The installation of a given folder with its programs.
    fn installation(&self) -> Option<&Path> {
        self.folder.as_deref().map(paths::installation).filter(|_| self.missing().is_none())
    }

    /// Returns the installed version. Runs the program.
    ///
    /// # Errors
    /// If it is missing or its output contains no version.
    pub fn version(&self) -> Result<String, ServiceError> {
        match &self.version {
            // It is this program, and all crates have the same version.
            None => Ok(env!("CARGO_PKG_VERSION").to_owned()),
            Some((program, args)) => {
                let path = self.find(program).map_err(|source| self.not_here(source))?;
                version::ask(&path, args)
            }
        }
    }

    /// Returns the URL for clients of an instance at this address and with these ports.
    #[must_use]
    pub fn url(&self, address: IpAddr, ports: &BTreeMap<String, u16>) -> String {
        let (empty, limits) = (BTreeMap::new(), Limits::default());
        let nowhere = Path::new("/");
        let place = Placement {
            name: &self.name,
            host: "",
            address,
            ports,
            folder: nowhere,
            log: nowhere,
            flavour: Flavour::Vanilla,
            limits: &limits,
            machine: (1, 0),
            values: &empty,
            own_program: nowhere,
        };
        // A port that the caller left out has its default number.
        self.url.render(&self.scope(&place, BTreeMap::new(), BTreeMap::new())).unwrap_or_else(|_| {
            let usual = self.ports.iter().cloned().collect();
            let place = Placement { ports: &usual, ..place };
            self.url.render(&self.scope(&place, BTreeMap::new(), BTreeMap::new())).unwrap_or_default()
        })
    }

    /// Makes the unit of an instance at this place.
    ///
    /// # Errors
    /// If a program is missing, if values of the topology are missing, unknown or invalid, or if the folder's
    /// name cannot be written in configuration files.
    pub fn unit(&self, place: &Placement<'_>) -> Result<Unit, ServiceError> {
        let found = self.found().map_err(|source| self.not_here(source))?;
        self.unit_with(place, found)
    }

    fn found(&self) -> Result<BTreeMap<&str, PathBuf>, MissingRequirement> {
        if let Some(folder) = self.folder.as_ref().filter(|_| self.program.is_none()) {
            return Err(MissingRequirement {
                what: format!(
                    "{} has no program in `{}`: it is a part of this one",
                    self.title,
                    folder.display()
                ),
                hint: "leave deploy.TIER_programs out".to_owned(),
            });
        }
        self.paths.keys().map(|name| Ok((name.as_str(), self.find(name)?))).collect()
    }

    fn find(&self, name: &str) -> Result<PathBuf, MissingRequirement> {
        let places = self.paths.get(name).map(Vec::as_slice).unwrap_or_default();
        if let Some(folder) = &self.folder {
            if let Some(found) = paths::within(folder, places) {
                return Ok(found);
            }
            let is_started = self.program.as_deref() == Some(name);
            // Else the version in the record would be that of the machine's program.
            let tells_version = self.version.as_ref().is_some_and(|(program, _)| program == name);
            if is_started || tells_version {
                return Err(MissingRequirement {
                    what: format!("`{}` has no program `{name}` of {}", folder.display(), self.title),
                    hint: "name the folder with the programs of an installed version".to_owned(),
                });
            }
        }
        paths::find(places).ok_or_else(|| MissingRequirement {
            what: format!("{} is not on this machine: no {}", self.title, places.join(" or ")),
            hint: self.install.clone(),
        })
    }

    fn not_here(&self, source: MissingRequirement) -> ServiceError {
        ServiceError::Missing { service: self.name.clone(), source }
    }

    fn scope<'a>(
        &'a self,
        place: &'a Placement<'a>,
        paths: BTreeMap<&'a str, PathBuf>,
        values: BTreeMap<String, String>,
    ) -> Scope<'a> {
        Scope { service: &self.name, place, size: Size::of(place), words: &self.words, values, paths }
    }

    /// Makes the unit with programs at these paths.
    pub(crate) fn unit_with(
        &self,
        place: &Placement<'_>,
        paths: BTreeMap<&str, PathBuf>,
    ) -> Result<Unit, ServiceError> {
        if !self.files.is_empty() {
            self.check_folder(place.folder)?;
        }
        let values = word::values(&self.name, &self.words, place)?;
        let scope = self.scope(place, paths, values);
        let program = match &self.program {
            None => place.own_program.to_owned(),
            Some(name) => scope.path(name)?.clone(),
        };
        let mut args = Vec::new();
        for group in self.args.iter().filter(|group| met(&group.conditions, &scope)) {
            args.extend(rendered(&group.args, &scope)?);
        }
        let variables = self.env.iter().filter(|variable| met(&variable.conditions, &scope));
        Ok(Unit {
            name: place.name.to_owned(),
            host: place.host.to_owned(),
            program,
            args,
            env: variables
                .map(|variable| Ok((variable.name.clone(), variable.value.render(&scope)?)))
                .collect::<Result<_, ServiceError>>()?,
            files: self.rendered_files(&scope)?,
            prepare: self.rendered_steps(&scope)?,
            workdir: place.folder.to_owned(),
            log: place.log.to_owned(),
            user: self.user,
            capabilities: self.capabilities.clone(),
            stop: self.stop,
            limits: place.limits.clone(),
            ready: self.readiness(&scope)?,
        })
    }

    /// Checks the folder's path: configuration files quote it, which not every product supports for all
    /// characters.
    fn check_folder(&self, folder: &Path) -> Result<(), ServiceError> {
        let wrong = |why| {
            let (service, folder) = (self.name.clone(), folder.display().to_string());
            Err(ServiceError::BadFolder { service, folder, why })
        };
        match folder.to_str() {
            None => wrong("its name is not text"),
            Some(_) if !folder.is_absolute() => wrong("it is not absolute"),
            Some(text) if text.chars().any(|c| c.is_control() || "\"'`\\$;{}#%".contains(c)) => {
                wrong("quotes, backslashes, braces and $ ; # % cannot stand in configuration files")
            }
            Some(text) if text.contains(char::is_whitespace) => {
                wrong("some services cannot live in a folder with blanks in its name")
            }
            Some(_) => Ok(()),
        }
    }

    fn rendered_files(&self, scope: &Scope<'_>) -> Result<Vec<UnitFile>, ServiceError> {
        let mut files = vec![UnitFile {
            // The folder of a unit with a file is created, and the file tells users what the folder belongs
            // to.
            path: PathBuf::from("about.txt"),
            bytes: format!("{}: {}, {}\n", scope.place.name, self.title, scope.place.flavour.name())
                .into_bytes(),
            mode: 0o644,
        }];
        for file in self.files.iter().filter(|file| met(&file.conditions, scope)) {
            let bytes = file.text.render(scope)?.into_bytes();
            files.push(UnitFile { path: PathBuf::from(&file.path), bytes, mode: file.mode });
        }
        Ok(files)
    }

    fn rendered_steps(&self, scope: &Scope<'_>) -> Result<Vec<Step>, ServiceError> {
        let steps = self.prepare.iter().filter(|step| met(&step.conditions, scope));
        steps
            .map(|step| {
                let program = scope.path(&step.program)?.clone();
                Ok(Step { program, args: rendered(&step.args, scope)? })
            })
            .collect()
    }

    fn readiness(&self, scope: &Scope<'_>) -> Result<Readiness, ServiceError> {
        let way = self.ready.iter().find(|ready| met(&ready.conditions, scope)).map(|ready| &ready.way);
        Ok(match way {
            Some(ReadinessMode::Answer { ask, port, timeout }) => Readiness::Answers {
                ask: ask.clone(),
                address: SocketAddr::new(scope.place.address, scope.port(port)?),
                timeout: *timeout,
            },
            Some(ReadinessMode::Line { timeout }) => Readiness::StdoutLine { timeout: *timeout },
            // A check refuses a service whose last way has a condition.
            Some(ReadinessMode::Run) | None => Readiness::Runs,
        })
    }
}

fn met(conditions: &Conditions, scope: &Scope<'_>) -> bool {
    conditions.iter().all(|condition| condition.met(scope))
}

fn rendered(templates: &[Template], scope: &Scope<'_>) -> Result<Vec<String>, ServiceError> {
    templates.iter().map(|template| template.render(scope)).collect()
}

/// Whether a path is in a folder of the system, which hosts have in common.
fn is_of_system(path: &Path) -> bool {
    ["/usr", "/bin", "/sbin", "/lib"].iter().any(|system| path.starts_with(system))
}
