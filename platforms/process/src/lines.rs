//! A unit's stdout, line by line, with a bound, and the ready line among them.

use std::net::SocketAddr;

use barograph_platform::{BadReadyLine, OnLine, ready_address};
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::sync::oneshot;

/// Longer lines are cut here: a unit that never ends its line must not fill the driver's memory.
const LONGEST_LINE: usize = 64 * 1024;

/// What a ready line said.
pub(crate) type Announced = Result<SocketAddr, BadReadyLine>;

/// Reads `stdout` to its end, hands every line to `on_line`, and the first ready line to `announce`.
pub(crate) async fn read_lines(
    stdout: impl AsyncRead + Unpin,
    on_line: OnLine,
    announce: oneshot::Sender<Announced>,
) {
    let mut reader = BufReader::new(stdout);
    let mut announce = Some(announce);
    let mut line = Vec::new();
    // An unreadable pipe is a closed one: the end of the process tells the rest.
    while let Ok(bytes) = reader.fill_buf().await {
        if bytes.is_empty() {
            break;
        }
        let end = bytes.iter().position(|b| *b == b'\n');
        let part = &bytes[..end.unwrap_or(bytes.len())];
        let room = LONGEST_LINE.saturating_sub(line.len());
        line.extend_from_slice(&part[..part.len().min(room)]);
        let used = part.len() + usize::from(end.is_some());
        reader.consume(used);
        if end.is_some() {
            hand_over(&mut line, &on_line, &mut announce);
        }
    }
    if !line.is_empty() {
        hand_over(&mut line, &on_line, &mut announce);
    }
}

fn hand_over(line: &mut Vec<u8>, on_line: &OnLine, announce: &mut Option<oneshot::Sender<Announced>>) {
    let text = String::from_utf8_lossy(line);
    let text = text.trim_end_matches('\r');
    on_line(text);
    if announce.is_some()
        && let Some(announced) = ready_address(text)
        && let Some(sender) = announce.take()
    {
        // Nobody waits any more when the unit was given up; then the line does not matter.
        let _ = sender.send(announced);
    }
    line.clear();
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    async fn read(input: &[u8]) -> (Vec<String>, Option<Announced>) {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let keep = seen.clone();
        let (sender, receiver) = oneshot::channel();
        read_lines(input, Arc::new(move |line: &str| keep.lock().unwrap().push(line.to_owned())), sender)
            .await;
        let lines = seen.lock().unwrap().clone();
        (lines, receiver.await.ok())
    }

    #[tokio::test]
    async fn lines_are_handed_over_and_the_first_ready_line_counts() {
        let input = b"one\r\n\n{\"ready\":true,\"address\":\"127.0.0.1:5\"}\n{\"ready\":true,\"address\":\"127.0.0.1:6\"}\nlast";
        let (lines, announced) = read(input).await;
        assert_eq!((lines[0].as_str(), lines[1].as_str(), lines[4].as_str()), ("one", "", "last"));
        assert_eq!(announced, Some(Ok("127.0.0.1:5".parse().unwrap())));
    }

    #[tokio::test]
    async fn an_endless_line_and_strange_bytes_do_no_harm() {
        let mut input = vec![b'x'; LONGEST_LINE * 3];
        input.extend_from_slice(b"\n\xff\xfe\nnext\n");
        let (lines, announced) = read(&input).await;
        assert_eq!(lines.len(), 3);
        assert_eq!(lines[0].len(), LONGEST_LINE);
        assert_eq!(lines[2], "next");
        assert_eq!(announced, None);
    }
}
