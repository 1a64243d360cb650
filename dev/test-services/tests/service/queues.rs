//! NATS and RabbitMQ.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use barograph_test_services::{self as services, Service, or_skip};

use crate::{drop_and_look, kill_and_restart};

/// Sends a request to a subject of NATS and returns the answer.
fn nats(service: &Service, subject: &str, request: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", service.port())).unwrap();
    let length = request.len();
    write!(
        stream,
        "CONNECT {{\"verbose\":false}}\r\nSUB back 1\r\nPUB {subject} back {length}\r\n{request}\r\n"
    )
    .unwrap();
    let mut lines = BufReader::new(stream).lines().map(Result::unwrap);
    lines.find(|line| line.starts_with("MSG back ")).unwrap();
    lines.next().unwrap()
}

#[test]
fn nats_keeps_a_stream_when_it_is_killed() {
    let Some(mut service) = or_skip(services::nats()) else { return };
    let made = nats(&service, "$JS.API.STREAM.CREATE.bids", r#"{"name":"bids","subjects":["bids"]}"#);
    assert!(made.contains(r#""did_create":true"#), "{made}");
    let kept = nats(&service, "bids", "one");
    assert!(kept.contains(r#""seq":1"#), "{kept}");
    kill_and_restart(&mut service);
    let told = nats(&service, "$JS.API.STREAM.INFO.bids", "");
    assert!(told.contains(r#""messages":1"#), "{told}");
    drop_and_look(service);
}

/// The class and number of RabbitMQ's answer to a greeting.
fn greeting(service: &Service) -> [u8; 4] {
    let mut stream = TcpStream::connect(("127.0.0.1", service.port())).unwrap();
    stream.write_all(b"AMQP\0\0\x09\x01").unwrap();
    let mut answer = [0; 11];
    stream.read_exact(&mut answer).unwrap();
    answer[7..].try_into().unwrap()
}

const START: [u8; 4] = [0, 10, 0, 10];

#[test]
fn rabbitmq_comes_back_with_its_data() {
    let Some(mut service) = or_skip(services::rabbitmq()) else { return };
    assert_eq!(greeting(&service), START);
    // The number of its cluster is generated at the first start and kept.
    let first = cluster(&service);
    kill_and_restart(&mut service);
    assert_eq!((greeting(&service), cluster(&service)), (START, first));
    drop_and_look(service);
}

fn cluster(service: &Service) -> Vec<u8> {
    std::fs::read(service.folder().join("data/barograph@127.0.0.1/cluster_nodes.config")).unwrap()
}
