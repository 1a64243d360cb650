//! The relay as a process: two taps, a timer, and the switch's commands on stdin.

use std::fs;
use std::io::{self, Write};
use std::os::fd::AsFd;

use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::net::unix::pipe;
use tokio_tun::{Tun, TunBuilder};

use crate::clock::{NANOS_PER_SECOND, now_ns};
use crate::relay::count::RelayCount;
use crate::relay::line::{DelayLine, Setting};

/// Largest frame of a tap in bytes.
const LARGEST_FRAME: usize = 65_536 + 64;

/// Frames read from one side before the clock is read again: 64 take less than a fifth of a millisecond.
const FRAMES_PER_LOOK: usize = 64;

/// Nice value of the highest priority, as a late relay falsifies every delay.
const PRIORITY: i32 = -20;

/// Runs a relay until its stdin ends. The words are those of the switch, after those of its
/// [`crate::RelayProgram`].
///
/// # Errors
/// If the words are invalid, the taps cannot be opened, or one of them disappears.
pub fn relay_main(words: impl IntoIterator<Item = String>) -> io::Result<()> {
    let words: Vec<String> = words.into_iter().collect();
    let [out, back, hold_ns, loss, seed] = words.as_slice() else {
        return Err(wrong("wanted are two taps, nanoseconds, a loss and a seed"));
    };
    let setting = setting(hold_ns, loss)?;
    let seed = seed.parse().map_err(|_| wrong("the seed is not a number"))?;
    let priority = come_first();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    runtime.block_on(async {
        let mut relay = Relay::open(out, back, setting, seed)?;
        say(&format!("{{\"ready\":true,\"priority\":{priority}}}"))?;
        relay.run().await
    })
}

fn wrong(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why)
}

fn setting(hold_ns: &str, loss: &str) -> io::Result<Setting> {
    let hold_ns = hold_ns.parse().map_err(|_| wrong("the delay is not a number of nanoseconds"))?;
    let loss = loss.parse().ok().filter(|loss| (0.0..=1.0).contains(loss));
    Ok(Setting { hold_ns, loss: loss.ok_or_else(|| wrong("the loss is not a number from 0 to 1"))? })
}

/// Writes one line to the switch, which always reads the replies to its commands.
fn say(line: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(line.as_bytes())?;
    out.write_all(b"\n")?;
    out.flush()
}

/// Leaves the session, whose share of the processor it would divide, and requests the highest priority. Users
/// other than root may not get it; returns the priority reached.
fn come_first() -> i32 {
    let _ = rustix::process::setsid();
    let _ = fs::write("/proc/self/autogroup", PRIORITY.to_string());
    let _ = rustix::process::setpriority_process(None, PRIORITY);
    rustix::process::getpriority_process(None).unwrap_or(0)
}

/// Next event.
enum RelayEvent {
    Frames,
    Due,
    Wish(Option<String>),
}

struct Relay {
    out: Tun,
    back: Tun,
    outwards: DelayLine,
    backwards: DelayLine,
    setting: Setting,
    draws: Xoshiro256PlusPlus,
    /// A timer of the kernel, read like a pipe: the runtime's own timers have a resolution of milliseconds.
    timer: pipe::Receiver,
    armed: Option<u64>,
    wishes: Lines<BufReader<pipe::Receiver>>,
    /// One buffer for each tap, as both are awaited at once.
    frames: [Vec<u8>; 2],
}

impl Relay {
    fn open(out: &str, back: &str, setting: Setting, seed: u64) -> io::Result<Self> {
        let timer =
            timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)?;
        let stdin = io::stdin().as_fd().try_clone_to_owned()?;
        Ok(Relay {
            out: tap(out)?,
            back: tap(back)?,
            outwards: DelayLine::new(),
            backwards: DelayLine::new(),
            setting,
            draws: Xoshiro256PlusPlus::seed_from_u64(seed),
            timer: pipe::Receiver::from_owned_fd_unchecked(timer)?,
            armed: None,
            wishes: BufReader::new(pipe::Receiver::from_owned_fd(stdin)?).lines(),
            frames: [vec![0; LARGEST_FRAME], vec![0; LARGEST_FRAME]],
        })
    }

    async fn run(&mut self) -> io::Result<()> {
        loop {
            pass_on(&mut self.outwards, &self.back);
            pass_on(&mut self.backwards, &self.out);
            self.arm()?;
            match self.next().await? {
                RelayEvent::Frames => {
                    self.take_in()?;
                }
                RelayEvent::Due => {}
                RelayEvent::Wish(None) => return Ok(()),
                RelayEvent::Wish(Some(wish)) => self.fulfil(&wish)?,
            }
        }
    }

    /// Sets the timer to the next due time.
    fn arm(&mut self) -> io::Result<()> {
        let due = match (self.outwards.due(), self.backwards.due()) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        if due == self.armed {
            return Ok(());
        }
        // Zero stops a timer, and a due time is never zero: the machine has run longer than that.
        let at = due.unwrap_or(0);
        let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
        let value = Timespec {
            tv_sec: i64::try_from(at / NANOS_PER_SECOND).unwrap_or(i64::MAX),
            tv_nsec: (at % NANOS_PER_SECOND) as _,
        };
        let new = Itimerspec { it_interval: zero, it_value: value };
        timerfd_settime(self.timer.as_fd(), TimerfdTimerFlags::ABSTIME, &new)?;
        self.armed = due;
        Ok(())
    }

    async fn next(&mut self) -> io::Result<RelayEvent> {
        let [of_out, of_back] = &mut self.frames;
        tokio::select! {
            biased;
            ready = self.timer.readable() => {
                ready?;
                let mut expirations = [0; 8];
                // Nothing to read if it was set again in between.
                let _ = self.timer.try_read(&mut expirations);
                // The timer has expired, so the next time is set even if it is the same.
                self.armed = None;
                Ok(RelayEvent::Due)
            }
            wish = self.wishes.next_line() => Ok(RelayEvent::Wish(wish?)),
            got = self.out.recv(of_out) => {
                let frame = &of_out[..got?];
                self.outwards.offer(frame, now_ns(), self.draws.next_u64(), &self.setting);
                Ok(RelayEvent::Frames)
            }
            got = self.back.recv(of_back) => {
                let frame = &of_back[..got?];
                self.backwards.offer(frame, now_ns(), self.draws.next_u64(), &self.setting);
                Ok(RelayEvent::Frames)
            }
        }
    }

    /// Reads arrived frames from both sides, up to a bound.
    fn take_in(&mut self) -> io::Result<()> {
        let [frame, _] = &mut self.frames;
        for (from, line) in [(&self.out, &mut self.outwards), (&self.back, &mut self.backwards)] {
            for _ in 0..FRAMES_PER_LOOK {
                match from.try_recv(frame) {
                    Ok(bytes) => line.offer(&frame[..bytes], now_ns(), self.draws.next_u64(), &self.setting),
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(())
    }

    fn fulfil(&mut self, wish: &str) -> io::Result<()> {
        let words: Vec<&str> = wish.split_ascii_whitespace().collect();
        match words.as_slice() {
            ["set", hold_ns, loss] => {
                self.setting = setting(hold_ns, loss)?;
                say("done")
            }
            ["count"] => {
                let count = RelayCount { out: self.outwards.count(), back: self.backwards.count() };
                say(&serde_json::to_string(&count)?)
            }
            _ => Err(wrong("unknown wish")),
        }
    }
}

fn tap(name: &str) -> io::Result<Tun> {
    let built = TunBuilder::new().name(name).tap().close_on_exec().build().map_err(io::Error::other)?;
    built.into_iter().next().ok_or_else(|| wrong("the tap has no queue"))
}

/// Passes due frames to the kernel.
fn pass_on(line: &mut DelayLine, to: &Tun) {
    while let Some(frame) = line.due().and_then(|_| line.take(now_ns())) {
        let taken = to.try_send(&frame);
        line.sent(frame.len(), &taken);
    }
}
