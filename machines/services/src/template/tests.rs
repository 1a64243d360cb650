//! The template language: substitution and refusals.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use barograph_platform::Limits;

use super::{KnownNames, Scope, condition, inline, text};
use crate::size::Size;
use crate::word::{Word, WordKind};
use crate::{Flavour, Placement, ServiceError};

fn words() -> Vec<Word> {
    let word = |name: &str, kind, choice: &[&str]| Word {
        name: name.to_owned(),
        what: format!("the {name}"),
        kind,
        choice: choice.iter().map(|&c| c.to_owned()).collect(),
        needed: false,
        default: None,
    };
    vec![
        word("servers", WordKind::Addresses, &[]),
        word("settings", WordKind::Settings, &[]),
        word("primary", WordKind::Address, &[]),
        word("mode", WordKind::Choice, &["http", "tcp"]),
        word("connections", WordKind::Number, &[]),
        word("tls", WordKind::Path, &[]),
    ]
}

const VALUES: &[(&str, &str)] = &[
    ("servers", "a=10.0.0.1:80 10.0.0.2:81"),
    ("settings", "jit=off work_mem=4MB"),
    ("primary", "10.0.0.9:5432"),
    ("mode", "tcp"),
    ("connections", "300"),
];

/// Renders a text with the values above, on two cores and 1000 MiB.
fn render_as(flavour: Flavour, source: &str) -> Result<String, ServiceError> {
    let words = words();
    let ports = [("main".to_owned(), 80)];
    let known = KnownNames { ports: &ports, paths: &["sh".to_owned()], words: &words };
    let template = text("x/x.conf", source, known)?;
    let port_numbers = BTreeMap::from([("main".to_owned(), 8080)]);
    let limits =
        Limits { cpus: Some(1.5), cpu_set: vec![], memory_bytes: Some(1000 << 20), ..Limits::default() };
    let values: BTreeMap<String, String> =
        VALUES.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let place = Placement {
        name: "x-1",
        host: "h-1",
        address: IpAddr::from([10, 0, 0, 7]),
        ports: &port_numbers,
        folder: Path::new("/run/x-1"),
        log: Path::new("/run/log"),
        flavour,
        limits: &limits,
        machine: (8, 64 << 30),
        values: &values,
        own_program: Path::new("/bin/barograph"),
    };
    let paths = BTreeMap::from([("sh", PathBuf::from("/bin/sh"))]);
    let scope = Scope {
        service: "x",
        place: &place,
        size: Size::of(&place),
        words: &words,
        values: values.clone(),
        paths,
    };
    template.render(&scope)
}

fn render(source: &str) -> String {
    render_as(Flavour::Tuned, source).unwrap()
}

#[test]
fn words_are_filled_in() {
    let cases = [
        ("{name} on {host}", "x-1 on h-1"),
        ("{address} {address:erlang}", "10.0.0.7 10,0,0,7"),
        ("{port:main} {socket:main}", "8080 10.0.0.7:8080"),
        ("{folder} {own_program} {path:sh}", "/run/x-1 /bin/barograph /bin/sh"),
        ("{flavour} {cpus} {cpus*2} {cpus/2}", "tuned 2 4 1"),
        ("{memory_mib:25%} {memory_kib/1000}", "250 1024"),
        ("{mode} {connections} {connections*2} {connections/7}", "tcp 300 600 42"),
        ("{primary} {primary:host} {primary:port}", "10.0.0.9:5432 10.0.0.9 5432"),
    ];
    for (source, wanted) in cases {
        assert_eq!(render(source), wanted, "{source}");
    }
}

#[test]
fn braces_that_open_no_word_are_text() {
    let cases = [
        ("http {\n}\n", "http {\n}\n"),
        ("[0-9]{2} { x } {} {A}", "[0-9]{2} { x } {} {A}"),
        ("{{name} {{{address:erlang}}", "{name} {10,0,0,7}"),
        ("}{", "}{"),
    ];
    for (source, wanted) in cases {
        assert_eq!(render(source), wanted, "{source}");
    }
}

#[test]
fn blocks_are_kept_left_out_or_repeated() {
    let cases = [
        ("a\n{if:tuned}\nb\n{end}\nc\n", "a\nb\nc\n"),
        ("{if:vanilla}\nb\n{end}\n{unless:vanilla}\nc\n{end}\n", "c\n"),
        ("  {if:mode=tcp}\n  t\n  {end}\n  {if:mode=http}\n  h\n  {end}\n", "  t\n"),
        ("{if:tls}\nt\n{end}\n{unless:tls}\nu\n{end}\n", "u\n"),
        (
            "{each:servers}\n  {item:name} {item} {item:host} {item:port}\n{end}\n",
            "  a 10.0.0.1:80 10.0.0.1 80\n  s2 10.0.0.2:81 10.0.0.2 81\n",
        ),
        ("{each:settings}\n{item:name} = {item}\n{end}", "jit = off\nwork_mem = 4MB\n"),
        ("{each:servers}\n{if:tuned}\n{item:port}\n{end}\n{end}\n", "80\n81\n"),
        ("{if:tls}\n{each:servers}\n{item}\n{end}\n{tls}\n{end}\n", ""),
    ];
    for (source, wanted) in cases {
        assert_eq!(render(source), wanted, "{source}");
    }
    assert_eq!(render_as(Flavour::Vanilla, "{if:tuned}\nb\n{end}\n").unwrap(), "");
}

#[test]
fn what_nobody_can_fill_in_is_refused() {
    let cases = [
        ("a\n{nobody}\n", "use `services/x/x.conf:2`: unknown word `nobody` in braces"),
        ("{port:other}", "use `services/x/x.conf:1`: unknown word `port:other` in braces"),
        ("{path:other}", "use `services/x/x.conf:1`: unknown word `path:other` in braces"),
        ("{name x}", "use `services/x/x.conf:1`: unknown word `name x` in braces"),
        ("{name", "use `services/x/x.conf:1`: unknown word `name` in braces"),
        ("{name\n}", "use `services/x/x.conf:1`: unknown word `name` in braces"),
        ("{mode*2}", "use `services/x/x.conf:1`: unknown word `mode*2` in braces"),
        ("{mode:host}", "use `services/x/x.conf:1`: unknown word `mode:host` in braces"),
        ("{cpus*0}", "use `services/x/x.conf:1`: unknown word `cpus*0` in braces"),
        ("{servers}", "use `services/x/x.conf:1`: unknown word `servers` in braces"),
        ("{item}", "use `services/x/x.conf:1`: unknown word `item` in braces"),
        (
            "{each:settings}\n{item:port}\n{end}",
            "use `services/x/x.conf:2`: unknown word `item:port` in braces",
        ),
        ("{each:mode}\n{end}", "use `services/x/x.conf:1`: unknown word `each:mode` in braces"),
        ("{if:nobody}\n{end}", "use `services/x/x.conf:1`: unknown word `nobody` in braces"),
        ("{if:mode=udp}\n{end}", "use `services/x/x.conf:1`: unknown word `mode=udp` in braces"),
        ("x {if:tuned} y", "use `services/x/x.conf:1`: unknown word `if:tuned` in braces"),
        ("\n{if:tuned}\n", "use `services/x/x.conf:2`: a block that has no end"),
        ("{end}\n", "use `services/x/x.conf:1`: an end without a block"),
        ("x {end}", "use `services/x/x.conf:1`: unknown word `end` in braces"),
    ];
    for (source, wanted) in cases {
        let refusal = render_as(Flavour::Tuned, source).unwrap_err();
        assert_eq!(refusal.to_string(), wanted, "{source}");
    }
}

#[test]
fn a_word_that_the_topology_left_out_is_named() {
    let refusal = render_as(Flavour::Tuned, "{tls}").unwrap_err();
    assert_eq!(refusal.to_string(), "leave out `tls` of service `x`: it is the tls");
}

#[test]
fn arguments_have_words_and_no_blocks() {
    let words = words();
    let known = KnownNames { ports: &[], paths: &[], words: &words };
    assert!(inline("x", "{name}-{mode}", known).is_ok());
    assert!(inline("x", "{if:tuned}", known).is_err());
    assert!(condition("x", "tuned", true, known).is_ok());
    assert!(condition("x", "mode=tcp", true, known).is_ok());
    assert!(condition("x", "primary=h:1", true, known).is_ok());
    assert!(condition("x", "moode", true, known).is_err());
    assert!(condition("x", "tuned=1", true, known).is_err());
}
