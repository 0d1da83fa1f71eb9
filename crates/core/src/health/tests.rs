//! What is found of a machine: each threshold from both of its sides. Of work: see the state machine's tests.

use super::*;

const MB: u64 = 1_000_000;

fn machine() -> Machine {
    Machine {
        memory_available: Some(8_000 * MB),
        swap_total: Some(8_000 * MB),
        swap_free: Some(8_000 * MB),
        disk_free: Some(500_000 * MB),
        disk_total: Some(1_000_000 * MB),
        load: Some(250),
        cpus: Some(2),
        memory_pressure: Some(0),
    }
}

fn found(machine: Machine) -> Vec<String> {
    let measured = Measured { machine, ..Measured::default() };
    let found = of_machine(&measured, &MachineLimits::default());
    found.into_iter().map(|finding| format!("{} {}", finding.priority, finding.key)).collect()
}

#[test]
fn a_machine_that_is_well_has_no_findings_and_one_that_nobody_can_measure_neither() {
    assert_eq!(found(machine()), Vec::<String>::new());
    assert_eq!(found(Machine::default()), Vec::<String>::new());
}

#[test]
fn memory_is_a_crisis_below_500_mb_or_when_much_of_it_is_swapped_out() {
    let with = |available: u64, swapped: u64| {
        let swap_free = Some((8_000 - swapped) * MB);
        found(Machine { memory_available: Some(available * MB), swap_free, ..machine() })
    };
    assert_eq!(with(500, 0), Vec::<String>::new());
    assert_eq!(with(499, 0), ["P0 memory"]);
    assert_eq!(with(1_999, 3_000), Vec::<String>::new());
    assert_eq!(with(1_999, 3_001), ["P0 memory"]);
    assert_eq!(with(2_000, 3_001), Vec::<String>::new());
}

#[test]
fn a_disk_is_urgent_above_80_per_cent_and_a_crisis_above_95() {
    let with = |used: u64| found(Machine { disk_free: Some((1_000_000 - used * 10_000) * MB), ..machine() });
    assert_eq!(with(80), Vec::<String>::new());
    assert_eq!(with(81), ["P1 disk"]);
    assert_eq!(with(95), ["P1 disk"]);
    assert_eq!(with(96), ["P0 disk"]);
}

#[test]
fn load_and_pressure_are_no_crisis_by_themselves() {
    assert_eq!(found(Machine { load: Some(800), ..machine() }), Vec::<String>::new());
    assert_eq!(found(Machine { load: Some(802), ..machine() }), ["P3 load"]);
    assert_eq!(found(Machine { memory_pressure: Some(401), ..machine() }), ["P3 pressure"]);
}

#[test]
fn zero_switches_a_threshold_off() {
    let measured = Measured {
        machine: Machine {
            memory_available: Some(1),
            swap_free: Some(0),
            disk_free: Some(0),
            load: Some(100_000),
            memory_pressure: Some(1_000),
            ..machine()
        },
        ..Measured::default()
    };
    let none = MachineLimits {
        memory_mb: 0,
        swap_mb: 0,
        swap_memory_mb: 0,
        disk_percent: 0,
        disk_full_percent: 0,
        load: 0,
        pressure_percent: 0,
    };
    assert_eq!(of_machine(&measured, &none), Vec::new());
}

#[test]
fn what_a_container_is_called_cannot_reach_a_terminal_as_it_is() {
    let unhealthy = vec!["web\u{1b}[2J\nroot".to_owned()];
    let measured = Measured { containers: Some(Containers { count: 3, unhealthy }), ..Measured::default() };
    let [finding] = &of_machine(&measured, &MachineLimits::default())[..] else { panic!("one finding") };
    assert_eq!((finding.key.as_str(), finding.priority), ("containers", Priority::P2));
    assert!(!finding.what.contains('\u{1b}') && !finding.what.contains('\n'), "{}", finding.what);
}

#[test]
fn keys_are_stable_and_nothing_else_is_one() {
    for good in ["disk", "ci.pending", "pr.12.review", "effect.run_ci", "queue.main.age"] {
        assert_eq!(good.parse::<FindingKey>().map(|key| key.to_string()).as_deref(), Ok(good));
    }
    for bad in ["", "1a", "A", "a b", "../x", "a\u{1b}", &"a".repeat(65)] {
        assert!(bad.parse::<FindingKey>().is_err(), "{bad:?}");
    }
    assert_eq!(FindingKey::of("queue.release/1.x.age").as_str(), "queue.release_1.x.age");
}
