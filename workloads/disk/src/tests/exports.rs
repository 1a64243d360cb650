//! Loads of exports: of a server that is right, and of broken ones.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

use super::*;
use crate::measures::{CALLS, READ, SUBMITTED};

/// Bytes of the exports.
const BYTES: u64 = 1 << 20;

const GREETING: &[u8] = b"NBDMAGICIHAVEOPT\x00\x03";

/// A server with fixed bytes in its handshake, and an answer to each request.
#[derive(Clone)]
struct Script {
    greeting: Vec<u8>,
    /// Sent after the client has named an export.
    agreed: Vec<u8>,
    /// The answer to a request; none closes the connection.
    answer: fn(&Request) -> Option<Vec<u8>>,
    /// Whether the first connection gets a right handshake.
    begins_well: bool,
}

/// A request of the client.
struct Request {
    kind: u8,
    cookie: [u8; 8],
    length: usize,
}

fn reply(kind: u32, data: &[u8]) -> Vec<u8> {
    option_reply(7, kind, data)
}

fn option_reply(option: u32, kind: u32, data: &[u8]) -> Vec<u8> {
    let words = [option, kind, data.len() as u32].map(u32::to_be_bytes).concat();
    [&0x0003_e889_0455_65a9_u64.to_be_bytes()[..], &words, data].concat()
}

/// Size and flags of an export that takes writes and flushes.
fn description() -> Vec<u8> {
    [&[0, 0][..], &BYTES.to_be_bytes(), &[0, 5]].concat()
}

fn agreed() -> Vec<u8> {
    [reply(3, &description()), reply(1, &[])].concat()
}

/// A simple reply with an error, and with data where there is none.
fn simple(request: &Request, error: u32) -> Vec<u8> {
    let data = if error == 0 && request.kind == 0 { vec![7; request.length] } else { Vec::new() };
    [&0x6744_6698_u32.to_be_bytes()[..], &error.to_be_bytes(), &request.cookie, &data].concat()
}

fn right() -> Script {
    let answer = |request: &Request| Some(simple(request, 0));
    Script { greeting: GREETING.to_vec(), agreed: agreed(), answer, begins_well: true }
}

impl Script {
    /// Starts the server and returns its address.
    fn serve(self) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("nbd://{}/disk", listener.local_addr().unwrap());
        std::thread::spawn(move || {
            for (number, stream) in listener.incoming().map_while(Result::ok).enumerate() {
                let mut script = self.clone();
                if number == 0 && script.begins_well {
                    (script.greeting, script.agreed) = (GREETING.to_vec(), agreed());
                }
                // A client that closes ends its thread.
                std::thread::spawn(move || script.talk(stream));
            }
        });
        url
    }

    fn talk(&self, mut stream: TcpStream) -> std::io::Result<()> {
        stream.write_all(&self.greeting)?;
        if self.greeting.len() < GREETING.len() {
            return Ok(());
        }
        let mut option = [0; 20];
        stream.read_exact(&mut option)?;
        assert_eq!(option[..16], *b"\0\0\0\x03IHAVEOPT\0\0\0\x07");
        let mut name = vec![0; u32::from_be_bytes(*option.last_chunk().unwrap()) as usize];
        stream.read_exact(&mut name)?;
        assert_eq!(name[..8], *b"\0\0\0\x04disk");
        stream.write_all(&self.agreed)?;
        while !self.agreed.is_empty() {
            let mut bytes = [0; 28];
            stream.read_exact(&mut bytes)?;
            assert_eq!(bytes[..4], 0x2560_9513_u32.to_be_bytes());
            let length = u32::from_be_bytes(*bytes.last_chunk().unwrap()) as usize;
            let request = Request { kind: bytes[7], cookie: *bytes[8..].first_chunk().unwrap(), length };
            if request.kind == 1 {
                stream.read_exact(&mut vec![0; length])?;
            }
            match (self.answer)(&request) {
                Some(answer) => stream.write_all(&answer)?,
                None => return Ok(()),
            }
        }
        Ok(())
    }
}

fn reads(url: &str, users: u32) -> Load {
    let text = format!("target.url = {url:?}\nload.users = {users}\ndisk.mix.Read = 1\ndisk.size = \"1m\"\n");
    let plan = plan(&text);
    let workload = Disk.of_plan(&plan).unwrap();
    Load { plan, workload, users, timeout: Nanos::from_secs(30) }
}

/// The outcome of the reads of a broken server, and the reason.
fn failure(script: Script, outcome: Outcome) -> String {
    let mut load = reads(&script.serve(), 1);
    if outcome == Outcome::TimedOut {
        load.timeout = Nanos::from_millis(100);
    }
    let ended = load.load(2);
    let found = ended.outcomes("Read", outcome);
    assert!(found >= 2, "{:?}: {:?}", ended.sum.ops[0].outcomes, ended.reasons);
    ended.reasons.first().map(ToString::to_string).unwrap_or_default()
}

#[test]
fn reads_of_an_export_share_a_connection() {
    let load = reads(&right().serve(), 8);
    assert_eq!(load.refused(), "");
    assert!(load.fill().is_none());
    assert!(!load.workload.target_is_of_driver());
    let ended = load.load(2_000);
    ended.assert_clean();
    let reads = ended.good("Read");
    assert!(reads >= 2_000);
    assert_eq!((ended.counter(READ), ended.counter(SUBMITTED)), (reads * 4_096, reads));
    assert!(ended.counter(CALLS) <= reads);
}

#[test]
fn writes_and_syncs_reach_an_export_that_the_plan_deploys() {
    let text = "load.users = 4\ndisk.size = \"1m\"\ndisk.mix = { Read = 1, Write = 1, Sync = 1 }\ndeploy.server = \"nbdkit\"\n";
    let plan = plan(text);
    let workload = Disk.of_plan(&plan).unwrap();
    assert!(workload.target().is_none() && workload.application().is_some());
    let url = right().serve();
    let job = LoadJob { url: &url, plan: &plan, data: None };
    workload.load(&job).map(drop).unwrap();
    let load = Load { plan: plan.clone(), workload, users: 4, timeout: Nanos::from_secs(30) };
    let ended = load.load_at(&url, 300);
    ended.assert_clean();
    for name in ["Read", "Write", "Sync"] {
        assert!(ended.good(name) > 0, "{name}");
    }
}

#[test]
fn a_broken_handshake_is_named_before_the_load_and_counted_in_it() {
    let refused = |kind: u32| reply(1 << 31 | kind, b"no");
    let wrong = Outcome::WrongAnswer;
    let endless: Vec<u8> = (0..70).flat_map(|_| reply(3, &description())).collect();
    let cases: [(&[u8], Vec<u8>, Outcome, &str); 17] = [
        (b"", vec![], Outcome::Broken, "closed the connection amid the handshake"),
        (b"NBDMAGICIHAV", vec![], Outcome::Broken, "closed the connection amid the handshake"),
        (b"HTTP/1.1 400 Bad Request", vec![], wrong, "not one of NBD"),
        (b"NBDMAGICIHAVEOPS\x00\x03", vec![], wrong, "not one of NBD"),
        (b"NBDMAGIC\x00\x00\x42\x02\x81\x86\x12\x53\x00\x00", vec![], wrong, "oldstyle"),
        (b"NBDMAGICIHAVEOPT\x00\x00", vec![], wrong, "fixed newstyle"),
        (GREETING, vec![], Outcome::Broken, "closed the connection amid the handshake"),
        (GREETING, b"NBDMAGICIHAVEOPT1234".to_vec(), wrong, "magic number"),
        (GREETING, option_reply(3, 1, &[]), wrong, "option 3"),
        (GREETING, option_reply(7, 3, &vec![0; 70_000]), wrong, "70000 bytes"),
        (GREETING, endless, wrong, "more than 64 replies"),
        (GREETING, reply(1, &[]), wrong, "without the size"),
        (GREETING, [reply(3, &[0, 0, 1]), reply(1, &[])].concat(), wrong, "without the size"),
        (GREETING, refused(1), Outcome::Refused, "does not know the option GO"),
        (GREETING, refused(2), Outcome::Refused, "rules forbid"),
        (GREETING, refused(5), Outcome::Refused, "asks for TLS"),
        (GREETING, refused(6), Outcome::Refused, "no export of this name"),
    ];
    for (greeting, agreed, outcome, words) in cases {
        let script = Script { greeting: greeting.to_vec(), agreed, ..right() };
        let why = failure(script.clone(), outcome);
        assert!(why.contains(words), "{words}: {why}");
        let load = reads(&Script { begins_well: false, ..script }.serve(), 1);
        let why = load.workload.load(&load.job()).map(drop).unwrap_err();
        let why = barograph_model::words::in_one_line(&why);
        assert!(why.contains(words), "{words}: {why}");
    }
}

#[test]
fn a_broken_answer_has_its_outcome() {
    let wrong = Outcome::WrongAnswer;
    type Answer = fn(&Request) -> Option<Vec<u8>>;
    let cases: [(Answer, Outcome, &str); 11] = [
        (|_| Some(vec![1; 16]), wrong, "magic number"),
        (|r| Some([&[0x66, 0x8e, 0x33, 0xef][..], &simple(r, 0)].concat()), wrong, "structured reply"),
        (|r| Some(simple(&Request { cookie: [9; 8], ..*r }, 0)), wrong, "a reply to no request"),
        (|r| Some(simple(&Request { cookie: [0; 8], ..*r }, 0)), wrong, "a reply to no request"),
        (|r| Some(simple(r, 5)), Outcome::Refused, "EIO"),
        (|r| Some(simple(r, 28)), Outcome::Refused, "ENOSPC"),
        (|r| Some(simple(r, 108)), Outcome::Refused, "ESHUTDOWN"),
        (|r| Some(simple(r, 77)), Outcome::Refused, "error 77"),
        (|_| None, Outcome::Broken, "closed the connection with requests in flight"),
        (|_| Some(vec![0x67]), Outcome::TimedOut, ""),
        (|r| Some(simple(r, 0)[..500].to_vec()), Outcome::TimedOut, ""),
    ];
    for (answer, outcome, words) in cases {
        let why = failure(Script { answer, ..right() }, outcome);
        assert!(why.contains(words), "{words}: {why}");
    }
}

#[test]
fn a_server_that_is_gone_breaks_the_connection() {
    // It answers until the connection is closed, and then listens no more.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("nbd://{}/disk", listener.local_addr().unwrap());
    let served = std::thread::spawn(move || {
        for _ in 0..2 {
            let (stream, _) = listener.accept().unwrap();
            // The second connection ends with its first request.
            let _ = Script { answer: |_| None, ..right() }.talk(stream);
        }
    });
    let load = reads(&url, 1);
    let ended = load.load(2);
    served.join().unwrap();
    assert!(ended.outcomes("Read", Outcome::Broken) >= 2, "{:?}", ended.reasons);
}

#[test]
fn what_an_export_does_not_have_is_refused() {
    let url = "target.url = \"nbd://127.0.0.1:1\"\ndisk.mix.Read = 1\n";
    for (more, key) in [
        ("disk.direct = false\n", "disk.direct"),
        ("disk.engine = \"threads\"\n", "disk.engine"),
        ("disk.verify = true\n", "disk.verify"),
        ("disk.mix.Write = 1\n", "disk.mix"),
        ("deploy.server = \"nbdkit\"\n", "deploy.server"),
        ("deploy.filters = \"nofilter\"\n", "deploy.filters"),
    ] {
        let refused = refusals(&format!("{url}{more}"));
        assert!(refused.contains(key), "{refused}");
    }
    assert!(refusals("deploy.filters = \"nofilter\"\n").contains("deploy.filters"));
    let unknown = refusals("deploy.server = \"nbdkit\"\ndeploy.filters = \"delay=1\"\n");
    assert!(unknown.contains("names of nofilter, noextents"), "{unknown}");
    let address = refusals("target.url = \"http://127.0.0.1\"\n");
    assert!(address.contains("nbd://HOST"), "{address}");
}

#[test]
fn an_export_that_does_not_fit_is_refused_before_the_load() {
    let small = Script {
        agreed: [reply(3, &[&[0, 0][..], &100_u64.to_be_bytes(), &[0, 1]].concat()), reply(1, &[])].concat(),
        begins_well: false,
        ..right()
    };
    let blocks =
        [&[0, 3][..], &8_192_u32.to_be_bytes(), &8_192_u32.to_be_bytes(), &65_536_u32.to_be_bytes()].concat();
    let coarse = Script { agreed: [reply(3, &blocks), agreed()].concat(), begins_well: false, ..right() };
    for (script, words) in [(small, "smaller than a block"), (coarse, "multiples of 8192 up to 65536 bytes")]
    {
        let load = reads(&script.serve(), 1);
        let why = load.workload.load(&load.job()).map(drop).unwrap_err();
        let why = barograph_model::words::in_one_line(&why);
        assert!(why.contains(words), "{why}");
    }
}
