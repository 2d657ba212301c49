//! An operation as a script that a storage runs inside one of its transactions.

use super::error::Error;
use super::scope::Scope;
use super::view::View;

/// One operation: asks for rows, then decides. Its outcome stays in itself.
///
/// A storage answers the [`opening`](Script::opening) question, if there is one, in the view, then
/// calls [`step`](Script::step) until it answers [`Step::Done`], answering each [`Step::Ask`]. Changes
/// written to the view reach the next answer, so a script refuses before its first write, never after it.
pub trait Script<P> {
    /// The first question: known before the instant of the operation is, so that a storage can ask
    /// for these rows together with its own. Called once, before anything else.
    ///
    /// One that has none asks for nothing at all. A storage may step it before it has read a row, and if that transaction comes
    /// to nothing once more, in another: [`View::is_trial`] says so.
    fn opening(&mut self) -> Option<Scope> {
        None
    }

    /// Goes on with what the view holds. Must not block, call out or read a clock.
    fn step(&mut self, view: &mut View<P>) -> Step;

    /// A storage that can answer others cannot answer this one: a row is damaged. Nothing of the script has been written,
    /// nor will be.
    ///
    /// # Errors
    /// `error`, which nobody keeps for whoever waits for the script: all that share its transaction fail then.
    fn fail(&mut self, error: Error) -> Result<(), Error> {
        Err(error)
    }
}

/// What a script wants next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// These rows, in one round.
    Ask(Scope),
    /// Nothing: its changes may be committed.
    Done,
}
