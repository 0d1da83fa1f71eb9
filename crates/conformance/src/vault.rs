//! What every [`Vault`] does.

use shopfloor_core::effect::{Fire, Fired};
use shopfloor_core::ids::{ProjectName, RequestNumber, RequestType};
use shopfloor_core::vault::{Risk, Spec};
use shopfloor_engine::ports::Vault;
use std::time::Duration;

/// A vault with one type, `deploy`, whose command says that it was run.
pub trait VaultWorld {
    fn vault(&self) -> &dyn Vault;
    fn project(&self) -> ProjectName;
    /// Declares the type so; `None`: not at all.
    fn declare(&self, spec: Option<Spec>);
    /// The command.
    fn command(&self) -> Vec<String>;
    /// How often it was run.
    fn fired(&self) -> usize;
}

pub fn deploy() -> RequestType {
    "deploy".parse().expect("a name")
}

fn spec(world: &impl VaultWorld) -> Spec {
    Spec {
        run: world.command(),
        risk: Risk::Low,
        reversible: true,
        requires_human: false,
        idempotent: false,
        secrets: Vec::new(),
        timeout: Duration::from_secs(60),
        cwd: None,
        schema: None,
    }
}

fn order(world: &impl VaultWorld, attempt: u32) -> Fire {
    Fire {
        project: world.project(),
        request: RequestNumber(3),
        attempt,
        r#type: deploy(),
        spec: spec(world),
        command: world.command(),
        payload: "{}".to_owned(),
        by: "ann".to_owned(),
    }
}

pub fn an_order_is_carried_out_once(world: &impl VaultWorld) {
    world.declare(Some(spec(world)));
    let fire = |attempt| world.vault().fire(&order(world, attempt)).expect("answered");
    let first = fire(1);
    assert!(matches!(first, Fired::Ended { .. }), "{first:?}");
    assert_eq!((fire(1), world.fired()), (first, 1), "performed again");
    fire(2);
    assert_eq!(world.fired(), 2, "another order");
}

pub fn what_is_declared_otherwise_is_not_begun(world: &impl VaultWorld) {
    let fire = || world.vault().fire(&order(world, 1)).expect("answered");
    world.declare(None);
    assert_eq!(fire(), Fired::Changed { spec: None });
    let other = Spec { timeout: Duration::from_secs(61), ..spec(world) };
    world.declare(Some(other.clone()));
    assert_eq!((fire(), world.fired()), (Fired::Changed { spec: Some(Box::new(other)) }, 0));
    world.declare(Some(spec(world)));
    fire();
    assert_eq!(world.fired(), 1);
}
