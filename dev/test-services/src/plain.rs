//! Programs other than services of the product, and proxies with a configuration of the caller, as plain
//! units.
//!
//! In a configuration `{folder}` stands for the folder of the service, `{port}` for the port of its clients,
//! and `{port:NAME}` for one more free port for each name.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use barograph_platform::{MissingRequirement, Readiness, ReadinessCheck, Unit, UnitFile};

use crate::place::ServiceSite;
use crate::programs::{built, program};
use crate::service::{Service, ServiceSpec};

/// Longest wait for a program on a busy machine.
const READY: Duration = Duration::from_secs(120);

/// Arguments with which Chromium runs without a screen, as root, with little shared memory, and without
/// connections to its maker: names other than addresses do not resolve.
pub const BROWSER_FLAGS: &[&str] = &[
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
];

/// A program, its readiness, and its arguments, in which `{folder}` and the ports are filled in.
struct ProgramSpec<'a> {
    name: &'static str,
    program: PathBuf,
    ask: ReadinessCheck,
    args: Vec<String>,
    env: Vec<(String, String)>,
    files: Vec<(&'a str, Vec<u8>)>,
    /// The file `configuration`, for programs that have one.
    configuration: String,
}

impl ProgramSpec<'_> {
    fn start(self) -> Service {
        let place = ServiceSite::make();
        let folder = place.folder(self.name);
        let ports: BTreeMap<String, u16> =
            names(&self.configuration).into_iter().map(|name| (name, place.port())).collect();
        let fill = |text: &str| {
            let mut text = text.replace("{folder}", &folder.display().to_string());
            for (name, port) in &ports {
                text = text.replace(&word(name), &port.to_string());
            }
            text
        };
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, ports["main"]));
        let file = |(path, bytes): (&str, Vec<u8>)| UnitFile { path: path.into(), bytes, mode: 0o644 };
        let mut files: Vec<UnitFile> = self.files.into_iter().map(file).collect();
        files.push(file(("configuration", fill(&self.configuration).into_bytes())));
        let ready = Readiness::Answers { ask: self.ask, address, timeout: READY };
        let mut unit = Unit::new(self.name, self.program, ready);
        unit.args = self.args.iter().map(|arg| fill(arg)).collect();
        unit.env = self.env.iter().map(|(name, value)| (name.clone(), fill(value))).collect();
        (unit.files, unit.log) = (files, place.root().join("log"));
        unit.workdir = folder.clone();
        let url = format!("http://{address}");
        Service::start(place, ServiceSpec { unit, ports, url })
    }
}

/// ChromeDriver, which offers WebDriver at its URL and starts one Chromium with a profile of its own for each
/// session. Sessions must be requested with [`BROWSER_FLAGS`]. Browsers end with the service, and their
/// profiles are removed.
///
/// # Errors
/// If it or Chromium is not installed.
pub fn browsers() -> Result<Service, MissingRequirement> {
    program("chromium", "apt-get install -y chromium")?;
    let driver = program("chromedriver", "apt-get install -y chromium-driver")?;
    Ok(ProgramSpec {
        name: "chromedriver",
        program: driver,
        ask: ReadinessCheck::Listens,
        args: words(&["--port={port}", "--log-level=WARNING"]),
        // Profiles and settings would otherwise stay in the machine's folders.
        env: ["HOME", "TMPDIR"].map(|name| (name.to_owned(), "{folder}".to_owned())).to_vec(),
        files: Vec::new(),
        configuration: String::new(),
    }
    .start())
}

/// Prometheus, which scrapes nothing and accepts remote-write.
///
/// # Errors
/// If it is not installed.
pub fn prometheus() -> Result<Service, MissingRequirement> {
    Ok(ProgramSpec {
        name: "prometheus",
        program: program("prometheus", "apt-get install -y prometheus")?,
        ask: ReadinessCheck::Http { path: "/-/ready".to_owned() },
        args: words(&[
            "--config.file={folder}/configuration",
            "--storage.tsdb.path={folder}/data",
            "--web.listen-address=127.0.0.1:{port}",
            "--web.enable-remote-write-receiver",
        ]),
        env: Vec::new(),
        files: Vec::new(),
        configuration: "scrape_configs: []\n".to_owned(),
    }
    .start())
}

/// VictoriaMetrics, which accepts OpenTelemetry metrics of any year at `/opentelemetry/v1/metrics`.
///
/// # Errors
/// If it is not built.
pub fn victoria_metrics() -> Result<Service, MissingRequirement> {
    Ok(ProgramSpec {
        name: "victoria-metrics",
        program: built("victoria-metrics")?,
        ask: ReadinessCheck::Http { path: "/-/ready".to_owned() },
        args: words(&[
            "-storageDataPath={folder}/data",
            "-httpListenAddr=127.0.0.1:{port}",
            "-retentionPeriod=100y",
        ]),
        env: Vec::new(),
        files: Vec::new(),
        configuration: String::new(),
    }
    .start())
}

/// nginx with this configuration and with these files in its folder.
///
/// Besides the common placeholders, `{temp_paths}` stands for the places of nginx's temporary files and of
/// its log of requests, all in the folder; it belongs into `http { }`, where `access_log off;` may follow.
/// The lines `daemon`, `pid`, `error_log` and `user` are given already.
///
/// # Errors
/// If it is not installed.
///
/// # Panics
/// If the configuration has no `{temp_paths}`, or nginx rejects it.
pub fn nginx(configuration: &str, files: &[(&str, &[u8])]) -> Result<Service, MissingRequirement> {
    let program = program("nginx", "apt-get install -y nginx-light")?;
    assert!(configuration.contains("{temp_paths}"), "the configuration has no {{temp_paths}}");
    // Effective only if started by root: workers of another user could not read the folder.
    let lines = "daemon off; pid {folder}/pid; error_log stderr; user root;";
    Ok(ProgramSpec {
        name: "nginx",
        program,
        ask: ReadinessCheck::Listens,
        args: words(&["-p", "{folder}", "-e", "stderr", "-c", "{folder}/configuration", "-g", lines]),
        env: Vec::new(),
        files: files.iter().map(|(name, bytes)| (*name, bytes.to_vec())).collect(),
        configuration: configuration.replace("{temp_paths}", &temp_paths()),
    }
    .start())
}

/// HAProxy with this configuration and with these files in its folder.
///
/// # Errors
/// If it is not installed.
///
/// # Panics
/// If HAProxy rejects the configuration.
pub fn haproxy(configuration: &str, files: &[(&str, &[u8])]) -> Result<Service, MissingRequirement> {
    Ok(ProgramSpec {
        name: "haproxy",
        program: program("haproxy", "apt-get install -y haproxy")?,
        ask: ReadinessCheck::Listens,
        // Without `-dR` it would share its port with any other process.
        args: words(&["-db", "-dR", "-f", "{folder}/configuration"]),
        env: Vec::new(),
        files: files.iter().map(|(name, bytes)| (*name, bytes.to_vec())).collect(),
        configuration: configuration.to_owned(),
    }
    .start())
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// The placeholder of a port.
fn word(name: &str) -> String {
    if name == "main" { "{port}".to_owned() } else { format!("{{port:{name}}}") }
}

/// The names of all ports of a configuration.
fn names(configuration: &str) -> Vec<String> {
    let mut names = vec!["main".to_owned()];
    for rest in configuration.split("{port:").skip(1) {
        let name = rest.split_once('}').expect("a word that opens a brace closes it").0.to_owned();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Places that nginx otherwise has in /var. It makes these itself, below its prefix.
fn temp_paths() -> String {
    let folders = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|kind| format!("{kind}_temp_path {kind};\n"));
    format!("{}access_log access.log;\n", folders.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_gets_one_port() {
        let names = names("listen {port}; a {port:a}; b {port:b}; a {port:a}");
        assert_eq!(names, ["main", "a", "b"]);
        assert_eq!(
            names.iter().map(|name| word(name)).collect::<Vec<_>>(),
            ["{port}", "{port:a}", "{port:b}"]
        );
        assert_eq!(temp_paths().lines().count(), 6);
    }
}
