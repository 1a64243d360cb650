//! RabbitMQ and NATS.

use std::fs;
use std::sync::OnceLock;

use super::plan::{Launch, Place, Plan};
use super::programs::{Missing, User, of_rabbitmq, program};
use super::ready::Ready;
use super::service::Service;

/// RabbitMQ, with user and password `guest`. It takes about 7 s to start: see [`rabbitmq_shared`].
///
/// # Errors
/// When it is not installed.
pub fn rabbitmq() -> Result<Service, Missing> {
    let server = of_rabbitmq()?;
    let plan = Plan {
        name: "RabbitMQ",
        user: User::Own,
        ports: ["amqp", "nodes", "names"].map(str::to_owned).to_vec(),
        launch: Box::new(move |place| Launch {
            environment: rabbitmq_environment(place),
            ..Launch::new(&server, Vec::new())
        }),
        ready: Ready::RabbitMq,
        url: |port| format!("amqp://127.0.0.1:{port}"),
    };
    Service::start(plan, Service::folder_of_its_own())
}

fn rabbitmq_environment(place: &Place<'_>) -> Vec<(&'static str, String)> {
    let plugins = place.path("plugins");
    fs::write(&plugins, "[].\n").expect("the folder is ours");
    vec![
        // The secret of its cluster is kept there.
        ("HOME", place.path("")),
        ("RABBITMQ_NODENAME", "barograph@localhost".to_owned()),
        ("RABBITMQ_NODE_IP_ADDRESS", "127.0.0.1".to_owned()),
        ("RABBITMQ_NODE_PORT", place.ports.main().to_string()),
        ("RABBITMQ_DIST_PORT", place.ports.of("nodes").to_string()),
        ("RABBITMQ_MNESIA_BASE", place.path("data")),
        ("RABBITMQ_LOG_BASE", place.path("logs")),
        ("RABBITMQ_LOGS", "-".to_owned()),
        ("RABBITMQ_ENABLED_PLUGINS_FILE", plugins),
        ("RABBITMQ_CONFIG_FILE", place.path("none")),
        ("RABBITMQ_CONF_ENV_FILE", "/dev/null".to_owned()),
        // A register of nodes of its own, which the namespace ends with the rest.
        ("ERL_EPMD_PORT", place.ports.of("names").to_string()),
        ("ERL_EPMD_ADDRESS", "127.0.0.1".to_owned()),
    ]
}

/// One RabbitMQ for all tests of a process, which give their queues names of their own. It ends with the process.
///
/// # Errors
/// When it is not installed.
pub fn rabbitmq_shared() -> Result<&'static Service, Missing> {
    static SHARED: OnceLock<Result<Service, Missing>> = OnceLock::new();
    SHARED.get_or_init(rabbitmq).as_ref().map_err(Clone::clone)
}

/// NATS, with JetStream and its files.
///
/// # Errors
/// When it is not installed.
pub fn nats() -> Result<Service, Missing> {
    let server = program("nats-server", "apt-get install -y nats-server")?;
    let plan = Plan {
        name: "NATS",
        user: User::Own,
        ports: vec![String::new()],
        launch: Box::new(move |place| {
            let port = place.ports.main().to_string();
            let arguments = ["-a", "127.0.0.1", "-p", &port, "-js", "-sd", &place.path("data")];
            Launch::new(&server, arguments.map(str::to_owned).to_vec())
        }),
        ready: Ready::Nats,
        url: |port| format!("nats://127.0.0.1:{port}"),
    };
    Service::start(plan, Service::folder_of_its_own())
}
