//! The port between sockets: answers, lines and ends, a guest that goes, and one that moves.

use std::io::BufReader;

use barograph_platform::ignore_lines;

use super::*;
use crate::wire::{End, Said};

const LIMIT: Duration = Duration::from_secs(20);

/// An agent at the other end of a socket: answers pings with `time`, and says what it is given.
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
                    Ask::Ping => Ok(Reply::Clock(time)),
                    Ask::Leave => return,
                    other => Err(Refused::Other { act: format!("{other:?}"), why: "not mine".to_owned() }),
                };
                to.write_all(&frame(&Message::Answer { id, answer }, &[]).unwrap()).unwrap();
            }
        }
    });
    // Only so that what is said besides can be written to it.
    UnixStream::pair().unwrap().0
}

fn clock(reply: Result<Reply, Fault>) -> i64 {
    match reply.unwrap() {
        Reply::Clock(time) => time,
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
    assert_eq!(clock(port.ask(Ask::Ping, "db", LIMIT).await), 7);
    assert_eq!(clock(port.ask_now(Ask::Ping, "db")), 7);
    let refused = port.ask_now(Ask::Sync, "db").unwrap_err();
    assert_eq!(refused.to_string(), "Sync");
    assert_eq!(
        std::error::Error::source(&refused).unwrap().to_string(),
        Said("not mine".to_owned()).to_string()
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
    assert_eq!(ended.wait_for(Option::is_some).await.unwrap().clone(), Some(Ended::Code(3)));
    assert_eq!((lines.recv().unwrap().as_str(), std::fs::read(&log).unwrap()), ("hej", b"a\xffb".to_vec()));
    let asked = port.ask(Ask::Ping, "db", LIMIT);
    let (asked, ()) = tokio::join!(asked, async { drop(theirs) });
    let text = std::error::Error::source(&asked.unwrap_err()).unwrap().to_string();
    assert_eq!(text, "the virtual machine is gone");
    assert!(matches!(other.wait_for(Option::is_some).await.unwrap().as_ref(), Some(Ended::Unknown(_))));
    assert!(port.ask_now(Ask::Ping, "db").is_err());
    let begun = std::time::Instant::now();
    assert!(
        port.hold(LIMIT).await.is_err() && begun.elapsed() < LIMIT,
        "nobody waits for a guest that is gone"
    );
}

#[tokio::test]
async fn a_guest_that_moves_is_spoken_to_at_its_new_place() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let _old = agent(theirs.try_clone().unwrap(), 1);
    let port = Arc::new(Port::open("db", ours).unwrap());
    let held = port.hold(LIMIT).await.unwrap();
    let (ours, new) = UnixStream::pair().unwrap();
    let _new = agent(new, 2);
    // Asked while it moves: it waits, and is answered from the new place.
    let (asker, asked) = (port.clone(), tokio::sync::oneshot::channel());
    thread::spawn(move || asked.0.send(asker.ask_now(Ask::Ping, "db")).map_err(drop));
    held.go_on(ours.try_clone().unwrap(), ours);
    theirs.shutdown(Shutdown::Both).unwrap();
    assert_eq!(clock(asked.1.await.unwrap()), 2);
    // One that did not move after all goes on where it was.
    drop(port.hold(LIMIT).await.unwrap());
    assert_eq!(clock(port.ask(Ask::Ping, "db", LIMIT).await), 2);
}
