//! The port between sockets: answers, lines and ends; guests that end, move, and are restored.

use std::io::BufReader;

use barograph_platform::{Readiness, Unit, ignore_lines};

use super::*;
use crate::wire::{End, TextCause};

const LIMIT: Duration = Duration::from_secs(60);

/// An agent at the other end of a socket: answers pings with `time`, and sends the given messages.
fn agent(stream: UnixStream, time: i64) -> UnixStream {
    let mut to = stream.try_clone().unwrap();
    thread::spawn(move || {
        let mut from = BufReader::new(stream);
        let (mut frames, mut piece) = (Frames::default(), [0; 100]);
        while let Ok(count) = from.read(&mut piece) {
            if count == 0 {
                return;
            }
            frames.push(&piece[..count]);
            while let Some((Request { id, ask }, _)) = frames.next::<Request>().unwrap() {
                let answer = match ask {
                    AgentCommand::Ping => Ok(AgentReply::Clock(time)),
                    AgentCommand::Leave => return,
                    other => Err(WireFault::Other { act: format!("{other:?}"), why: "not mine".to_owned() }),
                };
                to.write_all(&frame(&Message::Answer { id, answer }, &[]).unwrap()).unwrap();
            }
        }
    });
    // Only needed to write further messages to it.
    UnixStream::pair().unwrap().0
}

fn clock(reply: Result<AgentReply, Fault>) -> i64 {
    match reply.unwrap() {
        AgentReply::Clock(time) => time,
        other => panic!("{other:?}"),
    }
}

fn lines_to(sender: SyncSender<String>) -> OnLine {
    Arc::new(move |line: &str| sender.send(line.to_owned()).unwrap())
}

#[tokio::test]
async fn questions_are_answered_with_and_without_a_runtime() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let _agent = agent(theirs, 7);
    let port = Port::open("db", ours).unwrap();
    assert_eq!(clock(port.ask(AgentCommand::Ping, "db", LIMIT).await), 7);
    assert_eq!(clock(port.ask_now(AgentCommand::Ping, "db")), 7);
    let refused = port.ask_now(AgentCommand::Sync, "db").unwrap_err();
    assert_eq!(refused.to_string(), "Sync");
    assert_eq!(
        std::error::Error::source(&refused).unwrap().to_string(),
        TextCause("not mine".to_owned()).to_string()
    );
}

#[tokio::test]
async fn what_comes_of_a_unit_reaches_it_and_nobody_waits_for_a_guest_that_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    let port = Port::open("db", ours).unwrap();
    let log = folder.path().join("log");
    let (sender, lines) = sync_channel(10);
    let (tell, mut ended) = watch::channel(None);
    let log_file = Some(open_log("u", &log).unwrap());
    port.register(1, UnitEnd { on_line: lines_to(sender), log: log_file, ended: tell });
    let (tell, mut other) = watch::channel(None);
    port.register(2, UnitEnd { on_line: ignore_lines(), log: None, ended: tell });
    let mut say = |message: Message, raw: &[u8]| theirs.write_all(&frame(&message, raw).unwrap()).unwrap();
    say(Message::Hello { up: Duration::from_secs(3) }, &[]);
    say(Message::Line { unit: 1, text: "hej".to_owned() }, &[]);
    say(Message::Log { unit: 1 }, b"a\xffb");
    say(Message::Ended { unit: 1, end: End::Code(3) }, &[]);
    assert_eq!(port.hello().await, Some(Duration::from_secs(3)));
    assert_eq!(ended.wait_for(Option::is_some).await.unwrap().clone(), Some(UnitExit::Code(3)));
    assert_eq!((lines.recv().unwrap().as_str(), std::fs::read(&log).unwrap()), ("hej", b"a\xffb".to_vec()));
    let asked = port.ask(AgentCommand::Ping, "db", LIMIT);
    let (asked, ()) = tokio::join!(asked, async { drop(theirs) });
    let text = std::error::Error::source(&asked.unwrap_err()).unwrap().to_string();
    assert_eq!(text, "the virtual machine is gone");
    assert!(matches!(other.wait_for(Option::is_some).await.unwrap().as_ref(), Some(UnitExit::Unknown(_))));
    assert!(port.ask_now(AgentCommand::Ping, "db").is_err());
    let begun = std::time::Instant::now();
    assert!(
        port.hold(SilentSide::Here, LIMIT).await.is_err() && begun.elapsed() < LIMIT,
        "nobody waits for a guest that is gone"
    );
}

#[tokio::test]
async fn a_guest_that_moves_is_spoken_to_at_its_new_place() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let _old = agent(theirs.try_clone().unwrap(), 1);
    let port = Arc::new(Port::open("db", ours).unwrap());
    let held = port.hold(SilentSide::Here, LIMIT).await.unwrap();
    let (ours, new) = UnixStream::pair().unwrap();
    let _new = agent(new, 2);
    // A request during the move waits, and is answered from the new place.
    let (asker, asked) = (port.clone(), tokio::sync::oneshot::channel());
    thread::spawn(move || asked.0.send(asker.ask_now(AgentCommand::Ping, "db")).map_err(drop));
    held.go_on(ours.try_clone().unwrap(), ours);
    theirs.shutdown(Shutdown::Both).unwrap();
    assert_eq!(clock(asked.1.await.unwrap()), 2);
    // A guest that did not move continues where it was.
    drop(port.hold(SilentSide::Here, LIMIT).await.unwrap());
    assert_eq!(clock(port.ask(AgentCommand::Ping, "db", LIMIT).await), 2);
}

/// An agent that reports its requests. It has only unit 1, and does not answer requests about units.
fn telling_agent(mut stream: UnixStream) -> Receiver<String> {
    let (tell, told) = sync_channel(100);
    thread::spawn(move || {
        let (mut frames, mut piece) = (Frames::default(), [0; 100]);
        while let Ok(count) = stream.read(&mut piece) {
            if count == 0 {
                return;
            }
            frames.push(&piece[..count]);
            while let Some((Request { id, ask }, _)) = frames.next::<Request>().unwrap() {
                tell.send(match &ask {
                    AgentCommand::Create { unit, .. } => format!("Create {unit}"),
                    other => format!("{other:?}"),
                })
                .unwrap();
                let reply = match ask {
                    AgentCommand::Ping => AgentReply::Clock(7),
                    AgentCommand::Hold => AgentReply::Done,
                    AgentCommand::Keep(units) => {
                        AgentReply::Kept(units.into_iter().filter(|unit| *unit == 1).collect())
                    }
                    _ => continue,
                };
                stream.write_all(&frame(&Message::Answer { id, answer: Ok(reply) }, &[]).unwrap()).unwrap();
            }
        }
    });
    told
}

fn create(port: &Port, unit: u64) -> watch::Receiver<Option<UnitExit>> {
    let (tell, ended) = watch::channel(None);
    port.register(unit, UnitEnd { on_line: ignore_lines(), log: None, ended: tell });
    let what = Unit::new("u", "/bin/true".into(), Readiness::Runs);
    port.tell(AgentCommand::Create { unit, what });
    ended
}

fn why(fault: &Fault) -> String {
    std::error::Error::source(fault).unwrap().to_string()
}

#[tokio::test]
async fn a_guest_that_went_back_is_told_what_is_wanted_and_this_side_what_is_lost() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let told = telling_agent(theirs);
    let next = || told.recv_timeout(LIMIT).unwrap();
    let port = Arc::new(Port::open("db", ours).unwrap());
    let (kept, mut lost) = (create(&port, 1), create(&port, 2));
    assert_eq!([next(), next()], ["Create 1", "Create 2"]);
    // A request that it never answers.
    let asker = port.clone();
    let asking = thread::spawn(move || asker.ask_now(AgentCommand::Kill { unit: 2 }, "u"));
    assert_eq!(next(), "Kill { unit: 2 }");
    let held = port.hold(SilentSide::Both, LIMIT).await.unwrap();
    assert_eq!(next(), "Hold");
    // This waits to be written: it is sent to the restored guest.
    let later = create(&port, 3);
    held.went_back(("host `db` went back", None), LIMIT).await.unwrap();
    assert_eq!([next(), next(), next()], ["GoOn", "Keep([1, 2])", "Create 3"]);
    assert_eq!(why(&asking.join().unwrap().unwrap_err()), "host `db` went back");
    let ended = lost.wait_for(Option::is_some).await.unwrap().clone();
    let words = "host `db` went back, taken before this unit was created".to_owned();
    assert_eq!(ended, Some(UnitExit::Unknown(words)));
    assert_eq!((kept.borrow().clone(), later.borrow().clone()), (None, None), "they go on");
    assert_eq!(clock(port.ask(AgentCommand::Ping, "db", LIMIT).await), 7);
}

#[tokio::test]
async fn a_held_port_lets_those_who_ask_wait_as_long_as_they_want_and_goes_on() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let told = telling_agent(theirs);
    let next = || told.recv_timeout(LIMIT).unwrap();
    let port = Port::open("db", ours).unwrap();
    let held = port.hold(SilentSide::Both, LIMIT).await.unwrap();
    let short = Duration::from_millis(10);
    let late = port.ask(AgentCommand::Ping, "db", short).await.unwrap_err();
    assert_eq!(why(&late), "no answer within 10ms");
    let unit = create(&port, 1);
    // The operation on the guest failed.
    drop(held);
    assert_eq!(clock(port.ask(AgentCommand::Ping, "db", LIMIT).await), 7);
    assert_eq!([next(), next(), next(), next(), next()], ["Hold", "GoOn", "Ping", "Create 1", "Ping"]);
    assert_eq!(unit.borrow().clone(), None);
}

#[tokio::test]
async fn an_agent_that_is_not_silent_in_time_need_not_be() {
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    let port = Port::open("db", ours).unwrap();
    let late = port.hold(SilentSide::Both, Duration::from_millis(10)).await.map(drop).unwrap_err();
    assert_eq!(why(&late), "no answer within 10ms");
    port.tell(AgentCommand::Sync);
    theirs.set_read_timeout(Some(LIMIT)).unwrap();
    let (mut frames, mut piece, mut heard) = (Frames::default(), [0; 100], Vec::new());
    while heard.len() < 3 {
        let count = theirs.read(&mut piece).unwrap();
        frames.push(&piece[..count]);
        while let Some((Request { ask, .. }, _)) = frames.next::<Request>().unwrap() {
            heard.push(format!("{ask:?}"));
        }
    }
    assert_eq!(heard, ["Hold", "GoOn", "Sync"]);
}

#[tokio::test]
async fn a_guest_that_goes_off_while_it_is_taken_back_keeps_nobody_waiting() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let told = telling_agent(theirs.try_clone().unwrap());
    let port = Port::open("db", ours).unwrap();
    let mut ended = create(&port, 1);
    assert_eq!(told.recv_timeout(LIMIT).unwrap(), "Create 1");
    let held = port.hold(SilentSide::Both, LIMIT).await.unwrap();
    theirs.shutdown(Shutdown::Both).unwrap();
    ended.wait_for(Option::is_some).await.unwrap();
    let fault = held.went_back(("host `db` went back", None), LIMIT).await.unwrap_err();
    assert_eq!(why(&fault), "the virtual machine is gone");
}
