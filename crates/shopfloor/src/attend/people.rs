//! People at a session's terminal, as tmux reports them.
//!
//! Read-only clients and programs in control mode do not count as people. Attaching a terminal is not a key;
//! tmux counts in seconds, so a key in that very second is seen with the next one. A person who scrolls uses
//! the terminal, but types nothing that its agent gets.

use shopfloor_adapters::terminal::tmux::{Tmux, TmuxResult};
use shopfloor_core::time::Time;

/// What the terminals attached to a session did last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seats {
    /// When one of them was last attached or used. `None`: there is none.
    pub stirred: Option<Time>,
    /// When one was last used: a key, a turn of the wheel.
    pub used: Option<Time>,
    /// When a key was last pressed that the agent may have received.
    pub typed: Option<Time>,
}

pub fn seats(tmux: &Tmux, session: &str) -> TmuxResult<Seats> {
    let clients = tmux.clients(session)?;
    let people = clients.iter().filter(|c| !c.is_control && !c.flags.contains("read-only"));
    let at = |seconds: u64| Time(seconds.saturating_mul(1000));
    Ok(people.fold(Seats::default(), |seats, client| {
        let stirred = Some(at(client.activity_time.max(client.created)));
        let used = (client.activity_time > client.created).then(|| at(client.activity_time));
        let typed = used.filter(|_| !client.is_aside);
        Seats {
            stirred: seats.stirred.max(stirred),
            used: seats.used.max(used),
            typed: seats.typed.max(typed),
        }
    }))
}
