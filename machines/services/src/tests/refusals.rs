//! Refusals of invalid folders and topologies.

use std::path::Path;

use crate::list::ServiceFolder;
use crate::{Flavour, Service, find};

use super::{unit, unit_in};

/// A valid service, to which defects are added. Keys of the whole file precede its tables.
const GOOD: &str = r#"
title = "X"
purpose = "Tries."
url = "x://{socket:main}"
versions_tried = ["1.0"]
install = { packages = [], command = "make" }
version = { program = "sh" }
ports = [{ name = "main", usual = 1 }]
paths = { sh = ["sh"] }
stop = { grace_s = 5 }
"#;

const START: &str = "start = { program = \"sh\", args = [] }\n";
const READY: &str = "ready = [{ by = \"run\" }]\n";

fn refusal(text: &str) -> String {
    let folder = ServiceFolder {
        name: "x",
        service: Box::leak(text.to_owned().into_boxed_str()),
        templates: &[("t", "{name}\n")],
    };
    let error = Service::read(&folder).expect_err(text);
    match std::error::Error::source(&error) {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

#[test]
fn a_wrong_folder_is_refused() {
    let files = |rest: &str| format!("{GOOD}{START}{READY}files = [{{ {rest} }}]\n");
    let words = |rest: &str| format!("{GOOD}{START}{READY}words = {{ {rest} }}\n");
    let ready = |rest: &str| format!("{GOOD}{START}ready = [{{ {rest} }}]\n");
    let cases = [
        (format!("{GOOD}{START}{READY}titel = \"Y\"\n"), "unknown field `titel`"),
        (format!("{GOOD}{READY}start = {{ program = \"zsh\", args = [] }}\n"), "no path `zsh`"),
        (format!("{GOOD}{READY}start = {{ args = [\"{{nobody}}\"] }}\n"), "unknown word `nobody` in braces"),
        (
            format!("{GOOD}{READY}start = {{ args = [], more = [{{ when = \"nobody\", args = [] }}] }}\n"),
            "unknown word `nobody` in braces",
        ),
        (format!("{GOOD}{START}{READY}"), "template `t` is in the list and not used"),
        (files(r#"path = "../a", template = "t""#), "file `../a` is not below the folder of the unit"),
        (files(r#"path = "/a", template = "t""#), "file `/a` is not below the folder of the unit"),
        (
            format!("keep = \"../a\"\n{GOOD}{START}{READY}"),
            "folder `../a` is not below the folder of the unit",
        ),
        (files(r#"path = "a", template = "u""#), "no template `u` in the list of services"),
        (files(r#"path = "a""#), "file `a` needs either a template or a text"),
        (words(r#"name = { kind = "text", what = "x" }"#), "word `name` has a meaning of its own"),
        (
            words(r#"w = { kind = "choice", what = "x" }"#),
            "word `w` needs `choice` just when its kind is choice",
        ),
        (
            words(r#"w = { kind = "number", what = "x", default = "y" }"#),
            "the default of word `w` is not a whole number",
        ),
        (
            words(r#"w = { kind = "text", what = "x", default = "y", needed = true }"#),
            "word `w` is needed and has a default",
        ),
        (ready(r#"by = "answer", timeout_s = 1"#), "ready by answer needs ask"),
        (ready(r#"by = "line""#), "ready by answer needs ask"),
        (
            ready(r#"by = "answer", ask = "redis", port = "p", timeout_s = 1"#),
            "ready at port `p`, which there is not",
        ),
        (ready(r#"by = "run", when = "tuned""#), "the last way to be ready must have no condition"),
    ];
    for (text, wanted) in cases {
        let said = refusal(&text);
        assert!(said.contains("services/x/service.toml") && said.contains(wanted), "{text}\n{said}");
    }
}

#[test]
fn a_wrong_topology_is_refused() {
    type Case<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a str);
    let cases: &[Case<'_>] = &[
        (
            "memcached",
            &[("conections", "5")],
            "give `conections` to service `memcached`: it knows `connections`",
        ),
        ("rabbitmq", &[("role", "x")], "give `role` to service `rabbitmq`: it knows no words"),
        ("nginx", &[], "leave out `servers` of service `nginx`: it is nodes of the application"),
        (
            "nginx",
            &[("servers", " ")],
            "leave out `servers` of service `nginx`: it is nodes of the application",
        ),
        (
            "nginx",
            &[("servers", "h:1"), ("tls_certificate", "/c.pem")],
            "leave out `tls_key` of service `nginx`: it is file with the key of the certificate (PEM)",
        ),
        (
            "nginx",
            &[("servers", "h:1; evil")],
            "use `h:1; evil` as `servers` of service `nginx`: wanted is a list of HOST:PORT",
        ),
        (
            "haproxy",
            &[("servers", "h:1"), ("mode", "udp")],
            "use `udp` as `mode` of service `haproxy`: wanted is http or tcp",
        ),
    ];
    for (name, values, wanted) in cases {
        let refused = unit(find(name).unwrap(), Flavour::Tuned, values).unwrap_err();
        assert_eq!(refused.to_string(), *wanted);
    }
}

#[test]
fn a_folder_that_would_break_a_configuration_is_refused() {
    let nats = find("nats").unwrap();
    for folder in ["relative", "/a b", "/a\"b", "/a;b", "/a$b", "/a\nb"] {
        let refused = unit_in(nats, Flavour::Tuned, &[], Path::new(folder)).unwrap_err().to_string();
        assert!(refused.starts_with("place service `nats` in `"), "{refused}");
    }
    assert!(unit_in(nats, Flavour::Tuned, &[], Path::new("/tmp/Jörg/run-1.2_x")).is_ok());
}
