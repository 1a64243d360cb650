//! A mail as Barograph writes it, for drivers that send a file.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::mpsc;
use std::time::Duration;
use std::{fs, io, thread};

use anyhow::{Context, bail};

/// Time in which a mail must be there after the program that submitted it has ended.
const PATIENCE: Duration = Duration::from_secs(10);

/// Writes a mail of Barograph to a file, with the line ends of text files. `words` are its arguments for one mail
/// to the server at a port.
pub(super) fn write(ours: &Path, words: fn(u16) -> Vec<String>, file: &Path) -> anyhow::Result<()> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).context("listen for a mail")?;
    let port = listener.local_addr().context("listen for a mail")?.port();
    let (tell, taken) = mpsc::sync_channel(1);
    thread::spawn(move || tell.send(take(&listener)));
    // Its exit code is not asked: a load of one mail is too short to be valid.
    let output = Command::new(ours).args(words(port)).output().context("start Barograph for a mail")?;
    let Ok(mail) = taken.recv_timeout(PATIENCE) else {
        bail!("Barograph did not submit a mail: {}", String::from_utf8_lossy(&output.stderr).trim());
    };
    let mail = mail.context("take a mail of Barograph")?;
    fs::write(file, mail).with_context(|| format!("write {}", file.display()))
}

/// Takes one mail; connections without any are probes.
fn take(listener: &TcpListener) -> io::Result<Vec<u8>> {
    loop {
        // A probe may reset its connection.
        if let Ok(Some(mail)) = converse(listener.accept()?.0) {
            return Ok(mail);
        }
    }
}

/// Serves one connection; `None` if it has no mail. A mail ends with a line of one dot.
fn converse(mut stream: TcpStream) -> io::Result<Option<Vec<u8>>> {
    let (mut lines, mut mail) = (BufReader::new(stream.try_clone()?).lines(), None);
    stream.write_all(b"220 bench\r\n")?;
    while let Some(line) = lines.next().transpose()? {
        let reply: &[u8] = match line.get(..4) {
            Some("DATA") => {
                stream.write_all(b"354 go on\r\n")?;
                mail = Some(body(&mut lines)?);
                b"250 taken\r\n"
            }
            Some("QUIT") => {
                stream.write_all(b"221 bye\r\n")?;
                break;
            }
            _ => b"250 bench\r\n",
        };
        stream.write_all(reply)?;
    }
    Ok(mail)
}

fn body(lines: &mut impl Iterator<Item = io::Result<String>>) -> io::Result<Vec<u8>> {
    let mut mail = Vec::new();
    for line in lines {
        let line = line?;
        if line == "." {
            return Ok(mail);
        }
        mail.extend_from_slice(line.strip_prefix('.').unwrap_or(&line).as_bytes());
        mail.push(b'\n');
    }
    Err(io::ErrorKind::UnexpectedEof.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mail_comes_after_a_probe_and_without_its_dots() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let taking = thread::spawn(move || take(&listener));
        drop(TcpStream::connect(address).unwrap());
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(b"EHLO h\r\nDATA\r\nSubject: s\r\n\r\n..one\r\n.\r\nQUIT\r\n").unwrap();
        let replies: Vec<String> = BufReader::new(stream).lines().map(Result::unwrap).collect();
        assert_eq!(replies, ["220 bench", "250 bench", "354 go on", "250 taken", "221 bye"]);
        assert_eq!(taking.join().unwrap().unwrap(), b"Subject: s\n\n.one\n");
    }
}
