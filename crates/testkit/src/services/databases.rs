//! PostgreSQL, MariaDB and FerretDB, each with settings that keep what was committed.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::plan::{Launch, Plan};
use super::programs::{Missing, User, is_root, namespaces, of_ferretdb, of_postgres, program, user_flags};
use super::ready::Ready;
use super::service::Service;
use super::template::{copy, run, template};

/// Settings of PostgreSQL, before those of the caller. A commit is on the disk when it is answered.
const POSTGRES: &[(&str, &str)] = &[
    ("listen_addresses", "127.0.0.1"),
    // In the temporary folder of another program's choice otherwise.
    ("unix_socket_directories", ""),
    ("fsync", "on"),
    ("synchronous_commit", "on"),
    ("max_connections", CONNECTIONS),
    // Files in /dev/shm would outlive a killed server; this kind goes with the namespace.
    ("dynamic_shared_memory_type", "sysv"),
    // After a kill all files are brought to the disk first. Those of a copied template never were, and one by one that
    // takes 3 s. This way a recovery takes as long as it does on a server that has run for a while.
    ("recovery_init_sync_method", "syncfs"),
];

/// Settings of MariaDB, before those of the caller. A commit is on the disk when it is answered.
const MARIADB: &[(&str, &str)] = &[
    ("bind-address", "127.0.0.1"),
    ("skip-name-resolve", "1"),
    ("innodb-flush-log-at-trx-commit", "1"),
    ("max-connections", CONNECTIONS),
];

/// For several nodes of an application with a pool each; defaults are 100 and 151.
const CONNECTIONS: &str = "200";

/// PostgreSQL with a superuser `postgres` that needs no password. Commits are durable.
///
/// # Errors
/// When it is not installed.
pub fn postgres() -> Result<Service, Missing> {
    postgres_with(&[])
}

/// PostgreSQL with settings of its configuration file on top.
///
/// # Errors
/// When it is not installed.
pub fn postgres_with(settings: &[(&str, &str)]) -> Result<Service, Missing> {
    let (server, unshare) = (of_postgres("postgres")?, namespaces()?);
    let initdb = of_postgres("initdb")?;
    let kept = template(&server, |data| {
        let mut command = Command::new(&unshare);
        command.args(user_flags(User::NotRoot)).arg(&initdb).arg("-D").arg(data);
        run(command.args(["-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync"]));
    });
    let folder = Service::folder_of_its_own();
    copy(&kept, &folder.path().join("data"));
    let settings: Vec<String> = POSTGRES
        .iter()
        .chain(settings)
        .flat_map(|(name, value)| ["-c".to_owned(), format!("{name}={value}")])
        .collect();
    let plan = Plan {
        name: "PostgreSQL",
        user: User::NotRoot,
        ports: vec![String::new()],
        launch: Box::new(move |place| {
            let fixed = ["-D", &place.path("data"), "-p", &place.ports.main().to_string()].map(str::to_owned);
            Launch::new(&server, [&fixed[..], &settings].concat())
        }),
        ready: Ready::Postgres,
        url: |port| format!("postgres://postgres@127.0.0.1:{port}/postgres"),
    };
    Service::start(plan, folder)
}

/// MariaDB with a `root` that needs no password and an empty database `test`. Commits are durable.
///
/// # Errors
/// When it is not installed.
pub fn mariadb() -> Result<Service, Missing> {
    mariadb_with(&[])
}

/// MariaDB with options of its command line on top, without their dashes.
///
/// # Errors
/// When it is not installed.
pub fn mariadb_with(settings: &[(&str, &str)]) -> Result<Service, Missing> {
    const PACKAGE: &str = "apt-get install -y mariadb-server";
    let (server, install) = (program("mariadbd", PACKAGE)?, program("mariadb-install-db", PACKAGE)?);
    let kept = template(&server, |data| {
        let mut command = Command::new(&install);
        command.args(["--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db"]);
        run(command.args(as_root()).arg(format!("--datadir={}", data.display())));
        make_database(data, "test");
    });
    let folder = Service::folder_of_its_own();
    copy(&kept, &folder.path().join("data"));
    let settings: Vec<String> =
        MARIADB.iter().chain(settings).map(|(name, value)| format!("--{name}={value}")).collect();
    let plan = Plan {
        name: "MariaDB",
        user: User::Own,
        ports: vec![String::new()],
        launch: Box::new(move |place| {
            let own = [("datadir", "data"), ("socket", "socket"), ("pid-file", "pid"), ("tmpdir", ".")]
                .map(|(option, name)| format!("--{option}={}", place.path(name)));
            let mut arguments = vec!["--no-defaults".to_owned(), format!("--port={}", place.ports.main())];
            arguments
                .extend(as_root().map(str::to_owned).into_iter().chain(own).chain(settings.iter().cloned()));
            Launch::new(&server, arguments)
        }),
        ready: Ready::MariaDb,
        url: |port| format!("mysql://root@127.0.0.1:{port}/test"),
    };
    Service::start(plan, folder)
}

/// MariaDB runs as root only when it is told so.
fn as_root() -> Option<&'static str> {
    is_root().then_some("--user=root")
}

/// To MariaDB a folder is a database.
fn make_database(data: &Path, name: &str) {
    fs::create_dir(data.join(name)).expect("the folder is new, and without a database of this name");
}

/// FerretDB, which speaks MongoDB's protocol and keeps its data with SQLite. It has no transactions, and far less
/// speed than MongoDB: it shows that a client works, not how fast.
///
/// # Errors
/// When it is not there.
pub fn ferretdb() -> Result<Service, Missing> {
    let server = of_ferretdb()?;
    let folder = Service::folder_of_its_own();
    fs::create_dir(folder.path().join("data")).expect("the folder is new and empty");
    let plan = Plan {
        name: "FerretDB",
        user: User::Own,
        ports: vec![String::new()],
        launch: Box::new(move |place| {
            let arguments = [
                "--handler=sqlite".to_owned(),
                format!("--sqlite-url=file:{}/", place.path("data")),
                format!("--listen-addr=127.0.0.1:{}", place.ports.main()),
                "--debug-addr=-".to_owned(),
                "--telemetry=disable".to_owned(),
                format!("--state-dir={}", place.folder.display()),
            ];
            Launch::new(&server, arguments.to_vec())
        }),
        ready: Ready::MongoDb,
        url: |port| format!("mongodb://127.0.0.1:{port}/"),
    };
    Service::start(plan, folder)
}
