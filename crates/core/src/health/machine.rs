//! What is found of the machine.

use super::{Concern, Finding, Machine, MachineLimits, Measured, Priority, Remedy};
use crate::text::{one_line, size};

const MEGABYTE: u64 = 1_000_000;
const NAMED: usize = 5;

/// What is wrong with the machine, most urgent first.
pub fn of_machine(measured: &Measured, limits: &MachineLimits) -> Vec<Finding> {
    let machine = &measured.machine;
    let all = [
        memory(machine, limits),
        disk(machine, limits),
        containers(measured),
        load(machine, limits),
        pressure(machine, limits),
    ];
    let mut found: Vec<Finding> = all.into_iter().flatten().collect();
    found.sort_by_key(|finding| finding.priority);
    found
}

/// An agent needs memory itself: none is started because there is none.
fn memory(machine: &Machine, limits: &MachineLimits) -> Option<Finding> {
    let available = machine.memory_available?;
    let swap = machine.swap_total.unwrap_or(0).saturating_sub(machine.swap_free.unwrap_or(0));
    let less_than = |mb: u32| available < u64::from(mb) * MEGABYTE;
    let swapping =
        limits.swap_mb > 0 && swap > u64::from(limits.swap_mb) * MEGABYTE && less_than(limits.swap_memory_mb);
    if !less_than(limits.memory_mb) && !swapping {
        return None;
    }
    let what = format!("{} of memory are available, {} of swap are in use", size(available), size(swap));
    let found = Finding::new("memory", Priority::P0, Concern::People, &what);
    Some(found.with("memory_available", available).with("swap_used", swap))
}

fn disk(machine: &Machine, limits: &MachineLimits) -> Option<Finding> {
    let (free, total) = (machine.disk_free?, machine.disk_total.filter(|total| *total > 0)?);
    let used = (u128::from(total.saturating_sub(free)) * 100 / u128::from(total)) as u64;
    let more_than = |percent: u32| percent > 0 && used > u64::from(percent);
    let priority = match () {
        () if more_than(limits.disk_full_percent) => Priority::P0,
        () if more_than(limits.disk_percent) => Priority::P1,
        () => return None,
    };
    let what = format!("{used} % of the floor's disk are in use, {} are free", size(free));
    let found = Finding::new("disk", priority, Concern::Agent, &what);
    Some(found.with("used_percent", used).with("disk_free", free).remedy(Remedy::Tidy))
}

fn containers(measured: &Measured) -> Option<Finding> {
    let containers = measured.containers.as_ref().filter(|all| !all.unhealthy.is_empty())?;
    let named: Vec<String> = containers.unhealthy.iter().take(NAMED).map(|name| one_line(name, 40)).collect();
    let unhealthy = containers.unhealthy.len() as u64;
    let what = format!("{unhealthy} of {} containers are unhealthy: {}", containers.count, named.join(", "));
    let found = Finding::new("containers", Priority::P2, Concern::Agent, &what);
    Some(found.with("containers", containers.count).with("unhealthy", unhealthy))
}

fn load(machine: &Machine, limits: &MachineLimits) -> Option<Finding> {
    let (load, cpus) = (machine.load?, machine.cpus?.max(1));
    let each = load / cpus;
    if limits.load == 0 || each <= u64::from(limits.load) * 100 {
        return None;
    }
    let what = format!("the load is {}.{:02} for each of {cpus} cores", each / 100, each % 100);
    let found = Finding::new("load", Priority::P3, Concern::People, &what);
    Some(found.with("load_hundredths", load).with("cpus", cpus))
}

fn pressure(machine: &Machine, limits: &MachineLimits) -> Option<Finding> {
    let waited = machine.memory_pressure?;
    if limits.pressure_percent == 0 || waited <= u64::from(limits.pressure_percent) * 10 {
        return None;
    }
    let what = format!("something waits for memory {} % of the time", waited / 10);
    let found = Finding::new("pressure", Priority::P3, Concern::People, &what);
    Some(found.with("memory_pressure_permille", waited))
}
