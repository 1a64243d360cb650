//! The load of nginx and Apache httpd, by their descriptions.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use barograph_test_services::{or_skip, product};

use super::rig::{Load, ended};
use crate::sets::Sets;

#[test]
fn nginx_and_httpd_serve_sets_unaltered() {
    let folder = tempfile::tempdir().unwrap();
    Sets::new(1).unwrap().write(folder.path(), 1).unwrap();
    // httpd is not started as root.
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    for name in ["nginx_static", "httpd_static"] {
        let sets = folder.path().display().to_string();
        let values = [("sets", sets.as_str()), ("number", "1")];
        let Some(server) = or_skip(product(name, &values)) else { continue };
        let load = Load::at(server.url(), &["farm.verify=true"]);
        load.answers().unwrap();
        let sum = load.until(1, |sum| ended(sum).0 >= 40);
        assert_eq!(ended(&sum).1, 0, "{name}: {}", load.reasons());
    }
}
