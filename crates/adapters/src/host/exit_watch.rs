//! Reports when a process is gone, without asking again and again: one thread sleeps in `poll` on a pidfd per
//! process.
//!
//! Invariants:
//! - Every watch is reported at most once, and exactly once unless it is replaced or removed first.
//! - A process that is already gone, or whose pid now belongs to another, is reported at once.
//! - The callback runs on the watcher's thread, with no lock held.

use super::process::open;
use super::wake::Wake;
use rustix::event::{PollFd, PollFlags, poll};
use shopfloor_core::effect::ProcessId;
use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

pub struct ExitWatcher {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    wake: Wake,
    orders: Mutex<Orders>,
}

#[derive(Default)]
struct Orders {
    /// In order: a key may be watched, unwatched and watched again before the thread looks.
    list: Vec<(u64, Order)>,
    stop: bool,
}

enum Order {
    Watch(OwnedFd),
    Gone,
    Unwatch,
}

impl ExitWatcher {
    /// Starts the thread. `gone` is called with the key of a process that ended.
    pub fn spawn(gone: impl FnMut(u64) + Send + 'static) -> io::Result<Self> {
        let shared = Arc::new(Shared { wake: Wake::new()?, orders: Mutex::default() });
        let thread = std::thread::Builder::new().name("exit-watch".to_owned()).spawn({
            let shared = Arc::clone(&shared);
            move || run(&shared, gone)
        })?;
        Ok(ExitWatcher { shared, thread: Some(thread) })
    }

    /// Watches a process under `key`, instead of what was watched under that key before.
    pub fn watch(&self, key: u64, process: ProcessId) -> io::Result<()> {
        let order = match open(process)? {
            Some(fd) => Order::Watch(fd),
            None => Order::Gone,
        };
        self.order(key, order);
        Ok(())
    }

    /// No report for `key` begins after the thread has noticed; one may be under way.
    pub fn unwatch(&self, key: u64) {
        self.order(key, Order::Unwatch);
    }

    fn order(&self, key: u64, order: Order) {
        self.shared.orders().list.push((key, order));
        self.shared.wake.signal();
    }
}

impl Shared {
    fn orders(&self) -> std::sync::MutexGuard<'_, Orders> {
        // Plain data, changed in single steps: a panic elsewhere cannot leave it half done.
        self.orders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ExitWatcher {
    fn drop(&mut self) {
        self.shared.orders().stop = true;
        self.shared.wake.signal();
        if let Some(thread) = self.thread.take()
            && thread.thread().id() != std::thread::current().id()
        {
            let _ = thread.join();
        }
    }
}

fn run(shared: &Shared, mut gone: impl FnMut(u64)) {
    let mut watched: BTreeMap<u64, OwnedFd> = BTreeMap::new();
    loop {
        let orders = std::mem::take(&mut *shared.orders());
        if orders.stop {
            return;
        }
        let mut ended: Vec<u64> = Vec::new();
        for (key, order) in orders.list {
            watched.remove(&key);
            ended.retain(|other| *other != key);
            match order {
                Order::Watch(fd) => {
                    watched.insert(key, fd);
                }
                Order::Gone => ended.push(key),
                Order::Unwatch => {}
            }
        }
        if ended.is_empty() {
            ended = wait(shared, &watched);
        }
        for key in ended {
            watched.remove(&key);
            gone(key);
        }
    }
}

/// Sleeps until a process ended or an order arrived; returns the keys of the processes that ended.
fn wait(shared: &Shared, watched: &BTreeMap<u64, OwnedFd>) -> Vec<u64> {
    let wake = PollFd::new(&shared.wake, PollFlags::IN);
    let mut polled: Vec<PollFd<'_>> = std::iter::once(wake)
        .chain(watched.values().map(|fd| PollFd::from_borrowed_fd(fd.as_fd(), PollFlags::IN)))
        .collect();
    if poll(&mut polled, None).is_err() {
        // Interrupted (nothing else can happen to valid descriptors): look again.
        return Vec::new();
    }
    if !polled[0].revents().is_empty() {
        shared.wake.drain();
        // Orders first: one of them may replace or remove a watch that just fired.
        return Vec::new();
    }
    watched.keys().zip(&polled[1..]).filter(|(_, fd)| !fd.revents().is_empty()).map(|(key, _)| *key).collect()
}
