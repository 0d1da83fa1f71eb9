//! Identities and work records in files, for tools that do not ask us: `identities/{role}-{name}.json`
//! and `records/{role}-{name}.json` in the floor's home.
//!
//! Invariants:
//! - A file is complete whenever it is read: written beside, renamed. Nobody waits for the disk: these are copies.
//! - The files follow from the store and are never read back. Whatever is missing or outdated after a crash
//!   is rewritten when a daemon starts.
//! - A live agent is marked as seen at least every minute, without a process and without a commit.

#[cfg(test)]
mod tests;

use crate::view::agent::{Identity, RecordView};
use shopfloor_adapters::host::atomic::{remove_leftovers, write_replacing};
use shopfloor_adapters::host::process::{Liveness, is_same};
use shopfloor_adapters::layout::Layout;
use shopfloor_core::effect::ProcessId;
use shopfloor_core::ids::{Epoch, agent_name};
use shopfloor_core::state::{Agent, AgentStatus, Floor, SessionState};
use shopfloor_core::time::Time;
use std::collections::BTreeMap;
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const SEEN_EVERY: Duration = Duration::from_secs(60);

/// Tells whether an agent's file is outdated, without making the file.
type Print = (Epoch, AgentStatus, Time, Option<(SessionState, Option<ProcessId>, Option<Time>)>);

/// Brings the files in line with the floor, after each commit.
pub struct Mirror {
    layout: Layout,
    /// `None` once it ends.
    sender: Option<Sender<News>>,
    writer: Option<JoinHandle<()>>,
    agents: BTreeMap<String, Print>,
    records: BTreeMap<String, Time>,
}

enum News {
    Identity { name: String, identity: Box<Identity>, process: Option<ProcessId> },
    Record { name: String, record: Box<RecordView> },
}

impl Mirror {
    pub fn start(layout: Layout) -> io::Result<Mirror> {
        for folder in [layout.identities(), layout.work_records()] {
            DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
            remove_leftovers(&folder)?;
        }
        let (sender, news) = channel();
        let writer = Writer { layout: layout.clone(), live: BTreeMap::new() };
        let writer = std::thread::Builder::new().name("mirror".into()).spawn(move || writer.run(&news))?;
        Ok(Mirror {
            layout,
            sender: Some(sender),
            writer: Some(writer),
            agents: BTreeMap::new(),
            records: BTreeMap::new(),
        })
    }

    fn tell(&self, news: News) {
        if let Some(sender) = &self.sender {
            // A writer that is gone has said why.
            let _ = sender.send(news);
        }
    }

    pub fn reconcile(&mut self, floor: &Floor) {
        for agent in floor.agents.iter() {
            let name = agent_name(agent.role, &agent.project, agent.assignment);
            let print = print(floor, agent);
            if self.agents.get(&name) != Some(&print) {
                let identity = Box::new(Identity::new(&self.layout, floor, agent, crate::now()));
                let live = floor.sessions.get(&agent.session).filter(|s| s.state == SessionState::Live);
                let process = live.and_then(|s| s.process);
                self.tell(News::Identity { name: name.clone(), identity, process });
                self.agents.insert(name, print);
            }
        }
        for record in floor.records.iter() {
            if self.records.get(&record.agent) != Some(&record.updated_at) {
                let name = record.agent.clone();
                self.tell(News::Record { name: name.clone(), record: Box::new(record.into()) });
                self.records.insert(name, record.updated_at);
            }
        }
        // What is on the shelf does not change there; it is looked at anew when it is taken down.
        if self.agents.len() > floor.agents.len() {
            self.agents.retain(|name, _| floor.agents.get(name).is_some());
        }
        if self.records.len() > floor.records.len() {
            self.records.retain(|name, _| floor.records.get(name).is_some());
        }
    }
}

impl Drop for Mirror {
    /// A daemon that ends cleanly leaves nothing unwritten.
    fn drop(&mut self) {
        self.sender = None;
        if let Some(writer) = self.writer.take() {
            let _ = writer.join();
        }
    }
}

fn print(floor: &Floor, agent: &Agent) -> Print {
    let session = floor.sessions.get(&agent.session);
    let session = session.map(|s| (s.state, s.process, s.status.as_ref().map(|status| status.since)));
    (agent.session, agent.status, agent.last_seen, session)
}

struct Writer {
    layout: Layout,
    live: BTreeMap<String, (Box<Identity>, ProcessId)>,
}

impl Writer {
    fn run(mut self, news: &Receiver<News>) {
        let mut seen = Instant::now();
        loop {
            let left = SEEN_EVERY.saturating_sub(seen.elapsed());
            let told = if self.live.is_empty() {
                news.recv().map_err(|_| RecvTimeoutError::Disconnected)
            } else {
                news.recv_timeout(left)
            };
            match told {
                Ok(told) => self.take(told),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            if seen.elapsed() >= SEEN_EVERY {
                seen = Instant::now();
                self.touch();
            }
        }
    }

    fn take(&mut self, news: News) {
        match news {
            News::Identity { name, identity, process } => {
                let file = self.layout.identity(&name);
                report(&file, write_replacing(&file, json(&identity).as_bytes(), 0o600));
                match process {
                    Some(process) => self.live.insert(name, (identity, process)),
                    None => self.live.remove(&name),
                };
            }
            News::Record { name, record } => {
                let file = self.layout.work_record(&name);
                report(&file, write_replacing(&file, json(&record).as_bytes(), 0o600));
            }
        }
    }

    /// A minute has passed: agents that live were seen now. Only that changes.
    fn touch(&mut self) {
        for (name, (identity, process)) in &mut self.live {
            if is_same(*process) == Liveness::Alive {
                identity.last_seen = crate::time::moment(crate::now());
                let file = self.layout.identity(name);
                report(&file, write_replacing(&file, json(identity).as_bytes(), 0o600));
            }
        }
    }
}

fn json(value: &impl serde::Serialize) -> String {
    crate::json::text(value)
}

fn report(file: &Path, written: io::Result<()>) {
    if let Err(e) = written {
        tracing::warn!("{} cannot be written: {e}", file.display());
    }
}
