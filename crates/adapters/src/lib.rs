//! Shopfloor's edges: the ports on real tools, one folder each.
pub mod git;
pub mod layout;
