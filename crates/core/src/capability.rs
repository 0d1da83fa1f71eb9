//! What a session may ask of the factory with commands. What it signals, writes and commits needs none of these: that is
//! its own. Everything that no capability covers is a person's to do.

/// Bound to the session's assignment: its project, its issue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capability {
    /// Take the messages that wait for it.
    Inbox,
    /// Say how far its run is.
    Step,
    /// Read its project's issues, pull requests and checks, and where everything stands.
    Look,
    /// Comment on its own issue.
    Comment,
    /// Add an issue that starts nothing.
    Propose,
    /// Ask the vault for something, which a person or its type decides about.
    Request,
}

impl Capability {
    /// For whoever was refused.
    pub fn means(self) -> &'static str {
        match self {
            Capability::Inbox => "take messages",
            Capability::Step => "say how far its run is",
            Capability::Look => "look at its project",
            Capability::Comment => "comment on its own issue",
            Capability::Propose => "add an issue without a label",
            Capability::Request => "ask the vault for something",
        }
    }
}
