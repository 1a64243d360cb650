//! Operations on real files.

use std::cell::Cell;
use std::fs::File;
use std::future::poll_fn;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::task::Poll;

use barograph_reactor::{Peer, Socket, block_on};
use barograph_ring::{Buffers, Ring, RingError};
use barograph_testkit::{CountingAllocator, allocations};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

const BYTES: usize = 4096;

/// A file with `blocks` blocks, each filled with its number.
fn file(blocks: u8) -> OwnedFd {
    let mut file = tempfile::tempfile_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    (0..blocks).for_each(|block| file.write_all(&[block; BYTES]).unwrap());
    file.into()
}

/// A ring on a file. `None`, and a message, where the system makes none.
#[expect(clippy::print_stdout, reason = "a skipped test says why")]
fn ring(file: OwnedFd, buffers: usize) -> Option<Ring> {
    match Ring::new(file, Buffers::new(buffers, BYTES).unwrap()) {
        Ok(ring) => Some(ring),
        Err(why) => {
            println!("skipped: {why}");
            None
        }
    }
}

/// Buffer and result of the next operation that ends.
async fn next(ring: &mut Ring) -> (usize, Result<usize, Option<i32>>) {
    poll_fn(|cx| {
        loop {
            if let Some(done) = ring.completed() {
                return Poll::Ready((done.buffer, done.result.map_err(|why| why.raw_os_error())));
            }
            let reported = ring.poll_event(cx).is_ready();
            if ring.has_work() {
                ring.enter().unwrap();
            } else if !reported {
                return Poll::Pending;
            }
        }
    })
    .await
}

#[test]
fn what_is_written_is_read() {
    block_on(async {
        let Some(mut ring) = ring(file(8), 2) else { return };
        ring.buffer_mut(1).fill(99);
        ring.write(1, 3 * BYTES as u64, BYTES);
        assert!(ring.is_in_flight(1) && !ring.is_in_flight(0));
        assert_eq!(next(&mut ring).await, (1, Ok(BYTES)));
        ring.sync(1);
        assert_eq!(next(&mut ring).await, (1, Ok(0)));
        for (block, expected) in [(2, 2), (3, 99), (7, 7)] {
            ring.read(0, block * BYTES as u64, BYTES);
            assert_eq!(next(&mut ring).await, (0, Ok(BYTES)));
            assert!(ring.buffer(0).iter().all(|byte| *byte == expected), "block {block}");
        }
    })
    .unwrap();
}

#[test]
fn operations_are_submitted_in_calls_of_several() {
    block_on(async {
        let Some(mut ring) = ring(file(8), 8) else { return };
        (0..8).for_each(|index| ring.read(index, (index * BYTES) as u64, BYTES));
        assert_eq!((ring.queued(), ring.together()), (8, 3));
        ring.enter().unwrap();
        assert_eq!(ring.queued(), 5);
        ring.set_batch(8);
        ring.enter().unwrap();
        assert_eq!((ring.queued(), ring.together()), (0, 8));
        let mut ended = [false; 8];
        for _ in 0..8 {
            let (buffer, result) = next(&mut ring).await;
            assert_eq!(result, Ok(BYTES));
            assert!(ring.buffer(buffer).iter().all(|byte| usize::from(*byte) == buffer));
            assert!(!std::mem::replace(&mut ended[buffer], true));
        }
    })
    .unwrap();
}

#[test]
fn sockets_wake_a_thread_that_sleeps_in_a_ring() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let peer = Peer::Tcp(listener.local_addr().unwrap());
    let echo = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut byte = [0];
        while stream.read_exact(&mut byte).is_ok() {
            stream.write_all(&byte).unwrap();
        }
    });
    block_on(async {
        let ring = ring(file(8), 1);
        let socket = Socket::connect(&peer, None).await.unwrap();
        let Some(mut ring) = ring else { return };
        for block in (0..8).cycle().take(200) {
            ring.read(0, u64::from(block) * BYTES as u64, BYTES);
            ring.enter().unwrap();
            socket.try_write(&[block]).unwrap();
            let mut answer = [0];
            while socket.try_read_slice(&mut answer).is_err() {
                socket.readable().await;
            }
            assert_eq!(next(&mut ring).await, (0, Ok(BYTES)));
            assert_eq!((answer[0], ring.buffer(0)[7]), (block, block));
        }
    })
    .unwrap();
    echo.join().unwrap();
}

#[test]
fn rings_of_a_thread_wake_it_in_turn() {
    block_on(async {
        let Some(mut first) = ring(file(8), 1) else { return };
        let Some(mut second) = ring(file(8), 1) else { return };
        for block in (0..8).cycle().take(200) {
            for ring in [&mut first, &mut second] {
                ring.read(0, block * BYTES as u64, BYTES);
                assert_eq!(next(ring).await, (0, Ok(BYTES)));
                assert_eq!(u64::from(ring.buffer(0)[0]), block);
            }
        }
        drop(first);
        second.read(0, 0, BYTES);
        assert_eq!(next(&mut second).await, (0, Ok(BYTES)), "the thread sleeps in its loop again");
    })
    .unwrap();
}

#[test]
fn a_batch_completes_together() {
    block_on(async {
        let Some(mut ring) = ring(file(8), 8) else { return };
        ring.set_batch(6);
        (0..8).for_each(|index| ring.read(index, (index * BYTES) as u64, BYTES));
        while ring.queued() > 0 {
            ring.enter().unwrap();
        }
        let mut taken = std::iter::from_fn(|| ring.completed()).count();
        let mut first = true;
        poll_fn(|cx| {
            let before = taken;
            taken += std::iter::from_fn(|| ring.completed()).count();
            // The last ones are fewer than a batch.
            assert!(taken == before || first || taken >= 6, "{before}, {taken}");
            first = false;
            let _ = ring.poll_event(cx);
            if taken == 8 { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    })
    .unwrap();
}

#[test]
fn an_end_of_the_file_and_an_error_are_told() {
    block_on(async {
        let Some(mut both) = ring(file(1), 1) else { return };
        both.read(0, BYTES as u64 / 2, BYTES);
        assert_eq!(next(&mut both).await, (0, Ok(BYTES / 2)));
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let path = dir.path().join("read-only");
        std::fs::write(&path, [0; BYTES]).unwrap();
        let Some(mut read_only) = ring(File::open(&path).unwrap().into(), 1) else { return };
        read_only.write(0, 0, BYTES);
        let bad_descriptor = 9;
        assert_eq!(next(&mut read_only).await, (0, Err(Some(bad_descriptor))));
    })
    .unwrap();
}

#[test]
#[should_panic(expected = "has an operation in flight")]
fn a_buffer_in_flight_cannot_be_seen() {
    block_on(async {
        let Some(mut ring) = ring(file(1), 1) else { panic!("has an operation in flight, or no io_uring") };
        ring.read(0, 0, BYTES);
        let _ = ring.buffer(0);
    })
    .unwrap();
}

#[test]
fn a_ring_can_be_dropped_with_operations_in_flight() {
    block_on(async {
        for _ in 0..50 {
            let Some(mut ring) = ring(file(8), 8) else { return };
            (0..8).for_each(|index| ring.read(index, (index * BYTES) as u64, BYTES));
            ring.enter().unwrap();
            while let Some(done) = ring.completed() {
                ring.read(done.buffer, 0, BYTES);
            }
        }
        let Some(mut last) = ring(file(2), 1) else { return };
        last.read(0, BYTES as u64, BYTES);
        assert_eq!(next(&mut last).await, (0, Ok(BYTES)));
        assert!(last.buffer(0).iter().all(|byte| *byte == 1));
    })
    .unwrap();
}

#[test]
fn operations_allocate_nothing() {
    const WARM: u32 = 100;
    let counted = Rc::new(Cell::new(None));
    let told = Rc::clone(&counted);
    block_on(async move {
        let Some(mut ring) = ring(file(8), 4) else { return };
        (0..4).for_each(|index| ring.read(index, 0, BYTES));
        let mut begun = 0;
        for operation in 0..10 * WARM {
            if operation == WARM {
                begun = allocations();
            }
            let (buffer, result) = next(&mut ring).await;
            assert_eq!(result, Ok(BYTES));
            match operation % 2 {
                0 => ring.read(buffer, 0, BYTES),
                _ => ring.write(buffer, BYTES as u64, BYTES),
            }
        }
        told.set(Some(allocations() - begun));
    })
    .unwrap();
    assert!(matches!(counted.get(), None | Some(0)), "{:?}", counted.get());
}

/// Forbids `io_uring_setup` to the calling thread, as containers do.
#[expect(unsafe_code, reason = "a filter of system calls has no safe form")]
fn forbid() {
    const SETUP: u32 = libc::SYS_io_uring_setup as u32;
    let step =
        |code: u32, yes: u8, no: u8, k: u32| libc::sock_filter { code: code as u16, jt: yes, jf: no, k };
    let mut steps = [
        // The number of the call is the first word of what the filter sees.
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, 1, SETUP),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: steps.len() as u16, filter: steps.as_mut_ptr() };
    // SAFETY: both calls concern the calling thread only, and the kernel copies the filter before the call returns.
    let done = unsafe {
        (
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
            libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program),
        )
    };
    assert_eq!(done, (0, 0), "{}", std::io::Error::last_os_error());
}

#[test]
fn a_system_that_forbids_io_uring_is_named() {
    let thread = std::thread::spawn(|| {
        forbid();
        let why = Ring::is_possible(file(1), Buffers::new(1, BYTES).unwrap()).unwrap_err();
        assert!(matches!(why, RingError::SetUp { .. }));
        why.to_string()
    });
    let text = thread.join().unwrap();
    assert!(text.contains("forbids") && text.contains("kernel.io_uring_disabled"), "{text}");
}
