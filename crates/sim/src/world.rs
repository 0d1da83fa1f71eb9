//! The world around the floor, as one value: git, forge, processes and what goes wrong.
//!
//! The fake ports share it. Every port call goes through [`Shared::call`], which decides whether it fails
//! before it began, or after it was done (a lost answer), or whether the daemon dies there.

use crate::agents::Proc;
use crate::client::Client;
use crate::forge::ForgeModel;
use crate::git::{Git, Patch};
use crate::ports::health::Diary;
use crate::ports::schedules::Timetable;
use crate::ports::steps::Commands;
use crate::ports::vault::Shots;
use crate::rng::Rng;
use crate::trouble::Stir;
use shopfloor_core::effect::{CiVerdict, EntryEnd};
use shopfloor_core::ids::{EntryId, Epoch, JobId, PrNumber, ProjectName, RunId, Sha, Target};
use shopfloor_core::policy::Policy;
use shopfloor_core::time::Time;
use shopfloor_engine::ports::{Final, PortError, PortResult, Tree};
use shopfloor_store::memory::MemoryStore;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The panic that stands for the daemon's death.
pub struct Crash;

/// A fake that is wrong on purpose, to check that the invariants notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutation {
    PublishWithoutCas,
    RemoveWithoutRescue,
    CommentWithoutMarker,
    /// The forge makes an issue again that it has made.
    IssueWithoutMarker,
    ForgetACommit,
    SecondPr,
    StartWithoutAdopting,
    LyingChecks,
    OneNameForAllTrees,
    EndsAnything,
    TypesWithoutLooking,
    AnswersWithoutLooking,
    IgnoresConfirmations,
    ForgetsTheRecord,
    /// Confirmations count as read before they were reported.
    KeepsTheSpoolTooSoon,
    PruneTheOnlyCopy,
    /// A reviewer's result for one head is taken for the next one's.
    TakesAnyResult,
    /// Forgets that a command was begun.
    ForgetsTheCommand,
    /// Every change has the same name, so an approval of one holds for all.
    EveryChangeIsTheSame,
    /// What a change does to protected files is not seen.
    HidesWhatIsProtected,
    /// What a person took off a branch comes back with another branch that was begun there.
    BringsBackWhatWasRemoved,
    /// A publication that was carried out is carried out again.
    ForgetsWhatItPublished,
    /// Whoever asks for what is a person's gets it.
    AsksNobodyWhoTheyAre,
    /// A run's command that has ended is run again.
    RunsStepsAgain,
    /// Forgets that what the vault was asked for was begun.
    ForgetsTheFire,
    /// An entry of the supervisor's journal that is there is written again.
    WritesEntriesTwice,
}

/// How rough the world is, per 1,000 port calls.
#[derive(Clone, Copy, Debug, Default)]
pub struct Weather {
    pub transient: u32,
    pub permanent: u32,
    /// How often an agent does something in the middle of an effect.
    pub interleave: u32,
}

/// For hours, most or all calls to some or all ports fail. Then it is over.
#[derive(Clone, Copy, Debug)]
pub struct Storm {
    pub from: Time,
    pub until: Time,
    pub permille: u32,
    /// If set, only some kinds of calls: one in that many, chosen by their names.
    pub only: Option<(u32, u32)>,
}

impl Storm {
    fn hits(&self, name: &str) -> bool {
        let kind: u32 = name.bytes().map(u32::from).sum();
        self.only.is_none_or(|(which, of)| kind % of == which)
    }
}

/// A passed run of the checks.
#[derive(Clone, Debug)]
pub struct GreenRun {
    pub commit: u32,
    pub run: RunId,
    /// The target it was checked for.
    pub target: Option<Target>,
}

/// A person took commits, which the queue had known, off a branch that work lands on.
#[derive(Clone, Debug)]
pub struct Rewind {
    pub branch: String,
    /// Before which move that happened.
    pub at: usize,
    /// The commits taken off, without those that a person has put back.
    pub removed: BTreeSet<u32>,
    /// Nobody has accepted it yet.
    pub open: bool,
}

/// What is around one project. The worlds of a floor share its clock, and nothing else.
pub struct World {
    /// What people have asked for with commands, as the journal will have it, and how often it has not yet.
    pub by_people: BTreeMap<String, u32>,
    pub project: ProjectName,
    /// Whether there are other projects on the floor.
    pub several: bool,
    /// The floor's store, for whoever prunes it.
    pub store: Option<MemoryStore>,
    pub now: Time,
    pub rng: Rng,
    pub policy: Policy,
    pub weather: Weather,
    pub storm: Option<Storm>,
    pub mutation: Option<Mutation>,
    pub git: Git,
    pub forge: ForgeModel,
    pub procs: BTreeMap<Epoch, Proc>,
    /// The terminals of sessions whose messages are typed.
    pub clients: BTreeMap<Epoch, Client>,
    /// What reviewers really said about which commit.
    pub verdicts: BTreeSet<(Epoch, Sha, &'static str)>,
    /// The change of each head that was published.
    pub patches: BTreeMap<u32, Patch>,
    /// How often an agent's review of each was asked for.
    pub reviews_asked: BTreeMap<PrNumber, u32>,
    pub green: Vec<GreenRun>,
    /// How often the checks of a commit failed.
    pub red_runs: BTreeMap<u32, u32>,
    /// Runs of the checks nobody wants any more.
    pub cancelled: BTreeSet<RunId>,
    /// Sessions that were ended, in order.
    pub ended: Vec<Epoch>,
    /// Commands about the end of an entry that are recorded as begun, and how often each was begun.
    pub begun: BTreeSet<(EntryId, EntryEnd)>,
    pub told: BTreeMap<(EntryId, EntryEnd), u32>,
    /// The commands of runs.
    pub commands: Commands,
    pub timetable: Timetable,
    /// What the supervisor put on record.
    pub diary: Diary,
    /// What the vault was asked for.
    pub shots: Shots,
    /// What people want carried out is drawn from here: the other draws of a seed stay what they were.
    pub wishes: Rng,
    /// And what agents have done with commands.
    pub deeds: Rng,
    /// And how the machine is, and what people make of that.
    pub nerves: Rng,
    /// What was escalated: for which job, why, and about what.
    pub escalated: BTreeSet<(JobId, String, String)>,
    /// Worktrees in which the setup was run, how often, and the port of each.
    pub set_up: BTreeMap<Tree, (u32, u16)>,
    /// What the setup's command says if it does not work.
    pub setup_fails: Option<String>,
    /// How each run of the checks ended.
    pub finished: BTreeMap<RunId, CiVerdict>,
    /// The newest publication in the log of each branch that work lands on.
    pub published: BTreeMap<String, (u32, u32, Vec<EntryId>)>,
    /// A publication was made, and its answer was lost.
    pub unanswered: bool,
    /// What people took off such branches.
    pub rewinds: Vec<Rewind>,
    /// The target that a person's branch is for, and the branches that it says it has to land after.
    pub wanted: BTreeMap<String, Option<Target>>,
    pub after: BTreeMap<String, Vec<String>>,
    /// The same as they were when the branch was queued, by its name and head.
    pub asked: BTreeMap<(String, u32), Option<Target>>,
    pub asked_after: BTreeMap<(String, u32), Vec<String>>,
    /// Entries that a person wants merged, whatever they are waiting for.
    pub asked_anyway: BTreeSet<EntryId>,
    /// Branches that a person will queue, and delete.
    pub to_queue: Vec<(Time, String)>,
    pub deletions: Vec<(Time, String)>,
    /// When the key that signs commits is unavailable.
    pub keyless: Option<std::ops::Range<Time>>,
    /// Calls until the daemon dies, if it is to die.
    pub crash_in: Option<u64>,
    /// At how many places it could have died.
    pub crash_points: u64,
    /// Counts the attempts at effects.
    pub attempt: u64,
    /// What wants to be scheduled: agents to act, sessions to be looked at.
    pub agent_acts: Vec<(Time, Epoch)>,
    pub notices: BTreeSet<Epoch>,
    /// What is going to happen at terminals, and where something did.
    pub stirs: Vec<(Time, Epoch, Stir)>,
    pub stirred: BTreeSet<Epoch>,
    pub trace: Vec<String>,
    pub coverage: BTreeMap<&'static str, u64>,
    pub violations: Vec<String>,
    /// When the agents' client is not installed.
    gone: Option<std::ops::Range<Time>>,
    /// Until when the command of reviewers that are not typed to cannot be run.
    reviews_broken: Time,
}

impl World {
    pub fn new(seed: u64, policy: Policy, mutation: Option<Mutation>) -> Self {
        World {
            by_people: BTreeMap::new(),
            project: "sim".parse().expect("a valid name"),
            several: false,
            store: None,
            now: Time(1_000_000),
            rng: Rng::new(seed),
            policy,
            weather: Weather::default(),
            storm: None,
            mutation,
            git: Git::default(),
            forge: ForgeModel::new(seed),
            procs: BTreeMap::new(),
            clients: BTreeMap::new(),
            verdicts: BTreeSet::new(),
            patches: BTreeMap::new(),
            reviews_asked: BTreeMap::new(),
            green: Vec::new(),
            red_runs: BTreeMap::new(),
            cancelled: BTreeSet::new(),
            ended: Vec::new(),
            begun: BTreeSet::new(),
            told: BTreeMap::new(),
            escalated: BTreeSet::new(),
            commands: Commands::default(),
            timetable: Timetable::default(),
            diary: Diary::default(),
            shots: Shots::default(),
            wishes: Rng::new(seed ^ 0xf0_4111a),
            deeds: Rng::new(seed ^ 0xdeed),
            nerves: Rng::new(seed ^ 0x4ea1),
            set_up: BTreeMap::new(),
            setup_fails: None,
            finished: BTreeMap::new(),
            published: BTreeMap::new(),
            unanswered: false,
            rewinds: Vec::new(),
            wanted: BTreeMap::new(),
            after: BTreeMap::new(),
            asked: BTreeMap::new(),
            asked_after: BTreeMap::new(),
            asked_anyway: BTreeSet::new(),
            to_queue: Vec::new(),
            deletions: Vec::new(),
            keyless: None,
            crash_in: None,
            crash_points: 0,
            attempt: 0,
            agent_acts: Vec::new(),
            notices: BTreeSet::new(),
            stirs: Vec::new(),
            stirred: BTreeSet::new(),
            trace: Vec::new(),
            coverage: BTreeMap::new(),
            violations: Vec::new(),
            gone: gone(seed),
            reviews_broken: Time(0),
        }
    }

    /// Whether the agents' client is not installed just now.
    pub fn client_is_gone(&self) -> bool {
        self.gone.as_ref().is_some_and(|gone| gone.contains(&self.now))
    }

    pub fn key_is_away(&self) -> bool {
        self.keyless.as_ref().is_some_and(|away| away.contains(&self.now))
    }

    /// The branches that work lands on.
    pub fn landed_on(&self) -> Vec<Option<Target>> {
        let targets = self.policy.targets.iter().map(|t| Some(t.branch.clone()));
        std::iter::once(None).chain(targets).collect()
    }

    /// One of them that exists, usually the primary one.
    pub fn some_target(&mut self) -> Option<Target> {
        let there: Vec<Option<Target>> =
            self.landed_on().into_iter().filter(|t| self.git.tip(t.as_ref()).is_some()).collect();
        if there.len() == 1 || self.rng.permille(500) {
            return None;
        }
        self.rng.pick(&there).cloned().flatten()
    }

    /// Whether a reviewer's command ends as soon as it is started. That lasts for a while.
    pub fn review_is_broken(&mut self) -> bool {
        if self.now >= self.reviews_broken && self.rng.permille(30) {
            self.reviews_broken = self.now + Duration::from_secs(self.rng.range(60, 7200));
        }
        self.now < self.reviews_broken
    }

    pub fn say(&mut self, text: impl AsRef<str>) {
        let whose = if self.several { format!("[{}] ", self.project) } else { String::new() };
        let line = format!("{:>12} {whose}{}", self.now.0 - 1_000_000, text.as_ref());
        self.trace.push(line);
    }

    pub fn saw(&mut self, what: &'static str) {
        *self.coverage.entry(what).or_default() += 1;
    }

    pub fn broken(&mut self, invariant: &str, text: impl AsRef<str>) {
        let line = format!("{invariant}: {}", text.as_ref());
        self.say(format!("VIOLATION {line}"));
        self.violations.push(line);
    }

    pub fn is(&self, mutation: Mutation) -> bool {
        self.mutation == Some(mutation)
    }

    /// A place where the daemon may die.
    pub fn crash_point(&mut self, place: &str, kind: &'static str) {
        self.crash_points += 1;
        let Some(left) = &mut self.crash_in else { return };
        *left -= 1;
        if *left == 0 {
            self.crash_in = None;
            self.say(format!("CRASH {kind} {place}"));
            self.saw(kind);
            std::panic::panic_any(Crash);
        }
    }

    fn fault(&mut self, name: &str) -> PortResult<()> {
        if self.rng.permille(self.weather.permanent) {
            self.say(format!("fault: {name} will never work"));
            self.saw("fault permanent");
            return Err(PortError::permanent(Final::Refused, format!("{name} is refused (simulated)")));
        }
        if let Some(storm) = self.storm.filter(|s| s.from <= self.now && self.now < s.until && s.hits(name))
            && self.rng.permille(storm.permille)
        {
            self.saw("storm");
            return Err(PortError::transient(format!("{name} failed (simulated)")));
        }
        if self.rng.permille(self.weather.transient) {
            self.say(format!("fault: {name} fails"));
            self.saw("fault transient");
            return Err(PortError::transient(format!("{name} failed (simulated)")));
        }
        Ok(())
    }
}

/// The world, as shared by all fakes and the driver.
#[derive(Clone)]
pub struct Shared(Arc<Mutex<World>>);

impl Shared {
    pub fn new(world: World) -> Self {
        Shared(Arc::new(Mutex::new(world)))
    }

    pub fn lock(&self) -> MutexGuard<'_, World> {
        // A crash inside a call poisons the lock. That is what is simulated.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One port call: what `act` does, and everything that can go wrong around it.
    pub fn call<T>(&self, name: &str, act: impl FnOnce(&mut World) -> PortResult<T>) -> PortResult<T> {
        let mut world = self.lock();
        world.crash_point(name, "crash before a port call");
        let roll = world.weather.interleave;
        if world.rng.permille(roll) {
            world.fidget();
        }
        world.fault(name)?;
        let done = act(&mut world)?;
        world.unanswered = name == "publish";
        world.crash_point(name, "crash after a port call");
        let lost = world.weather.transient / 3;
        if world.rng.permille(lost) {
            world.say(format!("fault: the answer of {name} is lost"));
            world.saw("fault lost answer");
            return Err(PortError::transient(format!("{name}: no answer (simulated)")));
        }
        world.unanswered = false;
        Ok(done)
    }
}

/// The worlds of all projects of a floor; first the one that the floor's own store is in.
#[derive(Clone)]
pub struct Worlds(Arc<Vec<(ProjectName, Shared)>>);

impl Worlds {
    pub fn new(worlds: Vec<World>) -> Self {
        Worlds(Arc::new(
            worlds.into_iter().map(|world| (world.project.clone(), Shared::new(world))).collect(),
        ))
    }

    pub fn iter(&self) -> impl Iterator<Item = &Shared> {
        self.0.iter().map(|(_, world)| world)
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn first(&self) -> &Shared {
        &self.0[0].1
    }

    pub fn at(&self, number: usize) -> &Shared {
        &self.0[number].1
    }

    /// The index of a project's world.
    pub fn number(&self, project: &ProjectName) -> usize {
        self.0.iter().position(|(name, _)| name == project).expect("the floor's projects have one each")
    }

    pub fn of(&self, project: &ProjectName) -> &Shared {
        self.at(self.number(project))
    }

    pub fn now(&self) -> Time {
        self.first().lock().now
    }

    /// Sets the clock of all worlds.
    pub fn pass(&self, to: impl Fn(Time) -> Time) {
        let now = to(self.now());
        self.iter().for_each(|world| world.lock().now = now);
    }
}

/// In one world out of seven the agents' client is missing for a while, in some from the beginning.
fn gone(seed: u64) -> Option<std::ops::Range<Time>> {
    let mut rng = Rng::new(seed ^ 0x5ea7);
    if rng.below(7) != 0 {
        return None;
    }
    let begin = 1_000_000 + rng.below(2) * rng.range(1, 4 * 3_600_000);
    Some(Time(begin)..Time(begin + rng.range(1_000, 2 * 3_600_000)))
}

/// A short name of a commit for the trace.
pub fn short(sha: &Sha) -> String {
    format!("c{}", crate::git::commit_of(sha))
}
