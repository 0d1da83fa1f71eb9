use crate::floor::{Floor, branch, each, gits};
use crate::rescue::{restored, snapshot};
use shopfloor_core::effect::Tidy;
use shopfloor_core::ids::PrNumber;
use shopfloor_core::time::Time;
use shopfloor_engine::ports::Workspace;
use std::collections::BTreeSet;
use std::ffi::OsString;

fn tidy(floor: &Floor, kept: u32, named: &[&str]) -> Tidy {
    let rescues_named = named.iter().map(|name| (*name).to_owned()).collect();
    Tidy { rescues_kept: kept, rescues_named, ..floor.tidy(false) }
}

fn prune(floor: &Floor, tidy: &Tidy) -> u32 {
    floor.workspace.prune_rescues(tidy).expect("pruned")
}

fn refs(floor: &Floor) -> Vec<String> {
    let text = floor.git_in(&floor.clone_repo(), &["for-each-ref", "--format=%(refname)", "refs/rescue/"]);
    text.lines().map(str::to_owned).collect()
}

#[test]
fn only_what_another_has_goes() {
    each(|floor| {
        let dir = floor.prepare(1);
        snapshot(floor, 1);
        // 2: one file; 3: another version of it; 4: both versions, under other names.
        floor.write(&dir, "draft", "v1");
        snapshot(floor, 1);
        floor.write(&dir, "draft", "v2");
        snapshot(floor, 1);
        let all = tidy(floor, 1, &[]);
        assert_eq!(prune(floor, &all), 1, "the clean one is in the primary branch; v1 is nowhere else");
        floor.write(&dir, "a", "v1");
        floor.write(&dir, "b", "v2");
        let newest = snapshot(floor, 1);
        let of = |n: u64| format!("refs/rescue/dev-demo-1/{n}");
        assert_eq!(prune(floor, &tidy(floor, 3, &[])), 0, "within the count");
        assert_eq!(prune(floor, &tidy(floor, 1, &[&of(2), &of(3)])), 0, "a job names them");
        assert_eq!(prune(floor, &Tidy { dry_run: true, ..all.clone() }), 2);
        assert_eq!(refs(floor).len(), 3, "only counted");
        assert_eq!(prune(floor, &all), 2);
        assert_eq!(refs(floor), [of(4)]);
        let held: BTreeSet<OsString> = restored(floor, &newest).into_keys().collect();
        assert!(["a", "b", "draft"].iter().all(|name| held.contains(&OsString::from(name))));
        // The newest stays, whatever its age; and numbers go on.
        assert_eq!(prune(floor, &Tidy { rescues_before: Time(u64::MAX), ..all }), 0);
        floor.write(&dir, "c", "v3");
        assert_eq!(snapshot(floor, 1).reference, of(5));
    });
}

/// Two that each have what the other has: what goes in one pass is no reason for anything else to go in it.
#[test]
fn two_that_keep_the_same_do_not_go_for_one_another() {
    each(|floor| {
        let dir = floor.prepare(1);
        floor.write(&dir, "draft", "v1");
        snapshot(floor, 1);
        std::fs::remove_file(dir.join("draft")).expect("removed");
        floor.write(&dir, "other", "v1");
        snapshot(floor, 1);
        floor.write(&dir, "other", "v2");
        snapshot(floor, 1);
        let all = tidy(floor, 1, &[]);
        assert_eq!(prune(floor, &Tidy { dry_run: true, ..all.clone() }), 1);
        assert_eq!(prune(floor, &all), 1);
        assert_eq!(refs(floor), [2, 3].map(|n| format!("refs/rescue/dev-demo-1/{n}")), "v1 is in the second");
        assert_eq!(prune(floor, &all), 0);
    });
}

#[test]
fn commits_that_only_a_rescue_ref_has_stay() {
    each(|floor| {
        let dir = floor.prepare(1);
        let lone = floor.commit("Ada", 1, "a", "1", "reset away later");
        snapshot(floor, 1);
        floor.git_in(&dir, &["reset", "--quiet", "--hard", "HEAD^"]);
        // The same file again, but not the commit.
        floor.write(&dir, "a", "1");
        snapshot(floor, 1);
        assert_eq!(prune(floor, &tidy(floor, 1, &[])), 0);
        floor.git_in(&floor.clone_repo(), &["cat-file", "-e", lone.as_str()]);
        // On the branch it is not safe either: an agent may reset that. In the primary branch it is.
        floor.git_in(&dir, &["reset", "--quiet", "--hard", lone.as_str()]);
        assert_eq!(prune(floor, &tidy(floor, 1, &[])), 0);
        floor.git_in(&dir, &["push", "--quiet", "origin", "HEAD:main"]);
        assert_eq!(prune(floor, &tidy(floor, 1, &[])), 1);
    });
}

#[test]
fn the_newest_goes_when_it_is_old_and_others_have_all_of_it_for_good() {
    each(|floor| {
        let dir = floor.prepare(1);
        snapshot(floor, 1);
        let head = floor.commit("Ada", 1, "a", "1", "the work");
        snapshot(floor, 1);
        let of = |n: u64| format!("refs/rescue/dev-demo-1/{n}");
        let old = |named: &[&str]| Tidy { rescues_before: Time(u64::MAX), ..tidy(floor, 1, named) };
        assert_eq!(prune(floor, &old(&[])), 1, "the first, and not the one with the commit");
        floor.workspace.push(&floor.tree(1), &branch(1)).expect("pushed");
        assert_eq!(prune(floor, &old(&[])), 0, "a branch may be reset");
        floor.workspace.pin_pr(&floor.tree(1).project, PrNumber(7), &head).expect("pinned");
        assert_eq!(prune(floor, &tidy(floor, 1, &[])), 0, "it is not old");
        assert_eq!(prune(floor, &old(&[&of(2)])), 0, "a job names it");
        assert_eq!(prune(floor, &Tidy { dry_run: true, ..old(&[]) }), 1);
        assert_eq!(refs(floor), [of(2)]);
        assert_eq!(prune(floor, &old(&[])), 1);
        assert!(refs(floor).is_empty());
        // What a job was told of is never another.
        floor.write(&dir, "b", "2");
        assert_eq!(snapshot(floor, 1).reference, of(3));
        assert_eq!(prune(floor, &old(&[])), 0, "nobody else has the file");
    });
}

#[test]
fn snapshots_are_sent_to_origin_where_that_is_wanted() {
    for program in gits() {
        let mut floor = Floor::new(&program);
        let tree = floor.tree(1);
        floor.prepare(1);
        let taken = snapshot(&floor, 1);
        let on_hub = |floor: &Floor| floor.git_in(&floor.hub(), &["for-each-ref", "refs/rescue/"]);
        floor.workspace.share(&tree, &taken).expect("nothing to do");
        assert_eq!(on_hub(&floor), "");
        floor.push_rescues();
        for _ in 0..2 {
            floor.workspace.share(&tree, &taken).expect("sent");
        }
        assert_eq!(floor.head(&floor.hub(), &taken.reference), taken.commit);
        std::fs::rename(floor.hub(), floor.home.path().join("away")).expect("origin is away");
        assert!(floor.workspace.share(&tree, &taken).is_err());
    }
}
