//! nginx and HAProxy with configurations of the caller.

use std::io::{Read, Write};
use std::net::TcpStream;

use barograph_test_services::{self as services, or_skip};
use barograph_testkit::{ListenOptions, Site, SiteProtocols};

use crate::{drop_and_look, kill_and_restart};

/// The answer to a request for `/hello`.
fn get(port: u16) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.write_all(b"GET /hello HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn nginx_serves_files_and_comes_back() {
    let configuration = "worker_processes 1; events {} http { {temp_paths} access_log off;\n\
                         server { listen 127.0.0.1:{port}; root {folder}/www; }\n\
                         server { listen 127.0.0.1:{port:status}; return 200 'fine'; } }";
    let Some(mut nginx) = or_skip(services::nginx(configuration, &[("www/hello", b"from a file")])) else {
        return;
    };
    assert!(get(nginx.port()).ends_with("from a file") && get(nginx.named_port("status")).ends_with("fine"));
    kill_and_restart(&mut nginx);
    assert!(get(nginx.port()).ends_with("from a file") && get(nginx.named_port("status")).ends_with("fine"));
    drop_and_look(nginx);
}

#[test]
fn haproxy_leads_to_a_server_and_comes_back() {
    let site = Site::start(ListenOptions::v4(), SiteProtocols::Http1).unwrap();
    let server = site.url("").trim_start_matches("http://").trim_end_matches('/').to_owned();
    let configuration = format!(
        "defaults\n mode http\n timeout connect 30s\n timeout client 30s\n timeout server 30s\n\
         listen in\n bind 127.0.0.1:{{port}}\n server s {server}\n"
    );
    let Some(mut haproxy) = or_skip(services::haproxy(&configuration, &[])) else { return };
    assert!(get(haproxy.port()).starts_with("HTTP/1.1 200"), "{}", get(haproxy.port()));
    kill_and_restart(&mut haproxy);
    assert!(get(haproxy.port()).starts_with("HTTP/1.1 200"));
    drop_and_look(haproxy);
}

#[test]
fn what_a_proxy_does_not_like_is_in_the_panic() {
    if or_skip(services::haproxy("listen in\n bind 127.0.0.1:{port}\n timeout client 1s\n", &[])).is_none() {
        return;
    }
    let panic =
        std::panic::catch_unwind(|| services::haproxy("listen in\n bind 127.0.0.1:{port}\n no-word\n", &[]));
    let panic = panic.map(|_| ()).unwrap_err();
    let said = panic.downcast_ref::<String>().unwrap();
    let ended = "haproxy did not start: unit `haproxy` ended before it was ready: ";
    assert!(said.starts_with(ended) && said.contains("'no-word'"), "{said}");
}
