//! Pools: limits, order, and the connections kept.

use std::net::TcpListener;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use barograph_net::{Dialer, Policy, Pool, Pools, Routes};

use super::on_worker;

/// The permit, if it is available at once.
fn at_once<T>(waiting: Pin<&mut impl Future<Output = T>>) -> Option<T> {
    match waiting.poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(permit) => Some(permit),
        Poll::Pending => None,
    }
}

#[test]
fn operations_in_progress_are_bounded_and_wait_in_order() {
    for (policy, most) in [(Policy::PerUser(2), 2), (Policy::Shared(3), 3), (Policy::Shared(0), 1)] {
        let pool = Pool::new(policy);
        assert_eq!(pool.most(), most);
        let mut permits: Vec<_> = (0..most).map(|_| at_once(pin!(pool.acquire())).unwrap()).collect();
        let (mut first, mut second) = (pin!(pool.acquire()), pin!(pool.acquire()));
        assert!(at_once(first.as_mut()).is_none() && at_once(second.as_mut()).is_none());
        permits.pop();
        assert!(at_once(second.as_mut()).is_none());
        let permit = at_once(first.as_mut()).unwrap();
        drop(permit);
        assert!(at_once(second.as_mut()).is_some());
    }
}

#[test]
fn each_connection_may_carry_several_operations() {
    let pool = Pool::new(Policy::PerUser(2));
    pool.multiplex(5);
    let permits: Vec<_> = std::iter::from_fn(|| at_once(pin!(pool.acquire()))).collect();
    assert_eq!(permits.len(), 10);
}

#[test]
fn users_have_pools_of_their_own_or_share_one() {
    for (policy, shared) in [(Policy::PerUser(2), false), (Policy::Shared(2), true), (Policy::New, false)] {
        let pools = Pools::new(policy);
        let user = || pools.user(|| Pool::new(policy));
        assert_eq!(Rc::ptr_eq(&user(), &user()), shared, "{policy:?}");
    }
}

/// A listener, and a dialer for it.
fn target() -> (TcpListener, Dialer) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let dialer = Dialer::new(&Routes::at(listener.local_addr().unwrap()));
    (listener, dialer)
}

#[test]
fn a_connection_is_kept_for_the_next_operation_unless_each_has_a_new_one() {
    let (_listener, dialer) = target();
    on_worker(async {
        for (policy, kept) in [(Policy::PerUser(1), true), (Policy::Shared(1), true), (Policy::New, false)] {
            let pool = Pool::new(policy);
            assert!(pool.take().is_none());
            pool.keep(dialer.connect(0).await.unwrap());
            assert_eq!(pool.take().is_some(), kept, "{policy:?}");
            assert!(pool.take().is_none(), "it is in use, or closed");
        }
        let pool = Pool::new(Policy::PerUser(1));
        pool.keep(dialer.connect(0).await.unwrap());
        pool.close_idle();
        assert!(pool.take().is_none());
        assert_eq!((dialer.counters().opened, dialer.counters().closed), (4, 4));
    });
}

#[test]
fn a_kept_connection_on_which_something_has_come_is_closed() {
    use std::io::Write as _;
    let (listener, dialer) = target();
    on_worker(async {
        for ended in [true, false] {
            let pool = Pool::new(Policy::PerUser(2));
            let quiet = dialer.connect(0).await.unwrap();
            let _peer = listener.accept().unwrap();
            let stream = dialer.connect(0).await.unwrap();
            let mut peer = Some(listener.accept().unwrap().0);
            match ended {
                true => drop(peer.take()),
                false => peer.as_mut().unwrap().write_all(b"unasked").unwrap(),
            }
            std::future::poll_fn(|cx| stream.poll_readable(cx)).await;
            pool.keep(quiet);
            pool.keep(stream);
            let before = dialer.counters().closed;
            assert!(pool.take().is_some());
            assert_eq!(dialer.counters().closed, before + 2, "that one, and the quiet one that was dropped");
            assert!(pool.take().is_none());
        }
    });
}
