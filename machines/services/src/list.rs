//! List of services: one line each, with the templates of its folder.

use std::sync::LazyLock;

use crate::{Service, ServiceError};

/// A folder below `services/`, as of the build of the program.
pub(crate) struct ServiceFolder {
    /// Name of the folder and of the service.
    pub(crate) name: &'static str,
    /// Content of its `service.toml`.
    pub(crate) service: &'static str,
    /// Its templates: name and text.
    pub(crate) templates: &'static [(&'static str, &'static str)],
}

macro_rules! folder {
    ($name:literal $(, $template:literal)*) => {
        ServiceFolder {
            name: $name,
            service: include_str!(concat!("../../../services/", $name, "/service.toml")),
            templates: &[$(($template, include_str!(concat!("../../../services/", $name, "/", $template)))),*],
        }
    };
}

/// All folders, in the order in which a request meets the services.
pub(crate) const FOLDERS: &[ServiceFolder] = &[
    folder!("driver"),
    folder!("keepalived", "keepalived.conf"),
    folder!("haproxy", "haproxy.cfg"),
    folder!("nginx", "nginx.conf"),
    folder!("httpd", "httpd.conf"),
    folder!("auction"),
    folder!("store"),
    folder!("rabbitmq", "rabbitmq.conf", "start.sh"),
    folder!("nats", "nats.conf"),
    folder!("postgres", "postgresql.conf", "pg_hba.conf"),
    folder!("pgbouncer", "pgbouncer.ini"),
    folder!("mariadb", "my.cnf", "init.sql"),
    folder!("ferretdb"),
    folder!("ganesha", "ganesha.conf"),
    folder!("kv"),
    folder!("net"),
    folder!("redis", "redis.conf"),
    folder!("memcached"),
    folder!("twemproxy", "nutcracker.yml"),
    folder!("nbdkit", "start.sh"),
    folder!("mail"),
    folder!("farm"),
    folder!("nginx_static", "nginx.conf"),
    folder!("httpd_static", "httpd.conf"),
    folder!("social"),
    folder!("geocoder"),
    folder!("postfix", "main.cf", "master.cf"),
    folder!("dovecot", "dovecot.conf"),
    folder!("maddy", "maddy.conf"),
    folder!("spark"),
    folder!("spark_worker"),
    folder!("yarn", "core-site.xml", "yarn-site.xml", "capacity-scheduler.xml", "log4j.properties"),
    folder!("yarn_node", "core-site.xml", "yarn-site.xml", "log4j.properties"),
];

/// Returns every service, in the order in which a request meets them.
#[must_use]
pub fn all() -> &'static [Service] {
    static ALL: LazyLock<Vec<Service>> = LazyLock::new(|| {
        read_all().expect(
            "a test reads the same bytes: a broken folder is never built into a program that passed it",
        )
    });
    &ALL
}

/// Returns the service of this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Service> {
    all().iter().find(|service| service.name() == name)
}

pub(crate) fn read_all() -> Result<Vec<Service>, ServiceError> {
    FOLDERS.iter().map(Service::read).collect()
}
