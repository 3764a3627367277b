//! The lookout: notices that an address leads to another primary, while some of its connections stay at the one before.
//!
//! A name, or a balancer's address, goes on to the new primary; connections stay where they are as long as the old
//! one lives on, as its copy or as if nothing had happened. That one answers whoever reads, so nobody is cut off before
//! another has been seen. One line may be made again there, for a reason of its own, and the others would stay behind:
//! so each line that is made again raises the doubt, as a refused write does, and all of them are looked at. Two servers,
//! or a line that is silent, are looked at until they are one and it speaks: nothing else may ever ask again.

use std::sync::Arc;
use std::time::Duration;

use fred::clients::Client;
use fred::error::{Error, ErrorKind};
use fred::types::{ClusterHash, CustomCommand};
use tokio::sync::Notify;
use tokio::time::sleep_until;

use super::client::{Line, ask};
use super::keeper::{Task, visit};
use super::redirect::Turn;
use super::replies::text;
use crate::words::clock::now;

/// From the beginning of one look to that of the next: the first time, and at most. A refused write makes one look follow
/// the other, and each costs a connection. The longest, a look that is answered at once and new connections stay within a
/// second together: that is how long after an address leads elsewhere everything is there. A line that hangs adds the
/// deadline to it, and an address that hangs [`PATIENCE`].
const RESTS: [Duration; 2] = [Duration::from_millis(100), Duration::from_millis(800)];

/// The longest rest behind looks that have moved lines from one primary to another, one after the other. An address that
/// leads to several in turn costs connections for as long as it does so, and no more often than this. All of them took
/// writes: lines that were at a copy do not wait so long.
const RESTLESS: Duration = Duration::from_secs(30);

/// How long a look may take at the new place; at the old ones no longer than that, nor than the deadline.
const PATIENCE: Duration = Duration::from_secs(1);

/// Events of a client that nobody listens to.
const NO_ROOM: usize = 1;

/// Looks where these lines are whenever `doubt` rings.
pub(super) fn look_out(doubt: Arc<Notify>, lines: [Arc<Line>; 3]) -> Task {
    Task::spawn(async move {
        let mut pace = Pace::default();
        loop {
            doubt.notified().await;
            let begun = now();
            let found = look(&lines).await;
            if matches!(found, Found::Unsettled) {
                doubt.notify_one();
            }
            // A look that has waited in vain was rest enough. A fleet does not look in step.
            let jitter = 0.75 + fastrand::f64() / 4.0;
            sleep_until(begun + pace.rest(found).mul_f64(jitter)).await;
        }
    })
}

/// Looks once, and gives up the connections that lead to another server than the address does.
async fn look(lines: &[Arc<Line>; 3]) -> Found {
    let profile = &lines[0].profile;
    let clients = lines.each_ref().map(|line| line.client());
    let patience = profile.deadline().min(PATIENCE);
    let asked = |client| Box::pin(identity(client, patience));
    let [scripts, reads, ears] = clients.each_ref().map(asked);
    let here: Here = tokio::join!(scripts, reads, ears).into();
    let there = if is_one_primary(&here) {
        None
    } else {
        let client = profile.client(NO_ROOM);
        let asked = Box::pin(identity(&client, PATIENCE));
        visit(&client, PATIENCE, asked).await.ok()
    };
    for ((line, client), here) in lines.iter().zip(&clients).zip(&here) {
        if there.as_ref().is_some_and(|it| it.takes_over_from(here)) {
            line.reset(client);
        }
    }
    found(&here, there.as_ref())
}

/// What the lines say of where they are.
type Here = [Result<Identity, Error>; 3];

/// What a look came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    /// All lines are at one primary, as far as may be known.
    Well,
    /// They are at a copy, and the address leads to nothing better. Who wants to write rings again.
    Nothing,
    /// They are not at one server, or one of them is silent, and nobody else would ever ask again.
    Unsettled,
    /// Some were at another server than the address leads to, and one at a copy: writes may be refused. Lines ring as
    /// they arrive.
    Moved,
    /// The same, and all of them at primaries.
    MovedOn,
}

fn found(here: &Here, there: Option<&Identity>) -> Found {
    let moves = |there: &Identity| here.iter().any(|line| there.takes_over_from(line));
    if there.is_some_and(moves) {
        if known(here).all(|line| line.is_primary) {
            Found::MovedOn
        } else {
            Found::Moved
        }
    } else if !is_one_server(here) || here.iter().any(is_silent) {
        Found::Unsettled
    } else if is_one_primary(here) {
        Found::Well
    } else {
        Found::Nothing
    }
}

/// When to look again. Looks that follow one another come ever more rarely.
#[derive(Debug, Default)]
struct Pace(Duration);

impl Pace {
    /// How long after the beginning of a look the next may begin.
    fn rest(&mut self, found: Found) -> Duration {
        let [first, most] = RESTS;
        self.0 = match found {
            Found::Well => Duration::ZERO,
            Found::Nothing | Found::Unsettled | Found::Moved => (2 * self.0).clamp(first, most),
            Found::MovedOn => (2 * self.0).clamp(first, RESTLESS),
        };
        self.0.max(first)
    }
}

/// Who a server is.
#[derive(Debug)]
struct Identity {
    id: String,
    is_primary: bool,
}

impl Identity {
    fn takes_over_from(&self, here: &Result<Self, Error>) -> bool {
        self.is_primary && here.as_ref().is_ok_and(|here| here.id != self.id)
    }
}

/// A line that is not connected, or whose user may not ask, says nothing.
fn known(here: &Here) -> impl Iterator<Item = &Identity> {
    here.iter().flatten()
}

fn is_one_server(here: &Here) -> bool {
    let mut ids = known(here).map(|line| &line.id);
    let first = ids.next();
    ids.all(|id| Some(id) == first)
}

/// Whether nothing speaks against it.
fn is_one_primary(here: &Here) -> bool {
    is_one_server(here) && known(here).all(|line| line.is_primary)
}

/// A line that is not connected says so at once.
fn is_silent(line: &Result<Identity, Error>) -> bool {
    matches!(line, Err(error) if *error.kind() == ErrorKind::Timeout)
}

async fn identity(client: &Client, patience: Duration) -> Result<Identity, Error> {
    let command = CustomCommand::new_static("INFO", ClusterHash::FirstKey, false);
    let told = ask(client, (command, Vec::new()), Turn::within(patience)).await?;
    let told = text(told).unwrap_or_default();
    let told = String::from_utf8_lossy(&told);
    let field = |name| told.lines().find_map(|line| line.strip_prefix(name));
    match (field("run_id:"), field("role:")) {
        (Some(id), Some(role)) => Ok(Identity {
            id: id.to_owned(),
            is_primary: role == "master",
        }),
        // Not every proxy tells; and on the line that listens a shifted reply would be another's.
        _ => Err(Error::new(ErrorKind::Protocol, "no identity")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(id: &str, is_primary: bool) -> Identity {
        let id = id.to_owned();
        Identity { id, is_primary }
    }

    /// What a line at that server says, one that is silent, or one that is not connected.
    fn line(at: &str) -> Result<Identity, Error> {
        match at {
            "silent" => Err(Error::new(ErrorKind::Timeout, "")),
            "none" => Err(Error::new_canceled()),
            id => Ok(server(id, id != "copy")),
        }
    }

    fn is_well(lines: [&str; 3]) -> bool {
        is_one_primary(&lines.map(line))
    }

    #[test]
    fn looks_that_find_nothing_come_ever_more_rarely_and_soon_enough_for_a_second() {
        use Found::{Moved, MovedOn, Nothing, Unsettled, Well};
        let mut pace = Pace::default();
        let mut rests = |found: Found, times: usize| -> Vec<_> {
            let rests = (0..times).map(|_| pace.rest(found).as_millis());
            rests.collect()
        };
        for found in [Nothing, Unsettled, Moved] {
            assert_eq!(rests(found, 6), [100, 200, 400, 800, 800, 800], "{found:?}");
            assert_eq!(rests(Well, 2), [100, 100]);
        }
        assert_eq!(rests(MovedOn, 11)[8..], [25_600, 30_000, 30_000]);
        assert_eq!(rests(Moved, 1), [800]);
    }

    #[test]
    fn a_copy_or_two_servers_raise_a_doubt_and_a_line_that_tells_nothing_does_not() {
        assert!(is_well(["old", "old", "old"]));
        assert!(is_well(["none", "old", "none"]));
        assert!(is_well(["none", "none", "none"]));
        assert!(is_well(["silent", "silent", "silent"]));
        assert!(!is_well(["new", "old", "new"]));
        assert!(!is_well(["new", "new", "old"]));
        assert!(!is_well(["new", "none", "copy"]));
        assert!(!is_well(["copy", "copy", "none"]));
    }

    #[test]
    fn two_servers_or_silence_are_looked_at_again_and_a_copy_alone_is_not() {
        for there in [None, Some(server("copy", false))] {
            let found = |lines: [&str; 3]| found(&lines.map(line), there.as_ref());
            assert_eq!(found(["new", "old", "old"]), Found::Unsettled);
            assert_eq!(found(["new", "none", "copy"]), Found::Unsettled);
            assert_eq!(found(["new", "silent", "new"]), Found::Unsettled);
            assert_eq!(found(["copy", "silent", "copy"]), Found::Unsettled);
            assert_eq!(found(["copy", "copy", "none"]), Found::Nothing);
            assert_eq!(found(["new", "new", "none"]), Found::Well);
            assert_eq!(found(["none", "none", "none"]), Found::Well);
        }
    }

    #[test]
    fn who_leaves_a_copy_is_not_kept_waiting_as_who_goes_from_primary_to_primary_is() {
        let new = server("new", true);
        let found = |lines: [&str; 3]| found(&lines.map(line), Some(&new));
        assert_eq!(found(["copy", "copy", "copy"]), Found::Moved);
        assert_eq!(found(["copy", "new", "new"]), Found::Moved);
        assert_eq!(found(["old", "silent", "copy"]), Found::Moved);
        assert_eq!(found(["old", "new", "none"]), Found::MovedOn);
        assert_eq!(found(["old", "old", "silent"]), Found::MovedOn);
        assert_eq!(found(["new", "new", "silent"]), Found::Unsettled);
    }

    #[test]
    fn lines_leave_for_another_primary_and_for_nobody_else() {
        for is_primary in [true, false] {
            let old = Ok(server("old", is_primary));
            assert!(server("new", true).takes_over_from(&old));
            assert!(!server("new", false).takes_over_from(&old));
            assert!(!server("old", true).takes_over_from(&old));
        }
        for unknown in ["silent", "none"].map(line) {
            assert!(!server("new", true).takes_over_from(&unknown));
        }
    }
}
