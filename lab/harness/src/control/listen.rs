//! The run's side of control: a socket, and commands passed to the load.

use std::path::Path;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinHandle, JoinSet};

use super::{Command, LONGEST_LINE, Reply, SocketFolder};

/// Bound of the queue of commands.
const WAITING: usize = 8;

/// Largest number of connections; further ones are closed at once.
const CONNECTIONS: usize = 16;

/// Time after which a silent connection is closed.
const IDLE: Duration = Duration::from_secs(60);

/// A command and the channel for its reply.
pub(crate) struct ReceivedCommand {
    pub(crate) command: Command,
    reply: oneshot::Sender<Reply>,
}

impl ReceivedCommand {
    pub(crate) fn answer(self, reply: Reply) {
        // The client may have left.
        let _ = self.reply.send(reply);
    }
}

/// Listens until dropped.
pub(crate) struct ControlListener {
    commands: mpsc::Receiver<ReceivedCommand>,
    task: JoinHandle<()>,
}

impl ControlListener {
    /// Listens on the socket in the existing folder `folder`.
    pub(crate) fn start(folder: &Path) -> std::io::Result<Self> {
        let folder = SocketFolder::open(folder)?;
        let listener = UnixListener::bind(folder.socket())?;
        let (send, commands) = mpsc::channel(WAITING);
        Ok(ControlListener { commands, task: tokio::spawn(accept(listener, send)) })
    }

    /// Waits for the next command.
    pub(crate) async fn next(&mut self) -> ReceivedCommand {
        match self.commands.recv().await {
            Some(asked) => asked,
            // The task has ended, so no command can come.
            None => std::future::pending().await,
        }
    }
}

impl Drop for ControlListener {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(listener: UnixListener, commands: mpsc::Sender<ReceivedCommand>) {
    // Dropped with this task, which closes every connection.
    let mut open = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        while open.try_join_next().is_some() {}
        if open.len() < CONNECTIONS {
            open.spawn(converse(stream, commands.clone()));
        }
    }
}

/// Reads a line and writes a line, until the client closes the connection.
async fn converse(stream: UnixStream, commands: mpsc::Sender<ReceivedCommand>) {
    let (read, mut write) = stream.into_split();
    let mut read = BufReader::new(read);
    loop {
        let mut line = String::new();
        let mut bounded = (&mut read).take(LONGEST_LINE as u64);
        match tokio::time::timeout(IDLE, bounded.read_line(&mut line)).await {
            Ok(Ok(length)) if length > 0 => {}
            _ => return,
        }
        if line.trim().is_empty() && line.ends_with('\n') {
            continue;
        }
        let reply = match Command::read(line.trim()) {
            Ok(command) => hand_over(command, &commands).await,
            Err(why) => Reply::refused(why),
        };
        let mut text = serde_json::to_string(&reply).expect("words and finite numbers are JSON");
        text.push('\n');
        // After a truncated line there is no point to resume at.
        if write.write_all(text.as_bytes()).await.is_err() || !line.ends_with('\n') {
            return;
        }
    }
}

async fn hand_over(command: Command, commands: &mpsc::Sender<ReceivedCommand>) -> Reply {
    let (reply, answer) = oneshot::channel();
    if commands.try_send(ReceivedCommand { command, reply }).is_err() {
        return Reply::refused("too many commands wait for the load");
    }
    answer.await.unwrap_or_else(|_| Reply::refused("the load has ended"))
}
