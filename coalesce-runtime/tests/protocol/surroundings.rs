//! What travels with a call into its flight and into its refresh: task-locals, and nothing that nobody registered.

use std::sync::{Arc, Mutex};

use coalesce_runtime::{Coalescer, Headers};

use crate::fleet::{Ledger, MS, retaining};

tokio::task_local! {
    static REQUEST: String;
    static COUNT: u64;
    static UNREGISTERED: u64;
}

/// What a body finds around it.
#[derive(Debug, PartialEq)]
struct Found {
    request: Option<String>,
    count: Option<u64>,
    unregistered: Option<u64>,
    headers: bool,
}

impl Found {
    fn here() -> Self {
        Self {
            request: REQUEST.try_with(Clone::clone).ok(),
            count: COUNT.try_with(|count| *count).ok(),
            unregistered: UNREGISTERED.try_with(|count| *count).ok(),
            headers: Headers::current().is_some(),
        }
    }
}

type Notes = Arc<Mutex<Vec<Found>>>;

/// A call whose body notes what is around it, also behind an await.
async fn call(coalescer: &Coalescer, notes: &Notes) -> u64 {
    let notes = Arc::clone(notes);
    let call = coalescer.call("n").key(1).policy(retaining(1_000, 10_000));
    call.run(move || async move {
        tokio::time::sleep(10 * MS).await;
        let mut notes = notes.lock().unwrap();
        notes.push(Found::here());
        notes.len() as u64
    })
    .await
}

#[tokio::test(start_paused = true)]
async fn registered_task_locals_travel_into_a_flight_and_into_a_refresh() {
    let builder = Coalescer::builder().in_process();
    let builder = builder.carry_task_local(&REQUEST).carry_task_local(&COUNT);
    let (coalescer, notes) = (builder.build().await.unwrap(), Notes::default());
    let headers = Headers::new([("x-tenant", "acme")]);

    let first = UNREGISTERED.scope(1, COUNT.scope(7, call(&coalescer, &notes)));
    let first = REQUEST.scope("first".to_owned(), first);
    assert_eq!(headers.scope(first).await, 1);

    tokio::time::sleep(1_200 * MS).await;
    let stale = REQUEST.scope("second".to_owned(), call(&coalescer, &notes));
    assert_eq!(stale.await, 1, "the stale value, and a refresh behind it");
    tokio::time::sleep(200 * MS).await;
    assert_eq!(call(&coalescer, &notes).await, 2, "a hit runs nothing");

    let found = std::mem::take(&mut *notes.lock().unwrap());
    let expected = [
        Found {
            request: Some("first".to_owned()),
            count: Some(7),
            unregistered: None,
            headers: true,
        },
        Found {
            request: Some("second".to_owned()),
            count: None,
            unregistered: None,
            headers: false,
        },
    ];
    assert_eq!(found, expected);
}

#[tokio::test(start_paused = true)]
async fn a_body_that_panics_inside_of_task_locals_panics_in_its_caller() {
    let builder = Coalescer::builder().in_process().carry_task_local(&COUNT);
    let coalescer = builder.build().await.unwrap();
    let call = async move {
        let call = coalescer.call("n").key(2);
        call.run(|| async { panic!("{}", COUNT.get()) as u64 })
            .await
    };
    let panicked = tokio::spawn(COUNT.scope(7, call)).await.unwrap_err();
    assert_eq!(panicked.into_panic().downcast_ref::<String>().unwrap(), "7");
}

/// A body reaches a stale value of another function, whose refresh reaches the first one again: by then the flight that
/// it came out of is over, and another is under way.
#[tokio::test(start_paused = true)]
async fn a_refresh_is_part_of_no_flight_and_shares_what_it_calls() {
    let coalescer = Coalescer::builder().in_process().build().await.unwrap();
    let outer = Ledger::default();
    let outer_call = |inner: Option<Coalescer>| {
        let (call, outer) = (coalescer.call("outer").key(1), outer.clone());
        call.run(move || async move {
            let run = outer.run(100 * MS).await;
            if let Some(coalescer) = inner {
                inner_call(&coalescer, outer).await;
            }
            run
        })
    };
    inner_call(&coalescer, outer.clone()).await;
    assert_eq!(outer.runs(), 1);
    tokio::time::sleep(2_000 * MS).await;
    assert_eq!(outer_call(Some(coalescer.clone())).await, 2);
    // The refresh is in its body for 10 ms now, and then calls.
    assert_eq!(outer_call(None).await, 3);
    assert_eq!((outer.runs(), outer.most_at_once()), (3, 1));
}

/// Calls the outer function from within a value that is fresh for a second.
async fn inner_call(coalescer: &Coalescer, outer: Ledger) -> u64 {
    let call = coalescer.call("inner").key(1);
    let again = coalescer.call("outer").key(1);
    call.policy(retaining(1_000, 60_000))
        .run(move || async move {
            tokio::time::sleep(10 * MS).await;
            again
                .run(move || async move { outer.run(100 * MS).await })
                .await
        })
        .await
}
