//! What must hold at every step, by name.

use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Invariant {
    NothingIsLost,
    OneHolder,
    NoLateSettlement,
    SettlementLands,
    IdsGrow,
    BoundaryOnce,
    CatchUpBounded,
    OnlyTheLeaderFires,
    OneLockHolder,
    DeadlineNeverLate,
    SetBackMovesAll,
    ClockInside,
    AsTheContractSays,
    NoAnswerBeforeItsCommit,
    FailureNeverLooksEmpty,
    FailureHasACause,
    AnswersAreTrue,
    Drains,
    NothingPanics,
}

impl fmt::Display for Invariant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NothingIsLost => "no acknowledged job is lost",
            Self::OneHolder => "a job is never validly held by two",
            Self::NoLateSettlement => "no late settlement lands",
            Self::SettlementLands => "a settlement within its lease lands",
            Self::IdsGrow => "ids grow",
            Self::BoundaryOnce => "a boundary fires once",
            Self::CatchUpBounded => "catch-up is bounded",
            Self::OnlyTheLeaderFires => "only the leader fires",
            Self::OneLockHolder => "a lock has one holder",
            Self::DeadlineNeverLate => "a deadline is never late",
            Self::SetBackMovesAll => "a clock set back moves every derived deadline",
            Self::ClockInside => "the clock is read inside the transaction",
            Self::AsTheContractSays => "an operation does what the contract says",
            Self::NoAnswerBeforeItsCommit => "no answer comes before its commit",
            Self::FailureNeverLooksEmpty => "a store that fails never looks empty",
            Self::FailureHasACause => "an operation fails only if the storage did",
            Self::AnswersAreTrue => "an answer is what was committed",
            Self::Drains => "after the last fault everything drains",
            Self::NothingPanics => "nothing panics",
        })
    }
}

/// An invariant that did not hold, and how.
#[derive(Clone, Debug)]
pub struct Violation {
    pub invariant: Invariant,
    pub how: String,
}

impl Violation {
    pub const fn new(invariant: Invariant, how: String) -> Self {
        Self { invariant, how }
    }
}
