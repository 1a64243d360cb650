//! nginx and HAProxy with a configuration of the caller.
//!
//! In the text, `{folder}` stands for the folder of the service, `{port}` for the port of its clients, and
//! `{port:NAME}` for one more free port for each name.

use std::fs;

use super::plan::{Launch, Place, Plan};
use super::programs::{Missing, User, is_root, program};
use super::ready::Ready;
use super::service::Service;

/// nginx with this configuration and with these files in its folder.
///
/// Besides the words that all proxies know, `{temp_paths}` stands for the places of nginx's temporary files and of its
/// log of requests, all in the folder; it belongs into `http { }`, where `access_log off;` may follow. The lines
/// `daemon`, `pid`, `error_log` and `user` are given already.
///
/// # Errors
/// When it is not installed.
///
/// # Panics
/// When the configuration has no `{port}` or no `{temp_paths}`, or nginx does not like it.
pub fn nginx(configuration: &str, files: &[(&str, &[u8])]) -> Result<Service, Missing> {
    let server = program("nginx", "apt-get install -y nginx-light")?;
    assert!(
        configuration.contains("{temp_paths}"),
        "the configuration has no {{temp_paths}} in its http part"
    );
    let configuration = configuration.replace("{temp_paths}", &temp_paths());
    let ports = ports(&configuration);
    let plan = Plan {
        name: "nginx",
        user: User::Own,
        ports,
        launch: Box::new(move |place| {
            let file = write(place, &configuration);
            // The workers of root would become somebody who may not read the folder.
            let user = if is_root() { " user root;" } else { "" };
            let lines = format!("daemon off; pid {}; error_log stderr;{user}", place.path("pid"));
            let arguments = ["-p", &place.path(""), "-e", "stderr", "-c", &file, "-g", &lines];
            Launch::new(&server, arguments.map(str::to_owned).to_vec())
        }),
        ready: Ready::Listens,
        url: |port| format!("http://127.0.0.1:{port}"),
    };
    start(plan, files)
}

/// HAProxy with this configuration and with these files in its folder.
///
/// # Errors
/// When it is not installed.
///
/// # Panics
/// When the configuration names no `{port}`, or HAProxy does not like it.
pub fn haproxy(configuration: &str, files: &[(&str, &[u8])]) -> Result<Service, Missing> {
    let server = program("haproxy", "apt-get install -y haproxy")?;
    let configuration = configuration.to_owned();
    let plan = Plan {
        name: "HAProxy",
        user: User::Own,
        ports: ports(&configuration),
        launch: Box::new(move |place| {
            // Without `-dR` it would share its port with anybody who asks for it.
            let arguments = ["-db", "-dR", "-f", &write(place, &configuration)];
            Launch::new(&server, arguments.map(str::to_owned).to_vec())
        }),
        ready: Ready::Listens,
        url: |port| format!("http://127.0.0.1:{port}"),
    };
    start(plan, files)
}

fn start(plan: Plan, files: &[(&str, &[u8])]) -> Result<Service, Missing> {
    let folder = Service::folder_of_its_own();
    for (name, bytes) in files {
        let file = folder.path().join(name);
        let parent = file.parent().expect("it is in the folder");
        fs::create_dir_all(parent).and_then(|()| fs::write(&file, bytes)).expect("the folder is ours");
    }
    Service::start(plan, folder)
}

/// Writes the configuration as it is for this place. Returns its file.
fn write(place: &Place<'_>, configuration: &str) -> String {
    let mut text = configuration.replace("{folder}", &place.folder.display().to_string());
    for (name, port) in place.ports.iter() {
        text = text.replace(&word(name), &port.to_string());
    }
    let file = place.path("configuration");
    fs::write(&file, text).expect("the folder is ours");
    file
}

/// What stands for a port in a configuration.
fn word(name: &str) -> String {
    if name.is_empty() { "{port}".to_owned() } else { format!("{{port:{name}}}") }
}

/// The names of all ports in a configuration, that of the clients first.
fn ports(configuration: &str) -> Vec<String> {
    assert!(
        configuration.contains("{port}"),
        "the configuration has no {{port}} for clients:\n{configuration}"
    );
    let mut names = vec![String::new()];
    for rest in configuration.split("{port:").skip(1) {
        let name = rest.split_once('}').expect("a word that opens a brace closes it").0.to_owned();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Places that nginx has in /var otherwise. It makes these itself, below its prefix.
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
        let names = ports("listen {port}; a {port:a}; b {port:b}; a {port:a}");
        assert_eq!(names, ["", "a", "b"]);
        assert_eq!(
            names.iter().map(|name| word(name)).collect::<Vec<_>>(),
            ["{port}", "{port:a}", "{port:b}"]
        );
        assert_eq!(temp_paths().lines().count(), 6);
    }
}
