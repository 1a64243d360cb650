//! The auction over TLS: a node behind nginx as configured in `services/nginx`, with a certificate that is
//! trusted only if its authority is named.

use std::fs;

use barograph_test_services::{self as services, Service};
use barograph_testkit::Authority;

use crate::going::{ProgramOutput, RunningProgram};
use crate::nodes::Node;
use crate::place::{TestFolders, fixed};

/// nginx in front of a node: first as it is without TLS, then with the file that adds it.
fn nginx(node: &Node, authority: &Authority) -> Option<Service> {
    let template = include_str!("../../../../services/nginx/auction.conf");
    // Comments name the placeholders; they are removed here, as a port must be named once.
    let lines: String =
        template.lines().filter(|l| !l.trim().starts_with('#')).map(|l| format!("{l}\n")).collect();
    let server = format!("server {} max_fails=0;", node.address);
    let configuration = format!("{}# {{port:tls}}\n", lines.replace("{upstream}", &server));
    let [certificate, key] = authority.server().unwrap().pem().clone();
    let files = [("certificate.pem", certificate.as_bytes()), ("key.pem", key.as_bytes())];
    let mut nginx = services::or_skip(services::nginx(&configuration, &files))?;
    let tls = include_str!("../../../../services/nginx/tls.conf")
        .replace("{tls_port}", &nginx.named_port("tls").to_string())
        .replace("{certificate}", &nginx.folder().join("certificate.pem").display().to_string())
        .replace("{key}", &nginx.folder().join("key.pem").display().to_string());
    fs::write(nginx.folder().join("tls.conf"), tls).unwrap();
    nginx.restart();
    Some(nginx)
}

/// A short load at `url` with these settings of trust.
fn measured(place: &TestFolders, url: &str, trust: &str) -> ProgramOutput {
    let mut sets = fixed(20, 4);
    sets.extend([format!("target.url={url}"), trust.to_owned()]);
    RunningProgram::start(place.run(None, &sets)).end()
}

#[test]
fn the_auction_is_measured_through_the_tls_of_the_web_tier() {
    let (place, authority) = (TestFolders::new(), Authority::new().unwrap());
    let node = Node::alone(&place);
    let Some(nginx) = nginx(&node, &authority) else { return };
    fs::write(place.root().join("ca.pem"), authority.ca_pem()).unwrap();
    let url = format!("https://127.0.0.1:{}", nginx.named_port("tls"));
    let ended = measured(&place, &url, "target.tls.authorities=ca.pem");
    assert!(matches!(ended.code, Some(0 | 4 | 9)), "{ended:?}");
    let run = place.record();
    let ops = || run.intervals().flat_map(|interval| &interval.ops);
    assert!(run.complete && ops().map(|op| op.count).sum::<u64>() > 20, "{ended:?}");
    assert_eq!(ops().map(|op| op.failed).sum::<u64>(), 0, "{ended:?}");
    // Tiers and data checks were requested in the same way.
    assert!(run.tiers().iter().any(|tier| tier.product.starts_with("SQLite")), "{:?}", run.tiers());
    let reasons = &run.verdict().unwrap().reasons;
    assert!(!reasons.iter().any(|why| why.contains("the data")), "{reasons:?}");

    // Without verification it is served, too, also by a name with an address at which nothing listens.
    let url = format!("https://localhost:{}", nginx.named_port("tls"));
    let ended = measured(&place, &url, "target.tls.verify=false");
    assert!(matches!(ended.code, Some(0 | 4 | 9)), "{ended:?}");
}

#[test]
fn a_certificate_of_a_stranger_is_refused_before_the_load() {
    let place = TestFolders::new();
    let node = Node::alone(&place);
    let Some(nginx) = nginx(&node, &Authority::new().unwrap()) else { return };
    fs::write(place.root().join("other.pem"), Authority::new().unwrap().ca_pem()).unwrap();
    let port = nginx.named_port("tls");
    let url = format!("https://127.0.0.1:{port}");
    // The authorities of this machine do not know it either.
    for trust in ["target.tls.authorities=other.pem", "target.tls.verify=true"] {
        let ended = measured(&place, &url, trust);
        assert_eq!(ended.code, Some(3), "{ended:?}");
        assert!(
            ended.err.contains("its certificate is signed by nobody this driver trusts"),
            "{}",
            ended.err
        );
    }
    let ended = measured(&place, &url, "target.tls.authorities=none.pem");
    assert!(ended.code == Some(2) && ended.err.contains("target.tls.authorities"), "{ended:?}");
    let ended = measured(&place, &format!("https://127.0.0.1:{}", nginx.port()), "target.tls.verify=false");
    assert!(ended.code == Some(3) && ended.err.contains("is not TLS"), "{ended:?}");
}
