//! Sessions as rows of a process table; the scripts that play them are in [`crate::agents`].

use crate::agents::Proc;
use crate::client::Client;
use crate::ports::workspace::unkept;
use crate::together::is_own;
use crate::world::{Mutation, Shared, World};
use shopfloor_core::effect::outcome::{Amount, AnswerRead};
use shopfloor_core::effect::{ProcessId, ReadAnswer, Review, StartSession, Tidy};
use shopfloor_core::ids::{Epoch, MessageId, ProjectName, Role, Sha, tmux_name};
use shopfloor_engine::ports::{Agents, Briefing, PortResult, Started, Tree};
use std::time::Duration;

/// How many sessions out of 1,000 are typed to.
const TYPED: u32 = 400;

pub struct FakeAgents(pub Shared);

impl Agents for FakeAgents {
    fn trouble(&self, _project: &ProjectName, _role: Role) -> PortResult<Option<String>> {
        self.0.call("trouble", |world| {
            let gone = world.client_is_gone();
            if gone {
                world.saw("client is missing");
            }
            Ok(gone.then(|| "the client is not installed".to_owned()))
        })
    }

    fn unset(&self, _project: &ProjectName) -> Vec<String> {
        Vec::new()
    }

    fn adopt(&self, start: &StartSession) -> PortResult<Option<Started>> {
        self.0.call("adopt", |world| {
            // A session that was ended has left nothing; one that died by itself has.
            let known = world.procs.contains_key(&start.epoch) && !world.ended.contains(&start.epoch);
            if !known || world.is(Mutation::StartWithoutAdopting) {
                return Ok(None);
            }
            world.saw("session adopted");
            Ok(Some(started(world, start)))
        })
    }

    fn start(&self, start: &StartSession, _briefing: &Briefing) -> PortResult<Started> {
        self.0.call("start", |world| {
            is_own(world, &start.project);
            let tree = Tree::of_job(&start.project, start.role, start.assignment);
            let twin = world.procs.values().find(|p| p.alive && p.tree == tree).map(|p| p.epoch);
            if let Some(twin) = twin {
                let text = format!("session {} started beside {twin} in {tree:?}", start.epoch);
                world.broken("3 one owner", text);
            }
            if start.resume.is_some() {
                world.saw("respawn");
            }
            if world.client_is_gone() {
                world.broken("8 held", format!("session {} started without a client", start.epoch));
            }
            let proc = Proc::new(start, tree, &mut world.rng, world.now);
            world.say(format!(
                "{} session {} of {}: {:?}",
                start.role,
                start.epoch,
                start.assignment.mention(),
                proc.persona
            ));
            world.procs.insert(start.epoch, proc);
            if world.rng.permille(TYPED) {
                let client = Client::new(start, &mut world.rng, world.now);
                world.clients.insert(start.epoch, client);
                world.client_begins(start.epoch);
            } else if start.role.reviews() && world.review_is_broken() {
                world.saw("reviewer cannot be run");
                world.die(start.epoch, Some(127), "cannot be run");
            } else {
                let soon = world.now + Duration::from_millis(world.rng.range(500, 60_000));
                world.agent_acts.push((soon, start.epoch));
            }
            world.crash_point("start", "crash inside a port call");
            Ok(started(world, start))
        })
    }

    fn last_output(&self, _tree: &Tree, epoch: Epoch) -> PortResult<String> {
        self.0.call("last_output", |world| {
            let there = world.procs.contains_key(&epoch) && !world.ended.contains(&epoch);
            Ok(if there { format!("output of {epoch}") } else { String::new() })
        })
    }

    fn end(&self, _tree: &Tree, epoch: Epoch) -> PortResult<()> {
        self.0.call("end", |world| {
            let mut epochs = vec![epoch];
            if world.is(Mutation::EndsAnything) {
                epochs.extend(world.procs.values().filter(|p| p.alive).map(|p| p.epoch).take(1));
            }
            for epoch in epochs {
                let Some(proc) = world.procs.get(&epoch).filter(|p| p.alive) else { continue };
                let (tree, began) = (proc.tree.clone(), world.attempt);
                // The later snapshot keeps what the agent wrote while it was being ended.
                let mut lost = unkept(world, &tree);
                lost.retain(|v| world.git.versions[*v as usize].at_attempt < began);
                if !lost.is_empty() {
                    world.broken("2 no work is lost", format!("session {epoch} ended with {lost:?} unkept"));
                }
                world.say(format!("session {epoch} is ended"));
                world.ended.push(epoch);
                let proc = world.procs.get_mut(&epoch).expect("just seen");
                proc.alive = false;
                proc.exit = None;
                world.notices.insert(epoch);
            }
            Ok(())
        })
    }

    fn ring(&self, epoch: Epoch, _message: MessageId) -> PortResult<()> {
        self.0.call("ring", |world| {
            // A session that is typed to hears no bell.
            if !world.is_typed(epoch) {
                let soon = world.now + Duration::from_millis(world.rng.range(100, 5_000));
                world.agent_acts.push((soon, epoch));
            }
            Ok(())
        })
    }

    fn review_result(
        &self,
        _project: &ProjectName,
        epoch: Epoch,
        head: &Sha,
        _moved: bool,
    ) -> PortResult<Result<Review, String>> {
        self.0.call("review_result", |world| {
            debug_assert!(world.procs.get(&epoch).is_none_or(|p| p.tree.is_review()));
            let Some((of, result)) = world.procs.get(&epoch).and_then(|p| p.result.clone()) else {
                return Ok(Err("there is no result".into()));
            };
            if result.is_ok() && of.as_ref() != Some(head) && !world.is(Mutation::TakesAnyResult) {
                world.saw("review of another commit");
                return Ok(Err(format!("it is of another commit, not of {head}")));
            }
            Ok(result)
        })
    }

    fn answer(&self, read: &ReadAnswer) -> PortResult<AnswerRead> {
        self.0.call("read_answer", |world| Ok(world.gardeners_answer(read)))
    }

    fn begin_review(
        &self,
        _project: &ProjectName,
        epoch: Epoch,
        _reviewed: &Sha,
        news: &str,
    ) -> PortResult<String> {
        self.0.call("begin_review", |world| {
            let forget = !world.is(Mutation::TakesAnyResult);
            if let Some(proc) = world.procs.get_mut(&epoch).filter(|_| forget) {
                proc.result = None;
            }
            world.saw("reviewer moved");
            world.crash_point("begin_review", "crash inside a port call");
            Ok(news.to_owned())
        })
    }

    fn prune(&self, tidy: &Tidy) -> PortResult<Amount> {
        self.0.call("prune_sessions", |world| {
            let gone =
                |epoch: u64| epoch <= tidy.sessions_upto.0 && !tidy.sessions_kept.contains(&Epoch(epoch));
            let alive = world.procs.iter().find(|(epoch, proc)| proc.alive && gone(epoch.0)).map(|(e, _)| *e);
            if let Some(epoch) = alive {
                world.broken("2 no work is lost", format!("the folder of live session {epoch} is pruned"));
            }
            Ok(Amount::default())
        })
    }
}

fn started(world: &World, start: &StartSession) -> Started {
    let prompt = world.clients.get(&start.epoch).map(|client| client.prompt.clone());
    Started {
        tmux: tmux_name(start.role, &start.project, start.assignment, start.epoch),
        process: ProcessId { pid: start.epoch.0 as u32 + 100, start: start.epoch.0 },
        phase_file: format!("phase-{}", start.epoch),
        runtime: if prompt.is_some() { "typed" } else { "sim" }.into(),
        prompt,
    }
}
