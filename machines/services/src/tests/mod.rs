//! Every folder of `services/`, read and rendered for a fixed place.

mod golden;
mod refusals;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use barograph_platform::{Limits, Readiness, Unit};

use crate::{Flavour, Placement, Service, ServiceError};

/// Required words of a service.
fn needed(service: &str) -> Vec<(&'static str, &'static str)> {
    match service {
        "keepalived" => {
            vec![("virtual_address", "10.1.0.100/24"), ("peers", "10.1.0.6"), ("watch", "10.1.0.5:8080")]
        }
        "nginx" | "httpd" | "haproxy" => {
            let mut words = vec![
                ("servers", "app-1=10.1.0.10:8080 app-2=10.1.0.11:8080"),
                ("bid_servers", "bids-1=10.1.0.12:8080"),
            ];
            words.extend((service == "nginx").then_some(("cached", "/static/|/files/")));
            words
        }
        "auction" => vec![
            ("data", "/data/nano"),
            ("relational", "postgres://postgres@10.1.0.20:5432/postgres"),
            ("bus", "nats://10.1.0.21:4222"),
            ("role", "bids"),
        ],
        "farm" | "nginx_static" | "httpd_static" => vec![("sets", "/site/sets"), ("number", "17")],
        "driver" => vec![("token_file", "/site/token")],
        "nbdkit" => vec![("bytes", "1048576"), ("filters", "nofilter nofilter fua")],
        "postfix" => vec![("store", "10.1.0.40:24")],
        "pgbouncer" => vec![("server", "10.1.0.20:5432")],
        "store" => vec![("database", "postgres://postgres@10.1.0.20:5432/store")],
        "social" => vec![
            ("geocoder", "10.1.0.21:8090"),
            ("database", "postgres://postgres@10.1.0.20:5432/postgres"),
            ("cache", "memcached://10.1.0.22:11211"),
            ("files", "file:///site/pictures"),
        ],
        "spark_worker" => vec![("master", "10.1.0.40:7077"), ("cores", "2"), ("heap_mib", "1024")],
        "yarn_node" => vec![("manager", "10.1.0.41:8031"), ("cores", "3"), ("heap_mib", "2048")],
        "twemproxy" => vec![("servers", "10.1.0.30:6379 10.1.0.31:6379")],
        _ => Vec::new(),
    }
}

/// A unit on two cores and 4 GiB, with programs at fixed paths.
fn unit(service: &Service, flavour: Flavour, values: &[(&str, &str)]) -> Result<Unit, ServiceError> {
    unit_in(service, flavour, values, Path::new("/run/site/unit-1"))
}

fn unit_in(
    service: &Service,
    flavour: Flavour,
    values: &[(&str, &str)],
    folder: &Path,
) -> Result<Unit, ServiceError> {
    let ports = service.ports().iter().cloned().collect();
    let values: BTreeMap<String, String> =
        values.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let limits =
        Limits { cpus: Some(2.0), cpu_set: vec![], memory_bytes: Some(4 << 30), ..Limits::default() };
    let place = Placement {
        name: "unit-1",
        host: "host-1",
        address: IpAddr::from([10, 1, 0, 5]),
        ports: &ports,
        folder,
        log: Path::new("/run/site/unit-1.log"),
        flavour,
        limits: &limits,
        machine: (8, 64 << 30),
        values: &values,
        own_program: Path::new("/programs/barograph"),
    };
    let programs =
        service.paths.keys().map(|name| (name.as_str(), PathBuf::from(format!("/programs/{name}"))));
    service.unit_with(&place, programs.collect())
}

/// A unit as readable text.
fn shown(unit: &Unit) -> String {
    let mut out = String::new();
    let mut line = |text: String| {
        out.push_str(&text);
        out.push('\n');
    };
    line(format!("{} as {:?}, stopped by {:?}", unit.program.display(), unit.user, unit.stop));
    unit.args.iter().for_each(|arg| line(format!("  {arg}")));
    unit.env.iter().for_each(|(name, value)| line(format!("env {name}={value}")));
    for step in &unit.prepare {
        line(format!("before: {} {}", step.program.display(), step.args.join(" ")));
    }
    line(match &unit.ready {
        Readiness::Answers { ask, address, timeout } => format!("ready: {ask:?} at {address} in {timeout:?}"),
        other => format!("ready: {other:?}"),
    });
    for file in &unit.files {
        line(format!("--- {} {:o}", file.path.display(), file.mode));
        // Comments are for readers of the template.
        let text = String::from_utf8_lossy(&file.bytes);
        let told = text.lines().filter(|l| !l.trim().is_empty() && !l.trim_start().starts_with('#'));
        told.for_each(|l| line(l.to_owned()));
    }
    out
}

#[test]
fn every_service_can_be_a_unit_in_both_flavours() {
    for service in crate::list::read_all().unwrap() {
        for flavour in [Flavour::Vanilla, Flavour::Tuned] {
            let made = unit(&service, flavour, &needed(service.name())).unwrap();
            assert_eq!((made.name.as_str(), made.host.as_str()), ("unit-1", "host-1"));
            assert_eq!(made.limits.memory_bytes, Some(4 << 30));
            assert!(!made.files.is_empty() && made.workdir == Path::new("/run/site/unit-1"));
            let told = shown(&made);
            // Ranges of private networks are allowed.
            assert!(!told.replace("10.0.0.0/8", "").contains("0.0.0.0"), "{told}");
            assert!(service.ports().is_empty() || told.contains("10.1.0.5"), "{told}");
        }
    }
}

#[test]
fn the_list_and_the_folders_are_the_same() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../services");
    let names = |path: &Path| -> Vec<String> {
        let entries = std::fs::read_dir(path).unwrap();
        let mut names: Vec<_> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    // Templates of tests and examples, which have no blocks.
    let elsewhere = ["auction.conf", "auction.cfg", "tls.conf"];
    let mut listed: Vec<String> = crate::list::FOLDERS.iter().map(|f| f.name.to_owned()).collect();
    listed.sort();
    assert_eq!(names(&root), listed);
    for folder in crate::list::FOLDERS {
        let mut files: Vec<String> = folder.templates.iter().map(|(name, _)| (*name).to_owned()).collect();
        files.push("service.toml".to_owned());
        files.sort();
        let there: Vec<String> =
            names(&root.join(folder.name)).into_iter().filter(|n| !elsewhere.contains(&n.as_str())).collect();
        assert_eq!(there, files, "services/{}", folder.name);
    }
}

/// The example of a manually configured HAProxy waits as long for nodes as a deployed one, in both flavours,
/// and checks them as often.
#[test]
fn a_haproxy_that_is_set_up_by_hand_waits_as_a_deployed_one_does() {
    let by_hand = include_str!("../../../../services/haproxy/auction.cfg");
    let waits = |text: &str| -> BTreeSet<String> {
        let lines = text.lines().map(str::trim);
        let waits =
            lines.filter(|line| line.starts_with("timeout ") || line.starts_with("default-server check "));
        waits.map(str::to_owned).collect()
    };
    assert!(waits(by_hand).contains("timeout check 2s"), "{by_hand}");
    for flavour in [Flavour::Vanilla, Flavour::Tuned] {
        let deployed = unit(crate::find("haproxy").unwrap(), flavour, &needed("haproxy")).unwrap();
        assert_eq!(waits(by_hand), waits(&shown(&deployed)), "{}", flavour.name());
    }
}

/// Users of the auction pause for some seconds, and by its own defaults httpd would close their connections
/// then.
#[test]
fn httpd_keeps_connections_of_clients_as_long_as_haproxy_in_both_flavours() {
    for flavour in [Flavour::Vanilla, Flavour::Tuned] {
        for (name, line) in [("httpd", "KeepAliveTimeout 300"), ("haproxy", "timeout http-keep-alive 300s")] {
            let told = shown(&unit(crate::find(name).unwrap(), flavour, &needed(name)).unwrap());
            assert!(told.lines().any(|other| other.trim() == line), "no `{line}` in\n{told}");
        }
    }
}

#[test]
fn services_are_found_by_name_and_tell_of_themselves() {
    assert!(crate::find("no-such-service").is_none());
    let postgres = crate::find("postgres").unwrap();
    assert_eq!(postgres.ports(), [("main".to_owned(), 5432)]);
    let ports = BTreeMap::from([("main".to_owned(), 7)]);
    let url = |address: &str| postgres.url(address.parse().unwrap(), &ports);
    assert_eq!(url("10.0.0.1"), "postgres://postgres@10.0.0.1:7/postgres");
    assert_eq!(url("fd00::1"), "postgres://postgres@[fd00::1]:7/postgres");
    let usual = postgres.url("10.0.0.1".parse().unwrap(), &BTreeMap::new());
    assert_eq!(usual, "postgres://postgres@10.0.0.1:5432/postgres");
    for service in crate::all() {
        assert!(service.purpose().ends_with('.') && service.notes().iter().all(|n| n.ends_with('.')));
        assert!(service.packages().iter().all(|package| service.install().contains(package)));
        assert!(service.grace().as_secs() >= 5, "{}", service.name());
    }
}

#[test]
fn another_version_is_one_service_for_each_folder() {
    let postgres = crate::find("postgres").unwrap();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("postgres"), "").unwrap();
    let other = postgres.with_programs(folder.path());
    assert!(std::ptr::eq(other, postgres.with_programs(folder.path())));
    assert!(!std::ptr::eq(other, postgres.with_programs(Path::new("/opt/pg/bin"))));
    assert_eq!(
        (other.name(), other.title(), other.ports()),
        (postgres.name(), postgres.title(), postgres.ports())
    );
    let why = postgres.with_programs(Path::new("/opt/pg/bin")).missing().unwrap();
    assert_eq!(why.what, "`/opt/pg/bin` has no program `postgres` of PostgreSQL");
    let own = crate::find("kv").unwrap();
    assert!(own.missing().is_none());
    let postfix = crate::find("postfix").unwrap();
    std::fs::write(folder.path().join("master"), "").unwrap();
    let why = postfix.with_programs(folder.path()).version().unwrap_err();
    let why = std::error::Error::source(&why).unwrap().to_string();
    assert!(why.contains("has no program `postconf` of Postfix"), "{why}");
    let why = own.with_programs(folder.path()).missing().unwrap();
    assert!(why.what.ends_with("it is a part of this one"), "{}", why.what);
}

#[test]
fn a_given_installation_is_beside_packages_as_a_whole() {
    let folder = tempfile::tempdir().unwrap();
    let programs = folder.path().join("bin");
    std::fs::create_dir(&programs).unwrap();
    std::fs::write(programs.join("nginx"), "").unwrap();
    let nginx = crate::find("nginx").unwrap().with_programs(&programs);
    assert_eq!(nginx.programs_beside_packages(), [programs.join("nginx"), folder.path().to_owned()]);
    assert!(crate::find("kv").unwrap().programs_beside_packages().is_empty(), "it is a part of this program");
}

#[test]
fn what_is_not_installed_is_told_with_its_command() {
    let folder = crate::list::ServiceFolder {
        name: "none",
        service: r#"
            title = "None"
            purpose = "Is nowhere."
            url = ""
            versions_tried = ["1.0"]
            install = { packages = ["none"], command = "apt-get install none" }
            version = { program = "none", args = [] }
            paths = { none = ["no-such-program-anywhere", "/no/such"] }
            start = { program = "none", args = [] }
            ready = [{ by = "run" }]
            stop = { grace_s = 5 }
        "#,
        templates: &[],
    };
    let service = Service::read(&folder).unwrap();
    let missing = service.missing().unwrap();
    let wanted = "None is not on this machine: no no-such-program-anywhere or /no/such; apt-get install none";
    assert_eq!(missing.to_string(), wanted);
    let refused = service.version().unwrap_err();
    assert_eq!(refused.to_string(), "find the programs of service `none`");
    assert_eq!(std::error::Error::source(&refused).unwrap().to_string(), wanted);
}
