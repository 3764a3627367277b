//! The books of a pod at rest, held against the ledger and against what its callers were answered.

use crate::checker::pid_of;
use crate::ledger::Run;
use crate::orders::{Answer, Page, PodState};

/// What does not balance in the books of the pod with this process id. Empty when each call has one outcome, each
/// body that began has ended and is in the ledger, and each answer is a call.
///
/// A call that its client dropped before it reached the function is an answer and no call: `dropped` allows that.
pub fn unbalanced(
    pid: u32,
    state: &PodState,
    runs: &[Run],
    answers: &[Answer],
    dropped: bool,
) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut sum = Page::default();
    for (namespace, page) in &state.books {
        if page.calls != page.outcomes || page.executions != page.endings {
            wrong.push(format!("{namespace}: {page:?}"));
        }
        sum.calls += page.calls;
        sum.executions += page.executions;
        sum.bypassed += page.bypassed;
    }
    let of_pod = |run: &&Run| pid_of(&run.name) == Some(pid);
    let ran = runs.iter().filter(of_pod).count() as u64;
    let bodies = sum.executions + sum.bypassed;
    if bodies != ran {
        wrong.push(format!("{bodies} bodies in the books, {ran} in the ledger"));
    }
    let answered = answers.iter().filter(|answer| answer.pid == pid).count() as u64;
    if sum.calls < answered && !dropped {
        wrong.push(format!("{} calls, {answered} answers", sum.calls));
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(page: Page) -> PodState {
        PodState {
            in_flight: 0,
            subscriptions: 0,
            takeovers: 0,
            books: [("n".to_owned(), page)].into(),
            switched_off: false,
            executions: page.executions,
            saved: 0,
            bypassed: page.bypassed,
            faults: 0,
            last_fault: String::new(),
            subscribed: true,
            misrouted: 0,
            breaker: "closed".to_owned(),
            undecodable: 0,
            tasks: 0,
            begun: 0,
            answered: 0,
        }
    }

    fn runs(count: u64) -> Vec<Run> {
        let run = |number| Run {
            name: format!("7.{number}"),
            key: "a".to_owned(),
            started: 1,
            ended: Some(2),
            notes: Vec::new(),
        };
        (0..count).map(run).collect()
    }

    #[test]
    fn each_call_has_an_outcome_and_each_body_a_run() {
        let page = Page {
            calls: 5,
            outcomes: 5,
            executions: 2,
            endings: 2,
            bypassed: 1,
        };
        let wrong = |page, count| unbalanced(7, &state(page), &runs(count), &[], false).len();
        assert_eq!(wrong(page, 3), 0);
        assert_eq!(wrong(page, 2) + wrong(page, 4), 2, "another ledger");
        assert_eq!(
            wrong(
                Page {
                    outcomes: 4,
                    ..page
                },
                3
            ),
            1
        );
        assert_eq!(wrong(Page { endings: 1, ..page }, 3), 1);
        let elsewhere = unbalanced(8, &state(page), &runs(3), &[], false);
        assert_eq!(elsewhere, ["3 bodies in the books, 0 in the ledger"]);
    }
}
