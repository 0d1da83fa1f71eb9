//! What the vault is asked for: commands that usually work, whose types people declare otherwise now and then.

use crate::world::{Mutation, Shared, World};
use shopfloor_core::effect::outcome::Amount;
use shopfloor_core::effect::{Fire, Fired, Tidy};
use shopfloor_core::ids::{RequestNumber, RequestType};
use shopfloor_core::vault::{Route, Spec};
use shopfloor_engine::ports::{PortResult, Vault};
use std::collections::{BTreeMap, BTreeSet};

pub struct FakeVault(pub Shared);

type Key = (RequestNumber, u32);

/// What was carried out, and what people said before.
#[derive(Default)]
pub struct Shots {
    /// The types, as `floor.toml` has them now.
    pub declared: BTreeMap<RequestType, Spec>,
    /// Whether a variable that a type gets is not set just now.
    pub unset: bool,
    begun: BTreeSet<Key>,
    answers: BTreeMap<Key, Fired>,
    /// How often each order was carried out, and whether it may be more than once.
    pub fired: BTreeMap<Key, (u32, bool)>,
    /// How often a person said of a request that it may be carried out.
    pub words: BTreeMap<RequestNumber, u32>,
}

impl Vault for FakeVault {
    fn fire(&self, fire: &Fire) -> PortResult<Fired> {
        self.0.call("fire", |world| {
            let key = (fire.request, fire.attempt);
            let forgets = world.is(Mutation::ForgetsTheFire);
            if let Some(known) = world.shots.answers.get(&key).filter(|_| !forgets) {
                return Ok(known.clone());
            }
            if world.shots.begun.contains(&key) && !fire.spec.idempotent && !forgets {
                world.saw("fire cut short");
                let fired = Fired::CutShort { output: "half".into() };
                world.shots.answers.insert(key, fired.clone());
                return Ok(fired);
            }
            let declared = world.shots.declared.get(&fire.r#type).cloned();
            if declared.as_ref() != Some(&fire.spec) {
                world.saw("type declared otherwise");
                return Ok(Fired::Changed { spec: declared.map(Box::new) });
            }
            if world.shots.unset {
                world.saw("fire not begun");
                return Ok(Fired::NotBegun { why: "TOKEN is not set".into() });
            }
            world.shots.begun.insert(key);
            // Between the record and the start, and between the start and the answer.
            world.crash_point("fire", "crash inside a port call");
            shoot(world, fire);
            world.crash_point("fire", "crash inside a port call");
            let code = i32::from(world.wishes.permille(200));
            let fired =
                Fired::Ended { code: Some(code), how: format!("exit code {code}"), output: "said".into() };
            world.shots.answers.insert(key, fired.clone());
            Ok(fired)
        })
    }

    fn prune(&self, _: &Tidy) -> PortResult<Amount> {
        self.0.call("prune_fires", |_| Ok(Amount::default()))
    }
}

fn shoot(world: &mut World, fire: &Fire) {
    let again = fire.spec.idempotent;
    let (times, _) = world.shots.fired.entry((fire.request, fire.attempt)).or_insert((0, again));
    *times += 1;
    world.saw("fired");
    world.say(format!("fires request {}, attempt {}", fire.request, fire.attempt));
    let words = world.shots.words.get(&fire.request).copied().unwrap_or_default();
    if fire.spec.route() == Route::Ask && words == 0 {
        let text = format!("request {} was carried out without a person's word", fire.request);
        world.broken("11 an agent is not a person", text);
    }
}
