//! Text of commands, and a conversation over the socket.

use super::*;

#[test]
fn commands_read_back_and_others_are_refused() {
    let level = |unit, over_s| Command::Level { level: 500.into(), unit, over_s };
    for command in
        [level(None, 0.5), level(Some(UnitRecord::StartsPerSecond), 10.0), Command::Status, Command::Stop]
    {
        assert_eq!(Command::read(&command.line()), Ok(command));
    }
    assert_eq!(Command::read("{\"level\": 500}"), Ok(level(None, 0.0)));
    assert_eq!(Command::Stop.line(), "{\"stop\":true}");
    for wrong in
        ["", "{}", "[]", "{\"level\": -1}", "{\"stop\":true,\"status\":true}", "{\"level\":1,\"stop\":true}"]
    {
        let why = Command::read(wrong).unwrap_err();
        assert!(
            why.ends_with(
                "allowed: {\"level\": 500, \"over_s\": 10}, {\"status\": true} or {\"stop\": true}"
            ),
            "{why}"
        );
    }
    assert_eq!(
        Command::read("{\"level\": 1, \"over_s\": -3}"),
        Err("over_s = -3; allowed: 0 to 86400".to_owned())
    );
}

/// Sends raw lines to a listener with a fixed reply and returns the lines received.
fn conversation(lines: &[u8]) -> Vec<String> {
    let root = tempfile::tempdir().unwrap();
    // Longer than the path of a socket may be.
    let folder = root.path().join("x".repeat(120));
    std::fs::create_dir(&folder).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut listening = ControlListener::start(&folder).unwrap();
        let lines = lines.to_vec();
        let other_side = tokio::task::spawn_blocking(move || {
            let opened = SocketFolder::open(&folder).unwrap();
            let mut stream = UnixStream::connect(opened.socket()).unwrap();
            // The listener may close the connection before all of an overlong line is written.
            let _ = stream.write_all(&lines);
            let _ = stream.shutdown(std::net::Shutdown::Write);
            BufReader::new(stream).lines().map_while(Result::ok).collect::<Vec<String>>()
        });
        tokio::pin!(other_side);
        loop {
            tokio::select! {
                answers = &mut other_side => return answers.unwrap(),
                asked = listening.next() => {
                    let ok = asked.command == Command::Status;
                    asked.answer(Reply { ok, error: None, status: None });
                }
            }
        }
    })
}

#[test]
fn a_conversation_has_an_answer_per_line() {
    let answers = conversation(b"{\"status\":true}\n\nnonsense\n{\"stop\":true}\n");
    assert_eq!(answers.len(), 3);
    assert_eq!((answers[0].as_str(), answers[2].as_str()), ("{\"ok\":true}", "{\"ok\":false}"));
    assert!(answers[1].starts_with("{\"ok\":false,\"error\":\"not a command"), "{}", answers[1]);
}

#[test]
fn a_line_without_an_end_is_cut_and_refused() {
    let endless = vec![b'x'; 100_000];
    let answers = conversation(&endless);
    // The rest may be lost with the connection; the memory must stay bounded and the call must end.
    assert!(answers.len() <= 1, "{answers:?}");
    assert_eq!(conversation(b"{\"status\":true}"), ["{\"ok\":true}"]);
}
