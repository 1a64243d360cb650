//! A running service: where it is, how to kill it and how to start it again.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;

use super::plan::{Place, Plan, Ports};
use super::programs::{Missing, namespaces};
use super::supervised::{Supervised, tail};

/// How often a starting service is asked whether it is ready.
const LOOK: Duration = Duration::from_millis(10);

/// A service is given up after so many looks, 60 s: RabbitMQ needs 7 s alone and more beside other work.
const LOOKS: u32 = 6_000;

/// Somebody else may take a chosen port before the service does. That happening three times in a row is no chance.
const ATTEMPTS: u32 = 3;

/// A real service that runs for a test. It ends when this is dropped.
pub struct Service {
    // Before the folder, so that its files are not in use any longer when they are removed.
    running: Option<Supervised>,
    plan: Plan,
    ports: Ports,
    url: String,
    unshare: PathBuf,
    folder: TempDir,
}

impl Service {
    /// A folder for a service that is about to start.
    pub(super) fn folder_of_its_own() -> TempDir {
        tempfile::Builder::new().prefix("barograph-").tempdir().expect("temporary folders can be made")
    }

    /// Starts the service on free ports and waits until it is ready.
    pub(super) fn start(plan: Plan, folder: TempDir) -> Result<Service, Missing> {
        let unshare = namespaces()?;
        let ports = Ports::choose(&plan.ports);
        let mut service = Service { running: None, plan, ports, url: String::new(), unshare, folder };
        for attempt in 1..=ATTEMPTS {
            match service.run() {
                Ok(()) => break,
                Err(why) if attempt == ATTEMPTS => service.give_up(&why),
                Err(_) => service.ports = Ports::choose(&service.plan.ports),
            }
        }
        service.url = (service.plan.url)(service.ports.main());
        Ok(service)
    }

    /// Where clients find it.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Its port on 127.0.0.1.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.ports.main()
    }

    /// The port that stands for `{port:NAME}` in the configuration of a proxy.
    ///
    /// # Panics
    /// When no port has the name.
    #[must_use]
    pub fn named_port(&self, name: &str) -> u16 {
        self.ports.of(name)
    }

    /// Its first process, as other processes see it.
    ///
    /// # Panics
    /// When the service was killed.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.running.as_ref().unwrap_or_else(|| panic!("{} does not run", self.plan.name)).pid()
    }

    /// All its processes; none when it was killed.
    #[must_use]
    pub fn pids(&self) -> Vec<u32> {
        self.running.as_ref().map(Supervised::pids).unwrap_or_default()
    }

    /// The folder with all its files.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The last lines it wrote.
    #[must_use]
    pub fn log(&self) -> String {
        tail(self.folder.path())
    }

    /// Kills all its processes at once, as a loss of power does, and returns when they are gone. Its data stays as it
    /// was at that moment.
    pub fn kill(&mut self) {
        if let Some(running) = self.running.take() {
            running.kill();
        }
    }

    /// Starts it again on the same ports and with the same data, after killing it if it still runs.
    ///
    /// # Panics
    /// When it does not become ready.
    pub fn restart(&mut self) {
        self.kill();
        if let Err(why) = self.run() {
            self.give_up(&why);
        }
    }

    /// Starts the processes and waits until they are ready.
    fn run(&mut self) -> Result<(), String> {
        let launch = (self.plan.launch)(&Place { folder: self.folder.path(), ports: &self.ports });
        let running = Supervised::start(&self.unshare, self.plan.user, &launch, self.folder.path())
            .map_err(|error| error.to_string())?;
        for _ in 0..LOOKS {
            let ready = self.plan.ready.ask(self.ports.main());
            let wait = if ready { Duration::ZERO } else { LOOK };
            // Also when somebody answered: it may be somebody else, who has the port.
            if running.ends_within(wait) {
                running.kill();
                return Err("it ended".to_owned());
            }
            if ready {
                self.running = Some(running);
                return Ok(());
            }
        }
        running.kill();
        Err(format!("it was not ready within {:?}", LOOK * LOOKS))
    }

    fn give_up(&self, why: &str) -> ! {
        panic!("{} did not start, {why}; the end of its log:\n{}", self.plan.name, self.log())
    }
}
