//! Properties of the reader and the writer, over generated replies, splits and mails.

use barograph_lines::Frame;
use proptest::collection::vec;
use proptest::prelude::*;

use crate::body;
use crate::extensions::Extensions;
use crate::reply::{Reply, frame};

/// A reply, and its lines.
fn reply() -> impl Strategy<Value = (u16, Vec<String>)> {
    (200_u16..600, vec("[ -~]{0,30}", 1..6))
}

fn written((code, lines): &(u16, Vec<String>)) -> Vec<u8> {
    let last = lines.len() - 1;
    let line =
        |(at, text): (usize, &String)| format!("{code}{}{text}\r\n", if at == last { ' ' } else { '-' });
    lines.iter().enumerate().map(line).collect::<String>().into_bytes()
}

/// A server's reading of a mail after DATA.
fn received(bytes: &[u8]) -> Vec<u8> {
    let mut mail = Vec::new();
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        if line == b".\r\n" {
            break;
        }
        mail.extend_from_slice(line.strip_prefix(b".").unwrap_or(line));
    }
    mail
}

proptest! {
    #[test]
    fn a_reply_is_read_as_it_was_written(reply in reply(), next in vec(any::<u8>(), 0..20)) {
        let bytes = written(&reply);
        prop_assert_eq!(frame(&[&bytes[..], &next].concat()), Ok(Frame::Whole(bytes.len())));
        for end in 0..bytes.len() {
            prop_assert!(matches!(frame(&bytes[..end]), Ok(Frame::Part(_))));
        }
        let read = Reply::of(&bytes);
        let lines: Vec<String> = read.lines().map(|line| String::from_utf8_lossy(line).into_owned()).collect();
        prop_assert_eq!((read.code, lines), reply);
    }

    #[test]
    fn any_bytes_are_read_without_a_panic(bytes in vec(any::<u8>(), 0..200)) {
        if let Ok(Frame::Whole(length)) = frame(&bytes) {
            let reply = Reply::of(&bytes[..length]);
            prop_assert!((200..600).contains(&reply.code));
            let _ = Extensions::of(&reply);
        }
        let begin = [b"250-x\r\n250 ".to_vec(), bytes.clone(), b"\r\n".to_vec()].concat();
        if let Ok(Frame::Whole(length)) = frame(&begin) {
            let _ = Extensions::of(&Reply::of(&begin[..length]));
        }
    }

    #[test]
    fn a_mail_arrives_as_it_was_sent(lines in vec("\\.{0,3}[a-z.]{0,10}", 0..20)) {
        let mail: String = lines.iter().map(|line| format!("{line}\r\n")).collect();
        let mut out = Vec::new();
        body::write(mail.as_bytes(), &mut out);
        prop_assert_eq!(received(&out), mail.as_bytes());
        prop_assert!(out.ends_with(b".\r\n"));
    }
}
