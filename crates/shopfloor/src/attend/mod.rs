//! Attendants: each live session whose client reports what it does has one, which weighs the evidence and
//! types the messages. One thread attends to all, so each session has one writer.
//!
//! What there is to do follows from the floor (which sessions live, which message is next) and from files in
//! the sessions' folders; a restarted daemon continues from the same. Nothing is forked, and nothing is
//! polled that can report by itself: hooks, status lines and phases come by inotify, titles and the fact that
//! something was written by tmux's subscription. A screen is looked at over the connection that exists
//! anyway: during an open turn now and then, and at once when something was written there and no title says
//! that the client is still working.

mod clerk;
mod courier;
mod people;
mod session;

pub use people::{Seats, seats};
pub use session::{Brief, Due, ToAnswer};

use session::Attendant;
use shopfloor_adapters::layout::Layout;
use shopfloor_adapters::terminal::tmux::Tmux;
use shopfloor_core::event::Event;
use shopfloor_core::ids::Epoch;
use shopfloor_core::runtime::RuntimeSpec;
use shopfloor_core::time::Time;
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};

/// Runtimes by name.
pub type Runtimes = Arc<dyn Fn(&str) -> Option<Arc<RuntimeSpec>> + Send + Sync>;

/// What the attendants' thread is told.
pub enum News {
    /// A session is new, or the floor says something new about it.
    Brief(Box<Brief>),
    Gone(Epoch),
    /// A file in the session's folder was written.
    Written(Epoch),
    /// A pane's title, with the name of its session.
    Title {
        tmux: String,
        title: String,
    },
    /// Something was written to a pane; with the name of its session.
    Output {
        tmux: String,
    },
}

/// Where news goes. The thread ends when the last of these is dropped.
#[derive(Clone)]
pub struct Attendants(Sender<News>);

impl Attendants {
    pub fn start(
        layout: Layout,
        tmux: Tmux,
        runtimes: Runtimes,
        clock: fn() -> Time,
        mut tell: impl FnMut(Event) + Send + 'static,
    ) -> io::Result<Attendants> {
        let (sender, news) = channel();
        std::thread::Builder::new().name("attend".into()).spawn(move || {
            let mut attendants =
                AttendantLoop { layout, tmux, runtimes, clock, sessions: BTreeMap::new(), gone: Vec::new() };
            while attendants.turn(&news, &mut tell) {}
        })?;
        Ok(Attendants(sender))
    }

    pub fn tell(&self, news: News) {
        let _ = self.0.send(news);
    }
}

struct AttendantLoop {
    layout: Layout,
    tmux: Tmux,
    runtimes: Runtimes,
    clock: fn() -> Time,
    sessions: BTreeMap<Epoch, Attendant>,
    /// Those that are over, until they have had their last word.
    gone: Vec<Attendant>,
}

impl AttendantLoop {
    /// Waits for news or for the next time something is due. False when nobody can bring news any more.
    fn turn(&mut self, news: &Receiver<News>, tell: &mut dyn FnMut(Event)) -> bool {
        let due = self.sessions.values().map(Attendant::due).min();
        let first = match due {
            None => news.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(at) => news.recv_timeout(at.since((self.clock)())),
        };
        match first {
            Ok(first) => {
                // What arrived together is taken in together, and each session is attended to once.
                let all = std::iter::once(first).chain(news.try_iter());
                let mut touched: Vec<Epoch> = all.filter_map(|news| self.take(news)).collect();
                touched.sort_unstable();
                touched.dedup();
                for epoch in touched {
                    self.attend(epoch, tell);
                }
                for mut session in std::mem::take(&mut self.gone) {
                    session.last_word(tell);
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return false,
        }
        let now = (self.clock)();
        let due: Vec<Epoch> =
            self.sessions.iter().filter(|(_, s)| s.due() <= now).map(|(epoch, _)| *epoch).collect();
        for epoch in due {
            self.attend(epoch, tell);
        }
        true
    }

    fn attend(&mut self, epoch: Epoch, tell: &mut dyn FnMut(Event)) {
        if let Some(session) = self.sessions.get_mut(&epoch) {
            session.attend(tell);
        }
    }

    /// The session that the news is about.
    fn take(&mut self, news: News) -> Option<Epoch> {
        match news {
            News::Brief(brief) => {
                let brief = *brief;
                let epoch = brief.epoch;
                match self.sessions.get_mut(&epoch) {
                    Some(session) => session.brief(brief),
                    None => {
                        let spec = (self.runtimes)(&brief.runtime)?;
                        let dir = self.layout.session(epoch);
                        let session = Attendant::new(brief, spec, dir, self.tmux.clone(), self.clock);
                        self.sessions.insert(epoch, session);
                    }
                }
                Some(epoch)
            }
            News::Gone(epoch) => {
                self.gone.extend(self.sessions.remove(&epoch));
                None
            }
            News::Written(epoch) => Some(epoch),
            News::Title { tmux, title } => {
                let (epoch, session) = self.sessions.iter_mut().find(|(_, s)| s.brief.tmux == tmux)?;
                session.title(&title).then_some(*epoch)
            }
            News::Output { tmux } => {
                let session = self.sessions.values_mut().find(|s| s.brief.tmux == tmux)?;
                session.output();
                None
            }
        }
    }
}
