//! The vault: nothing is carried out twice, or without whom it takes, and no request waits for ever.

use super::Checker;
use crate::world::World;
use shopfloor_core::effect::Action;
use shopfloor_core::ids::RequestNumber;
use shopfloor_core::state::{Floor, RequestEventKind, RequestState};
use shopfloor_store::OutboxEffect;
use std::collections::BTreeMap;
use std::time::Duration;

const ONCE: &str = "4 effects are idempotent";
const DEADLINE: &str = "7 every wait has a deadline";
const BOUNDED: &str = "9 everything is bounded";
const OPEN_MAX: usize = 20;
const WITHIN: Duration = Duration::from_secs(48 * 3600);

impl Checker {
    pub(super) fn the_vault_is_kept(&self, world: &mut World, floor: &Floor, outbox: &[OutboxEffect]) {
        let mut broken = Vec::new();
        let mut orders: BTreeMap<RequestNumber, u32> = BTreeMap::new();
        for ((request, attempt), (times, again)) in &world.shots.fired {
            if *times > 1 && !again {
                broken.push((
                    ONCE,
                    format!("request {request}, attempt {attempt}, was carried out {times} times"),
                ));
            }
            *orders.entry(*request).or_default() += 1;
        }
        for (request, orders) in orders {
            let words = world.shots.words.get(&request).copied().unwrap_or_default();
            if orders > words + 1 {
                let text = format!("request {request} was ordered {orders} times, and people said {words}");
                broken.push((ONCE, text));
            }
        }
        for request in floor.requests.iter() {
            let number = request.number;
            let is_fired =
                |q: &OutboxEffect| matches!(&*q.action, Action::Fire(fire) if fire.request == number);
            match &request.state {
                RequestState::Waiting { since, due, .. } if *due > *since + WITHIN => {
                    broken.push((DEADLINE, format!("request {number} waits for longer than it may")));
                }
                RequestState::Firing { .. } if !outbox.iter().any(is_fired) => {
                    broken.push((DEADLINE, format!("request {number} is carried out by nobody")));
                }
                _ => {}
            }
            if request.is_live() != request.due().is_some() {
                broken.push((DEADLINE, format!("request {number} has no deadline, or one too many")));
            }
            let asked = request.history.first().is_none_or(|deed| deed.what != RequestEventKind::Asked);
            if asked {
                broken.push((DEADLINE, format!("nobody knows who made request {number}")));
            }
        }
        if floor.requests.iter().filter(|request| request.is_live()).count() > OPEN_MAX {
            broken.push((BOUNDED, "too many requests are open".to_owned()));
        }
        for (invariant, text) in broken {
            world.broken(invariant, text);
        }
    }

    /// Days later.
    pub(super) fn no_request_is_left(&self, world: &mut World, floor: &Floor) {
        if let Some(request) = floor.requests.iter().find(|request| request.is_live()) {
            world.broken(DEADLINE, format!("request {} is still {}", request.number, request.state_name()));
        }
    }
}
