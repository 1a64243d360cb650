//! The event loop against real sockets of the machine.

use std::cell::{Cell, RefCell};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::net::UnixListener;
use std::rc::Rc;
use std::sync::mpsc;

use barograph_reactor::{Pace, Peer, Reactor, Socket, TimelessPace, block_on, own_open_files, spawn};
use rustix::net::{AddressFamily, SocketType};

/// A server that echoes its input, for one connection.
fn echo() -> (Peer, std::thread::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let thread = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut buffer = [0; 4096];
        loop {
            match stream.read(&mut buffer) {
                Ok(0) | Err(_) => return,
                Ok(n) => stream.write_all(&buffer[..n]).unwrap(),
            }
        }
    });
    (Peer::Tcp(address), thread)
}

async fn write_all(socket: &Socket, mut bytes: &[u8]) {
    while !bytes.is_empty() {
        match socket.try_write(bytes) {
            Ok(n) => bytes = &bytes[n..],
            Err(e) if e.kind() == ErrorKind::WouldBlock => socket.writable().await,
            Err(e) => panic!("{e}"),
        }
    }
}

async fn read_exactly(socket: &Socket, n: usize) -> Vec<u8> {
    let mut got = Vec::with_capacity(n + 1);
    while got.len() < n {
        match socket.try_read(&mut got) {
            Ok(0) => break,
            Ok(_) => {}
            Err(e) if e.kind() == ErrorKind::WouldBlock => socket.readable().await,
            Err(e) => panic!("{e}"),
        }
    }
    got
}

#[test]
fn bytes_go_and_come_back() {
    let (peer, server) = echo();
    block_on(async {
        let socket = Socket::connect(&peer, None).await.unwrap();
        assert!(socket.is_quiet(), "nothing has been said yet");
        write_all(&socket, b"hello").await;
        assert_eq!(read_exactly(&socket, 5).await, b"hello");
        assert!(socket.is_quiet() && !socket.has_ended());
    })
    .unwrap();
    server.join().unwrap();
}

#[test]
fn a_read_that_filled_its_room_leaves_a_quiet_socket_until_more_comes() {
    let (peer, server) = echo();
    block_on(async {
        let socket = Socket::connect(&peer, None).await.unwrap();
        write_all(&socket, b"hello").await;
        let (mut room, mut got) = ([0; 5], 0);
        while got < room.len() {
            socket.readable().await;
            match socket.try_read_slice(&mut room[got..]) {
                Ok(n) => got += n,
                Err(e) if e.kind() == ErrorKind::WouldBlock => {}
                Err(e) => panic!("{e}"),
            }
        }
        assert!(socket.is_quiet(), "all of it was read");
        write_all(&socket, b"!").await;
        socket.readable().await;
        assert!(!socket.is_quiet() && !socket.has_ended());
        assert_eq!(read_exactly(&socket, 1).await, b"!");
    })
    .unwrap();
    server.join().unwrap();
}

#[test]
fn more_than_the_kernel_holds_is_written_while_another_task_reads() {
    let (peer, server) = echo();
    let all: Vec<u8> = (0..8_000_000u32).map(|n| (n % 251) as u8).collect();
    let sent = all.clone();
    let reactor = Reactor::new().unwrap();
    let got = reactor
        .run(
            async move {
                let socket = Rc::new(Socket::connect(&peer, None).await.unwrap());
                let writer = Rc::clone(&socket);
                spawn(async move { write_all(&writer, &sent).await });
                read_exactly(&socket, 8_000_000).await
            },
            &TimelessPace,
        )
        .unwrap();
    assert!(got == all, "the bytes differ");
    drop(reactor);
    server.join().unwrap();
}

#[test]
fn an_end_that_came_with_the_last_bytes_is_not_lost() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let peer = Peer::Tcp(listener.local_addr().unwrap());
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(b"bye").unwrap();
    });
    block_on(async {
        let socket = Socket::connect(&peer, None).await.unwrap();
        // Both are there before the first read: a server that is gone has closed.
        server.join().unwrap();
        assert_eq!(read_exactly(&socket, 100).await, b"bye");
        let mut more = Vec::with_capacity(10);
        socket.readable().await;
        assert_eq!(socket.try_read(&mut more).unwrap(), 0);
        assert!(socket.has_ended() && !socket.is_quiet());
    })
    .unwrap();
}

#[test]
fn a_port_without_a_listener_refuses() {
    // Held without listening, so that no other test gets it meanwhile.
    let held = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    rustix::net::bind(&held, &SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    let port = SocketAddr::try_from(rustix::net::getsockname(&held).unwrap()).unwrap();
    let refused = block_on(async { Socket::connect(&Peer::Tcp(port), None).await.err().unwrap().kind() });
    assert_eq!(refused.unwrap(), ErrorKind::ConnectionRefused);
}

#[test]
fn a_source_address_and_a_socket_in_the_file_system() {
    let (peer, server) = echo();
    block_on(async {
        let socket = Socket::connect(&peer, Some("127.0.3.7:0".parse().unwrap())).await.unwrap();
        assert_eq!(socket.local().unwrap().ip().to_string(), "127.0.3.7");
    })
    .unwrap();
    server.join().unwrap();
    let path = std::env::temp_dir().join(format!("barograph-reactor-{}.sock", std::process::id()));
    // A killed test with the same number may have left one.
    let _ = std::fs::remove_file(&path);
    let listener = UnixListener::bind(&path).unwrap();
    let server = std::thread::spawn(move || listener.accept().unwrap().0.write_all(b"unix").unwrap());
    let got = block_on(async {
        let socket = Socket::connect(&Peer::Unix(path.clone()), None).await.unwrap();
        read_exactly(&socket, 4).await
    });
    assert_eq!(got.unwrap(), b"unix");
    server.join().unwrap();
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn tasks_run_in_the_order_of_their_wakes_and_are_dropped_with_the_loop() {
    struct DropFlag(Rc<Cell<bool>>);
    impl Drop for DropFlag {
        fn drop(&mut self) {
            self.0.set(true);
        }
    }
    let dropped = Rc::new(Cell::new(false));
    let tell = DropFlag(Rc::clone(&dropped));
    let order: Rc<RefCell<Vec<u32>>> = Rc::default();
    let log = Rc::clone(&order);
    let reactor = Reactor::new().unwrap();
    reactor
        .run(
            async move {
                for n in 0..3 {
                    let log = Rc::clone(&log);
                    spawn(async move { log.borrow_mut().push(n) });
                }
                spawn(async move {
                    let _kept = tell;
                    std::future::pending::<()>().await;
                });
                let mut turns = 0;
                std::future::poll_fn(|cx| {
                    turns += 1;
                    cx.waker().wake_by_ref();
                    if turns > 5 { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
                })
                .await;
            },
            &TimelessPace,
        )
        .unwrap();
    assert_eq!(*order.borrow(), [0, 1, 2]);
    assert!(!dropped.get());
    drop(reactor);
    assert!(dropped.get());
}

#[test]
fn a_thread_with_open_files_of_its_own_has_its_own_limit() {
    let before = std::fs::read_dir("/proc/self/fd").unwrap().count();
    let (say, hear) = mpsc::sync_channel(1);
    let (go_on, wait) = mpsc::sync_channel::<()>(0);
    let thread = std::thread::spawn(move || {
        own_open_files().unwrap();
        let held: Vec<_> = (0..500).map(|_| std::fs::File::open("/dev/null").unwrap()).collect();
        let mine = std::fs::read_dir("/proc/thread-self/fd").unwrap().count();
        say.send((mine, held.len())).unwrap();
        let _ = wait.recv();
    });
    let (mine, held) = hear.recv().unwrap();
    assert!((held..held + 5).contains(&mine), "three streams, the folder itself, and {held} files: {mine}");
    let while_held = std::fs::read_dir("/proc/self/fd").unwrap().count();
    // Other tests of this process open a few sockets meanwhile; five hundred would show.
    assert!(while_held < before + 100, "{before} before, {while_held} while the other thread holds {held}");
    drop(go_on);
    thread.join().unwrap();
}

#[test]
fn a_peer_that_closed_its_direction_and_reads_no_more_does_not_keep_the_thread() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let peer = Peer::Tcp(listener.local_addr().unwrap());
    let (go_on, wait) = mpsc::sync_channel::<()>(0);
    let server = std::thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let _ = wait.recv();
    });
    let reactor = Reactor::new().unwrap();
    let other = reactor
        .run(
            async move {
                let socket = Socket::connect(&peer, None).await.unwrap();
                socket.readable().await;
                assert!(socket.has_ended());
                spawn(async move { write_all(&socket, &vec![7; 30_000_000]).await });
                // The writer is blocked, and all other tasks continue.
                let mut turns = 0;
                std::future::poll_fn(|cx| {
                    turns += 1;
                    cx.waker().wake_by_ref();
                    if turns > 100 { std::task::Poll::Ready(turns) } else { std::task::Poll::Pending }
                })
                .await
            },
            &TimelessPace,
        )
        .unwrap();
    assert_eq!(other, 101);
    drop(reactor);
    drop(go_on);
    server.join().unwrap();
}

/// A clock that each reading moves on by a nanosecond, and one due instant.
#[derive(Default)]
struct CountingPace {
    now: Cell<u64>,
    due: u64,
    polls_before: u64,
    waits: RefCell<Option<std::task::Waker>>,
    /// Polls begun and ended.
    polls: Cell<(u32, u32)>,
}

impl Pace for CountingPace {
    fn now(&self) -> u64 {
        self.now.set(self.now.get() + 1);
        self.now.get()
    }

    fn due(&self) -> Option<u64> {
        Some(self.due)
    }

    fn fire(&self) {
        if self.now.get() >= self.due
            && let Some(waiter) = self.waits.borrow_mut().take()
        {
            waiter.wake();
        }
    }

    fn polls_before(&self) -> u64 {
        self.polls_before
    }

    fn polling_begins(&self) {
        self.polls.set((self.polls.get().0 + 1, self.polls.get().1));
    }

    fn polling_ends(&self) {
        self.polls.set((self.polls.get().0, self.polls.get().1 + 1));
    }
}

#[test]
fn a_thread_polls_until_an_instant_is_due() {
    let pace = Rc::new(CountingPace {
        now: Cell::new(10),
        due: 1_000,
        polls_before: 500,
        ..CountingPace::default()
    });
    let waits = Rc::clone(&pace);
    let due = std::future::poll_fn(move |cx| {
        if waits.now.get() >= waits.due {
            return std::task::Poll::Ready(());
        }
        *waits.waits.borrow_mut() = Some(cx.waker().clone());
        std::task::Poll::Pending
    });
    Reactor::new().unwrap().run(due, pace.as_ref()).unwrap();
    let (begun, ended) = pace.polls.get();
    assert_eq!((begun, ended), (1, 1));
    assert!((1_000..1_010).contains(&pace.now.get()), "{}", pace.now.get());
}

#[test]
fn a_thread_that_polls_sees_what_arrives() {
    let (peer, server) = echo();
    let pace = Rc::new(CountingPace { due: u64::MAX, polls_before: u64::MAX, ..CountingPace::default() });
    let work = async move {
        let socket = Socket::connect(&peer, None).await.unwrap();
        write_all(&socket, b"hello").await;
        read_exactly(&socket, 5).await
    };
    let reactor = Reactor::new().unwrap();
    assert_eq!(reactor.run(work, pace.as_ref()).unwrap(), b"hello");
    let (begun, ended) = pace.polls.get();
    assert!(begun > 0 && begun == ended, "{begun} begun, {ended} ended");
    drop(reactor);
    server.join().unwrap();
}
