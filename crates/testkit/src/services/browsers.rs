//! A browser for tests of web pages.

use super::plan::{Launch, Plan};
use super::programs::{Missing, User, program};
use super::ready::Ready;
use super::service::Service;

/// What Chromium needs to run without a screen, as root, with little shared memory, and without calling home: names
/// other than addresses lead nowhere.
pub const BROWSER_FLAGS: &[&str] = &[
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
];

/// ChromeDriver, which speaks WebDriver at its URL and starts one Chromium with a profile of its own for each session.
/// Sessions are to be asked for with [`BROWSER_FLAGS`]. Browsers end with the service, and so do their profiles.
///
/// # Errors
/// When it or Chromium is not installed.
pub fn browsers() -> Result<Service, Missing> {
    program("chromium", "apt-get install -y chromium")?;
    let driver = program("chromedriver", "apt-get install -y chromium-driver")?;
    let plan = Plan {
        name: "ChromeDriver",
        user: User::Own,
        ports: vec![String::new()],
        launch: Box::new(move |place| {
            let arguments = vec![format!("--port={}", place.ports.main()), "--log-level=WARNING".to_owned()];
            let folder = place.path("");
            // Profiles and settings would stay in the machine's folders otherwise.
            let environment = ["HOME", "TMPDIR"].map(|name| (name, folder.clone())).to_vec();
            Launch { environment, ..Launch::new(&driver, arguments) }
        }),
        ready: Ready::Listens,
        url: |port| format!("http://127.0.0.1:{port}"),
    };
    Service::start(plan, Service::folder_of_its_own())
}
