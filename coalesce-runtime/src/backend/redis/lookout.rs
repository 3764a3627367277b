//! The lookout: notices that an address leads to another primary, while some of its connections stay at the one before.
//!
//! A name, or a balancer's address, goes on to the new primary; connections stay where they are as long as the old
//! one lives on, as its copy or as if nothing had happened. That one answers whoever reads, so nobody is cut off before
//! another has been seen. One line may be made again there, for a reason of its own, and the others would stay behind:
//! so each line that is made again raises the doubt, as a refused write does, and all of them are looked at.

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

/// From one look to the next: the first time, and at most. A refused write makes one look follow the other, and each
/// costs a connection. The longest, a look and new connections stay within a second together: that is how long after an
/// address leads elsewhere everything is there.
const RESTS: [Duration; 2] = [Duration::from_millis(100), Duration::from_millis(800)];

/// The longest rest behind looks that have moved lines one after the other: an address that leads to several primaries
/// in turn must not cost connections for ever.
const RESTLESS: Duration = Duration::from_secs(30);

/// How long a look may take, at the old places and at the new one each.
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
            // A look that has waited in vain was rest enough. A fleet does not look in step.
            let jitter = 0.75 + fastrand::f64() / 4.0;
            sleep_until(begun + pace.rest(found).mul_f64(jitter)).await;
        }
    })
}

/// Looks once, and gives up the connections that lead to another server than the address does.
async fn look(lines: &[Arc<Line>; 3]) -> Found {
    let clients = lines.each_ref().map(|line| line.client());
    let [scripts, reads, ears] = clients.each_ref().map(|client| Box::pin(identity(client)));
    let here = <[_; 3]>::from(tokio::join!(scripts, reads, ears)).map(Result::ok);
    if is_one_primary(&here) {
        return Found::Well;
    }
    let client = lines[0].profile.client(NO_ROOM);
    let there = visit(&client, PATIENCE, Box::pin(identity(&client))).await;
    let Ok(there) = there else {
        return Found::Nothing;
    };
    let mut found = Found::Nothing;
    for ((line, client), here) in lines.iter().zip(&clients).zip(&here) {
        if there.takes_over_from(here.as_ref()) {
            line.reset(client);
            found = Found::Moved;
        }
    }
    found
}

/// What a look came to.
#[derive(Clone, Copy, Debug)]
enum Found {
    /// All lines are at one primary, as far as is known.
    Well,
    /// They are not, and the address leads to nothing better.
    Nothing,
    /// Some were at another server than the address leads to.
    Moved,
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
            Found::Nothing => (2 * self.0).clamp(first, most),
            Found::Moved => (2 * self.0).clamp(first, RESTLESS),
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
    fn takes_over_from(&self, here: Option<&Self>) -> bool {
        self.is_primary && here.is_some_and(|here| here.id != self.id)
    }
}

/// Whether nothing speaks against it. A line that is not connected, or whose user may not ask, says nothing.
fn is_one_primary(here: &[Option<Identity>]) -> bool {
    let mut known = here.iter().flatten();
    let first = known.clone().next();
    known.all(|line| line.is_primary && first.is_some_and(|first| first.id == line.id))
}

async fn identity(client: &Client) -> Result<Identity, Error> {
    let command = CustomCommand::new_static("INFO", ClusterHash::FirstKey, false);
    let told = ask(client, (command, Vec::new()), Turn::within(PATIENCE)).await?;
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

    #[test]
    fn looks_that_find_nothing_come_ever_more_rarely_and_soon_enough_for_a_second() {
        use Found::{Moved, Nothing, Well};
        let mut pace = Pace::default();
        let mut rests = |found: Found, times: usize| -> Vec<_> {
            let rests = (0..times).map(|_| pace.rest(found).as_millis());
            rests.collect()
        };
        assert_eq!(rests(Nothing, 6), [100, 200, 400, 800, 800, 800]);
        assert_eq!(rests(Well, 2), [100, 100]);
        assert_eq!(rests(Nothing, 2), [100, 200]);
        assert_eq!(rests(Moved, 9)[7..], [30_000, 30_000]);
        assert_eq!(rests(Nothing, 1), [800]);
    }

    #[test]
    fn a_copy_or_two_servers_raise_a_doubt_and_silence_does_not() {
        let (old, new) = (|| Some(server("old", true)), || Some(server("new", true)));
        assert!(is_one_primary(&[old(), old(), old()]));
        assert!(is_one_primary(&[None, old(), None]));
        assert!(is_one_primary(&[None, None, None]));
        assert!(!is_one_primary(&[new(), old(), new()]));
        assert!(!is_one_primary(&[new(), new(), old()]));
        assert!(!is_one_primary(&[new(), None, Some(server("new", false))]));
    }

    #[test]
    fn lines_leave_for_another_primary_and_for_nobody_else() {
        for is_primary in [true, false] {
            let old = server("old", is_primary);
            assert!(server("new", true).takes_over_from(Some(&old)));
            assert!(!server("new", false).takes_over_from(Some(&old)));
            assert!(!server("old", true).takes_over_from(Some(&old)));
        }
        assert!(!server("new", true).takes_over_from(None));
    }
}
