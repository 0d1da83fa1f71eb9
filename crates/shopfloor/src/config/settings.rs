//! How settings of a project's configuration go with those of its policy: one line says which is which. Its default
//! comes from the policy's, and what the file says goes there.

use super::duration::Span;
use shopfloor_core::policy::{
    CheckCommits, HeadChecks, MergeBatch, MergeMethod, OnAlreadyDone, OnFailed, ReviewPeople,
};
use std::time::Duration;

/// A setting as the file has it, of one as the policy has it.
pub(super) trait Setting<P>: Clone {
    fn of(policy: P) -> Self;
    fn for_policy(self) -> P;
}

macro_rules! as_it_is {
    ($($kind:ty),*) => {
        $(impl Setting<$kind> for $kind {
            fn of(policy: $kind) -> Self {
                policy
            }

            fn for_policy(self) -> $kind {
                self
            }
        })*
    };
}
as_it_is!(
    bool,
    u32,
    CheckCommits,
    HeadChecks,
    MergeBatch,
    MergeMethod,
    OnAlreadyDone,
    OnFailed,
    ReviewPeople
);

impl Setting<usize> for u32 {
    fn of(policy: usize) -> Self {
        u32::try_from(policy).unwrap_or(u32::MAX)
    }

    fn for_policy(self) -> usize {
        self as usize
    }
}

impl Setting<Duration> for Span {
    fn of(policy: Duration) -> Self {
        Span(policy)
    }

    fn for_policy(self) -> Duration {
        self.0
    }
}

/// `settings!(Section { field: policy_field, … } and { field: default, … })`: the second are no business of the
/// core's.
macro_rules! settings {
    ($section:ident { $($field:ident: $of:ident),* $(,)? } and { $($own:ident: $default:expr),* $(,)? }) => {
        impl Default for $section {
            fn default() -> Self {
                let policy = shopfloor_core::policy::Policy::default();
                $section {
                    $($field: crate::config::settings::Setting::of(policy.$of),)*
                    $($own: $default,)*
                }
            }
        }

        impl $section {
            pub(super) fn decide(&self, policy: &mut shopfloor_core::policy::Policy) {
                $(policy.$of = crate::config::settings::Setting::for_policy(self.$field.clone());)*
            }
        }
    };
}
pub(super) use settings;
